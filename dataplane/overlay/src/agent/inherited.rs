//! Identifiers that a former life learned, and those that its programs go on to learn until others are in their place.

use super::Agent;
use crate::Identifier;
use crate::config::DeviceConfig;
use plait_dataplane_bpf::{Table, names};
use plait_dataplane_reference::tables::{FibEntry, FibKey};
use plait_model_overlay::{Application, NodeId};
use std::collections::BTreeMap;
use std::path::Path;

/// What tables know that a life left behind, by application and virtual network: another life numbers its tenants otherwise.
#[derive(Default)]
pub(super) struct Inherited(BTreeMap<(Application, u32), Vec<(FibKey, FibEntry)>>);

impl Inherited {
    /// Reads what is known by now; nothing, where no life left tables.
    pub fn read(layout: &Path) -> Self {
        let (Ok(tenants), Ok(fib)) =
            (Table::pinned(layout, &names::TENANTS), Table::pinned(layout, &names::FIB))
        else {
            return Self::default();
        };
        let tenants: BTreeMap<u32, _> =
            tenants.keys().filter_map(|key| Some((key, tenants.get(&key).ok()??))).collect();
        let mut known: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for key in fib.keys() {
            if let (Some(tenant), Ok(Some(entry))) = (tenants.get(&key.tenant), fib.get(&key)) {
                let of = (Application(tenant.application as u8), tenant.vni);
                known.entry(of).or_default().push((key, entry));
            }
        }
        Self(known)
    }
}

impl Agent {
    /// Writes what is inherited of a device's identifiers and stands nowhere yet. What finds no room is learned again, or not.
    pub(super) fn inherit(&mut self, device: &DeviceConfig, tenant: u32) {
        let application = device.application;
        let is_fed = self.config.evpn.contains_key(&application);
        for (key, entry) in self.inherited.0.remove(&(application, device.vni)).unwrap_or_default() {
            let node = NodeId(entry.node);
            let Some(path) = self.compiler.path(application, node) else { continue };
            if entry.heard == 0 && is_fed {
                // A feed said it, which says so again, or nothing any more.
                let station = key.identifier[..6].try_into().expect("six bytes");
                let of = (device.name.clone(), Identifier::Station(station));
                if !self.entries.contains_key(&of) {
                    self.waiting.entry((application, node)).or_default().insert(of.clone());
                    self.told.insert(of, node);
                }
            }
            let key = FibKey { tenant, ..key };
            if matches!(self.tables.fib.get(&key), Ok(None))
                && let Err(error) = self.tables.fib.set(&key, &FibEntry { path, ..entry })
            {
                tracing::warn!(device = device.name, %error, "not all identifiers that were learned are known");
                break;
            }
        }
    }

    /// Takes over what was learned while programs were changed for others: by those before, into their own tables.
    pub(super) fn inherit_rest(&mut self) {
        self.inherited = Inherited::read(&self.places.layout());
        let devices: Vec<(DeviceConfig, u32)> =
            self.devices.values().map(|live| (live.config.clone(), live.tenant)).collect();
        for (device, tenant) in devices {
            self.inherit(&device, tenant);
        }
        self.inherited = Inherited::default();
    }
}
