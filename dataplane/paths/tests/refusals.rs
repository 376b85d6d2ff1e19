//! What goes no further: what is forged, what a relay was not made for, and what goes round in circles.

mod row;

use ipnet::IpNet;
use plait_control_paths::Operation;
use plait_dataplane_paths::{Border, Encapsulation, Family, Options, PathDrop, Paths, Relay, Selector, Ways};
use plait_model_wire::number::protocol;
use row::capture::Capture;
use row::frame::{Ip, unstacked};
use row::{PAIRS, Row, SHARED, bound, cases, left_station, right_station, until};
use rustix::net::sockopt;
use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
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
    paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(nodes)] }).unwrap();
    paths
}

#[test]
fn a_border_keeps_out_what_is_forged_and_nothing_else() {
    let Some(row) = Row::new(4) else { return };
    let outside = row.device(1, "l1");
    let border = row.within(1, || Border::attach(&[outside], SHARED).unwrap());
    for (kind, (pair, encapsulation)) in (1..).zip(cases()) {
        let row = row.of(pair);
        let (receiver, sender) = row.datagrams();
        // The first host is outside, and knows the shared source.
        let paths = steered(&row, encapsulation, &[2]);
        send(&sender);
        assert_eq!(border.drops().unwrap(), BTreeMap::from([(PathDrop::Forged, kind * SENT)]));
        row.within(0, move || drop(paths));
        // What is its own comes in, of UDP and of others.
        send(&sender);
        arrive(&receiver);
        assert!(row.try_sh(0, &format!("ping -c 1 -W 5 {}", row.far())).0);
        receiver.set_nonblocking(true).unwrap();
        assert!(receiver.recv(&mut [0; 200]).is_err(), "nothing forged arrived");
        drop((receiver, sender));
        row.carries_a_stream();
        assert_eq!(border.drops().unwrap(), BTreeMap::from([(PathDrop::Forged, kind * SENT)]));
    }
    row.within(1, move || drop(border));
}

#[test]
fn a_relay_takes_off_the_encapsulations_it_was_made_for() {
    let Some(row) = Row::new(3) else { return };
    let device = row.device(1, "l1");
    for (pair, taken) in cases() {
        let row = row.of(pair);
        let (receiver, sender) = row.datagrams();
        let relay = row.within(1, || Relay::attach(&[device], row.relay(1), SHARED, &[taken]).unwrap());
        let mut refused = 0;
        for (_, sent) in cases().filter(|(of, _)| *of == pair) {
            let paths = steered(&row, sent, &[1]);
            send(&sender);
            // With one relay, SRv6 is IPv6 and nothing else.
            let is_bare = |kind| [Encapsulation::Ipip, Encapsulation::Srv6].contains(&kind);
            if sent == taken || (pair.0 == Family::Ipv6 && is_bare(sent) && is_bare(taken)) {
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
        receiver.set_nonblocking(true).unwrap();
        assert!(receiver.recv(&mut [0; 200]).is_err(), "nothing else arrived");
    }
}

/// A network that nobody has, and that two routers say the other leads to; and an address of it.
fn nowhere(row: &Row, family: Family) -> (IpNet, IpAddr) {
    let (prefix, back, lost): (&str, IpAddr, &str) = match family {
        Family::Ipv4 => ("10.0.99.0/24", [10, 0, 1, 1].into(), "10.0.99.1"),
        Family::Ipv6 => ("2001:db8:0:99::/64", "2001:db8:0:1::1".parse().unwrap(), "2001:db8:0:99::1"),
    };
    row.sh(2, &format!("ip route replace {prefix} via {back}"));
    (prefix.parse().unwrap(), lost.parse().unwrap())
}

#[test]
fn what_goes_round_between_two_relays_dies() {
    let Some(row) = Row::new(4) else { return };
    row.finishes(0, "r0");
    let relays = row.relays();
    for pair in PAIRS {
        let row = row.of(pair);
        let (prefix, lost) = nowhere(&row, row.inner);
        // Each router steers by the other.
        let steered = [(1, "r1", 2), (2, "l2", 1)].map(|(node, device, other)| {
            let device = row.device(node, device);
            let options = Options::new(SHARED, Encapsulation::Gre);
            let mut paths = row.within(node, || Paths::attach(device, options).unwrap());
            paths.apply(Operation::Set { prefix, lists: vec![row.list(&[other])] }).unwrap();
            paths
        });
        let (told, capture) =
            (Capture::new(&row, 0, right_station(0)), Capture::new(&row, 2, left_station(2)));
        let any = row.any(5000);
        let sender = row.within(0, || bound(|| UdpSocket::bind(any)));
        sender.send_to(&[7; 100], (lost, 9)).unwrap();
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
            assert_eq!(above, [row.relay(2)], "one header is taken off before the next is put on");
            assert_eq!(u64::from(Ip::whole(packet).unwrap().hops), HOPS - 1 - 2 * lap);
        }
        for (paths, node) in steered.into_iter().zip([1, 2]) {
            row.within(node, move || drop(paths));
        }
    }
    for relay in &relays {
        assert_eq!(relay.drops().unwrap(), BTreeMap::new());
    }
}

/// The hops that hosts give their packets, and stacks theirs.
const HOPS: u64 = 64;

fn is_time_exceeded(frame: &[u8]) -> bool {
    let ip = Ip::whole(&frame[14..]).unwrap();
    (ip.protocol == protocol::ICMP && ip.payload[0] == 11)
        || (ip.protocol == protocol::ICMPV6 && ip.payload[0] == 3)
}

#[test]
fn a_stack_for_a_relay_that_nobody_is_dies_whatever_hops_its_packet_has() {
    let Some(row) = Row::new(4) else { return };
    row.finishes(0, "r0");
    for (pair, encapsulation) in cases() {
        let row = row.of(pair);
        let (_, lost) = nowhere(&row, row.outer);
        let mut paths = row.steers(Options::new(SHARED, encapsulation));
        paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![vec![lost]] }).unwrap();
        let capture = Capture::new(&row, 2, left_station(2));
        let (_, sender) = row.datagrams();
        match row.inner {
            Family::Ipv4 => sockopt::set_ip_ttl(&sender, 255).unwrap(),
            Family::Ipv6 => sockopt::set_ipv6_unicast_hops(&sender, Some(255)).unwrap(),
        }
        sender.send(&[7; 100]).unwrap();
        let mut frames = Vec::new();
        until("it goes round", || {
            frames.extend(capture.frames());
            frames.last().is_some_and(|last| Ip::whole(&last[14..]).unwrap().hops == 1)
        });
        thread::sleep(Duration::from_millis(50));
        frames.extend(capture.frames());
        assert_eq!(frames.len() as u64, HOPS / 2);
        row.within(0, move || drop(paths));
    }
}

#[test]
fn lists_that_cannot_be_are_refused_with_what_to_do() {
    let Some(row) = Row::new(3) else { return };
    let mut paths = row.steers(Options::new(SHARED, Encapsulation::Gue));
    let six = row.of((Family::Ipv6, Family::Ipv6));
    let refused = |paths: &mut Paths, prefix, list: Vec<IpAddr>| {
        paths.apply(Operation::Set { prefix, lists: vec![list] }).unwrap_err().to_string()
    };
    let mixed = refused(&mut paths, row.prefix(), [row.list(&[1]), six.list(&[1])].concat());
    assert!(mixed.contains("IPv4 and of IPv6") && mixed.contains("of one"), "{mixed}");
    // Of 1500 bytes, four relays of 52 leave 1292, and five less than any link of IPv6 has.
    let narrow = refused(&mut paths, six.prefix(), six.list(&[1; 5]));
    assert!(narrow.contains("260 bytes") && narrow.contains("1280"), "{narrow}");
    let many = refused(&mut paths, six.prefix(), six.list(&[1; 17]));
    assert!(many.contains("17 relays"), "{many}");
    let ways =
        Ways { lists: vec![row.list(&[1])], encapsulation: Encapsulation::Srv6, selector: Selector::Hash };
    let segments = paths.set(row.prefix(), ways).unwrap_err().to_string();
    assert!(segments.contains("IPv6"), "{segments}");
    // A flow that moves waits for a gap of 10 ms, and may be held for 260 ms.
    let device = row.device(0, "r0");
    let forgets = |idle| {
        let options = Options { idle: Some(idle), ..Options::new(SHARED, Encapsulation::Gre) };
        row.within(0, || Paths::load(device, options, None).map(drop))
    };
    let soon = forgets(Duration::from_millis(270)).unwrap_err().to_string();
    assert!(soon.contains("270ms") && soon.contains("smaller spread"), "{soon}");
    forgets(Duration::from_millis(271)).unwrap();
    paths.apply(Operation::Set { prefix: six.prefix(), lists: vec![six.list(&[1; 4])] }).unwrap();
    paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![six.list(&[1; 16])] }).unwrap();
    row.within(0, move || drop(paths));
}
