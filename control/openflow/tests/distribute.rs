//! Who is served how much, in virtual time: switches fill bounded sockets, workers read what a lock lets them.

use plait_control_openflow::{Design, Rounds, Tried, dynamic_partition, fewest, max_min, static_partition};

const WORKERS: usize = 4;
/// Requests of one read, and of a full socket.
const READ: f64 = 20.0;
const SOCKET: f64 = 2000.0;

/// Requests of each switch that are served in a time unit, in which a worker serves one.
fn serve(design: Design, rates: &[f64], weights: &[u32], assigned: &[usize]) -> Vec<f64> {
    const TIME: f64 = 400_000.0;
    let count = rates.len();
    let mut workers: Vec<(f64, Rounds)> =
        (0..WORKERS).map(|worker| (0.0, Rounds::new(design, weights, assigned, worker, WORKERS))).collect();
    let (mut waiting, mut since, mut locked) = (vec![0.0f64; count], vec![0.0; count], vec![0.0; count]);
    let mut served = vec![0.0; count];
    loop {
        let turn = (0..WORKERS).min_by(|a, b| workers[*a].0.total_cmp(&workers[*b].0)).unwrap();
        let (now, rounds) = &mut workers[turn];
        if *now > TIME {
            break;
        }
        let Some(switch) = rounds.next(|_| false) else {
            rounds.end();
            *now += 0.5;
            continue;
        };
        if locked[switch] > *now {
            rounds.went(Tried::Locked);
            *now += 0.05;
            continue;
        }
        waiting[switch] = (waiting[switch] + (*now - since[switch]) * rates[switch]).min(SOCKET);
        since[switch] = *now;
        let read = waiting[switch].min(READ).floor();
        waiting[switch] -= read;
        served[switch] += read;
        rounds.went(if read > 0.0 { Tried::Read } else { Tried::Empty });
        // Reading and chopping is a third of the work, under the lock.
        locked[switch] = *now + 0.05 + read / 3.0;
        *now += 0.05 + read;
    }
    served.into_iter().map(|requests| requests / TIME).collect()
}

/// The largest deviation of a switch from its share of what all got.
fn deviation(rates: &[f64], weights: &[u32], got: &[f64]) -> f64 {
    let offered: Vec<(f64, f64)> =
        rates.iter().zip(weights).map(|(rate, weight)| (*rate, f64::from(*weight))).collect();
    let shares = max_min(&offered, got.iter().sum());
    got.iter().zip(shares).map(|(got, share)| (got / share - 1.0).abs()).fold(0.0, f64::max)
}

/// Offered: three times what can be served, a few switches most of it.
fn skewed() -> Vec<f64> {
    (0..40).map(|switch| if switch % 8 == 0 { 2.0 } else { 0.02 + 0.005 * f64::from(switch) }).collect()
}

#[test]
fn round_robin_gives_each_switch_its_max_min_share() {
    let (rates, weights) = (skewed(), [1; 40]);
    let got = serve(Design::RoundRobin, &rates, &weights, &[]);
    assert!(got.iter().sum::<f64>() > 3.5, "four workers work");
    let most = deviation(&rates, &weights, &got);
    assert!(most < 0.01, "{most}");
}

#[test]
fn weights_divide_what_is_left() {
    let rates = [1.0; 24];
    let weights: Vec<u32> = (0..24).map(|switch| 1 + switch % 3).collect();
    let got = serve(Design::RoundRobin, &rates, &weights, &[]);
    let most = deviation(&rates, &weights, &got);
    assert!(most < 0.01, "{most}");
}

#[test]
fn whoever_lost_a_switch_gets_the_next() {
    let mut assigned: Vec<usize> = Vec::new();
    for _ in 0..10 {
        assigned.push(fewest(assigned.iter().copied(), WORKERS));
    }
    assert_eq!(assigned, static_partition(10, WORKERS));
    // Each in turn goes and comes again, the last of them first.
    for place in (0..10).rev() {
        assigned.remove(place);
        assigned.push(fewest(assigned.iter().copied(), WORKERS));
        let counts: Vec<usize> =
            (0..WORKERS).map(|worker| assigned.iter().filter(|of| **of == worker).count()).collect();
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
    }
    // Of workers that are no more nothing is counted.
    assert_eq!(fewest([7, 0], 2), 1);
}

#[test]
fn a_static_partition_is_not_fair() {
    let (rates, weights) = (skewed(), [1; 40]);
    let got = serve(Design::StaticPartition, &rates, &weights, &static_partition(40, WORKERS));
    assert!(deviation(&rates, &weights, &got) > 0.1);
}

#[test]
fn a_dynamic_partition_balances_load_and_is_not_fair_either() {
    // The thesis's example: two share a worker and get a quarter each, the third gets a half.
    assert_eq!(dynamic_partition(&[1.0, 1.0, 2.0], 2), [1, 1, 0]);
    assert_eq!(dynamic_partition(&[3.0, 1.0, 2.0, 5.0, 4.0], 2), [1, 0, 0, 0, 1]);
    assert_eq!(max_min(&[(1.0, 1.0), (1.0, 1.0), (2.0, 1.0)], 1.5), [0.5; 3]);
    let assigned = dynamic_partition(&[4.0, 4.0, 8.0], 2);
    let got = serve(Design::DynamicPartition, &[4.0, 4.0, 8.0], &[1; 3], &assigned);
    let all: f64 = got.iter().sum();
    for (got, part) in got.iter().zip([0.25, 0.25, 0.5]) {
        assert!((got / all - part).abs() < 0.01);
    }
}

#[test]
fn a_round_passes_by_the_idle_skips_the_held_and_tries_them_again() {
    let mut rounds = Rounds::new(Design::RoundRobin, &[1, 2, 1, 1], &[], 0, 1);
    let mut tried = Vec::new();
    let found = rounds.round(
        |switch| switch == 3,
        |switch| {
            tried.push(switch);
            if switch == 0 || switch == 2 && tried.len() < 5 { Tried::Locked } else { Tried::Read }
        },
    );
    assert!(found);
    assert_eq!(tried, [0, 1, 1, 2, 0, 2]);
    let counters = rounds.counters();
    assert_eq!((counters.rounds, counters.skips, counters.revisits, counters.missed), (1, 2, 2, 1));
    assert!(!rounds.round(|_| false, |_| Tried::Empty), "nothing waits: load is light");
}

#[test]
fn without_revisits_who_is_held_has_no_turn_until_the_next_round() {
    let mut rounds = Rounds::new(Design::RoundRobin, &[2, 1], &[], 0, 1).revisiting(false);
    let mut round = |held: Option<usize>| {
        let mut tried = Vec::new();
        rounds.round(
            |_| false,
            |switch| {
                tried.push(switch);
                if held == Some(switch) { Tried::Locked } else { Tried::Read }
            },
        );
        tried
    };
    assert_eq!((round(Some(0)), round(None)), (vec![0, 1], vec![0, 0, 1]));
    let counters = rounds.counters();
    assert_eq!((counters.rounds, counters.skips, counters.revisits, counters.missed), (2, 1, 0, 0));
}

#[test]
fn of_a_shared_queue_one_worker_reads_every_switch() {
    let reads = |worker| {
        let mut read = Vec::new();
        Rounds::new(Design::SharedQueue, &[1, 2], &[], worker, 3).round(
            |_| false,
            |switch| {
                read.push(switch);
                Tried::Read
            },
        );
        read
    };
    assert_eq!((reads(0), reads(1), reads(2)), (vec![0, 1, 1], vec![], vec![]));
}
