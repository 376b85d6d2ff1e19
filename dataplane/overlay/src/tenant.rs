//! What stands in the data plane's tables for a device.

use crate::{ApplicationConfig, BitField, Carries, DeviceConfig, Miss};
use plait_dataplane_reference::tables::{Device, Tenant};

/// The bits of a frame that name a station.
const STATION: BitField = BitField { offset: 0, length: 48 };

impl ApplicationConfig {
    /// Whether frames for stations that nobody knows go to a group, if there is a way to it.
    pub fn floods(&self) -> bool {
        self.carries.are_frames() && self.miss == Miss::Group
    }
}

impl DeviceConfig {
    /// What the program on the device is told, by the tenant's number.
    pub fn device(&self, carries: Carries, tenant: u32) -> Device {
        Device {
            tenant,
            driver: carries.driver(),
            prefix: self.prefix.map(u32::from),
            offset: self.offset(),
            mask: self.bits.map_or([0; 16], BitField::mask),
        }
    }

    /// What stands in the table of tenants for the device, by its interface's number and hardware address. `unknown` is the group,
    /// and the path to it, where frames go whose stations nobody knows. Packets go up by the device, and none by the kernel's own
    /// route.
    pub fn tenant(
        &self,
        carries: Carries,
        interface: u32,
        address: [u8; 6],
        unknown: Option<(u32, u32)>,
    ) -> Tenant {
        let (unknown_node, unknown_path) = unknown.unwrap_or_default();
        let is_ethernet = carries == Carries::Ethernet;
        Tenant {
            application: self.application.0.into(),
            vni: self.vni,
            interface,
            driver: carries.driver(),
            unknown_node,
            unknown_path,
            address,
            prefix: self.prefix,
            in_place: 0,
            way_out: 0,
            offset: self.offset(),
            reserved: 0,
            // Stations of a feed are found by their addresses, though they teach nothing.
            mask: self.bits.or(is_ethernet.then_some(STATION)).map_or([0; 16], BitField::mask),
        }
    }

    /// The byte in which its bits begin.
    fn offset(&self) -> u32 {
        self.bits.map_or(0, |bits| bits.byte().into())
    }
}
