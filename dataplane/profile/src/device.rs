//! Devices, routes and neighbours of a namespace, by netlink.

use crate::Result;
use crate::tunnel::to_vxlan;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, LinkAttribute, LinkInfo, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_netlink::Netlink;
use std::io;
use std::net::Ipv4Addr;

/// Makes a device of the kernel's.
pub(crate) fn make(namespace: &Namespace, name: &str, more: Vec<LinkAttribute>) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.attributes = [vec![LinkAttribute::IfName(name.to_owned())], more].concat();
    let request = RouteNetlinkMessage::NewLink(message);
    namespace.run(|| Netlink::open()?.request(request, NLM_F_CREATE | NLM_F_EXCL))??;
    namespace.up(name)
}

/// The kernel's own VXLAN from one host to another.
pub(crate) fn vxlan(
    namespace: &Namespace,
    name: &str,
    id: u32,
    local: Ipv4Addr,
    remote: Ipv4Addr,
    bridge: Option<u32>,
) -> io::Result<()> {
    let data = to_vxlan(id, local, remote);
    let mut more = vec![LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Vxlan),
        LinkInfo::Data(InfoData::Vxlan(data)),
    ])];
    more.extend(bridge.map(LinkAttribute::Controller));
    make(namespace, name, more)
}

/// The number of a device.
///
/// # Errors
/// There is none of that name.
pub fn index(namespace: &Namespace, name: &str) -> io::Result<u32> {
    namespace.run(|| index_here(name))?
}

/// The number of a device of the calling thread's namespace.
pub(crate) fn index_here(name: &str) -> io::Result<u32> {
    let mut ask = LinkMessage::default();
    ask.attributes.push(LinkAttribute::IfName(name.to_owned()));
    match Netlink::open()?.get(RouteNetlinkMessage::GetLink(ask))? {
        RouteNetlinkMessage::NewLink(link) => Ok(link.header.index),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Sets something of a device.
pub(crate) fn set(namespace: &Namespace, device: &str, attribute: LinkAttribute) -> Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = index(namespace, device)?;
    link.attributes.push(attribute);
    let request = || -> io::Result<()> { Netlink::open()?.request(RouteNetlinkMessage::SetLink(link), 0) };
    Ok(namespace.run(request)??)
}

/// A route to a prefix.
pub(crate) fn route_to(
    namespace: &Namespace,
    (network, length): (Ipv4Addr, u8),
    by: Vec<RouteAttribute>,
) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header.address_family = netlink_packet_route::AddressFamily::Inet;
    message.header.destination_prefix_length = length;
    message.header.table = 254;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    message.attributes = [vec![RouteAttribute::Destination(RouteAddress::Inet(network))], by].concat();
    namespace.run(|| Netlink::open()?.request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE))?
}

/// The hardware address of a device.
pub(crate) fn station(namespace: &Namespace, name: &str) -> Result<[u8; 6]> {
    let mut ask = LinkMessage::default();
    ask.attributes.push(LinkAttribute::IfName(name.to_owned()));
    let RouteNetlinkMessage::NewLink(link) =
        namespace.run(|| Netlink::open()?.get(RouteNetlinkMessage::GetLink(ask)))??
    else {
        return Err(io::Error::from(io::ErrorKind::NotFound).into());
    };
    let found = link.attributes.into_iter().find_map(|attribute| match attribute {
        LinkAttribute::Address(bytes) => bytes.try_into().ok(),
        _ => None,
    });
    found.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData).into())
}

/// Tells the kernel a neighbour's hardware address for good.
///
/// # Errors
/// No such device.
pub fn neighbour(namespace: &Namespace, device: &str, inet: Ipv4Addr, mac: [u8; 6]) -> Result<()> {
    let request = permanent(index(namespace, device)?, inet, mac);
    Ok(namespace.run(|| Netlink::open()?.request(request, NLM_F_CREATE | NLM_F_REPLACE))??)
}

/// That a device's neighbour has a hardware address for good.
pub(crate) fn permanent(device: u32, inet: Ipv4Addr, mac: [u8; 6]) -> RouteNetlinkMessage {
    let mut message = NeighbourMessage::default();
    message.header.ifindex = device;
    message.header.family = netlink_packet_route::AddressFamily::Inet;
    message.header.state = NeighbourState::Permanent;
    message.attributes = vec![
        NeighbourAttribute::Destination(NeighbourAddress::Inet(inet)),
        NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
    ];
    RouteNetlinkMessage::NewNeighbour(message)
}
