//! What ports a switch may tell of, and what that costs.

mod support;

use plait_control_openflow::Version;
use plait_dataplane_openflow::Config;
use plait_model_wire::openflow::v10;
use plait_model_wire::openflow::v10::port::{PortReason, PortState, PortStatus};
use std::io::Write;
use support::{Client, port10, start, until};

/// As many as are known of one switch.
const MOST: u16 = 4096;

/// The messages that tell of these ports.
fn told(ports: impl Iterator<Item = u16>, reason: PortReason, state: u32) -> Vec<u8> {
    let message = |number| {
        let port = v10::Port { state: PortState(state), ..port10(number) };
        let body = v10::Body::PortStatus(PortStatus { reason, port });
        v10::Message { xid: 0, body }.emit().unwrap()
    };
    ports.flat_map(message).collect()
}

/// The most memory that this process ever had, in bytes (proc(5), in kilobytes of 1024).
fn peak() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn a_switch_with_many_ports_may_speak_of_them_as_often_as_it_likes() {
    let controller = start(Config::default());
    let mut client = Client::connect(&controller, Version::V10, 1);
    client.stream.write_all(&told(3..=MOST, PortReason::ADD, 0)).unwrap();
    let count = || controller.switches().get(&1).map_or(0, |info| info.ports.len());
    until("all ports are known", || count() == usize::from(MOST));
    let before = peak();
    for turn in 1..=8 {
        client.stream.write_all(&told(1..=MOST, PortReason::MODIFY, turn % 2)).unwrap();
        let is_as_told = move |up: bool| up != (turn % 2 == 1);
        until("all are as they are told to be", || {
            controller.switches()[&1].ports.iter().all(|port| is_as_told(port.up))
        });
    }
    // A thousand of them are in a read, each with all that is known of the switch.
    // What the kernel says is some pages off, since each processor counts for itself.
    let grown = peak().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more for 32,768 changes");

    // One port more than may be.
    client.stream.write_all(&told(MOST + 1..=MOST + 1, PortReason::ADD, 0)).unwrap();
    until("it is ended", || !controller.switches()[&1].connected);
}

#[test]
fn switches_have_no_more_ports_together_than_may_be() {
    // Ten for each of the 256 connections that there may be.
    let controller = start(Config { most_ports: 2560, ..Config::default() });
    let [mut greedy, mut other] = [1, 2].map(|datapath| Client::connect(&controller, Version::V10, datapath));
    until("both are known", || controller.switches().len() == 2);
    greedy.stream.write_all(&told(3..=2558, PortReason::ADD, 0)).unwrap();
    until("they are known", || controller.switches()[&1].ports.len() == 2558);
    // Together they have as many as may be; who has no more than its share may have one more, the other not.
    other.stream.write_all(&told(3..=3, PortReason::ADD, 0)).unwrap();
    until("it is known", || controller.switches()[&2].ports.len() == 3);
    greedy.stream.write_all(&told(2559..=2559, PortReason::ADD, 0)).unwrap();
    until("it is ended", || !controller.switches()[&1].connected);
    assert!(controller.switches()[&2].connected);
    // What it held is room again.
    until("it is let go", || controller.connections().0 == 1);
    other.stream.write_all(&told(4..=90, PortReason::ADD, 0)).unwrap();
    until("they are known", || controller.switches()[&2].ports.len() == 90);
}
