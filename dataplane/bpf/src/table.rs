//! Tables by the types that stand in them.

use crate::programs::Error;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use plait_dataplane_reference::tables::*;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The name of a table with its types.
pub struct TableName<K, V> {
    pub(crate) name: &'static str,
    types: PhantomData<(K, V)>,
}

impl<K, V> TableName<K, V> {
    const fn new(name: &'static str) -> Self {
        Self { name, types: PhantomData }
    }
}

macro_rules! names {
    ($($(#[$doc:meta])* $vis:vis const $constant:ident: $key:ty => $value:ty = $name:literal;)+) => {
        $($(#[$doc])* $vis const $constant: TableName<$key, $value> = TableName::new($name);)+
    };
}

/// The tables that there are.
#[allow(clippy::module_inception, reason = "names stand apart from what they name")]
pub mod names {
    use super::*;

    names! {
        /// From identifiers to where they are.
        pub const FIB: FibKey => FibEntry = "fib";
        /// From nodes and groups to paths.
        pub const NODES: NodeKey => u32 = "nodes";
        /// A kind of [`path`] in the upper half, an index in the lower.
        pub const PATHS: u32 => u64 = "paths";
        /// What fits each path: a second in the upper half, bytes in the lower.
        pub const LIMITS: u32 => u64 = "limits";
        /// Bounds what is said about packets that are too big.
        pub const ANSWERING: u32 => Bucket = "answering";
        /// Bounds how fast stations of each tenant are learned.
        pub const LEARNING: u32 => Bucket = "learning";
        /// Next hops with their locators.
        pub const HOPS: u32 => Hop = "hops";
        /// Next hops that all get a copy.
        pub const GROUPS: u32 => Group = "groups";
        /// Outer headers.
        pub const WIRES: u32 => Wire = "wires";
        /// Indices of slots.
        pub const ADJACENCIES: u32 => u64 = "adjacencies";
        /// Neighbours.
        pub const ADJACENCY_SLOTS: u32 => Adjacency = "adjacency_slots";
        /// Applications by their numbers.
        pub const APPLICATIONS: u32 => Application = "applications";
        /// Tenants by their numbers on this node.
        pub const TENANTS: u32 => Tenant = "tenants";
        /// From VNIs to tenants.
        pub const VNIS: VniKey => u32 = "vnis";
        /// Pairs of another's locator and an own one.
        pub const PEERS: PeerKey => Peer = "peers";
        /// One number, which is another after each change.
        pub(crate) const GENERATIONS: u32 => u64 = "generations";
        /// Own locators.
        pub const ENDPOINTS: EndpointKey => u32 = "endpoints";
        /// Devices that take packets from XDP, each by its own number.
        pub const EXITS: u32 => u32 = "exits";
        /// The device that a mirror forwards to.
        pub const FORWARDED_TO: u32 => u64 = "forwarded_to";
        /// Packets that a mirror let go of.
        pub const SWALLOWED: u32 => u64 = "swallowed";
        /// When packets came, by their kind.
        pub const SIGHTINGS: u32 => Sighting = "sightings";
        /// Who cuts superpackets that could not be taken in whole.
        pub const SEGMENTERS: u32 => Segmenter = "segmenters";
        /// What devices are to packets that come by them: [`entrance`].
        pub const ENTRANCES: u32 => u32 = "entrances";
        /// Where the kernel finds ways for what nobody knows.
        pub const WAYS_OUT: u32 => WayOut = "ways_out";
        /// Whose a locator is.
        pub const LOCATORS: LocatorKey => u32 = "locators";
    }
}

/// The tables of path control.
pub mod path_names {
    use super::*;
    use plait_dataplane_reference::paths::tables::*;

    names! {
        /// From prefixes of destinations to sets. [`PathPrograms`](crate::PathPrograms) writes it, with its generation.
        pub const PREFIXES: PrefixKey => u32 = "prefixes";
        /// A number that is another one after each change of prefixes.
        pub const GENERATIONS: u32 => u32 = "generations";
        /// Relay lists of prefixes.
        pub const SETS: u32 => ListSet = "sets";
        /// Headers of relay lists.
        pub const STACKS: u32 => Stack = "stacks";
        /// Flows that were heard of.
        pub const FLOWS: FlowKey => Flow = "flows";
        /// Where flows are moved: a set in the upper half, a list in the lower.
        pub const MOVES: FlowKey => u64 = "moves";
        /// Who holds packets of flows that move.
        pub const HOLDERS: u32 => Holder = "holders";
        /// Who cuts superpackets.
        pub const CUTTERS: u32 => Cutter = "cutters";
        /// Whom a relay decapsulates for, each with its encapsulations as bits.
        pub const RELAYS: RelayKey => u32 = "relays";
    }
}

/// A table of loaded programs.
pub struct Table<K, V> {
    pub(crate) map: MapHandle,
    pub(crate) types: PhantomData<(K, V)>,
}

impl<K, V> Table<K, V> {
    /// The table of a name in a folder where [`Programs::pin_tables`](crate::Programs::pin_tables) named it.
    ///
    /// # Errors
    /// There is none.
    pub fn pinned(folder: &Path, name: &TableName<K, V>) -> Result<Self, Error> {
        Ok(Self { map: MapHandle::from_pinned_path(folder.join(name.name))?, types: PhantomData })
    }
}

impl<K: FromBytes + IntoBytes + Immutable, V: FromBytes + IntoBytes + Immutable> Table<K, V> {
    /// The value of a key.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn get(&self, key: &K) -> Result<Option<V>, Error> {
        let found = self.map.lookup(key.as_bytes(), MapFlags::ANY)?;
        Ok(found.and_then(|bytes| V::read_from_bytes(&bytes).ok()))
    }

    /// Sets the value of a key. A value of eight bytes changes as one; of a larger one in an array a program may see
    /// parts.
    ///
    /// # Errors
    /// A table that is full; the kernel's refusal.
    pub fn set(&self, key: &K, value: &V) -> Result<(), Error> {
        Ok(self.map.update(key.as_bytes(), value.as_bytes(), MapFlags::ANY)?)
    }

    /// Removes a key; whether it was there.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn remove(&self, key: &K) -> Result<bool, Error> {
        match self.map.delete(key.as_bytes()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == libbpf_rs::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The key behind another one, in the kernel's order, or the first. Behind one that is not there is the first again.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn after(&self, key: Option<&K>) -> Result<Option<K>, Error> {
        let mut next = vec![0; size_of::<K>()];
        let before = key.map_or(std::ptr::null(), |key| key.as_bytes().as_ptr());
        let map = self.map.as_fd().as_raw_fd();
        // SAFETY: the kernel reads a key, if there is one, and writes one: both are as long as those of the map.
        let found = unsafe {
            libbpf_sys::bpf_map_get_next_key(map, before.cast::<c_void>(), next.as_mut_ptr().cast::<c_void>())
        };
        match found {
            0 => Ok(K::read_from_bytes(&next).ok()),
            refused if refused == -libc::ENOENT => Ok(None),
            refused => Err(Error::Bpf(std::io::Error::from_raw_os_error(-refused).into())),
        }
    }

    /// All keys, in no order. Those that come and go meanwhile may be missing.
    pub fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.map.keys().filter_map(|bytes| K::read_from_bytes(&bytes).ok())
    }
}
