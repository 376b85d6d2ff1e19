//! The lines of a recording.

use crate::{Config, Direction, Inquiry, Key, Plane, Routes};
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use plait_model_overlay::{Application, Locators, NodeId, Operation};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Version of the lines.
pub const VERSION: u32 = 1;

/// A line, written as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Line {
    /// The first: the version of the others.
    Recording {
        /// Of this program, [`VERSION`].
        version: u32,
    },
    /// Something went in or came out.
    Entry(Entry),
    /// The last, where there was no room for more.
    Full {
        /// When that was.
        #[serde(with = "nanoseconds")]
        at: Duration,
    },
}

/// Something that went into a member, or came out of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When, in nanoseconds of a clock that all members share. What comes out has the instant of what went in last.
    #[serde(with = "nanoseconds")]
    pub at: Duration,
    /// Whose member: a node has one for each application at most.
    pub application: Application,
    /// What.
    pub event: Event,
}

/// What went in or came out. `draws` are the random numbers that an input took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A life began. One that was there before is over.
    Begin(Box<Begin>),
    /// The tables of a former life were taken over.
    Adopt {
        /// The LIB.
        nodes: BTreeMap<NodeId, Locators>,
        /// The RIB.
        routes: Routes,
    },
    /// A datagram came that a node of this overlay sent.
    Heard {
        /// The address that it came from.
        from: IpAddr,
        /// All of it but the seal.
        message: Bytes,
        /// Numbers drawn.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        draws: Vec<u64>,
    },
    /// Datagrams came that none of them sent: so many since the line before. They changed nothing.
    Refused {
        /// How many.
        datagrams: u64,
    },
    /// Time passed.
    Timeout {
        /// Numbers drawn.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        draws: Vec<u64>,
    },
    /// This node's locators changed.
    Locators {
        /// To these.
        locators: Locators,
    },
    /// Routes are decided in another way from now on.
    Plane {
        /// In this one.
        plane: Plane,
    },
    /// The driver asked another node, or answered one.
    Inquire {
        /// Which of the two.
        direction: Direction,
        /// What.
        inquiry: Inquiry,
    },
    /// The node took its leave of all.
    Leave,
    /// LIB and RIB were decided. It follows from what is above it, as do the two below.
    Decided {
        /// What changed.
        operations: Vec<Operation>,
    },
    /// A datagram was to be sent.
    Sent {
        /// To this locator.
        to: IpAddr,
        /// All of it but the seal.
        message: Bytes,
    },
    /// A question or an answer of another node arrived.
    Asked {
        /// Which of the two.
        direction: Direction,
        /// What.
        inquiry: Inquiry,
    },
}

/// How a life began: a [`Config`] without its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// This node.
    pub own: NodeId,
    /// Its locators.
    pub locators: Locators,
    /// The identity that stands for all nodes.
    pub group: Option<NodeId>,
    /// Locators of nodes to join by.
    pub seeds: Vec<IpAddr>,
    /// How routes are decided at first.
    pub plane: Plane,
    /// From one probe to the next, in nanoseconds.
    #[serde(with = "nanoseconds")]
    pub interval: Duration,
    /// How many others it probes at most.
    pub neighbours: Option<usize>,
    /// Numbers drawn.
    pub draws: Vec<u64>,
}

impl Begin {
    /// What is kept of a configuration.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            own: config.own,
            locators: config.locators.clone(),
            group: config.group,
            seeds: config.seeds.clone(),
            plane: config.plane,
            interval: config.interval,
            neighbours: config.neighbours,
            draws: Vec::new(),
        }
    }

    /// A configuration with another key.
    pub(super) fn config(&self, application: Application, key: Key) -> Config {
        Config {
            application,
            own: self.own,
            locators: self.locators.clone(),
            group: self.group,
            key,
            seeds: self.seeds.clone(),
            plane: self.plane,
            interval: self.interval,
            neighbours: self.neighbours,
        }
    }
}

impl Event {
    /// Whether it is a consequence of the events before it.
    pub fn follows(&self) -> bool {
        matches!(self, Self::Decided { .. } | Self::Sent { .. } | Self::Asked { .. })
    }
}

/// Bytes, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&HEXLOWER.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes());
        bytes.map(Self).map_err(|why| D::Error::custom(format!("no bytes in hexadecimal: {why}")))
    }
}

/// Whole nanoseconds, of which 64 bits are 584 years.
mod nanoseconds {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    pub fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}
