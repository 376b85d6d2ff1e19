//! What the kernel's messages say of routes.

use crate::{Exit, Neighbour};
use ipnet::IpNet;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A route, by one of its next hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub is_main: bool,
    /// Whether a router on the link told of it.
    pub is_advertised: bool,
    pub prefix: IpNet,
    pub metric: u32,
    pub interface: u32,
    pub gateway: Option<IpAddr>,
}

/// The way out that the kernel says a packet takes. An MTU that expires is what the kernel has learned of the path, not the
/// route's; of that nobody is told when it is gone.
pub(super) fn exit_of(attributes: &[RouteAttribute], to: IpAddr) -> Option<Exit> {
    let (mut interface, mut address, mut mtu, mut is_learned) = (None, to, None, false);
    for attribute in attributes {
        match attribute {
            RouteAttribute::Oif(index) => interface = Some(*index),
            RouteAttribute::Metrics(metrics) => {
                let said = metrics.iter().find_map(|metric| match metric {
                    RouteMetric::Mtu(mtu) => Some(*mtu),
                    _ => None,
                });
                mtu = said.filter(|mtu| *mtu > 0);
            }
            RouteAttribute::CacheInfo(cache) => is_learned = cache.expires != 0,
            other => address = gateway_of(other).unwrap_or(address),
        }
    }
    let neighbour = Neighbour { interface: interface?, address };
    Some(Exit { neighbour, mtu: mtu.filter(|_| !is_learned) })
}

/// Where a route leads, and whether that is all: of one that names a next hop's number alone (`nexthop_compat_mode` of 0) nobody
/// says where.
pub(super) fn ways_of(message: RouteNetlinkMessage) -> (Vec<Way>, bool) {
    let RouteNetlinkMessage::NewRoute(route) = message else { return (Vec::new(), true) };
    let is_elsewhere =
        |prefix: &IpNet| !matches!(prefix.network(), IpAddr::V6(to) if to.is_unicast_link_local());
    let Some(prefix) = destination_of(&route).filter(is_elsewhere) else { return (Vec::new(), true) };
    if route.header.kind != RouteType::Unicast {
        return (Vec::new(), true);
    }
    let (mut metric, mut ways) = (0, Vec::new());
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Priority(priority) => metric = *priority,
            RouteAttribute::Oif(index) => ways.push((*index, &route.attributes)),
            RouteAttribute::MultiPath(hops) => {
                ways.extend(hops.iter().map(|hop| (hop.interface_index, &hop.attributes)));
            }
            _ => {}
        }
    }
    let is_numbered = |attribute: &RouteAttribute| matches!(attribute, RouteAttribute::NhId(_));
    let is_all = !ways.is_empty() || !route.attributes.iter().any(is_numbered);
    let is_main = route.header.table == RouteHeader::RT_TABLE_MAIN;
    let is_advertised = route.header.protocol == RouteProtocol::Ra;
    let ways = ways.into_iter().map(|(interface, attributes)| {
        let gateway = attributes.iter().find_map(gateway_of);
        Way { is_main, is_advertised, prefix, metric, interface, gateway }
    });
    (ways.collect(), is_all)
}

/// The router that an attribute of a route, or of one of its next hops, names.
fn gateway_of(attribute: &RouteAttribute) -> Option<IpAddr> {
    match attribute {
        RouteAttribute::Gateway(RouteAddress::Inet(gateway)) => Some((*gateway).into()),
        RouteAttribute::Gateway(RouteAddress::Inet6(gateway)) => Some((*gateway).into()),
        RouteAttribute::Via(RouteVia::Inet(gateway)) => Some((*gateway).into()),
        RouteAttribute::Via(RouteVia::Inet6(gateway)) => Some((*gateway).into()),
        _ => None,
    }
}

/// What a route leads to; nothing of one whose destination is written in a way that is not understood.
pub(super) fn destination_of(route: &RouteMessage) -> Option<IpNet> {
    let any = match route.header.address_family {
        AddressFamily::Inet => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        AddressFamily::Inet6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return None,
    };
    let length = route.header.destination_prefix_length;
    let written = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Destination(RouteAddress::Inet(address)) => Some(IpAddr::V4(*address)),
        RouteAttribute::Destination(RouteAddress::Inet6(address)) => Some(IpAddr::V6(*address)),
        _ => None,
    });
    match written {
        Some(address) => IpNet::new(address, length).ok(),
        None => IpNet::new(any, length).ok().filter(|_| length == 0),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use netlink_packet_route::route::RouteCacheInfo;

    fn route(family: AddressFamily, length: u8, to: Option<RouteAddress>) -> RouteMessage {
        let mut route = RouteMessage::default();
        (route.header.address_family, route.header.destination_prefix_length) = (family, length);
        // What stands before it is passed by.
        route.attributes = vec![RouteAttribute::Priority(100)];
        route.attributes.extend(to.map(RouteAttribute::Destination));
        route
    }

    /// Routes as the kernel writes them, and what they lead to.
    pub fn routes() -> Vec<(RouteMessage, Option<IpNet>)> {
        let four = |text: &str| Some(RouteAddress::Inet(text.parse().unwrap()));
        let six = |text: &str| Some(RouteAddress::Inet6(text.parse().unwrap()));
        let (inet, inet6) = (AddressFamily::Inet, AddressFamily::Inet6);
        let to = |text: &str| Some(text.parse().unwrap());
        vec![
            (route(inet, 0, None), to("0.0.0.0/0")),
            (route(inet6, 0, None), to("::/0")),
            (route(inet, 0, four("0.0.0.0")), to("0.0.0.0/0")),
            (route(inet, 24, four("192.0.2.0")), to("192.0.2.0/24")),
            (route(inet, 32, four("192.0.2.7")), to("192.0.2.7/32")),
            (route(inet6, 48, six("2001:db8:1::")), to("2001:db8:1::/48")),
            (route(inet6, 128, six("2001:db8::7")), to("2001:db8::7/128")),
            // A length of nothing, one that no address has, and families without these addresses.
            (route(inet, 24, None), None),
            (route(inet6, 1, None), None),
            (route(inet, 33, four("192.0.2.0")), None),
            (route(AddressFamily::Mpls, 20, Some(RouteAddress::Other(vec![0, 1, 1]))), None),
            (route(AddressFamily::Unspec, 0, None), None),
        ]
    }

    #[test]
    fn a_route_leads_to_the_prefix_that_it_says_or_nobody_knows_where() {
        for (route, to) in routes() {
            assert_eq!(destination_of(&route), to, "{route:?}");
        }
    }

    #[test]
    fn a_routes_mtu_counts_and_what_the_kernel_learned_of_a_path_does_not() {
        let to = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
        let mut said = vec![RouteAttribute::Oif(7)];
        assert_eq!(
            exit_of(&said, to),
            Some(Exit { neighbour: Neighbour { interface: 7, address: to }, mtu: None })
        );
        said.push(RouteAttribute::Metrics(vec![RouteMetric::Hoplimit(9), RouteMetric::Mtu(1400)]));
        said.push(RouteAttribute::CacheInfo(RouteCacheInfo::parse(&[0; 32]).unwrap()));
        assert_eq!(exit_of(&said, to).and_then(|exit| exit.mtu), Some(1400));
        let Some(RouteAttribute::CacheInfo(cache)) = said.last_mut() else { unreachable!() };
        cache.expires = 500;
        assert_eq!(exit_of(&said, to).and_then(|exit| exit.mtu), None);
        assert_eq!(exit_of(&said[1..], to), None, "a way out is by a device");
    }
}
