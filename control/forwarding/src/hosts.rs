//! Where hosts are and which addresses they have: the state `hosts`, and the stream `sightings` that it grows from.

use crate::Set;
use crate::frame::{Parsed, is_station};
use crate::links::Probing;
use crate::outgoing::{delete_leaving, some};
use crate::routes::Routes;
use plait_control_openflow::{Commands, Fields, PacketIns, Port, Switches, Version};
use plait_control_runtime::{
    Dag, Failure, Kind, Manifest, Mismatch, Perhaps, Policy, Type, Value, View, Wit, native, wit,
};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::neighbor::Neighbor;
use plait_model_wire::number::ether_type;
use plait_model_wire::{arp, ipv6};
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};
use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// How many hosts are known. Choice: 1024 behind a port, a rack of guests; beyond it the port loses the one that it saw
/// first, so that a flood of addresses costs its own port. 131072 in all; beyond it nobody is added. And 16 addresses of
/// each family for a host, of which it loses the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostBounds {
    /// Behind a port.
    pub port: usize,
    /// In all.
    pub all: usize,
    /// Addresses of a family.
    pub addresses: usize,
}

impl Default for HostBounds {
    fn default() -> Self {
        Self { port: 1024, all: 131_072, addresses: 16 }
    }
}

/// All hosts, by hardware and by IP address: the state `hosts`.
#[derive(Debug, Clone)]
pub struct Hosts {
    all: HashTrieMapSync<Mac, Arc<Host>>,
    by_address: HashTrieMapSync<IpAddr, Mac>,
    behind: RedBlackTreeMapSync<(u64, Port), RedBlackTreeMapSync<u64, Mac>>,
    seen: u64,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its hardware address.
    pub mac: Mac,
    /// The switch that it is at,
    pub switch: u64,
    /// behind this port.
    pub port: Port,
    /// Its IP addresses, the one that was learned last at the end.
    pub addresses: Vec<IpAddr>,
    /// How many sightings were folded before it was first seen there.
    seen: u64,
    /// The round of probes in which it moved last, if it ever did.
    moved: Option<u64>,
}

impl Default for Hosts {
    fn default() -> Self {
        Self {
            all: HashTrieMapSync::new_sync(),
            by_address: HashTrieMapSync::new_sync(),
            behind: RedBlackTreeMapSync::new_sync(),
            seen: 0,
        }
    }
}

impl Hosts {
    /// A host by its hardware address.
    pub fn host(&self, mac: Mac) -> Option<&Host> {
        self.all.get(&mac).map(|host| &**host)
    }

    /// The host that has an IP address.
    pub fn with_address(&self, address: IpAddr) -> Option<&Host> {
        self.host(*self.by_address.get(&address)?)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.size()
    }

    /// Every host, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Host> {
        self.all.values().map(|host| &**host)
    }

    /// Sees a host in a round of probes. Gives where it was, if that was elsewhere.
    ///
    /// Choice: a host moves once a round at most. Each move is told to many switches, and whoever sends by two ports in
    /// turn could have them told without end.
    fn see(&mut self, seen: Seen, round: u64, bounds: HostBounds) -> Option<(u64, Port)> {
        let Seen { mac, at, address } = seen;
        let known = self.all.get(&mac).cloned();
        let before = known.as_ref().map(|host| (host.switch, host.port)).filter(|before| *before != at);
        let mut host = match &known {
            Some(known) => (**known).clone(),
            None if self.all.size() >= bounds.all => return None,
            None => {
                Host { mac, switch: at.0, port: at.1, addresses: Vec::new(), seen: self.seen, moved: None }
            }
        };
        if known.is_none() || before.is_some() {
            if known.is_some() {
                if host.moved == Some(round) {
                    return None;
                }
                self.leave(&host);
                host.moved = Some(round);
            }
            while let Some(crowd) = self.behind.get(&at).filter(|crowd| crowd.size() >= bounds.port.max(1)) {
                let Some(first) = crowd.first().map(|(_, first)| *first) else { break };
                self.forget(first);
            }
            (host.switch, host.port, host.seen) = (at.0, at.1, self.seen);
            self.seen += 1;
            let mut crowd = self.behind.get(&at).cloned().unwrap_or_else(RedBlackTreeMapSync::new_sync);
            crowd.insert_mut(host.seen, mac);
            self.behind.insert_mut(at, crowd);
        }
        if let Some(address) = address {
            self.take(&mut host, address, bounds.addresses.max(1));
        }
        self.all.insert_mut(mac, Arc::new(host));
        before
    }

    /// Choice: who names an address last has it, as in every host's own table; addresses move from host to host.
    fn take(&mut self, host: &mut Host, address: IpAddr, most: usize) {
        if let Some(other) = self.with_address(address).filter(|other| other.mac != host.mac) {
            let mut other = other.clone();
            other.addresses.retain(|own| *own != address);
            self.all.insert_mut(other.mac, Arc::new(other));
        }
        host.addresses.retain(|own| *own != address);
        let family = |own: &&IpAddr| own.is_ipv4() == address.is_ipv4();
        if host.addresses.iter().filter(family).count() >= most
            && let Some(first) = host.addresses.iter().position(|own| family(&own))
        {
            self.by_address.remove_mut(&host.addresses.remove(first));
        }
        host.addresses.push(address);
        self.by_address.insert_mut(address, host.mac);
    }

    fn leave(&mut self, host: &Host) {
        let at = (host.switch, host.port);
        let Some(mut crowd) = self.behind.get(&at).cloned() else { return };
        crowd.remove_mut(&host.seen);
        match crowd.is_empty() {
            true => drop(self.behind.remove_mut(&at)),
            false => self.behind.insert_mut(at, crowd),
        }
    }

    fn forget(&mut self, mac: Mac) {
        let Some(host) = self.all.get(&mac).cloned() else { return };
        self.leave(&host);
        self.all.remove_mut(&mac);
        for address in host
            .addresses
            .iter()
            .filter(|address| self.by_address.get(*address) == Some(&mac))
            .copied()
            .collect::<Vec<_>>()
        {
            self.by_address.remove_mut(&address);
        }
    }
}

/// A list of hosts, in the order in which they were seen.
impl Wit for Hosts {
    fn schema() -> Type {
        Vec::<Plain>::schema()
    }
    fn to_value(&self) -> Value {
        let all: BTreeMap<u64, Plain> = self.iter().map(|host| (host.seen, Plain::of(host))).collect();
        all.into_values().collect::<Vec<_>>().to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let mut hosts = Self::default();
        let bounds = HostBounds { port: usize::MAX, all: usize::MAX, addresses: usize::MAX };
        for Plain { mac, switch, port, ipv4, ipv6 } in Vec::<Plain>::from_value(value)? {
            let (mac, at) = (Mac(mac), (switch, port));
            hosts.see(Seen { mac, at, address: None }, 0, bounds);
            let addresses = ipv4.into_iter().map(IpAddr::from).chain(ipv6.into_iter().map(IpAddr::from));
            for address in addresses {
                hosts.see(Seen { mac, at, address: Some(address) }, 0, bounds);
            }
        }
        Ok(hosts)
    }
}

/// A host, where it is, and perhaps an address of it.
#[derive(Clone, Copy)]
struct Seen {
    mac: Mac,
    at: (u64, Port),
    address: Option<IpAddr>,
}

struct Plain {
    mac: [u8; 6],
    switch: u64,
    port: Port,
    ipv4: Vec<Ipv4Addr>,
    ipv6: Vec<Ipv6Addr>,
}
wit!(struct Plain { mac, switch, port, ipv4, ipv6 });

impl Plain {
    fn of(host: &Host) -> Self {
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for address in &host.addresses {
            match address {
                IpAddr::V4(address) => ipv4.push(*address),
                IpAddr::V6(address) => ipv6.push(*address),
            }
        }
        Self { mac: host.mac.0, switch: host.switch, port: host.port, ipv4, ipv6 }
    }
}

impl View for Hosts {
    const NAME: &'static str = "hosts";
}

/// Hosts that are new, that moved or that have another address: the stream `sightings`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sightings {
    /// Each once.
    pub list: Vec<Sighting>,
}
wit!(struct Sightings { list });

impl View for Sightings {
    const NAME: &'static str = "sightings";
    const KIND: Kind = Kind::Stream;
}

/// A host was seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sighting {
    /// Its hardware address.
    pub mac: [u8; 6],
    /// At this switch,
    pub switch: u64,
    /// behind this port.
    pub port: Port,
    /// An IPv4 address that it has.
    pub ipv4: Option<Ipv4Addr>,
    /// An IPv6 address that it has.
    pub ipv6: Option<Ipv6Addr>,
}
wit!(struct Sighting { mac, switch, port, ipv4, ipv6 });

/// The applications that know where hosts are.
pub fn hosts(bounds: HostBounds, instances: usize) -> Set {
    let many = Policy { instances, ..Policy::default() };
    Set::default()
        .with(
            Manifest::new("sight")
                .reads("~packet-ins@1")
                .reads("routes@1")
                .reads("hosts@1?")
                .writes("~sightings@1?")
                .parallel(),
            native(|(batch, routes, hosts)| sight(batch, routes, hosts)),
        )
        .with(
            Manifest::new("hosts")
                .reads("~sightings@1")
                .reads("hosts@1?")
                .reads("routes@1")
                .reads("switches@1")
                .reads("probing@1")
                .writes("hosts@1")
                .writes("~commands@1?"),
            native(move |(sightings, hosts, routes, switches, probing): (_, _, _, _, Arc<Probing>)| {
                fold(bounds, sightings, hosts, routes, (switches, probing.round))
            }),
        )
        .with(
            Manifest::new("hosts-gone").reads("routes@1").reads("hosts@1").writes("hosts@1?"),
            native(|(routes, hosts)| prune(routes, hosts)),
        )
        .dag(Dag::chain("sight", &["sight"]).on("packet-ins@1").policy(many))
        .dag(Dag::chain("hosts", &["hosts"]).on("sightings@1"))
        .dag(Dag::chain("hosts-gone", &["hosts-gone"]).on("routes@1"))
}

/// Hosts are seen where packets enter the network, and nowhere else: behind the end of a link are switches.
fn sight(
    batch: Arc<PacketIns>,
    routes: Arc<Routes>,
    hosts: Option<Arc<Hosts>>,
) -> Result<(Perhaps<Sightings>,), Failure> {
    let (mut sightings, mut known) = (Sightings::default(), HashSet::new());
    for packet in batch.iter() {
        let at = (packet.switch, packet.in_port);
        let Ok(parsed) = Parsed::of(packet.frame) else { continue };
        if !is_station(parsed.source) || parsed.is_for_bridges() || !routes.is_edge(at.0, at.1) {
            continue;
        }
        let host = hosts.as_ref().and_then(|hosts| hosts.host(parsed.source));
        let address = claimed(&parsed, host, hosts.as_deref());
        let here = host.is_some_and(|host| (host.switch, host.port) == at);
        let has = |address| host.is_some_and(|host| host.addresses.contains(&address));
        if here && address.is_none_or(has) {
            continue;
        }
        let (ipv4, ipv6) = match address {
            Some(IpAddr::V4(address)) => (Some(address), None),
            Some(IpAddr::V6(address)) => (None, Some(address)),
            None => (None, None),
        };
        let sighting = Sighting { mac: parsed.source.0, switch: at.0, port: at.1, ipv4, ipv6 };
        if known.insert(sighting.clone()) {
            sightings.list.push(sighting);
        }
    }
    Ok((Perhaps((!sightings.list.is_empty()).then_some(sightings)),))
}

/// The address that a packet says its sender has.
///
/// Choice: ARP and neighbour discovery count always. The source of another packet counts if nobody has that address and
/// the sender none of the family, since routers send packets of many others.
fn claimed(parsed: &Parsed<'_>, host: Option<&Host>, hosts: Option<&Hosts>) -> Option<IpAddr> {
    let usable =
        |address: &IpAddr| !address.is_unspecified() && !address.is_multicast() && !address.is_loopback();
    if parsed.ether_type == ether_type::ARP {
        let (mac, address) = arp::Packet::parse(parsed.payload).ok()?.sender();
        return Some(IpAddr::from(address)).filter(|address| mac == parsed.source && usable(address));
    }
    let (source, _) = parsed.addresses?;
    match neighbor(parsed) {
        Some(Neighbor::Solicitation { source: Some(mac), .. }) if mac == parsed.source => {
            return Some(source).filter(usable);
        }
        Some(Neighbor::Advertisement { target, mac: Some(mac), .. }) if mac == parsed.source => {
            return Some(IpAddr::from(target)).filter(usable);
        }
        _ => {}
    }
    let has_one = host.is_some_and(|host| host.addresses.iter().any(|own| own.is_ipv4() == source.is_ipv4()));
    let taken = hosts.is_some_and(|hosts| hosts.with_address(source).is_some());
    Some(source).filter(|source| usable(source) && !has_one && !taken)
}

/// What a packet says about neighbours of IPv6, if it is whole and does.
pub(crate) fn neighbor(parsed: &Parsed<'_>) -> Option<Neighbor> {
    if parsed.ether_type != ether_type::IPV6
        || parsed.protocol != Some(plait_model_wire::number::protocol::ICMPV6)
    {
        return None;
    }
    let packet = ipv6::Packet::parse(parsed.payload).ok()?;
    Neighbor::of(packet.payload(), packet.source(), packet.destination(), packet.hop_limit()).ok()
}

/// Folds sightings into the state. Where a host moved, the flows that lead to where it was are deleted.
///
/// Choice: at the switch that it was at and at all that have a way there, since a flow that is in use never ends of
/// itself, and its packets would go by the old place for ever.
fn fold(
    bounds: HostBounds,
    sightings: Arc<Sightings>,
    hosts: Option<Arc<Hosts>>,
    routes: Arc<Routes>,
    (switches, round): (Arc<Switches>, u64),
) -> Result<(Hosts, Perhaps<Commands>), Failure> {
    let mut hosts = hosts.as_deref().cloned().unwrap_or_default();
    let mut commands = Commands::default();
    for Sighting { mac, switch, port, ipv4, ipv6 } in &sightings.list {
        // The port may have become something else since.
        if !routes.is_edge(*switch, *port) {
            continue;
        }
        let address = ipv4.map(IpAddr::from).or(ipv6.map(IpAddr::from));
        let seen = Seen { mac: Mac(*mac), at: (*switch, *port), address };
        let Some(before) = hosts.see(seen, round, bounds) else { continue };
        let to = Fields { eth_dst: Some(*mac), ..Fields::ANY };
        for (number, info) in switches.known.iter().filter(|(_, info)| info.connected) {
            let Some(version) = Version::of(info.version) else { continue };
            let here = (*number == before.0).then_some(before.1);
            let ports = routes.hops(*number, before.0).map(|hop| hop.out).chain(here);
            let deletes = ports.filter_map(|port| delete_leaving(version, to, port));
            commands.list.extend(deletes.map(|command| (*number, command)));
        }
    }
    Ok((hosts, some(commands)))
}

/// Forgets hosts behind ports that are no edge any more: down, gone, or the end of a link.
fn prune(routes: Arc<Routes>, hosts: Arc<Hosts>) -> Result<(Perhaps<Hosts>,), Failure> {
    let gone: Vec<Mac> =
        hosts.iter().filter(|host| !routes.is_edge(host.switch, host.port)).map(|host| host.mac).collect();
    let mut left = (*hosts).clone();
    gone.iter().for_each(|mac| left.forget(*mac));
    Ok((Perhaps((!gone.is_empty()).then_some(left)),))
}
