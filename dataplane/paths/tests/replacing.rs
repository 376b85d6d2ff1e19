//! Lists are replaced while packets go.

mod row;

use plait_control_paths::Operation;
use plait_dataplane_paths::{Encapsulation, Options, PathDrop};
use row::capture::Capture;
use row::frame::unstacked;
use row::{BYTES, PATIENCE, Row, SHARED, bound, cases, left_station, pattern};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const REPLACEMENTS: usize = 1000;
/// As far by any of them, so that nothing is overtaken: all lead along the row. By the third no superpackets may go, so that
/// the device's setting changes on the way to it and from it.
const LISTS: [&[usize]; 3] = [&[1], &[2], &[1, 2]];

fn above(row: &Row, nodes: &[usize]) -> Vec<IpAddr> {
    nodes.iter().map(|node| row.relay(*node)).collect()
}

#[test]
fn nothing_is_lost_or_overtaken_while_lists_are_replaced_a_thousand_times() {
    let Some(row) = Row::new(4) else { return };
    row.finishes(0, "r0");
    let relays = row.relays();
    let encapsulation = Encapsulation::Gue;
    let mut paths = row.steers(Options::new(SHARED, encapsulation));
    let mut set =
        |nodes| paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(nodes)] }).unwrap();
    set(LISTS[0]);
    let capture = Capture::new(&row, 1, left_station(1));
    let (receiver, sender) = row.datagrams();
    let is_over = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let sending = scope.spawn(|| {
            // One processor: packets that two have in hand overtake each other by themselves.
            let mut one = CpuSet::new();
            one.set(0);
            sched_setaffinity(None, &one).unwrap();
            let mut number = 0u64;
            while !is_over.load(Ordering::Relaxed) {
                sender.send(&number.to_be_bytes()).unwrap();
                number += 1;
                thread::sleep(Duration::from_micros(20));
            }
            number
        });
        for turn in 1..=REPLACEMENTS {
            set(LISTS[turn % LISTS.len()]);
            // About as long as it takes to send a packet or two.
            thread::sleep(Duration::from_micros(100));
        }
        is_over.store(true, Ordering::Relaxed);
        sending.join().unwrap()
    });
    assert!(sent > REPLACEMENTS as u64, "{sent} datagrams are too few to see anything");
    for number in 0..sent {
        let mut datagram = [0; 8];
        receiver.recv(&mut datagram).unwrap();
        assert_eq!(u64::from_be_bytes(datagram), number, "of {sent}");
    }
    let frames = capture.frames();
    assert_eq!(frames.len() as u64, sent);
    let known = LISTS.map(|nodes| above(&row, nodes));
    let mut by = [0; LISTS.len()];
    for frame in &frames {
        let (relays, _) = unstacked(frame, encapsulation).unwrap();
        by[known.iter().position(|list| *list == relays).expect("an old list or a new one")] += 1;
    }
    assert!(by.iter().all(|frames| *frames > 0), "{by:?}");
    assert_eq!(paths.drops().unwrap(), [].into());
    for relay in &relays {
        assert_eq!(relay.drops().unwrap(), [].into());
    }
    row.within(0, move || drop(paths));
}

#[test]
fn what_is_sent_after_a_replacement_goes_by_the_new_lists() {
    let Some(row) = Row::new(4) else { return };
    row.finishes(0, "r0");
    let mut paths = row.steers(Options::new(SHARED, Encapsulation::Ipip));
    let capture = Capture::new(&row, 1, left_station(1));
    let (_, sender) = row.datagrams();
    for turn in 0..100 {
        let nodes = LISTS[turn % LISTS.len()];
        paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(nodes)] }).unwrap();
        sender.send(&[1]).unwrap();
        let frames = capture.frames();
        assert_eq!(frames.len(), 1);
        assert_eq!(unstacked(&frames[0], Encapsulation::Ipip).unwrap().0, above(&row, nodes));
    }
    paths.apply(Operation::Remove { prefix: row.prefix() }).unwrap();
    sender.send(&[1]).unwrap();
    assert_eq!(unstacked(&capture.frames()[0], Encapsulation::Ipip).unwrap().0, above(&row, &[]));
    row.within(0, move || drop(paths));
}

/// Superpackets that its kernel makes are forbidden and allowed on its way, which it hears of with the next one.
#[test]
fn an_open_connection_goes_on_under_more_headers_and_fewer() {
    let Some(row) = Row::new(4) else { return };
    let _relays = row.relays();
    for (pair, encapsulation) in cases() {
        let row = row.of(pair);
        let mut paths = row.steers(Options::new(SHARED, encapsulation));
        let far = row.far();
        let listener = row.within(row.last(), || bound(|| TcpListener::bind((far, 7000))));
        let mut sender = row.connects();
        let mut receiver = listener.accept().unwrap().0;
        receiver.set_read_timeout(Some(PATIENCE)).unwrap();
        let (bytes, mut dropped) = (pattern(BYTES), 0);
        for nodes in [&[1][..], &[1, 2], &[1], &[1, 2, 1, 2], &[]] {
            paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(nodes)] }).unwrap();
            let received = thread::scope(|scope| {
                scope.spawn(|| sender.write_all(&bytes).unwrap());
                let mut received = vec![0; BYTES];
                receiver.read_exact(&mut received).map(|()| received)
            });
            assert!(received.unwrap() == bytes, "{encapsulation:?}, {pair:?} by {nodes:?}");
            // A few had been made before; what crawls by what is sent again would be hundreds.
            let drops: u64 = paths.drops().unwrap().values().sum();
            assert!(drops - dropped < 50, "{} dropped of {encapsulation:?}, {pair:?}", drops - dropped);
            dropped = drops;
        }
        row.within(0, move || drop(paths));
        row.forget();
    }
}

#[test]
fn a_stream_goes_on_while_lists_are_replaced() {
    let Some(row) = Row::new(4) else { return };
    let relays = row.relays();
    for (pair, encapsulation) in cases() {
        let row = row.of(pair);
        let mut paths = row.steers(Options::new(SHARED, encapsulation));
        thread::scope(|scope| {
            let replacing = scope.spawn(|| {
                for turn in 0..200 {
                    let lists = vec![row.list(LISTS[turn % LISTS.len()])];
                    paths.apply(Operation::Set { prefix: row.prefix(), lists }).unwrap();
                    thread::sleep(Duration::from_millis(1));
                }
            });
            while !replacing.is_finished() {
                row.carries_a_stream();
            }
        });
        // What TCP had at hand when superpackets were forbidden, it sent again.
        let drops = paths.drops().unwrap();
        assert!(
            drops.keys().all(|reason| [PathDrop::TooBig, PathDrop::Superpacket].contains(reason)),
            "{drops:?}"
        );
        for relay in &relays {
            assert_eq!(relay.drops().unwrap(), [].into());
        }
        row.within(0, move || drop(paths));
        row.forget();
    }
}
