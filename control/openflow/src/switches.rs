//! What is known of switches: the state `switches`, and the stream of what happens to them.

use crate::{Port, Ports};
use plait_control_runtime::{Kind, View, wit};
use rpds::HashTrieMapSync;
use std::sync::Arc;

/// Every switch that is or was connected, by its datapath.
#[derive(Debug, Clone, Default)]
pub struct Switches {
    /// What is known of each. One that has gone stays, with `connected` false, until room is needed.
    pub known: HashTrieMapSync<u64, Arc<SwitchInfo>>,
}
wit!(struct Switches { known });

impl Switches {
    /// All of them in the order of their datapaths, so that what is done for each is done in the same order when a recording
    /// is replayed. Cost: a sort.
    pub fn in_order(&self) -> Vec<(u64, &SwitchInfo)> {
        let mut all: Vec<(u64, &SwitchInfo)> =
            self.known.iter().map(|(datapath, info)| (*datapath, &**info)).collect();
        all.sort_by_key(|(datapath, _)| *datapath);
        all
    }
}

impl View for Switches {
    const NAME: &'static str = "switches";
}

/// What a switch has said of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SwitchInfo {
    /// Its version as headers have it: 1 is 1.0, 4 is 1.3.
    pub version: u8,
    /// Whether there is a connection.
    pub connected: bool,
    /// Where it connects from.
    pub address: String,
    /// Packets that it can keep.
    pub buffers: u32,
    /// Its tables.
    pub tables: u8,
    /// Who made it.
    pub maker: String,
    /// What it runs on.
    pub hardware: String,
    /// What runs on it.
    pub software: String,
    /// Its ports, by number.
    pub ports: Ports,
}
wit!(struct SwitchInfo { version, connected, address, buffers, tables, maker, hardware, software, ports });

impl SwitchInfo {
    /// A port by its number.
    pub fn port(&self, number: Port) -> Option<&PortInfo> {
        self.ports.get(number)
    }
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortInfo {
    /// Its number.
    pub number: Port,
    /// Its name.
    pub name: String,
    /// Its hardware address.
    pub address: [u8; 6],
    /// Whether it is configured to be up and has a link.
    pub up: bool,
    /// Its speed in kbit/s, if it is known.
    pub speed: Option<u32>,
}
wit!(struct PortInfo { number, name, address, up, speed });

/// What happened to switches, in order: the stream `switch-events`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SwitchEvents {
    /// The switch, and what happened.
    pub list: Vec<(u64, SwitchEvent)>,
}
wit!(struct SwitchEvents { list });

impl View for SwitchEvents {
    const NAME: &'static str = "switch-events";
    const KIND: Kind = Kind::Stream;
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchEvent {
    /// It is there: its ports are known, and it can be told something. What it was told before is perhaps gone.
    Connected,
    /// Its connection has ended, for this reason.
    Gone(String),
    /// A port appeared, changed or, if there is none of the number any more, disappeared.
    Port(Port),
    /// A flow is gone.
    FlowRemoved(FlowRemoved),
    /// All before a barrier is done; of so many messages so many were refused.
    Barrier((u32, u32)),
    /// It refused something: why.
    Refused(String),
    /// A message of another type, as it was on the wire.
    Message(Vec<u8>),
}
wit!(variant SwitchEvent {
    Connected, Gone(_), Port(_), FlowRemoved(_), Barrier(_), Refused(_), Message(_)
});

/// A flow that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRemoved {
    /// The application's mark.
    pub cookie: u64,
    /// Its priority.
    pub priority: u16,
    /// Why: 0 idle, 1 its time, 2 deleted, 3 its group.
    pub reason: u8,
    /// Packets that it was for.
    pub packets: u64,
    /// Bytes that it was for.
    pub bytes: u64,
}
wit!(struct FlowRemoved { cookie, priority, reason, packets, bytes });
