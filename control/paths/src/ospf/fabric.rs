//! The fabric that advertisements tell of, RFC 2328 section 16.1.

use super::Lsdb;
use crate::fabric::{Fabric, Link, Switch};
use ipnet::{IpNet, Ipv4Net};
use plait_model_wire::ospf::{Contents, NetworkMembers, RouterLink, RouterLinks};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

impl Lsdb {
    /// The fabric: routers are its switches.
    ///
    /// - A link counts if both ends tell of it, as in section 16.1. A network of several routers is a link from each of them
    ///   to each other, at the sender's metric. Choice: virtual links are none, since no packet takes them; nor is a link
    ///   whose metric is 0, which section C.3 forbids.
    /// - A switch's relay address is a host route that it alone tells of: its router ID if that is one, else the lowest.
    ///   Choice: addresses on links are none. What is for one goes to whichever end of the link is nearer, and over it.
    /// - Behind a switch lie the stub networks that it alone tells of. Choice: what several tell of is left to plain
    ///   routing, as a list of relays would have to say behind which of them it goes on.
    pub fn fabric(&self) -> Fabric {
        // In their order, as advertisements are.
        let (mut routers, mut networks) = (Vec::new(), BTreeMap::new());
        for (key, contents) in self.contents() {
            match contents {
                // A router has one advertisement of its links, which is called by its ID.
                Contents::Router(links) if key.id == key.router => routers.push((key.router, links)),
                Contents::Network(members) => drop(networks.insert(key.id, (key.router, members))),
                _ => {}
            }
        }
        let told = Told::of(&routers, &networks);
        let mut links = Vec::new();
        let mut owners = BTreeMap::<Ipv4Net, Option<Ipv4Addr>>::new();
        for (&(router, RouterLinks { links: of, .. }), from) in routers.iter().zip(0..) {
            let first = links.len();
            for link in of {
                let has_room = links.len() < MOST_LINKS;
                match *link {
                    RouterLink::PointToPoint { neighbor, metric, .. } if has_room => {
                        let to = told.index(neighbor).filter(|to| told.leads_back(*to, router));
                        links.extend(to.map(|to| Link { from, to, cost: metric.into() }));
                    }
                    RouterLink::Transit { designated, metric, .. } if has_room => {
                        let others = told.members(designated, from).filter(|&to| to != from);
                        links.extend(others.map(|to| Link { from, to, cost: metric.into() }));
                    }
                    RouterLink::Stub { network, mask, .. } => {
                        if let Ok(prefix) = Ipv4Net::with_netmask(network, mask) {
                            let owner = owners.entry(prefix.trunc()).or_insert(Some(router));
                            *owner = owner.filter(|&owner| owner == router);
                        }
                    }
                    _ => {}
                }
            }
            // A few at a time are sooner in order than all.
            links[first..].sort_unstable();
        }
        links.retain(|link| link.cost > 0);
        let switch = |&(id, _): &(Ipv4Addr, _)| Switch { id, relay: None, prefixes: Vec::new() };
        let mut switches: Vec<Switch> = routers.iter().map(switch).collect();
        for (prefix, owner) in owners {
            if let Some(switch) = owner.and_then(|owner| switches.get_mut(told.index(owner)? as usize)) {
                if prefix.prefix_len() == 32 && (switch.relay.is_none() || prefix.addr() == switch.id) {
                    switch.relay = Some(prefix.addr().into());
                }
                switch.prefixes.push(IpNet::V4(prefix));
            }
        }
        Fabric::new(switches, links)
    }
}

/// So many links are looked at; what further ones lead to is not seen. Choice: ten thousand switches of 48 ports have a tenth of it,
/// and advertisements that fit into the database could tell of more than any memory holds, by networks that all routers are in.
const MOST_LINKS: usize = 1 << 22;

/// What routers say of each other, in order, so that it is found quickly.
struct Told {
    /// The routers, whose numbers are their places.
    ids: Vec<Ipv4Addr>,
    /// Of each router by its number: to whom its links lead.
    neighbors: Vec<Vec<Ipv4Addr>>,
    /// By the address of the designated router: the numbers of those in the network that all agree on.
    networks: BTreeMap<Ipv4Addr, Vec<u32>>,
}

impl Told {
    fn of(
        routers: &[(Ipv4Addr, &RouterLinks)],
        networks: &BTreeMap<Ipv4Addr, (Ipv4Addr, &NetworkMembers)>,
    ) -> Self {
        let ids: Vec<Ipv4Addr> = routers.iter().map(|(id, _)| *id).collect();
        let sorted = |mut of: Vec<Ipv4Addr>| {
            of.sort_unstable();
            of.dedup();
            of
        };
        let each = |pick: fn(&RouterLink) -> Option<Ipv4Addr>| -> Vec<Vec<Ipv4Addr>> {
            let of = |(_, router): &(_, &RouterLinks)| sorted(router.links.iter().filter_map(pick).collect());
            routers.iter().map(of).collect()
        };
        let neighbors = each(|link| match link {
            RouterLink::PointToPoint { neighbor, .. } => Some(*neighbor),
            _ => None,
        });
        let attached = each(|link| match link {
            RouterLink::Transit { designated, .. } => Some(*designated),
            _ => None,
        });
        let says_so = |member: u32, network| attached[member as usize].binary_search(&network).is_ok();
        let members = |(&network, (_, told)): (&Ipv4Addr, &(Ipv4Addr, &NetworkMembers))| {
            let known = told.routers.iter().filter_map(|member| place(&ids, *member));
            let mut members: Vec<u32> = known.filter(|&member| says_so(member, network)).collect();
            members.sort_unstable();
            members.dedup();
            (network, members)
        };
        let networks = networks.iter().map(members).collect();
        Self { ids, neighbors, networks }
    }

    fn index(&self, router: Ipv4Addr) -> Option<u32> {
        place(&self.ids, router)
    }

    fn leads_back(&self, router: u32, to: Ipv4Addr) -> bool {
        self.neighbors[router as usize].binary_search(&to).is_ok()
    }

    /// The routers of a network, if this one is in it.
    fn members(&self, network: Ipv4Addr, with: u32) -> impl Iterator<Item = u32> + '_ {
        let members = self.networks.get(&network).map_or(&[][..], Vec::as_slice);
        let is_in = members.binary_search(&with).is_ok();
        members.iter().copied().filter(move |_| is_in)
    }
}

/// Where a router stands among all in their order.
fn place(ids: &[Ipv4Addr], router: Ipv4Addr) -> Option<u32> {
    // Routers are often numbered one after the other: it is there then.
    let guess = u32::from(router).wrapping_sub(ids.first().copied()?.into());
    if ids.get(guess as usize) == Some(&router) {
        return Some(guess);
    }
    ids.binary_search(&router).ok().map(|place| place as u32)
}
