//! Control planes: those that nodes run among themselves, and an existing one that fills their tables.

use super::{ApplicationConfig, BadConfig, Carries};
use crate::Encapsulation;
use plait_control_overlay::Plane;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

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
