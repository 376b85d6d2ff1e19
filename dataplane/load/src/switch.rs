//! What an emulated switch says to its controller: hello, what it is, echoes, barriers, roles, counts of nothing, and
//! errors for what it does not know. Messages that may be answers are named and handed on.

use crate::request::{address_of, number_in, switch_of};
use plait_control_openflow::Version;
use plait_model_wire::Malformed;
use plait_model_wire::ethernet::Mac;
use plait_model_wire::openflow::v13::multipart as m13;
use plait_model_wire::openflow::v13::oxm::Class;
use plait_model_wire::openflow::v13::role::ControllerRole;
use plait_model_wire::openflow::{
    BufferId, Frame, Header, Hello, Message, Text, chop, length_of_next, v10, v13,
};

/// Bytes that may wait for the controller to read them, requests aside. Choice: a thousand descriptions; with more it is
/// closed, as a switch would.
const MOST_OUTPUT: usize = 1 << 20;
/// Bytes of a refused message that an error quotes.
const QUOTED: usize = 64;

/// What a message of the controller names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A request, by its buffer or the frame that it carries.
    Request(u32),
    /// A request whose packet goes nowhere: it has no action.
    Dropped(u32),
    /// Requests from one station to another, by a flow's match.
    Stations(u16, u16),
    /// None: a flow or packet of the controller's own accord.
    Nothing,
}

/// One switch's end of its connection.
#[derive(Debug)]
pub struct Switch {
    version: Version,
    datapath: u64,
    ports: u16,
    state: State,
    partial: Vec<u8>,
    output: Vec<u8>,
    miss_send_length: u16,
    role: (ControllerRole, Option<u64>),
    refused: u64,
    errors: u64,
    closed: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Hello,
    Features,
    Ready,
}

impl Switch {
    /// A switch that speaks one version, and has said hello.
    pub fn new(version: Version, datapath: u64, ports: u16) -> Self {
        let mut switch = Self {
            version,
            datapath,
            ports,
            state: State::Hello,
            partial: Vec::new(),
            output: Vec::new(),
            miss_send_length: 128,
            role: (ControllerRole::EQUAL, None),
            refused: 0,
            errors: 0,
            closed: None,
        };
        match version {
            Version::V10 => switch.say10(0, v10::Body::Hello(Hello::default())),
            Version::V13 => switch.say13(0, v13::Body::Hello(Hello::speaking(&[v13::VERSION]))),
        }
        switch
    }

    /// Whether the controller has been told what the switch is: packets may come.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// The version that it speaks.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Which switch it is.
    pub fn datapath(&self) -> u64 {
        self.datapath
    }

    /// Messages that it refused.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Errors that the controller sent.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Why the connection has to end, if it does.
    pub fn closed(&self) -> Option<&str> {
        self.closed.as_deref()
    }

    /// What is to be written, and is then cleared by whoever wrote it.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Bytes of the controller; every flow-mod and packet-out is named.
    pub fn handle_input(&mut self, bytes: &[u8], mut named: impl FnMut(Named)) {
        if self.state == State::Hello && self.partial.is_empty() && is_tls(bytes) {
            let remedy =
                "give a key, a certificate and authorities (`--key`, `--certificate`, `--authorities`)";
            return self.close(format!("the controller speaks TLS: {remedy}"));
        }
        let mut rest = bytes;
        while !rest.is_empty() && self.closed.is_none() {
            if self.partial.is_empty() {
                match chop(rest) {
                    Ok(Some((frame, after))) => {
                        self.take(&frame, &rest[..rest.len() - after.len()], &mut named);
                        rest = after;
                    }
                    Ok(None) => self.partial.extend_from_slice(std::mem::take(&mut rest)),
                    Err(why) => self.close(why.to_string()),
                }
                continue;
            }
            let need = match length_of_next(&self.partial) {
                Ok(length) => length.unwrap_or(Header::LENGTH),
                Err(why) => return self.close(why.to_string()),
            };
            let more = need.saturating_sub(self.partial.len()).min(rest.len());
            self.partial.extend_from_slice(&rest[..more]);
            rest = &rest[more..];
            let partial = std::mem::take(&mut self.partial);
            match chop(&partial) {
                Ok(Some((frame, _))) => self.take(&frame, &partial, &mut named),
                Ok(None) => self.partial = partial,
                Err(why) => self.close(why.to_string()),
            }
        }
    }

    #[inline]
    fn take(&mut self, frame: &Frame<'_>, bytes: &[u8], named: &mut impl FnMut(Named)) {
        if self.state == State::Ready && frame.version() == self.version.number() {
            match name(self.version, self.datapath, frame) {
                Some(Ok(name)) => return named(name),
                Some(Err(_)) => return self.refuse(frame, bytes, v13::Reason::REQUEST_BAD_LEN),
                None => {}
            }
        }
        self.hear(frame, bytes);
        if self.output.len() > MOST_OUTPUT {
            self.close("the controller asks and does not read".to_owned());
        }
    }

    fn hear(&mut self, frame: &Frame<'_>, bytes: &[u8]) {
        if self.state == State::Hello {
            if frame.kind() != 0 {
                return self.close(format!("a message of type {} came before a hello", frame.kind()));
            }
            if !Hello::of(frame.body()).speaks(frame.version(), self.version.number()) {
                self.refuse(frame, b"No version is shared.", v13::Reason::HELLO_INCOMPATIBLE);
                return self.close("no version is shared".to_owned());
            }
            self.state = State::Features;
            return;
        }
        if frame.version() != self.version.number() {
            return self.refuse(frame, bytes, v13::Reason::REQUEST_BAD_VERSION);
        }
        match Message::of(frame) {
            Ok(Message::V10(message)) => self.answer10(frame, bytes, message),
            Ok(Message::V13(message)) => self.answer13(frame, bytes, message),
            Err(_) => self.refuse(frame, bytes, v13::Reason::REQUEST_BAD_LEN),
        }
    }

    fn answer10(&mut self, frame: &Frame<'_>, bytes: &[u8], message: v10::Message) {
        use v10::Body;
        use v10::statistics::{Aggregate, Answered, Asked, StatisticsFlags, StatisticsReply};
        let answer = match message.body {
            Body::Hello(_)
            | Body::EchoReply(_)
            | Body::PortMod(_)
            | Body::FlowMod(_)
            | Body::PacketOut(_) => {
                return;
            }
            Body::Error(_) => return self.errors += 1,
            Body::EchoRequest(data) => Body::EchoReply(data),
            Body::FeaturesRequest => {
                self.state = State::Ready;
                Body::Features(v10::Features {
                    datapath: self.datapath,
                    buffers: 1 << 16,
                    tables: 1,
                    capabilities: v10::switch::Capabilities::FLOW_STATS,
                    actions: v10::switch::ActionTypes::OUTPUT,
                    ports: (1..=self.ports).map(|port| self.port10(port)).collect(),
                })
            }
            Body::ConfigRequest => Body::Config(v10::Config {
                fragments: v10::switch::Fragments::NORMAL,
                miss_send_length: self.miss_send_length,
            }),
            Body::SetConfig(config) => return self.miss_send_length = config.miss_send_length,
            Body::BarrierRequest => Body::BarrierReply,
            Body::QueueConfigRequest(asked) => {
                Body::QueueConfig(v10::QueueConfig { port: asked.port, queues: Vec::new() })
            }
            Body::StatisticsRequest(asked) => {
                let body = match asked.body {
                    Asked::Description => Answered::Description(Box::new(v10::statistics::Description {
                        manufacturer: Text::new("Plait"),
                        hardware: Text::new("emulated switch"),
                        software: Text::new(env!("CARGO_PKG_VERSION")),
                        serial_number: Text::new(&self.datapath.to_string()),
                        datapath: Text::new("load"),
                    })),
                    Asked::Flows(_) => Answered::Flows(Vec::new()),
                    Asked::Aggregate(_) => Answered::Aggregate(Aggregate { packets: 0, bytes: 0, flows: 0 }),
                    Asked::Tables => Answered::Tables(Vec::new()),
                    Asked::Ports { .. } => Answered::Ports(Vec::new()),
                    Asked::Queues { .. } => Answered::Queues(Vec::new()),
                    Asked::Vendor { .. } => {
                        return self.refuse(frame, bytes, v13::Reason::REQUEST_BAD_EXPERIMENTER);
                    }
                    Asked::Unknown { .. } => {
                        return self.refuse(frame, bytes, v13::Reason::REQUEST_BAD_MULTIPART);
                    }
                };
                Body::StatisticsReply(StatisticsReply { flags: StatisticsFlags(0), body })
            }
            Body::Vendor { .. } => return self.refuse(frame, bytes, v13::Reason::REQUEST_BAD_EXPERIMENTER),
            _ => return self.refuse(frame, bytes, v13::Reason::REQUEST_BAD_TYPE),
        };
        self.say10(message.xid, answer);
    }

    fn answer13(&mut self, frame: &Frame<'_>, bytes: &[u8], message: v13::Message) {
        use v13::Body;
        let answer = match message.body {
            Body::Hello(_)
            | Body::EchoReply(_)
            | Body::PortMod(_)
            | Body::FlowMod(_)
            | Body::PacketOut(_)
            | Body::GroupMod(_)
            | Body::TableMod(_)
            | Body::MeterMod(_)
            | Body::SetAsync(_) => return,
            Body::Error(_) => return self.errors += 1,
            Body::EchoRequest(data) => Body::EchoReply(data),
            Body::FeaturesRequest => {
                self.state = State::Ready;
                Body::Features(v13::Features {
                    datapath: self.datapath,
                    buffers: 1 << 16,
                    tables: 1,
                    auxiliary: 0,
                    capabilities: v13::switch::Capabilities::FLOW_STATS,
                    reserved: 0,
                })
            }
            Body::ConfigRequest => Body::Config(v13::Config {
                fragments: v13::switch::Fragments::NORMAL,
                miss_send_length: self.miss_send_length,
            }),
            Body::SetConfig(config) => return self.miss_send_length = config.miss_send_length,
            Body::BarrierRequest => Body::BarrierReply,
            Body::QueueConfigRequest(asked) => {
                Body::QueueConfig(v13::QueueConfig { port: asked.port, queues: Vec::new() })
            }
            Body::RoleRequest(asked) => match self.elect(asked) {
                Ok(role) => Body::RoleReply(role),
                Err(reason) => return self.refuse(frame, bytes, reason),
            },
            Body::MultipartRequest(asked) => match self.multipart(asked.body) {
                Ok(body) => Body::MultipartReply(v13::MultipartReply { flags: m13::MultipartFlags(0), body }),
                Err(reason) => return self.refuse(frame, bytes, reason),
            },
            Body::Experimenter { .. } => {
                return self.refuse(frame, bytes, v13::Reason::REQUEST_BAD_EXPERIMENTER);
            }
            _ => return self.refuse(frame, bytes, v13::Reason::REQUEST_BAD_TYPE),
        };
        self.say13(message.xid, answer);
    }

    /// Section 6.3.6: of an election older than one that is known, nobody becomes master or slave.
    fn elect(&mut self, asked: v13::Role) -> Result<v13::Role, v13::Reason> {
        match asked.role {
            ControllerRole::NOCHANGE => {}
            ControllerRole::EQUAL => self.role.0 = asked.role,
            ControllerRole::MASTER | ControllerRole::SLAVE => {
                if self.role.1.is_some_and(|known| (asked.generation.wrapping_sub(known) as i64) < 0) {
                    return Err(v13::Reason::ROLE_REQUEST_STALE);
                }
                self.role = (asked.role, Some(asked.generation));
            }
            _ => return Err(v13::Reason::ROLE_REQUEST_BAD_ROLE),
        }
        Ok(v13::Role { role: self.role.0, generation: self.role.1.unwrap_or(u64::MAX) })
    }

    fn multipart(&self, asked: m13::Asked) -> Result<m13::Answered, v13::Reason> {
        use m13::{Answered, Asked};
        Ok(match asked {
            Asked::Description => Answered::Description(Box::new(m13::Description {
                manufacturer: Text::new("Plait"),
                hardware: Text::new("emulated switch"),
                software: Text::new(env!("CARGO_PKG_VERSION")),
                serial_number: Text::new(&self.datapath.to_string()),
                datapath: Text::new("load"),
            })),
            Asked::Flows(_) => Answered::Flows(Vec::new()),
            Asked::Aggregate(_) => Answered::Aggregate(m13::Aggregate { packets: 0, bytes: 0, flows: 0 }),
            Asked::Tables => Answered::Tables(Vec::new()),
            Asked::Ports { .. } => Answered::Ports(Vec::new()),
            Asked::Queues { .. } => Answered::Queues(Vec::new()),
            Asked::Groups { .. } => Answered::Groups(Vec::new()),
            Asked::GroupDescriptions => Answered::GroupDescriptions(Vec::new()),
            Asked::Meters { .. } => Answered::Meters(Vec::new()),
            Asked::MeterConfigs { .. } => Answered::MeterConfigs(Vec::new()),
            Asked::TableFeatures(_) => Answered::TableFeatures(Vec::new()),
            Asked::PortDescriptions => {
                Answered::PortDescriptions((1..=self.ports).map(|port| self.port13(port)).collect())
            }
            Asked::Experimenter { .. } => return Err(v13::Reason::REQUEST_BAD_EXPERIMENTER),
            Asked::GroupFeatures | Asked::MeterFeatures | Asked::Unknown { .. } => {
                return Err(v13::Reason::REQUEST_BAD_MULTIPART);
            }
        })
    }

    fn port10(&self, number: u16) -> v10::Port {
        v10::Port {
            number: v10::PortNumber(number),
            address: self.port_address(number),
            name: Text::new(&format!("port{number}")),
            config: v10::port::PortConfig(0),
            state: v10::port::PortState(0),
            current: v10::port::PortFeatures::RATE_10GB_FD,
            advertised: v10::port::PortFeatures(0),
            supported: v10::port::PortFeatures::RATE_10GB_FD,
            peer: v10::port::PortFeatures(0),
        }
    }

    fn port13(&self, number: u16) -> v13::Port {
        v13::Port {
            number: v13::PortNumber(number.into()),
            address: self.port_address(number),
            name: Text::new(&format!("port{number}")),
            config: v13::port::PortConfig(0),
            state: v13::port::PortState::LIVE,
            current: v13::port::PortFeatures::RATE_10GB_FD,
            advertised: v13::port::PortFeatures(0),
            supported: v13::port::PortFeatures::RATE_10GB_FD,
            peer: v13::port::PortFeatures(0),
            current_speed: 10_000_000,
            max_speed: 10_000_000,
        }
    }

    fn port_address(&self, number: u16) -> Mac {
        let ([.., d0, d1, d2], [n0, n1]) = (self.datapath.to_be_bytes(), number.to_be_bytes());
        Mac([0x06, d0, d1, d2, n0, n1])
    }

    /// Errors that both versions number alike, but for those of roles, which 1.0 has not. Errors are never refused, lest
    /// both sides do so for ever.
    fn refuse(&mut self, frame: &Frame<'_>, bytes: &[u8], reason: v13::Reason) {
        if frame.kind() == 1 {
            return;
        }
        self.refused += 1;
        let data = bytes[..bytes.len().min(QUOTED)].to_vec();
        match self.version {
            Version::V10 => {
                let reason = v10::Reason { kind: reason.kind, code: reason.code };
                self.say10(frame.xid(), v10::Body::Error(v10::Error { reason, data }));
            }
            Version::V13 => self.say13(frame.xid(), v13::Body::Error(v13::Error { reason, data })),
        }
    }

    fn say10(&mut self, xid: u32, body: v10::Body) {
        if (v10::Message { xid, body }).emit_into(&mut self.output).is_err() {
            self.close("an answer is too long".to_owned());
        }
    }

    fn say13(&mut self, xid: u32, body: v13::Body) {
        if (v13::Message { xid, body }).emit_into(&mut self.output).is_err() {
            self.close("an answer is too long".to_owned());
        }
    }

    fn close(&mut self, why: String) {
        self.partial = Vec::new();
        self.closed.get_or_insert(why);
    }
}

/// Whether bytes begin with an alert or a handshake of TLS (RFC 8446 section 5.1), which no message of OpenFlow does.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [21 | 22, 3, ..])
}

/// What a flow-mod or packet-out to the switch `own` names; nothing of other messages.
#[inline]
fn name(version: Version, own: u64, frame: &Frame<'_>) -> Option<Result<Named, Malformed>> {
    Some(match (version, frame.kind()) {
        (Version::V10, v10::flow_mod::KIND) => v10::flow_mod::View::of(frame).map(|view| {
            by_buffer(view.buffer()).unwrap_or_else(|| {
                let of = view.flow_match();
                let wild = v10::Wildcards::ETHERNET_SOURCE.0 | v10::Wildcards::ETHERNET_DESTINATION.0;
                let exact = of.wildcards.0 & wild == 0;
                exact
                    .then(|| stations(&of.ethernet_source.0, &of.ethernet_destination.0))
                    .flatten()
                    .unwrap_or(Named::Nothing)
            })
        }),
        (Version::V13, v13::flow_mod::KIND) => v13::flow_mod::View::of(frame).map(|view| {
            by_buffer(view.buffer()).unwrap_or_else(|| {
                let field = |number| {
                    let mut fields = view.fields().iter();
                    fields.find(|of| {
                        (of.class, of.field, of.has_mask) == (Class::OPENFLOW_BASIC, number, false)
                    })
                };
                field(4)
                    .zip(field(3))
                    .and_then(|(source, destination)| stations(source.payload, destination.payload))
                    .unwrap_or(Named::Nothing)
            })
        }),
        (Version::V10, v10::packet_out::KIND) => v10::packet_out::View::of(frame)
            .map(|view| by_packet(own, view.buffer(), view.data(), view.actions().iter().next().is_none())),
        (Version::V13, v13::packet_out::KIND) => v13::packet_out::View::of(frame)
            .map(|view| by_packet(own, view.buffer(), view.data(), view.actions().iter().next().is_none())),
        _ => return None,
    })
}

fn by_buffer(buffer: BufferId) -> Option<Named> {
    (buffer != BufferId::NO_BUFFER).then_some(Named::Request(buffer.0))
}

/// A frame of another switch's station, which a controller floods, names none of `own`'s requests.
fn by_packet(own: u64, buffer: BufferId, data: &[u8], is_dropped: bool) -> Named {
    let named = by_buffer(buffer).or_else(|| {
        let number = number_in(data).filter(|_| switch_of(data) == Some(own));
        number.map(Named::Request)
    });
    match named {
        Some(Named::Request(number)) if is_dropped => Named::Dropped(number),
        named => named.unwrap_or(Named::Nothing),
    }
}

fn stations(source: &[u8], destination: &[u8]) -> Option<Named> {
    Some(Named::Stations(address_of(source)?, address_of(destination)?))
}
