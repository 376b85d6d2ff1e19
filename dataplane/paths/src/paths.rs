//! A device whose packets are steered.

use crate::device;
use crate::error::Error;
use crate::options::{Options, Superpackets};
use crate::report::{FlowReport, ListReport};
use crate::slots::Slots;
use ipnet::{IpNet, Ipv4Net};
use plait_control_paths::{Operation, RelayList};
use plait_dataplane_bpf::{Attachment, PathProgram, PathPrograms, path_names};
use plait_dataplane_reference::paths::tables::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// What stands in the tables for a prefix.
struct Entry {
    set: u32,
    lists: Vec<RelayList>,
    /// Where each list's stack stands.
    stacks: Vec<u32>,
    /// What was counted there before.
    before: Vec<ListCount>,
}

/// A device whose packets are steered. All is as it was when this is dropped.
pub struct Paths {
    programs: PathPrograms,
    #[allow(dead_code, reason = "it is held")]
    attachment: Attachment,
    options: Options,
    entries: BTreeMap<Ipv4Net, Entry>,
    sets: Slots,
    stacks: Slots,
    /// The device, and how many segments its superpackets had before, where that was changed.
    segments: Option<(u32, u32)>,
}

impl Paths {
    /// Puts the program on a device of the calling thread's network namespace, by its index. All goes as it went, until
    /// prefixes are set.
    ///
    /// The MTU is what the device has now. Connections of before keep making superpackets, which are dropped under stacks
    /// of more than one header, so that they may stall: attach before hosts speak.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn attach(device: u32, options: Options) -> Result<Self, Error> {
        let (mtu, segments) = device::ask(device)?;
        let is_whole = options.superpackets == Superpackets::Whole;
        let source = options.source.octets();
        let steering = Steering { source, mtu, superpackets: is_whole.into(), reserved: 0 };
        let programs = PathPrograms::load(&steering, options.sizes)?;
        let attachment = programs.attach(PathProgram::Steer, device)?;
        let (sets, stacks) = (Slots::new(options.sizes.sets), Slots::new(options.sizes.stacks));
        let entries = BTreeMap::new();
        let mut paths = Self { programs, attachment, options, entries, sets, stacks, segments: None };
        if !is_whole && segments != 1 {
            device::set_segments(device, 1)?;
            paths.segments = Some((device, segments));
        }
        Ok(paths)
    }

    /// Does an operation, whole or not at all: each packet meets all of a prefix's new lists, or all those before.
    ///
    /// # Errors
    /// What tables cannot hold; the kernel's refusal.
    pub fn apply(&mut self, operation: Operation) -> Result<(), Error> {
        match operation {
            Operation::Set { prefix, lists } => self.set(prefix, lists),
            Operation::Remove { prefix } => self.remove(prefix),
        }
    }

    fn set(&mut self, prefix: IpNet, lists: Vec<RelayList>) -> Result<(), Error> {
        let IpNet::V4(key) = prefix else { return Err(Error::Family(prefix)) };
        if lists.is_empty() {
            return self.remove(prefix);
        }
        if lists.len() > size::LISTS as usize {
            return Err(Error::Lists(prefix, lists.len()));
        }
        let stacks = lists.iter().map(|list| self.stack(prefix, list)).collect::<Result<Vec<_>, _>>()?;
        let set = self.sets.take(1).ok_or(Error::Full(prefix))?[0];
        let Some(slots) = self.stacks.take(stacks.len()) else {
            self.sets.give([set]);
            return Err(Error::Full(prefix));
        };
        let written = self.write(key.trunc(), set, &slots, &stacks);
        let old = match written {
            Ok(before) => self.entries.insert(key.trunc(), Entry { set, lists, stacks: slots, before }),
            // Nothing leads to what was written.
            Err(error) => {
                self.sets.give([set]);
                self.stacks.give(slots);
                return Err(error);
            }
        };
        self.release(old);
        Ok(())
    }

    /// Writes stacks and a set, then turns the prefix to it. Returns what was counted where the stacks are.
    fn write(
        &self,
        key: Ipv4Net,
        set: u32,
        slots: &[u32],
        stacks: &[Stack],
    ) -> Result<Vec<ListCount>, Error> {
        let before = slots.iter().map(|slot| self.programs.list_count(*slot)).collect::<Result<_, _>>()?;
        let table = self.programs.table(&path_names::STACKS)?;
        let mut choices = [ListChoice { below: 0, stack: 0 }; size::LISTS as usize];
        let mut weights = 0;
        let all = slots.iter().zip(stacks).zip(self.options.selector.weights(slots.len()));
        for (((&slot, stack), weight), choice) in all.zip(&mut choices) {
            table.set(&slot, stack)?;
            weights += weight;
            *choice = ListChoice { below: weights, stack: slot };
        }
        let (count, selector) = (slots.len() as u32, self.options.selector.number());
        let whole = ListSet { count, selector, weights, turns: 0, choices };
        self.programs.table(&path_names::SETS)?.set(&set, &whole)?;
        self.programs.table(&path_names::PREFIXES)?.set(&prefix_key(key), &set)?;
        Ok(before)
    }

    fn remove(&mut self, prefix: IpNet) -> Result<(), Error> {
        let IpNet::V4(key) = prefix else { return Err(Error::Family(prefix)) };
        self.programs.table(&path_names::PREFIXES)?.remove(&prefix_key(key.trunc()))?;
        let old = self.entries.remove(&key.trunc());
        self.release(old);
        Ok(())
    }

    fn release(&mut self, old: Option<Entry>) {
        if let Some(old) = old {
            self.sets.give([old.set]);
            self.stacks.give(old.stacks);
        }
    }

    fn stack(&self, prefix: IpNet, list: &RelayList) -> Result<Stack, Error> {
        let v4 = |address: &IpAddr| match address {
            IpAddr::V4(address) => Ok(*address),
            IpAddr::V6(_) => Err(Error::Family(prefix)),
        };
        let relays = list.iter().map(v4).collect::<Result<Vec<Ipv4Addr>, _>>()?;
        let stack = Stack::new(self.options.source, &relays, self.options.encapsulation.number());
        stack.ok_or(Error::Relays(prefix, relays.len()))
    }

    /// Moves a flow to another of its prefix's lists, where the selector is flow-based.
    ///
    /// # Errors
    /// The flow is not known, or has no such list; the kernel's refusal.
    pub fn move_flow(&self, key: &FlowKey, list: u32) -> Result<(), Error> {
        let flow = self.programs.table(&path_names::FLOWS)?.get(key)?.ok_or(Error::Flow(list))?;
        let entry = self.entries.values().find(|entry| entry.set == flow.set);
        entry.filter(|entry| (list as usize) < entry.lists.len()).ok_or(Error::Flow(list))?;
        let place = u64::from(flow.set) << 32 | u64::from(list);
        Ok(self.programs.table(&path_names::MOVES)?.set(key, &place)?)
    }

    /// The flows that were heard of, in no order.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn flows(&self) -> Result<Vec<FlowReport>, Error> {
        let table = self.programs.table(&path_names::FLOWS)?;
        let mut flows = Vec::new();
        for key in table.keys() {
            // It may be gone meanwhile.
            let Some(flow) = table.get(&key)? else { continue };
            let prefix = self.entries.iter().find(|(_, entry)| entry.set == flow.set);
            flows.push(FlowReport {
                key,
                prefix: prefix.map(|(prefix, _)| (*prefix).into()),
                list: flow.list,
                packets: flow.packets,
                bytes: flow.bytes,
                heard: Duration::from_nanos(flow.heard),
            });
        }
        Ok(flows)
    }

    /// How much went by each list, by prefix and in the lists' order.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn counters(&self) -> Result<Vec<ListReport>, Error> {
        let mut reports = Vec::new();
        for (prefix, entry) in &self.entries {
            for ((relays, slot), before) in entry.lists.iter().zip(&entry.stacks).zip(&entry.before) {
                let count = self.programs.list_count(*slot)?;
                reports.push(ListReport {
                    prefix: (*prefix).into(),
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

fn prefix_key(prefix: Ipv4Net) -> PrefixKey {
    PrefixKey { bits: prefix.prefix_len().into(), address: prefix.network().octets() }
}

impl Drop for Paths {
    fn drop(&mut self) {
        if let Some((device, segments)) = self.segments {
            // Where the device is gone, so is its setting.
            let _ = device::set_segments(device, segments);
        }
    }
}
