//! What a run is judged by, in the closures of [`Network::metric`](crate::Network::metric) and
//! [`Network::collect`](crate::Network::collect).

use super::key::{any_key, keys};
use crate::place::Place;
use crate::written::Written;
use serde_json::json;

/// Where a figure comes from: a command's `output`, `tcp` samples, a `link`'s or an `interface`'s counters, or
/// round trips of a `ping`.
#[derive(Debug, Clone)]
pub struct Metric(pub(super) Written);

impl Metric {
    pub(super) fn new() -> Self {
        Self(Written::map())
    }

    keys! {
        /// The name of a command that prints it: JSON, lines of JSON, or lines with a number.
        output
        /// The way to the number through that JSON: `"end.sum_received.bits_per_second"`.
        field
        /// A column of `samples/tcp.csv`: `"srtt_ms"`.
        tcp
        /// The node whose sockets `tcp` means.
        on
        /// A link, with a `column` of `samples/links.csv`.
        link
        /// Which direction of the link: `"forward"` unless `"reverse"` is said.
        direction
        /// An interface, with a `column` of `samples/interfaces.csv`: `"a:eth0"`.
        interface
        /// Round trips that are collected, with a `column` of `samples/pings.csv`: `"a to b"`.
        ping
        /// The column that a link or interface is asked for: `"queue_bytes"`.
        column
        /// How samples become one value: `"mean"`, `"p95"`, `"rate"`, `"last"` and others.
        take
        /// What it is measured in; known of the samples' columns.
        unit
    }

    any_key!();
}

/// What is measured during a run and kept of it.
#[derive(Debug, Clone)]
pub struct Collect(pub(super) Written);

impl Collect {
    pub(super) fn new() -> Self {
        Self(Written::map())
    }

    /// Brings a file or folder back from a node, or from each of a list of nodes.
    #[must_use]
    #[track_caller]
    pub fn file(mut self, node: impl Into<Written>, path: &str) -> Self {
        let mut file = Written::map();
        file.set("node", node, Place::here());
        file.set("path", path, Place::here());
        self.0.push("files", file, Place::here());
        self
    }

    /// Writes down the packets of an interface: `"a:eth0"`.
    #[must_use]
    #[track_caller]
    pub fn capture(mut self, interface: &str) -> Self {
        self.0.push("capture", interface, Place::here());
        self
    }

    /// Keeps what control planes of overlays are told and do, for `plait replay`.
    #[must_use]
    #[track_caller]
    pub fn control(mut self) -> Self {
        self.0.set("control", true, Place::here());
        self
    }

    /// Collects round trips from a node to another, ten a second; `key("ping", …)` says of each how often.
    #[must_use]
    #[track_caller]
    pub fn ping(mut self, from: &str, to: &str) -> Self {
        self.0.push("ping", json!({ "from": from, "to": to }), Place::here());
        self
    }

    keys! {
        /// Interval of the state of every TCP connection: `"100ms"` when not said, or `"off"`.
        tcp
        /// Interval of the counters of every link: `"100ms"` when not said, or `"off"`.
        links
        /// Interval of the counters of every interface: `"1s"` when not said, or `"off"`.
        interfaces
    }

    any_key!();
}

/// Levels of a factor between two quantities: `Range::new("10ms", "200ms").levels(4).logarithmic()`.
#[derive(Debug, Clone)]
pub struct Range(Written);

impl Range {
    /// Everything between two quantities, its ends included; two levels when not said.
    #[must_use]
    #[track_caller]
    pub fn new(from: impl Into<Written>, to: impl Into<Written>) -> Self {
        let mut range = Written::map();
        range.set("from", from, Place::here());
        range.set("to", to, Place::here());
        Self(range)
    }

    /// Lets levels lie as many times apart, instead of as far.
    #[must_use]
    #[track_caller]
    pub fn logarithmic(mut self) -> Self {
        self.0.set("scale", json!("log"), Place::here());
        self
    }

    keys! {
        /// How many levels a full design takes.
        levels
    }
}

impl From<Range> for Written {
    fn from(range: Range) -> Self {
        range.0
    }
}
