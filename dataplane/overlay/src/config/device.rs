//! The devices that hosts use applications by.

use super::{BadConfig, MOST_VNI};
use crate::BitField;
use plait_model_overlay::Application;
use serde::{Deserialize, Serialize};

/// A device that hosts use a tenant by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// Its name, such as `ov0`.
    pub name: String,
    /// Whose tenant.
    pub application: Application,
    /// The virtual network, 24 bits.
    pub vni: u32,
    /// The largest packet. Without it what fits all next hops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Of IP: how many bits of an IPv4 address are the identifier, and how many of an IPv6 one.
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub prefix: [u8; 2],
    /// Of bits and payloads: which bits of them are the identifier. Without them all packets go one way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<BitField>,
    /// Whether packets, of frames those of IP that are for this device's own address, come in by the device below, on which they
    /// arrived, rather than by this one. That is faster by a turn through the kernel's queue; captures, firewalls and sockets of
    /// this device see nothing of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// Seconds after which a station that is silent is forgotten.
    #[serde(default = "ageing", skip_serializing_if = "is_ageing")]
    pub ageing: u32,
}

fn whole() -> [u8; 2] {
    [32, 128]
}

fn is_whole(prefix: &[u8; 2]) -> bool {
    *prefix == whole()
}

/// Choice: the 300 s of IEEE 802.1D, as of Linux' bridge and VXLAN.
fn ageing() -> u32 {
    300
}

fn is_ageing(seconds: &u32) -> bool {
    *seconds == ageing()
}

impl DeviceConfig {
    /// A device with the defaults of everything else.
    pub fn new(name: impl Into<String>, application: Application, vni: u32) -> Self {
        Self {
            name: name.into(),
            application,
            vni,
            mtu: None,
            prefix: whole(),
            bits: None,
            in_place: false,
            ageing: ageing(),
        }
    }
}

impl DeviceConfig {
    /// Looks for what cannot be.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self) -> Result<(), BadConfig> {
        if !is_device_name(&self.name) {
            return Err(BadConfig::Name(self.name.clone()));
        }
        if self.vni > MOST_VNI {
            return Err(BadConfig::Vni(self.vni));
        }
        if let Some(mtu) = self.mtu.filter(|mtu| !(576..=65_000).contains(mtu)) {
            return Err(BadConfig::Mtu(mtu));
        }
        if let Some(BitField { offset, length }) = self.bits.filter(|bits| !bits.can_be()) {
            return Err(BadConfig::Bits { offset, length });
        }
        for (prefix, bits) in self.prefix.into_iter().zip(whole()) {
            if prefix > bits {
                return Err(BadConfig::Prefix { bits, prefix });
            }
        }
        Ok(())
    }
}

/// Whether a device can be called so.
pub(crate) fn is_device_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_plain = (1..16).contains(&name.len()) && name.chars().all(plain);
    is_plain && !matches!(name, "." | ".." | "all" | "default")
}
