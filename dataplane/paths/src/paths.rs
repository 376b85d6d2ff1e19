//! A device whose packets are steered.

mod live;

use crate::cutter::{self, Cutter};
use crate::device::{Device, Lengths};
use crate::error::Error;
use crate::options::{Options, Superpackets, Ways, longest_hold, longest_silence};
use crate::slots::Slots;
use crate::superpackets::{Asked, Limits};
use ipnet::IpNet;
use plait_control_paths::{Operation, RelayList};
use plait_dataplane_bpf::{Attachment, PathProgram, PathPrograms, path_names, release_path};
use plait_dataplane_reference::paths::tables::*;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What every link of IPv6 carries.
const LEAST_MTU: u32 = 1280;

/// What stands in the tables for a prefix.
struct Entry {
    set: u32,
    lists: ListSet,
    ways: Ways,
    stacks: Vec<Placed>,
    asks: Asked,
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
    /// What the device's superpackets were before stacks asked for others.
    before: Limits,
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
            before: Limits::default(),
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
        let asks = Asked::by(&stacks, self.options.superpackets);
        let limited = self.before.limit(&self.device, asks);
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
        let place = |(known, stack): (&Option<Placed>, &Stack)| {
            let placed = match known {
                Some(placed) => *placed,
                None => {
                    let slot = *free.next().ok_or(Error::Full(prefix))?;
                    table.set(&slot, stack)?;
                    Placed { slot, before: self.programs.list_count(slot)? }
                }
            };
            Ok((placed, (placed.slot, stack.length)))
        };
        let placed = places.map(place).collect::<Result<Vec<_>, Error>>()?;
        let (stacks, slots): (Vec<Placed>, Vec<(u32, u32)>) = placed.into_iter().unzip();
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

    /// Allows superpackets again, where nothing speaks against them any more.
    fn allow_superpackets(&mut self) {
        let asked = self.entries.values().fold(Asked::default(), |asked, entry| asked.or(entry.asks));
        self.before.allow(&self.device, asked);
    }

    /// The device's index.
    pub fn device(&self) -> u32 {
        self.device.index
    }

    /// How many segments the device's superpackets had before they were forbidden; for the next life to know.
    pub fn segments_before(&self) -> Option<u32> {
        self.before.segments
    }

    /// How long they were before they had to leave room; likewise.
    pub fn lengths_before(&self) -> Option<Lengths> {
        self.before.lengths
    }

    /// As [`segments_before`](Self::segments_before) and [`lengths_before`](Self::lengths_before) were in a former life, which
    /// left the device as it was.
    pub fn recall(&mut self, segments: Option<u32>, lengths: Option<Lengths>) {
        self.before = Limits { segments, lengths };
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
