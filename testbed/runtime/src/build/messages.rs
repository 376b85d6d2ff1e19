//! The rtnetlink messages a testbed is built of.

use ipnet::IpNet;
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoBridge, InfoData, InfoKind, InfoVeth, LinkAttribute,
    LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::IpAddr;
use std::os::fd::RawFd;

/// Device number of the loopback in every network namespace.
pub const LOOPBACK: u32 = 1;

/// One end of a veth pair: where it will live and what it is called there.
pub struct VethEnd<'a> {
    pub namespace: RawFd,
    pub name: &'a str,
    pub index: u32,
    pub mac: Option<[u8; 6]>,
    pub mtu: Option<u32>,
}

impl VethEnd<'_> {
    fn message(&self) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = self.index;
        message.attributes.push(LinkAttribute::IfName(self.name.to_owned()));
        message.attributes.push(LinkAttribute::NetNsFd(self.namespace));
        // Otherwise the kernel makes a queue for each processor it could ever have, and then turns off all but one.
        message.attributes.push(LinkAttribute::NumTxQueues(1));
        message.attributes.push(LinkAttribute::NumRxQueues(1));
        message.attributes.extend(self.mac.map(|mac| LinkAttribute::Address(mac.to_vec())));
        message.attributes.extend(self.mtu.map(LinkAttribute::Mtu));
        message
    }
}

/// A veth pair made directly in its two namespaces, both ends down: an end cannot go up before its peer exists.
pub fn veth(a: &VethEnd<'_>, b: &VethEnd<'_>) -> RouteNetlinkMessage {
    let mut message = a.message();
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(b.message()))),
    ]));
    RouteNetlinkMessage::NewLink(message)
}

/// A bridge that forwards at once: no spanning tree, no multicast snooping that would drop before it has learned.
pub fn bridge(name: &str, index: u32) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.push(LinkAttribute::IfName(name.to_owned()));
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Bridge),
        LinkInfo::Data(InfoData::Bridge(vec![
            InfoBridge::StpState(0.into()),
            InfoBridge::MulticastSnooping(false),
        ])),
    ]));
    RouteNetlinkMessage::NewLink(message)
}

/// What else changes when a device goes up.
#[derive(Clone, Copy)]
pub enum Up {
    /// Nothing.
    Plain,
    /// It becomes a port of a bridge.
    Port { bridge: u32 },
}

/// Turns a device on.
pub fn up(index: u32, how: Up) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    if let Up::Port { bridge } = how {
        message.attributes.push(LinkAttribute::Controller(bridge));
    }
    RouteNetlinkMessage::SetLink(message)
}

/// Turns a device off.
pub fn down(index: u32) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.change_mask = LinkFlags::Up;
    RouteNetlinkMessage::SetLink(message)
}

/// The least MTU of a device that has IPv6 at all (RFC 8200, section 5); the kernel gives others none.
pub const IPV6_LEAST: u32 = 1280;

/// Leaves a device without an IPv6 link-local address, and so without router solicitations, multicast reports and
/// duplicate detection, whose packets would shift every seeded sequence. Must come before the device goes up.
pub fn no_link_local(index: u32) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![
        AfSpecInet6::AddrGenMode(In6AddrGenMode::None),
    ])]));
    RouteNetlinkMessage::SetLink(message)
}

/// Sets a device's hardware address and MTU.
pub fn identity(index: u32, mac: [u8; 6], mtu: Option<u32>) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.push(LinkAttribute::Address(mac.to_vec()));
    message.attributes.extend(mtu.map(LinkAttribute::Mtu));
    RouteNetlinkMessage::SetLink(message)
}

/// Removes a device, and with it its peer.
pub fn remove(index: u32) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    RouteNetlinkMessage::DelLink(message)
}

/// An address of a device, added or removed.
pub fn address(index: u32, address: IpNet, add: bool) -> RouteNetlinkMessage {
    let mut message = AddressMessage::default();
    message.header.index = index;
    message.header.prefix_len = address.prefix_len();
    message.header.scope = AddressScope::Universe;
    match address {
        IpNet::V4(net) => {
            message.header.family = AddressFamily::Inet;
            message.attributes.push(AddressAttribute::Local(net.addr().into()));
            message.attributes.push(AddressAttribute::Address(net.addr().into()));
            // RFC 3021: a /31 has no broadcast address, nor has a /32.
            if net.prefix_len() < 31 {
                message.attributes.push(AddressAttribute::Broadcast(net.broadcast()));
            }
        }
        IpNet::V6(net) => {
            message.header.family = AddressFamily::Inet6;
            // Plait gives no address twice, so nobody need wait for duplicate detection.
            message.header.flags = AddressHeaderFlags::Nodad;
            message.attributes.push(AddressAttribute::Address(net.addr().into()));
        }
    }
    if add { RouteNetlinkMessage::NewAddress(message) } else { RouteNetlinkMessage::DelAddress(message) }
}

/// The route to an interface's own prefix, in place of the one the kernel made, with a congestion control for the
/// connections over it.
pub fn connected(own: IpNet, index: u32, congestion_control: &str) -> RouteNetlinkMessage {
    let RouteNetlinkMessage::NewRoute(mut message) =
        route(own, own.addr(), Some(index), Some(congestion_control), true)
    else {
        unreachable!("adding makes a new route")
    };
    message.header.protocol = RouteProtocol::Kernel;
    message.header.scope = RouteScope::Link;
    message.attributes.retain(|attribute| !matches!(attribute, RouteAttribute::Gateway(_)));
    if let IpAddr::V4(address) = own.addr() {
        message.attributes.push(RouteAttribute::PrefSource(RouteAddress::Inet(address)));
    } else {
        message.header.scope = RouteScope::Universe;
        // The metric of the kernel's own IPv6 routes to prefixes (IP6_RT_PRIO_ADDRCONF).
        message.attributes.push(RouteAttribute::Priority(256));
    }
    RouteNetlinkMessage::NewRoute(message)
}

/// A route, added or removed.
pub fn route(
    to: IpNet,
    via: IpAddr,
    index: Option<u32>,
    congestion_control: Option<&str>,
    add: bool,
) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    message.header.destination_prefix_length = to.prefix_len();
    let address = |address: IpAddr| match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    };
    message.header.address_family =
        if to.addr().is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    if to.prefix_len() > 0 {
        message.attributes.push(RouteAttribute::Destination(address(to.network())));
    }
    message.attributes.push(RouteAttribute::Gateway(address(via)));
    message.attributes.extend(index.map(RouteAttribute::Oif));
    if let Some(name) = congestion_control {
        // RTAX_CC_ALGO is 16; locked, so that a program's habit does not change the experiment unless it asks by
        // socket.
        const LOCK: u32 = 1 << 16;
        message.attributes.push(RouteAttribute::Metrics(vec![
            RouteMetric::Lock(LOCK),
            RouteMetric::CcAlgo(name.to_owned()),
        ]));
    }
    if add { RouteNetlinkMessage::NewRoute(message) } else { RouteNetlinkMessage::DelRoute(message) }
}

/// Moves a device, by its name here, into another namespace under another name and number.
pub fn hand_over(name: &str, namespace: RawFd, new_name: &str, new_index: u32) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    // The kernel looks a device up by `IFLA_IFNAME` only when there is no number, and then takes it for the new name
    // too; `IFLA_ALT_IFNAME` is not understood by older ones, so the caller's number is looked up first.
    message.header.index = index_of(name);
    message.attributes.push(LinkAttribute::NetNsFd(namespace));
    message.attributes.push(LinkAttribute::IfName(new_name.to_owned()));
    message.attributes.push(LinkAttribute::NewIfIndex(new_index as i32));
    RouteNetlinkMessage::SetLink(message)
}

/// The number of a device of the calling thread's namespace; nought when there is none of that name.
pub fn index_of(name: &str) -> u32 {
    let Ok(name) = std::ffi::CString::new(name) else { return 0 };
    // SAFETY: the name is terminated and lives through the call.
    unsafe { libc::if_nametoindex(name.as_ptr()) }
}

/// A default route in a table of its own.
pub fn way_out(via: std::net::Ipv4Addr, index: u32, table: u32) -> RouteNetlinkMessage {
    let everything = IpNet::V4("0.0.0.0/0".parse().expect("a prefix"));
    let RouteNetlinkMessage::NewRoute(mut message) = route(everything, via.into(), Some(index), None, true)
    else {
        unreachable!("adding makes a new route")
    };
    message.header.table = table as u8;
    RouteNetlinkMessage::NewRoute(message)
}

/// Lets packets that the node itself makes, and no others, look into a table.
pub fn own_packets_rule(table: u32, priority: u32) -> RouteNetlinkMessage {
    let mut message = RuleMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.action = RuleAction::ToTable;
    message.header.table = table as u8;
    message.attributes.push(RuleAttribute::Iifname("lo".to_owned()));
    message.attributes.push(RuleAttribute::Priority(priority));
    RouteNetlinkMessage::NewRule(message)
}

/// Asks for one device; an error when it is not there.
pub fn query(index: u32) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    RouteNetlinkMessage::GetLink(message)
}
