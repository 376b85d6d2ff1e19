//! Whose a datapath is that two connections name.

mod support;

use plait_control_openflow::{Port, Version};
use plait_dataplane_openflow::{Config, Controller};
use plait_model_wire::openflow::{BufferId, Message, v10, v13};
use std::io::Write;
use std::time::{Duration, Instant};
use support::{Client, frame, port13, start, until};

/// Whether a connection has been ended: all that it was told was read.
fn is_ended(mut client: Client) -> bool {
    std::iter::from_fn(|| client.next()).count() < 100
}

/// A packet of this one is answered, and echo requests meanwhile.
fn is_served(client: &mut Client, number: u32) {
    client.packet_in(BufferId(number), &frame(1));
    loop {
        match client.next().expect("the controller ended the connection") {
            Message::V10(v10::Message { xid, body: v10::Body::EchoRequest(data) }) => {
                client.say(xid, v10::Body::EchoReply(data), v13::Body::EchoReply(Vec::new()));
            }
            Message::V13(v13::Message { xid, body: v13::Body::EchoRequest(data) }) => {
                client.say(xid, v10::Body::EchoReply(Vec::new()), v13::Body::EchoReply(data));
            }
            Message::V10(v10::Message { body: v10::Body::PacketOut(out), .. }) => {
                return assert_eq!(out.buffer, BufferId(number));
            }
            Message::V13(v13::Message { body: v13::Body::PacketOut(out), .. }) => {
                return assert_eq!(out.buffer, BufferId(number));
            }
            _ => {}
        }
    }
}

/// Whether this connection is the datapath's: what it says before that may go unheard.
fn is_its(controller: &Controller, datapath: u64, client: &Client) -> bool {
    let own = client.stream.local_addr().unwrap().to_string();
    controller.switches().get(&datapath).is_some_and(|info| info.connected && info.address == own)
}

fn is_connected(controller: &Controller, datapath: u64) -> bool {
    controller.switches().get(&datapath).is_some_and(|info| info.connected)
}

#[test]
fn a_datapath_stays_with_the_switch_that_is_there_and_answers() {
    // So little that one which did not answer would be gone by the end.
    let patience = Duration::from_secs(3);
    let connection = plait_control_openflow::connection::Config { patience, ..Default::default() };
    for version in Version::ALL {
        let controller = start(Config { connection: connection.clone(), ..Config::default() });
        let mut owner = Client::connect(&controller, version, 5);
        until("it is known", || is_connected(&controller, 5));
        let (before, began) = (controller.switches()[&5].clone(), Instant::now());
        for claims in 1..=20 {
            let mut other = Client::connect(&controller, version, 5);
            // What it says goes for nothing, and so do its ports. It may be refused before it has said so.
            let port = v13::Port { name: plait_model_wire::openflow::Text::new("stolen"), ..port13(1) };
            let status = v13::PortStatus { reason: v13::port::PortReason::MODIFY, port };
            let stolen = v13::Message { xid: 3, body: v13::Body::PortStatus(status) }.emit().unwrap();
            let packet = other.request(BufferId(99), &frame(2)).emit().unwrap();
            let _ = other.stream.write_all(&packet).and_then(|()| other.stream.write_all(&stolen));
            until("it is refused", || controller.claims() == claims);
            assert!(is_ended(other));
            is_served(&mut owner, claims as u32);
        }
        while began.elapsed() < patience + Duration::from_secs(1) {
            is_served(&mut owner, 0);
            std::thread::sleep(Duration::from_millis(10));
        }
        until("nobody else is there", || controller.connections().0 == 1);
        let after = controller.switches()[&5].clone();
        assert!(after.connected && after.port(Port(1)) == before.port(Port(1)));
        assert_eq!(after.address, before.address);
    }
}

#[test]
fn a_datapath_goes_to_whoever_names_it_when_its_switch_does_not_answer_or_is_gone() {
    let connection = plait_control_openflow::connection::Config {
        // It would be asked by itself much later.
        quiet: Duration::from_secs(3600),
        patience: Duration::from_millis(300),
        ..Default::default()
    };
    let controller = start(Config { connection, ..Config::default() });
    let silent = Client::connect(&controller, Version::V13, 5);
    until("it is known", || is_connected(&controller, 5));
    // As a switch does, it tries again.
    let mut refused = 0;
    let mut next = loop {
        let mut client = Client::connect(&controller, Version::V10, 5);
        let is_known = || controller.switches()[&5].version == Version::V10.number();
        until("it is known or refused", || is_known() || controller.claims() > refused);
        if is_known() {
            is_served(&mut client, 1);
            break client;
        }
        refused = controller.claims();
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(refused > 0, "the first was asked whether it lives");
    assert!(is_ended(silent));
    // One that ends makes way at once.
    for round in 2..20 {
        is_served(&mut next, round);
        drop(next);
        next = Client::connect(&controller, Version::V13, 5);
        until("it is known", || is_its(&controller, 5, &next));
    }
    is_served(&mut next, 20);
    assert_eq!(controller.claims(), refused);
}
