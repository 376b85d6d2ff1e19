//! What an emulated switch says, without a socket.

use plait_control_openflow::Version;
use plait_dataplane_load::request::Template;
use plait_dataplane_load::switch::{Named, Switch};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::openflow::v13::multipart::{Answered, Asked, MultipartFlags};
use plait_model_wire::openflow::v13::role::ControllerRole;
use plait_model_wire::openflow::v13::{self, MultipartRequest, Oxm, Role};
use plait_model_wire::openflow::{BufferId, Frame, Hello, Message, chop, v10};
use proptest::prelude::*;

/// What it says after some messages.
fn said(switch: &mut Switch) -> Vec<Message> {
    let bytes = std::mem::take(switch.output());
    let mut rest = &bytes[..];
    let mut messages = Vec::new();
    while let Some((frame, after)) = chop(rest).unwrap() {
        // A hello is of any version.
        if frame.kind() != 0 {
            messages.push(Message::of(&frame).unwrap());
        }
        rest = after;
    }
    messages
}

fn tell13(switch: &mut Switch, body: v13::Body) -> Vec<Named> {
    let mut names = Vec::new();
    let bytes = v13::Message { xid: 7, body }.emit().unwrap();
    switch.handle_input(&bytes, |name| names.push(name));
    names
}

fn ready13() -> Switch {
    let mut switch = Switch::new(Version::V13, 5, 4);
    tell13(&mut switch, v13::Body::Hello(Hello::speaking(&[1, 4])));
    tell13(&mut switch, v13::Body::FeaturesRequest);
    assert!(switch.is_ready());
    said(&mut switch);
    switch
}

#[test]
fn a_switch_of_1_0_tells_its_ports_with_its_features() {
    let mut switch = Switch::new(Version::V10, 5, 4);
    let hello = v13::Message { xid: 1, body: v13::Body::Hello(Hello::speaking(&[1, 4])) };
    switch.handle_input(&hello.emit().unwrap(), |_| {});
    let asked = v10::Message { xid: 9, body: v10::Body::FeaturesRequest };
    switch.handle_input(&asked.emit().unwrap(), |_| {});
    let Message::V10(v10::Message { xid: 9, body: v10::Body::Features(features) }) = &said(&mut switch)[0]
    else {
        panic!("no features")
    };
    assert_eq!((features.datapath, features.ports.len()), (5, 4));
}

#[test]
fn a_switch_of_1_3_tells_its_ports_when_asked() {
    let mut switch = ready13();
    let body = Asked::PortDescriptions;
    tell13(&mut switch, v13::Body::MultipartRequest(MultipartRequest { flags: MultipartFlags(0), body }));
    let Message::V13(v13::Message { xid: 7, body: v13::Body::MultipartReply(reply) }) = &said(&mut switch)[0]
    else {
        panic!("no reply")
    };
    assert!(matches!(&reply.body, Answered::PortDescriptions(ports) if ports.len() == 4));
}

#[test]
fn a_master_of_an_older_election_is_refused() {
    let mut switch = ready13();
    let mut ask = |generation| {
        tell13(&mut switch, v13::Body::RoleRequest(Role { role: ControllerRole::MASTER, generation }));
        let Message::V13(message) = said(&mut switch).remove(0) else { panic!("of 1.0") };
        message.body
    };
    assert!(matches!(ask(10), v13::Body::RoleReply(Role { role: ControllerRole::MASTER, generation: 10 })));
    assert!(matches!(ask(9), v13::Body::Error(error) if error.reason == v13::Reason::ROLE_REQUEST_STALE));
}

#[test]
fn echoes_and_barriers_are_answered_and_what_is_unknown_is_refused() {
    let mut switch = ready13();
    tell13(&mut switch, v13::Body::EchoRequest(vec![1, 2]));
    tell13(&mut switch, v13::Body::BarrierRequest);
    tell13(&mut switch, v13::Body::Unknown { kind: 77, body: Vec::new() });
    let bodies: Vec<_> = said(&mut switch)
        .into_iter()
        .map(|message| match message {
            Message::V13(message) => message.body,
            Message::V10(_) => panic!("of 1.0"),
        })
        .collect();
    assert_eq!(bodies[..2], [v13::Body::EchoReply(vec![1, 2]), v13::Body::BarrierReply]);
    assert!(matches!(&bodies[2], v13::Body::Error(error) if error.reason == v13::Reason::REQUEST_BAD_TYPE));
    assert_eq!(switch.refused(), 1);
}

#[test]
fn a_controller_of_another_version_is_told_so_and_left() {
    let mut switch = Switch::new(Version::V13, 5, 4);
    let hello = v10::Message { xid: 1, body: v10::Body::Hello(Hello::default()) };
    switch.handle_input(&hello.emit().unwrap(), |_| {});
    assert_eq!(switch.closed(), Some("no version is shared"));
    assert!(matches!(
        &said(&mut switch)[0],
        Message::V13(v13::Message { body: v13::Body::Error(error), .. })
            if error.reason == v13::Reason::HELLO_INCOMPATIBLE
    ));
}

#[test]
fn a_flow_names_a_request_by_its_buffer_or_by_the_stations_it_matches() {
    let mut switch = ready13();
    let station = |last| Mac([2, 0, 0, 1, 0, last]);
    let fields = vec![Oxm::EthSrc(station(3).into()), Oxm::EthDst(station(2).into())];
    let mut flow = v13::FlowMod::add(fields, 1, Vec::new());
    assert_eq!(tell13(&mut switch, v13::Body::FlowMod(flow.clone())), [Named::Stations(3, 2)]);
    flow.buffer = BufferId(12);
    assert_eq!(tell13(&mut switch, v13::Body::FlowMod(flow)), [Named::Request(12)]);
    let flow = v13::FlowMod::add(Vec::new(), 0, Vec::new());
    assert_eq!(tell13(&mut switch, v13::Body::FlowMod(flow)), [Named::Nothing]);
}

#[test]
fn a_packet_names_a_request_by_what_it_carries_unless_it_is_of_another_switch() {
    let mut switch = ready13();
    let packet_out = |frame: Vec<u8>, buffer, actions| {
        v13::Body::PacketOut(v13::PacketOut {
            buffer: BufferId(buffer),
            in_port: v13::PortNumber(1),
            actions,
            data: frame,
        })
    };
    let output = || {
        vec![v13::Action::Output { port: v13::PortNumber(2), max_length: v13::action::ControllerLength(0) }]
    };
    // The frame of switch `place`, whose datapath is one more.
    let frame = |place| {
        let (mut request, template) = (Vec::new(), Template::new(Version::V13, 0, place, 4, false).unwrap());
        template.stamp(77, 1, 0, &mut request);
        v13::packet_in::View::of(&Frame::parse(&request).unwrap()).unwrap().data().to_vec()
    };
    let none = BufferId::NO_BUFFER.0;
    assert_eq!(tell13(&mut switch, packet_out(frame(4), none, output())), [Named::Request(77)]);
    assert_eq!(tell13(&mut switch, packet_out(frame(3), none, output())), [Named::Nothing]);
    assert_eq!(tell13(&mut switch, packet_out(frame(4), none, Vec::new())), [Named::Dropped(77)]);
    assert_eq!(tell13(&mut switch, packet_out(Vec::new(), 12, Vec::new())), [Named::Dropped(12)]);
}

fn any_message() -> impl Strategy<Value = Vec<u8>> {
    (0u8..6, 0u8..32, any::<u32>(), prop::collection::vec(any::<u8>(), 0..120)).prop_map(
        |(version, kind, xid, body)| {
            let mut bytes = vec![version, kind];
            bytes.extend((8 + body.len() as u16).to_be_bytes());
            bytes.extend(xid.to_be_bytes());
            bytes.extend(body);
            bytes
        },
    )
}

proptest! {
    #[test]
    fn no_bytes_of_a_controller_make_a_switch_panic(
        version in 0..2usize,
        messages in prop::collection::vec(any_message(), 0..20),
        noise in prop::collection::vec(any::<u8>(), 0..40),
        cut in 1..50usize,
    ) {
        let mut switch = Switch::new(Version::ALL[version], 1, 4);
        let own = [1, 4][version];
        let mut bytes = [own, 0, 0, 8, 0, 0, 0, 0, own, 5, 0, 8, 0, 0, 0, 0].to_vec();
        bytes.extend(messages.concat());
        bytes.extend(noise);
        for part in bytes.chunks(cut) {
            switch.handle_input(part, |_| {});
        }
        let output = std::mem::take(switch.output());
        let mut rest = &output[..];
        while let Some((frame, after)) = chop(rest).unwrap() {
            let frame: Frame<'_> = frame;
            prop_assert_eq!(frame.version(), own);
            rest = after;
        }
        prop_assert!(rest.is_empty());
    }
}
