//! Outer headers, and the neighbours that they leave by.

use super::{Compiler, Encapsulation, Exit, WireKey, Write};
use plait_dataplane_reference::tables::Wire;
use std::time::Duration;

impl Compiler {
    /// A wire, wanted once more, by a way out; and the bytes of its header.
    pub(super) fn wire(&mut self, key: WireKey, exit: Exit, now: Duration) -> Option<(u32, u32)> {
        let taken = self.wires.want(&key, now);
        let (index, is_new) = self.found(taken)?;
        let before = self.leaves_by.get(&key).copied();
        if !is_new && before == Some(exit) {
            let form = self.forms.get(&(exit, key.encapsulation));
            return Some((index, form.map_or(0, |(_, length)| *length)));
        }
        let taken = self.adjacencies.want(&exit, now);
        let adjacency = self.found(taken).map(|(adjacency, is_new)| {
            if is_new && !self.point(exit, now) {
                // An index may have been another's: until there is a slot it leads nowhere.
                self.exits.remove(&exit);
                self.writes.push(Write::Adjacency(adjacency, 0));
            }
            adjacency
        });
        let wire =
            adjacency.and_then(|adjacency| Wire::new(key.from, key.to, key.encapsulation as u32, adjacency));
        let Some(wire) = wire else {
            self.wires.let_go(&key, now);
            return None;
        };
        if is_new {
            self.writes.push(Write::UncountWire(index));
        }
        // Of a wire that is there already only the adjacency's index changes, in one store.
        self.writes.push(Write::Wire(index, wire));
        self.leaves_by.insert(key, exit);
        let (count, length) = self.forms.entry((exit, key.encapsulation)).or_default();
        (*count, *length) = (*count + 1, wire.length.max(*length));
        if let Some(before) = before {
            self.unform(before, key.encapsulation);
            self.adjacencies.let_go(&before, now);
        }
        Some((index, wire.length))
    }

    pub(super) fn unwire(&mut self, key: WireKey, now: Duration) {
        if self.wires.let_go(&key, now)
            && let Some(exit) = self.leaves_by.remove(&key)
        {
            self.unform(exit, key.encapsulation);
            self.adjacencies.let_go(&exit, now);
        }
    }

    fn unform(&mut self, exit: Exit, encapsulation: Encapsulation) {
        let key = (exit, encapsulation);
        if let Some((count, _)) = self.forms.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.forms.remove(&key);
            }
        }
    }

    /// Turns an adjacency's pointer to what is known of the way out. Whether there was room for it.
    pub(super) fn point(&mut self, exit: Exit, now: Duration) -> bool {
        let Some(index) = self.adjacencies.get(&exit) else { return true };
        let Some((adjacency, slot)) = self.exits.get(&exit).copied() else {
            self.writes.push(Write::Adjacency(index, 0));
            return true;
        };
        let slot = match slot {
            Some(slot) => slot,
            None => {
                let taken = self.adjacency_slots.take(now);
                let Some(slot) = self.found(taken) else { return false };
                self.writes.push(Write::AdjacencySlot(slot, adjacency));
                self.exits.insert(exit, (adjacency, Some(slot)));
                slot
            }
        };
        self.writes.push(Write::Adjacency(index, slot.into()));
        true
    }
}
