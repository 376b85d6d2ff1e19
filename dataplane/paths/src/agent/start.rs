//! How an agent begins, with what a former one left, and how all of it is taken away.

use super::error::{AgentError, at};
use super::learning::{Learning, LearningOptions};
use super::places::{Places, Role};
use super::state::State;
use super::{Agent, Sender};
use crate::address;
use crate::protocol::Policy;
use crate::{Border, Encapsulation, Options, Paths, Relay, RelayAddresses, Sources, Superpackets};
use plait_control_paths::select::Rearranger;
use plait_dataplane_agent::{home, now};
use plait_dataplane_netlink::Netlink;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
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
    pub fn start(options: AgentOptions) -> Result<Self, AgentError> {
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
        let learnt = state.learnt.clone().into_iter();
        let mut agent = Self {
            learning: Learning::new(options.learning.clone(), learnt),
            state,
            senders: BTreeMap::new(),
            relay: None,
            border: None,
            is_changed: true,
            updates: 0,
            moved: 0,
            rearranged: now(),
            options,
            _lock: lock,
        };
        agent.take_over()?;
        agent.save()?;
        Ok(agent)
    }

    /// Puts programs that know all in the place of those that run.
    fn take_over(&mut self) -> Result<(), AgentError> {
        let options = self.options.clone();
        let places = &options.places;
        let mut stays = Vec::new();
        for name in &options.devices {
            let index = index(name)?;
            let wanted = Options {
                superpackets: options.superpackets,
                spread: options.spread,
                idle: options.idle,
                mtu: options.mtu,
                ..Options::new(options.sources, options.encapsulation)
            };
            let flows = places.program(Role::Flows, index);
            let mut paths = Paths::load(index, wanted, Some(&flows))?;
            stays.push((Role::Flows, index));
            let (segments, lengths) = (self.state.segments.get(&index), self.state.lengths.get(&index));
            paths.recall(segments.copied(), lengths.copied());
            for (prefix, ways) in self.all() {
                if let Err(error) = paths.set(prefix, ways) {
                    tracing::error!(%prefix, %error, "the prefix goes by plain routing");
                }
            }
            match paths.cut(Some(&places.program(Role::Cut, index))) {
                Ok(()) => stays.push((Role::Cut, index)),
                Err(error) => tracing::warn!(device = name, %error, "superpackets of others are dropped"),
            }
            paths.succeed(&places.program(Role::Steer, index))?;
            stays.push((Role::Steer, index));
            let holder = paths.hold();
            if let Err(error) = &holder {
                tracing::warn!(device = name, %error, "flows that have no gaps do not move");
            }
            let sender = Sender { paths, rearranger: Rearranger::default(), _holder: holder.ok() };
            self.senders.insert(name.clone(), sender);
        }
        self.take_addresses(options.relay)?;
        if !options.relay.is_empty() {
            let mut relay = Relay::load(options.relay, options.sources, &Encapsulation::ALL)?;
            for index in all_devices()? {
                relay.succeed(index, &places.program(Role::Relay, index))?;
                stays.push((Role::Relay, index));
            }
            self.relay = Some(relay);
        }
        if !options.borders.is_empty() {
            let mut border = Border::load(options.sources)?;
            for name in &options.borders {
                let index = index(name)?;
                border.succeed(index, &places.program(Role::Border, index))?;
                stays.push((Role::Border, index));
            }
            self.border = Some(border);
        }
        // What a former life did and this one does not.
        places.release(|role, device| stays.contains(&(role, device)))?;
        let steered = |device: &u32| stays.contains(&(Role::Steer, *device));
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
        }
        let mut added = RelayAddresses::default();
        for own in own.iter() {
            // What the node had before any agent is not the agent's to take away.
            if before.iter().any(|before| before == own) || address::add(&netlink, own).map_err(failed)? {
                added = added.with(own);
            }
        }
        (self.state.address, self.state.address_ipv6) = (added.ipv4, added.ipv6);
        Ok(())
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

fn socket() -> Result<UdpSocket, AgentError> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(|error| AgentError::Kernel("socket", error))
}

fn index(name: &str) -> Result<u32, AgentError> {
    rustix::net::netdevice::name_to_index(socket()?, name).map_err(|_| AgentError::NoDevice(name.to_owned()))
}

/// All devices of the namespace but the loopback.
fn all_devices() -> Result<Vec<u32>, AgentError> {
    use netlink_packet_route::RouteNetlinkMessage;
    use netlink_packet_route::link::{LinkFlags, LinkMessage};
    let ask = RouteNetlinkMessage::GetLink(LinkMessage::default());
    let answer = Netlink::open().and_then(|netlink| netlink.dump(ask));
    let links = answer.map_err(|error| AgentError::Kernel("netlink", error))?.into_iter();
    let index = |message| match message {
        RouteNetlinkMessage::NewLink(link) => {
            (!link.header.flags.contains(LinkFlags::Loopback)).then_some(link.header.index)
        }
        _ => None,
    };
    Ok(links.filter_map(index).collect())
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
