//! What an agent says of itself.

use super::{Agent, AgentError};
use crate::PathDrop;
use crate::protocol::{FlowRow, ListRow, Origin, PrefixRow, Status};
use plait_dataplane_agent::now;
use std::collections::BTreeMap;
use std::fmt::Write;

impl Agent {
    /// All prefixes, and what went by their lists on all devices.
    pub(super) fn prefixes(&self) -> Result<Vec<PrefixRow>, AgentError> {
        let mut counts = BTreeMap::new();
        for sender in self.senders.values() {
            for list in sender.paths.counters()? {
                let count: &mut (u64, u64) = counts.entry((list.prefix, list.relays)).or_default();
                *count = (count.0 + list.packets, count.1 + list.bytes);
            }
        }
        let rows = self.all().map(|(prefix, ways)| {
            let known = self.state.statics.get(&prefix);
            let weight = |list: usize| known.map_or(1, |known| known.lists[list].1);
            let lists = ways.lists.into_iter().enumerate().map(|(index, relays)| {
                let (packets, bytes) = counts.get(&(prefix, relays.clone())).copied().unwrap_or_default();
                ListRow { relays, weight: weight(index), packets, bytes }
            });
            PrefixRow {
                prefix,
                origin: if known.is_some() { Origin::Static } else { Origin::Learnt },
                encapsulation: ways.encapsulation,
                policy: self.policy(prefix),
                lists: lists.collect(),
                fault: self.faults.get(&prefix).cloned(),
            }
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|row| row.prefix);
        Ok(rows)
    }

    /// All flows that are known, those with most bytes first.
    pub(super) fn flows(&self) -> Result<Vec<FlowRow>, AgentError> {
        let (mut rows, now) = (Vec::new(), now());
        for (device, sender) in &self.senders {
            for flow in sender.paths.flows()? {
                let ways = flow.prefix.map(|prefix| self.ways(prefix));
                let relays = ways.and_then(|ways| ways.lists.get(flow.list as usize).cloned());
                rows.push(FlowRow {
                    flow: flow.key.into(),
                    device: device.clone(),
                    prefix: flow.prefix,
                    list: flow.list,
                    relays: relays.unwrap_or_default(),
                    moves: flow.moves,
                    by_hand: flow.by_hand,
                    packets: flow.packets,
                    bytes: flow.bytes,
                    idle_ms: now.saturating_sub(flow.heard).as_millis() as u64,
                });
            }
        }
        rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.flow.cmp(&b.flow)));
        Ok(rows)
    }

    /// How the agent fares.
    pub(super) fn status(&self) -> Result<Status, AgentError> {
        let mut drops = BTreeMap::new();
        let mut add = |dropped: BTreeMap<PathDrop, u64>| {
            for (reason, count) in dropped {
                *drops.entry(reason.name().to_owned()).or_default() += count;
            }
        };
        for sender in self.senders.values() {
            add(sender.paths.drops()?);
        }
        if let Some(relay) = &self.relay {
            add(relay.drops()?);
        }
        if let Some(border) = &self.border {
            add(border.drops()?);
        }
        let statics = self.state.statics.len();
        Ok(Status {
            devices: self.senders.keys().cloned().collect(),
            source: Some(self.options.sources.ipv4),
            source_ipv6: Some(self.options.sources.ipv6),
            relay: self.options.relay.ipv4,
            relay_ipv6: self.options.relay.ipv6,
            feeds: self.learning.feeds().map(|(name, is_whole)| (name.to_owned(), is_whole)).collect(),
            access: self.learning.access(),
            fabric: self.learning.fabric(),
            relays: self.learning.relays(),
            prefixes: (statics, self.state.learnt.len()),
            policies: self.state.policies.clone(),
            updates: self.updates,
            moved: self.moved,
            drops,
            idle_ms: self.options.idle.map(|idle| idle.as_millis() as u64),
            mtu: self.options.mtu,
        })
    }

    /// Counters in Prometheus' text form.
    pub(super) fn metrics(&self) -> Result<String, AgentError> {
        let status = self.status()?;
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, rows: Vec<(String, u64)>| {
            let _ = writeln!(text, "# HELP plait_paths_{name} {help}\n# TYPE plait_paths_{name} {kind}");
            for (labels, value) in rows {
                let _ = writeln!(text, "plait_paths_{name}{labels} {value}");
            }
        };
        let lists = || {
            let rows = self.prefixes()?.into_iter().flat_map(|row| {
                row.lists.into_iter().enumerate().map(move |(index, list)| {
                    let labels = format!("{{prefix=\"{}\",list=\"{index}\"}}", row.prefix);
                    (labels, list.packets, list.bytes)
                })
            });
            Ok::<Vec<_>, AgentError>(rows.collect())
        };
        let lists = lists()?;
        let packets = lists.iter().map(|(labels, packets, _)| (labels.clone(), *packets)).collect();
        family("list_packets_total", "counter", "Packets sent by a relay list.", packets);
        let bytes = lists.into_iter().map(|(labels, _, bytes)| (labels, bytes)).collect();
        family("list_bytes_total", "counter", "Their bytes, without the stack.", bytes);
        let drops = status.drops.iter().map(|(reason, count)| (format!("{{reason=\"{reason}\"}}"), *count));
        family("drops_total", "counter", "Packets dropped, by reason.", drops.collect());
        family(
            "updates_total",
            "counter",
            "Changes that followed from the fabric.",
            vec![(String::new(), status.updates)],
        );
        family(
            "moves_total",
            "counter",
            "Flows moved by rearrangement.",
            vec![(String::new(), status.moved)],
        );
        let feeds = status
            .feeds
            .iter()
            .map(|(name, is_whole)| (format!("{{feed=\"{name}\"}}"), u64::from(*is_whole)));
        family("feed_complete", "gauge", "Whether all of the fabric is known from a feed.", feeds.collect());
        Ok(text)
    }
}
