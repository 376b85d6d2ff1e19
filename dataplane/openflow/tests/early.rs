//! Packets that a switch sends before anybody has met it.

mod support;

use plait_control_openflow::Version;
use plait_dataplane_openflow::Config;
use plait_model_wire::openflow::{BufferId, Message, v10, v13};
use std::io::Write;
use std::net::TcpStream;
use support::{Client, PATIENCE, frame, ports, start, until};

/// Says all at once, so that one read has it.
fn say(client: &mut Client, all: &[Message]) {
    let bytes: Vec<u8> = all.iter().flat_map(|message| message.emit().unwrap()).collect();
    client.stream.write_all(&bytes).unwrap();
}

#[test]
fn what_comes_in_the_same_read_as_what_makes_a_switch_known_is_answered_in_its_order() {
    for version in Version::ALL {
        let controller = start(Config { workers: 2, ..Config::default() });
        for datapath in 1..=20 {
            let stream = TcpStream::connect(controller.address().unwrap()).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut client = Client { stream, version, read: Vec::new(), datapath };
            client.say(1, v10::Body::Hello(Default::default()), v13::Body::Hello(Default::default()));
            let packet = |number| client.request(BufferId(number), &frame(1));
            let [before, two, three, four] = [1, 2, 3, 4].map(packet);
            match client.next() {
                Some(Message::V10(v10::Message { xid, body: v10::Body::FeaturesRequest }))
                | Some(Message::V13(v13::Message { xid, body: v13::Body::FeaturesRequest })) => {
                    let features = client.features(xid);
                    say(&mut client, &[before, features, two]);
                }
                other => panic!("{other:?}"),
            }
            if version == Version::V13 {
                // Only its ports make it known.
                let asked = loop {
                    match client.next() {
                        Some(Message::V13(v13::Message {
                            xid,
                            body: v13::Body::MultipartRequest(asked),
                        })) if asked.body == v13::multipart::Asked::PortDescriptions => {
                            break xid;
                        }
                        Some(_) => {}
                        None => panic!("the controller ended the connection"),
                    }
                };
                say(&mut client, &[three, ports(asked), four]);
            } else {
                say(&mut client, &[three, four]);
            }
            for number in 1..=4 {
                assert_eq!(client.packet_out().0, BufferId(number), "{version:?}");
            }
            assert!(controller.switches()[&datapath].connected);
        }
        until("all are counted", || controller.requests().values().all(|count| *count == 4));
        let counted = controller.statistics().into_iter();
        let counted = counted.map(|worker| [worker.requests, worker.early]);
        assert_eq!(counted.fold([0; 2], |[a, b], [c, d]| [a + c, b + d]), [80, 0]);
    }
}
