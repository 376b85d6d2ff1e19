//! Flows that are moved and have no gaps.

mod row;

use plait_control_paths::Operation;
use plait_dataplane_paths::{Encapsulation, FlowKey, Options, PathDrop, Paths, Selector, Ways};
use row::{PATIENCE, Row, SHARED};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than a sender that sleeps is ever silent by itself, but for a machine that is very busy.
const SPREAD: Duration = Duration::from_millis(100);
const INTERVAL: Duration = Duration::from_micros(500);

/// Plain routing and a relay, chosen by flow.
fn steered_within(row: &Row, spread: Duration) -> Paths {
    let options = Options { spread, patience: Duration::ZERO, ..Options::new(SHARED, Encapsulation::Gre) };
    let mut paths = row.steers(options);
    let lists = vec![row.list(&[]), row.list(&[1])];
    let ways = Ways { lists, encapsulation: Encapsulation::Gre, selector: Selector::FlowBased };
    paths.set(row.prefix(), ways).unwrap();
    paths
}

/// A datagram every now and then, each with its number and when it was sent.
fn sends(sender: &UdpSocket, begin: Instant, is_over: &AtomicBool) -> u64 {
    // One processor: packets that two have in hand overtake each other by themselves.
    let mut one = CpuSet::new();
    one.set(0);
    sched_setaffinity(None, &one).unwrap();
    let mut number = 0u64;
    while !is_over.load(Ordering::Relaxed) {
        let sent = begin.elapsed().as_nanos() as u64;
        sender.send(&[number.to_be_bytes(), sent.to_be_bytes()].concat()).unwrap();
        number += 1;
        thread::sleep(INTERVAL);
    }
    number
}

/// A datagram: its number, when it was sent, and for how long it was under way.
struct Came {
    number: u64,
    sent: Duration,
    under_way: Duration,
}

/// Datagrams as they come.
fn receives(receiver: &UdpSocket, begin: Instant, is_over: &AtomicBool) -> Vec<Came> {
    receiver.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut came = Vec::new();
    let mut datagram = [0; 16];
    loop {
        match receiver.recv(&mut datagram) {
            Ok(_) => {
                let word = |at: usize| u64::from_be_bytes(datagram[at..at + 8].try_into().unwrap());
                let sent = Duration::from_nanos(word(8));
                came.push(Came { number: word(0), sent, under_way: begin.elapsed().saturating_sub(sent) });
            }
            Err(_) if is_over.load(Ordering::Relaxed) => return came,
            Err(_) => {}
        }
    }
}

fn eventually(is_so: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if is_so() {
            return true;
        }
        thread::sleep(Duration::from_millis(1));
    }
    false
}

/// The list that the only flow of datagrams goes by.
fn list_of(paths: &Paths) -> Option<(FlowKey, u32)> {
    let flows = paths.flows().unwrap();
    flows
        .iter()
        .find(|flow| flow.key.protocol == 17 && flow.prefix.is_some())
        .map(|flow| (flow.key, flow.list))
}

#[test]
fn a_flow_without_gaps_moves_while_its_packets_are_held_and_none_is_lost_or_overtaken() {
    let Some(row) = Row::new(4) else { return };
    let _relays = row.relays();
    let paths = steered_within(&row, SPREAD);
    let (receiver, sender) = row.datagrams();
    let (begin, is_over) = (Instant::now(), AtomicBool::new(false));
    let moves = 6;
    let (sent, came, stayed) = thread::scope(|scope| {
        let sending = scope.spawn(|| sends(&sender, begin, &is_over));
        let receiving = scope.spawn(|| receives(&receiver, begin, &is_over));
        assert!(eventually(|| list_of(&paths).is_some()));
        let (key, first) = list_of(&paths).unwrap();
        // Nobody holds: it has no gap, and stays.
        paths.move_flow(&key, 1 - first, false).unwrap();
        thread::sleep(5 * SPREAD);
        let stayed = list_of(&paths).unwrap().1 == first;
        let holder = row.within(0, || paths.hold().unwrap());
        let mut to = 1 - first;
        for _ in 0..moves {
            paths.move_flow(&key, to, true).unwrap();
            assert!(eventually(|| list_of(&paths).unwrap().1 == to), "it never moved to list {to}");
            to = 1 - to;
        }
        // What is on its way through the holder comes before it ends.
        thread::sleep(2 * SPREAD);
        row.within(0, || drop(holder));
        is_over.store(true, Ordering::Relaxed);
        let sent = sending.join().unwrap();
        let came = receiving.join().unwrap();
        (sent, came, stayed)
    });
    assert_eq!(came.iter().map(|of| of.number).collect::<Vec<_>>(), (0..sent).collect::<Vec<_>>());
    // On a machine that is very busy a sender may be silent for so long by itself that its flow moves.
    let was_silent = came.windows(2).any(|pair| pair[1].sent - pair[0].sent > SPREAD);
    assert!(stayed || was_silent, "it had no gap, and moved without a holder");
    // The first that was held waited for as long as paths differ.
    let longest = came.iter().map(|of| of.under_way).max().unwrap();
    assert!(longest >= SPREAD || was_silent, "{longest:?}");
    assert_eq!(paths.drops().unwrap(), [].into());
    row.within(0, move || drop(paths));
}

#[test]
fn a_flow_whose_list_is_gone_is_held_and_neither_lost_nor_overtaken() {
    let Some(row) = Row::new(4) else { return };
    let _relays = row.relays();
    let mut paths = steered_within(&row, SPREAD);
    let holder = row.within(0, || paths.hold().unwrap());
    let (receiver, sender) = row.datagrams();
    let (begin, is_over) = (Instant::now(), AtomicBool::new(false));
    let (sent, came) = thread::scope(|scope| {
        let sending = scope.spawn(|| sends(&sender, begin, &is_over));
        let receiving = scope.spawn(|| receives(&receiver, begin, &is_over));
        assert!(eventually(|| list_of(&paths).is_some()));
        for nodes in [&[1][..], &[], &[1, 2], &[2]] {
            paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(nodes)] }).unwrap();
            thread::sleep(3 * SPREAD);
        }
        is_over.store(true, Ordering::Relaxed);
        (sending.join().unwrap(), receiving.join().unwrap())
    });
    assert_eq!(came.iter().map(|of| of.number).collect::<Vec<_>>(), (0..sent).collect::<Vec<_>>());
    let was_silent = came.windows(2).any(|pair| pair[1].sent - pair[0].sent > SPREAD);
    let longest = came.iter().map(|of| of.under_way).max().unwrap();
    assert!(longest >= SPREAD || was_silent, "{longest:?}");
    assert_eq!(paths.drops().unwrap(), [].into());
    row.within(0, move || drop((holder, paths)));
}

#[test]
fn a_stream_goes_on_while_its_superpackets_are_held() {
    let Some(row) = Row::new(4) else { return };
    let _relays = row.relays();
    let paths = steered_within(&row, Duration::from_millis(2));
    let holder = row.within(0, || paths.hold().unwrap());
    let is_over = AtomicBool::new(false);
    let moved = thread::scope(|scope| {
        let moving = scope.spawn(|| {
            let (mut to, mut moved) = (0, 0);
            while !is_over.load(Ordering::Relaxed) {
                for flow in paths.flows().unwrap().iter().filter(|flow| flow.key.protocol == 6) {
                    // One that ended meanwhile is forgotten.
                    moved += usize::from(paths.move_flow(&flow.key, to, false).is_ok());
                }
                to = 1 - to;
                thread::sleep(Duration::from_millis(5));
            }
            moved
        });
        (0..20).for_each(|_| row.carries_a_stream());
        is_over.store(true, Ordering::Relaxed);
        moving.join().unwrap()
    });
    assert!(moved > 0, "no flow was seen");
    // Packets without a stack are longer than those with one may be, and their sender is told.
    assert!(paths.drops().unwrap().keys().all(|reason| *reason == PathDrop::TooBig));
    row.within(0, move || drop((holder, paths)));
}
