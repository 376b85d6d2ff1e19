//! How an agent begins, with what a former one left, and how all of it is taken away.

use super::error::{at, doing};
use super::feeds::Feeds;
use super::inherited::Inherited;
use super::journal::{Journal, Line};
use super::members::Members;
use super::neighbours;
use super::places::{
    Places, forget_names, forget_relays, lock, look_for_bpffs, make_folder, namespace, refuse_others,
};
use super::recording::Recording;
use super::sweep::Sweep;
use super::tables::Tables;
use super::underlay::Underlay;
use super::{Agent, AgentError, devices, now, segmenter};
use crate::compile::{Compiler, Neighbour, Room, Slots};
use crate::needs;
use crate::protocol::{Config, Request};
use plait_dataplane_agent::{home, open_many_files};
use plait_dataplane_bpf::Sizes;
use plait_model_overlay::{Event, Overlay};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

/// Bytes of a recording, unless others are asked for. Choice: a member of ten that probes each second writes some 50 MB an hour.
pub const RECORDING_LIMIT: u64 = 64 << 20;

/// How an agent is started.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Where it keeps what outlives it.
    pub places: Places,
    /// How many identifiers its tables hold.
    pub identifiers: u32,
    /// How many nodes and groups.
    pub nodes: u32,
    /// Whether what passes is relayed in the drivers of the underlay's devices, by XDP, where they can.
    pub xdp: bool,
    /// Where control planes write down what they are told and do, and how many bytes at most.
    pub record: Option<(PathBuf, u64)>,
}

impl AgentOptions {
    /// Those of the agent of a name, with tables of the default sizes.
    pub fn new(places: Places) -> Self {
        let Sizes { identifiers, nodes } = Sizes::default();
        Self { places, identifiers, nodes, xdp: false, record: None }
    }
}

impl Agent {
    /// Starts an agent in the calling thread's network namespace, and takes over what a former one left.
    ///
    /// # Errors
    /// No permission; another agent is there; tables of another layout.
    pub fn start(options: AgentOptions) -> Result<Self, AgentError> {
        let AgentOptions { places, identifiers, nodes, xdp, record } = options;
        needs::rights().map_err(AgentError::NoRight)?;
        look_for_bpffs(&places.pins)?;
        make_folder(&places.run)?;
        let lock = lock(&places.run)?;
        refuse_others(&places)?;
        let lines = Journal::read(&places.journal()).map_err(at(&places.journal()))?;
        let namespace = namespace()?;
        let is_same = |line: &Line| matches!(line, Line::Journal { namespace: of, .. } if *of == namespace);
        if !lines.iter().any(is_same) {
            // The devices of a former life are in another namespace: what is on them is nothing to take over.
            forget_names(&places)?;
        }
        make_folder(&places.layout())?;
        let recording = match &record {
            Some((path, limit)) => Some(Recording::open(path, *limit).map_err(at(path))?),
            None => None,
        };
        let journal = Journal::open(&places.journal()).map_err(at(&places.journal()))?;
        let sizes = Sizes { identifiers, nodes };
        let room = Room {
            nodes,
            hops: sizes.hops(),
            groups: sizes.groups(),
            wires: sizes.wires(),
            neighbours: sizes.neighbours(),
            neighbour_slots: sizes.neighbour_slots(),
        };
        // Each device has a few, each neighbour's control plane none.
        open_many_files();
        let mut agent = Self {
            config: Config::default(),
            overlay: Overlay::default(),
            identifiers: Default::default(),
            inherited: Inherited::default(),
            compiler: Compiler::new(room),
            tables: Tables::load(sizes, xdp)?,
            underlay: Underlay::open().map_err(doing("netlink"))?,
            devices: BTreeMap::new(),
            starting: None,
            way_out: None,
            ways_out: Slots::new("ways out", 16),
            told_writes: 0,
            told_left_out: 0,
            segmenter: None,
            on_underlay: BTreeMap::new(),
            entrances: Default::default(),
            xdp,
            tried: BTreeSet::new(),
            members: Members::new(recording),
            feeds: Feeds::default(),
            journal,
            is_whole: false,
            again: None,
            retry: None,
            are_neighbours_noted: true,
            traces: Vec::new(),
            token: 0,
            untold: Default::default(),
            learned: Default::default(),
            sweep: Sweep::new(now()),
            namespace,
            places,
            _lock: lock,
        };
        agent.recall(lines);
        agent.write_journal()?;
        agent.take_over()?;
        Ok(agent)
    }

    /// Takes what a former life was told for what is, without touching the kernel.
    fn recall(&mut self, lines: Vec<Line>) {
        for line in lines {
            match line {
                Line::Request(Request::Operation(operation)) | Line::Control(operation) => {
                    // What was taken away twice was away already.
                    let _ = self.overlay.apply(&operation);
                }
                Line::Request(Request::SetApplication { application, config }) => {
                    self.config.applications.insert(application, config);
                }
                Line::Request(Request::SetDevice(device)) => {
                    self.config.devices.retain(|known| known.name != device.name);
                    self.config.devices.push(device);
                }
                Line::Request(Request::RemoveDevice { name }) => {
                    self.config.devices.retain(|known| known.name != name);
                    self.identifiers.forget(&name);
                }
                Line::Request(Request::SetControl { application, control }) => {
                    match control {
                        Some(control) => self.config.controls.insert(application, control),
                        None => self.config.controls.remove(&application),
                    };
                }
                Line::Request(Request::SetEvpn { application, evpn }) => {
                    match evpn {
                        Some(evpn) => self.config.evpn.insert(application, evpn),
                        None => self.config.evpn.remove(&application),
                    };
                }
                Line::Request(Request::SetUnderlay { devices }) => self.config.underlay = devices,
                Line::Request(Request::FibAdd { device, identifier, node }) => {
                    self.identifiers.restore((device, identifier), Some(node));
                }
                Line::Request(Request::FibDel { device, identifier }) => {
                    self.identifiers.restore((device, identifier), None);
                }
                Line::Request(_) | Line::Journal { .. } => {}
            }
        }
    }

    /// Brings the kernel to what is known: tables first, then the devices, then the programs.
    fn take_over(&mut self) -> Result<(), AgentError> {
        self.inherited = Inherited::read(&self.places.layout());
        for (application, config) in &self.config.applications {
            self.compiler.set_kind(*application, config.kind());
        }
        let events: Vec<Event> = self
            .config
            .applications
            .keys()
            .map(|application| Event::Own { application: *application })
            .collect();
        if let Err(error) = self.follow(events) {
            tracing::error!(%error, "not all of LIB and RIB is in the tables");
        }
        self.start_segmenter();
        let devices = &self.config.devices;
        let named = |device: &str| devices.iter().find(|known| known.name == device);
        self.identifiers.begin(|device| named(device).map(|device| device.application));
        for device in self.config.devices.clone() {
            // One that cannot be keeps no other from being; saying it again tries again.
            if let Err(error) = self.set_device(&device) {
                tracing::error!(device = device.name, %error, "a device of a former life is not taken over");
            }
        }
        self.is_whole = true;
        self.find_entrances();
        forget_relays(&self.places, &self.relaying())?;
        self.attach()?;
        self.set_exits();
        self.inherit_rest();
        if let Err(error) = self.inherit_counts() {
            tracing::warn!(%error, "not all that a former life counted is known");
        }
        self.tables.programs.pin_tables(&self.places.layout())?;
        for application in self.config.evpn.keys().copied().collect::<Vec<_>>() {
            let evpn = self.config.evpn[&application].clone();
            if let Err(error) = self.drive_feed(application, Some(&evpn)) {
                tracing::error!(%application, %error, "the feed does not start");
            }
        }
        for application in self.config.controls.keys().copied().collect::<Vec<_>>() {
            let control = self.config.controls[&application].clone();
            if let Err(error) = self.drive(application, Some(&control)) {
                tracing::error!(%application, %error, "the control plane does not start");
            }
        }
        Ok(())
    }
}

/// Leaves the host as it was found: programs off, devices away, names gone. What an agent was told is forgotten.
///
/// # Errors
/// An agent runs there; something cannot be taken away.
pub fn remove(places: &Places) -> Result<(), AgentError> {
    let _lock = match places.run.exists() {
        true => Some(lock(&places.run)?),
        false => None,
    };
    forget_names(places)?;
    let netlink = plait_dataplane_netlink::Netlink::open().map_err(doing("netlink"))?;
    // In another namespace these names are somebody else's.
    let names = Journal::devices(&places.journal(), namespace()?).map_err(at(&places.journal()))?;
    let is_here = names.is_some();
    for name in names.into_iter().flatten() {
        match devices::remove(&netlink, &name) {
            Err(error) if error.raw_os_error() != Some(libc::ENODEV) => {
                return Err(AgentError::Kernel(format!("device {name}"), error));
            }
            _ => {}
        }
    }
    if is_here {
        segmenter::remove(places).map_err(doing("the devices that cut superpackets"))?;
    }
    let kept: Vec<(u32, IpAddr)> = match fs::read(places.neighbours()) {
        Ok(text) => {
            serde_json::from_slice(&text).map_err(io::Error::from).map_err(at(&places.neighbours()))?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(at(&places.neighbours())(error)),
    };
    if is_here {
        let kept = kept.into_iter().map(|(interface, address)| Neighbour { interface, address });
        neighbours::let_go_of(&netlink, kept).map_err(doing("neighbours"))?;
    }
    if places.run.exists() {
        fs::remove_dir_all(&places.run).map_err(at(&places.run))?;
    }
    [&places.pins, &places.run].into_iter().for_each(|folder| home::leave(folder));
    Ok(())
}
