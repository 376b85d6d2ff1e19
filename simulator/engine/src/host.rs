//! How protocol cores take part.

use crate::encapsulation::StackIndex;
use crate::packet::TTL;
use plait_model_wire::number::protocol;
use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// An application by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostIndex(pub u32);

/// A protocol on a node: the same core that a thin driver feeds on real interfaces.
///
/// The engine calls `handle_*` when something happened, then `poll_transmit` until it gives nothing, then
/// `poll_timeout` for when to come back. Time is the simulation's clock. Whatever it draws by lot it draws from a
/// sequence that it was given: two runs of one seed must be the same.
///
/// It is `Any`, so that [`Simulation::host`](crate::Simulation::host) gives it back as what it is.
pub trait Host: Any + Send {
    /// A datagram came to its port.
    fn handle_datagram(&mut self, now: Duration, datagram: &Datagram<'_>);

    /// The time it asked for has come, or it is woken for the first time.
    fn handle_timeout(&mut self, now: Duration);

    /// A datagram to send.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// When to come back.
    fn poll_timeout(&self) -> Option<Duration>;
}

/// A datagram that came.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// Who sent it; of what is no UDP the port is nought.
    pub source: SocketAddr,
    /// Which of the node's addresses it was for, and which port.
    pub destination: SocketAddr,
    /// The IP protocol: what follows the IP header, if it is not UDP's, is the payload.
    pub protocol: u8,
    /// Hops that were left to it.
    pub ttl: u8,
    /// What it says.
    pub payload: &'a [u8],
    /// Whether it carries a congestion mark.
    pub is_marked: bool,
}

/// A datagram to send: of UDP, or another payload of IP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// The node's address that it is from; its first of that IP version if not said.
    pub source: Option<IpAddr>,
    /// The port that it is from; the one the protocol listens on if not said.
    pub port: Option<u16>,
    /// Who it is for; of what is no UDP the port counts for nothing.
    pub destination: SocketAddr,
    /// The IP protocol.
    pub protocol: u8,
    /// Hops that it may take.
    pub ttl: u8,
    /// What it says.
    pub payload: Vec<u8>,
    /// The relays that it goes by, as [`Simulation::add_relays`](crate::Simulation::add_relays) named them.
    pub relays: StackIndex,
}

impl Transmit {
    /// A datagram of UDP, with all that can be left to the node.
    pub fn to(destination: SocketAddr, payload: Vec<u8>) -> Self {
        let (source, port, relays) = (None, None, StackIndex::NONE);
        Self { source, port, destination, protocol: protocol::UDP, ttl: TTL, payload, relays }
    }
}
