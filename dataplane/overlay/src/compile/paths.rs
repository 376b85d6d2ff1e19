//! Paths: what each destination leads to, a next hop, a group of them, or here.

use super::{Compiler, Full, Write};
use plait_dataplane_reference::tables::{Group, NodeKey, path, size};
use plait_model_overlay::{Application, NodeId, Overlay, Tables};
use std::collections::BTreeSet;
use std::time::Duration;

/// What a path leads to now.
#[derive(Debug, Clone, Default)]
pub(super) struct Led {
    word: u64,
    /// What stands in the slot of a group.
    group: Option<Group>,
    /// The next hops it uses, of which each knows it.
    hops: BTreeSet<NodeId>,
}

impl Compiler {
    /// Each path is led anew once, however much of what it leads over changed.
    pub(super) fn lead_stale(&mut self, overlay: &Overlay, now: Duration) {
        let empty = Tables::default();
        for (application, destination) in std::mem::take(&mut self.stale) {
            let tables = overlay.tables(application).unwrap_or(&empty);
            self.lead(application, destination, tables, now);
        }
    }

    /// A node or group of the RIB changed.
    pub(super) fn route(
        &mut self,
        application: Application,
        destination: NodeId,
        tables: &Tables,
        now: Duration,
    ) {
        self.keep_path(application, destination, tables, now);
        self.stale.insert((application, destination));
    }

    /// Gives whatever LIB or RIB know a path, and takes it from what neither knows.
    pub(super) fn keep_path(
        &mut self,
        application: Application,
        node: NodeId,
        tables: &Tables,
        now: Duration,
    ) {
        let key = (application, node);
        let is_known = tables.nodes.contains_key(&node) || tables.routes.contains_key(&node);
        let entry = NodeKey { application: application.0.into(), node: node.0 };
        match (self.paths.get(&key), is_known) {
            (None, true) => {
                let taken = self.paths.want(&key, now);
                if let Some((path, _)) = self.found(taken) {
                    self.writes.push(Write::Path(path, 0));
                    self.writes.push(Write::Node(entry, Some(path)));
                }
            }
            (Some(path), false) => {
                self.writes.extend([Write::Node(entry, None), Write::Forget(entry), Write::Path(path, 0)]);
                if let Some(led) = self.led.remove(&key) {
                    self.leave(application, node, &led.hops);
                    self.free_group(led.word, now);
                }
                self.paths.let_go(&key, now);
            }
            _ => {}
        }
    }

    /// What a path leads to anew.
    fn lead(&mut self, application: Application, destination: NodeId, tables: &Tables, now: Duration) {
        let key = (application, destination);
        let Some(path) = self.paths.get(&key) else { return };
        let hops = tables.routes.get(&destination).cloned().unwrap_or_default();
        let includes_own = tables.own.is_some_and(|own| hops.contains(&own));
        let others: BTreeSet<NodeId> = hops.into_iter().filter(|hop| Some(*hop) != tables.own).collect();
        // Copies with short outer headers leave first: a frame that is no IP can only be made longer.
        let mut slots: Vec<(u32, u32)> = others
            .iter()
            .filter_map(|hop| {
                let compiled = self.compiled.get(&(application, *hop))?;
                Some((compiled.length, compiled.slot?))
            })
            .collect();
        slots.sort_unstable();
        if slots.len() > size::GROUP as usize {
            self.full = Some(Full { table: "next hops of a group", size: size::GROUP, is_busy: false });
            slots.truncate(size::GROUP as usize);
        }
        let slots: Vec<u32> = slots.into_iter().map(|(_, slot)| slot).collect();
        for hop in &others {
            self.compiled.entry((application, *hop)).or_default().used_by.insert(destination);
        }
        let before = self.led.get(&key).cloned().unwrap_or_default();
        let word = |kind: u32, index: u32| u64::from(kind) << 32 | u64::from(index);
        let mut group = None;
        let word = match (slots.as_slice(), includes_own) {
            ([], true) => word(path::OWN, 0),
            ([], false) => 0,
            ([slot], false) => word(path::HOP, *slot),
            _ => {
                let mut made = Group {
                    count: slots.len() as u32,
                    includes_own: includes_own.into(),
                    hops: [0; size::GROUP as usize],
                };
                made.hops[..slots.len()].copy_from_slice(&slots);
                group = Some(made);
                if before.group == group {
                    before.word
                } else {
                    let taken = self.groups.take(now);
                    match self.found(taken) {
                        Some(slot) => {
                            self.writes.push(Write::Group(slot, Box::new(made)));
                            word(path::GROUP, slot)
                        }
                        // It stays as it was, and so do the slots that it leads to.
                        None if self.full.is_some_and(|full| full.is_busy) => {
                            self.is_behind = true;
                            return;
                        }
                        None => {
                            group = None;
                            0
                        }
                    }
                }
            }
        };
        if before.word != word {
            self.writes.push(Write::Path(path, word));
        }
        let hops = before.hops.difference(&others).copied().collect();
        let is_other = before.word != word;
        self.led.insert(key, Led { word, group, hops: others });
        self.leave(application, destination, &hops);
        if is_other {
            self.free_group(before.word, now);
        }
    }

    /// A path leads over some hops no more.
    fn leave(&mut self, application: Application, destination: NodeId, hops: &BTreeSet<NodeId>) {
        for hop in hops {
            let Some(compiled) = self.compiled.get_mut(&(application, *hop)) else { continue };
            compiled.used_by.remove(&destination);
            self.forget_unused(application, *hop);
        }
    }

    /// No path has a word any more: the slot of the group that it named is free.
    fn free_group(&mut self, word: u64, now: Duration) {
        if (word >> 32) as u32 == path::GROUP {
            self.groups.give(word as u32, now);
        }
    }
}
