//! Which of a prefix's lists flows go by, said by prefix.

use crate::protocol::Policy;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// By which policies flows go by what is learnt of prefixes, and of those within them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Policies(BTreeMap<IpNet, Policy>);

impl Policies {
    /// That of the longest prefix that this one is within.
    pub fn of(&self, prefix: IpNet) -> Option<Policy> {
        let around = self.0.iter().filter(|(of, _)| of.contains(&prefix));
        around.max_by_key(|(of, _)| of.prefix_len()).map(|(_, policy)| *policy)
    }

    /// That of this very prefix.
    pub fn said_of(&self, prefix: IpNet) -> Option<Policy> {
        self.0.get(&prefix.trunc()).copied()
    }

    /// Says one of a prefix, or no more.
    pub fn say(&mut self, prefix: IpNet, policy: Option<Policy>) {
        match policy {
            Some(policy) => self.0.insert(prefix.trunc(), policy),
            None => self.0.remove(&prefix.trunc()),
        };
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is said, in the prefixes' order.
    pub fn iter(&self) -> impl Iterator<Item = (IpNet, Policy)> + '_ {
        self.0.iter().map(|(prefix, policy)| (*prefix, *policy))
    }
}

impl FromIterator<(IpNet, Policy)> for Policies {
    fn from_iter<I: IntoIterator<Item = (IpNet, Policy)>>(said: I) -> Self {
        Self(said.into_iter().map(|(prefix, policy)| (prefix.trunc(), policy)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_around_counts() {
        let net = |text: &str| text.parse::<IpNet>().unwrap();
        let said = [
            (net("10.0.0.0/8"), Policy::FlowBased),
            (net("10.1.2.3/16"), Policy::RoundRobin),
            (net("fd00::/8"), Policy::Hash),
        ];
        let mut policies: Policies = said.into_iter().collect();
        for (prefix, expected) in [
            ("10.1.0.0/16", Some(Policy::RoundRobin)),
            ("10.1.9.0/24", Some(Policy::RoundRobin)),
            ("10.2.0.0/24", Some(Policy::FlowBased)),
            ("10.0.0.0/8", Some(Policy::FlowBased)),
            ("0.0.0.0/0", None),
            ("11.0.0.0/8", None),
            ("fd00:1::/64", Some(Policy::Hash)),
        ] {
            assert_eq!(policies.of(net(prefix)), expected, "{prefix}");
        }
        assert_eq!(policies.said_of(net("10.1.0.0/16")), Some(Policy::RoundRobin));
        assert_eq!(policies.said_of(net("10.1.9.0/24")), None);
        policies.say(net("10.1.0.0/16"), None);
        assert_eq!(policies.of(net("10.1.9.0/24")), Some(Policy::FlowBased));
    }
}
