//! What an interface is told.

use plait_model_wire::ospf::options;
use std::net::Ipv4Addr;
use std::time::Duration;

/// What kind of link an interface is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// One with a single neighbour.
    PointToPoint,
    /// One with many, of whom one is designated. This one never is.
    Broadcast,
}

/// An interface.
#[derive(Debug, Clone)]
pub struct Config {
    /// This node's router ID: one that no router has.
    pub router: Ipv4Addr,
    /// The area.
    pub area: Ipv4Addr,
    /// The interface's address.
    pub address: Ipv4Addr,
    /// The interface's mask.
    pub mask: Ipv4Addr,
    /// What kind of link it is on.
    pub kind: LinkKind,
    /// Seconds between two Hellos. Neighbours must say the same.
    pub hello: u16,
    /// Seconds without any until a neighbour is dead. Neighbours must say the same.
    pub dead: u32,
    /// How long an answer may take before the question is sent again.
    pub retransmit: Duration,
    /// Whether the area is a stub.
    pub is_stub: bool,
    /// The longest packet that the interface takes.
    pub mtu: u16,
}

impl Config {
    /// With the values of RFC 2328 appendix C.3 for a local link: Hellos each 10 seconds, 40 until a neighbour is dead, 5 until
    /// something is said again; in area 0.0.0.0.
    /// The router ID is the interface's address.
    pub fn new(address: Ipv4Addr, mask: Ipv4Addr, kind: LinkKind) -> Self {
        Self {
            router: address,
            address,
            area: Ipv4Addr::UNSPECIFIED,
            mask,
            kind,
            hello: 10,
            dead: 40,
            retransmit: Duration::from_secs(5),
            is_stub: false,
            mtu: 1500,
        }
    }

    pub(super) fn options(&self) -> u8 {
        if self.is_stub { 0 } else { options::EXTERNAL }
    }
}
