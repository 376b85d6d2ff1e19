//! Where hosts are and which addresses they have: the state `hosts`.

use crate::shards::{Seek, Shards};
use crate::stations::number;
use foldhash::fast::RandomState;
use plait_control_openflow::Port;
use plait_control_runtime::{Mismatch, Type, Value, View, Wit, wit};
use plait_model_wire::ethernet::Mac;
use rpds::{HashTrieMap, HashTrieMapSync, RedBlackTreeMapSync};
use std::collections::BTreeMap;
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

/// Parts of the table of hosts. Choice: 1024, so that a run which sees some new hosts among a hundred thousand copies some
/// thousands of references, and not all of them.
const PARTS: usize = 1024;

/// All hosts, by hardware and by IP address: the state `hosts`.
#[derive(Debug, Clone)]
pub struct Hosts {
    /// By hardware address. Choice: shards, in which each packet looks twice.
    all: Shards<Known>,
    by_address: HashTrieMapSync<IpAddr, Mac, RandomState>,
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

/// A host in the table: what packets ask of it lies in the table itself, so that nothing else is waited for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    at: (u64, u32),
    /// Whether it has an address of IPv4, and of IPv6.
    has: [bool; 2],
    /// None in an empty place of the table alone.
    host: Option<Arc<Host>>,
}

impl Known {
    fn new(host: Host) -> Self {
        let has = [true, false].map(|of_4| host.addresses.iter().any(|address| address.is_ipv4() == of_4));
        Self { at: (host.switch, host.port.0), has, host: Some(Arc::new(host)) }
    }

    /// The switch that it is at, and the port that it is behind.
    #[inline]
    pub fn at(&self) -> (u64, Port) {
        (self.at.0, Port(self.at.1))
    }

    /// Whether it has an address of the family of this one.
    #[inline]
    pub fn has_one_like(&self, address: IpAddr) -> bool {
        self.has[usize::from(address.is_ipv6())]
    }

    /// Whether it has this address.
    pub fn has(&self, address: IpAddr) -> bool {
        self.host.as_ref().is_some_and(|host| host.addresses.contains(&address))
    }
}

impl Default for Hosts {
    fn default() -> Self {
        Self {
            all: Shards::with_most_parts(PARTS),
            by_address: HashTrieMap::new_with_hasher_and_ptr_kind(RandomState::default()),
            behind: RedBlackTreeMapSync::new_sync(),
            seen: 0,
        }
    }
}

impl Hosts {
    /// A host by its hardware address.
    pub fn host(&self, mac: Mac) -> Option<&Host> {
        self.shared(mac).map(|host| &**host)
    }

    #[inline]
    fn shared(&self, mac: Mac) -> Option<&Arc<Host>> {
        self.all.get(number(mac))?.host.as_ref()
    }

    /// Where a host is to be looked for.
    #[inline]
    pub(crate) fn seek(&self, mac: Mac) -> Seek<'_, Known> {
        self.all.seek(number(mac))
    }

    /// The host that has an IP address.
    pub fn with_address(&self, address: IpAddr) -> Option<&Host> {
        self.host(*self.by_address.get(&address)?)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.count()
    }

    /// Every host, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Host> {
        self.all.iter().filter_map(|(_, known)| known.host.as_deref())
    }

    /// The hosts behind such ports of switches.
    pub(crate) fn behind(&self, is_one: impl Fn(u64, Port) -> bool) -> impl Iterator<Item = Mac> {
        let ports = self.behind.iter().filter(move |((switch, port), _)| is_one(*switch, *port));
        ports.flat_map(|(_, crowd)| crowd.values().copied())
    }

    /// Sees a host in a round of probes. Gives where it was, if that was elsewhere.
    ///
    /// Choice: a host moves once a round at most. Each move is told to many switches, and whoever sends by two ports in
    /// turn could have them told without end.
    pub(crate) fn see(&mut self, seen: Seen, round: u64, bounds: HostBounds) -> Option<(u64, Port)> {
        let Seen { mac, at, address } = seen;
        let known = self.shared(mac).cloned();
        let before = known.as_ref().map(|host| (host.switch, host.port)).filter(|before| *before != at);
        // What was seen while it waited to be known is nothing new any more.
        if let Some(known) = &known
            && before.is_none()
            && address.is_none_or(|address| known.addresses.contains(&address))
        {
            return None;
        }
        let mut host = match &known {
            Some(known) => (**known).clone(),
            None if self.all.count() >= bounds.all => return None,
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
        self.all.insert(number(mac), Known::new(host));
        before
    }

    /// Choice: who names an address last has it, as in every host's own table; addresses move from host to host.
    fn take(&mut self, host: &mut Host, address: IpAddr, most: usize) {
        if let Some(other) = self.with_address(address).filter(|other| other.mac != host.mac) {
            let mut other = other.clone();
            other.addresses.retain(|own| *own != address);
            self.all.insert(number(other.mac), Known::new(other));
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

    /// Forgets a host.
    pub(crate) fn forget(&mut self, mac: Mac) {
        let Some(host) = self.shared(mac).cloned() else { return };
        self.leave(&host);
        self.all.remove(number(mac));
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
pub(crate) struct Seen {
    pub mac: Mac,
    pub at: (u64, Port),
    pub address: Option<IpAddr>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_already_changes_nothing_and_what_is_new_no_other_host() {
        let (at, bounds) = ((1, Port(1)), HostBounds::default());
        let mac = |number: u16| {
            let [high, low] = number.to_be_bytes();
            Mac([2, 0, 0, 0, high, low])
        };
        let address = |number: u16| Some(IpAddr::V4(Ipv4Addr::from(u32::from(number) + 1)));
        let mut hosts = Hosts::default();
        for number in 0..1000 {
            hosts.see(Seen { mac: mac(number), at, address: address(number) }, 0, bounds);
        }
        let before = hosts.clone();
        hosts.see(Seen { mac: mac(7), at, address: address(7) }, 1, bounds);
        assert!(std::ptr::eq(before.host(mac(7)).unwrap(), hosts.host(mac(7)).unwrap()));
        hosts.see(Seen { mac: mac(7), at, address: address(2000) }, 1, bounds);
        assert_eq!(hosts.host(mac(7)).unwrap().addresses, [address(7), address(2000)].map(Option::unwrap));
        assert!((0..1000).filter(|number| *number != 7).all(|number| {
            std::ptr::eq(before.host(mac(number)).unwrap(), hosts.host(mac(number)).unwrap())
        }));
    }
}
