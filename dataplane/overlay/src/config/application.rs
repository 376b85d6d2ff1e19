//! What an application carries, and how its packets travel.

use super::{BadConfig, MOST_VNI};
use crate::{Encapsulation, Kind};
use plait_dataplane_reference::tables::driver;
use plait_model_overlay::NodeId;
use plait_model_wire::ovstack;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
