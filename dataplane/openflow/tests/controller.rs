//! A controller over real sockets, with switches that are written by hand.

use plait_control_openflow::{
    Actions, Batching, Command, Commands, Design, Fields, Flow, Packet, PacketIns, PacketOut, Port,
    SwitchEvents, Switches, Version,
};
use plait_control_runtime::{Dag, Failure, Manifest, Policy, Runtime, View, native};
use plait_dataplane_openflow::{Config, Controller, Idleness, NoAnswer, Partition};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::openflow::{BufferId, Message, Text, chop, v10, v13};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

/// Every packet leaves by every port, and each flow request also gets a flow.
fn hub((packets,): (Arc<PacketIns>,)) -> Result<(Commands,), Failure> {
    let mut commands = Commands::default();
    for (place, packet) in packets.iter().enumerate() {
        let fields = Fields { in_port: Some(packet.in_port), ..Fields::ANY };
        commands.push(packet.switch, Command::Flow(Flow::add(10, fields, Actions::output(Port::FLOOD))));
        let packet_out = PacketOut {
            in_port: packet.in_port,
            actions: Actions::output(Port::FLOOD),
            packet: Packet::of(&packets, place),
        };
        commands.push(packet.switch, Command::PacketOut(packet_out));
    }
    Ok((commands,))
}

fn runtime() -> Runtime {
    let mut runtime = Runtime::new(Default::default());
    let manifest = Manifest::new("hub").reads("~packet-ins@1").writes("~commands@1").parallel();
    runtime.grant(&manifest.name, &Commands::id().name);
    runtime.add_application(manifest, native(hub)).unwrap();
    let policy = Policy { instances: 8, ..Policy::default() };
    let dag = Dag::chain("hub", &["hub"]).on(&PacketIns::id().to_string()).policy(policy);
    runtime.add_dag(Duration::ZERO, dag).unwrap();
    runtime
}

fn start(config: Config) -> Controller {
    let config = Config { pin: false, most_connections: 256, ..config };
    Controller::start(SocketAddr::from(([127, 0, 0, 1], 0)), config, runtime()).unwrap()
}

/// A switch as far as a controller can tell.
struct Client {
    stream: TcpStream,
    version: Version,
    read: Vec<u8>,
    datapath: u64,
}

impl Client {
    fn connect(controller: &Controller, version: Version, datapath: u64) -> Self {
        let stream = TcpStream::connect(controller.address().unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Self { stream, version, read: Vec::new(), datapath };
        client.hello();
        client
    }

    fn send(&mut self, message: Message) {
        self.stream.write_all(&message.emit().unwrap()).unwrap();
    }

    fn say(&mut self, xid: u32, v10: v10::Body, v13: v13::Body) {
        self.send(match self.version {
            Version::V10 => Message::V10(v10::Message { xid, body: v10 }),
            Version::V13 => Message::V13(v13::Message { xid, body: v13 }),
        });
    }

    /// The next message, whose hello may be of any version.
    fn next(&mut self) -> Option<Message> {
        loop {
            if let Some((frame, rest)) = chop(&self.read).unwrap() {
                let (kind, left) = (frame.kind(), rest.len());
                let message = (kind != 0).then(|| Message::of(&frame).unwrap());
                self.read.drain(..self.read.len() - left);
                match message {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.read.extend_from_slice(&bytes[..count]),
            }
        }
    }

    /// Answers until it is known as a switch with ports 1 and 2.
    fn hello(&mut self) {
        self.say(1, v10::Body::Hello(Default::default()), v13::Body::Hello(Default::default()));
        loop {
            match self.next().expect("the controller ended the connection") {
                Message::V10(v10::Message { xid, body: v10::Body::FeaturesRequest }) => {
                    let features = v10::Features {
                        datapath: self.datapath,
                        buffers: 256,
                        tables: 1,
                        capabilities: v10::switch::Capabilities(0),
                        actions: v10::switch::ActionTypes(1),
                        ports: [1, 2].map(port10).into(),
                    };
                    self.send(Message::V10(v10::Message { xid, body: v10::Body::Features(features) }));
                }
                Message::V10(v10::Message { body: v10::Body::StatisticsRequest(_), .. }) => return,
                Message::V13(v13::Message { xid, body: v13::Body::FeaturesRequest }) => {
                    let features = v13::Features {
                        datapath: self.datapath,
                        buffers: 0,
                        tables: 1,
                        auxiliary: 0,
                        capabilities: v13::switch::Capabilities(0),
                        reserved: 0,
                    };
                    self.send(Message::V13(v13::Message { xid, body: v13::Body::Features(features) }));
                }
                Message::V13(v13::Message { xid, body: v13::Body::MultipartRequest(request) })
                    if request.body == v13::multipart::Asked::PortDescriptions =>
                {
                    let body = v13::multipart::Answered::PortDescriptions([1, 2].map(port13).into());
                    let reply =
                        v13::multipart::MultipartReply { flags: v13::multipart::MultipartFlags(0), body };
                    self.send(Message::V13(v13::Message { xid, body: v13::Body::MultipartReply(reply) }));
                }
                Message::V13(v13::Message { body: v13::Body::MultipartRequest(_), .. }) => return,
                _ => {}
            }
        }
    }

    fn packet_in(&mut self, buffer: BufferId, data: &[u8]) {
        let total_length = data.len() as u16;
        let v10 = v10::PacketIn {
            buffer,
            total_length,
            in_port: v10::PortNumber(1),
            reason: v10::packet_in::PacketInReason(0),
            data: data.to_vec(),
        };
        let port = v13::oxm::Masked { value: v13::PortNumber(1), mask: None };
        let v13 = v13::PacketIn {
            buffer,
            total_length,
            reason: v13::packet_in::PacketInReason(0),
            table: v13::TableId(0),
            cookie: 0,
            flow_match: v13::Match::Oxm(vec![v13::oxm::Oxm::InPort(port)]),
            data: data.to_vec(),
        };
        self.say(7, v10::Body::PacketIn(v10), v13::Body::PacketIn(v13));
    }

    /// The next packet-out's data.
    fn packet_out(&mut self) -> (BufferId, Vec<u8>) {
        loop {
            match self.next().expect("the controller ended the connection") {
                Message::V10(v10::Message { body: v10::Body::PacketOut(out), .. }) => {
                    return (out.buffer, out.data);
                }
                Message::V13(v13::Message { body: v13::Body::PacketOut(out), .. }) => {
                    return (out.buffer, out.data);
                }
                _ => {}
            }
        }
    }
}

fn port10(number: u16) -> v10::Port {
    v10::Port {
        number: v10::PortNumber(number),
        address: Mac([2, 0, 0, 0, 0, number as u8]),
        name: Text::new(&format!("eth{number}")),
        config: v10::port::PortConfig(0),
        state: v10::port::PortState(0),
        current: v10::port::PortFeatures(0),
        advertised: v10::port::PortFeatures(0),
        supported: v10::port::PortFeatures(0),
        peer: v10::port::PortFeatures(0),
    }
}

fn port13(number: u32) -> v13::Port {
    v13::Port {
        number: v13::PortNumber(number),
        address: Mac([2, 0, 0, 0, 0, number as u8]),
        name: Text::new(&format!("eth{number}")),
        config: v13::port::PortConfig(0),
        state: v13::port::PortState(0),
        current: v13::port::PortFeatures(0),
        advertised: v13::port::PortFeatures(0),
        supported: v13::port::PortFeatures(0),
        peer: v13::port::PortFeatures(0),
        current_speed: 0,
        max_speed: 0,
    }
}

/// A packet-in of 1.0 whose answer is as long.
fn long_packet_in() -> Vec<u8> {
    let whole = v10::PacketIn {
        buffer: BufferId::NO_BUFFER,
        total_length: 1400,
        in_port: v10::PortNumber(1),
        reason: v10::packet_in::PacketInReason(0),
        data: vec![0xee; 1400],
    };
    v10::Message { xid: 1, body: v10::Body::PacketIn(whole) }.emit().unwrap()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "{what} did not come true");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn frame(number: u32) -> Vec<u8> {
    let mut frame = vec![0u8; 60];
    frame[..6].copy_from_slice(&[0xff; 6]);
    frame[8..12].copy_from_slice(&number.to_be_bytes());
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame
}

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
