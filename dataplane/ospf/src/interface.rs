//! What of an interface OSPF depends on, as the kernel says it.

use crate::FeedError;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use plait_dataplane_netlink::Netlink;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

/// An interface.
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// The longest IP packet that it takes.
    pub mtu: u16,
    /// Its first address.
    pub address: Ipv4Addr,
    /// That address's mask.
    pub mask: Ipv4Addr,
}

impl Interface {
    /// The one of a name, in the calling thread's network namespace.
    ///
    /// # Errors
    /// There is none, or it has no address.
    pub fn find(name: &str) -> Result<Self, FeedError> {
        let broken = |error: io::Error| FeedError::Interface(name.to_owned(), error);
        let netlink = Netlink::open().map_err(broken)?;
        let links = netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default())).map_err(broken)?;
        let (index, mtu) = links
            .into_iter()
            .find_map(|message| numbers(message, name))
            .ok_or_else(|| FeedError::NoInterface(name.to_owned()))?;
        let mut ask = AddressMessage::default();
        ask.header.family = AddressFamily::Inet;
        let addresses = netlink.dump(RouteNetlinkMessage::GetAddress(ask)).map_err(broken)?;
        let (address, mask) = addresses
            .into_iter()
            .find_map(|message| address_of(message, index))
            .ok_or_else(|| FeedError::NoAddress(name.to_owned()))?;
        Ok(Self { index, mtu, address, mask })
    }
}

fn numbers(message: RouteNetlinkMessage, name: &str) -> Option<(u32, u16)> {
    let RouteNetlinkMessage::NewLink(link) = message else { return None };
    let is_it =
        link.attributes.iter().any(|attribute| matches!(attribute, LinkAttribute::IfName(of) if of == name));
    let mtu = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::Mtu(mtu) => Some(u16::try_from(*mtu).unwrap_or(u16::MAX)),
        _ => None,
    });
    is_it.then_some((link.header.index, mtu.unwrap_or(1500)))
}

fn address_of(message: RouteNetlinkMessage, index: u32) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let RouteNetlinkMessage::NewAddress(of) = message else { return None };
    if of.header.index != index {
        return None;
    }
    let own = |attribute: &AddressAttribute| match attribute {
        AddressAttribute::Local(IpAddr::V4(address)) => Some(*address),
        _ => None,
    };
    let mask = u32::MAX.checked_shl(32 - u32::from(of.header.prefix_len)).unwrap_or(0);
    Some((of.attributes.iter().find_map(own)?, mask.into()))
}
