//! When workers work: they sleep without load, wake under it, and make way for whoever needs their processor.

mod support;

use plait_control_openflow::batch::STEP;
use plait_control_openflow::{Batching, Version};
use plait_dataplane_openflow::{Config, Controller, Idleness, Statistics};
use plait_model_wire::openflow::BufferId;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::{Client, frame, slow_runtime, start_with, until};

const WORKERS: usize = 3;
const SWITCHES: u64 = 8;
const BURSTS: u32 = 20;

/// Eight switches that ask one question after the other while `holds` is waited for. How many answers there were.
fn under_load(controller: &Controller, what: &str, mut holds: impl FnMut(u64) -> bool) {
    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let clients: Vec<Client> =
        (1..=SWITCHES).map(|datapath| Client::connect(controller, Version::V10, datapath)).collect();
    std::thread::scope(|scope| {
        for mut client in clients {
            let (stop, answers) = (&stop, &answers);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    asks(&mut client);
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Whatever comes of it, switches end.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until(what, || holds(answers.load(Ordering::Relaxed)));
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(why) = outcome {
            std::panic::resume_unwind(why);
        }
    });
}

fn asks(client: &mut Client) {
    client.packet_in(BufferId(5), &frame(1));
    assert_eq!(client.packet_out().0, BufferId(5));
}

fn of(controller: &Controller, count: fn(&Statistics) -> u64) -> Vec<u64> {
    controller.statistics().iter().map(count).collect()
}

/// What each worker counts more in so many milliseconds.
fn meanwhile(controller: &Controller, wait: u64, count: fn(&Statistics) -> u64) -> Vec<u64> {
    let before = of(controller, count);
    std::thread::sleep(Duration::from_millis(wait));
    of(controller, count).into_iter().zip(before).map(|(after, before)| after - before).collect()
}

#[test]
fn workers_sleep_without_load_and_wake_under_it_unless_all_are_kept_awake() {
    // What makes one worker too few is time, not a processor: this machine may have none to spare.
    let work = || std::thread::sleep(Duration::from_millis(4));
    let scales = start_with(Config { workers: 2, ..Config::default() }, slow_runtime(work));
    let mut clients: Vec<Client> =
        (1..=SWITCHES).map(|datapath| Client::connect(&scales, Version::V10, datapath)).collect();
    // By itself a worker looks every tenth of a second, and so takes part in some bursts: they are much shorter.
    let mut both = 0;
    for _ in 0..BURSTS {
        until("all sleep", || {
            meanwhile(&scales, 20, |worker| worker.rounds).into_iter().all(|rounds| rounds < 10)
        });
        let before = of(&scales, |worker| worker.requests);
        std::thread::scope(|scope| {
            clients.iter_mut().for_each(|client| drop(scope.spawn(|| (0..4).for_each(|_| asks(client)))));
        });
        let after = of(&scales, |worker| worker.requests);
        both += u32::from(after.iter().zip(&before).all(|(after, before)| after > before));
    }
    assert!(both > BURSTS * 3 / 5, "a second worker took part in {both} of {BURSTS} bursts");
    assert!(of(&scales, |worker| worker.sleeps).into_iter().all(|sleeps| sleeps > 0));

    let config = Config { workers: WORKERS, scale: false, ..Config::default() };
    let awake = start_with(config, slow_runtime(work));
    // However few rounds others leave it.
    until("all do rounds", || of(&awake, |worker| worker.rounds).into_iter().all(|rounds| rounds > 50));
    under_load(&awake, "some answers", |answers| answers > 100);
    assert_eq!(of(&awake, |worker| worker.sleeps), [0; WORKERS]);
}

/// What an application waits for, or a worker for its processor, is no shorter in a smaller batch. A batch that is held to
/// have taken longer than the bound would have the threshold never leave the least; how far it goes is the rates' to say.
#[test]
fn a_batch_that_waits_gets_no_smaller_for_it() {
    let batching = Batching::Adaptive(Duration::from_millis(20));
    let config = Config { batching, workers: 1, ..Config::default() };
    let waits = start_with(config, slow_runtime(|| std::thread::sleep(Duration::from_millis(25))));
    let mut client = Client::connect(&waits, Version::V10, 1);
    until("a batch grows", || {
        (0..200).for_each(|_| client.packet_in(BufferId(5), &frame(1)));
        let thresholds = (0..200).map(|_| {
            client.packet_out();
            of(&waits, |worker| worker.threshold)[0]
        });
        thresholds.max() > Some(STEP as u64)
    });
}

#[test]
fn who_polls_and_how_often_is_as_it_was_said() {
    for (idleness, polls) in [
        (Idleness::OnePoller(1), [1.0, 0.0]),
        (Idleness::OnePoller(4), [0.25, 0.0]),
        (Idleness::AllPoll, [1.0, 1.0]),
        // New connections are found by one.
        (Idleness::Unknown, [1.0, 0.0]),
    ] {
        // Who is awake polls between its rounds alone.
        let config = Config { workers: 2, idleness, scale: false, ..Config::default() };
        let controller = start_with(config, slow_runtime(|| {}));
        under_load(&controller, "some answers", |answers| answers > 100);
        until("both have done rounds", || {
            of(&controller, |worker| worker.rounds).into_iter().all(|some| some > 200)
        });
        for (worker, polls) in controller.statistics().iter().zip(polls) {
            let each = worker.polls as f64 / worker.rounds as f64;
            assert!((each - polls).abs() < 0.05, "{idleness:?}: {each} polls a round, not {polls}");
        }
    }
    // What waits in few rounds of all is polled for more often in these alone.
    let config = Config { workers: 2, idleness: Idleness::EagerPoller(4), scale: false, ..Config::default() };
    let controller = start_with(config, slow_runtime(|| {}));
    under_load(&controller, "some answers", |answers| answers > 100);
    let all = controller.statistics();
    let [first, second] = [&all[0], &all[1]].map(|worker| worker.polls as i64 - worker.rounds as i64);
    assert!(first > 10, "{first} polls more than rounds");
    assert_eq!((second < 0, all[1].polls), (true, 0));
}

#[test]
fn a_worker_whose_processor_others_need_gives_way_and_the_first_never_does() {
    // All on one processor: the workers, and twice as many who only calculate.
    let set = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|processor| set.is_set(*processor)).unwrap());
    let stop = AtomicBool::new(false);
    let work = || {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(2) {
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        let crowded = |scale| {
            sched_setaffinity(None, &one).unwrap();
            let config = Config { workers: WORKERS, scale, ..Config::default() };
            start_with(config, slow_runtime(work))
        };
        // Threads keep to where those keep that start them.
        let [scales, awake] = [true, false].map(|scale| scope.spawn(move || crowded(scale)).join().unwrap());
        scope.spawn(|| {
            sched_setaffinity(None, &one).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..2 * WORKERS {
                    scope.spawn(|| {
                        while !stop.load(Ordering::Relaxed) {
                            std::hint::spin_loop();
                        }
                    });
                }
            });
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let others =
                |controller: &Controller| of(controller, |worker| worker.yields)[1..].iter().sum::<u64>();
            under_load(&scales, "some give way, and all is answered", |answers| {
                others(&scales) > 3 && answers > 50
            });
            assert_eq!(of(&scales, |worker| worker.yields)[0], 0);
            under_load(&awake, "some answers", |answers| answers > 50);
            assert_eq!(of(&awake, |worker| worker.yields), [0; WORKERS]);
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(why) = outcome {
            std::panic::resume_unwind(why);
        }
    });
}
