//! Programs of path control in the kernel.

use crate::attachment::{Attachment, put_first, put_last, succeed, take_off};
use crate::clsact::Side;
use crate::object;
use crate::programs::{Error, Ran};
use crate::table::{Table, TableName, path_names};
use libbpf_rs::{MapCore, MapFlags, Object};
use plait_dataplane_reference::paths::tables::{ListCount, PathDrop, PrefixKey, Steering};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::atomic::{Ordering, fence};
use zerocopy::{FromBytes, IntoBytes};

/// The compiled programs.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/paths.bpf.o"));

/// A program of path control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathProgram {
    /// Puts stacks before what leaves a host.
    Steer,
    /// Has what was held leave by the device that it was to leave by.
    Release,
    /// Has what was cut leave by the device that it was to leave by.
    Again,
    /// Takes a relay's header off what comes in.
    Relay,
    /// Refuses what comes from outside with the stacks' source.
    Border,
}

impl PathProgram {
    /// Its name, in the kernel's lists too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::Release => "release",
            Self::Again => "again",
            Self::Relay => "relay",
            Self::Border => "border",
        }
    }

    fn side(self) -> Side {
        match self {
            Self::Steer => Side::Outgoing,
            Self::Release | Self::Again | Self::Relay | Self::Border => Side::Incoming,
        }
    }
}

/// Takes off a device what a former life kept at a path; and the path's name.
///
/// # Errors
/// It cannot be taken off, or the name cannot be removed.
pub fn release_path(program: PathProgram, interface: u32, path: &Path) -> Result<(), Error> {
    take_off(program.side(), interface, path)
}

/// How many entries tables hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathSizes {
    /// Prefixes.
    pub prefixes: u32,
    /// Sets of relay lists, those that change counted twice.
    pub sets: u32,
    /// Relay lists, likewise.
    pub stacks: u32,
    /// Flows that are known.
    pub flows: u32,
}

impl Default for PathSizes {
    /// Choice: eight lists for each of 512 prefixes, and once more while all change, in 8 MiB.
    fn default() -> Self {
        Self { prefixes: 16_384, sets: 1024, stacks: 8192, flows: 65_536 }
    }
}

impl PathSizes {
    fn of(self, table: &str) -> Option<u32> {
        match table {
            "prefixes" => Some(self.prefixes),
            "sets" => Some(self.sets),
            "stacks" | "list_counts" => Some(self.stacks),
            "flows" | "moves" => Some(self.flows),
            _ => None,
        }
    }
}

/// Loaded programs of path control with their tables.
pub struct PathPrograms {
    object: Object,
}

impl PathPrograms {
    /// Loads the programs. The table of flows is the one that a former life kept at a path, as large as it is there; where
    /// there is none, a new one is kept there.
    ///
    /// # Errors
    /// The kernel refuses: no permission, too old, or no room; the path cannot be.
    pub fn load(steering: &Steering, sizes: PathSizes, flows: Option<&Path>) -> Result<Self, Error> {
        let mut open = object::open(OBJECT, "paths", "steering", steering.as_bytes())?;
        let kept = flows.filter(|path| path.exists());
        for mut map in open.maps_mut() {
            if let Some(entries) = map.name().to_str().and_then(|name| sizes.of(name)) {
                map.set_max_entries(entries)?;
            }
            if map.name() == path_names::FLOWS.name
                && let Some(path) = kept
            {
                map.reuse_pinned_map(path)?;
            }
        }
        let object = open.load()?;
        if let (Some(path), None) = (flows, kept) {
            object::map(&object, path_names::FLOWS.name)?.pin(path)?;
        }
        let programs = Self { object };
        programs.begin_generation()?;
        Ok(programs)
    }

    /// Begins with a number that a former life's flows do not have, in all likelihood.
    fn begin_generation(&self) -> Result<(), Error> {
        let generation = RandomState::new().hash_one("generation") as u32;
        self.table(&path_names::GENERATIONS)?.set(&0, &generation)
    }

    /// Empties all tables, flows and counters too: programs are as they were when they were loaded.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn clear(&self) -> Result<(), Error> {
        object::clear(&self.object)?;
        self.begin_generation()
    }

    /// Turns a prefix to a set, for flows that are known, too.
    ///
    /// # Errors
    /// No room; the kernel's refusal.
    pub fn set_prefix(&self, prefix: &PrefixKey, set: u32) -> Result<(), Error> {
        self.table(&path_names::PREFIXES)?.set(prefix, &set)?;
        self.next_generation()
    }

    /// Removes a prefix; whether it was there.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn remove_prefix(&self, prefix: &PrefixKey) -> Result<bool, Error> {
        let was_there = self.table(&path_names::PREFIXES)?.remove(prefix)?;
        self.next_generation()?;
        Ok(was_there)
    }

    /// Has no flow go by what was found before.
    fn next_generation(&self) -> Result<(), Error> {
        // Who reads the new generation finds the new prefixes.
        fence(Ordering::SeqCst);
        let generations = self.table(&path_names::GENERATIONS)?;
        let generation = generations.get(&0)?.unwrap_or_default();
        generations.set(&0, &generation.wrapping_add(1))
    }

    /// Puts a program on a device, behind those that are there; a border before them, since a relay takes off what it looks
    /// at.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn attach(&self, program: PathProgram, interface: u32) -> Result<Attachment, Error> {
        let put = if program == PathProgram::Border { put_first } else { put_last };
        put(&object::program(&self.object, program.name())?, program.side(), interface)
    }

    /// Puts a program in the place of one that a former life kept at a path of a BPF file system; on a device where there
    /// is none, attaches it. No packet is without a program meanwhile. It is kept there.
    ///
    /// # Errors
    /// No such device; the kernel's refusal; the path cannot be.
    pub fn succeed(&self, program: PathProgram, interface: u32, path: &Path) -> Result<Attachment, Error> {
        let is_first = program == PathProgram::Border;
        succeed(
            &mut object::program(&self.object, program.name())?,
            program.side(),
            interface,
            path,
            is_first,
        )
    }

    /// A table.
    ///
    /// # Errors
    /// Too many open files.
    pub fn table<K, V>(&self, name: &TableName<K, V>) -> Result<Table<K, V>, Error> {
        object::table(&self.object, name)
    }

    /// Sends a packet through a program, by no device.
    ///
    /// # Errors
    /// The kernel's refusal, such as of a packet shorter than its headers.
    pub fn run(&self, program: PathProgram, packet: &[u8]) -> Result<Ran, Error> {
        object::run(&object::program(&self.object, program.name())?, packet, object::verdict)
    }

    /// How much was sent by a stack.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn list_count(&self, stack: u32) -> Result<ListCount, Error> {
        let map = object::map(&self.object, "list_counts")?;
        let counts = map.lookup_percpu(&stack.to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
        let counts = counts.iter().filter_map(|bytes| ListCount::read_from_bytes(bytes).ok());
        Ok(counts.fold(ListCount { packets: 0, bytes: 0 }, |sum, count| ListCount {
            packets: sum.packets + count.packets,
            bytes: sum.bytes + count.bytes,
        }))
    }

    /// How many packets were dropped, by reason; those that dropped none are left out.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn drops(&self) -> Result<BTreeMap<PathDrop, u64>, Error> {
        let map = object::map(&self.object, "path_drops")?;
        let mut drops = BTreeMap::new();
        for reason in PathDrop::ALL {
            let counts =
                map.lookup_percpu(&reason.counter().to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
            let sum: u64 = counts.iter().filter_map(|bytes| u64::read_from_bytes(bytes).ok()).sum();
            if sum > 0 {
                drops.insert(*reason, sum);
            }
        }
        Ok(drops)
    }
}
