//! Faults that were found, each as the fact that holds since.

mod row;

use plait_control_paths::Operation;
use plait_dataplane_bpf::PathSizes;
use plait_dataplane_paths::{Border, Encapsulation, Error, Options, PathDrop, Paths, Relay, Selector, Ways};
use row::{PATIENCE, Row, SHARED, bound, pattern, until, whole};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::time::{Duration, Instant};

fn set(paths: &mut Paths, row: &Row, lists: &[&[usize]]) {
    let lists = lists.iter().map(|nodes| row.list(nodes)).collect();
    paths.apply(Operation::Set { prefix: row.prefix(), lists }).unwrap();
}

#[test]
fn a_refused_operation_leaves_the_device_as_it_was() {
    let Some(row) = Row::new(3) else { return };
    let before = row.segments(0, "r0");
    let sizes = PathSizes { prefixes: 1, ..PathSizes::default() };
    let mut paths = row.steers(Options { sizes, ..Options::new(SHARED, Encapsulation::Gre) });
    set(&mut paths, &row, &[&[1]]);
    let prefix = "10.0.77.0/24".parse().unwrap();
    let refused = paths.apply(Operation::Set { prefix, lists: vec![row.list(&[1, 1])] });
    assert!(matches!(refused, Err(Error::Bpf(_) | Error::Full(_))), "{refused:?}");
    assert_eq!(row.segments(0, "r0"), before);
    row.within(0, move || drop(paths));
}

/// An agent puts its relay on all devices first, and its border then.
#[test]
fn a_border_is_before_a_relay_on_the_same_device() {
    let Some(row) = Row::new(3) else { return };
    let device = row.device(1, "l1");
    let (receiver, sender) = row.datagrams();
    receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut paths = row.steers(Options::new(SHARED, Encapsulation::Gre));
    set(&mut paths, &row, &[&[1]]);
    let attach = || Relay::attach(&[device], row.relay(1), SHARED, &[Encapsulation::Gre]).unwrap();
    let taker = row.within(1, attach);
    let border = row.within(1, || Border::attach(&[device], SHARED).unwrap());
    sender.send(&[1]).unwrap();
    assert!(receiver.recv(&mut [0; 10]).is_err(), "what an outsider put under a stack arrived");
    assert_eq!(border.drops().unwrap(), [(PathDrop::Forged, 1)].into());
    row.within(1, move || drop((taker, border)));
    row.within(0, move || drop(paths));
}

/// Relays to and fro between two routers.
const SIXTEEN: [usize; 16] = [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2];

#[test]
fn superpackets_leave_room_for_high_stacks() {
    let Some(row) = Row::new(4) else { return };
    let relays = row.relays();
    let usual = row.longest_superpacket(0, "r0");
    for mtu in [5994, 7804] {
        for node in 0..3 {
            row.sh(node, &format!("ip link set r{node} mtu {mtu}"));
            row.sh(node + 1, &format!("ip link set l{} mtu {mtu}", node + 1));
        }
        let mut paths = row.steers(whole(Encapsulation::Gue));
        set(&mut paths, &row, &[&SIXTEEN]);
        // The path's MTU is known.
        row.carries_a_stream();
        let before = paths.drops().unwrap();
        for _ in 0..20 {
            row.carries_a_stream();
        }
        assert_eq!(paths.drops().unwrap(), before, "with an MTU of {mtu}");
        row.forget();
        assert!(row.longest_superpacket(0, "r0") < usual);
        row.within(0, move || drop(paths));
        assert_eq!(row.longest_superpacket(0, "r0"), usual);
    }
    drop(relays);
}

#[test]
fn a_narrow_link_between_relays_stops_no_stream() {
    let Some(row) = Row::new(5) else { return };
    let _relays = row.relays();
    row.sh(1, "ip link set r1 mtu 1400");
    row.sh(2, "ip link set l2 mtu 1400");
    let mut paths = row.steers(Options::new(SHARED, Encapsulation::Gre));
    set(&mut paths, &row, &[&[3]]);
    carries_within(&row, Duration::from_secs(5));
    row.within(0, move || drop(paths));
}

/// A stream of some bytes, which a stream that makes its way is done with in milliseconds.
fn carries_within(row: &Row, time: Duration) {
    let far = row.far();
    let listener = row.within(row.last(), || bound(|| TcpListener::bind((far, 7000))));
    let sink = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let start = Instant::now();
        let (mut got, mut buffer) = (0, vec![0; 65_536]);
        while got < 500_000 && start.elapsed() < time {
            match stream.read(&mut buffer) {
                Ok(length) if length > 0 => got += length,
                _ => break,
            }
        }
        got
    });
    let mut stream = row.connects();
    stream.set_write_timeout(Some(time)).unwrap();
    let _ = stream.write_all(&pattern(500_000));
    drop(stream);
    assert_eq!(sink.join().unwrap(), 500_000, "bytes that arrived within {time:?}");
}

#[test]
fn a_router_steers_the_streams_of_others() {
    let Some(row) = Row::new(5) else { return };
    let _relays = row.relays();
    let device = row.device(1, "r1");
    let mut paths =
        row.within(1, || Paths::attach(device, Options::new(SHARED, Encapsulation::Gre)).unwrap());
    set(&mut paths, &row, &[&[2, 3]]);
    carries_within(&row, Duration::from_secs(5));
    let drops = paths.drops().unwrap();
    assert!(drops.keys().all(|reason| *reason == PathDrop::TooBig), "{drops:?}");
    // New flows take their turns, though each of their packets comes to the program twice.
    row.within(1, || paths.set(row.prefix(), turns(&row))).unwrap();
    for port in 1..=8 {
        let sender = row.within(0, || UdpSocket::bind("0.0.0.0:0").unwrap());
        sender.connect((row.far(), port)).unwrap();
        sender.send(&pattern(100)).unwrap();
    }
    let of = |list: u32| {
        let flows = paths.flows().unwrap();
        flows.iter().filter(|flow| flow.key.protocol == 17 && flow.list == list && flow.packets == 1).count()
    };
    until("each other flow goes by either list", || (of(0), of(1)) == (4, 4));
    row.within(1, move || drop(paths));
    assert!(!row.try_sh(1, "ip link show").1.contains("cut"), "the pair is gone with what it was for");
}

/// Two lists of two relays, by turns.
fn turns(row: &Row) -> Ways {
    let lists = vec![row.list(&[2, 3]), row.list(&[3, 2])];
    Ways { lists, encapsulation: Encapsulation::Ipip, selector: Selector::RoundRobin }
}

#[test]
fn what_is_refused_takes_no_turn() {
    let Some(row) = Row::new(3) else { return };
    let options = Options { selector: Selector::RoundRobin, ..Options::new(SHARED, Encapsulation::Gre) };
    let mut paths = row.steers(options);
    set(&mut paths, &row, &[&[1], &[1]]);
    let far = row.far();
    for port in 1..=100 {
        let sender = row.within(0, || UdpSocket::bind("0.0.0.0:0").unwrap());
        sender.connect((far, port)).unwrap();
        // The first one tells it what fits.
        let _ = sender.send(&pattern(1472));
        let _ = sender.send(&pattern(100));
        row.forget();
    }
    let flows = paths.flows().unwrap();
    let by_first = flows.iter().filter(|flow| flow.list == 0 && flow.key.ports != [0; 4]).count();
    assert_eq!(by_first, 50, "of a hundred flows by two lists");
}
