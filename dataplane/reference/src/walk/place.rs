//! Who a packet is from and for, of encapsulations that do not say it.

use super::Walk;
use super::parcel::{Parcel, flow_port};
use crate::tables::*;
use plait_model_wire::ovstack::NodeId;

impl Walk {
    /// The node that a packet was sent here by.
    pub(super) fn came_from(&self, parcel: &Parcel) -> u32 {
        let key = LocatorKey { application: parcel.overlay.application.into(), address: parcel.from };
        self.locators.get(&key).unwrap_or_default()
    }

    /// Fills in what the header left open. The path is that of another node, if the packet is for one.
    pub(super) fn place(&self, parcel: &mut Parcel, application: &Application) -> Result<u32, Drop> {
        let source = self.came_from(parcel);
        let key = VniKey { application: parcel.overlay.application.into(), vni: parcel.overlay.vni };
        let number = self.vnis.get(&key).ok_or(Drop::UnknownTenant)?;
        let tenant = self.tenants.get(&number).ok_or(Drop::UnknownTenant)?;
        let driver = self.drivers.get(tenant.driver).filter(|driver| driver.takes(parcel.payload));
        let driver = driver.ok_or(Drop::UnknownTenant)?;
        let (identifier, hash) =
            driver.find(&tenant, parcel.payload, &parcel.carried).ok_or(Drop::Malformed)?;
        parcel.overlay.hash = hash;
        if parcel.port == 0 {
            parcel.port = flow_port(hash);
        }
        let entry = self.fib.get(&FibKey { tenant: number, identifier });
        let is_group =
            |path: u32| self.paths.get(&path).is_none_or(|word| (word >> 32) as u32 == path::GROUP);
        let elsewhere = entry.filter(|entry| entry.node != source && !is_group(entry.path));
        parcel.overlay.source = NodeId(source);
        parcel.overlay.destination = NodeId(elsewhere.map_or(application.own, |entry| entry.node));
        Ok(elsewhere.map_or(0, |entry| entry.path))
    }
}
