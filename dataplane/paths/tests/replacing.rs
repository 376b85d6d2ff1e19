//! Lists are replaced while packets go.

mod row;

use plait_control_paths::Operation;
use plait_dataplane_paths::{Encapsulation, Options, PathDrop};
use row::capture::Capture;
use row::frame::unstacked;
use row::{KINDS, Row, SHARED, left_station, list, relay};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const REPLACEMENTS: usize = 1000;
/// As far by any of them, so that nothing is overtaken: all lead along the row. By the third no superpackets may go, so that
/// the device's setting changes on the way to it and from it.
const LISTS: [&[usize]; 3] = [&[1], &[2], &[1, 2]];

fn above(nodes: &[usize]) -> Vec<Ipv4Addr> {
    nodes.iter().map(|node| relay(*node)).collect()
}

#[test]
fn nothing_is_lost_or_overtaken_while_lists_are_replaced_a_thousand_times() {
    let Some(row) = Row::new(4) else { return };
    row.finishes(0, "r0");
    let relays = row.relays();
    let encapsulation = Encapsulation::Gue;
    let mut paths = row.steers(Options::new(SHARED, encapsulation));
    let mut set =
        |nodes| paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![list(nodes)] }).unwrap();
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
    let known = LISTS.map(above);
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
        paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![list(nodes)] }).unwrap();
        sender.send(&[1]).unwrap();
        let frames = capture.frames();
        assert_eq!(frames.len(), 1);
        assert_eq!(unstacked(&frames[0], Encapsulation::Ipip).unwrap().0, above(nodes));
    }
    paths.apply(Operation::Remove { prefix: row.prefix() }).unwrap();
    sender.send(&[1]).unwrap();
    assert_eq!(unstacked(&capture.frames()[0], Encapsulation::Ipip).unwrap().0, above(&[]));
    row.within(0, move || drop(paths));
}

#[test]
fn a_stream_goes_on_while_lists_are_replaced() {
    let Some(row) = Row::new(4) else { return };
    let relays = row.relays();
    for encapsulation in KINDS {
        let mut paths = row.steers(Options::new(SHARED, encapsulation));
        thread::scope(|scope| {
            let replacing = scope.spawn(|| {
                for turn in 0..200 {
                    let lists = vec![list(LISTS[turn % LISTS.len()])];
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
        row.sh(0, "ip route flush cache");
    }
}
