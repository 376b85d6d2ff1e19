//! How many requests at once: what the threshold does when batches take the time that they take.

use plait_control_openflow::{Batch, Batching};
use std::time::Duration;

const UNBOUNDED: Duration = Duration::from_secs(1);

/// A batch costs 144 µs, a request 500 ns and, since caches are finite, a tenth of a nanosecond more for each other one:
/// the rate is highest at √(144,000 / 0.1) = 1200 requests.
fn takes(requests: usize) -> Duration {
    let n = requests as f64;
    Duration::from_nanos((144_000.0 + 500.0 * n + 0.1 * n * n) as u64)
}

fn run(batch: &mut Batch, batches: usize) -> Vec<usize> {
    let mut thresholds = Vec::new();
    for _ in 0..batches {
        // Reads bring more than one request each, and so more than the threshold.
        let requests = batch.threshold().next_multiple_of(7);
        batch.processed(requests, takes(requests));
        thresholds.push(batch.threshold());
    }
    thresholds
}

#[test]
fn the_threshold_finds_the_highest_rate_and_stays_there() {
    let mut batch = Batch::new(Batching::Adaptive(UNBOUNDED), 65_536);
    assert_eq!(batch.threshold(), 10);
    run(&mut batch, 500);
    let rate = |requests: usize| requests as f64 / takes(requests).as_secs_f64();
    for threshold in run(&mut batch, 500) {
        assert!(rate(threshold) > 0.99 * rate(1200), "{threshold}");
    }
}

/// Where a read brings more requests than a step, several thresholds come to the same batches, and none of them is better.
#[test]
fn what_reads_bring_at_once_stops_no_threshold() {
    for read in [20, 120, 600] {
        let mut batch = Batch::new(Batching::Adaptive(UNBOUNDED), 65_536);
        let mut sizes: Vec<usize> = Vec::new();
        for _ in 0..1000 {
            let requests = batch.threshold().next_multiple_of(read);
            batch.processed(requests, takes(requests));
            sizes.push(requests);
        }
        let rate = |requests: usize| requests as f64 / takes(requests).as_secs_f64();
        let good = sizes[500..].iter().filter(|size| rate(**size) > 0.98 * rate(1200)).count();
        assert!(good > 480, "{good} of 500 batches where reads bring {read}");
    }
}

#[test]
fn a_batch_that_takes_longer_than_the_bound_turns_the_threshold_down() {
    let bound = takes(400);
    let mut batch = Batch::new(Batching::Adaptive(bound), 65_536);
    run(&mut batch, 200);
    for threshold in run(&mut batch, 500) {
        // Two steps, and what a read brings beyond the threshold.
        assert!((360..=410).contains(&threshold), "{threshold}");
    }
    for _ in 0..100 {
        let before = batch.threshold();
        batch.processed(before, bound + Duration::from_nanos(1));
        assert_eq!(batch.threshold(), before.saturating_sub(10).max(10));
    }
}

#[test]
fn light_load_shrinks_the_threshold_to_its_floor_and_load_raises_it_again() {
    let mut batch = Batch::new(Batching::Adaptive(UNBOUNDED), 65_536);
    run(&mut batch, 30);
    let before = batch.threshold();
    assert_eq!(before, 310);
    for step in 1..=40 {
        batch.light_load();
        assert_eq!(batch.threshold(), 310usize.saturating_sub(step * 10).max(10));
    }
    run(&mut batch, 100);
    assert!(batch.threshold() > 310);
}

#[test]
fn a_static_threshold_and_a_bounded_one_stay_within_what_was_said() {
    let mut batch = Batch::new(Batching::Static(250), 65_536);
    run(&mut batch, 50);
    batch.light_load();
    assert_eq!(batch.threshold(), 250);
    assert_eq!(Batch::new(Batching::Static(0), 65_536).threshold(), 1);
    let mut batch = Batch::new(Batching::Adaptive(UNBOUNDED), 100);
    assert!(run(&mut batch, 200).into_iter().all(|threshold| (10..=100).contains(&threshold)));
}
