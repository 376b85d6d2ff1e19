//! From routes by prefix to tables that are one array access deep.
//!
//! Two addresses whose most specific prefix, of all prefixes in all tables, is the same are treated alike everywhere:
//! they are one class. A node's table has one entry a class, found once by the longest match.

use crate::address::AddressBook;
use crate::fabric::{Group, Hop, Node};
use ipnet::IpNet;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// A node's routes: prefixes and their equally good next hops.
pub(crate) type Routes = BTreeMap<IpNet, Vec<Hop>>;

/// Prefixes by length, longest first, for looking up the longest match.
#[derive(Default)]
struct Matcher {
    by_length: BTreeMap<(bool, std::cmp::Reverse<u8>), HashMap<IpNet, u32>>,
}

impl Matcher {
    fn add(&mut self, prefix: IpNet, class: u32) {
        let length = (matches!(prefix, IpNet::V6(_)), std::cmp::Reverse(prefix.prefix_len()));
        self.by_length.entry(length).or_default().entry(prefix.trunc()).or_insert(class);
    }

    /// The class of the longest prefix around an address, of `shorter` bits at most.
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

/// Fills the tables of all nodes, and gives the class of each address. What no prefix covers has class 0, which leads
/// nowhere. None if a node has more sets of next hops than a table's entry can name.
pub(crate) fn compile(nodes: &mut [Node], routes: &[Routes], addresses: &AddressBook) -> Option<Vec<u32>> {
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
    for (node, routes) in nodes.iter_mut().zip(routes) {
        fill(node, routes, &prefixes, &parents);
        if node.groups.len() > usize::from(u16::MAX) {
            return None;
        }
    }
    Some(addresses.all().map(|(_, address)| matcher.find(address, 128).unwrap_or(0)).collect())
}

fn fill(node: &mut Node, routes: &Routes, prefixes: &[IpNet], parents: &[u32]) {
    node.groups = vec![Group { first: 0, count: 0 }];
    node.hops.clear();
    let mut known: HashMap<&[Hop], u16> = HashMap::from([(&[][..], 0)]);
    let mut own: HashMap<u32, u16> = HashMap::new();
    for (prefix, hops) in routes {
        let at = prefixes.binary_search(&prefix.trunc()).expect("every prefix is among all") as u32 + 1;
        let group = *known.entry(hops).or_insert_with(|| {
            node.groups.push(Group { first: node.hops.len() as u32, count: hops.len() as u32 });
            node.hops.extend_from_slice(hops);
            (node.groups.len() - 1) as u16
        });
        own.insert(at, group);
    }
    node.table = vec![0; prefixes.len() + 1];
    if own.is_empty() {
        return;
    }
    for class in 1..=prefixes.len() as u32 {
        let mut at = class;
        while at != 0 {
            if let Some(group) = own.get(&at) {
                node.table[class as usize] = *group;
                break;
            }
            at = parents[at as usize - 1];
        }
    }
}
