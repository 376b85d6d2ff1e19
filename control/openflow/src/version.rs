//! What both versions have in common, as far as a [`Connection`](crate::Connection) says and hears it.

use crate::nicira;
use plait_model_wire::openflow::v13::Role;
use plait_model_wire::openflow::{Hello, Message, TooLong, v10, v13};
use std::fmt;

/// A version of OpenFlow that is spoken here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// OpenFlow 1.0.
    V10,
    /// OpenFlow 1.3.
    V13,
}

impl Version {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::V10, Self::V13];

    /// The version of such headers.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }

    /// What headers say of it.
    pub fn number(self) -> u8 {
        match self {
            Self::V10 => v10::VERSION,
            Self::V13 => v13::VERSION,
        }
    }

    /// Writes a word of this version behind what `bytes` holds.
    pub(crate) fn emit_into(self, xid: u32, word: Word<'_>, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        match self {
            Self::V10 => {
                let body = match word {
                    Word::Hello(hello) => v10::Body::Hello(hello),
                    Word::Error { fault: Fault { kind, code }, data } => {
                        let reason = v10::Reason { kind, code };
                        v10::Body::Error(v10::Error { reason, data: data.to_vec() })
                    }
                    Word::EchoRequest => v10::Body::EchoRequest(Vec::new()),
                    Word::EchoReply(data) => v10::Body::EchoReply(data),
                    Word::FeaturesRequest => v10::Body::FeaturesRequest,
                    Word::BarrierRequest => v10::Body::BarrierRequest,
                };
                v10::Message { xid, body }.emit_into(bytes)
            }
            Self::V13 => {
                let body = match word {
                    Word::Hello(hello) => v13::Body::Hello(hello),
                    Word::Error { fault: Fault { kind, code }, data } => {
                        let reason = v13::Reason { kind, code };
                        v13::Body::Error(v13::Error { reason, data: data.to_vec() })
                    }
                    Word::EchoRequest => v13::Body::EchoRequest(Vec::new()),
                    Word::EchoReply(data) => v13::Body::EchoReply(data),
                    Word::FeaturesRequest => v13::Body::FeaturesRequest,
                    Word::BarrierRequest => v13::Body::BarrierRequest,
                };
                v13::Message { xid, body }.emit_into(bytes)
            }
        }
    }
}

/// What a connection says of its own accord.
pub(crate) enum Word<'a> {
    Hello(Hello),
    Error { fault: Fault, data: &'a [u8] },
    EchoRequest,
    EchoReply(Vec<u8>),
    FeaturesRequest,
    BarrierRequest,
}

/// Errors that both versions number alike.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    kind: u16,
    code: u16,
}

impl Fault {
    pub const INCOMPATIBLE: Self = Self::of(v13::Reason::HELLO_INCOMPATIBLE);
    pub const BAD_VERSION: Self = Self::of(v13::Reason::REQUEST_BAD_VERSION);
    pub const BAD_TYPE: Self = Self::of(v13::Reason::REQUEST_BAD_TYPE);
    pub const BAD_LENGTH: Self = Self::of(v13::Reason::REQUEST_BAD_LEN);

    const fn of(reason: v13::Reason) -> Self {
        Self { kind: reason.kind, code: reason.code }
    }
}

/// What a switch refused, with the beginning of the message that it refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// By OpenFlow 1.0.
    V10(v10::Error),
    /// By OpenFlow 1.3.
    V13(v13::Error),
}

impl Refusal {
    pub(crate) fn of_hello(&self) -> bool {
        const KIND: u16 = v13::Reason::HELLO_INCOMPATIBLE.kind;
        match self {
            Self::V10(error) => error.reason.kind == KIND,
            Self::V13(error) => error.reason.kind == KIND,
        }
    }

    /// Whether a role was refused since a newer election is known.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Self::V13(error) if error.reason == v13::Reason::ROLE_REQUEST_STALE)
    }

    /// Whether something was refused since this controller, which was master, is slave.
    pub(crate) fn is_slave(&self) -> bool {
        match self {
            Self::V10(error) => nicira::is_slave(error),
            Self::V13(error) => error.reason == v13::Reason::REQUEST_IS_SLAVE,
        }
    }
}

/// The specification's name of the reason.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V10(error) => error.reason.fmt(f),
            Self::V13(error) => error.reason.fmt(f),
        }
    }
}

/// What a message of a switch is to a connection.
pub(crate) enum Heard {
    Hello,
    Error(Refusal),
    EchoRequest(Vec<u8>),
    EchoReply,
    Features {
        datapath: u64,
        auxiliary: u8,
        message: Message,
    },
    BarrierReply,
    Role(Role),
    /// What applications may want.
    Told(Message),
    /// What no switch says.
    Odd,
}

impl Heard {
    pub fn of(message: Message) -> Self {
        match message {
            Message::V10(v10::Message { xid, body }) => match body {
                v10::Body::Hello(_) => Self::Hello,
                v10::Body::Error(error) => Self::Error(Refusal::V10(error)),
                v10::Body::EchoRequest(data) => Self::EchoRequest(data),
                v10::Body::EchoReply(_) => Self::EchoReply,
                v10::Body::Features(ref features) => Self::Features {
                    datapath: features.datapath,
                    auxiliary: 0,
                    message: Message::V10(v10::Message { xid, body }),
                },
                v10::Body::BarrierReply => Self::BarrierReply,
                v10::Body::Vendor { vendor, ref data } => match nicira::role_reply(vendor, data) {
                    Some(role) => Self::Role(Role { role, generation: 0 }),
                    None => Self::Told(Message::V10(v10::Message { xid, body })),
                },
                v10::Body::Config(_)
                | v10::Body::FlowRemoved(_)
                | v10::Body::PortStatus(_)
                | v10::Body::StatisticsReply(_)
                | v10::Body::QueueConfig(_) => Self::Told(Message::V10(v10::Message { xid, body })),
                _ => Self::Odd,
            },
            Message::V13(v13::Message { xid, body }) => match body {
                v13::Body::Hello(_) => Self::Hello,
                v13::Body::Error(error) => Self::Error(Refusal::V13(error)),
                v13::Body::EchoRequest(data) => Self::EchoRequest(data),
                v13::Body::EchoReply(_) => Self::EchoReply,
                v13::Body::Features(ref features) => Self::Features {
                    datapath: features.datapath,
                    auxiliary: features.auxiliary,
                    message: Message::V13(v13::Message { xid, body }),
                },
                v13::Body::BarrierReply => Self::BarrierReply,
                v13::Body::RoleReply(role) => Self::Role(role),
                v13::Body::Experimenter { .. }
                | v13::Body::Config(_)
                | v13::Body::FlowRemoved(_)
                | v13::Body::PortStatus(_)
                | v13::Body::MultipartReply(_)
                | v13::Body::QueueConfig(_)
                | v13::Body::AsyncReply(_) => Self::Told(Message::V13(v13::Message { xid, body })),
                _ => Self::Odd,
            },
        }
    }
}
