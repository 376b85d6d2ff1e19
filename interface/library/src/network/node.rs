//! A node, in the closure of [`Network::host_with`](crate::Network::host_with) and its kin.

use super::key::{any_key, flags, keys};
use crate::place::Place;
use crate::written::Written;
use serde_json::json;

/// What a node has beyond its name and kind.
#[derive(Debug, Clone)]
pub struct Node(pub(super) Written);

impl Node {
    pub(super) fn new() -> Self {
        Self(Written::map())
    }

    /// Sets a kernel parameter of the node's namespace: `("net.ipv4.tcp_ecn", 1)`.
    #[must_use]
    #[track_caller]
    pub fn sysctl(mut self, name: &str, value: impl Into<Written>) -> Self {
        self.0.set_under("sysctls", name, value, Place::here());
        self
    }

    /// Lets the node see a file with this text at an absolute path.
    #[must_use]
    #[track_caller]
    pub fn file(mut self, path: &str, text: impl Into<String>) -> Self {
        self.0.set_under("files", path, text.into(), Place::here());
        self
    }

    /// Lets the node see a file of this machine at an absolute path. `source` is relative to the
    /// [folder](crate::Network::folder) of the network.
    #[must_use]
    #[track_caller]
    pub fn file_from(mut self, path: &str, source: &str) -> Self {
        self.0.set_under("files", path, json!({ "source": source }), Place::here());
        self
    }

    /// Runs a line of shell when the node is up; several run in order, and each must succeed.
    #[must_use]
    #[track_caller]
    pub fn command(mut self, line: &str) -> Self {
        self.0.push("commands", line, Place::here());
        self
    }

    /// Gives an interface an address with its prefix length: `("eth0", "192.168.1.1/24")`.
    #[must_use]
    #[track_caller]
    pub fn address(mut self, interface: &str, address: &str) -> Self {
        let here = Place::here();
        let known = self.0.value()["interfaces"][interface]["addresses"].as_array().map_or(0, Vec::len);
        let at = crate::written::pointer(&["interfaces", interface, "addresses"]);
        if known == 0 {
            self.0.put(&at, json!([]), here.clone());
        }
        self.0.put(&format!("{at}/{known}"), address, here);
        self
    }

    /// Adds a route by hand: to a prefix, or `"default"`, by a next hop.
    #[must_use]
    #[track_caller]
    pub fn route(mut self, to: &str, via: &str) -> Self {
        self.0.push("routes", json!({ "to": to, "via": via }), Place::here());
        self
    }

    /// Lets the node inherit the keys of a group; a later group wins over an earlier one, the node over both.
    #[must_use]
    #[track_caller]
    pub fn group(mut self, name: &str) -> Self {
        self.0.push("groups", name, Place::here());
        self
    }

    /// Limits the memory of all its programs together: `"64MiB"`.
    #[must_use]
    #[track_caller]
    pub fn memory(mut self, most: impl Into<Written>) -> Self {
        self.0.set_under("limits", "memory", most, Place::here());
        self
    }

    keys! {
        /// The processors its programs run on, from 0: `[0, 1]`.
        processors
        /// Congestion control of TCP connections over its routes: `"bbr"`.
        congestion_control
    }

    flags! {
        /// Lets its programs reach the host's network, through a NAT in user space.
        uplink
    }

    any_key!();
}
