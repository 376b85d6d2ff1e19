//! A host whose overlay has a million identifiers behind one gateway, which changes its hardware address.
//!
//! ```text
//! ov0 ─► identifiers, each at one of many nodes ─► a wire a node ─► one adjacency ─► below ═══► belowp
//! ```

use crate::Error;
use crate::device::{index, neighbour, permanent, route_to};
use crate::host::{Host, address, join, route};
use crate::lab::Lab;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::route::RouteAttribute;
use plait_dataplane_bpf::{Table, names};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_netlink::Netlink;
use plait_dataplane_overlay::protocol::Request;
use plait_dataplane_overlay::{ApplicationConfig, Carries, DeviceConfig, Identifier};
use plait_dataplane_reference::mapped;
use plait_model_overlay::{Application, NodeId};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Identifiers behind the gateway.
pub const IDENTIFIERS: u32 = 1_000_000;
/// The first of them, which are addresses one after the other.
pub const FIRST: Ipv4Addr = Ipv4Addr::new(20, 0, 0, 0);
/// Nodes that they are at, one after the other, and again.
pub const NODES: u8 = 250;

const APPLICATION: Application = Application(10);
/// Of the network that the gateway is on, and of that of the nodes' locators behind it.
const NEAR: u8 = 0;
const FAR: u8 = 1;
/// An address that no node has, to which the kernel sends by itself.
const NOBODY: u8 = 251;

/// The host, and where what it sends arrives.
pub struct Gateway {
    /// The host.
    pub host: Arc<Namespace>,
    /// The gateway.
    pub gateway: Arc<Namespace>,
    below: u32,
    netlink: Netlink,
    _lab: Lab,
}

impl Gateway {
    /// The device of the gateway by which packets come in.
    pub const DOOR: &str = "belowp";
    /// Behind the gateway, and nothing of the overlay's.
    pub const PLAIN: Ipv4Addr = address(FAR, NOBODY);

    /// Makes all of it.
    ///
    /// # Errors
    /// No permission; an agent that does not start; no room for so many identifiers.
    pub fn new() -> Result<Self, Error> {
        let mut lab = Lab::default();
        let (mut a, gateway) = (Host::new(1)?, Host::new(2)?);
        join(&a, &gateway, "below", NEAR)?;
        let host = a.namespace.clone();
        let below = index(&host, "below")?;
        let netlink = host.run(Netlink::open)??;
        neighbour(&host, "below", address(NEAR, 2), [2, 0x10, 0x10, 0x10, 0x10, 0x10])?;
        route(&host, FAR, address(NEAR, 2))?;

        let pins = a.start_for(&mut lab, IDENTIFIERS + IDENTIFIERS / 10)?;
        let config = ApplicationConfig { carries: Carries::Ip, ..ApplicationConfig::default() };
        a.apply(APPLICATION, &config, &[address(NEAR, 1)])?;
        a.ask(Request::SetDevice(DeviceConfig::new("ov0", APPLICATION, 0)))?;
        host.address("ov0", address(FAR + 1, 1), 24)?;
        route_to(&host, (FIRST, 8), vec![RouteAttribute::Oif(index(&host, "ov0")?)])?;
        for number in 0..NODES {
            let node = NodeId(0x0b00_0000 + u32::from(number));
            a.know(APPLICATION, node, &[address(FAR, 1 + number)])?;
            let identifier = Identifier::Network(IpAddr::V4(nth(number.into())).into());
            a.ask(Request::FibAdd { device: "ov0".to_owned(), identifier, node })?;
        }
        // The rest as the agent made these.
        let fib = Table::pinned(&pins, &names::FIB)?;
        let mut key = fib.keys().next().ok_or(Error::NoAgent)?;
        let mut entries = Vec::new();
        for number in 0..NODES {
            key.identifier = mapped(nth(number.into()).into());
            entries.push(fib.get(&key)?.ok_or(Error::NoAgent)?);
        }
        for (number, entry) in (u32::from(NODES)..IDENTIFIERS).zip(entries.iter().cycle()) {
            key.identifier = mapped(nth(number).into());
            fib.set(&key, entry)?;
        }
        Ok(Self { host, gateway: gateway.namespace, below, netlink, _lab: lab })
    }

    /// Tells the kernel the gateway's hardware address, and comes back once it has that.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn turn(&self, hardware: [u8; 6]) -> Result<(), Error> {
        let message = permanent(self.below, address(NEAR, 2), hardware);
        Ok(self.netlink.request(message, NLM_F_CREATE | NLM_F_REPLACE)?)
    }
}

/// One of the identifiers.
pub fn nth(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST.to_bits() + number)
}
