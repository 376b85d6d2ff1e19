//! A neighbour, and how far its database and ours are in line: RFC 2328 section 10.

use plait_model_wire::ospf::{Description, LsaHeader, LsaKey};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

/// How far it is, by RFC 2328's names. A neighbour that is down is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It was heard, and does not hear us.
    Init,
    /// Both hear each other, and leave it at that.
    TwoWay,
    /// Both agree who counts.
    ExStart,
    /// Both tell what is in their databases.
    Exchange,
    /// What it has and we lack is asked for.
    Loading,
    /// We have all it has.
    Full,
}

#[derive(Debug)]
pub(super) struct Neighbor {
    pub id: Ipv4Addr,
    pub address: Ipv4Addr,
    pub priority: u8,
    /// Who it says is designated.
    pub designated: Ipv4Addr,
    pub backup: Ipv4Addr,
    pub state: State,
    pub heard: Duration,
    /// Whether we count.
    pub is_master: bool,
    pub sequence: u32,
    /// The last description that came: its options, flags and number.
    pub last: Option<(u8, u8, u32)>,
    /// The one that we sent, and when.
    pub sent: Option<(Description, Duration)>,
    /// What it has and we lack.
    pub wanted: BTreeMap<LsaKey, LsaHeader>,
    /// What of it was asked for.
    pub asked: Vec<LsaKey>,
    pub asked_at: Duration,
}

impl Neighbor {
    pub fn new(id: Ipv4Addr, address: Ipv4Addr, now: Duration) -> Self {
        Self {
            id,
            address,
            priority: 0,
            designated: Ipv4Addr::UNSPECIFIED,
            backup: Ipv4Addr::UNSPECIFIED,
            state: State::Init,
            heard: now,
            is_master: true,
            sequence: 0,
            last: None,
            sent: None,
            wanted: BTreeMap::new(),
            asked: Vec::new(),
            asked_at: now,
        }
    }

    pub fn hears_us(&self) -> bool {
        self.state >= State::TwoWay
    }

    /// Forgets what was said of databases.
    pub fn forget(&mut self) {
        self.last = None;
        self.sent = None;
        self.wanted.clear();
        self.asked.clear();
    }

    /// When to describe again what was described, if nothing comes back.
    pub fn description_due(&self, interval: Duration) -> Option<Duration> {
        let waits = self.state == State::ExStart || self.state == State::Exchange && self.is_master;
        self.sent.as_ref().filter(|_| waits).map(|(_, at)| *at + interval)
    }

    /// When to ask again for what was asked for, if it does not come.
    pub fn request_due(&self, interval: Duration) -> Option<Duration> {
        (!self.asked.is_empty()).then(|| self.asked_at + interval)
    }
}
