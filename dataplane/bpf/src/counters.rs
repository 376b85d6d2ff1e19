//! Counters, which each processor has for itself.

use crate::object;
use crate::programs::Error;
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object};
use plait_dataplane_reference::tables::{Count, Drop, TenantCount};
use std::collections::BTreeMap;
use std::path::Path;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// What programs count, as sums over all processors.
///
/// # Errors
/// All functions: the kernel's refusal.
pub struct Counters {
    drops: MapHandle,
    tenants: MapHandle,
    paths: MapHandle,
    hops: MapHandle,
    /// Programs of before had none.
    wires: Option<MapHandle>,
}

impl Counters {
    /// Those of loaded programs.
    pub(crate) fn of(object: &Object) -> Result<Self, Error> {
        let map = |name| object::map(object, name);
        Self::found(map, Some(map("wire_counts")?))
    }

    /// Those in a folder where [`Programs::pin_tables`](crate::Programs::pin_tables) named them.
    pub fn pinned(folder: &Path) -> Result<Self, Error> {
        let map = |name| Ok(MapHandle::from_pinned_path(folder.join(name))?);
        let wires = folder.join("wire_counts").exists().then(|| map("wire_counts")).transpose()?;
        Self::found(map, wires)
    }

    fn found(
        map: impl Fn(&'static str) -> Result<MapHandle, Error>,
        wires: Option<MapHandle>,
    ) -> Result<Self, Error> {
        let [drops, tenants] = [map("drops")?, map("tenant_counts")?];
        let (paths, hops) = (map("path_counts")?, map("hop_counts")?);
        Ok(Self { drops, tenants, paths, hops, wires })
    }

    /// How many packets were dropped, by reason; those that dropped none are left out.
    pub fn drops(&self) -> Result<BTreeMap<Drop, u64>, Error> {
        let mut drops = BTreeMap::new();
        for reason in Drop::ALL {
            let sum: u64 = each::<u64>(&self.drops, reason.counter())?.iter().sum();
            if sum > 0 {
                drops.insert(*reason, sum);
            }
        }
        Ok(drops)
    }

    /// What a tenant's device sent and received, and did not know.
    pub fn tenant(&self, tenant: u32) -> Result<TenantCount, Error> {
        Ok(each(&self.tenants, tenant)?.into_iter().fold(TenantCount::default(), both))
    }

    /// How many packets took a path.
    pub fn path(&self, path: u32) -> Result<Count, Error> {
        Ok(each(&self.paths, path)?.into_iter().fold(Count::default(), sum))
    }

    /// How many packets were sent to a next hop, by its own path.
    pub fn hop(&self, path: u32) -> Result<Count, Error> {
        Ok(each(&self.hops, path)?.into_iter().fold(Count::default(), sum))
    }

    /// How many packets were sent by a wire.
    pub fn wire(&self, wire: u32) -> Result<Count, Error> {
        let counts = self.wires.as_ref().map_or(Ok(Vec::new()), |wires| each(wires, wire))?;
        Ok(counts.into_iter().fold(Count::default(), sum))
    }

    /// Counts what others dropped as well. What programs count in that moment may be lost.
    pub fn add_drops(&self, more: &BTreeMap<Drop, u64>) -> Result<(), Error> {
        more.iter().try_for_each(|(reason, count)| add(&self.drops, reason.counter(), *count, |a, b| a + b))
    }

    /// The same of a tenant's device.
    pub fn add_tenant(&self, tenant: u32, more: TenantCount) -> Result<(), Error> {
        add(&self.tenants, tenant, more, both)
    }

    /// The same of a path.
    pub fn add_path(&self, path: u32, more: Count) -> Result<(), Error> {
        add(&self.paths, path, more, sum)
    }

    /// The same of a next hop.
    pub fn add_hop(&self, path: u32, more: Count) -> Result<(), Error> {
        add(&self.hops, path, more, sum)
    }

    /// The same of a wire.
    pub fn add_wire(&self, wire: u32, more: Count) -> Result<(), Error> {
        self.wires.as_ref().map_or(Ok(()), |wires| add(wires, wire, more, sum))
    }

    /// Begins to count anew what takes a path.
    pub(crate) fn forget_path(&self, path: u32) -> Result<(), Error> {
        forget::<Count>(&self.paths, path)
    }

    /// The same of a tenant's device.
    pub(crate) fn forget_tenant(&self, tenant: u32) -> Result<(), Error> {
        forget::<TenantCount>(&self.tenants, tenant)
    }

    /// The same of what is sent to a path's node as a next hop.
    pub(crate) fn forget_hop(&self, path: u32) -> Result<(), Error> {
        forget::<Count>(&self.hops, path)
    }

    /// The same of a wire.
    pub(crate) fn forget_wire(&self, wire: u32) -> Result<(), Error> {
        self.wires.as_ref().map_or(Ok(()), |wires| forget::<Count>(wires, wire))
    }
}

fn sum(a: Count, b: Count) -> Count {
    Count { packets: a.packets + b.packets, bytes: a.bytes + b.bytes }
}

fn both(a: TenantCount, b: TenantCount) -> TenantCount {
    TenantCount {
        sent: sum(a.sent, b.sent),
        received: sum(a.received, b.received),
        missed: sum(a.missed, b.missed),
    }
}

/// What each processor counted.
fn each<T: FromBytes>(map: &MapHandle, key: u32) -> Result<Vec<T>, Error> {
    let counts = map.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
    Ok(counts.iter().filter_map(|bytes| T::read_from_bytes(bytes).ok()).collect())
}

/// Adds to what the first processor counted.
fn add<T: FromBytes + IntoBytes + Immutable + Copy>(
    map: &MapHandle,
    key: u32,
    more: T,
    sum: fn(T, T) -> T,
) -> Result<(), Error> {
    // Of what counted nothing there is nothing to write, and programs may be counting.
    if more.as_bytes().iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    let mut counts = each::<T>(map, key)?;
    let Some(first) = counts.first_mut() else { return Ok(()) };
    *first = sum(*first, more);
    let bytes: Vec<Vec<u8>> = counts.iter().map(|count| count.as_bytes().to_vec()).collect();
    Ok(map.update_percpu(&key.to_ne_bytes(), &bytes, MapFlags::ANY)?)
}

fn forget<C: Default + IntoBytes + Immutable>(map: &MapHandle, key: u32) -> Result<(), Error> {
    let nothing = vec![C::default().as_bytes().to_vec(); libbpf_rs::num_possible_cpus()?];
    Ok(map.update_percpu(&key.to_ne_bytes(), &nothing, MapFlags::ANY)?)
}
