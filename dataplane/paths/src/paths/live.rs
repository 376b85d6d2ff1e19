//! What is seen and done of a steered device while packets go: its flows, and what each list carried.

use super::{Entry, Paths, Placed, nanos};
use crate::error::Error;
use crate::holder::Holder;
use crate::report::{FlowReport, ListReport};
use ipnet::IpNet;
use plait_dataplane_agent::now;
use plait_dataplane_bpf::path_names;
use plait_dataplane_reference::paths::tables::{FlowKey, MovePlace, PathDrop};
use plait_dataplane_reference::paths::unmapped;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

impl Paths {
    /// Moves a flow to another of its prefix's lists, where the selector is flow-based: by hand, so that rearrangement leaves it
    /// there until the prefix gets other lists or the flow is over, or not.
    ///
    /// # Errors
    /// The flow is not known, or has no such list; the kernel's refusal.
    pub fn move_flow(&self, key: &FlowKey, list: u32, by_hand: bool) -> Result<(), Error> {
        self.programs.table(&path_names::FLOWS)?.get(key)?.ok_or(Error::Flow(list))?;
        // Its last packet may have met lists that are no more.
        let (_, entry) = self.entry_of(unmapped(key.destination)).ok_or(Error::Flow(list))?;
        if list as usize >= entry.ways.lists.len() {
            return Err(Error::Flow(list));
        }
        let place = MovePlace { set: entry.set, list, by_hand };
        Ok(self.programs.table(&path_names::MOVES)?.set(key, &place.word())?)
    }

    /// Holds packets of flows that are to move and have no gap, until what they sent before cannot be overtaken. Without it
    /// such flows stay where they are. It ends when what this returns is dropped.
    ///
    /// # Errors
    /// No `/dev/net/tun`; the kernel's refusal.
    pub fn hold(&self) -> Result<Holder, Error> {
        Holder::start(self.device.index, &self.programs)
    }

    /// The flows that were heard of, in no order.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn flows(&self) -> Result<Vec<FlowReport>, Error> {
        let table = self.programs.table(&path_names::FLOWS)?;
        let moves = self.programs.table(&path_names::MOVES)?;
        let by_set: HashMap<u32, (&IpNet, &Entry)> =
            self.entries.iter().map(|known| (known.1.set, known)).collect();
        let mut flows = Vec::new();
        for key in table.keys() {
            // It may be gone meanwhile.
            let Some(flow) = table.get(&key)? else { continue };
            if self.options.idle.is_some_and(|idle| flow.is_over(nanos(idle), nanos(now()))) {
                continue;
            }
            // One that was not heard of since its prefix got other lists is known by the name of its own.
            let destination = unmapped(key.destination);
            let known = by_set.get(&flow.set).copied().filter(|(prefix, _)| prefix.contains(&destination));
            let known = known.or_else(|| self.entry_of(destination));
            let list = known.and_then(|(_, entry)| flow.list_in(&entry.lists));
            let set = known.map_or(flow.set, |(_, entry)| entry.set);
            let moved = moves.get(&key)?.map(MovePlace::of).filter(|place| place.set == set);
            flows.push(FlowReport {
                key,
                moves: moved.map(|place| place.list).filter(|moved| Some(*moved) != list),
                by_hand: moved.is_some_and(|place| place.by_hand),
                prefix: known.filter(|_| list.is_some()).map(|(prefix, _)| *prefix),
                list: list.unwrap_or(flow.list),
                packets: flow.packets,
                bytes: flow.bytes,
                heard: Duration::from_nanos(flow.heard),
            });
        }
        Ok(flows)
    }

    /// What is there for a destination.
    fn entry_of(&self, destination: IpAddr) -> Option<(&IpNet, &Entry)> {
        let of = self.entries.iter().filter(|(prefix, _)| prefix.contains(&destination));
        of.max_by_key(|(prefix, _)| prefix.prefix_len())
    }

    /// How much went by each list, by prefix and in the lists' order.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn counters(&self) -> Result<Vec<ListReport>, Error> {
        let mut reports = Vec::new();
        for (prefix, entry) in &self.entries {
            for (relays, Placed { slot, before }) in entry.ways.lists.iter().zip(&entry.stacks) {
                let count = self.programs.list_count(*slot)?;
                reports.push(ListReport {
                    prefix: *prefix,
                    relays: relays.clone(),
                    packets: count.packets - before.packets,
                    bytes: count.bytes - before.bytes,
                });
            }
        }
        Ok(reports)
    }

    /// What was dropped.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn drops(&self) -> Result<BTreeMap<PathDrop, u64>, Error> {
        Ok(self.programs.drops()?)
    }
}
