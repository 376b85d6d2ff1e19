//! A bound on latency, over real sockets.

mod support;

use plait_control_openflow::{Design, Version};
use plait_dataplane_openflow::Config;
use plait_model_wire::openflow::BufferId;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::scripted::Scripted;
use support::{Client, PATIENCE, frame, slow_runtime, start, start_with, until};

#[test]
fn a_bound_on_latency_makes_reads_small_where_many_are_loud() {
    const REQUESTS: u32 = 3000;
    // Bytes of a read, and batches that were late, while sixteen switches say as much as they can at once.
    let measured = |latency_bound| {
        let controller = start(Config { workers: 1, latency_bound, ..Config::default() });
        let clients: Vec<_> =
            (1..=16).map(|datapath| Client::connect(&controller, Version::V10, datapath)).collect();
        until("all are known", || controller.switches().len() == 16);
        std::thread::scope(|scope| {
            for mut client in clients {
                scope.spawn(move || {
                    let mut all = Vec::new();
                    for number in 0..REQUESTS {
                        all.extend(client.request(BufferId(number), &frame(1)).emit().unwrap());
                    }
                    let mut writer = client.stream.try_clone().unwrap();
                    scope.spawn(move || writer.write_all(&all).unwrap());
                    let answered = (0..REQUESTS).map(|_| client.packet_out().0.0);
                    assert!(answered.eq(0..REQUESTS), "one worker answers in order");
                });
            }
        });
        let [counted] = controller.statistics()[..] else { panic!("one worker") };
        assert_eq!(counted.requests, 16 * u64::from(REQUESTS));
        (counted.requests as f64 / counted.reads as f64, counted)
    };
    let (free, unbounded) = measured(None);
    let (small, bounded) = measured(Some(Duration::from_micros(500)));
    assert!(small < free / 2.0, "{small} requests a read where {free} would be");
    assert!(bounded.waited > 0 && bounded.batches > unbounded.batches, "{bounded:?}");
    assert_eq!((unbounded.answers, unbounded.waited, unbounded.late), (0, 0, 0));
}

#[test]
fn more_answers_are_late_the_tighter_the_bound_whoever_reads_and_whoever_answers() {
    const REQUESTS: u32 = 400;
    // Which part of all answers was late, where three workers take batches from each other.
    let late = |design, latency_bound| {
        let config = Config { workers: 3, design, latency_bound: Some(latency_bound), ..Config::default() };
        let controller = start_with(config, slow_runtime(|| std::thread::sleep(Duration::from_millis(1))));
        let mut clients: Vec<_> =
            (1..=4).map(|datapath| Client::connect(&controller, Version::V13, datapath)).collect();
        until("all are known", || controller.switches().len() == 4);
        for client in &mut clients {
            (0..REQUESTS).for_each(|number| client.packet_in(BufferId(number), &frame(1)));
        }
        for client in &mut clients {
            (0..REQUESTS).for_each(|_| drop(client.packet_out()));
        }
        let sum = || {
            let mut sum = plait_dataplane_openflow::Statistics::default();
            controller.statistics().into_iter().for_each(|worker| sum += worker);
            sum
        };
        until("all is counted", || sum().messages == 2 * 4 * u64::from(REQUESTS));
        let sum = sum();
        assert!(sum.answers >= 4 && sum.waited > 0, "{sum:?}");
        sum.late as f64 / sum.answers as f64
    };
    let designs =
        [Design::SharedQueue, Design::StaticPartition, Design::DynamicPartition, Design::RoundRobin];
    for design in designs {
        let [tight, loose] = [Duration::from_micros(500), 2 * PATIENCE].map(|bound| late(design, bound));
        assert!(tight > 0.99 && loose == 0.0, "{tight} and {loose} of {design:?}");
    }
}

#[test]
fn an_answer_is_late_by_when_it_is_written_not_by_when_it_was_decided() {
    let bound = Duration::from_millis(100);
    let config = Config { workers: 1, latency_bound: Some(bound), ..Config::default() };
    let controller = start(config);
    let switch = Scripted::new(7);
    let is_deaf = switch.is_deaf.clone();
    is_deaf.store(true, Ordering::Release);
    assert!(controller.admit(Box::new(switch), "memory"));
    let counted = || controller.statistics()[0];
    until("it is decided", || counted().messages == 2);
    std::thread::sleep(2 * bound);
    assert_eq!((counted().answers, counted().late), (0, 0), "nothing is written");
    is_deaf.store(false, Ordering::Release);
    until("it is written", || counted().answers == 1);
    assert_eq!(counted().late, 1);
    assert!(counted().waited >= bound.as_nanos() as u64);
}
