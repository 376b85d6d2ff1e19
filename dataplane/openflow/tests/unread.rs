//! What is kept of switches that do not read, and for switches that are not read.

mod support;

use plait_control_openflow::{
    Actions, Command, Commands, Packet, PacketIns, PacketOut, Port, Version, connection,
};
use plait_control_runtime::{Dag, Manifest, Policy, Runtime, View, native};
use plait_dataplane_openflow::{Config, Controller};
use plait_model_wire::openflow::BufferId;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{Client, PATIENCE, frame, long_packet_in, runtime_of, start, start_with, until};

#[test]
fn a_switch_that_reads_nothing_is_ended_and_others_do_not_notice() {
    let controller = start(Config {
        connection: connection::Config { most_output: 1 << 18, ..Default::default() },
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
    let connection = connection::Config { most_output: 1 << 18, quiet: 2 * PATIENCE, ..Default::default() };
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
    let connection = connection::Config { most_output: 8 * MOST, ..Default::default() };
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
    let (quiet, patience) = (Duration::from_secs(1), Duration::from_secs(1));
    let connection = connection::Config { quiet, patience, ..Default::default() };
    let controller = start(Config { connection, ..Config::default() });
    let mut deaf = Client::connect(&controller, Version::V10, 1);
    until("it is known", || controller.switches().len() == 1);
    deaf.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    // As much as it takes until the controller reads no more of it, since it reads no answers.
    let packet = long_packet_in();
    while deaf.stream.write_all(&packet).is_ok() {}
    until("it is let go", || controller.connections().0 == 0);
    assert!(!controller.switches()[&1].connected);
    let _second = Client::connect(&controller, Version::V10, 1);
    until("it is there again", || controller.switches()[&1].connected);
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
