//! Links and LANs, in the closures of [`Network::link_with`](crate::Network::link_with) and
//! [`Network::lan_with`](crate::Network::lan_with).

use super::key::{any_key, conditions, flags, keys, reverse};
use crate::place::Place;
use crate::written::Written;

/// What happens to packets of one direction.
#[derive(Debug, Clone)]
pub struct Conditions(pub(crate) Written);

impl Conditions {
    pub(crate) fn new() -> Self {
        Self(Written::map())
    }

    conditions!();
    any_key!();
}

/// What a link is beyond its two ends. Conditions hold for both directions.
#[derive(Debug, Clone)]
pub struct Link(pub(super) Written);

impl Link {
    pub(super) fn new() -> Self {
        Self(Written::map())
    }

    conditions!();

    reverse! {
        /// Gives the direction from the second end to the first conditions of its own; what these do not say
        /// is that of the link.
    }

    keys! {
        /// What to call it; `a-b` when not said.
        name
        /// A named set of conditions: `"dsl"`, `"lte"`, `"wifi"`, `"satellite"`, `"wan"`. What is said beside
        /// it wins.
        preset
        /// Routing cost; 1 when not said.
        cost
        /// MTU of both devices: `"1400B"`.
        mtu
        /// A prefix to number the link from: `"10.1.0.0/30"`.
        prefix
        /// Who shapes it: `"engine"`, `"kernel"` or `"tap"`.
        via
    }

    flags! {
        /// Makes it so that its conditions can change while it is up. Links that an event changes are made so
        /// anyway.
        dynamic
        /// Measures it against what was asked before a run.
        verify
    }

    any_key!();
}

/// What a LAN is beyond its members. Conditions hold for every member's way into the segment and out of it.
#[derive(Debug, Clone)]
pub struct Lan(pub(super) Written);

impl Lan {
    pub(super) fn new() -> Self {
        Self(Written::map())
    }

    conditions!();

    reverse! {
        /// Gives the way from the segment to each member conditions of its own.
    }

    keys! {
        /// A named set of conditions, as of links.
        preset
        /// Routing cost of crossing it; 1 when not said.
        cost
        /// MTU of its devices: `"1400B"`.
        mtu
        /// A prefix to number the segment from: `"192.168.1.0/24"`.
        prefix
    }

    any_key!();
}

/// An end of a link, or a member of a LAN: a node (`"a"`), or one of its interfaces (`"a:eth1"`, `("a",
/// "eth1")`).
#[derive(Debug, Clone)]
pub struct End(pub(super) String);

impl From<&str> for End {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<&String> for End {
    fn from(text: &String) -> Self {
        Self(text.clone())
    }
}

impl From<String> for End {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl<N: AsRef<str>, I: AsRef<str>> From<(N, I)> for End {
    fn from((node, interface): (N, I)) -> Self {
        Self(format!("{}:{}", node.as_ref(), interface.as_ref()))
    }
}
