//! Numbers in Prometheus' text exposition format, version 0.0.4.

use super::Supervisor;
use std::fmt::Write;

impl Supervisor {
    /// The whole page.
    pub(super) fn metrics(&self) -> String {
        let mut page = Page { text: String::new(), testbed: self.options.name.clone() };
        let builder = self.builder();
        let hidden = builder.state.nodes.values().filter(|node| node.hidden).count();
        page.family("plait_up", "gauge", "Whether the testbed is up and not being taken down.");
        page.sample("plait_up", &[], f64::from(u8::from(self.status() == "running")));
        page.family("plait_uptime_seconds", "gauge", "Time since the supervisor began.");
        page.sample("plait_uptime_seconds", &[], self.started.elapsed().as_secs_f64());
        page.family("plait_nodes", "gauge", "Nodes of the testbed.");
        page.sample("plait_nodes", &[], (builder.state.nodes.len() - hidden) as f64);
        page.family("plait_links", "gauge", "Links of the testbed.");
        page.sample("plait_links", &[], builder.state.links.len() as f64);
        let Some(engine) = builder.engine() else { return page.text };
        let mut links = Vec::new();
        for name in builder.state.links.keys() {
            if let Some(stats) = builder.engine_link(name).and_then(|id| engine.stats(id).ok()) {
                links.push((name.clone(), stats));
            }
        }
        drop(builder);
        for (family, help, value) in LINK_COUNTERS {
            page.family(family, "counter", help);
            for (link, stats) in &links {
                for (direction, counters) in ["forward", "reverse"].into_iter().zip(&stats.directions) {
                    page.sample(
                        family,
                        &[("link", link), ("direction", direction)],
                        value(&counters.counters) as f64,
                    );
                }
            }
        }
        page.text
    }
}

type Counter = fn(&plait_model_link::Counters) -> u64;

const LINK_COUNTERS: [(&str, &str, Counter); 5] = [
    ("plait_link_packets_arrived_total", "Packets that came to the link.", |counters| counters.arrived),
    ("plait_link_packets_departed_total", "Packets that left the link.", |counters| counters.departed),
    ("plait_link_packets_lost_total", "Packets lost as asked.", |counters| counters.lost),
    ("plait_link_packets_dropped_total", "Packets dropped by the queue.", |counters| counters.queue_dropped),
    ("plait_link_bytes_departed_total", "Bytes that left the link.", |counters| counters.departed_bytes),
];

struct Page {
    text: String,
    testbed: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Names of testbeds, nodes and links hold nothing that would need escaping; see `model/topology`'s names.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let _ = write!(self.text, "{name}{{testbed=\"{}\"", self.testbed);
        for (label, text) in labels {
            let _ = write!(self.text, ",{label}=\"{text}\"");
        }
        let _ = writeln!(self.text, "}} {value}");
    }
}
