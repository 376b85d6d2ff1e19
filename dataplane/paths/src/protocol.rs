//! What an agent's socket speaks: a line of JSON for each request and reply.

pub use crate::flow_name::FlowName;
use crate::options::{Encapsulation, Selector, Ways};
pub use crate::policies::Policies;
use ipnet::IpNet;
use plait_control_paths::RelayList;
use plait_dataplane_agent::Conversation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Version of the conversation. An agent answers its own and refuses others by name.
pub const PROTOCOL_VERSION: u32 = 1;

/// A request with the version it is made in.
pub type Envelope = plait_dataplane_agent::Envelope<Request>;

/// What agents of path control and their askers speak.
#[derive(Debug)]
pub struct Speech;

impl Conversation for Speech {
    type Request = Request;
    type Reply = Reply;
    const VERSION: u32 = PROTOCOL_VERSION;
    const KIND: &'static str = "path";
    const START: &'static str = "plait paths agent";

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

/// Which of a prefix's lists a flow goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// By its hash.
    Hash,
    /// By its hash, each list its weight's share.
    Weighted,
    /// A new flow goes by the next list.
    RoundRobin,
    /// By its hash, and each second one flow of the fullest list is moved to the emptiest (Algorithm 1).
    FlowBased,
}

impl Policy {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Hash, Self::Weighted, Self::RoundRobin, Self::FlowBased];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Weighted => "weighted",
            Self::RoundRobin => "round-robin",
            Self::FlowBased => "flow-based",
        }
    }

    pub(crate) fn selector(self, weights: impl FnOnce() -> Vec<u32>) -> Selector {
        match self {
            Self::Hash => Selector::Hash,
            Self::Weighted => Selector::Weighted(weights()),
            Self::RoundRobin => Selector::RoundRobin,
            Self::FlowBased => Selector::FlowBased,
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|policy| policy.name() == text);
        found.ok_or_else(|| "expected `hash`, `weighted`, `round-robin` or `flow-based`".to_owned())
    }
}

/// What was said of a prefix by hand. It counts before what iplbd learns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Static {
    /// Relay lists, and what share of the flows each gets.
    pub lists: Vec<(RelayList, u32)>,
    /// What stands between their headers.
    pub encapsulation: Encapsulation,
    /// Which list a flow goes by.
    pub policy: Policy,
}

impl Static {
    /// The same as tables take it.
    pub fn ways(&self) -> Ways {
        let lists = self.lists.iter().map(|(list, _)| list.clone()).collect();
        let weights = || self.lists.iter().map(|(_, weight)| *weight).collect();
        Ways { lists, encapsulation: self.encapsulation, selector: self.policy.selector(weights) }
    }
}

/// What may be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// One list more for a prefix; or another share for one that it has.
    Add {
        /// Where packets go.
        prefix: IpNet,
        /// By which relays, the first one first; none is plain routing.
        relays: RelayList,
        /// What stands between their headers; the agent's usual one without it. The same for all lists of a prefix.
        encapsulation: Option<Encapsulation>,
        /// Which list a flow goes by; as before without it.
        policy: Option<Policy>,
        /// The list's share; 1 without it.
        weight: Option<u32>,
    },
    /// All of a prefix at once, whatever it had.
    Set {
        /// Where packets go.
        prefix: IpNet,
        /// By which ways.
        to: Static,
    },
    /// Which of the lists a flow goes by that are learnt of a prefix, and of those within it of which nothing nearer is said.
    Select {
        /// The prefix.
        prefix: IpNet,
        /// Which of its lists.
        policy: Policy,
    },
    /// One list less for a prefix, or nothing more said of it.
    Del {
        /// Where packets go.
        prefix: IpNet,
        /// The list; all without it.
        relays: Option<RelayList>,
    },
    /// Which prefixes go by which lists.
    Show,
    /// The flows that were heard of.
    Flows,
    /// Has a flow go by another of its prefix's lists, from its next gap on.
    Move {
        /// Which.
        flow: FlowName,
        /// The list, counted from nought.
        list: u32,
    },
    /// How the agent fares.
    Status,
    /// Counters in Prometheus' text form.
    Metrics,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It was done, and whether it changed anything.
    Done {
        /// Whether anything is other than before.
        changed: bool,
    },
    /// Prefixes.
    Prefixes(Vec<PrefixRow>),
    /// Flows, those with most bytes first.
    Flows(Vec<FlowRow>),
    /// How the agent fares.
    Status(Box<Status>),
    /// Counters as text.
    Metrics(String),
    /// It was not done, and why.
    Error(String),
}

/// Who said by which lists a prefix goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Somebody, by hand.
    Static,
    /// iplbd, from what it learnt of the fabric.
    Learnt,
}

impl fmt::Display for Origin {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Static => "static",
            Self::Learnt => "learnt",
        })
    }
}

/// A prefix and its lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixRow {
    /// The prefix.
    pub prefix: IpNet,
    /// Who said so.
    pub origin: Origin,
    /// What stands between the headers.
    pub encapsulation: Encapsulation,
    /// Which list a flow goes by.
    pub policy: Policy,
    /// The lists, the best first.
    pub lists: Vec<ListRow>,
    /// Why packets go by plain routing all the same, where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A list and what went by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRow {
    /// The relays; none is plain routing.
    pub relays: RelayList,
    /// Its share.
    pub weight: u32,
    /// Packets since the list is there.
    pub packets: u64,
    /// Their bytes from Ethernet's header on, without the stack.
    pub bytes: u64,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRow {
    /// Which.
    pub flow: FlowName,
    /// The device that it leaves by.
    pub device: String,
    /// Its prefix, if that is still there.
    pub prefix: Option<IpNet>,
    /// Its list, counted from nought.
    pub list: u32,
    /// The relays of that list.
    pub relays: RelayList,
    /// The list that it goes by from its next gap on.
    pub moves: Option<u32>,
    /// Whether somebody moved it there, so that rearrangement leaves it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// Its packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Milliseconds since the last one.
    pub idle_ms: u64,
}

/// How an agent fares.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Status {
    /// Devices whose packets are steered.
    pub devices: Vec<String>,
    /// The source of all stacks of IPv4.
    pub source: Option<Ipv4Addr>,
    /// That of those of IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ipv6: Option<Ipv6Addr>,
    /// Whose headers of IPv4 are taken off here.
    pub relay: Option<Ipv4Addr>,
    /// Whose of IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay_ipv6: Option<Ipv6Addr>,
    /// Where the fabric is learnt from, and whether all of it is known from there.
    pub feeds: Vec<(String, bool)>,
    /// The switch that this host is behind.
    pub access: Option<Ipv4Addr>,
    /// Switches and links of the fabric that was planned last.
    pub fabric: Option<(usize, usize)>,
    /// Switches of it that headers can name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relays: Option<usize>,
    /// Prefixes said by hand, and learnt.
    pub prefixes: (usize, usize),
    /// By which policies flows go by what is learnt, where that was said by hand.
    #[serde(default, skip_serializing_if = "Policies::is_empty")]
    pub policies: Policies,
    /// Times that the table was changed by what was learnt.
    pub updates: u64,
    /// Flows moved by rearrangement.
    pub moved: u64,
    /// What was dropped, by reason.
    pub drops: BTreeMap<String, u64>,
    /// Milliseconds after which a flow that was silent is forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// What the narrowest link takes, as it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
}
