//! The data plane's tables in the kernel.

use crate::Write;
use plait_dataplane_bpf::{Error, Programs, Sizes, Table, names};
use plait_dataplane_reference::tables::*;
use std::cell::RefCell;
use std::path::Path;

/// The data plane's tables in the kernel, and the programs that read them on the underlay's devices.
pub(super) struct Tables {
    pub programs: Programs,
    pub fib: Table<FibKey, FibEntry>,
    pub tenants: Table<u32, Tenant>,
    pub vnis: Table<VniKey, u32>,
    applications: Table<u32, Application>,
    nodes: Table<NodeKey, u32>,
    paths: Table<u32, u64>,
    limits: Table<u32, u64>,
    hops: Table<u32, Hop>,
    groups: Table<u32, Group>,
    wires: Table<u32, Wire>,
    adjacencies: Table<u32, u64>,
    adjacency_slots: Table<u32, Adjacency>,
    peers: Table<PeerKey, Peer>,
    endpoints: Table<EndpointKey, u32>,
    locators: Table<LocatorKey, u32>,
    /// Writes that the kernel refused, which are tried again before others.
    refused: RefCell<Vec<Write>>,
}

/// A device that nobody has: what the programs of the underlay's devices are loaded with.
const NONE: Device = Device { tenant: 0, driver: 0, prefix: [0; 2], offset: 0, mask: [0; 16] };

impl Tables {
    pub fn load(sizes: Sizes) -> Result<Self, Error> {
        let programs = Programs::load(&NONE, sizes)?;
        Ok(Self {
            fib: programs.table(&names::FIB)?,
            tenants: programs.table(&names::TENANTS)?,
            vnis: programs.table(&names::VNIS)?,
            applications: programs.table(&names::APPLICATIONS)?,
            nodes: programs.table(&names::NODES)?,
            paths: programs.table(&names::PATHS)?,
            limits: programs.table(&names::LIMITS)?,
            hops: programs.table(&names::HOPS)?,
            groups: programs.table(&names::GROUPS)?,
            wires: programs.table(&names::WIRES)?,
            adjacencies: programs.table(&names::ADJACENCIES)?,
            adjacency_slots: programs.table(&names::ADJACENCY_SLOTS)?,
            peers: programs.table(&names::PEERS)?,
            endpoints: programs.table(&names::ENDPOINTS)?,
            locators: programs.table(&names::LOCATORS)?,
            refused: RefCell::default(),
            programs,
        })
    }

    /// Does writes in their order. One that the kernel refuses, without memory say, keeps no other from being done: who
    /// made them takes all for done.
    pub fn apply(&self, writes: &[Write]) -> Result<(), Error> {
        let again = self.refused.take();
        let mut first = Ok(());
        for write in again.iter().chain(writes) {
            if let Err(error) = self.write(write) {
                self.refused.borrow_mut().push(write.clone());
                first = first.and(Err(error));
            }
        }
        first
    }

    fn write(&self, write: &Write) -> Result<(), Error> {
        match write {
            Write::Application(key, value) => self.applications.set(key, value),
            Write::Node(key, value) => put(&self.nodes, key, value.as_ref()),
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
        }
    }

    /// What fits a path, if a relay said so: bytes, and when it did.
    pub fn limit(&self, path: u32) -> Result<Option<(u32, u32)>, Error> {
        let word = self.limits.get(&path)?.unwrap_or_default();
        Ok(Some((word as u32, (word >> 32) as u32)).filter(|(room, _)| *room > 0))
    }

    /// Forgets every identifier that is at a node.
    fn forget(&self, node: NodeKey) -> Result<(), Error> {
        let keys: Vec<FibKey> = self.fib.keys().collect();
        for key in keys {
            let is_its =
                self.tenants.get(&key.tenant)?.is_some_and(|tenant| tenant.application == node.application);
            if is_its && self.fib.get(&key)?.is_some_and(|entry| entry.node == node.node) {
                self.fib.remove(&key)?;
            }
        }
        Ok(())
    }

    /// What was learned by a former life: identifiers of tenants, and the nodes they were heard from.
    pub fn learned(pins: &Path) -> Vec<(FibKey, FibEntry)> {
        let Ok(fib) = Table::pinned(pins, &names::FIB) else { return Vec::new() };
        let keys: Vec<FibKey> = fib.keys().collect();
        keys.into_iter().filter_map(|key| Some((key, fib.get(&key).ok()??))).collect()
    }
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
