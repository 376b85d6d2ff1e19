//! Programs in the kernel.

use crate::counters::Counters;
use crate::object::{self, is_constant};
use crate::table::{Table, TableName, names};
use libbpf_rs::{MapCore, MapHandle, Object, OpenObject};
use plait_dataplane_reference::tables::{Count, Device, Drop, TenantCount};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use thiserror::Error;
use zerocopy::IntoBytes;

/// The compiled programs.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/overlay.bpf.o"));

/// Why programs or tables did not do what they had to.
#[derive(Debug, Error)]
pub enum Error {
    /// What libbpf or the kernel says.
    #[error("{0}")]
    Bpf(#[from] libbpf_rs::Error),
    /// A filter on a device of a kernel without TCX.
    #[error("clsact: {0}")]
    Clsact(#[source] std::io::Error),
    /// A name of a table that is in the way.
    #[error("{0}: {1}")]
    Pin(PathBuf, #[source] std::io::Error),
    /// A driver without XDP.
    #[error("the device's driver runs no XDP programs")]
    NoXdp,
    /// Something that must be in the object is not.
    #[error("the compiled programs have no {0}")]
    Absent(&'static str),
}

impl Error {
    /// The same as the system's errors are.
    pub fn kind(&self) -> std::io::ErrorKind {
        match self {
            Self::Bpf(error) => match error.kind() {
                libbpf_rs::ErrorKind::PermissionDenied => std::io::ErrorKind::PermissionDenied,
                libbpf_rs::ErrorKind::OutOfMemory => std::io::ErrorKind::OutOfMemory,
                _ => std::io::ErrorKind::Unsupported,
            },
            Self::Clsact(error) | Self::Pin(_, error) => error.kind(),
            Self::NoXdp => std::io::ErrorKind::Unsupported,
            Self::Absent(_) => std::io::ErrorKind::NotFound,
        }
    }
}

/// Has libbpf keep to itself what it thinks of refusals, in this process.
pub fn silence() {
    libbpf_rs::set_print(None);
}

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    /// What leaves a tenant's device.
    Transmit,
    /// What comes in by the underlay.
    Receive,
    /// What passes by the underlay, before the kernel makes a packet of it.
    Relay,
    /// What programs of this host send by the underlay.
    Guard,
}

impl Program {
    /// All that there are.
    pub const ALL: [Self; 4] = [Self::Transmit, Self::Receive, Self::Relay, Self::Guard];

    /// Its name, in the kernel's lists too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
            Self::Relay => "relay",
            Self::Guard => "guard",
        }
    }
}

/// How many entries tables hold. Those of arrays cost memory whether they are used or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Identifiers.
    pub identifiers: u32,
    /// Nodes and groups; and as many paths, hops and wires.
    pub nodes: u32,
}

impl Default for Sizes {
    /// Choice: a node that holds all of a large fabric's stations, in 1 MiB of buckets and 5 MiB of arrays, and half a MiB of counters
    /// for each processor: 96 bytes a node.
    fn default() -> Self {
        Self { identifiers: 65_536, nodes: 4096 }
    }
}

impl Sizes {
    /// Next hops: all nodes, and all once more while they change.
    pub fn hops(self) -> u32 {
        self.nodes.saturating_mul(2)
    }

    /// Groups, likewise. Choice: one node in eight is a group, at least 128.
    pub fn groups(self) -> u32 {
        (self.nodes / 4).max(256)
    }

    /// Outer headers. Choice: four a node, for two locators here and there, or another encapsulation.
    pub fn wires(self) -> u32 {
        self.nodes.saturating_mul(4)
    }

    /// Neighbours: all nodes may be on one link.
    pub fn neighbours(self) -> u32 {
        self.nodes
    }

    /// What is known of neighbours, and once more while it changes.
    pub fn neighbour_slots(self) -> u32 {
        self.nodes.saturating_mul(2)
    }

    /// How many entries a table has, if that depends on these.
    fn of(self, table: &str) -> Option<u32> {
        Some(match table {
            "fib" => self.identifiers,
            "nodes" | "paths" | "path_counts" | "hop_counts" | "limits" => self.nodes,
            "hops" => self.hops(),
            "groups" => self.groups(),
            "wires" | "wire_counts" | "locators" => self.wires(),
            // Each of a node's pairs of locators, in a few encapsulations.
            "peers" => self.nodes.saturating_mul(16),
            "adjacencies" => self.neighbours(),
            "adjacency_slots" => self.neighbour_slots(),
            _ => return None,
        })
    }
}

/// What the numbers mean that a program of XDP gives back.
pub(crate) fn xdp_verdict(returned: i32) -> Verdict {
    match returned {
        1 => Verdict::Dropped,
        2 => Verdict::Next,
        3 | 4 => Verdict::Redirected,
        other => Verdict::Other(other),
    }
}

/// What a program says of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is none of the overlay's.
    Next,
    /// It goes no further.
    Dropped,
    /// It goes to another device.
    Redirected,
    /// Any other.
    Other(i32),
}

/// What became of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// What the program said.
    pub verdict: Verdict,
    /// The packet as it left it.
    pub packet: Vec<u8>,
}

/// Loaded programs with their tables.
pub struct Programs {
    pub(crate) object: Object,
    generations: Table<u32, u64>,
    counters: Counters,
}

impl Programs {
    /// Loads programs for a device, with all tables: no others than are wanted, since the kernel looks at each for long.
    ///
    /// # Errors
    /// The kernel refuses: no permission, too old, or no room.
    pub fn load(wanted: &[Program], device: &Device, sizes: Sizes) -> Result<Self, Error> {
        Self::load_from(OBJECT, wanted, device, sizes)
    }

    /// The same from other compiled programs of these names and tables: those with a driver more
    /// (`programs/include/driver.h`).
    ///
    /// # Errors
    /// As with [`load`](Self::load).
    pub fn load_from(
        compiled: &'static [u8],
        wanted: &[Program],
        device: &Device,
        sizes: Sizes,
    ) -> Result<Self, Error> {
        let mut open = Self::open(compiled, wanted, device)?;
        for mut map in open.maps_mut() {
            if let Some(entries) = map.name().to_str().and_then(|name| sizes.of(name)) {
                map.set_max_entries(entries)?;
            }
        }
        Self::of(open.load()?)
    }

    fn of(object: Object) -> Result<Self, Error> {
        Ok(Self {
            generations: object::table(&object, &names::GENERATIONS)?,
            counters: Counters::of(&object)?,
            object,
        })
    }

    /// Loads the sending program, for another device, with the tables of these.
    ///
    /// # Errors
    /// As with [`load`](Self::load).
    pub fn share(&self, device: &Device) -> Result<Self, Error> {
        let mut open = Self::open(OBJECT, &[Program::Transmit], device)?;
        for mut map in open.maps_mut() {
            if !is_constant(map.name())
                && let Some(known) = self.object.maps().find(|known| known.name() == map.name())
            {
                map.reuse_fd(known.as_fd())?;
            }
        }
        Self::of(open.load()?)
    }

    /// The compiled programs with their constants, not yet given to the kernel.
    fn open(compiled: &'static [u8], wanted: &[Program], device: &Device) -> Result<OpenObject, Error> {
        let mut open = object::open(compiled, "overlay", "device", device.as_bytes())?;
        for mut program in open.progs_mut() {
            let is_wanted = wanted.iter().any(|wanted| program.name() == wanted.name());
            program.set_autoload(is_wanted);
        }
        Ok(open)
    }

    /// Names all tables in a folder of a BPF file system, in place of those that had the names before.
    ///
    /// # Errors
    /// No such folder, or none of that file system.
    pub fn pin_tables(&self, folder: &Path) -> Result<(), Error> {
        for map in self.object.maps().filter(|map| !is_constant(map.name())) {
            let path = folder.join(map.name());
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::Pin(path, error));
                }
                _ => MapHandle::try_from(&map)?.pin(&path)?,
            }
        }
        Ok(())
    }

    /// A table.
    ///
    /// # Errors
    /// Too many open files.
    pub fn table<K, V>(&self, name: &TableName<K, V>) -> Result<Table<K, V>, Error> {
        object::table(&self.object, name)
    }

    /// Empties all tables, counters too, those that are [shared](Self::share) for all who share them: programs are as they were when they
    /// were loaded, which takes the kernel a moment where to look at them again takes it long.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn clear(&self) -> Result<(), Error> {
        object::clear(&self.object)
    }

    /// Has receiving programs look anew at what they know of those they heard lately. To be called after tables were
    /// written: without it they see it after a moment.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn turn(&self) -> Result<(), Error> {
        let now = clock_gettime(ClockId::Monotonic);
        let generation = (now.tv_sec as u64) * 1_000_000_000 + now.tv_nsec as u64;
        self.generations.set(&0, &generation)
    }

    /// What they count, all of it.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many packets were dropped, by reason; those that dropped none are left out.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn drops(&self) -> Result<BTreeMap<Drop, u64>, Error> {
        self.counters.drops()
    }

    /// What a tenant's device sent and received, and did not know.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn tenant_count(&self, tenant: u32) -> Result<TenantCount, Error> {
        self.counters.tenant(tenant)
    }

    /// How many packets took a path.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn path_count(&self, path: u32) -> Result<Count, Error> {
        self.counters.path(path)
    }

    /// How many packets were sent to a next hop, by its own path.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn hop_count(&self, path: u32) -> Result<Count, Error> {
        self.counters.hop(path)
    }

    /// How many packets were sent by a wire, which is a node's pair of locators.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn wire_count(&self, wire: u32) -> Result<Count, Error> {
        self.counters.wire(wire)
    }

    /// Begins to count anew what takes a path, and what is sent to its node as a next hop.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn forget_counts(&self, path: u32) -> Result<(), Error> {
        self.counters.forget_path(path)?;
        self.forget_hop_count(path)
    }

    /// Begins to count anew what a tenant's device sends and receives.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn forget_tenant_count(&self, tenant: u32) -> Result<(), Error> {
        self.counters.forget_tenant(tenant)
    }

    /// Begins to count anew what is sent to a path's node as a next hop.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn forget_hop_count(&self, path: u32) -> Result<(), Error> {
        self.counters.forget_hop(path)
    }

    /// Begins to count anew what is sent by a wire.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn forget_wire_count(&self, wire: u32) -> Result<(), Error> {
        self.counters.forget_wire(wire)
    }

    /// Sends a packet through a program. No device is needed; copies for groups go to theirs all the same.
    ///
    /// # Errors
    /// The kernel's refusal, such as of a packet shorter than an Ethernet header.
    pub fn run(&self, program: Program, packet: &[u8]) -> Result<Ran, Error> {
        let verdict = if program == Program::Relay { xdp_verdict } else { object::verdict };
        object::run(&self.program(program)?, packet, verdict)
    }

    /// The same of one that this host took in by an interface, of programs but the relay.
    ///
    /// # Errors
    /// As with [`run`](Self::run).
    pub fn run_from(&self, program: Program, packet: &[u8], interface: u32) -> Result<Ran, Error> {
        object::run_from(&self.program(program)?, packet, interface)
    }

    /// The same of a superpacket, whose payload is to be cut to so many bytes each. The kernel knows of it no more than that: not
    /// what to make of its headers, so that no program makes it longer or shorter.
    ///
    /// # Errors
    /// As with [`run`](Self::run).
    pub fn run_superpacket(&self, program: Program, packet: &[u8], segment: u32) -> Result<Ran, Error> {
        object::run_superpacket(&self.program(program)?, packet, segment)
    }

    pub(crate) fn program(&self, program: Program) -> Result<libbpf_rs::ProgramMut<'_>, Error> {
        object::program(&self.object, program.name())
    }
}
