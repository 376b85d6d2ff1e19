//! What an application carries, and how.

use super::Encapsulation;
use plait_dataplane_reference::arrivals;
use plait_model_overlay::NodeId;
use plait_model_wire::ovstack;
use std::collections::{BTreeMap, BTreeSet};

/// What an application is told beyond its tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// What its packets carry: [`driver`](plait_dataplane_reference::tables::driver).
    pub driver: u32,
    /// Overlay hops of a packet that begins here.
    pub ttl: u8,
    /// How packets are sent to next hops that nothing else is said of.
    pub encapsulation: Encapsulation,
    /// How they are sent to others.
    pub to: BTreeMap<NodeId, Encapsulation>,
    /// How they may come.
    pub accepts: BTreeSet<Encapsulation>,
    /// The virtual network of packets that name none.
    pub vni: u32,
}

impl Kind {
    /// Ethernet frames or IP packets with ovstack's header both ways.
    pub fn of(driver: u32) -> Self {
        Self {
            driver,
            ttl: ovstack::DEFAULT_TTL,
            encapsulation: Encapsulation::Ovstack,
            to: BTreeMap::new(),
            accepts: BTreeSet::from([Encapsulation::Ovstack]),
            vni: 0,
        }
    }

    /// How packets of its arrive, and in which encapsulation they are then.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = (u32, Encapsulation)> + '_ {
        self.accepts.iter().flat_map(|kind| {
            arrivals(*kind as u32, self.driver).into_iter().map(move |arrival| (arrival, *kind))
        })
    }

    /// Whether packets are sent in an encapsulation.
    pub(super) fn uses(&self, encapsulation: Encapsulation) -> bool {
        self.encapsulation == encapsulation || self.to.values().any(|kind| *kind == encapsulation)
    }
}
