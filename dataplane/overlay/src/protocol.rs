//! What an agent's socket speaks: a line of JSON for each request and reply.

use crate::trace::{Trace, TraceRequest};
use crate::{ApplicationConfig, Control, DeviceConfig, Evpn, Identifier};
use plait_dataplane_agent::Conversation;
use plait_model_overlay::{Answer, Application, Event, NodeId, Operation};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Version of the conversation. An agent answers its own and refuses others by name.
pub const PROTOCOL_VERSION: u32 = 1;

/// A request with the version it is made in.
pub type Envelope = plait_dataplane_agent::Envelope<Request>;

/// What agents of overlays and their askers speak.
#[derive(Debug)]
pub struct Speech;

impl Conversation for Speech {
    type Request = Request;
    type Reply = Reply;
    const VERSION: u32 = PROTOCOL_VERSION;
    const KIND: &'static str = "overlay";
    const START: &'static str = "plait overlay agent";

    fn refusal(text: String) -> Reply {
        Reply::Error(text)
    }

    fn refused(reply: &Reply) -> Option<&str> {
        match reply {
            Reply::Error(text) => Some(text),
            _ => None,
        }
    }

    fn scrape() -> Request {
        Request::Metrics
    }

    fn page(reply: &Reply) -> Option<&str> {
        match reply {
            Reply::Metrics(text) => Some(text),
            _ => None,
        }
    }
}

/// What may be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// One of ovstack's eleven operations on LIB and RIB.
    Operation(Operation),
    /// Says how an application's packets travel.
    SetApplication {
        /// Which.
        application: Application,
        /// How.
        config: ApplicationConfig,
    },
    /// Adds a device, or changes one.
    SetDevice(DeviceConfig),
    /// Takes a device away.
    RemoveDevice {
        /// Its name.
        name: String,
    },
    /// Says who fills an application's LIB and RIB; nobody without it, and what is there stays.
    SetControl {
        /// Whose.
        application: Application,
        /// Who.
        control: Option<Control>,
    },
    /// Says which existing control plane fills an application's tables; none without it, and what it told is taken away.
    SetEvpn {
        /// Whose.
        application: Application,
        /// Which.
        evpn: Option<Evpn>,
    },
    /// Names the devices by which the overlay's packets may come to this host; without names those that routes lead by.
    SetUnderlay {
        /// Their names.
        devices: Option<BTreeSet<String>>,
    },
    /// Says at which node an identifier is.
    FibAdd {
        /// The device.
        device: String,
        /// What.
        identifier: Identifier,
        /// Where.
        node: NodeId,
    },
    /// Forgets where an identifier is.
    FibDel {
        /// The device.
        device: String,
        /// What.
        identifier: Identifier,
    },
    /// Where identifiers are, those that were learned among them.
    FibGet {
        /// The device; without it all.
        device: Option<String>,
    },
    /// The configuration.
    Config,
    /// How sessions with existing control planes fare.
    Evpn,
    /// Counters.
    Stats,
    /// Counters in Prometheus' text form.
    Metrics,
    /// A flow's way, hop by hop. The reply comes when all nodes on it have answered, or were silent for two seconds.
    Trace(TraceRequest),
    /// Every change from now on: replies follow until the asker goes.
    Watch,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It was done, and whether it changed anything.
    Done {
        /// Whether anything is other than before.
        changed: bool,
        /// How many entries of the data plane's tables were written for it.
        writes: usize,
        /// How many pairs of locators get no packets since, because flows to a node are spread over so many and no more.
        #[serde(default, skip_serializing_if = "is_nought")]
        left_out: usize,
    },
    /// To an operation that asks.
    Answer(Answer),
    /// Where identifiers are.
    Fib(Vec<FibRow>),
    /// The configuration.
    Config(Config),
    /// Sessions.
    Evpn(Vec<EvpnReport>),
    /// Counters.
    Stats(Stats),
    /// Counters as text.
    Metrics(String),
    /// A flow's way.
    Trace(Trace),
    /// Something changed.
    Event(Change),
    /// It was not done, and why.
    Error(String),
}

impl Reply {
    /// It was done. What came of it in the data plane is said when it is known.
    pub(crate) fn done(changed: bool) -> Self {
        Self::Done { changed, writes: 0, left_out: 0 }
    }
}

fn is_nought(count: &usize) -> bool {
    *count == 0
}

/// What is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// How an application's packets travel, or who fills its tables.
    Application {
        /// Which.
        application: Application,
    },
    /// A device: it came, is another, or went.
    Device {
        /// Its name.
        device: String,
    },
    /// The devices by which packets may come in were named, or are no more.
    Underlay {
        /// Their names.
        devices: Option<BTreeSet<String>>,
    },
    /// Entries of the data plane's tables, since the last such event, for changes that no asker made: by control planes, and by the
    /// network below.
    Written {
        /// How many.
        entries: usize,
    },
    /// Where an identifier is: as somebody said, or a station that was learned, moved or forgotten, soon after.
    Identifier {
        /// The device.
        device: String,
        /// What.
        identifier: Identifier,
    },
    /// LIB or RIB.
    #[serde(untagged)]
    Table(Event),
}

impl Change {
    /// What a request changes that is not in LIB or RIB, if it changes anything.
    pub(crate) fn by(request: &Request) -> Option<Self> {
        match request {
            Request::SetApplication { application, .. }
            | Request::SetControl { application, .. }
            | Request::SetEvpn { application, .. } => Some(Self::Application { application: *application }),
            Request::SetUnderlay { devices } => Some(Self::Underlay { devices: devices.clone() }),
            Request::SetDevice(DeviceConfig { name, .. }) | Request::RemoveDevice { name } => {
                Some(Self::Device { device: name.clone() })
            }
            Request::FibAdd { device, identifier, .. } | Request::FibDel { device, identifier } => {
                Some(Self::Identifier { device: device.clone(), identifier: *identifier })
            }
            _ => None,
        }
    }
}

/// An identifier and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FibRow {
    /// The device.
    pub device: String,
    /// What.
    pub identifier: Identifier,
    /// Where.
    pub node: NodeId,
    /// Seconds since it was heard; none of one that was configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<u32>,
    /// Packets sent there.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// All that an agent was told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Applications.
    pub applications: BTreeMap<Application, ApplicationConfig>,
    /// Devices.
    pub devices: Vec<DeviceConfig>,
    /// Who fills LIB and RIB.
    pub controls: BTreeMap<Application, Control>,
    /// Existing control planes that fill all tables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub evpn: BTreeMap<Application, Evpn>,
    /// The devices by which packets may come in, where somebody named them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underlay: Option<BTreeSet<String>>,
}

/// A session with an existing control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvpnReport {
    /// Whose tables it fills.
    pub application: Application,
    /// The neighbour.
    pub neighbor: IpAddr,
    /// Where the session stands, by RFC 4271's names: `Established` when routes go both ways.
    pub state: String,
    /// Routes of the neighbour's that are for this data plane.
    pub received: usize,
    /// Routes of this node's.
    pub announced: usize,
    /// Why there is no session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

/// Counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Packets that went no further, by reason.
    pub drops: BTreeMap<String, u64>,
    /// By device.
    pub devices: BTreeMap<String, DeviceStats>,
    /// Packets to each node or group.
    pub nodes: Vec<NodeStats>,
    /// Entries of the data plane's tables that this agent wrote, whoever wanted it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub writes: u64,
    /// Nodes to which some pairs of locators get no packets, since others weigh more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Devices by which packets may come in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub underlay: Vec<String>,
    /// Devices of the underlay in whose drivers what passes is relayed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xdp: Vec<String>,
    /// Those of them that take from each other what is relayed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xdp_exits: Vec<String>,
}

/// What a device sent and received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceStats {
    /// Packets into the overlay.
    pub sent: u64,
    /// Their bytes, without outer headers.
    pub sent_bytes: u64,
    /// Packets out of it.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Packets whose identifiers nobody knew, whatever became of them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub missed: u64,
}

/// Pairs of locators, an own one and a node's, that get no packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The application.
    pub application: Application,
    /// The node.
    pub node: NodeId,
    /// How many.
    pub pairs: u32,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// What was sent to a node or group, from here and for others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStats {
    /// The application.
    pub application: Application,
    /// The node or group.
    pub node: NodeId,
    /// Packets.
    pub packets: u64,
    /// Their bytes, without outer headers.
    pub bytes: u64,
    /// Bytes of the longest packet or frame that fits the whole path, if a relay said so in the last ten minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u32>,
    /// Packets that were sent to this node as the next hop, whatever their destinations, copies for groups among them: the
    /// counter of its entry in the LIB.
    #[serde(default, skip_serializing_if = "is_none")]
    pub sent: u64,
    /// Their bytes, without outer headers.
    #[serde(default, skip_serializing_if = "is_none")]
    pub sent_bytes: u64,
    /// Of these, what went by each of its pairs of locators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairStats>,
}

/// What was sent by a pair of locators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairStats {
    /// The own one.
    pub from: IpAddr,
    /// The node's.
    pub to: IpAddr,
    /// Packets.
    pub packets: u64,
    /// Their bytes, without outer headers.
    pub bytes: u64,
}
