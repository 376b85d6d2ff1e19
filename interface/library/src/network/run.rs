//! What happens in a run of a network, what varies between runs, and the words of their report.

use super::{Collect, Event, Metric, Network};
use crate::place::Place;
use crate::written::{Written, pointer};
use serde_json::json;

/// # What happens in a run
impl Network {
    /// Adds an event at an instant from the start of the run:
    ///
    /// ```
    /// # let network = plait::Network::new("n").host("a").host("b").link("a", "b");
    /// let network = network
    ///     .at("0s", |event| event.on("b").exec("iperf3 -s -1").background())
    ///     .until("port 5201 open on b")
    ///     .at("0s", |event| event.on("a").name("bulk").exec("iperf3 -J -c b -t 10"))
    ///     .at("5s", |event| event.link("a-b").set(|link| link.delay("50ms")))
    ///     .at("8s", |event| event.link("a-b").fail());
    /// # network.check().unwrap();
    /// ```
    #[must_use]
    #[track_caller]
    pub fn at(mut self, instant: impl Into<Written>, with: impl FnOnce(Event) -> Event) -> Self {
        let mut event = Written::map();
        event.set("at", instant, Place::here());
        event.lay(with(Event::new()).0);
        self.draft().written.push("run", event, Place::here());
        self
    }

    /// Lets the run go on when something is so: `"port 80 open on b"`, `"udp port 53 open on b"`, `"routes
    /// stable"`.
    #[must_use]
    #[track_caller]
    pub fn until(mut self, condition: &str) -> Self {
        self.draft().written.push("run", json!({ "until": condition }), Place::here());
        self
    }

    /// The same, and says more: `("passes", |wait| wait.on("a").exec("ping -c 1 -W 1 b").timeout("10s"))`.
    #[must_use]
    #[track_caller]
    pub fn until_with(mut self, condition: &str, with: impl FnOnce(Event) -> Event) -> Self {
        let mut event = Written::map();
        event.set("until", condition, Place::here());
        event.lay(with(Event::new()).0);
        self.draft().written.push("run", event, Place::here());
        self
    }

    /// How long the run lasts, waits not counted; when not said, until the last command has ended.
    #[must_use]
    #[track_caller]
    pub fn duration(self, time: impl Into<Written>) -> Self {
        self.write("duration", time.into(), Place::here())
    }

    /// How long samples are in no metric.
    #[must_use]
    #[track_caller]
    pub fn warmup(self, time: impl Into<Written>) -> Self {
        self.write("warmup", time.into(), Place::here())
    }

    /// What is measured and kept: `|collect| collect.tcp("10ms").capture("a:eth0")`.
    #[must_use]
    #[track_caller]
    pub fn collect(self, with: impl FnOnce(Collect) -> Collect) -> Self {
        self.write("collect", with(Collect::new()).0, Place::here())
    }

    /// Adds a figure of the run: `("rtt", |metric| metric.tcp("srtt_ms").on("a").take("p95"))`.
    #[must_use]
    #[track_caller]
    pub fn metric(self, name: &str, with: impl FnOnce(Metric) -> Metric) -> Self {
        self.add("metrics", name, with(Metric::new()).0, Place::here())
    }

    /// Says what a metric must be for a run to succeed: `"goodput >= 15Mbit"`.
    #[must_use]
    #[track_caller]
    pub fn assert(mut self, what: &str) -> Self {
        self.draft().written.push("assert", what, Place::here());
        self
    }

    /// Measures every link against what was asked before a run.
    #[must_use]
    #[track_caller]
    pub fn verify(self) -> Self {
        self.write("verify", true.into(), Place::here())
    }
}

/// # What varies between runs
impl Network {
    /// Adds something that varies. `"$name"` stands for its level wherever a value is written:
    ///
    /// ```
    /// # use plait::{Network, Range};
    /// let network = Network::new("bufferbloat")
    ///     .host("a")
    ///     .host("b")
    ///     .link_with("a", "b", |link| link.rate("20Mbit").delay("$delay").queue("$queue"))
    ///     .factor("queue", ["5ms", "50ms", "500ms"])
    ///     .factor("delay", Range::new("5ms", "80ms").levels(3).logarithmic())
    ///     .repeats(5);
    /// # assert_eq!(network.check().unwrap().experiment().unwrap().cells.len(), 9);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn factor(mut self, name: &str, levels: impl Into<Written>) -> Self {
        let at = pointer(&["experiment", "factors", name]);
        self.draft().written.put(&at, levels, Place::here());
        self
    }

    /// How often each cell runs; once when not said.
    #[must_use]
    #[track_caller]
    pub fn repeats(mut self, count: usize) -> Self {
        self.draft().written.set_under("experiment", "repeats", count, Place::here());
        self
    }

    /// Repeats each cell until the half of every interval is under this share of its mean: `"5%"`.
    #[must_use]
    #[track_caller]
    pub fn repeats_until(mut self, share: impl Into<Written>) -> Self {
        self.draft().written.put("/experiment/repeats/until", share, Place::here());
        self
    }

    /// Instead of all combinations, takes about so many, spread evenly over the ranges of all factors.
    #[must_use]
    #[track_caller]
    pub fn space_filling(mut self, cells: usize) -> Self {
        self.draft().written.put("/experiment/design/space_filling", cells, Place::here());
        self
    }
}

/// # Words of the report
impl Network {
    /// The title of the report; the network's name when not said.
    #[must_use]
    #[track_caller]
    pub fn title(mut self, title: &str) -> Self {
        self.draft().written.set_under("report", "title", title, Place::here());
        self
    }

    /// The question that the run answers.
    #[must_use]
    #[track_caller]
    pub fn question(mut self, question: &str) -> Self {
        self.draft().written.set_under("report", "question", question, Place::here());
        self
    }
}
