//! What an agent is told beyond LIB and RIB.
//!
//! 1. [`ApplicationConfig`]: what an application carries, and how it travels,
//! 2. [`DeviceConfig`]: the devices that hosts use applications by,
//! 3. [`Control`], [`Evpn`]: who fills LIB and RIB beside those who write by hand,
//! 4. [`BadConfig`]: why one of them cannot be.

mod application;
mod control;
mod device;
mod fault;

pub use application::{ApplicationConfig, Carries, Miss};
pub use control::{Control, ControlKind, Evpn};
pub use device::DeviceConfig;
pub(crate) use device::is_device_name;
pub use fault::BadConfig;

/// The largest number of a virtual network.
const MOST_VNI: u32 = (1 << 24) - 1;
