//! A controller over real sockets, with switches that are written by hand.

mod support;

use plait_control_openflow::{
    Actions, Batching, Command, Commands, Design, Fields, Flow, Packet, PacketIns, PacketOut, Port, Staged,
    Step, SwitchEvents, Switches, Version,
};
use plait_control_runtime::{Dag, Manifest, Policy, Runtime, View, native};
use plait_dataplane_openflow::{Config, Controller, Idleness, NoAnswer, Partition};
use plait_model_wire::openflow::{BufferId, Message, v10, v13};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{
    Client, PATIENCE, frame, long_packet_in, port13, runtime_of, slow_runtime, start, start_with, until,
};

#[test]
fn a_switch_of_either_version_is_known_and_its_packets_are_answered_in_their_order() {
    let controller = start(Config::default());
    for (version, datapath) in [(Version::V10, 0xa), (Version::V13, 0xb)] {
        let mut client = Client::connect(&controller, version, datapath);
        until("the switch is known", || controller.switches().contains_key(&datapath));
        let info = &controller.switches()[&datapath];
        assert!(info.connected && info.ports.len() == 2 && info.version == version.number());
        for number in 0..500 {
            client.packet_in(BufferId::NO_BUFFER, &frame(number));
        }
        for number in 0..500 {
            assert_eq!(client.packet_out(), (BufferId::NO_BUFFER, frame(number)));
        }
        client.packet_in(BufferId(9), &frame(0)[..20]);
        assert_eq!(client.packet_out(), (BufferId(9), Vec::new()));
    }
}

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

#[test]
fn a_switch_that_connects_again_is_the_same_switch_and_one_that_goes_is_remembered() {
    let controller = start(Config::default());
    let mut first = Client::connect(&controller, Version::V13, 5);
    until("it is known", || controller.switches().contains_key(&5));
    let mut second = Client::connect(&controller, Version::V13, 5);
    // The newer connection counts, and the older one is ended.
    until("the older one is ended", || controller.connections().0 == 1);
    assert!(std::iter::from_fn(|| first.next()).count() < 10);
    second.packet_in(BufferId(1), &frame(1));
    assert_eq!(second.packet_out().0, BufferId(1));
    assert!(controller.switches()[&5].connected);
    drop(second);
    until("it is gone", || !controller.switches()[&5].connected);
    assert_eq!(controller.flows(5, PATIENCE), Err(NoAnswer::Unknown(5)));
    let third = Client::connect(&controller, Version::V10, 5);
    until("it is back", || controller.switches()[&5].connected);
    assert_eq!(controller.switches()[&5].version, third.version.number());
}

#[test]
fn a_port_that_changes_is_seen_and_told_to_applications() {
    let controller = start(Config::default());
    let mut client = Client::connect(&controller, Version::V13, 3);
    until("it is known", || controller.switches().contains_key(&3));
    let mut port = port13(2);
    port.state = v13::port::PortState::LINK_DOWN;
    let status = v13::PortStatus { reason: v13::port::PortReason::MODIFY, port };
    client.send(Message::V13(v13::Message { xid: 0, body: v13::Body::PortStatus(status) }));
    until("the port is down", || controller.switches()[&3].port(Port(2)).is_some_and(|port| !port.up));
    assert!(controller.look(|runtime| runtime.views().iter().any(|view| view.view == SwitchEvents::id())));
    assert!(controller.state().content(&Switches::id()).is_some());
}

#[test]
fn a_switch_that_reads_nothing_is_ended_and_others_do_not_notice() {
    let controller = start(Config {
        connection: plait_control_openflow::connection::Config { most_output: 1 << 18, ..Default::default() },
        ..Config::default()
    });
    let mut deaf = Client::connect(&controller, Version::V10, 1);
    let mut other = Client::connect(&controller, Version::V10, 2);
    until("both are known", || controller.switches().len() == 2);
    deaf.stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let packet = long_packet_in();
    for _ in 0..20_000 {
        if deaf.stream.write_all(&packet).is_err() {
            break;
        }
    }
    until("it is ended", || !controller.switches()[&1].connected);
    other.packet_in(BufferId(4), &frame(1));
    assert_eq!(other.packet_out().0, BufferId(4));
}

/// It was told too much for what others asked, and gives no sign of life that would have it heard.
#[test]
fn a_switch_that_neither_reads_nor_says_anything_is_ended() {
    let to_the_first = |packets: Arc<PacketIns>| {
        let mut commands = Commands::default();
        for (place, _) in packets.iter().enumerate() {
            let packet = Packet::of(&packets, place);
            let actions = Actions::output(Port::FLOOD);
            commands.push(1, Command::PacketOut(PacketOut { in_port: Port(1), actions, packet }));
        }
        Ok((commands,))
    };
    let connection = plait_control_openflow::connection::Config {
        most_output: 1 << 18,
        quiet: 2 * PATIENCE,
        ..Default::default()
    };
    let config = Config { connection, ..Config::default() };
    let controller = start_with(config, runtime_of(move |(packets,)| to_the_first(packets)));
    let _deaf = Client::connect(&controller, Version::V10, 1);
    let mut other = Client::connect(&controller, Version::V10, 2);
    until("both are known", || controller.switches().len() == 2);
    // As much as sockets take, and what may wait.
    let packets = long_packet_in().repeat(100);
    until("it is ended", || {
        other.stream.write_all(&packets).unwrap();
        !controller.switches()[&1].connected
    });
    until("it is let go", || controller.connections().0 == 1);
    assert!(controller.switches()[&2].connected);
    until("nothing waits for it", || controller.unread() == 0);
}

#[test]
fn switches_that_read_nothing_hold_no_more_than_twice_together_what_was_said() {
    const MOST: usize = 1 << 20;
    let connection =
        plait_control_openflow::connection::Config { most_output: 8 * MOST, ..Default::default() };
    let controller = start(Config { connection, most_unread: MOST, ..Config::default() });
    let mut other = Client::connect(&controller, Version::V10, 100);
    let mut deaf: Vec<_> =
        (1..=8).map(|datapath| Client::connect(&controller, Version::V10, datapath)).collect();
    until("all are known", || controller.switches().len() == 9);
    let packet = long_packet_in();
    for client in &mut deaf {
        client.stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    }
    // What was cut by a full buffer goes on where it was.
    let mut written = [0; 8];
    until("some are ended", || {
        for (client, written) in deaf.iter_mut().zip(&mut written) {
            // As long as it is read, or until it is ended.
            while let Ok(count @ 1..) = client.stream.write(&packet[*written..]) {
                *written = (*written + count) % packet.len();
                assert!(controller.unread() <= 2 * MOST, "{}", controller.unread());
            }
        }
        controller.connections().0 < 9
    });
    assert!(controller.unread() <= 2 * MOST, "{}", controller.unread());
    other.packet_in(BufferId(4), &frame(1));
    assert_eq!(other.packet_out().0, BufferId(4));
    drop(deaf);
    until("all are let go", || controller.connections().0 == 1);
    assert_eq!(controller.unread(), 0);
}

#[test]
fn a_connection_that_ends_and_takes_no_more_keeps_no_room() {
    let controller = start(Config::default());
    let mut deaf = Client::connect(&controller, Version::V10, 1);
    until("it is known", || controller.switches().len() == 1);
    deaf.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    // As much as it takes until the controller reads no more of it, since it reads no answers.
    let packet = long_packet_in();
    while deaf.stream.write_all(&packet).is_ok() {}
    let second = Client::connect(&controller, Version::V10, 1);
    until("the older one is let go", || controller.connections().0 == 1);
    assert!(controller.switches()[&1].connected);
    drop(second);
}

#[test]
fn as_much_waits_in_the_kernel_as_one_read_takes() {
    // One worker, whom an application holds: nothing is read but what it was held with.
    let waits = |config: Config| {
        let (held, holds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        let (is_held, hold) = (held.clone(), holds.clone());
        let mut runtime = Runtime::new(Default::default());
        let manifest = Manifest::new("slow").reads("~packet-ins@1").writes("~commands@1").parallel();
        runtime.grant(&manifest.name, &Commands::id().name);
        let slow = native(move |(_,): (Arc<PacketIns>,)| {
            is_held.store(true, Ordering::Release);
            while hold.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok((Commands::default(),))
        });
        runtime.add_application(manifest, slow).unwrap();
        let policy = Policy { instances: 1, ..Policy::default() };
        let dag = Dag::chain("slow", &["slow"]).on(&PacketIns::id().to_string()).policy(policy);
        runtime.add_dag(Duration::ZERO, dag).unwrap();
        let config = Config { workers: 1, pin: false, most_connections: 4, ..config };
        let controller = Controller::start(([127, 0, 0, 1], 0).into(), config, runtime).unwrap();
        let mut client = Client::connect(&controller, Version::V10, 1);
        rustix::net::sockopt::set_socket_send_buffer_size(&client.stream, 16 << 10).unwrap();
        client.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        client.packet_in(BufferId(1), &frame(1));
        until("the worker is held", || held.load(Ordering::Acquire));
        let (packets, mut taken) = (long_packet_in().repeat(64), 0);
        while let Ok(count @ 1..) = client.stream.write(&packets) {
            taken += count;
        }
        holds.store(false, Ordering::Release);
        taken
    };
    let (usual, nox) = (waits(Config::default()), waits(Config::nox()));
    assert!((64 << 10..512 << 10).contains(&usual), "{usual}");
    // Without the right to exceed it, as much as the system lets a program have.
    let most = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    let most = if rustix::process::geteuid().is_root() { usize::MAX } else { most.trim().parse().unwrap() };
    assert!(nox >= most.min(512 << 10) && nox > usual + (32 << 10), "{nox} {usual}");
}

#[test]
fn bytes_that_are_no_openflow_end_their_connection_alone() {
    let controller = start(Config::default());
    let mut good = Client::connect(&controller, Version::V13, 1);
    until("it is known", || controller.switches().len() == 1);
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    for length in 1..200 {
        let mut stream = TcpStream::connect(controller.address().unwrap()).unwrap();
        let noise = |_| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed as u8
        };
        let bytes: Vec<u8> = (0..length).map(noise).collect();
        let _ = stream.write_all(&bytes);
    }
    good.packet_in(BufferId(2), &frame(1));
    assert_eq!(good.packet_out().0, BufferId(2));
    until("the others are gone", || controller.connections().0 == 1);
    assert_eq!(controller.switches().len(), 1);
}

#[test]
fn what_a_switch_refuses_is_counted() {
    let controller = start(Config::default());
    let mut client = Client::connect(&controller, Version::V13, 1);
    until("it is known", || controller.switches().len() == 1);
    let rejected = || controller.statistics().iter().map(|worker| worker.rejected).sum::<u64>();
    assert_eq!(rejected(), 0);
    let error = v13::Error { reason: v13::Reason::FLOW_MOD_TABLE_FULL, data: Vec::new() };
    for xid in [70, 71] {
        client.send(Message::V13(v13::Message { xid, body: v13::Body::Error(error.clone()) }));
    }
    until("both are counted", || rejected() == 2);
    assert!(controller.switches()[&1].connected);
}

#[test]
fn more_connections_than_there_is_room_for_are_refused_and_counted() {
    let controller = start(Config::default());
    let streams: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(controller.address().unwrap()).unwrap()).collect();
    until("those that are too many are refused", || controller.connections() == (256, 44));
    drop(streams);
    until("their room is free again", || controller.connections().0 == 0);
    let mut client = Client::connect(&controller, Version::V10, 1);
    client.packet_in(BufferId(1), &frame(1));
    until("it is known", || controller.switches().len() == 1);
    client.packet_in(BufferId(2), &frame(1));
    while client.packet_out().0 != BufferId(2) {}
}

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

/// A switch from memory, which takes nothing for as long as it is told to.
#[derive(Debug)]
struct Deaf {
    says: std::collections::VecDeque<Vec<u8>>,
    is_deaf: Arc<AtomicBool>,
}

impl plait_dataplane_openflow::End for Deaf {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let says = self.says.pop_front().ok_or(std::io::ErrorKind::WouldBlock)?;
        into[..says.len()].copy_from_slice(&says);
        Ok(says.len())
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.is_deaf.load(Ordering::Acquire) {
            true => Err(std::io::ErrorKind::WouldBlock.into()),
            false => Ok(bytes.len()),
        }
    }
}

#[test]
fn an_answer_is_late_by_when_it_is_written_not_by_when_it_was_decided() {
    let features = v10::Features {
        datapath: 7,
        buffers: 256,
        tables: 1,
        capabilities: v10::switch::Capabilities(0),
        actions: v10::switch::ActionTypes::OUTPUT,
        ports: Vec::new(),
    };
    let packet = v10::PacketIn {
        buffer: BufferId::NO_BUFFER,
        total_length: 60,
        in_port: v10::PortNumber(1),
        reason: v10::packet_in::PacketInReason::NO_MATCH,
        data: vec![0; 60],
    };
    let says =
        [v10::Body::Hello(Default::default()), v10::Body::Features(features), v10::Body::PacketIn(packet)];
    let says = says.map(|body| v10::Message { xid: 1, body }.emit().unwrap());
    let bound = Duration::from_millis(100);
    let config = Config { workers: 1, latency_bound: Some(bound), ..Config::default() };
    let controller = start(config);
    let is_deaf = Arc::new(AtomicBool::new(true));
    assert!(controller.admit(Box::new(Deaf { says: says.into(), is_deaf: is_deaf.clone() }), "memory"));
    let counted = || controller.statistics()[0];
    until("it is decided", || counted().messages == 2);
    std::thread::sleep(2 * bound);
    assert_eq!((counted().answers, counted().late), (0, 0), "nothing is written");
    is_deaf.store(false, Ordering::Release);
    until("it is written", || counted().answers == 1);
    assert_eq!(counted().late, 1);
    assert!(counted().waited >= bound.as_nanos() as u64);
}

#[test]
fn what_waits_for_a_switch_is_told_when_it_answers_or_is_gone() {
    // Each packet of the first switch leaves it once the others have their flows: of switch 9, which nobody knows, nobody waits.
    let stage = |(packets,): (Arc<PacketIns>,)| {
        let steps = packets.iter().enumerate().map(|(place, packet)| {
            let (in_port, actions) = (packet.in_port, Actions::output(Port::FLOOD));
            let out = PacketOut { in_port, actions, packet: Packet::of(&packets, place) };
            let then = [(packet.switch, Command::PacketOut(out))].into_iter().collect();
            Step { behind: vec![2, 3, 9], then }
        });
        let flow = |switch| (switch, Command::Flow(Flow::add(10, Fields::ANY, Actions::output(Port(2)))));
        let first = [2, 3, 9].map(flow).into_iter().collect();
        Ok((Staged { first, steps: steps.collect(), patience: 120_000_000, supersedes: false },))
    };
    let mut runtime = Runtime::new(Default::default());
    let manifest = Manifest::new("stage").reads("~packet-ins@1").writes("~staged-commands@1").parallel();
    runtime.grant(&manifest.name, &Staged::id().name);
    runtime.add_application(manifest, native(stage)).unwrap();
    runtime.add_dag(Duration::ZERO, Dag::chain("stage", &["stage"]).on("packet-ins@1")).unwrap();
    let controller = start_with(Config { workers: 2, ..Config::default() }, runtime);
    let [mut first, mut second, mut third] =
        [1, 2, 3].map(|datapath| Client::connect(&controller, Version::V13, datapath));
    until("all are known", || controller.switches().len() == 3);
    // The next barrier's transaction, behind the flow.
    let barrier = |client: &mut Client| {
        let mut flows = 0;
        loop {
            match client.next().expect("the controller ended the connection") {
                Message::V13(v13::Message { body: v13::Body::FlowMod(flow), .. }) if flow.priority == 10 => {
                    flows += 1;
                }
                Message::V13(v13::Message { xid, body: v13::Body::BarrierRequest }) => {
                    assert_eq!(flows, 1, "its flow comes before");
                    return xid;
                }
                _ => {}
            }
        }
    };
    let answer = |client: &mut Client, xid| {
        client.send(Message::V13(v13::Message { xid, body: v13::Body::BarrierReply }));
    };
    let held = || controller.staged().held;
    first.packet_in(BufferId(1), &frame(1));
    let xids = [barrier(&mut second), barrier(&mut third)];
    assert_eq!(held(), 1);
    answer(&mut third, xids[1]);
    answer(&mut second, xids[0]);
    assert_eq!(first.packet_out().0, BufferId(1));
    assert_eq!(held(), 0);
    // One answers what it was asked later: what was asked before is done, too. The other is gone before it answers.
    for number in [2, 3] {
        first.packet_in(BufferId(number), &frame(1));
        until("it waits", || held() == u64::from(number) - 1);
    }
    barrier(&mut second);
    let last = barrier(&mut second);
    answer(&mut second, last);
    assert_eq!(held(), 2);
    drop(third);
    assert_eq!([first.packet_out().0, first.packet_out().0], [BufferId(2), BufferId(3)]);
    let passed = controller.staged();
    assert_eq!((passed.held, passed.answered, passed.overdue), (0, 3, 0));
}
