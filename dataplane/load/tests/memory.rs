//! The controller fed from memory, and the model of it, as `controller_scaling` has them.

#[allow(dead_code)]
#[path = "../examples/controller_scaling/model.rs"]
mod model;
#[path = "../examples/controller_scaling/tape.rs"]
mod tape;

use model::{Costs, Cut};
use plait_control_forwarding::{LearningSwitch, learning_switch};
use plait_control_openflow::Design;
use plait_control_runtime::Runtime;
use plait_dataplane_openflow::{Config, Controller};
use std::time::{Duration, Instant};
use tape::Tape;

const COSTS: Costs =
    Costs { visit: 500.0, parse: 50.0, batch: 2000.0, decide: 60.0, output: 400.0, answer: 10.0 };

#[test]
fn switches_in_memory_are_answered_by_two_workers_and_none_is_lost() {
    let mut runtime = Runtime::new(Default::default());
    learning_switch(&LearningSwitch::default()).add_to(&mut runtime, Duration::ZERO).unwrap();
    let config = Config { workers: 2, most_connections: 64, ..Config::default() };
    let controller = Controller::start(([127, 0, 0, 1], 0).into(), config, runtime).unwrap();
    for switch in 0..16 {
        assert!(controller.admit(Box::new(Tape::new(switch, 100).unwrap()), "memory"));
    }
    let answered = || controller.statistics().iter().map(|worker| worker.messages).sum::<u64>();
    let began = Instant::now();
    while answered() < 1_000_000 {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", controller.statistics());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(controller.connections(), (16, 0));
    assert_eq!(controller.switches().len(), 16);
    let workers = controller.statistics();
    assert!(workers.iter().all(|worker| (worker.malformed, worker.undone) == (0, 0)), "{workers:?}");
}

#[test]
fn a_switch_that_reads_is_not_given_up_for_a_batch_that_says_much_to_it() {
    let mut runtime = Runtime::new(Default::default());
    learning_switch(&LearningSwitch::default()).add_to(&mut runtime, Duration::ZERO).unwrap();
    // A batch's answers are dozens of times what may wait to be written.
    let connection =
        plait_control_openflow::connection::Config { most_output: 8 << 10, ..Default::default() };
    let batching = plait_control_openflow::Batching::Static(5000);
    let config = Config { workers: 1, batching, most_batch: 5000, connection, ..Config::default() };
    let controller = Controller::start(([127, 0, 0, 1], 0).into(), config, runtime).unwrap();
    assert!(controller.admit(Box::new(Tape::new(0, 100).unwrap()), "memory"));
    let began = Instant::now();
    while controller.statistics()[0].messages < 50_000 {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", controller.statistics());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!((controller.connections(), controller.statistics()[0].undone), ((1, 0), 0));
}

#[test]
fn one_modelled_worker_takes_what_its_stages_take() {
    let cut = Cut { switches: 20, visit: 100, batch: 400 };
    // A batch is four visits to four switches.
    let batch = 4.0 * (COSTS.visit + COSTS.output)
        + COSTS.batch
        + 400.0 * (COSTS.parse + COSTS.decide + COSTS.answer);
    for design in [Design::RoundRobin, Design::StaticPartition, Design::DynamicPartition] {
        let error = model::throughput(design, 1, &cut, &COSTS) * batch / 400.0 / 1e9 - 1.0;
        assert!(error.abs() < 0.01, "{design:?} {error}");
    }
}

#[test]
fn modelled_workers_share_what_is_behind_one_lock_and_nothing_else() {
    let cut = Cut { switches: 100, visit: 100, batch: 400 };
    let one = model::throughput(Design::RoundRobin, 1, &cut, &COSTS);
    let many = |design, workers| model::throughput(design, workers, &cut, &COSTS) / one;
    assert!((3.8..4.05).contains(&many(Design::RoundRobin, 4)), "{}", many(Design::RoundRobin, 4));
    // A batch is 0.2 of a million a second behind the lock; so many workers want more.
    let bound = 400.0 / COSTS.batch * 1e9;
    let most = model::throughput(Design::RoundRobin, 64, &cut, &COSTS);
    assert!(most <= bound * 1.001 && most > 0.8 * bound, "{most} of {bound}");
    // One reads for all.
    let reader = 1e9 / (COSTS.parse + COSTS.visit / 100.0);
    assert!(model::throughput(Design::SharedQueue, 8, &cut, &COSTS) < reader);
    // Of two switches, two workers that have one each are all that there is.
    let few = Cut { switches: 2, ..cut };
    let alone = model::throughput(Design::StaticPartition, 1, &few, &COSTS);
    let partition = model::throughput(Design::StaticPartition, 8, &few, &COSTS);
    assert!((1.9..2.05).contains(&(partition / alone)), "{}", partition / alone);
}
