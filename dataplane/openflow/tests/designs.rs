//! Who serves which switch, and how much of it: the four designs, and weights.

mod support;

use plait_control_openflow::{Batching, Design, Version};
use plait_dataplane_openflow::{Config, Idleness, Partition};
use plait_model_wire::openflow::BufferId;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{Client, PATIENCE, frame, long_packet_in, slow_runtime, start, start_with, until};

#[test]
fn every_design_answers_every_request_of_every_switch() {
    let designs =
        [Design::SharedQueue, Design::StaticPartition, Design::DynamicPartition, Design::RoundRobin];
    let base = Config { workers: 3, repartition: Duration::from_millis(20), ..Config::default() };
    let mut configs: Vec<Config> = designs.map(|design| Config { design, ..base.clone() }).into();
    configs.extend([
        Config { output_batching: false, pools: false, scale: false, ..base.clone() },
        Config { idleness: Idleness::AllPoll, batching: Batching::Static(1), ..base.clone() },
        Config { idleness: Idleness::Unknown, partition: Partition::Descriptor, ..base.clone() },
        Config { workers: 3, ..Config::nox() },
        Config { workers: 3, ..Config::beacon() },
    ]);
    for config in configs {
        let controller = start(config.clone());
        let clients: Vec<_> = (1..=6)
            .map(|datapath| {
                let version = if datapath % 2 == 0 { Version::V10 } else { Version::V13 };
                Client::connect(&controller, version, datapath)
            })
            .collect();
        until("all are known", || controller.switches().len() == 6);
        std::thread::scope(|scope| {
            for (mut client, count) in clients.into_iter().zip([1, 10, 100, 400, 400, 2000]) {
                scope.spawn(move || {
                    let mut reader = Client {
                        stream: client.stream.try_clone().unwrap(),
                        version: client.version,
                        read: std::mem::take(&mut client.read),
                        datapath: client.datapath,
                    };
                    scope.spawn(move || {
                        (0..count).for_each(|number| client.packet_in(BufferId(number), &frame(1)))
                    });
                    // Several workers may answer a switch's requests out of their order, each of them once.
                    let mut answered: Vec<u32> = (0..count).map(|_| reader.packet_out().0.0).collect();
                    answered.sort_unstable();
                    assert!(answered.into_iter().eq(0..count));
                });
            }
        });
        let mut sum = plait_dataplane_openflow::Statistics::default();
        controller.statistics().into_iter().for_each(|worker| sum += worker);
        assert_eq!(sum.requests, 2911, "{config:?}");
        // What is told is counted after it is sent.
        until("all is counted", || {
            controller.statistics().iter().map(|worker| worker.messages).sum::<u64>() == 5822
        });
    }
}

/// Has a switch ask as much as its connection takes, until told to stop, and read all answers.
fn floods(client: Client, stop: &AtomicBool) {
    let (mut reader, mut writer) = (client.stream.try_clone().unwrap(), client.stream);
    writer.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    reader.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut room = vec![0; 1 << 16];
            while !stop.load(Ordering::Relaxed) {
                let _ = reader.read(&mut room);
            }
        });
        let packets = long_packet_in().repeat(20);
        let mut at = 0;
        while !stop.load(Ordering::Relaxed) {
            // What was cut by a full buffer goes on where it was.
            at = (at + writer.write(&packets[at..]).unwrap_or(0)) % packets.len();
        }
    });
}

#[test]
fn a_weight_is_as_much_more_of_a_controller_that_has_too_much_to_do() {
    // What each batch takes, not a processor, is what there is too little of.
    let work = || std::thread::sleep(Duration::from_millis(2));
    let config = Config {
        workers: 1,
        weights: [(1, 4)].into(),
        read: 8 << 10,
        batching: Batching::Static(20),
        ..Config::default()
    };
    let controller = start_with(config, slow_runtime(work));
    let clients = [1, 2, 3].map(|datapath| Client::connect(&controller, Version::V10, datapath));
    let stop = AtomicBool::new(false);
    let shares = std::thread::scope(|scope| {
        for client in clients {
            let stop = &stop;
            scope.spawn(move || floods(client, stop));
        }
        let begun = |least: u64| {
            let requests = controller.requests();
            (requests.len() == 3 && requests.values().sum::<u64>() > least).then_some(requests)
        };
        let wait = |least| {
            let began = Instant::now();
            while begun(least).is_none() && began.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(2));
            }
            begun(least)
        };
        // All are there, and what they said at first is served.
        let before = wait(600);
        let after = wait(600 + 3000);
        stop.store(true, Ordering::Relaxed);
        before.zip(after).map(|(before, after)| [1, 2, 3].map(|of| (after[&of] - before[&of]) as f64))
    });
    let [heavy, second, third] = shares.expect("the switches are served");
    assert!((3.0..5.0).contains(&(heavy / second)), "{heavy} beside {second}");
    assert!((0.75..1.33).contains(&(second / third)), "{second} beside {third}");
}

#[test]
fn in_every_design_one_request_at_a_time_is_answered_before_anybody_naps() {
    let took = |design| {
        let controller = start(Config { design, workers: 3, ..Config::default() });
        let mut client = Client::connect(&controller, Version::V10, 1);
        until("it is known", || controller.switches().len() == 1);
        let began = Instant::now();
        for number in 0..200 {
            client.packet_in(BufferId(number), &frame(1));
            assert_eq!(client.packet_out().0, BufferId(number));
        }
        began.elapsed()
    };
    let alone = took(Design::RoundRobin);
    for design in [Design::SharedQueue, Design::StaticPartition, Design::DynamicPartition] {
        // A nap is a tenth of a second, and hundreds of times as long as an answer takes.
        assert!(took(design) < 20 * alone + Duration::from_secs(2), "{design:?}");
    }
}
