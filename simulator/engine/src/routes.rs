//! From routes by prefix to tables that are one array access deep.
//!
//! Two addresses whose most specific prefix, of all prefixes in all tables, is the same are treated alike everywhere:
//! they are one class. A node's table has one entry a class, found once by the longest match.

use crate::address::AddressBook;
use crate::fabric::{Group, Hop};
use ipnet::IpNet;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// A node's routes: prefixes and their equally good next hops.
pub(crate) type Routes = BTreeMap<IpNet, Vec<Hop>>;

/// Prefixes by length, longest first, for looking up the longest match.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    by_length: BTreeMap<(bool, std::cmp::Reverse<u8>), HashMap<IpNet, u32>>,
}

impl Matcher {
    fn add(&mut self, prefix: IpNet, class: u32) {
        let length = (matches!(prefix, IpNet::V6(_)), std::cmp::Reverse(prefix.prefix_len()));
        self.by_length.entry(length).or_default().entry(prefix.trunc()).or_insert(class);
    }

    /// The class of an address.
    pub fn class(&self, address: IpAddr) -> u32 {
        self.find(address, 128).unwrap_or(0)
    }

    /// The class of the longest prefix around an address, of so many bits at most.
    fn find(&self, address: IpAddr, at_most: u8) -> Option<u32> {
        let lengths = self.by_length.range((address.is_ipv6(), std::cmp::Reverse(at_most))..);
        let own = lengths.take_while(|((is_ipv6, _), _)| *is_ipv6 == address.is_ipv6());
        own.filter_map(|((_, length), prefixes)| {
            let net = IpNet::new(address, length.0).ok()?.trunc();
            prefixes.get(&net).copied()
        })
        .next()
    }
}

/// The tables of all nodes.
pub(crate) struct Tables {
    /// The class of each address.
    pub classes: Vec<u32>,
    /// What tells the classes of addresses.
    pub matcher: Matcher,
    /// How many classes there are, which is the length of a row.
    pub row: u32,
    pub tables: Vec<u16>,
    /// Where the groups of each node begin.
    pub first: Vec<u32>,
    pub groups: Vec<Group>,
    pub hops: Vec<Hop>,
}

/// Makes the tables of all nodes. What no prefix covers has class 0, which leads nowhere. None if a node has more sets
/// of next hops than a table's entry can name, or all tables have more entries than can be counted.
pub(crate) fn compile(routes: &[Routes], addresses: &AddressBook) -> Option<Tables> {
    let mut prefixes: Vec<IpNet> = routes.iter().flat_map(|routes| routes.keys()).map(IpNet::trunc).collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    let mut matcher = Matcher::default();
    for (at, prefix) in prefixes.iter().enumerate() {
        matcher.add(*prefix, at as u32 + 1);
    }
    // The next shorter prefix around each, so that a node's longest match is found by walking up.
    let parents: Vec<u32> = prefixes
        .iter()
        .map(|prefix| match prefix.prefix_len() {
            0 => 0,
            length => matcher.find(prefix.addr(), length - 1).unwrap_or(0),
        })
        .collect();
    let row = prefixes.len() + 1;
    u32::try_from(row.checked_mul(routes.len())?).ok()?;
    let mut tables = Tables {
        classes: addresses.all().map(|(_, address)| matcher.class(address)).collect(),
        matcher,
        row: row as u32,
        tables: Vec::with_capacity(row * routes.len()),
        first: Vec::new(),
        groups: Vec::new(),
        hops: Vec::new(),
    };
    for routes in routes {
        tables.add_node(routes, &prefixes, &parents)?;
    }
    Some(tables)
}

impl Tables {
    fn add_node(&mut self, routes: &Routes, prefixes: &[IpNet], parents: &[u32]) -> Option<()> {
        let first = self.groups.len();
        self.first.push(u32::try_from(first).ok()?);
        self.groups.push(Group { first: 0, count: 0 });
        let mut known: HashMap<&[Hop], u16> = HashMap::from([(&[][..], 0)]);
        let mut own: HashMap<u32, u16> = HashMap::new();
        for (prefix, hops) in routes {
            let at = prefixes.binary_search(&prefix.trunc()).expect("every prefix is among all") as u32 + 1;
            let group = match known.get(&hops[..]) {
                Some(group) => *group,
                None => {
                    let group = u16::try_from(self.groups.len() - first).ok()?;
                    self.groups.push(Group { first: self.hops.len() as u32, count: hops.len() as u32 });
                    self.hops.extend_from_slice(hops);
                    known.insert(hops, group);
                    group
                }
            };
            own.insert(at, group);
        }
        self.tables.push(0);
        for class in 1..=prefixes.len() as u32 {
            let mut at = class;
            while at != 0 && !own.contains_key(&at) {
                at = parents[at as usize - 1];
            }
            self.tables.push(own.get(&at).copied().unwrap_or(0));
        }
        Some(())
    }
}
