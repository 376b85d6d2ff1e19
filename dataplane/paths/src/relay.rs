//! The other ends of stacks: relays, and borders.

use crate::error::Error;
use crate::options::Encapsulation;
use plait_dataplane_bpf::{Attachment, PathProgram, PathPrograms, PathSizes, path_names};
use plait_dataplane_reference::paths::tables::{PathDrop, RelayKey, Steering};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Of tables that relays and borders have and do not use.
const NO_PATHS: PathSizes = PathSizes { prefixes: 1, sets: 1, stacks: 1, flows: 1 };

fn load(source: Ipv4Addr) -> Result<PathPrograms, Error> {
    let steering = Steering { source: source.octets(), mtu: 0, superpackets: 0, reserved: 0, spread: 0 };
    Ok(PathPrograms::load(&steering, NO_PATHS)?)
}

/// A relay on devices: takes one header off what comes in for its address from the shared source, and leaves the rest to
/// the kernel's routing. It goes when this is dropped.
pub struct Relay {
    programs: PathPrograms,
    #[allow(dead_code, reason = "they are held")]
    attachments: Vec<Attachment>,
}

impl Relay {
    /// Puts a relay of an address on devices by their indices.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn attach(
        devices: &[u32],
        own: Ipv4Addr,
        source: Ipv4Addr,
        takes: &[Encapsulation],
    ) -> Result<Self, Error> {
        let programs = load(source)?;
        let bits = takes.iter().fold(0, |bits, kind| bits | 1 << kind.number());
        let key = RelayKey { own: own.octets(), source: source.octets() };
        programs.table(&path_names::RELAYS)?.set(&key, &bits)?;
        let attach = |&device| programs.attach(PathProgram::Relay, device);
        let attachments = devices.iter().map(attach).collect::<Result<_, _>>()?;
        Ok(Self { programs, attachments })
    }

    /// What it dropped.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn drops(&self) -> Result<BTreeMap<PathDrop, u64>, Error> {
        Ok(self.programs.drops()?)
    }
}

/// A border on devices: drops what comes in with the stacks' source. It goes when this is dropped.
pub struct Border {
    programs: PathPrograms,
    #[allow(dead_code, reason = "they are held")]
    attachments: Vec<Attachment>,
}

impl Border {
    /// Puts a border on devices by their indices: those that lead outside.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn attach(devices: &[u32], source: Ipv4Addr) -> Result<Self, Error> {
        let programs = load(source)?;
        let attach = |&device| programs.attach(PathProgram::Border, device);
        let attachments = devices.iter().map(attach).collect::<Result<_, _>>()?;
        Ok(Self { programs, attachments })
    }

    /// What it dropped.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn drops(&self) -> Result<BTreeMap<PathDrop, u64>, Error> {
        Ok(self.programs.drops()?)
    }
}
