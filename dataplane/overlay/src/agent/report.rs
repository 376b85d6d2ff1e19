//! What an agent tells of itself: where identifiers are, and what was counted.

use super::{Agent, AgentError, heard_at, now};
use crate::config::{Carries, DeviceConfig};
use crate::protocol::{DeviceStats, FibRow, LeftOut, NodeStats, PairStats, Reply, Stats};
use crate::{Bits, Identifier, Pair};
use ipnet::IpNet;
use plait_dataplane_bpf::Program;
use plait_dataplane_reference::tables::{Count, FibKey, limits};
use plait_model_overlay::{Application, NodeId};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr};

impl Agent {
    /// Where identifiers are.
    pub(super) fn fib(&self, device: Option<&str>) -> Result<Reply, AgentError> {
        if let Some(device) = device.filter(|name| !self.devices.contains_key(*name)) {
            return Err(AgentError::NoDevice(device.to_owned()));
        }
        let second = heard_at(now());
        let mut rows = Vec::new();
        for key in self.tables.fib.keys().collect::<Vec<_>>() {
            let live = self.devices.values().find(|live| live.tenant == key.tenant);
            let Some(live) = live.filter(|live| device.is_none_or(|name| name == live.config.name)) else {
                continue;
            };
            // It may be gone by now.
            let Some(entry) = self.tables.fib.get(&key)? else { continue };
            let carries = self.application(live.config.application)?.carries;
            rows.push(FibRow {
                device: live.config.name.clone(),
                identifier: identifier(&key, carries, &live.config),
                node: NodeId(entry.node),
                // A unit is 1.07 seconds.
                heard: (entry.heard != 0)
                    .then(|| ((u64::from(second.saturating_sub(entry.heard)) << 30) / 1_000_000_000) as u32),
                packets: entry.packets,
                bytes: entry.bytes,
            });
        }
        rows.sort_by(|a, b| (&a.device, a.identifier).cmp(&(&b.device, b.identifier)));
        Ok(Reply::Fib(rows))
    }

    /// What was counted.
    pub(super) fn stats(&self) -> Result<Stats, AgentError> {
        let programs = &self.tables.programs;
        let drops =
            programs.drops()?.into_iter().map(|(reason, count)| (reason.name().to_owned(), count)).collect();
        let mut stats = Stats { drops, writes: self.tables.written(), ..Stats::default() };
        for live in self.devices.values() {
            let count = programs.tenant_count(live.tenant)?;
            let counts = DeviceStats {
                sent: count.sent.packets,
                sent_bytes: count.sent.bytes,
                received: count.received.packets,
                received_bytes: count.received.bytes,
                missed: count.missed.packets,
            };
            stats.devices.insert(live.config.name.clone(), counts);
        }
        for (index, _) in self.on_underlay.keys().filter(|(_, program)| *program == Program::Relay) {
            let Some(link) = self.underlay.links.get(index) else { continue };
            stats.xdp.push(link.name.clone());
            if programs.is_exit(*index)? {
                stats.xdp_exits.push(link.name.clone());
            }
        }
        let links = &self.underlay.links;
        let entrances = self.entrances().filter_map(|index| links.get(&index));
        stats.underlay = entrances.map(|link| link.name.clone()).collect();
        stats.left_out = self
            .compiler
            .left_out()
            .iter()
            .map(|((application, node), pairs)| LeftOut {
                application: *application,
                node: *node,
                pairs: *pairs,
            })
            .collect();
        let second = heard_at(now());
        for (application, tables) in self.overlay.applications() {
            let nodes: std::collections::BTreeSet<_> =
                tables.nodes.keys().chain(tables.routes.keys()).collect();
            for node in nodes {
                let Some(path) = self.compiler.path(application, *node) else { continue };
                let (count, hop) = (programs.path_count(path)?, programs.hop_count(path)?);
                if count.packets > 0 || hop.packets > 0 {
                    let limit = self.tables.limit(path)?;
                    let is_fresh = |heard: u32| second.wrapping_sub(heard) <= limits::AGE;
                    let room = limit.filter(|(_, heard)| is_fresh(*heard)).map(|(room, _)| room);
                    let (packets, bytes) = (count.packets, count.bytes);
                    let (sent, sent_bytes) = (hop.packets, hop.bytes);
                    stats.nodes.push(NodeStats {
                        application,
                        node: *node,
                        packets,
                        bytes,
                        room,
                        sent,
                        sent_bytes,
                        pairs: self.pairs(application, *node)?,
                    });
                }
            }
        }
        Ok(stats)
    }

    /// What went by each of a node's pairs of locators.
    fn pairs(&self, application: Application, node: NodeId) -> Result<Vec<PairStats>, AgentError> {
        let mut counted = Vec::new();
        for (Pair { from, to }, wire) in self.compiler.spread_over(application, node) {
            let Count { packets, bytes } = self.tables.programs.wire_count(wire)?;
            counted.push(PairStats { from, to, packets, bytes });
        }
        Ok(counted)
    }
}

fn identifier(key: &FibKey, carries: Carries, device: &DeviceConfig) -> Identifier {
    let [four, six] = device.prefix;
    match carries {
        Carries::Bits | Carries::Payload => {
            Identifier::Bits(device.bits.map_or(Bits::NONE, |field| field.bits(key.identifier)))
        }
        Carries::Ethernet => Identifier::Station(key.identifier[..6].try_into().expect("six bytes")),
        Carries::Ip => {
            let address = Ipv6Addr::from(key.identifier);
            let (address, prefix) = match address.to_ipv4_mapped() {
                Some(mapped) => (IpAddr::V4(mapped), four),
                None => (IpAddr::V6(address), six),
            };
            Identifier::Network(IpNet::new(address, prefix).unwrap_or(address.into()))
        }
    }
}

/// Counters in Prometheus' text form.
pub(super) fn metrics(stats: &Stats) -> String {
    let mut text = String::new();
    let mut of_kind = |kind: &str, name: &str, help: &str, rows: Vec<(String, u64)>| {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in rows {
            let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    };
    let left_out = |of: &LeftOut| {
        (format!("application=\"{}\",node=\"{}\"", of.application, of.node), u64::from(of.pairs))
    };
    of_kind(
        "gauge",
        "plait_overlay_locator_pairs_without_packets",
        "Pairs of locators to a node that get no packets, since others weigh more.",
        stats.left_out.iter().map(left_out).collect(),
    );
    let mut family = |name: &str, help: &str, rows: Vec<(String, u64)>| of_kind("counter", name, help, rows);
    let drops = stats.drops.iter().map(|(reason, count)| (format!("reason=\"{reason}\""), *count)).collect();
    family("plait_overlay_dropped_packets_total", "Packets that went no further.", drops);
    let device = |name: &String| format!("device=\"{name}\"");
    let missed = stats.devices.iter().map(|(name, of)| (device(name), of.missed)).collect();
    // Packets and their bytes.
    let mut traffic = |name: &str, help: &str, rows: Vec<(String, [u64; 2])>| {
        let of = |at: usize| rows.iter().map(|(labels, counts)| (labels.clone(), counts[at])).collect();
        family(&format!("plait_overlay_{name}_packets_total"), help, of(0));
        family(&format!("plait_overlay_{name}_bytes_total"), "Their bytes, without outer headers.", of(1));
    };
    let devices = |counts: fn(&DeviceStats) -> [u64; 2]| {
        stats.devices.iter().map(|(name, of)| (device(name), counts(of))).collect()
    };
    traffic("sent", "Packets into the overlay.", devices(|of| [of.sent, of.sent_bytes]));
    traffic("received", "Packets out of the overlay.", devices(|of| [of.received, of.received_bytes]));
    let label = |of: &NodeStats| format!("application=\"{}\",node=\"{}\"", of.application, of.node);
    let nodes =
        |counts: fn(&NodeStats) -> [u64; 2]| stats.nodes.iter().map(|of| (label(of), counts(of))).collect();
    traffic("next_hop", "Packets to each node as the next hop.", nodes(|of| [of.sent, of.sent_bytes]));
    let pair = |node: &NodeStats, of: &PairStats| {
        let labels = format!("{},own=\"{}\",locator=\"{}\"", label(node), of.from, of.to);
        (labels, [of.packets, of.bytes])
    };
    traffic(
        "locator_pair",
        "Packets by each pair of locators, an own one and the next hop's.",
        stats.nodes.iter().flat_map(|node| node.pairs.iter().map(|of| pair(node, of))).collect(),
    );
    traffic("forwarded", "Packets to each node or group.", nodes(|of| [of.packets, of.bytes]));
    family("plait_overlay_missed_packets_total", "Packets whose identifiers nobody knew.", missed);
    family(
        "plait_overlay_table_writes_total",
        "Entries of the data plane's tables that this agent wrote.",
        vec![(String::new(), stats.writes)],
    );
    text
}
