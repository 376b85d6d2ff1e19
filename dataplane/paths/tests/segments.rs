//! Segments of SRv6, some of the kernel's own and some of ours: each does what the others expect of it.

mod row;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::route::{
    RouteAttribute, RouteLwEnCapType, RouteLwTunnelEncap, RouteMessage, RouteProtocol, RouteScope,
    RouteSeg6LocalTunnel, RouteType, Seg6LocalAction,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use plait_control_paths::Operation;
use plait_dataplane_netlink::Netlink;
use plait_dataplane_paths::{Encapsulation, Family, Options, PathDrop, Relay};
use row::capture::Capture;
use row::frame::{stream_bytes, unstacked};
use row::{BYTES, Row, SOURCES, left_station};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The main table.
const MAIN: u8 = 254;

/// A router's segment. It is no address of the router: the kernel knows it by a route.
fn segment(node: usize) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0, 0, 0, 0, node as u16)
}

/// What the kernel does at a router's segment: the last one of three takes the header off, for packets of a family.
fn behaviour(node: usize, inner: Family) -> Vec<RouteSeg6LocalTunnel> {
    use RouteSeg6LocalTunnel::{Action, Nh4, Table};
    match (node, inner) {
        (3, Family::Ipv6) => vec![Action(Seg6LocalAction::EndDt6), Table(MAIN.into())],
        // To where the packet itself says.
        (3, Family::Ipv4) => vec![Action(Seg6LocalAction::EndDx4), Nh4(Ipv4Addr::UNSPECIFIED)],
        _ => vec![Action(Seg6LocalAction::End)],
    }
}

/// Makes a router the kernel's own at its segment, or no longer.
fn route(row: &Row, node: usize, inner: Family, is_there: bool) {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet6;
    message.header.destination_prefix_length = 128;
    message.header.table = MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    let does = behaviour(node, inner).into_iter().map(RouteLwTunnelEncap::Seg6Local).collect();
    message.attributes = vec![
        RouteAttribute::Destination(segment(node).into()),
        RouteAttribute::Oif(row.device(node, &format!("r{node}"))),
        RouteAttribute::Encap(does),
        RouteAttribute::EncapType(RouteLwEnCapType::Seg6Local),
    ];
    row.within(node, || {
        let netlink = Netlink::open().unwrap();
        match is_there {
            true => netlink.request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL),
            false => netlink.request(RouteNetlinkMessage::DelRoute(message), 0),
        }
        .unwrap();
    });
}

#[test]
fn segments_of_the_kernel_and_ours_lead_packets_together() {
    let Some(row) = Row::new(5) else { return };
    // Superpackets come whole to the second router, and leave it in segments.
    row.finishes(2, "r2");
    row.finishes(3, "r3");
    let list: Vec<IpAddr> = (1..4).map(|node| segment(node).into()).collect();
    for inner in Family::ALL {
        let row = row.of((Family::Ipv6, inner));
        // Each of three routers is one of the two.
        for mix in 0..8 {
            let is_kernels = |node: usize| mix >> (node - 1) & 1 == 1;
            let mut ours = Vec::new();
            for node in 1..4 {
                if is_kernels(node) {
                    route(&row, node, inner, true);
                    continue;
                }
                let sides = [format!("l{node}"), format!("r{node}")].map(|name| row.device(node, &name));
                let attach = || Relay::attach(&sides, segment(node), SOURCES, &[Encapsulation::Srv6]);
                ours.push((node, row.within(node, attach).unwrap()));
            }
            let mut paths = row.steers(Options::new(SOURCES.ipv4, Encapsulation::Srv6));
            paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![list.clone()] }).unwrap();
            // Behind two of three, one segment is left; behind all, none.
            let (between, behind) =
                (Capture::new(&row, 3, left_station(3)), Capture::new(&row, 4, left_station(4)));
            row.carries_datagrams(&[0, 1, 100, 1300]);
            row.carries_a_stream();
            for (capture, left) in [(between, &list[2..]), (behind, &[][..])] {
                let mut bytes = 0;
                for frame in capture.frames() {
                    let (above, packet) = unstacked(&frame, Encapsulation::Srv6).unwrap();
                    assert_eq!(above, left, "{mix:03b}");
                    bytes += stream_bytes(packet);
                }
                assert!(bytes >= BYTES, "{bytes} bytes with {left:?} left");
            }
            let drops = paths.drops().unwrap();
            assert!(drops.keys().all(|reason| *reason == PathDrop::TooBig), "{drops:?}");
            for (node, relay) in ours {
                assert!(relay.drops().unwrap().is_empty(), "{:?}", relay.drops());
                row.within(node, move || drop(relay));
            }
            (1..4).filter(|node| is_kernels(*node)).for_each(|node| route(&row, node, inner, false));
            row.within(0, move || drop(paths));
            row.forget();
        }
    }
}
