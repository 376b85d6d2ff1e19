//! What the neighbour said, and which of it counts.

use plait_model_wire::bgp::{Attributes, ExtendedCommunity, Route, RouteKey, tunnel};
use plait_model_wire::ethernet::Mac;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// A route that the neighbour announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    pub vtep: IpAddr,
    pub vni: u32,
    pub mobility: Mobility,
    /// Said in a session that broke off, and not again yet.
    pub is_stale: bool,
}

/// How a station moves, RFC 7432 section 15: one that never does counts before all that do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Mobility {
    pub is_sticky: bool,
    pub sequence: u32,
}

impl Mobility {
    pub fn of(attributes: &Attributes) -> Self {
        let found = attributes.communities.iter().find_map(|mark| match *mark {
            ExtendedCommunity::MacMobility { is_sticky, sequence } => Some(Self { is_sticky, sequence }),
            _ => None,
        });
        found.unwrap_or_default()
    }
}

/// All that the neighbour said and that was not taken back.
#[derive(Debug, Default)]
pub(super) struct Rib {
    paths: BTreeMap<RouteKey, Path>,
    stations: BTreeMap<(u32, Mac), BTreeSet<RouteKey>>,
    /// Of each VNI who wants what is for all, by their routes.
    floods: BTreeMap<u32, BTreeSet<RouteKey>>,
    /// Stations about which something changed.
    pub changed: BTreeSet<(u32, Mac)>,
}

impl Rib {
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Takes a route in the place of the one with the same key.
    pub fn insert(&mut self, route: &Route, path: Path) {
        let key = route.key();
        self.remove(&key);
        match route {
            Route::MacIp(of) => {
                self.changed.insert((path.vni, of.mac));
                self.stations.entry((path.vni, of.mac)).or_default().insert(key);
            }
            Route::Multicast(_) => drop(self.floods.entry(path.vni).or_default().insert(key)),
        }
        self.paths.insert(key, path);
    }

    pub fn remove(&mut self, key: &RouteKey) {
        let Some(path) = self.paths.remove(key) else { return };
        match key {
            RouteKey::MacIp(_, _, mac, _) => {
                let of = (path.vni, *mac);
                self.changed.insert(of);
                forget(&mut self.stations, &of, key);
            }
            RouteKey::Multicast(..) => forget(&mut self.floods, &path.vni, key),
        }
    }

    /// Everything said so far may be old.
    pub fn age(&mut self) {
        self.paths.values_mut().for_each(|path| path.is_stale = true);
    }

    /// What was not said again is no more.
    pub fn sweep(&mut self) {
        let old = self.paths.iter().filter(|(_, path)| path.is_stale).map(|(key, _)| *key);
        for key in old.collect::<Vec<_>>() {
            self.remove(&key);
        }
    }

    pub fn clear(&mut self) {
        self.age();
        self.sweep();
    }

    /// Where a station is: sticky before all that move, then the latest move, then the lowest VTEP (RFC 7432 section
    /// 15.1). Of one key there is one route, since there is one neighbour, whose choice between several it was.
    pub fn station(&self, vni: u32, mac: Mac) -> Option<&Path> {
        let keys = self.stations.get(&(vni, mac))?;
        keys.iter().map(|key| &self.paths[key]).max_by_key(|path| (path.mobility, Reverse(path.vtep)))
    }

    /// Whom what is for all of a VNI is sent to.
    pub fn flood(&self, vni: u32) -> BTreeSet<IpAddr> {
        self.floods.get(&vni).into_iter().flatten().map(|key| self.paths[key].vtep).collect()
    }

    /// Everyone who announced anything of VNIs.
    pub fn vteps(&self, is_wanted: impl Fn(u32) -> bool) -> BTreeSet<IpAddr> {
        self.paths.values().filter(|path| is_wanted(path.vni)).map(|path| path.vtep).collect()
    }

    /// Stations of a VNI.
    pub fn stations(&self, vni: u32) -> impl Iterator<Item = Mac> + '_ {
        const FIRST: Mac = Mac([0; 6]);
        const LAST: Mac = Mac([0xff; 6]);
        self.stations.range((vni, FIRST)..=(vni, LAST)).map(|((_, mac), _)| *mac)
    }
}

fn forget<K: Ord>(all: &mut BTreeMap<K, BTreeSet<RouteKey>>, of: &K, key: &RouteKey) {
    if let Some(keys) = all.get_mut(of) {
        keys.remove(key);
        if keys.is_empty() {
            all.remove(of);
        }
    }
}

/// The VNI of a route: the one of its label, if a target is derived of it and packets may be sent there in VXLAN. None of a
/// route that is not for this data plane.
pub(super) fn vni_of(route: &Route, attributes: &Attributes) -> Option<u32> {
    /// The type that says that the number is a VNI, RFC 8365 section 5.1.2.1.
    const IS_VNI: u32 = 1 << 28;
    let vni = match route {
        Route::MacIp(of) if of.tag == 0 && !of.mac.is_group() => of.vni,
        Route::Multicast(of) if of.tag == 0 => {
            attributes.tunnel.filter(|of| of.kind == tunnel::INGRESS_REPLICATION)?.vni
        }
        _ => return None,
    };
    let marks = || attributes.communities.iter();
    let is_target = |mark: &ExtendedCommunity| matches!(mark, ExtendedCommunity::RouteTarget { number, .. } if *number == vni || *number == IS_VNI | vni);
    // Who says nothing of encapsulations is configured to speak the one that all do.
    let says_any = marks().any(|mark| matches!(mark, ExtendedCommunity::Encapsulation(_)));
    let is_vxlan = !says_any || marks().any(|mark| *mark == ExtendedCommunity::VXLAN);
    (is_vxlan && marks().any(is_target)).then_some(vni)
}

/// The targets of a VNI's own routes, in both forms. Choice: of an AS of four bytes the lower two, as FRR does, where the
/// RFC derives none.
pub(super) fn targets(as_number: u32, vni: u32) -> [ExtendedCommunity; 2] {
    [0, 1 << 28].map(|of| ExtendedCommunity::RouteTarget { as_number: as_number as u16, number: of | vni })
}
