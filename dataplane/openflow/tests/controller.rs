//! A controller over real sockets: who is there, what it says, and what it is answered.

mod support;

use plait_control_openflow::{Port, SwitchEvents, Switches, Version};
use plait_control_runtime::View;
use plait_dataplane_openflow::{Config, NoAnswer};
use plait_model_wire::openflow::{BufferId, Message, v13};
use std::io::Write;
use std::net::TcpStream;
use support::{Client, PATIENCE, frame, port13, start, until};

#[test]
fn a_switch_of_either_version_is_known_and_its_packets_are_answered_in_their_order() {
    let controller = start(Config::default());
    for (version, datapath) in [(Version::V10, 0xa), (Version::V13, 0xb)] {
        let mut client = Client::connect(&controller, version, datapath);
        until("the switch is known", || controller.switches().contains_key(&datapath));
        let info = &controller.switches()[&datapath];
        assert!(info.connected && info.ports.len() == 2 && info.version == version.number());
        for number in 0..500 {
            client.packet_in(BufferId::NO_BUFFER, &frame(number));
        }
        for number in 0..500 {
            assert_eq!(client.packet_out(), (BufferId::NO_BUFFER, frame(number)));
        }
        client.packet_in(BufferId(9), &frame(0)[..20]);
        assert_eq!(client.packet_out(), (BufferId(9), Vec::new()));
    }
}

#[test]
fn a_switch_that_connects_again_is_the_same_switch_and_one_that_goes_is_remembered() {
    let controller = start(Config::default());
    let mut first = Client::connect(&controller, Version::V13, 5);
    until("it is known", || controller.switches().contains_key(&5));
    first.packet_in(BufferId(7), &frame(1));
    assert_eq!(first.packet_out().0, BufferId(7));
    drop(first);
    let mut second = Client::connect(&controller, Version::V13, 5);
    until("it is there again", || controller.switches()[&5].connected && controller.connections().0 == 1);
    assert_eq!(controller.claims(), 0);
    second.packet_in(BufferId(1), &frame(1));
    assert_eq!(second.packet_out().0, BufferId(1));
    assert!(controller.switches()[&5].connected);
    drop(second);
    until("it is gone", || !controller.switches()[&5].connected);
    assert_eq!(controller.flows(5, PATIENCE), Err(NoAnswer::Unknown(5)));
    let third = Client::connect(&controller, Version::V10, 5);
    until("it is back", || controller.switches()[&5].connected);
    assert_eq!(controller.switches()[&5].version, third.version.number());
}

#[test]
fn a_port_that_changes_is_seen_and_told_to_applications() {
    let controller = start(Config::default());
    let mut client = Client::connect(&controller, Version::V13, 3);
    until("it is known", || controller.switches().contains_key(&3));
    let mut port = port13(2);
    port.state = v13::port::PortState::LINK_DOWN;
    let status = v13::PortStatus { reason: v13::port::PortReason::MODIFY, port };
    client.send(Message::V13(v13::Message { xid: 0, body: v13::Body::PortStatus(status) }));
    until("the port is down", || controller.switches()[&3].port(Port(2)).is_some_and(|port| !port.up));
    assert!(controller.look(|runtime| runtime.views().iter().any(|view| view.view == SwitchEvents::id())));
    assert!(controller.state().content(&Switches::id()).is_some());
}

#[test]
fn bytes_that_are_no_openflow_end_their_connection_alone() {
    let controller = start(Config::default());
    let mut good = Client::connect(&controller, Version::V13, 1);
    until("it is known", || controller.switches().len() == 1);
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    for length in 1..200 {
        let mut stream = TcpStream::connect(controller.address().unwrap()).unwrap();
        let noise = |_| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed as u8
        };
        let bytes: Vec<u8> = (0..length).map(noise).collect();
        let _ = stream.write_all(&bytes);
    }
    good.packet_in(BufferId(2), &frame(1));
    assert_eq!(good.packet_out().0, BufferId(2));
    until("the others are gone", || controller.connections().0 == 1);
    assert_eq!(controller.switches().len(), 1);
}

#[test]
fn what_a_switch_refuses_is_counted() {
    let controller = start(Config::default());
    let mut client = Client::connect(&controller, Version::V13, 1);
    until("it is known", || controller.switches().len() == 1);
    let rejected = || controller.statistics().iter().map(|worker| worker.rejected).sum::<u64>();
    assert_eq!(rejected(), 0);
    let error = v13::Error { reason: v13::Reason::FLOW_MOD_TABLE_FULL, data: Vec::new() };
    for xid in [70, 71] {
        client.send(Message::V13(v13::Message { xid, body: v13::Body::Error(error.clone()) }));
    }
    until("both are counted", || rejected() == 2);
    assert!(controller.switches()[&1].connected);
}

#[test]
fn more_connections_than_there_is_room_for_are_refused_and_counted() {
    let controller = start(Config::default());
    let streams: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(controller.address().unwrap()).unwrap()).collect();
    until("those that are too many are refused", || controller.connections() == (256, 44));
    drop(streams);
    until("their room is free again", || controller.connections().0 == 0);
    let mut client = Client::connect(&controller, Version::V10, 1);
    client.packet_in(BufferId(1), &frame(1));
    until("it is known", || controller.switches().len() == 1);
    client.packet_in(BufferId(2), &frame(1));
    while client.packet_out().0 != BufferId(2) {}
}
