//! What a speaker has to say to its driver.

use super::State;
use plait_model_wire::Malformed;
use std::net::Ipv4Addr;
use thiserror::Error;

/// A packet to be sent out of the interface, with a TTL of 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// To whom.
    pub destination: Ipv4Addr,
    /// What IP carries as protocol 89.
    pub payload: Vec<u8>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A neighbour's state changed; none when it is gone.
    Neighbor(Ipv4Addr, Option<State>),
    /// A packet was not taken.
    Refused(Ipv4Addr, Refusal),
}

/// Why a packet is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It came from elsewhere.
    #[error(
        "nobody on this link sent it: it came through a router, or its sender has an address of another network"
    )]
    OffLink,
    /// It cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It is authenticated, and this node has no key.
    #[error("it is authenticated: take authentication off this link, or learn the fabric from FRR's API")]
    Authentication,
    /// It is about another area.
    #[error("it is of area {0}: give this interface that area")]
    Area(Ipv4Addr),
    /// It comes from this node's own ID.
    #[error("it comes from this node's own router ID: give this node one that no router has")]
    OwnId,
    /// Its sender has other intervals.
    #[error("its intervals are {hello} and {dead} s: give this interface the same")]
    Intervals {
        /// Seconds between two Hellos.
        hello: u16,
        /// Seconds until a neighbour is dead.
        dead: u32,
    },
    /// Its sender's mask is another.
    #[error("its mask is {0}: give this interface the same")]
    Mask(Ipv4Addr),
    /// Its sender takes the area for a stub and this node does not, or the other way round.
    #[error("it says otherwise whether the area is a stub: say the same")]
    Stub,
    /// There are too many neighbours.
    #[error("there are as many neighbours as are kept already")]
    TooMany,
}
