//! What an agent is told beyond LIB and RIB: what applications carry, and the devices that hosts use them by.

use crate::{BitField, Encapsulation, Kind};
use plait_control_overlay::Plane;
use plait_dataplane_reference::tables::driver;
use plait_model_overlay::{Application, NodeId};
use plait_model_wire::ovstack;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// What an application carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carries {
    /// Ethernet frames (the paper's oveth). The identifier is the destination's address; sources are learned.
    #[default]
    Ethernet,
    /// IP packets. The identifier is a prefix of the destination's address.
    Ip,
    /// Ethernet frames. The identifier is whatever bits of them the device names (the thesis's madcap).
    Bits,
    /// What frames carry, without their headers: IP, MPLS labels, service paths. The identifier is whatever bits of that the
    /// device names.
    Payload,
}

impl Carries {
    /// Whether that is frames.
    pub fn are_frames(self) -> bool {
        matches!(self, Self::Ethernet | Self::Bits)
    }

    /// Whether devices name bits by which packets are found.
    pub fn are_found_by_bits(self) -> bool {
        matches!(self, Self::Bits | Self::Payload)
    }

    /// Its number in the tables: [`driver`].
    pub fn driver(self) -> u32 {
        match self {
            Self::Ethernet => driver::ETHERNET,
            Self::Ip => driver::IP,
            Self::Bits => driver::BITS,
            Self::Payload => driver::PAYLOAD,
        }
    }
}

/// What becomes of a packet whose identifier nobody knows. It is counted in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// A frame goes to the group, if there is a way to it; all else is dropped.
    #[default]
    Group,
    /// It is dropped.
    Drop,
    /// It leaves by the kernel's own route, on the device of the host's most general route that is none of the overlay's.
    Kernel,
}

impl Miss {
    fn is_group(&self) -> bool {
        *self == Self::Group
    }
}

/// How an application's packets travel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApplicationConfig {
    /// What they carry.
    pub carries: Carries,
    /// Overlay hops of a packet that begins here.
    pub ttl: u8,
    /// How packets are sent to next hops that nothing else is said of.
    pub encapsulation: Encapsulation,
    /// How they are sent to others.
    pub to: BTreeMap<NodeId, Encapsulation>,
    /// How they may come, beside those in which they are sent.
    pub accepts: BTreeSet<Encapsulation>,
    /// The identity that stands for all nodes: where frames go whose station nobody knows. Without it they are
    /// dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<NodeId>,
    /// What becomes of packets whose identifiers nobody knows.
    #[serde(skip_serializing_if = "Miss::is_group")]
    pub miss: Miss,
    /// The virtual network of packets whose encapsulation names none.
    pub vni: u32,
}

impl Default for ApplicationConfig {
    fn default() -> Self {
        Self {
            carries: Carries::default(),
            ttl: ovstack::DEFAULT_TTL,
            encapsulation: Encapsulation::default(),
            to: BTreeMap::new(),
            accepts: BTreeSet::new(),
            group: None,
            miss: Miss::default(),
            vni: 0,
        }
    }
}

/// A device that hosts use a tenant by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// Its name, such as `ov0`.
    pub name: String,
    /// Whose tenant.
    pub application: Application,
    /// The virtual network, 24 bits.
    pub vni: u32,
    /// The largest packet. Without it what fits all next hops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Of IP: how many bits of an IPv4 address are the identifier, and how many of an IPv6 one.
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub prefix: [u8; 2],
    /// Of bits and payloads: which bits of them are the identifier. Without them all packets go one way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<BitField>,
    /// Whether packets, of frames those of IP that are for this device's own address, come in by the device below, on which they
    /// arrived, rather than by this one. That is faster by a turn through the kernel's queue; captures, firewalls and sockets of
    /// this device see nothing of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// Seconds after which a station that is silent is forgotten.
    #[serde(default = "ageing", skip_serializing_if = "is_ageing")]
    pub ageing: u32,
}

fn whole() -> [u8; 2] {
    [32, 128]
}

fn is_whole(prefix: &[u8; 2]) -> bool {
    *prefix == whole()
}

/// Choice: the 300 s of IEEE 802.1D, as of Linux' bridge and VXLAN.
fn ageing() -> u32 {
    300
}

fn is_ageing(seconds: &u32) -> bool {
    *seconds == ageing()
}

impl DeviceConfig {
    /// A device with the defaults of everything else.
    pub fn new(name: impl Into<String>, application: Application, vni: u32) -> Self {
        Self {
            name: name.into(),
            application,
            vni,
            mtu: None,
            prefix: whole(),
            bits: None,
            in_place: false,
            ageing: ageing(),
        }
    }
}

/// Whether a device can be called so.
pub(crate) fn is_device_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_plain = (1..16).contains(&name.len()) && name.chars().all(plain);
    is_plain && !matches!(name, "." | ".." | "all" | "default")
}

/// Who fills LIB and RIB beside those who write by hand, and by what key nodes know each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// How routes are decided, if they are.
    pub plane: ControlKind,
    /// Locators of nodes to join by.
    #[serde(default)]
    pub seeds: Vec<IpAddr>,
    /// The file of the key that all nodes share: sixteen bytes at least, readable by its owner only.
    pub key: PathBuf,
    /// Milliseconds from one probe to the next.
    #[serde(default = "interval")]
    pub interval: u64,
    /// Probes at most so many others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<usize>,
}

/// How routes are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlKind {
    /// Everyone straight to everyone (e2LAN).
    Mesh,
    /// By paths of least delay (vRON).
    Delay,
    /// Not at all: entries by hand, or an existing control plane, say it. Nodes that share the key answer each other's traces.
    Static,
}

impl ControlKind {
    /// The control plane, if there is one.
    pub fn plane(self) -> Option<Plane> {
        match self {
            Self::Mesh => Some(Plane::Mesh),
            Self::Delay => Some(Plane::Delay),
            Self::Static => None,
        }
    }
}

/// Choice: a second, as often as people look at a ping.
fn interval() -> u64 {
    1000
}

impl Control {
    /// One that decides nothing.
    pub fn key(key: impl Into<PathBuf>) -> Self {
        let (seeds, key) = (Vec::new(), key.into());
        Self { plane: ControlKind::Static, seeds, key, interval: interval(), neighbours: None }
    }

    /// From one probe to the next.
    pub fn interval(&self) -> Duration {
        Duration::from_millis(self.interval)
    }
}

/// An existing control plane that fills LIB, RIB and FIB: a neighbour that speaks BGP EVPN (RFC 7432, RFC 8365), such as a
/// route reflector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evpn {
    /// The neighbour's address.
    pub neighbor: IpAddr,
    /// This node's AS.
    #[serde(rename = "as")]
    pub as_number: u32,
    /// The neighbour's; the same without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_as: Option<u32>,
    /// Seconds of silence after which the neighbour is gone.
    #[serde(default = "hold")]
    pub hold: u16,
}

/// Choice: the nine seconds of FRR's profile for data centres, where overlays are at home.
fn hold() -> u16 {
    9
}

impl Evpn {
    /// One with the defaults of everything else.
    pub fn new(neighbor: IpAddr, as_number: u32) -> Self {
        Self { neighbor, as_number, remote_as: None, hold: hold() }
    }

    /// Looks for what cannot be, also of the application that it fills.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self, application: &ApplicationConfig) -> Result<(), BadConfig> {
        if self.as_number == 0 || self.remote_as == Some(0) {
            return Err(BadConfig::As);
        }
        if self.hold < 3 {
            return Err(BadConfig::Hold(self.hold));
        }
        let is_vxlan = application.encapsulation == Encapsulation::Vxlan && application.to.is_empty();
        if is_vxlan && application.carries == Carries::Ethernet { Ok(()) } else { Err(BadConfig::NoVxlan) }
    }
}

/// Why a configuration cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadConfig {
    /// An encapsulation that cannot say what an application carries.
    #[error("{encapsulation} carries no {what}: choose another encapsulation{}", if *.what == "frames" { ", such as gre" } else { ", such as geneve" })]
    Carries {
        /// Which.
        encapsulation: Encapsulation,
        /// Frames or packets.
        what: &'static str,
    },
    /// A virtual network beyond its bits.
    #[error("there is no virtual network {0}: the largest is {largest}", largest = MOST_VNI)]
    Vni(u32),
    /// A virtual network that an encapsulation cannot name.
    #[error(
        "{encapsulation} does not name virtual network {vni}: packets would arrive in {named}. Say `--vni {vni}` of the \
         application too, or choose an encapsulation that names it, such as geneve"
    )]
    Unnamed {
        /// Which.
        encapsulation: Encapsulation,
        /// The device's.
        vni: u32,
        /// What it would be taken for.
        named: u32,
    },
    /// Frames that the kernel knows no way for.
    #[error(
        "the kernel has no route for a frame: a miss goes to `kernel` where an application carries ip, bits or payload; of \
         ethernet it goes to the group, or is dropped"
    )]
    MissedFrames,
    /// A packet that dies where it begins.
    #[error("a TTL of 0 lets no packet leave")]
    Ttl,
    /// A prefix longer than its address.
    #[error("an address of {bits} bits has no prefix of {prefix}")]
    Prefix {
        /// Of the address.
        bits: u8,
        /// As asked.
        prefix: u8,
    },
    /// A name that no device can have.
    #[error("no device can be called `{0}`: write 1 to 15 letters, digits, `-`, `_` or `.`")]
    Name(String),
    /// An MTU that IPv4 does not allow, or a VXLAN device does not.
    #[error("an MTU of {0} cannot be: it is between 576 and 65000")]
    Mtu(u32),
    /// Bits that a program cannot cut out.
    #[error(
        "{length} bits from {offset} on cannot be: they begin at bit 8191 at most, and are 1 to 128 with those of their first byte \
         before them"
    )]
    Bits {
        /// As asked.
        offset: u16,
        /// As asked.
        length: u8,
    },
    /// A device with what it has no use for.
    #[error(
        "`--offset` and `--length` say by which bits packets are found where an application carries `bits` or `payload`, and \
         nowhere else"
    )]
    NoBits,
    /// Encapsulations that cannot be told from each other when they arrive.
    #[error("{one} and {other} arrive alike, and an application takes only one of them: leave out the other")]
    Alike {
        /// The one.
        one: Encapsulation,
        /// The other.
        other: Encapsulation,
    },
    /// An AS that there is not.
    #[error("0 is no AS: write a number from 1 to 4294967295")]
    As,
    /// A hold time that BGP does not know.
    #[error("a hold time of {0} s cannot be: it is at least 3 s")]
    Hold(u16),
    /// EVPN of something else than VXLAN.
    #[error(
        "EVPN fills applications that carry ethernet in vxlan: say `plait overlay config application APP --encapsulation \
         vxlan`, or take it away with `plait overlay config evpn --delete`"
    )]
    NoVxlan,
    /// What only those who find each other need.
    #[error(
        "`static` probes nobody: leave out `--seed`, `--interval` and `--neighbours`, or choose `mesh` or `delay`"
    )]
    NothingProbed,
    /// An interval of nought.
    #[error("an interval of {0} ms cannot be: it is between 10 ms and an hour")]
    Interval(u64),
}

const MOST_VNI: u32 = (1 << 24) - 1;

impl ApplicationConfig {
    /// Looks for what cannot be.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self) -> Result<(), BadConfig> {
        let frames = self.carries.are_frames();
        let all = [self.encapsulation].into_iter().chain(self.to.values().copied());
        for encapsulation in all.chain(self.accepts.iter().copied()) {
            if !encapsulation.carries(frames) {
                let what = if frames { "frames" } else { "packets" };
                return Err(BadConfig::Carries { encapsulation, what });
            }
        }
        let mut arrivals: BTreeMap<u32, Encapsulation> = BTreeMap::new();
        for (arrival, other) in self.kind().arrivals() {
            if let Some(one) = arrivals.insert(arrival, other) {
                return Err(BadConfig::Alike { one, other });
            }
        }
        if self.vni > MOST_VNI {
            return Err(BadConfig::Vni(self.vni));
        }
        if self.miss == Miss::Kernel && self.carries == Carries::Ethernet {
            return Err(BadConfig::MissedFrames);
        }
        if self.ttl == 0 { Err(BadConfig::Ttl) } else { Ok(()) }
    }

    /// Looks whether packets of a virtual network arrive in it.
    ///
    /// # Errors
    /// An encapsulation that names another.
    pub fn check_vni(&self, vni: u32) -> Result<(), BadConfig> {
        for encapsulation in [self.encapsulation].into_iter().chain(self.to.values().copied()) {
            let named = encapsulation.named(vni).unwrap_or(self.vni);
            if named != vni {
                return Err(BadConfig::Unnamed { encapsulation, vni, named });
            }
        }
        Ok(())
    }

    /// What this takes in just as another application does, so that at a locator of both nobody could tell whose it is.
    pub fn takes_as(&self, other: &Self) -> Option<Encapsulation> {
        let (kind, other) = (self.kind(), other.kind());
        let mut unnamed = kind.arrivals().filter(|(_, encapsulation)| !encapsulation.names_nodes());
        let is_theirs = |arrival: u32| other.arrivals().any(|(theirs, _)| theirs == arrival);
        unnamed.find(|(arrival, _)| is_theirs(*arrival)).map(|(_, encapsulation)| encapsulation)
    }

    /// As the compiler takes it.
    pub fn kind(&self) -> Kind {
        let mut accepts = self.accepts.clone();
        accepts.insert(self.encapsulation);
        accepts.extend(self.to.values());
        Kind {
            driver: self.carries.driver(),
            ttl: self.ttl,
            encapsulation: self.encapsulation,
            to: self.to.clone(),
            accepts,
            vni: self.vni,
        }
    }
}

impl DeviceConfig {
    /// Looks for what cannot be.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self) -> Result<(), BadConfig> {
        if !is_device_name(&self.name) {
            return Err(BadConfig::Name(self.name.clone()));
        }
        if self.vni > MOST_VNI {
            return Err(BadConfig::Vni(self.vni));
        }
        if let Some(mtu) = self.mtu.filter(|mtu| !(576..=65_000).contains(mtu)) {
            return Err(BadConfig::Mtu(mtu));
        }
        if let Some(BitField { offset, length }) = self.bits.filter(|bits| !bits.can_be()) {
            return Err(BadConfig::Bits { offset, length });
        }
        for (prefix, bits) in self.prefix.into_iter().zip(whole()) {
            if prefix > bits {
                return Err(BadConfig::Prefix { bits, prefix });
            }
        }
        Ok(())
    }
}

impl Control {
    /// Looks for what cannot be.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self) -> Result<(), BadConfig> {
        let probes = !self.seeds.is_empty() || self.interval != interval() || self.neighbours.is_some();
        if self.plane.plane().is_none() && probes {
            return Err(BadConfig::NothingProbed);
        }
        match self.interval {
            10..=3_600_000 => Ok(()),
            other => Err(BadConfig::Interval(other)),
        }
    }
}
