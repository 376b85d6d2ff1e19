//! A stream of bytes, and the messages that come by the million.

use crate::samples;
use plait_model_wire::openflow::{
    BufferId, Frame, Hello, Message, TooLong, chop, hello, length_of_next, v10, v13,
};

#[test]
fn a_stream_is_cut_into_its_messages_wherever_it_is_broken() {
    let all: Vec<Vec<u8>> = samples::all().iter().map(|message| message.emit().unwrap()).collect();
    let stream = all.concat();
    for step in [1, 7, 8, 64, 1500, stream.len()] {
        let (mut waiting, mut found) = (Vec::new(), Vec::new());
        for part in stream.chunks(step) {
            waiting.extend_from_slice(part);
            let mut rest = &waiting[..];
            while let Some((frame, after)) = chop(rest).unwrap() {
                found.push(Message::of(&frame).unwrap().emit().unwrap());
                rest = after;
            }
            waiting = rest.to_vec();
        }
        assert!(waiting.is_empty());
        assert_eq!(found, all, "in parts of {step}");
    }
}

#[test]
fn a_length_shorter_than_a_header_ends_a_stream() {
    assert!(length_of_next(&[1, 0, 0, 7, 0, 0, 0, 0]).is_err());
    assert_eq!(length_of_next(&[1, 0, 0, 7, 0, 0, 0]), Ok(None), "its header has not come yet");
    assert_eq!(length_of_next(&[9, 9, 0, 12, 0, 0, 0, 0]), Ok(Some(12)), "of whichever version");
    let unknown = Frame::parse(&[9, 9, 0, 8, 0, 0, 0, 1]).unwrap();
    assert_eq!((unknown.version(), unknown.kind(), unknown.xid()), (9, 9, 1));
    assert!(Message::of(&unknown).is_err());
}

#[test]
fn a_view_of_1_0_says_what_the_message_says() {
    for message in samples::of_1_0() {
        let bytes = message.emit().unwrap();
        let frame = Frame::parse(&bytes).unwrap();
        assert_eq!(frame.xid(), message.xid);
        match &message.body {
            v10::Body::PacketIn(packet) => {
                let view = v10::packet_in::View::of(&frame).unwrap();
                let said = (view.buffer(), view.total_length(), view.in_port(), view.reason(), view.data());
                let v10::PacketIn { buffer, total_length, in_port, reason, data } = packet;
                assert_eq!(said, (*buffer, *total_length, *in_port, *reason, &data[..]));
                let (buffer, total_length, in_port, reason, data) = said;
                let parts = v10::packet_in::Parts { buffer, total_length, in_port, reason, data };
                assert_eq!(emitted(|to| parts.emit_into(message.xid, to)), bytes);
            }
            v10::Body::PacketOut(packet) => {
                let view = v10::packet_out::View::of(&frame).unwrap();
                let said = (view.buffer(), view.in_port(), view.data());
                assert_eq!(said, (packet.buffer, packet.in_port, &packet.data[..]));
                let actions: Vec<_> =
                    view.actions().iter().map(|one| v10::Action::of(one).unwrap()).collect();
                assert_eq!(actions, packet.actions);
                assert_eq!(emitted(|to| packet.parts().emit_into(message.xid, to)), bytes);
            }
            v10::Body::FlowMod(change) => {
                let view = v10::flow_mod::View::of(&frame).unwrap();
                let said = v10::FlowMod {
                    flow_match: view.flow_match(),
                    cookie: view.cookie(),
                    command: view.command(),
                    idle_timeout: view.idle_timeout(),
                    hard_timeout: view.hard_timeout(),
                    priority: view.priority(),
                    buffer: view.buffer(),
                    out_port: view.out_port(),
                    flags: view.flags(),
                    actions: view.actions().iter().map(|one| v10::Action::of(one).unwrap()).collect(),
                };
                assert_eq!(&said, change);
                assert_eq!(emitted(|to| change.emit_into(message.xid, to)), bytes);
            }
            _ => {
                assert!(v10::packet_in::View::of(&frame).is_err(), "another type is no packet");
                assert!(v10::packet_out::View::of(&frame).is_err());
                assert!(v10::flow_mod::View::of(&frame).is_err());
            }
        }
    }
}

#[test]
fn a_view_of_1_3_says_what_the_message_says() {
    for message in samples::of_1_3() {
        let bytes = message.emit().unwrap();
        let frame = Frame::parse(&bytes).unwrap();
        match &message.body {
            v13::Body::PacketIn(packet) => {
                let view = v13::packet_in::View::of(&frame).unwrap();
                let said = v13::PacketIn {
                    buffer: view.buffer(),
                    total_length: view.total_length(),
                    reason: view.reason(),
                    table: view.table(),
                    cookie: view.cookie(),
                    flow_match: v13::Match::Oxm(view.fields().iter().map(v13::Oxm::of).collect()),
                    data: view.data().to_vec(),
                };
                assert_eq!(&said, packet);
                assert_eq!(view.in_port(), Some(v13::PortNumber(6)));
                let parts = v13::packet_in::Parts {
                    buffer: packet.buffer,
                    total_length: packet.total_length,
                    reason: packet.reason,
                    table: packet.table,
                    cookie: packet.cookie,
                    fields: packet.flow_match.fields(),
                    data: &packet.data,
                };
                assert_eq!(emitted(|to| parts.emit_into(message.xid, to)), bytes);
            }
            v13::Body::PacketOut(packet) => {
                let view = v13::packet_out::View::of(&frame).unwrap();
                let said = (view.buffer(), view.in_port(), view.data());
                assert_eq!(said, (packet.buffer, packet.in_port, &packet.data[..]));
                let actions: Vec<_> =
                    view.actions().iter().map(|one| v13::Action::of(one).unwrap()).collect();
                assert_eq!(actions, packet.actions);
                assert_eq!(emitted(|to| packet.parts().emit_into(message.xid, to)), bytes);
            }
            v13::Body::FlowMod(v13::FlowMod { flow_match: v13::Match::Unknown { .. }, .. }) => {
                assert!(v13::flow_mod::View::of(&frame).is_err(), "a match of another type has no fields");
            }
            v13::Body::FlowMod(change) => {
                let view = v13::flow_mod::View::of(&frame).unwrap();
                let instructions = view.instructions().iter().map(|one| v13::Instruction::of(one).unwrap());
                let said = v13::FlowMod {
                    cookie: view.cookie(),
                    cookie_mask: view.cookie_mask(),
                    table: view.table(),
                    command: view.command(),
                    idle_timeout: view.idle_timeout(),
                    hard_timeout: view.hard_timeout(),
                    priority: view.priority(),
                    buffer: view.buffer(),
                    out_port: view.out_port(),
                    out_group: view.out_group(),
                    flags: view.flags(),
                    flow_match: v13::Match::Oxm(view.fields().iter().map(v13::Oxm::of).collect()),
                    instructions: instructions.collect(),
                };
                assert_eq!(&said, change);
                assert_eq!(emitted(|to| change.emit_into(message.xid, to)), bytes);
            }
            _ => assert!(v13::packet_in::View::of(&frame).is_err(), "another type is no packet"),
        }
    }
}

/// What is written goes behind what was there, and into what was allocated.
fn emitted(emit: impl Fn(&mut Vec<u8>) -> Result<(), TooLong>) -> Vec<u8> {
    let mut buffer = b"before".to_vec();
    emit(&mut buffer).unwrap();
    assert!(buffer.starts_with(b"before"));
    buffer.split_off(6)
}

#[test]
fn what_no_length_can_say_is_refused_and_leaves_the_buffer_alone() {
    let mut buffer = b"before".to_vec();
    let echo = |length| v13::Message { xid: 1, body: v13::Body::EchoRequest(vec![0; length]) };
    assert_eq!(echo(65_528).emit_into(&mut buffer), Err(TooLong));
    let field =
        v13::Oxm::Other { class: v13::oxm::Class(1), field: 1, has_mask: false, payload: vec![0; 256] };
    assert_eq!(v13::FlowMod::add(vec![field], 1, vec![]).emit_into(1, &mut buffer), Err(TooLong));
    let note = v10::Action::Vendor { vendor: 1, data: vec![0; 65_536] };
    let packet = v10::packet_out::Parts {
        buffer: BufferId::NO_BUFFER,
        in_port: v10::PortNumber::NONE,
        actions: &[note],
        data: &[],
    };
    assert_eq!(packet.emit_into(1, &mut buffer), Err(TooLong));
    assert_eq!(buffer, b"before");
    assert_eq!(echo(65_527).emit().unwrap().len(), 65_535);
}

#[test]
fn a_hello_says_which_versions_are_spoken() {
    let both = Hello::speaking(&[1, 4]);
    assert!(both.speaks(4, 1) && both.speaks(4, 4) && !both.speaks(4, 3) && !both.speaks(4, 40));
    // Who lists nothing speaks all up to its header's.
    let silent = Hello::default();
    assert!(silent.speaks(4, 1) && silent.speaks(4, 4) && !silent.speaks(4, 5));
    // Of a version that is not ours, a hello is read nevertheless; what is no element is kept.
    let bytes = [6, 0, 0, 20, 0, 0, 0, 9, 0, 1, 0, 8, 0, 0, 0, 0x52, 0xff, 0xff, 0xff, 0xff];
    let frame = Frame::parse(&bytes).unwrap();
    let hello = Hello::of(frame.body());
    assert_eq!(hello.elements, [hello::Element::Versions(vec![0x52])]);
    assert!(hello.speaks(frame.version(), 1) && hello.speaks(frame.version(), 4));
    assert_eq!(hello.rest, [0xff; 4]);
}

#[test]
fn every_error_is_named_once() {
    let (old, new) = (v10::Reason::NAMED, v13::Reason::NAMED);
    assert_eq!((old.len(), new.len()), (31, 111));
    for (reason, name) in new {
        assert_eq!(reason.name(), Some(*name), "two names for one number");
        assert!(reason.type_name().is_some());
    }
    assert_eq!(v10::Reason::FLOW_MOD_OVERLAP.to_string(), "OFPFMFC_OVERLAP");
    assert_eq!(v13::Reason { kind: 4, code: 99 }.to_string(), "OFPET_BAD_MATCH, code 99");
    assert_eq!(v13::Reason { kind: 44, code: 99 }.to_string(), "type 44, code 99");
}

#[test]
fn numbers_have_their_names() {
    assert_eq!(v13::PortNumber::CONTROLLER.to_string(), "CONTROLLER");
    assert_eq!(v10::PortNumber(7).to_string(), "7");
    assert_eq!(
        (v10::port::PortConfig::NO_FWD | v10::port::PortConfig(1 << 20)).to_string(),
        "NO_FWD|0x100000"
    );
    assert_eq!(v13::Action::name_of(25), Some("SetField"));
    assert_eq!(v13::Oxm::name_of(v13::oxm::Class::OPENFLOW_BASIC, 31), Some("ipv6_nd_target"));
    assert_eq!(v13::oxm::FIELDS.len(), 40);
}
