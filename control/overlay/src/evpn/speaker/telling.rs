//! What a speaker tells of this node's VNIs and stations, as routes of EVPN (RFC 7432, RFC 8365).

use super::super::rib::{Mobility, targets};
use super::super::session::State;
use super::{Config, Speaker};
use plait_model_wire::bgp::{
    AsPath, Attributes, Distinguisher, ExtendedCommunity, MacIp, Message, Multicast, Route, Tunnel, Update,
    origin, tunnel,
};
use plait_model_wire::ethernet::Mac;
use std::collections::{BTreeMap, BTreeSet};

/// Routes of stations in a message: as many as fit, with a margin for attributes.
const AT_ONCE: usize = 80;
/// What routes of one's own AS say who prefer none, as all speakers do.
const LOCAL_PREFERENCE: u32 = 100;

impl Speaker {
    /// Says it, if anybody listens; who comes later hears all there is.
    pub(super) fn tell(&mut self, update: Update) {
        if self.session.state() == State::Established {
            self.session.send(Message::Update(update));
        }
    }

    /// Says that this node has a VNI no more, nor any station of it.
    pub(super) fn withdraw(&mut self, vni: u32) {
        let stations: Vec<Mac> = self
            .announced
            .range((vni, Mac([0; 6]))..=(vni, Mac([0xff; 6])))
            .map(|((_, mac), _)| *mac)
            .collect();
        let mut withdrawn = vec![self.flood_route(vni)];
        for mac in stations {
            self.announced.remove(&(vni, mac));
            withdrawn.push(self.station_route(vni, mac));
        }
        for some in withdrawn.chunks(AT_ONCE) {
            self.tell(Update { withdrawn: some.to_vec(), ..Update::default() });
        }
    }

    /// Says all there is.
    pub(super) fn tell_all(&mut self) {
        for vni in self.local.keys().copied().collect::<Vec<_>>() {
            self.tell(self.flood_update(vni));
        }
        let mut alike: BTreeMap<(u32, Mobility), Vec<Mac>> = BTreeMap::new();
        for ((vni, mac), mobility) in &self.announced {
            alike.entry((*vni, *mobility)).or_default().push(*mac);
        }
        for ((vni, mobility), stations) in alike {
            for some in stations.chunks(AT_ONCE) {
                self.tell(self.station_update(vni, mobility, some));
            }
        }
        self.tell(Update::end());
    }

    fn distinguisher(&self, vni: u32) -> Distinguisher {
        Distinguisher::of(self.id, self.numbers.get(&vni).copied().unwrap_or_default())
    }

    /// Gives each own VNI the number of its distinguisher, of 16 bits. Choice: the VNI's lower ones, which people know again,
    /// or the next that is free.
    pub(super) fn number(&mut self) {
        let local = &self.local;
        self.numbers.retain(|vni, _| local.contains_key(vni));
        for vni in self.local.keys() {
            if !self.numbers.contains_key(vni) {
                let taken: BTreeSet<u16> = self.numbers.values().copied().collect();
                let mut all = (0..=u16::MAX).map(|step| (*vni as u16).wrapping_add(step));
                self.numbers.insert(*vni, all.find(|number| !taken.contains(number)).unwrap_or_default());
            }
        }
    }

    fn flood_route(&self, vni: u32) -> Route {
        let distinguisher = self.distinguisher(vni);
        Route::Multicast(Multicast { distinguisher, tag: 0, originator: self.config.vtep })
    }

    pub(super) fn station_route(&self, vni: u32, mac: Mac) -> Route {
        let distinguisher = self.distinguisher(vni);
        Route::MacIp(MacIp { distinguisher, segment: [0; 10], tag: 0, mac, ip: None, vni, routed_vni: None })
    }

    pub(super) fn flood_update(&self, vni: u32) -> Update {
        let endpoint = Some(self.config.vtep);
        let tunnel = Some(Tunnel { kind: tunnel::INGRESS_REPLICATION, vni, endpoint });
        let attributes = Attributes { tunnel, ..self.attributes(vni) };
        self.reach(vec![self.flood_route(vni)], attributes)
    }

    pub(super) fn station_update(&self, vni: u32, mobility: Mobility, stations: &[Mac]) -> Update {
        let mut attributes = self.attributes(vni);
        let Mobility { is_sticky, sequence } = mobility;
        // Who never moved says nothing of it, RFC 7432 section 15.
        if mobility != Mobility::default() {
            attributes.communities.push(ExtendedCommunity::MacMobility { is_sticky, sequence });
        }
        self.reach(stations.iter().map(|mac| self.station_route(vni, *mac)).collect(), attributes)
    }

    fn reach(&self, reached: Vec<Route>, attributes: Attributes) -> Update {
        Update { reached, next_hop: Some(self.config.vtep), attributes, ..Update::default() }
    }

    fn attributes(&self, vni: u32) -> Attributes {
        let Config { as_number, remote_as, .. } = self.config;
        let is_internal = as_number == remote_as;
        let path = if is_internal { Vec::new() } else { vec![as_number] };
        let mut communities = targets(as_number, vni).to_vec();
        communities.push(ExtendedCommunity::VXLAN);
        Attributes {
            origin: origin::IGP,
            as_path: AsPath::of(path),
            local_preference: is_internal.then_some(LOCAL_PREFERENCE),
            communities,
            ..Attributes::default()
        }
    }
}
