//! Where an agent keeps what outlives it.

use super::error::{AgentError, at};
use crate::{Border, Paths, Relay};
use std::fs;
use std::path::{Path, PathBuf};

/// Version of the programs' names, and of the flows that they leave. An agent takes over those of its own version and refuses others by name.
pub const LAYOUT: u32 = 1;

/// Where an agent keeps what outlives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// A folder for the socket and what was said.
    pub run: PathBuf,
    /// A folder of a BPF file system for programs.
    pub pins: PathBuf,
}

/// What a program on a device is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Steer,
    /// On a device that cuts for the one that is named.
    Cut,
    /// No program: what is known of the flows that are steered.
    Flows,
    Relay,
    Border,
}

impl Role {
    const ALL: [Self; 5] = [Self::Steer, Self::Cut, Self::Flows, Self::Relay, Self::Border];

    fn name(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::Cut => "cut",
            Self::Flows => "flows",
            Self::Relay => "relay",
            Self::Border => "border",
        }
    }

    fn release(self, device: u32, path: &Path) -> Result<(), AgentError> {
        match self {
            Self::Steer => Ok(Paths::release(device, path)?),
            Self::Cut => Ok(Paths::release_cutter(device, path)?),
            Self::Flows => fs::remove_file(path).map_err(at(path)),
            Self::Relay => Ok(Relay::release(device, path)?),
            Self::Border => Ok(Border::release(device, path)?),
        }
    }
}

impl Places {
    /// Those of the agent of a name.
    pub fn of(name: &str) -> Self {
        Self {
            run: Path::new("/run/plait-paths").join(name),
            pins: Path::new("/sys/fs/bpf/plait-paths").join(name),
        }
    }

    /// The agent's socket.
    pub fn socket(&self) -> PathBuf {
        self.run.join("agent.sock")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.run.join("state.json")
    }

    /// The folder of this version's programs.
    pub(super) fn layout(&self) -> PathBuf {
        self.pins.join(format!("layout-{LAYOUT}"))
    }

    /// Of a program on a device, by its index.
    pub(super) fn program(&self, role: Role, device: u32) -> PathBuf {
        self.layout().join(format!("{}-{device}", role.name()))
    }

    /// Takes programs off their devices, and their names away, but for those that are to stay.
    pub(super) fn release(&self, stays: impl Fn(Role, u32) -> bool) -> Result<(), AgentError> {
        self.release_named(stays)?;
        let failed = |error| AgentError::Kernel("devices that cut superpackets", error);
        Paths::sweep_cutters(|device| self.program(Role::Cut, device)).map_err(failed)
    }

    fn release_named(&self, stays: impl Fn(Role, u32) -> bool) -> Result<(), AgentError> {
        let Ok(layouts) = fs::read_dir(&self.pins) else { return Ok(()) };
        for layout in layouts.flatten().map(|entry| entry.path()) {
            for path in fs::read_dir(&layout).map_err(at(&layout))?.flatten().map(|entry| entry.path()) {
                let named = path.file_name().and_then(|name| name.to_str()?.split_once('-'));
                let known = named.and_then(|(kind, device)| {
                    let role = Role::ALL.into_iter().find(|role| role.name() == kind)?;
                    Some((role, device.parse().ok()?))
                });
                match known {
                    Some((role, device)) if stays(role, device) => {}
                    Some((role, device)) => role.release(device, &path)?,
                    None => fs::remove_file(&path).map_err(at(&path))?,
                }
            }
        }
        Ok(())
    }

    /// Programs of other layouts than this one's.
    pub(super) fn refuse_others(&self) -> Result<(), AgentError> {
        let Ok(entries) = fs::read_dir(&self.pins) else { return Ok(()) };
        match entries.flatten().find(|entry| entry.path() != self.layout()) {
            Some(other) => Err(AgentError::Layout(other.path())),
            None => Ok(()),
        }
    }
}
