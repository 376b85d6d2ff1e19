//! A device whose packets are steered.

use crate::cutter::{self, Cutter};
use crate::device::{Device, Lengths};
use crate::error::Error;
use crate::holder::Holder;
use crate::options::{Options, Superpackets, Ways, longest_hold, longest_silence};
use crate::report::{FlowReport, ListReport};
use crate::slots::Slots;
use ipnet::IpNet;
use plait_control_paths::{Operation, RelayList};
use plait_dataplane_agent::now;
use plait_dataplane_bpf::{Attachment, PathProgram, PathPrograms, path_names, release_path};
use plait_dataplane_reference::paths::tables::*;
use plait_dataplane_reference::paths::unmapped;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What every link of IPv6 carries.
const LEAST_MTU: u32 = 1280;

/// The longest stack that TCP leaves room for by itself. Choice: it takes the length of a superpacket for what is behind all
/// headers, and leaves at least 192 bytes for them, of which its own and IP's are 100 at most.
const SPARE: u32 = 64;

/// How long superpackets may be where a stack is longer. Choice: one length for all such stacks, so that lists that come and go
/// change it once.
const LONGEST_UNDER_STACKS: u32 = 65_536 - size::STACK;

/// What stands in the tables for a prefix.
struct Entry {
    set: u32,
    lists: ListSet,
    ways: Ways,
    stacks: Vec<Placed>,
    asks: Asked,
}

/// What stacks ask of superpackets that senders make for a device.
#[derive(Clone, Copy, Default)]
struct Asked {
    /// That there are none.
    none: bool,
    /// That they leave room.
    room: bool,
}

/// Where a list's stack stands, and what was counted there before.
#[derive(Clone, Copy)]
struct Placed {
    slot: u32,
    before: ListCount,
}

/// A device whose packets are steered. All is as it was when this is dropped, but where it was
/// [kept](Self::succeed).
pub struct Paths {
    programs: PathPrograms,
    device: Device,
    attachment: Option<Attachment>,
    options: Options,
    entries: BTreeMap<IpNet, Entry>,
    sets: Slots,
    stacks: Slots,
    /// How many segments the device's superpackets had before they were forbidden.
    segments: Option<u32>,
    /// How long they were before they had to leave room.
    lengths: Option<Lengths>,
    cutter: Option<Cutter>,
    is_kept: bool,
}

impl Paths {
    /// Loads the program for a device of the calling thread's network namespace, by its index. Flows that a former life kept
    /// at a path of a BPF file system stay where they are, and are kept there.
    ///
    /// # Errors
    /// No such device; flows that would be over while they move; the kernel's refusal; the path cannot be.
    pub fn load(device: u32, options: Options, flows: Option<&Path>) -> Result<Self, Error> {
        let silence = longest_silence(options.spread);
        if let Some(idle) = options.idle.filter(|idle| *idle <= silence) {
            return Err(Error::Idle(idle, silence));
        }
        let is_whole = options.superpackets == Superpackets::Whole;
        let steering = Steering {
            source: options.sources.ipv4.octets(),
            source_ipv6: options.sources.ipv6.octets(),
            mtu: options.mtu.unwrap_or(0),
            superpackets: is_whole.into(),
            mark: mark(),
            spread: nanos(options.spread),
            patience: nanos(options.patience),
            longest_hold: nanos(longest_hold(options.spread)),
            idle: options.idle.map_or(0, nanos),
        };
        let device = Device::open(device)?;
        Ok(Self {
            programs: PathPrograms::load(&steering, options.sizes, flows)?,
            device,
            attachment: None,
            sets: Slots::new(options.sizes.sets),
            stacks: Slots::new(options.sizes.stacks),
            options,
            entries: BTreeMap::new(),
            segments: None,
            lengths: None,
            cutter: None,
            is_kept: false,
        })
    }

    /// Loads the program and puts it on its device. All goes as it went, until prefixes are set.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn attach(device: u32, options: Options) -> Result<Self, Error> {
        let mut paths = Self::load(device, options, None)?;
        if let Err(error) = paths.cut(None) {
            tracing::warn!(device, %error, "superpackets of others are dropped");
        }
        paths.attachment = Some(paths.programs.attach(PathProgram::Steer, device)?);
        Ok(paths)
    }

    /// Puts the loaded program in the place of one that a former life kept at a path of a BPF file system, or on the device.
    /// No packet goes without meanwhile. It stays there when this is dropped, until [`release`](Self::release).
    ///
    /// # Errors
    /// The kernel's refusal; the path cannot be.
    pub fn succeed(&mut self, path: &Path) -> Result<(), Error> {
        self.attachment = Some(self.programs.succeed(PathProgram::Steer, self.device.index, path)?);
        self.is_kept = true;
        // A former life's lists may have asked for limits that these do not.
        self.allow_superpackets();
        Ok(())
    }

    /// Has superpackets cut that cannot go under a stack as they are: those of hosts behind this one, and of senders here that
    /// do not ask what the device takes. It goes on when this is dropped where a path of a BPF file system is named, until
    /// [`release_cutter`](Self::release_cutter). Without it they are dropped.
    ///
    /// # Errors
    /// No veth; the kernel's refusal; the path cannot be.
    pub fn cut(&mut self, path: Option<&Path>) -> Result<(), Error> {
        self.cutter = Some(Cutter::start(&self.device, &self.programs, path)?);
        Ok(())
    }

    /// Takes away what a former life kept at a path to cut superpackets of a device.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn release_cutter(device: u32, path: &Path) -> Result<(), Error> {
        cutter::release(device, path)
    }

    /// Takes away what was made to cut superpackets and not kept, by a process that died meanwhile. Of a device's index it is
    /// asked at which path it would be kept.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn sweep_cutters(path: impl Fn(u32) -> PathBuf) -> io::Result<()> {
        cutter::sweep(path)
    }

    /// Takes off a device what a former life kept at a path.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn release(device: u32, path: &Path) -> Result<(), Error> {
        Ok(release_path(PathProgram::Steer, device, path)?)
    }

    /// Does an operation, whole or not at all: each packet meets all of a prefix's new lists, or all those before.
    ///
    /// # Errors
    /// What tables cannot hold; the kernel's refusal.
    pub fn apply(&mut self, operation: Operation) -> Result<(), Error> {
        match operation {
            Operation::Set { prefix, lists } => self.set(prefix, self.options.ways(lists)),
            Operation::Remove { prefix } => self.remove(prefix.trunc()),
        }
    }

    /// Has a prefix go these ways, whole or not at all: each packet meets all of them, or all those before. No way is plain
    /// routing. Flows of lists that were there before stay where they are; others wait, where packets can be
    /// [held](Self::hold), until nothing of theirs is overtaken.
    ///
    /// # Errors
    /// What tables cannot hold; the kernel's refusal.
    pub fn set(&mut self, prefix: IpNet, ways: Ways) -> Result<(), Error> {
        let prefix = prefix.trunc();
        if ways.lists.is_empty() {
            return self.remove(prefix);
        }
        let stacks = ways.stacks(prefix, self.options.sources)?;
        self.refuse_narrow(prefix, &stacks)?;
        let known = self.known_places(prefix, &ways);
        let set = self.sets.take(1).ok_or(Error::Full(prefix))?[0];
        let Some(free) = self.stacks.take(known.iter().filter(|place| place.is_none()).count()) else {
            self.sets.give([set]);
            return Err(Error::Full(prefix));
        };
        let asks = self.asked_by(&stacks);
        let limited = self.limit_superpackets(asks);
        let places = known.iter().zip(&stacks);
        match limited.and_then(|()| self.write(prefix, set, places, &free, ways)) {
            Ok(entry) => {
                let entry = Entry { asks, ..entry };
                let old = self.entries.remove(&prefix);
                self.release_slots(old, &entry.stacks);
                self.entries.insert(prefix, entry);
                self.allow_superpackets();
                Ok(())
            }
            // Nothing leads to what was written.
            Err(error) => {
                self.sets.give([set]);
                self.stacks.give(free);
                self.allow_superpackets();
                Err(error)
            }
        }
    }

    /// Writes stacks that are not there yet to free places, and a set of all; then turns the prefix to it.
    fn write<'a>(
        &self,
        prefix: IpNet,
        set: u32,
        places: impl Iterator<Item = (&'a Option<Placed>, &'a Stack)>,
        free: &[u32],
        ways: Ways,
    ) -> Result<Entry, Error> {
        let table = self.programs.table(&path_names::STACKS)?;
        let mut free = free.iter();
        let place = |(known, stack): (&Option<Placed>, &Stack)| match known {
            Some(placed) => Ok(*placed),
            None => {
                let slot = *free.next().ok_or(Error::Full(prefix))?;
                table.set(&slot, stack)?;
                Ok(Placed { slot, before: self.programs.list_count(slot)? })
            }
        };
        let stacks = places.map(place).collect::<Result<Vec<_>, Error>>()?;
        let slots: Vec<u32> = stacks.iter().map(|placed| placed.slot).collect();
        let lists = ways.set(&slots);
        self.programs.table(&path_names::SETS)?.set(&set, &lists)?;
        self.programs.set_prefix(&prefix_key(prefix), set)?;
        Ok(Entry { set, lists, ways, stacks, asks: Asked::default() })
    }

    /// Where the stacks of ways stand already, each place once.
    fn known_places(&self, prefix: IpNet, ways: &Ways) -> Vec<Option<Placed>> {
        let mut known: Vec<(&RelayList, Placed)> = match self.entries.get(&prefix) {
            Some(entry) if entry.ways.encapsulation == ways.encapsulation => {
                entry.ways.lists.iter().zip(entry.stacks.iter().copied()).collect()
            }
            _ => Vec::new(),
        };
        let place = |list| {
            let at = known.iter().position(|(known, _)| *known == list)?;
            Some(known.remove(at).1)
        };
        ways.lists.iter().map(place).collect()
    }

    /// Refuses headers that leave less than the least MTU of IPv6 (RFC 8200 section 5): no sender could be told of it.
    fn refuse_narrow(&self, prefix: IpNet, stacks: &[Stack]) -> Result<(), Error> {
        let most = stacks.iter().map(|stack| stack.length).max().unwrap_or_default();
        if matches!(prefix, IpNet::V4(_)) || most == 0 {
            return Ok(());
        }
        let mtu = self.device.mtu()?.min(self.options.mtu.unwrap_or(u32::MAX));
        if mtu < most + LEAST_MTU { Err(Error::Narrow(prefix, most, mtu)) } else { Ok(()) }
    }

    /// What stacks ask of superpackets.
    fn asked_by(&self, stacks: &[Stack]) -> Asked {
        let is_whole = self.options.superpackets == Superpackets::Whole;
        Asked {
            none: !is_whole && stacks.iter().any(|stack| stack.count > 1),
            room: stacks.iter().any(|stack| (is_whole || stack.count == 1) && stack.length > SPARE),
        }
    }

    /// Has senders make no superpackets for the device, or none that leave no room, those of connections that are open among
    /// them.
    fn limit_superpackets(&mut self, asked: Asked) -> Result<(), Error> {
        if asked.none && self.segments.is_none() {
            let segments = self.device.segments()?;
            if segments != 1 {
                self.device.set_segments(1)?;
                self.segments = Some(segments);
            }
        }
        if asked.room && self.lengths.is_none() {
            let lengths = self.device.lengths()?;
            let less = lengths.at_most(LONGEST_UNDER_STACKS);
            if less != lengths {
                self.device.set_lengths(less)?;
                self.lengths = Some(lengths);
            }
        }
        Ok(())
    }

    /// Allows superpackets again, where nothing speaks against them any more.
    fn allow_superpackets(&mut self) {
        // Where the device is gone, so is its setting.
        if !self.entries.values().any(|entry| entry.asks.none)
            && let Some(segments) = self.segments.take()
        {
            let _ = self.device.set_segments(segments);
        }
        if !self.entries.values().any(|entry| entry.asks.room)
            && let Some(lengths) = self.lengths.take()
        {
            let _ = self.device.set_lengths(lengths);
        }
    }

    /// The device's index.
    pub fn device(&self) -> u32 {
        self.device.index
    }

    /// How many segments the device's superpackets had before they were forbidden; for the next life to know.
    pub fn segments_before(&self) -> Option<u32> {
        self.segments
    }

    /// How long they were before they had to leave room; likewise.
    pub fn lengths_before(&self) -> Option<Lengths> {
        self.lengths
    }

    /// As [`segments_before`](Self::segments_before) and [`lengths_before`](Self::lengths_before) were in a former life, which
    /// left the device as it was.
    pub fn recall(&mut self, segments: Option<u32>, lengths: Option<Lengths>) {
        (self.segments, self.lengths) = (segments, lengths);
    }

    fn remove(&mut self, prefix: IpNet) -> Result<(), Error> {
        self.programs.remove_prefix(&prefix_key(prefix))?;
        let old = self.entries.remove(&prefix);
        self.release_slots(old, &[]);
        self.allow_superpackets();
        Ok(())
    }

    /// Gives back what an entry had, but for the stacks that are still read.
    fn release_slots(&mut self, old: Option<Entry>, still: &[Placed]) {
        if let Some(old) = old {
            self.sets.give([old.set]);
            let is_free = |slot: &u32| !still.iter().any(|placed| placed.slot == *slot);
            self.stacks.give(old.stacks.iter().map(|placed| placed.slot).filter(is_free));
        }
    }

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

fn nanos(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// A mark that is nobody else's, in all likelihood, and not nought.
fn mark() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("mark") as u32 | 1
}

fn prefix_key(prefix: IpNet) -> PrefixKey {
    PrefixKey::new(prefix.network(), prefix.prefix_len())
}

impl Drop for Paths {
    fn drop(&mut self) {
        if !self.is_kept {
            self.entries.clear();
            self.allow_superpackets();
        }
    }
}
