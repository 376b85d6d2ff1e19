//! A controller that runs, and switches that are written by hand.
#![allow(dead_code, reason = "every test file uses its own part of this")]

pub mod scripted;

use plait_control_openflow::{
    Actions, Command, Commands, Fields, Flow, Packet, PacketIns, PacketOut, Port, Version,
};
use plait_control_runtime::{Dag, Failure, Manifest, Policy, Runtime, View, native};
use plait_dataplane_openflow::{Config, Controller, End};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::openflow::{BufferId, Message, Text, chop, v10, v13};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(60);

/// Every packet leaves by every port, and each flow request also gets a flow.
pub fn hub((packets,): (Arc<PacketIns>,)) -> Result<(Commands,), Failure> {
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

/// A hub that takes so long for a batch.
pub fn slow_runtime(work: fn()) -> Runtime {
    runtime_of(move |packets| {
        work();
        hub(packets)
    })
}

pub fn runtime() -> Runtime {
    runtime_of(hub)
}

/// Has an application that makes commands of packets.
pub fn runtime_of(
    hub: impl Fn((Arc<PacketIns>,)) -> Result<(Commands,), Failure> + Send + Sync + 'static,
) -> Runtime {
    let mut runtime = Runtime::new(Default::default());
    let manifest = Manifest::new("hub").reads("~packet-ins@1").writes("~commands@1").parallel();
    runtime.grant(&manifest.name, &Commands::id().name);
    runtime.add_application(manifest, native(hub)).unwrap();
    let policy = Policy { instances: 8, ..Policy::default() };
    let dag = Dag::chain("hub", &["hub"]).on(&PacketIns::id().to_string()).policy(policy);
    runtime.add_dag(Duration::ZERO, dag).unwrap();
    runtime
}

pub fn start(config: Config) -> Controller {
    start_with(config, runtime())
}

pub fn start_with(config: Config, runtime: Runtime) -> Controller {
    let config = Config { pin: false, most_connections: 256, ..config };
    Controller::start(SocketAddr::from(([127, 0, 0, 1], 0)), config, runtime).unwrap()
}

/// A switch as far as a controller can tell.
pub struct Client {
    pub stream: TcpStream,
    pub version: Version,
    pub read: Vec<u8>,
    pub datapath: u64,
}

impl Client {
    pub fn connect(controller: &Controller, version: Version, datapath: u64) -> Self {
        Self::at(controller.address().unwrap(), version, datapath)
    }

    pub fn at(address: SocketAddr, version: Version, datapath: u64) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Self { stream, version, read: Vec::new(), datapath };
        client.hello();
        client
    }

    pub fn send(&mut self, message: Message) {
        self.stream.write_all(&message.emit().unwrap()).unwrap();
    }

    pub fn say(&mut self, xid: u32, v10: v10::Body, v13: v13::Body) {
        self.send(match self.version {
            Version::V10 => Message::V10(v10::Message { xid, body: v10 }),
            Version::V13 => Message::V13(v13::Message { xid, body: v13 }),
        });
    }

    /// The next message, whose hello may be of any version.
    pub fn next(&mut self) -> Option<Message> {
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
    pub fn hello(&mut self) {
        self.say(1, v10::Body::Hello(Default::default()), v13::Body::Hello(Default::default()));
        loop {
            match self.next().expect("the controller ended the connection") {
                Message::V10(v10::Message { xid, body: v10::Body::FeaturesRequest })
                | Message::V13(v13::Message { xid, body: v13::Body::FeaturesRequest }) => {
                    self.send(self.features(xid));
                }
                Message::V10(v10::Message { body: v10::Body::StatisticsRequest(_), .. }) => return,
                Message::V13(v13::Message { xid, body: v13::Body::MultipartRequest(request) })
                    if request.body == v13::multipart::Asked::PortDescriptions =>
                {
                    self.send(ports(xid));
                }
                Message::V13(v13::Message { body: v13::Body::MultipartRequest(_), .. }) => return,
                _ => {}
            }
        }
    }

    /// What it says of itself, its ports with it in 1.0.
    pub fn features(&self, xid: u32) -> Message {
        let datapath = self.datapath;
        match self.version {
            Version::V10 => {
                let features = v10::Features {
                    datapath,
                    buffers: 256,
                    tables: 1,
                    capabilities: v10::switch::Capabilities(0),
                    actions: v10::switch::ActionTypes(1),
                    ports: [1, 2].map(port10).into(),
                };
                Message::V10(v10::Message { xid, body: v10::Body::Features(features) })
            }
            Version::V13 => {
                let features = v13::Features {
                    datapath,
                    buffers: 0,
                    tables: 1,
                    auxiliary: 0,
                    capabilities: v13::switch::Capabilities(0),
                    reserved: 0,
                };
                Message::V13(v13::Message { xid, body: v13::Body::Features(features) })
            }
        }
    }

    pub fn packet_in(&mut self, buffer: BufferId, data: &[u8]) {
        let message = self.request(buffer, data);
        self.send(message);
    }

    pub fn request(&self, buffer: BufferId, data: &[u8]) -> Message {
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
        match self.version {
            Version::V10 => Message::V10(v10::Message { xid: 7, body: v10::Body::PacketIn(v10) }),
            Version::V13 => Message::V13(v13::Message { xid: 7, body: v13::Body::PacketIn(v13) }),
        }
    }

    /// The next packet-out's data.
    pub fn packet_out(&mut self) -> (BufferId, Vec<u8>) {
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

/// The ports of a switch of 1.3.
pub fn ports(xid: u32) -> Message {
    let body = v13::multipart::Answered::PortDescriptions([1, 2].map(port13).into());
    let reply = v13::multipart::MultipartReply { flags: v13::multipart::MultipartFlags(0), body };
    Message::V13(v13::Message { xid, body: v13::Body::MultipartReply(reply) })
}

pub fn port10(number: u16) -> v10::Port {
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

pub fn port13(number: u32) -> v13::Port {
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
pub fn long_packet_in() -> Vec<u8> {
    let whole = v10::PacketIn {
        buffer: BufferId::NO_BUFFER,
        total_length: 1400,
        in_port: v10::PortNumber(1),
        reason: v10::packet_in::PacketInReason(0),
        data: vec![0xee; 1400],
    };
    v10::Message { xid: 1, body: v10::Body::PacketIn(whole) }.emit().unwrap()
}

pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "{what} did not come true");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn frame(number: u32) -> Vec<u8> {
    let mut frame = vec![0u8; 60];
    frame[..6].copy_from_slice(&[0xff; 6]);
    frame[8..12].copy_from_slice(&number.to_be_bytes());
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame
}
