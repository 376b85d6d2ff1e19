//! The fabric that advertisements tell of, RFC 2328 section 16.1.

use super::Lsdb;
use crate::fabric::{Fabric, Link, Switch};
use ipnet::{IpNet, Ipv4Net};
use plait_model_wire::ospf::{Contents, NetworkMembers, RouterLink, RouterLinks};
use std::collections::{BTreeMap, BTreeSet};
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
        let (mut routers, mut networks) = (BTreeMap::new(), BTreeMap::new());
        for (key, contents) in self.contents() {
            match contents {
                // A router has one advertisement of its links, which is called by its ID.
                Contents::Router(links) if key.id == key.router => drop(routers.insert(key.router, links)),
                Contents::Network(members) => drop(networks.insert(key.id, (key.router, members))),
                _ => {}
            }
        }
        let index: BTreeMap<Ipv4Addr, u32> = routers.keys().copied().zip(0..).collect();
        let told = Told { routers: &routers, networks: &networks };
        let mut links = Vec::new();
        let mut owners = BTreeMap::<Ipv4Net, Option<Ipv4Addr>>::new();
        for (&router, &RouterLinks { links: of, .. }) in &routers {
            let from = index[&router];
            for link in of {
                match *link {
                    RouterLink::PointToPoint { neighbor, metric, .. }
                        if told.leads_back(neighbor, router) =>
                    {
                        links.push(Link { from, to: index[&neighbor], cost: metric.into() });
                    }
                    RouterLink::Transit { designated, metric, .. } => {
                        for member in told.members(designated, router) {
                            links.push(Link { from, to: index[&member], cost: metric.into() });
                        }
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
        }
        links.retain(|link| link.cost > 0);
        let mut switches: BTreeMap<_, _> =
            index.keys().map(|&id| (id, Switch { id, relay: None, prefixes: Vec::new() })).collect();
        for (prefix, owner) in owners {
            if let Some(switch) = owner.and_then(|owner| switches.get_mut(&owner)) {
                if prefix.prefix_len() == 32 && (switch.relay.is_none() || prefix.addr() == switch.id) {
                    switch.relay = Some(prefix.addr().into());
                }
                switch.prefixes.push(IpNet::V4(prefix));
            }
        }
        Fabric::new(switches.into_values().collect(), links)
    }
}

struct Told<'a> {
    routers: &'a BTreeMap<Ipv4Addr, &'a RouterLinks>,
    /// By the address of the designated router: who that is, and what it tells.
    networks: &'a BTreeMap<Ipv4Addr, (Ipv4Addr, &'a NetworkMembers)>,
}

impl Told<'_> {
    fn has(&self, router: Ipv4Addr, is_it: impl Fn(&RouterLink) -> bool) -> bool {
        self.routers.get(&router).is_some_and(|router| router.links.iter().any(is_it))
    }

    fn leads_back(&self, router: Ipv4Addr, to: Ipv4Addr) -> bool {
        self.has(router, |link| matches!(link, RouterLink::PointToPoint { neighbor, .. } if *neighbor == to))
    }

    /// The routers that are in a network together with one.
    fn members(&self, network: Ipv4Addr, with: Ipv4Addr) -> BTreeSet<Ipv4Addr> {
        let Some((_, members)) = self.networks.get(&network) else { return BTreeSet::new() };
        if !members.routers.contains(&with) {
            return BTreeSet::new();
        }
        let says_so = |link: &RouterLink| matches!(link, RouterLink::Transit { designated, .. } if *designated == network);
        let others = members.routers.iter().copied().filter(|&member| member != with);
        others.filter(|&member| self.has(member, says_so)).collect()
    }
}
