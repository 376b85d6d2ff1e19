//! What a former life leaves: identifiers that it learned, and those that its programs go on to learn until others are in their
//! place; what was counted, and what relays said fits.

use super::Agent;
use crate::config::DeviceConfig;
use crate::{Identifier, Pair};
use plait_dataplane_bpf::{Counters, Error, Table, names};
use plait_dataplane_reference::tables::{Choice, FibEntry, FibKey, Hop, Wire, path};
use plait_model_overlay::{Application, NodeId};
use std::collections::{BTreeMap, HashSet};
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
    /// Writes what is inherited of a device's identifiers and stands nowhere yet, and what was counted of those that do. What finds
    /// no room is learned again, or not.
    pub(super) fn inherit(&mut self, device: &DeviceConfig, tenant: u32) {
        // What they go on to learn and count comes once more, when others are in their place: then it is counted here.
        let is_last = self.devices.contains_key(&device.name);
        let application = device.application;
        let is_fed = self.config.evpn.contains_key(&application);
        for (key, entry) in self.inherited.0.remove(&(application, device.vni)).unwrap_or_default() {
            let node = NodeId(entry.node);
            let Some(path) = self.compiler.path(application, node) else { continue };
            if entry.heard == 0 && is_fed {
                // A feed said it, which says so again, or nothing any more.
                let station = key.identifier[..6].try_into().expect("six bytes");
                let of = (device.name.clone(), Identifier::Station(station));
                self.identifiers.tell(application, &of, Some(node));
            }
            let key = FibKey { tenant, ..key };
            let written = match self.tables.fib.get(&key) {
                Ok(None) if is_last => self.tables.set_entry(&key, &FibEntry { path, ..entry }),
                Ok(None) => self.tables.set_entry(&key, &FibEntry { path, packets: 0, bytes: 0, ..entry }),
                Ok(Some(said)) if is_last && said.node == entry.node => {
                    let (packets, bytes) = (said.packets + entry.packets, said.bytes + entry.bytes);
                    self.tables.set_entry(&key, &FibEntry { packets, bytes, ..said })
                }
                _ => Ok(()),
            };
            if let Err(error) = written {
                tracing::warn!(device = device.name, %error, "not all identifiers that were learned are known");
                break;
            }
        }
    }

    /// Goes on with the counters of the programs before, and with what relays said fits, where a path still leads to the same next
    /// hop. Others are in their place by now; what those count in the moment in which an entry is written may be lost.
    pub(super) fn inherit_counts(&self) -> Result<(), Error> {
        let layout = self.places.layout();
        let Ok(former) = Counters::pinned(&layout) else { return Ok(()) };
        let ours = self.tables.programs.counters();
        ours.add_drops(&former.drops()?)?;
        let vnis = Table::pinned(&layout, &names::VNIS)?;
        for key in vnis.keys() {
            if let (Some(before), Some(tenant)) = (vnis.get(&key)?, self.tables.vnis.get(&key)?) {
                ours.add_tenant(tenant, former.tenant(before)?)?;
            }
        }
        let mut counted = HashSet::new();
        let (nodes, ways) = (Table::pinned(&layout, &names::NODES)?, Ways::pinned(&layout)?);
        for key in nodes.keys() {
            let now = self.compiler.path(Application(key.application as u8), NodeId(key.node));
            let (Some(before), Some(now)) = (nodes.get(&key)?, now) else { continue };
            ours.add_path(now, former.path(before)?)?;
            ours.add_hop(now, former.hop(before)?)?;
            let Some((slot, hop)) = hop(&ways.paths, &ways.hops, before)? else { continue };
            // Many destinations may be behind one hop.
            if counted.insert(slot) {
                for (pair, wire) in ways.pairs(&hop)? {
                    let application = Application(key.application as u8);
                    let mut pairs = self.compiler.spread_over(application, NodeId(hop.node));
                    if let Some((_, now)) = pairs.find(|(now, _)| *now == pair) {
                        ours.add_wire(now, former.wire(wire)?)?;
                    }
                }
            }
            if let Some(limit) = ways.limits.get(&before)?.filter(|limit| *limit != 0)
                && Some(hop.node) == self.tables.next_hop(now)?
            {
                self.tables.set_limit(now, limit)?;
            }
        }
        Ok(())
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

/// Where paths of a former life led.
struct Ways {
    paths: Table<u32, u64>,
    hops: Table<u32, Hop>,
    limits: Table<u32, u64>,
    wires: Table<u32, Wire>,
}

impl Ways {
    fn pinned(layout: &Path) -> Result<Self, Error> {
        let paths = Table::pinned(layout, &names::PATHS)?;
        let hops = Table::pinned(layout, &names::HOPS)?;
        let wires = Table::pinned(layout, &names::WIRES)?;
        Ok(Self { paths, hops, limits: Table::pinned(layout, &names::LIMITS)?, wires })
    }

    /// The pairs of locators that a next hop's flows are spread over, and the wires that lead by them. Choice: a node that is one of a
    /// group's and no path's own begins anew, since nothing but copies went there.
    fn pairs(&self, hop: &Hop) -> Result<Vec<(Pair, u32)>, Error> {
        let mut pairs = Vec::new();
        for Choice { wire, .. } in hop.choices.into_iter().take(hop.count as usize) {
            if let Some([from, to]) = self.wires.get(&wire)?.and_then(|wire| wire.locators()) {
                pairs.push((Pair { from, to }, wire));
            }
        }
        Ok(pairs)
    }
}

/// The node that a path leads to first, of one that leads to a single one.
pub(super) fn next_hop(
    paths: &Table<u32, u64>,
    hops: &Table<u32, Hop>,
    of: u32,
) -> Result<Option<u32>, Error> {
    Ok(hop(paths, hops, of)?.map(|(_, hop)| hop.node))
}

/// The same with all that stands there, and where.
fn hop(paths: &Table<u32, u64>, hops: &Table<u32, Hop>, of: u32) -> Result<Option<(u32, Hop)>, Error> {
    match paths.get(&of)? {
        Some(word) if (word >> 32) as u32 == path::HOP => {
            let slot = word as u32;
            Ok(hops.get(&slot)?.map(|hop| (slot, hop)))
        }
        _ => Ok(None),
    }
}
