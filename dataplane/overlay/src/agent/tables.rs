//! The data plane's tables in the kernel.

use super::refused::Refused;
use crate::Write;
use plait_dataplane_bpf::{Error, Program, Programs, Sizes, Table, names};
use plait_dataplane_reference::tables::*;
use plait_dataplane_reference::{self as reference, Walk};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The data plane's tables in the kernel, and the programs that read them on the underlay's devices.
pub(super) struct Tables {
    pub programs: Programs,
    pub fib: Arc<Table<FibKey, FibEntry>>,
    pub tenants: Arc<Table<u32, Tenant>>,
    pub vnis: Arc<Table<VniKey, u32>>,
    applications: Arc<Table<u32, Application>>,
    nodes: Arc<Table<NodeKey, u32>>,
    paths: Arc<Table<u32, u64>>,
    limits: Arc<Table<u32, u64>>,
    hops: Arc<Table<u32, Hop>>,
    groups: Arc<Table<u32, Group>>,
    wires: Arc<Table<u32, Wire>>,
    adjacencies: Arc<Table<u32, u64>>,
    adjacency_slots: Arc<Table<u32, Adjacency>>,
    peers: Arc<Table<PeerKey, Peer>>,
    endpoints: Arc<Table<EndpointKey, u32>>,
    locators: Arc<Table<LocatorKey, u32>>,
    entrances: Arc<Table<u32, u32>>,
    ways_out: Arc<Table<u32, WayOut>>,
    segmenters: Arc<Table<u32, Segmenter>>,
    /// How many entries were written.
    written: Cell<u64>,
    /// Writes that the kernel refused, which are tried again before others; of an entry the newest alone.
    refused: RefCell<Refused>,
}

/// A device that nobody has: what the programs of the underlay's devices are loaded with. Those of tenants' devices follow.
const NONE: Device = Device { tenant: 0, driver: 0, prefix: [0; 2], offset: 0, mask: [0; 16] };

impl Tables {
    pub fn load(sizes: Sizes, xdp: bool) -> Result<Self, Error> {
        let relay = xdp.then_some(Program::Relay);
        let wanted: Vec<Program> = [Program::Receive, Program::Guard].into_iter().chain(relay).collect();
        let programs = Programs::load(&wanted, &NONE, sizes)?;
        Ok(Self {
            fib: programs.table(&names::FIB)?.into(),
            tenants: programs.table(&names::TENANTS)?.into(),
            vnis: programs.table(&names::VNIS)?.into(),
            applications: programs.table(&names::APPLICATIONS)?.into(),
            nodes: programs.table(&names::NODES)?.into(),
            paths: programs.table(&names::PATHS)?.into(),
            limits: programs.table(&names::LIMITS)?.into(),
            hops: programs.table(&names::HOPS)?.into(),
            groups: programs.table(&names::GROUPS)?.into(),
            wires: programs.table(&names::WIRES)?.into(),
            adjacencies: programs.table(&names::ADJACENCIES)?.into(),
            adjacency_slots: programs.table(&names::ADJACENCY_SLOTS)?.into(),
            peers: programs.table(&names::PEERS)?.into(),
            endpoints: programs.table(&names::ENDPOINTS)?.into(),
            locators: programs.table(&names::LOCATORS)?.into(),
            entrances: programs.table(&names::ENTRANCES)?.into(),
            ways_out: programs.table(&names::WAYS_OUT)?.into(),
            segmenters: programs.table(&names::SEGMENTERS)?.into(),
            written: Cell::default(),
            refused: RefCell::default(),
            programs,
        })
    }

    /// Does writes in their order. One that the kernel refuses, without memory say, keeps no other from being done: who
    /// made them takes all for done.
    pub fn apply(&self, writes: &[Write]) -> Result<(), Error> {
        let again = self.refused.take();
        let mut first = Ok(());
        for write in again.in_order().chain(writes) {
            self.count_write();
            let done = self.write(write);
            // What was refused of the entry before is no more to be written.
            self.refused.borrow_mut().forget(write);
            if let Err(error) = done {
                self.refused.borrow_mut().add(write.clone());
                first = first.and(Err(error));
            }
        }
        first.and(self.programs.turn())
    }

    /// Whether the kernel refused something that is still to be written.
    pub fn is_behind(&self) -> bool {
        !self.refused.borrow().is_empty()
    }

    /// Counts an entry that is written.
    fn count_write(&self) {
        self.written.set(self.written.get() + 1);
    }

    /// Writes where an identifier is.
    pub fn set_entry(&self, key: &FibKey, entry: &FibEntry) -> Result<(), Error> {
        self.count_write();
        self.fib.set(key, entry)
    }

    /// Takes an identifier away. Whether it was there.
    pub fn remove_entry(&self, key: &FibKey) -> Result<bool, Error> {
        self.count_write();
        self.fib.remove(key)
    }

    /// Writes what a tenant's packets meet.
    pub fn set_tenant(&self, number: u32, tenant: &Tenant) -> Result<(), Error> {
        self.count_write();
        self.tenants.set(&number, tenant)
    }

    /// Writes whose a VNI is, or that it is nobody's.
    pub fn set_vni(&self, key: &VniKey, tenant: Option<u32>) -> Result<(), Error> {
        self.count_write();
        put(&self.vnis, key, tenant.as_ref())
    }

    /// How many entries were written so far.
    pub fn written(&self) -> u64 {
        self.written.get()
    }

    /// Writes what a device is to packets that come by it.
    pub fn set_entrance(&self, interface: u32, is: Option<u32>) -> Result<(), Error> {
        self.count_write();
        put(&self.entrances, &interface, is.as_ref())
    }

    /// Writes a way out where nobody reads one.
    pub fn set_way_out(&self, slot: u32, way: &WayOut) -> Result<(), Error> {
        self.count_write();
        self.ways_out.set(&slot, way)
    }

    /// Says who cuts superpackets.
    pub fn set_segmenter(&self, segmenter: Segmenter) -> Result<(), Error> {
        self.count_write();
        self.segmenters.set(&0, &segmenter)
    }

    fn write(&self, write: &Write) -> Result<(), Error> {
        match write {
            Write::Application(key, value) => self.applications.set(key, value),
            Write::Node(key, value) => {
                // What was counted by that number was another's.
                value.map_or(Ok(()), |path| self.programs.forget_counts(path))?;
                put(&self.nodes, key, value.as_ref())
            }
            Write::Path(key, value) => {
                self.paths.set(key, value)?;
                // What relays said was of the way before.
                self.limits.set(key, &0)
            }
            Write::Hop(key, value) => self.hops.set(key, value),
            Write::Group(key, value) => self.groups.set(key, value),
            Write::Wire(key, value) => self.wires.set(key, value),
            Write::Adjacency(key, value) => self.adjacencies.set(key, value),
            Write::AdjacencySlot(key, value) => self.adjacency_slots.set(key, value),
            Write::Peer(key, value) => put(&self.peers, key, value.as_ref()),
            Write::Endpoint(key, is_there) => put(&self.endpoints, key, is_there.then_some(&0)),
            Write::Locator(key, value) => put(&self.locators, key, value.as_ref()),
            Write::Forget(node) => self.forget(*node),
            Write::UncountHop(path) => self.programs.forget_hop_count(*path),
            Write::UncountWire(wire) => self.programs.forget_wire_count(*wire),
        }
    }

    /// The reference walk through the kernel's tables, of one application alone. It reads them as it goes and writes nothing.
    pub fn walk(&self, application: plait_model_overlay::Application) -> Walk {
        let number = u32::from(application.0);
        let (applications, vnis) = (self.applications.clone(), self.vnis.clone());
        Walk {
            fib: reading(&self.fib),
            nodes: reading(&self.nodes),
            paths: reading(&self.paths),
            limits: reading(&self.limits),
            hops: reading(&self.hops),
            groups: reading(&self.groups),
            wires: reading(&self.wires),
            adjacencies: reading(&self.adjacencies),
            adjacency_slots: reading(&self.adjacency_slots),
            applications: reference::Table::before(move |key| {
                Some(key).filter(|key| **key == number).and_then(|key| applications.get(key).ok()?)
            }),
            tenants: reading(&self.tenants),
            vnis: reference::Table::before(move |key: &VniKey| {
                Some(key).filter(|key| key.application == number).and_then(|key| vnis.get(key).ok()?)
            }),
            peers: reading(&self.peers),
            endpoints: reading(&self.endpoints),
            locators: reading(&self.locators),
            entrances: reading(&self.entrances),
            ways_out: reading(&self.ways_out),
            drivers: Default::default(),
            counts: Default::default(),
        }
    }

    /// What fits a path, if a relay said so: bytes, and when it did.
    pub fn limit(&self, path: u32) -> Result<Option<(u32, u32)>, Error> {
        let word = self.limits.get(&path)?.unwrap_or_default();
        Ok(Some((word as u32, (word >> 32) as u32)).filter(|(room, _)| *room > 0))
    }

    /// Says what fits a path.
    pub fn set_limit(&self, path: u32, word: u64) -> Result<(), Error> {
        self.count_write();
        self.limits.set(&path, &word)
    }

    /// The node that a path leads to first, of one that leads to a single one.
    pub fn next_hop(&self, path: u32) -> Result<Option<u32>, Error> {
        super::inherited::next_hop(&self.paths, &self.hops, path)
    }

    /// Forgets every identifier that is at a node.
    fn forget(&self, node: NodeKey) -> Result<(), Error> {
        let keys: Vec<FibKey> = self.fib.keys().collect();
        for key in keys {
            let is_its =
                self.tenants.get(&key.tenant)?.is_some_and(|tenant| tenant.application == node.application);
            if is_its && self.fib.get(&key)?.is_some_and(|entry| entry.node == node.node) {
                self.remove_entry(&key)?;
            }
        }
        Ok(())
    }
}

/// A table that stands before one of the kernel's. What the kernel refuses to read is not there.
fn reading<K, V>(table: &Arc<Table<K, V>>) -> reference::Table<K, V>
where
    K: zerocopy::FromBytes
        + zerocopy::IntoBytes
        + zerocopy::Immutable
        + std::hash::Hash
        + Eq
        + Copy
        + Send
        + Sync
        + 'static,
    V: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable + Copy + Send + Sync + 'static,
{
    let table = table.clone();
    reference::Table::before(move |key| table.get(key).ok().flatten())
}

fn put<K, V>(table: &Table<K, V>, key: &K, value: Option<&V>) -> Result<(), Error>
where
    K: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable,
    V: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable,
{
    match value {
        Some(value) => table.set(key, value),
        None => table.remove(key).map(drop),
    }
}
