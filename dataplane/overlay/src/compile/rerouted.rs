//! What of the underlay's routes changed.

use ipnet::IpNet;
use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

/// Addresses that may be reached another way than before: those that a route covers which came, changed or went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rerouted {
    is_all: bool,
    /// Networks by their lengths: an address is looked up once for each.
    networks: BTreeMap<(bool, u8), HashSet<IpAddr>>,
}

impl Rerouted {
    /// All that there are.
    pub fn all() -> Self {
        Self { is_all: true, networks: BTreeMap::new() }
    }

    /// Adds those of a prefix.
    pub fn add(&mut self, prefix: IpNet) {
        let of_length = self.networks.entry((prefix.addr().is_ipv4(), prefix.prefix_len())).or_default();
        of_length.insert(prefix.network());
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        !self.is_all && self.networks.is_empty()
    }

    /// Whether an address is among them.
    pub fn covers(&self, address: IpAddr) -> bool {
        let is_in = |((is_ipv4, length), networks): (&(bool, u8), &HashSet<IpAddr>)| {
            let network = IpNet::new(address, *length).ok().filter(|_| *is_ipv4 == address.is_ipv4());
            network.is_some_and(|network| networks.contains(&network.network()))
        };
        self.is_all || self.networks.iter().any(is_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_covers_its_addresses_and_no_others() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut some = Rerouted::default();
        assert!(some.is_empty() && !some.covers(address("192.0.2.1")));
        // Written with the bits of an address behind its length.
        some.add("192.0.2.77/24".parse().unwrap());
        some.add("192.0.3.0/25".parse().unwrap());
        some.add("2001:db8::/32".parse().unwrap());
        for inside in ["192.0.2.0", "192.0.2.255", "192.0.3.127", "2001:db8:ffff::1"] {
            assert!(some.covers(address(inside)), "{inside}");
        }
        for outside in ["192.0.1.255", "192.0.3.128", "2001:db9::1", "::ffff:192.0.2.1"] {
            assert!(!some.covers(address(outside)), "{outside}");
        }
        some.add("::/0".parse().unwrap());
        assert!(some.covers(address("2001:db9::1")) && !some.covers(address("198.51.100.1")));
        assert!(Rerouted::all().covers(address("198.51.100.1")) && !Rerouted::all().is_empty());
    }
}
