//! The underlay as the kernel tells it: links, routes, and where both lead.

use super::neighbours::{self, Neighbours};
use super::route_message::{Way, destination_of, exit_of, ways_of};
use super::routes::Routes;
use crate::{Exit, Neighbour, Rerouted};
use ipnet::IpNet;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use plait_dataplane_netlink::{Heard, Netlink, Watch};
use plait_dataplane_reference::tables::Adjacency;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

/// A device of the underlay, or one of the overlay's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub name: String,
    pub mtu: u32,
    pub address: [u8; 6],
    pub is_up: bool,
    /// Whether it carries Ethernet frames; loopback does not.
    pub is_ethernet: bool,
    /// The device that it is a port of: a bridge, a bond or a VRF.
    pub master: Option<u32>,
    /// The device of this host whose packets it sorts out of, by hardware address.
    shares: Option<u32>,
    /// Whether its ports' packets come in by them all the same, as those of a VRF do.
    is_vrf: bool,
}

impl Link {
    /// Whether another link is this one, with another MTU or hardware address.
    fn is_but_another_size(&self, other: &Self) -> bool {
        Self { mtu: other.mtu, address: other.address, ..self.clone() } == *other
    }
}

/// What changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Whom a route may lead to that came, changed or went; everyone, where it is not known.
    pub routes: Rerouted,
    /// Neighbours whose adjacency may be another.
    pub neighbours: BTreeSet<Neighbour>,
    /// Whether somebody wrote a neighbour's hardware address for good, or takes such a one away.
    pub fixed: bool,
    /// Links that came, went, or can be used now or no more.
    pub links: bool,
    /// MTUs or hardware addresses of links, which lead no packet another way.
    pub sizes: bool,
    /// The kernel said something of a link, perhaps what it can do.
    pub features: bool,
}

/// The underlay as the kernel tells it.
pub(super) struct Underlay {
    pub netlink: Netlink,
    watch: Watch,
    pub links: BTreeMap<u32, Link>,
    pub neighbours: Neighbours,
    routes: Routes,
    /// All that tables have, once it was asked for.
    table: RefCell<Option<Ways>>,
    /// Whether more changed than was heard of, and all is still to be looked at.
    is_behind: bool,
    /// What changed before that look and nobody was told.
    untold: Changes,
}

/// Routes of the host.
#[derive(Debug)]
struct Ways {
    ways: Vec<Way>,
    /// Whether it is known of all where they lead.
    are_all: bool,
}

impl Underlay {
    /// Looks at what is there, in the calling thread's network namespace, and listens from then on.
    pub fn open() -> io::Result<Self> {
        let mut underlay = Self {
            watch: Watch::new()?,
            netlink: Netlink::open()?,
            links: BTreeMap::new(),
            neighbours: Neighbours::default(),
            routes: Routes::default(),
            table: RefCell::default(),
            is_behind: true,
            untold: Changes::default(),
        };
        underlay.changes()?;
        Ok(underlay)
    }

    /// Takes what there is for all that there is.
    fn look(&mut self, all: Vec<RouteNetlinkMessage>, changes: &mut Changes) {
        self.links.clear();
        changes.neighbours.extend(self.neighbours.forget());
        (changes.fixed, changes.links) = (true, true);
        for message in all {
            self.hear(message, changes);
        }
    }

    /// The number of a device.
    pub fn index(&self, name: &str) -> Option<u32> {
        self.links.iter().find(|(_, link)| link.name == name).map(|(index, _)| *index)
    }

    /// All that changed since the last time.
    ///
    /// # Errors
    /// The kernel does not answer; then it is for the next time.
    pub fn changes(&mut self) -> io::Result<Changes> {
        let heard = self.watch.heard()?;
        self.follow(heard, everything)
    }

    /// What changes by what was heard, and by all there is where more changed than that.
    fn follow(
        &mut self,
        heard: Vec<Heard>,
        all: impl FnOnce(&Netlink) -> io::Result<Vec<RouteNetlinkMessage>>,
    ) -> io::Result<Changes> {
        let mut changes = std::mem::take(&mut self.untold);
        for heard in heard {
            match heard {
                Heard::Change(message) => self.hear(message, &mut changes),
                Heard::Rerouted => changes.routes = Rerouted::all(),
                Heard::TooMuch => self.is_behind = true,
            }
        }
        if self.is_behind {
            match all(&self.netlink) {
                Ok(all) => self.look(all, &mut changes),
                Err(error) => {
                    self.untold = changes;
                    return Err(error);
                }
            }
            self.is_behind = false;
        }
        if changes.links {
            // Of a device that goes down the kernel takes the routes away without a word.
            changes.routes = Rerouted::all();
        }
        if !changes.routes.is_empty() {
            self.routes.forget(&changes.routes);
            *self.table.borrow_mut() = None;
        }
        Ok(changes)
    }

    fn hear(&mut self, message: RouteNetlinkMessage, changes: &mut Changes) {
        match message {
            RouteNetlinkMessage::NewLink(link) => {
                let index = link.header.index;
                let heard = link_of(link);
                changes.features = true;
                let before = self.links.insert(index, heard.clone());
                if before.as_ref() != Some(&heard) {
                    let is_sized = before.is_some_and(|before| before.is_but_another_size(&heard));
                    changes.links |= !is_sized;
                    changes.sizes |= is_sized;
                    changes.neighbours.extend(self.neighbours.on(index));
                }
            }
            // A bridge says so of a port that leaves it, in its own family; that device is still there.
            RouteNetlinkMessage::DelLink(link) if link.header.interface_family == AddressFamily::Unspec => {
                let index = link.header.index;
                self.links.remove(&index);
                changes.links = true;
                changes.neighbours.extend(self.neighbours.on(index));
            }
            RouteNetlinkMessage::NewNeighbour(message) => {
                let (neighbour, is_otherwise_fixed) = self.neighbours.hear(message);
                changes.neighbours.extend(neighbour);
                changes.fixed |= is_otherwise_fixed;
            }
            RouteNetlinkMessage::DelNeighbour(message) => {
                let (neighbour, was_fixed) = self.neighbours.lose(message);
                changes.neighbours.extend(neighbour);
                changes.fixed |= was_fixed;
            }
            RouteNetlinkMessage::NewRoute(route) | RouteNetlinkMessage::DelRoute(route) => {
                match destination_of(&route) {
                    Some(prefix) => changes.routes.add(prefix),
                    None => changes.routes = Rerouted::all(),
                }
            }
            // So of an address those that say it is their source.
            RouteNetlinkMessage::NewAddress(_) | RouteNetlinkMessage::DelAddress(_) => {
                changes.routes = Rerouted::all();
            }
            _ => {}
        }
    }

    /// Where packets by a neighbour go, as far as it is known and up.
    pub fn adjacency(&self, neighbour: Neighbour) -> Option<Adjacency> {
        let link = self.links.get(&neighbour.interface).filter(|link| link.is_up)?;
        let destination = self.neighbours.hardware_address(neighbour)?;
        Some(Adjacency { interface: neighbour.interface, mtu: link.mtu, destination, source: link.address })
    }

    /// Has the kernel look for these neighbours ([`Neighbours::keep`]). Whether they are others than before.
    pub fn keep(&mut self, wanted: &BTreeSet<Neighbour>) -> bool {
        self.neighbours.keep(&self.netlink, wanted)
    }
}

impl crate::Underlay for Underlay {
    fn exit(&self, from: IpAddr, to: IpAddr) -> Option<Exit> {
        self.routes.exit(from, to, || self.route(from, to))
    }
}

impl Underlay {
    /// Of the host's routes by some devices the most general: the device of that of IPv4 and of that of IPv6, nought where there
    /// is none; and the gateway of the latter.
    pub fn ways_out(&self, devices: &BTreeSet<u32>) -> ([u32; 2], Option<Ipv6Addr>) {
        let mut table = self.table.borrow_mut();
        let table = table.get_or_insert_with(|| self.tables());
        let ways = [false, true].map(|is_ipv6| {
            let is_of = |way: &&Way| way.is_main && way.prefix.addr().is_ipv6() == is_ipv6;
            let ways = table.ways.iter().filter(is_of).filter(|way| devices.contains(&way.interface));
            // The most general, and the best of these.
            ways.min_by_key(|way| (way.prefix.prefix_len(), way.metric, way.interface, way.gateway))
        });
        let gateway = match ways[1].and_then(|way| way.gateway) {
            Some(IpAddr::V6(gateway)) => Some(gateway),
            _ => None,
        };
        (ways.map(|way| way.map_or(0, |way| way.interface)), gateway)
    }

    /// The devices by which a route leads to a prefix in which there is somebody, or a default route of either family to a router,
    /// which knows everybody; none where not all routes are known. What somebody on a link told of it by himself (router
    /// advertisements) is no such route.
    pub fn ways_in(&self, is_inhabited: impl Fn(IpNet) -> bool) -> Option<BTreeSet<u32>> {
        let mut table = self.table.borrow_mut();
        let table = table.get_or_insert_with(|| self.tables());
        let mut devices = BTreeSet::new();
        for way in table.ways.iter().filter(|way| !way.is_advertised) {
            let is_default = way.gateway.is_some() && way.prefix.prefix_len() == 0;
            if !devices.contains(&way.interface) && (is_default || is_inhabited(way.prefix)) {
                devices.insert(way.interface);
            }
        }
        table.are_all.then_some(devices)
    }

    /// The devices whose packets others see behind them: ports of bridges and bonds, and those on which others have hardware
    /// addresses of their own.
    pub fn below_others(&self) -> BTreeSet<u32> {
        let sees =
            |master: u32| self.links.get(&master).is_some_and(|master| master.is_ethernet && !master.is_vrf);
        let ports =
            self.links.iter().filter(|(_, port)| port.master.is_some_and(sees)).map(|(port, _)| *port);
        ports.chain(self.links.values().filter_map(|link| link.shares)).collect()
    }

    /// The routes of all tables. Those between neighbours of one link, which each IPv6 device has, lead nowhere else.
    fn tables(&self) -> Ways {
        let mut table = Ways { ways: Vec::new(), are_all: true };
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut ask = RouteMessage::default();
            ask.header.address_family = family;
            let are_all = &mut table.are_all;
            let told = self.netlink.dump_as(RouteNetlinkMessage::GetRoute(ask), |message| {
                // Nobody knows where one leads that cannot be read.
                let (ways, is_all) = message.map_or((Vec::new(), false), ways_of);
                *are_all &= is_all;
                ways
            });
            match told {
                Ok(ways) => table.ways.extend(ways),
                Err(error) => {
                    tracing::warn!(%error, "the kernel does not tell its routes");
                    table.are_all = false;
                }
            }
        }
        table
    }

    /// What the kernel would do with a packet.
    fn route(&self, from: IpAddr, to: IpAddr) -> Option<Exit> {
        let mut ask = RouteMessage::default();
        let (family, bits) = match to {
            IpAddr::V4(_) => (AddressFamily::Inet, 32),
            IpAddr::V6(_) => (AddressFamily::Inet6, 128),
        };
        ask.header.address_family = family;
        (ask.header.destination_prefix_length, ask.header.source_prefix_length) = (bits, bits);
        ask.attributes = vec![RouteAttribute::Destination(to.into()), RouteAttribute::Source(from.into())];
        let RouteNetlinkMessage::NewRoute(route) =
            self.netlink.get(RouteNetlinkMessage::GetRoute(ask)).ok()?
        else {
            return None;
        };
        if route.header.kind != RouteType::Unicast {
            return None;
        }
        exit_of(&route.attributes, to)
    }
}

impl AsFd for Underlay {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}

fn link_of(message: LinkMessage) -> Link {
    let is_ethernet = message.header.link_layer_type == LinkLayerType::Ether;
    let mut link = Link {
        name: String::new(),
        mtu: 0,
        address: [0; 6],
        is_up: message.header.flags.contains(LinkFlags::Up)
            && message.header.flags.contains(LinkFlags::LowerUp),
        is_ethernet,
        master: None,
        shares: None,
        is_vrf: false,
    };
    let mut lower = None;
    let mut has_own_address = false;
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = name,
            LinkAttribute::Mtu(mtu) => link.mtu = mtu,
            LinkAttribute::Controller(master) => link.master = Some(master).filter(|master| *master != 0),
            LinkAttribute::Link(index) => lower = Some(index),
            LinkAttribute::LinkInfo(said) => {
                let is_of = |kinds: &[InfoKind]| {
                    said.iter().any(|info| matches!(info, LinkInfo::Kind(kind) if kinds.contains(kind)))
                };
                link.is_vrf = is_of(&[InfoKind::Vrf]);
                has_own_address = is_of(&[InfoKind::MacVlan, InfoKind::MacVtap, InfoKind::IpVlan]);
            }
            LinkAttribute::Address(bytes) => {
                if let Ok(address) = bytes.try_into() {
                    link.address = address;
                }
            }
            _ => {}
        }
    }
    // Of other kinds it is a veth's other end, say, which may be in another namespace.
    link.shares = lower.filter(|_| has_own_address);
    link
}

/// All links and neighbours.
fn everything(netlink: &Netlink) -> io::Result<Vec<RouteNetlinkMessage>> {
    let mut all = netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    all.extend(neighbours::dump(netlink)?);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::route_message::tests::routes;
    use super::*;
    use netlink_packet_route::address::AddressMessage;

    #[test]
    fn what_was_heard_before_a_look_that_fails_is_told_after_one_that_does_not() {
        let mut underlay = Underlay::open().unwrap();
        let links = underlay.links.clone();
        let mut route = RouteMessage::default();
        route.header.address_family = AddressFamily::Inet;
        let heard = vec![Heard::Change(RouteNetlinkMessage::NewRoute(route)), Heard::TooMuch];
        let refuse = |_: &Netlink| Err(io::Error::from_raw_os_error(libc::ENOBUFS));
        for heard in [heard, Vec::new()] {
            assert!(underlay.follow(heard, refuse).is_err(), "until the kernel answers");
            assert_eq!(underlay.links, links, "what is known holds meanwhile");
        }
        let changes = underlay.follow(Vec::new(), everything).unwrap();
        assert!(changes.links && changes.fixed && changes.routes == Rerouted::all());
        assert_eq!(underlay.links, links);
        let changes = underlay.follow(Vec::new(), refuse).unwrap();
        assert!(!changes.links && changes.routes.is_empty(), "it is told once");
    }

    #[test]
    fn a_route_reroutes_what_it_leads_to_and_what_is_not_understood_everything() {
        let mut underlay = Underlay::open().unwrap();
        for (route, to) in routes() {
            let expected = to.map_or_else(Rerouted::all, |to| {
                let mut some = Rerouted::default();
                some.add(to);
                some
            });
            for message in
                [RouteNetlinkMessage::NewRoute(route.clone()), RouteNetlinkMessage::DelRoute(route)]
            {
                let mut changes = Changes::default();
                underlay.hear(message.clone(), &mut changes);
                assert_eq!(changes.routes, expected, "{message:?}");
                assert!(!changes.links && !changes.sizes && changes.neighbours.is_empty(), "{message:?}");
            }
        }
        // Of several each counts.
        let mut changes = Changes::default();
        for (route, _) in &routes()[3..6] {
            underlay.hear(RouteNetlinkMessage::NewRoute(route.clone()), &mut changes);
        }
        let covers = |text: &str| changes.routes.covers(text.parse().unwrap());
        assert!(covers("192.0.2.200") && covers("192.0.2.7") && covers("2001:db8:1::9"));
        assert!(!covers("192.0.3.1") && !covers("2001:db8:2::9"));
        // An address may be the source of any.
        let mut changes = Changes::default();
        underlay.hear(RouteNetlinkMessage::NewAddress(AddressMessage::default()), &mut changes);
        assert_eq!(changes.routes, Rerouted::all());
    }
}
