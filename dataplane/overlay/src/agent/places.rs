//! Where an agent keeps what outlives it.

use super::AgentError;
use super::error::at;
use plait_dataplane_agent::home;
use plait_dataplane_bpf::Program;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Version of the tables' layout. An agent takes over tables of its own version and refuses others by name.
pub const LAYOUT: u32 = 3;

/// Where an agent keeps what outlives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// A folder for the socket and the journal.
    pub run: PathBuf,
    /// A folder of a BPF file system for programs and tables.
    pub pins: PathBuf,
}

impl Places {
    /// Those of the agent of a name.
    pub fn of(name: &str) -> Self {
        Self {
            run: Path::new("/run/plait-overlay").join(name),
            pins: Path::new("/sys/fs/bpf/plait-overlay").join(name),
        }
    }

    /// The agent's socket.
    pub fn socket(&self) -> PathBuf {
        self.run.join("agent.sock")
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.run.join("journal.jsonl")
    }

    /// The neighbours that the kernel was asked to keep.
    pub(super) fn neighbours(&self) -> PathBuf {
        self.run.join("neighbours.json")
    }

    /// The folder of this version's tables.
    pub(super) fn layout(&self) -> PathBuf {
        self.pins.join(format!("layout-{LAYOUT}"))
    }

    /// Of a program on a device of the underlay.
    pub(super) fn on_underlay(&self, program: Program, interface: u32) -> PathBuf {
        self.layout().join(format!("{}-{interface}", program.name()))
    }

    pub(super) fn transmitter(&self, device: &str) -> PathBuf {
        // No name of a device in a BPF file system may have a dot.
        self.layout().join(format!("transmit-{}", device.replace('.', "_dot_")))
    }
}

/// A folder that only its owner sees.
pub(super) fn make_folder(path: &Path) -> Result<(), AgentError> {
    home::make(path).map_err(at(path))
}

/// Makes sure that nobody else is the agent of these places.
pub(super) fn lock(run: &Path) -> Result<File, AgentError> {
    home::lock(run).map_err(at(run))?.ok_or_else(|| AgentError::Running(run.to_owned()))
}

/// Whether programs can stay at a path once nobody holds them.
pub(super) fn look_for_bpffs(pins: &Path) -> Result<(), AgentError> {
    if home::is_bpffs(pins).map_err(at(pins))? { Ok(()) } else { Err(AgentError::NoBpfFs(pins.to_owned())) }
}

/// The calling thread's network namespace.
pub(super) fn namespace() -> Result<u64, AgentError> {
    home::network().map_err(at(Path::new("/proc")))
}

/// Takes away the names of programs and tables. With its last name a program is off its device.
pub(super) fn forget_names(places: &Places) -> Result<(), AgentError> {
    if !places.pins.exists() {
        return Ok(());
    }
    let layouts = fs::read_dir(&places.pins).map_err(at(&places.pins))?;
    for layout in layouts.flatten().map(|entry| entry.path()) {
        plait_dataplane_bpf::close_exits(&layout, &BTreeSet::new())?;
        for name in fs::read_dir(&layout).map_err(at(&layout))?.flatten().map(|entry| entry.path()) {
            // A filter of clsact is held by no name; those on the agent's own devices go with them.
            let of = [Program::Receive, Program::Relay, Program::Guard];
            match of.into_iter().find_map(|program| Some((program, interface_of(program, &name)?))) {
                Some((program, interface)) => plait_dataplane_bpf::release(program, interface, &name)?,
                None => fs::remove_file(&name).map_err(at(&name))?,
            }
        }
        fs::remove_dir(&layout).map_err(at(&layout))?;
    }
    fs::remove_dir(&places.pins).map_err(at(&places.pins))
}

/// The device of the underlay on which a program is kept at a path, if it is that program.
fn interface_of(program: Program, path: &Path) -> Option<u32> {
    let (kind, interface) = path.file_name()?.to_str()?.split_once('-')?;
    interface.parse().ok().filter(|_| kind == program.name())
}

/// Takes relays of a former life off their devices, but for some.
pub(super) fn forget_relays(places: &Places, kept: &BTreeSet<u32>) -> Result<(), AgentError> {
    let layout = places.layout();
    // Before a device takes no more packets from the others.
    plait_dataplane_bpf::close_exits(&layout, kept)?;
    for path in fs::read_dir(&layout).map_err(at(&layout))?.flatten().map(|entry| entry.path()) {
        if let Some(interface) = interface_of(Program::Relay, &path).filter(|index| !kept.contains(index)) {
            plait_dataplane_bpf::release(Program::Relay, interface, &path)?;
        }
    }
    Ok(())
}

/// Tables of other layouts than this one's.
pub(super) fn refuse_others(places: &Places) -> Result<(), AgentError> {
    let Ok(entries) = fs::read_dir(&places.pins) else { return Ok(()) };
    match entries.flatten().find(|entry| entry.path() != places.layout()) {
        Some(other) => Err(AgentError::Layout(other.path())),
        None => Ok(()),
    }
}
