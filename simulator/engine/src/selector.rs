//! How relays are chosen for what a node sends.

use crate::encapsulation::StackIndex;
use crate::reason::Reason;
use std::any::Any;
use std::net::IpAddr;
use std::time::Duration;

/// A selector by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SelectorIndex(pub u32);

/// By which relays each packet goes that its node sends by one interface, whatever sends it there: flows and protocols.
///
/// It is asked once a packet, when the interface is known and before the packet is on the link. What has relays already,
/// what the node only passes on and what does not fit the link as it is, it does not see. As a [`Host`](crate::Host) it
/// must not know any other clock or chance than its own.
///
/// It is `Any`, so that [`Simulation::selector`](crate::Simulation::selector) gives it back as what it is.
pub trait Selector: Any + Send {
    /// By which relays a packet goes, and when.
    ///
    /// # Errors
    /// Why it goes no further.
    fn select(&mut self, now: Duration, packet: &Leaving) -> Result<Selected, Reason>;
}

/// What becomes of a packet that is about to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selected {
    /// Its relays; [`StackIndex::NONE`] lets it go as it is.
    pub relays: StackIndex,
    /// When it goes. Until a time to come it is held; of one instant those go first that were asked about first.
    pub at: Duration,
}

/// A packet that is about to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaving {
    /// Who sends.
    pub source: IpAddr,
    /// Who receives.
    pub destination: IpAddr,
    /// What IP carries, by its number.
    pub protocol: u8,
    /// UDP ports of sender and receiver; nought of what is no UDP.
    pub ports: [u16; 2],
    /// Its bytes, from Ethernet's header on.
    pub frame: u32,
    /// Bytes of the largest IP packet that fits the link.
    pub mtu: u32,
}
