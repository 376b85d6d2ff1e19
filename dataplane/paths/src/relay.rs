//! The other ends of stacks: relays, and borders.

use crate::error::Error;
use crate::family::{RelayAddresses, Sources};
use crate::options::Encapsulation;
use plait_dataplane_bpf::{Attachment, PathProgram, PathPrograms, PathSizes, path_names, release_path};
use plait_dataplane_reference::paths::Family;
use plait_dataplane_reference::paths::tables::{PathDrop, RelayKey, Steering};
use std::collections::BTreeMap;
use std::path::Path;
use zerocopy::FromZeros;

/// Of tables that relays and borders have and do not use.
const NO_PATHS: PathSizes = PathSizes { prefixes: 1, sets: 1, stacks: 1, flows: 1 };

fn load(sources: Sources) -> Result<PathPrograms, Error> {
    let (source, source_ipv6) = (sources.ipv4.octets(), sources.ipv6.octets());
    let steering = Steering { source, source_ipv6, ..Steering::new_zeroed() };
    Ok(PathPrograms::load(&steering, NO_PATHS, None)?)
}

/// A relay on devices: takes one header off what comes in for its address from the shared source of the same family, and
/// leaves the rest to the kernel's routing. It goes when this is dropped, but where it was [kept](Self::succeed).
pub struct Relay {
    programs: PathPrograms,
    attachments: BTreeMap<u32, Attachment>,
}

impl Relay {
    /// Loads a relay of an address, or of one of each family.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn load(
        own: impl Into<RelayAddresses>,
        sources: impl Into<Sources>,
        takes: &[Encapsulation],
    ) -> Result<Self, Error> {
        let sources = sources.into();
        let programs = load(sources)?;
        let bits = takes.iter().fold(0, |bits, kind| bits | 1 << kind.number());
        for own in own.into().iter() {
            let key = RelayKey::new(own, sources.of(Family::of(own)));
            programs.table(&path_names::RELAYS)?.set(&key, &bits)?;
        }
        Ok(Self { programs, attachments: BTreeMap::new() })
    }

    /// Puts a relay of an address on devices by their indices.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn attach(
        devices: &[u32],
        own: impl Into<RelayAddresses>,
        sources: impl Into<Sources>,
        takes: &[Encapsulation],
    ) -> Result<Self, Error> {
        let mut relay = Self::load(own, sources, takes)?;
        for &device in devices {
            relay.attachments.insert(device, relay.programs.attach(PathProgram::Relay, device)?);
        }
        Ok(relay)
    }

    /// Puts it on a device in the place of one that a former life kept at a path of a BPF file system. It stays there when
    /// this is dropped, until [`release`](Self::release).
    ///
    /// # Errors
    /// The kernel's refusal; the path cannot be.
    pub fn succeed(&mut self, device: u32, path: &Path) -> Result<(), Error> {
        self.attachments.insert(device, self.programs.succeed(PathProgram::Relay, device, path)?);
        Ok(())
    }

    /// Forgets devices that are no more, but for those that are.
    pub(crate) fn keep(&mut self, is_there: impl Fn(u32) -> bool) {
        self.attachments.retain(|device, _| is_there(*device));
    }

    /// Takes off a device what a former life kept at a path.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn release(device: u32, path: &Path) -> Result<(), Error> {
        Ok(release_path(PathProgram::Relay, device, path)?)
    }

    /// What it dropped.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn drops(&self) -> Result<BTreeMap<PathDrop, u64>, Error> {
        Ok(self.programs.drops()?)
    }
}

/// A border on devices: drops what comes in with the stacks' source. It goes when this is dropped, but where it was
/// [kept](Self::succeed).
pub struct Border {
    programs: PathPrograms,
    attachments: BTreeMap<u32, Attachment>,
}

impl Border {
    /// Loads a border.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn load(sources: impl Into<Sources>) -> Result<Self, Error> {
        Ok(Self { programs: load(sources.into())?, attachments: BTreeMap::new() })
    }

    /// Puts a border on devices by their indices: those that lead outside.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn attach(devices: &[u32], sources: impl Into<Sources>) -> Result<Self, Error> {
        let mut border = Self::load(sources)?;
        for &device in devices {
            border.attachments.insert(device, border.programs.attach(PathProgram::Border, device)?);
        }
        Ok(border)
    }

    /// As [`Relay::succeed`].
    ///
    /// # Errors
    /// The kernel's refusal; the path cannot be.
    pub fn succeed(&mut self, device: u32, path: &Path) -> Result<(), Error> {
        self.attachments.insert(device, self.programs.succeed(PathProgram::Border, device, path)?);
        Ok(())
    }

    /// As [`Relay::keep`].
    pub(crate) fn keep(&mut self, is_there: impl Fn(u32) -> bool) {
        self.attachments.retain(|device, _| is_there(*device));
    }

    /// As [`Relay::release`].
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn release(device: u32, path: &Path) -> Result<(), Error> {
        Ok(release_path(PathProgram::Border, device, path)?)
    }

    /// What it dropped.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn drops(&self) -> Result<BTreeMap<PathDrop, u64>, Error> {
        Ok(self.programs.drops()?)
    }
}
