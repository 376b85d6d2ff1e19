//! How an agent begins, with what a former one left, and how all of it is taken away.

use super::Agent;
use super::devices::{Placed, index};
use super::error::{AgentError, at};
use super::learning::{Learning, LearningOptions};
use super::places::{Places, Role};
use super::state::State;
use crate::address;
use crate::protocol::Policy;
use crate::{Encapsulation, RelayAddresses, Sources, Superpackets};
use plait_dataplane_agent::{home, now};
use plait_dataplane_netlink::{Netlink, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

/// How an agent is started.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Where it keeps what outlives it.
    pub places: Places,
    /// Devices whose packets are steered as they leave.
    pub devices: Vec<String>,
    /// The sources of all stacks.
    pub sources: Sources,
    /// What stands between headers, where nothing else is said.
    pub encapsulation: Encapsulation,
    /// Which list a flow goes by, likewise.
    pub policy: Policy,
    /// By how much a packet may be later by one list than by another.
    pub spread: Duration,
    /// A flow that was silent for longer is forgotten.
    pub idle: Option<Duration>,
    /// What the narrowest link takes on the way to the last relay of any list, where devices take more.
    pub mtu: Option<u32>,
    /// What becomes of superpackets.
    pub superpackets: Superpackets,
    /// This node takes off headers for these addresses, by whatever device they come.
    pub relay: RelayAddresses,
    /// Devices that lead outside, from which nothing may come with the stacks' source.
    pub borders: Vec<String>,
    /// What is learnt.
    pub learning: LearningOptions,
}

impl AgentOptions {
    /// One that does nothing yet.
    pub fn new(places: Places) -> Self {
        Self {
            places,
            devices: Vec::new(),
            sources: Sources::default(),
            encapsulation: Encapsulation::Gre,
            policy: Policy::Hash,
            spread: Duration::from_millis(10),
            idle: None,
            mtu: None,
            superpackets: Superpackets::Cut,
            relay: RelayAddresses::default(),
            borders: Vec::new(),
            learning: LearningOptions::default(),
        }
    }
}

impl Agent {
    /// Starts an agent in the calling thread's network namespace, and takes over what a former one left.
    ///
    /// # Errors
    /// No permission; another agent is there; state of another version.
    pub fn start(mut options: AgentOptions) -> Result<Self, AgentError> {
        for names in [&mut options.devices, &mut options.borders] {
            let mut seen = BTreeSet::new();
            names.retain(|name| seen.insert(name.clone()));
        }
        if !rustix::process::geteuid().is_root() {
            return Err(AgentError::NotRoot);
        }
        if options.devices.is_empty() && options.relay.is_empty() && options.borders.is_empty() {
            return Err(AgentError::Idle);
        }
        let places = &options.places;
        let lock = take(places)?;
        places.refuse_others()?;
        let namespace = home::network().map_err(at(Path::new("/proc")))?;
        let mut state = match State::read(&places.state())? {
            Some(state) if state.namespace == namespace => state,
            // The devices of a former life are in another namespace: what is on them is nothing to take over.
            _ => {
                places.release(|_, _| false)?;
                State::new(namespace)
            }
        };
        if options.learning.sources.is_empty() {
            // Nobody would ever say that it is no longer so.
            state.learnt.clear();
        }
        home::make(&places.layout()).map_err(at(&places.layout()))?;
        // Before anything is looked at, so that nothing comes unheard meanwhile.
        let watch = Watch::links().map_err(|error| AgentError::Kernel("netlink", error))?;
        let learnt = state.learnt.clone().into_iter();
        let mut agent = Self {
            learning: Learning::new(options.learning.clone(), learnt),
            state,
            senders: BTreeMap::new(),
            relay: None,
            border: None,
            placed: Placed::new(),
            faults: BTreeMap::new(),
            watch,
            is_changed: true,
            updates: 0,
            moved: 0,
            rearranged: now(),
            options,
            _lock: lock,
        };
        let taken = agent.take_over();
        agent.save()?;
        taken?;
        Ok(agent)
    }

    /// Puts programs that know all in the place of those that run. What was done is written down as it is done, so that whoever takes all
    /// away finds it, also where this fails.
    fn take_over(&mut self) -> Result<(), AgentError> {
        let AgentOptions { devices, borders, relay, .. } = self.options.clone();
        // Who is named wrongly is told before anything is done.
        let named = |names: Vec<String>| -> Result<Vec<(String, u32)>, AgentError> {
            names.into_iter().map(|name| index(&name).map(|index| (name, index))).collect()
        };
        let (devices, borders) = (named(devices)?, named(borders)?);
        for (name, index) in devices {
            self.steer_device(&name, index)?;
        }
        let taken = self.take_addresses(relay);
        self.save()?;
        taken?;
        self.relay_everywhere()?;
        for (_, index) in borders {
            self.guard_device(index)?;
        }
        // What a former life did and this one does not.
        self.options.places.release(|role, device| self.placed.contains(&(role, device)))?;
        let steered = |device: &u32| self.placed.contains(&(Role::Steer, *device));
        self.state.allow_superpackets(|device| !steered(device));
        self.note_limits();
        Ok(())
    }

    /// Gives the node the relay's addresses, and takes away those that a former life gave it.
    fn take_addresses(&mut self, own: RelayAddresses) -> Result<(), AgentError> {
        let failed = |error| AgentError::Kernel("the relay's address", error);
        let netlink = Netlink::open().map_err(failed)?;
        let before = self.state.addresses();
        for gone in before.iter().filter(|gone| !own.iter().any(|own| own == *gone)) {
            address::remove(&netlink, gone).map_err(failed)?;
            self.note_addresses(self.state.addresses().without(gone));
        }
        for own in own.iter().filter(|own| !before.iter().any(|before| before == *own)) {
            // What the node had before any agent is not the agent's to take away.
            if address::add(&netlink, own).map_err(failed)? {
                self.note_addresses(self.state.addresses().with(own));
            }
        }
        Ok(())
    }

    fn note_addresses(&mut self, added: RelayAddresses) {
        (self.state.address, self.state.address_ipv6) = (added.ipv4, added.ipv6);
        self.is_changed = true;
    }
}

/// Makes an agent's folder, and makes sure that nobody else is the agent.
fn take(places: &Places) -> Result<File, AgentError> {
    if !home::is_bpffs(&places.pins).map_err(at(&places.pins))? {
        return Err(AgentError::NoBpfFs(places.pins.clone()));
    }
    home::make(&places.run).map_err(at(&places.run))?;
    home::lock(&places.run).map_err(at(&places.run))?.ok_or_else(|| AgentError::Running(places.run.clone()))
}

/// Leaves the host as it was found: programs off, names gone. What an agent was told is forgotten.
///
/// # Errors
/// An agent runs there; something cannot be taken away.
pub fn remove(places: &Places) -> Result<(), AgentError> {
    let _lock = take(places)?;
    places.release(|_, _| false)?;
    let here = home::network().map_err(at(Path::new("/proc")))?;
    // What another version left is not understood, and only its folder goes.
    if let Ok(Some(state)) = State::read(&places.state())
        && state.namespace == here
    {
        let failed = |error| AgentError::Kernel("the relay's address", error);
        for own in state.addresses().iter() {
            Netlink::open().and_then(|netlink| address::remove(&netlink, own)).map_err(failed)?;
        }
        state.allow_superpackets(|_| true);
    }
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    gone(fs::remove_dir_all(&places.pins))
        .or_else(|_| remove_folders(&places.pins))
        .map_err(at(&places.pins))?;
    gone(fs::remove_dir_all(&places.run)).map_err(at(&places.run))?;
    [&places.pins, &places.run].into_iter().for_each(|folder| home::leave(folder));
    Ok(())
}

/// Removes folders that have only folders in them.
fn remove_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        fs::remove_dir(entry?.path())?;
    }
    fs::remove_dir(folder)
}
