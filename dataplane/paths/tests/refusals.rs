//! What goes no further: what is forged, what a relay was not made for, and what goes round in circles.

mod row;

use plait_control_paths::Operation;
use plait_dataplane_paths::{Border, Encapsulation, Options, PathDrop, Paths, Relay};
use plait_model_wire::ipv4;
use plait_model_wire::number::protocol;
use row::capture::Capture;
use row::frame::unstacked;
use row::{KINDS, Row, SHARED, bound, left_station, list, relay, right_station, until};
use rustix::net::sockopt;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::Duration;

/// As many datagrams as are sent where none may arrive.
const SENT: u64 = 20;

fn send(sender: &UdpSocket) {
    for _ in 0..SENT {
        sender.send(&[7; 100]).unwrap();
    }
}

fn arrive(receiver: &UdpSocket) {
    for _ in 0..SENT {
        assert_eq!(receiver.recv(&mut [0; 200]).unwrap(), 100);
    }
}

fn steered(row: &Row, encapsulation: Encapsulation, nodes: &[usize]) -> Paths {
    let mut paths = row.steers(Options::new(SHARED, encapsulation));
    paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![list(nodes)] }).unwrap();
    paths
}

#[test]
fn a_border_keeps_out_what_is_forged_and_nothing_else() {
    let Some(row) = Row::new(4) else { return };
    let (receiver, sender) = row.datagrams();
    let outside = row.device(1, "l1");
    let border = row.within(1, || Border::attach(&[outside], SHARED).unwrap());
    for (kind, encapsulation) in (1..).zip(KINDS) {
        // The first host is outside, and knows the shared source.
        let paths = steered(&row, encapsulation, &[2]);
        send(&sender);
        assert_eq!(border.drops().unwrap(), BTreeMap::from([(PathDrop::Forged, kind * SENT)]));
        row.within(0, move || drop(paths));
        // What is its own comes in, of UDP and of others.
        send(&sender);
        arrive(&receiver);
        assert!(row.try_sh(0, &format!("ping -c 1 -W 5 {}", row.far())).0);
        row.carries_a_stream();
        assert_eq!(border.drops().unwrap(), BTreeMap::from([(PathDrop::Forged, kind * SENT)]));
    }
    receiver.set_nonblocking(true).unwrap();
    assert!(receiver.recv(&mut [0; 200]).is_err(), "nothing forged arrived");
    row.within(1, move || drop(border));
}

#[test]
fn a_relay_takes_off_the_encapsulations_it_was_made_for() {
    let Some(row) = Row::new(3) else { return };
    let (receiver, sender) = row.datagrams();
    let device = row.device(1, "l1");
    for taken in KINDS {
        let relay = row.within(1, || Relay::attach(&[device], relay(1), SHARED, &[taken]).unwrap());
        let mut refused = 0;
        for sent in KINDS {
            let paths = steered(&row, sent, &[1]);
            send(&sender);
            if sent == taken {
                arrive(&receiver);
            } else {
                refused += SENT;
            }
            let drops = relay.drops().unwrap();
            assert_eq!(drops.get(&PathDrop::Malformed).copied().unwrap_or_default(), refused);
            assert_eq!(drops.values().sum::<u64>(), refused);
            row.within(0, move || drop(paths));
        }
        row.within(1, move || drop(relay));
    }
    receiver.set_nonblocking(true).unwrap();
    assert!(receiver.recv(&mut [0; 200]).is_err(), "nothing else arrived");
}

/// A network that nobody has, and that two routers say the other leads to.
const NOWHERE: &str = "10.0.99.0/24";
const LOST: Ipv4Addr = Ipv4Addr::new(10, 0, 99, 1);

#[test]
fn what_goes_round_between_two_relays_dies() {
    let Some(row) = Row::new(4) else { return };
    row.sh(2, &format!("ip route add {NOWHERE} via 10.0.1.1"));
    row.finishes(0, "r0");
    let relays = row.relays();
    // Each router steers by the other.
    let steered = [(1, "r1", 2), (2, "l2", 1)].map(|(node, device, other)| {
        let device = row.device(node, device);
        let options = Options::new(SHARED, Encapsulation::Gre);
        let mut paths = row.within(node, || Paths::attach(device, options).unwrap());
        let prefix = NOWHERE.parse().unwrap();
        paths.apply(Operation::Set { prefix, lists: vec![list(&[other])] }).unwrap();
        paths
    });
    let (told, capture) = (Capture::new(&row, 0, right_station(0)), Capture::new(&row, 2, left_station(2)));
    let sender = row.within(0, || bound(|| UdpSocket::bind("0.0.0.0:5000")));
    sender.send_to(&[7; 100], (LOST, 9)).unwrap();
    // Whoever has it last says so to the sender: each router it passes takes a hop off the packet itself.
    until("the sender is told that its packet died", || {
        told.frames().iter().any(|frame| is_time_exceeded(frame))
    });
    let laps: u64 = steered.iter().map(|paths| paths.counters().unwrap()[0].packets).sum();
    assert_eq!(laps, HOPS - 1);
    let frames = capture.frames();
    assert_eq!(frames.len() as u64, HOPS / 2);
    for (lap, frame) in (0..).zip(&frames) {
        let (above, packet) = unstacked(frame, Encapsulation::Gre).unwrap();
        assert_eq!(above, [relay(2)], "one header is taken off before the next is put on");
        assert_eq!(u64::from(packet[8]), HOPS - 1 - 2 * lap);
    }
    for relay in &relays {
        assert_eq!(relay.drops().unwrap(), BTreeMap::new());
    }
}

/// The hops that hosts give their packets, and stacks theirs.
const HOPS: u64 = 64;

fn is_time_exceeded(frame: &[u8]) -> bool {
    let ip = ipv4::Packet::parse(&frame[14..]).unwrap();
    ip.protocol() == protocol::ICMP && ip.payload()[0] == 11
}

#[test]
fn a_stack_for_a_relay_that_nobody_is_dies_whatever_hops_its_packet_has() {
    let Some(row) = Row::new(4) else { return };
    row.sh(2, &format!("ip route add {NOWHERE} via 10.0.1.1"));
    row.finishes(0, "r0");
    for encapsulation in KINDS {
        let mut paths = row.steers(Options::new(SHARED, encapsulation));
        paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![vec![LOST.into()]] }).unwrap();
        let capture = Capture::new(&row, 2, left_station(2));
        let (_, sender) = row.datagrams();
        sockopt::set_ip_ttl(&sender, 255).unwrap();
        sender.send(&[7; 100]).unwrap();
        let mut frames = Vec::new();
        until("it goes round", || {
            frames.extend(capture.frames());
            frames.last().is_some_and(|last| last[14 + 8] == 1)
        });
        thread::sleep(Duration::from_millis(50));
        frames.extend(capture.frames());
        assert_eq!(frames.len() as u64, HOPS / 2);
        row.within(0, move || drop(paths));
    }
}
