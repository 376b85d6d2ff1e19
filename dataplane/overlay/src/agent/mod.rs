//! The agent: one on each node, which keeps the data plane's tables.
//!
//! [`Agent::start`] takes over what a former life left: it fills tables anew from its journal, then puts its programs in
//! the place of those that run, so that no packet is stopped by the death of an agent, nor by its successor.
//! [`Agent::serve`] then answers requests, follows the kernel's news, and drives the control planes, until it is killed;
//! [`remove`] leaves the host as it was found.

mod devices;
mod journal;
mod members;
mod report;
mod serve;
mod tables;
mod underlay;

use crate::Identifier;
use crate::compile::{Compiler, Full, Neighbour, Room, Write};
use crate::config::{ApplicationConfig, BadConfig, Carries, Control, DeviceConfig};
use crate::protocol::{Config, Reply, Request};
use journal::{Journal, Line};
use members::Members;
use plait_dataplane_bpf::{Attachment, Program, Programs, Sizes, Table, names};
use plait_dataplane_reference::tables::{Device, FibEntry, FibKey, Tenant, VniKey};
use plait_model_overlay::{Answer, Application, Event, NodeId, Operation, OperationError, Overlay};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tables::Tables;
use thiserror::Error;
use underlay::Underlay;

/// Version of the tables' layout. An agent takes over tables of its own version and refuses others by name.
pub const LAYOUT: u32 = 1;

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

    fn journal(&self) -> PathBuf {
        self.run.join("journal.jsonl")
    }

    /// The neighbours that the kernel was asked to keep.
    fn neighbours(&self) -> PathBuf {
        self.run.join("neighbours.json")
    }

    /// The folder of this version's tables.
    fn layout(&self) -> PathBuf {
        self.pins.join(format!("layout-{LAYOUT}"))
    }

    fn receiver(&self, interface: u32) -> PathBuf {
        self.layout().join(format!("receive-{interface}"))
    }

    fn transmitter(&self, device: &str) -> PathBuf {
        // No name of a device in a BPF file system may have a dot.
        self.layout().join(format!("transmit-{}", device.replace('.', "_dot_")))
    }
}

/// Why an agent did not do what it had to.
#[derive(Debug, Error)]
pub enum AgentError {
    /// A file or folder.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// Netlink.
    #[error("{0}: {1}")]
    Kernel(String, #[source] io::Error),
    /// Programs or tables.
    #[error("eBPF: {0}")]
    Bpf(#[from] plait_dataplane_bpf::Error),
    /// An operation on LIB or RIB.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// A configuration.
    #[error(transparent)]
    Config(#[from] BadConfig),
    /// A table is full.
    #[error(
        "{0}: it stands in LIB and RIB, but no packet finds it. {remedy}", remedy = larger(.0)
    )]
    Full(#[from] Full),
    /// A device that there is not.
    #[error("there is no overlay device `{0}`: add one with `plait overlay config device`")]
    NoDevice(String),
    /// An application that nothing is said of.
    #[error("nothing is said of application {0} yet: use `plait overlay config application {0}`")]
    NoApplication(Application),
    /// A device of the host that is none of the agent's.
    #[error("there is a device `{0}` that is none of this agent's: choose another name")]
    Foreign(String),
    /// A tenant that has a device already.
    #[error(
        "`{0}` is the device of that application and virtual network: choose another `--vni`, or take it away with \
         `plait overlay config device {0} --delete`"
    )]
    TenantTaken(String),
    /// An identifier of another kind than the device's.
    #[error("{device} finds packets by {by}: {identifier} is none")]
    Identifier {
        /// The device.
        device: String,
        /// What it finds packets by.
        by: String,
        /// As asked.
        identifier: Identifier,
    },
    /// Somewhere to find an identifier that is not there.
    #[error("{device} does not know {identifier}: `plait overlay fib show {device}` lists what it knows")]
    Absent {
        /// The device.
        device: String,
        /// As asked.
        identifier: Identifier,
    },
    /// A control plane of a node without identity.
    #[error("this node has no identity in application {0}: use `plait overlay id set` first")]
    NoIdentity(Application),
    /// A key that others may read.
    #[error("{0} may be read by others: `chmod 600` it, and choose a new key")]
    OpenKey(PathBuf),
    /// A key that is none.
    #[error("{0}: {1}")]
    Key(PathBuf, plait_control_overlay::NoKey),
    /// Tables of another layout.
    #[error(
        "{0} holds tables of another plait's layout, this one's is layout-{LAYOUT}: start the plait that made them, or \
         take them away with `plait overlay agent --remove`, which stops their packets"
    )]
    Layout(PathBuf),
    /// No place for programs to stay.
    #[error(
        "{0} is in no BPF file system: `mount -t bpf bpf /sys/fs/bpf`, or name a folder of one (`--pins`)"
    )]
    NoBpfFs(PathBuf),
    /// A user.
    #[error("overlays need root: eBPF programs are loaded by nobody else")]
    NotRoot,
    /// Another agent is there.
    #[error("an agent runs already with {0}")]
    Running(PathBuf),
}

/// What to do about a full table.
fn larger(full: &Full) -> &'static str {
    match full.table {
        "paths" | "hops" | "wires" => "Start the agent with larger tables (`--nodes`)",
        _ => "There are no larger ones: give up some of what uses it",
    }
}

/// How an agent is started.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Where it keeps what outlives it.
    pub places: Places,
    /// How many identifiers its tables hold.
    pub identifiers: u32,
    /// How many nodes and groups.
    pub nodes: u32,
}

impl AgentOptions {
    /// Those of the agent of a name, with tables of the default sizes.
    pub fn new(places: Places) -> Self {
        let Sizes { identifiers, nodes } = Sizes::default();
        Self { places, identifiers, nodes }
    }
}

/// A device of the agent's.
struct Live {
    config: DeviceConfig,
    tenant: u32,
    interface: u32,
    mtu: u32,
    /// What stands in the table of tenants.
    written: Option<Tenant>,
    /// The program that is on it lives in these.
    _programs: Programs,
    attachment: Attachment,
}

/// A running agent.
pub struct Agent {
    places: Places,
    config: Config,
    overlay: Overlay,
    entries: BTreeMap<(String, Identifier), NodeId>,
    /// The same by their nodes, whose paths they wait for.
    waiting: BTreeMap<(Application, NodeId), BTreeSet<(String, Identifier)>>,
    compiler: Compiler,
    tables: Tables,
    underlay: Underlay,
    devices: BTreeMap<String, Live>,
    /// A device that is being made.
    starting: Option<String>,
    receivers: BTreeMap<u32, Attachment>,
    members: Members,
    journal: Journal,
    /// What happened and was not told yet.
    events: Vec<Event>,
    swept: Duration,
    namespace: u64,
    /// Held as long as the agent lives.
    _lock: File,
}

/// Time of the clock by which programs note when they heard of a station.
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A moment in the units of [`FibEntry::heard`].
fn heard_at(now: Duration) -> u32 {
    (now.as_nanos() >> 30) as u32
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> AgentError {
    let path = path.to_owned();
    move |error| AgentError::File(path, error)
}

fn doing(what: impl Into<String>) -> impl FnOnce(io::Error) -> AgentError {
    let what = what.into();
    move |error| AgentError::Kernel(what, error)
}

/// A folder that only its owner sees.
fn make_folder(path: &Path) -> Result<(), AgentError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at(path))
}

/// Makes sure that nobody else is the agent of these places.
fn lock(run: &Path) -> Result<File, AgentError> {
    let path = run.join("lock");
    let file = File::create(&path).map_err(at(&path))?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(_) => Err(AgentError::Running(run.to_owned())),
    }
}

/// Whether programs can stay at a path once nobody holds them.
fn look_for_bpffs(pins: &Path) -> Result<(), AgentError> {
    const BPF_FS: u64 = 0xcafe_4a11;
    let there = pins.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let found = rustix::fs::statfs(there).map_err(|error| at(there)(error.into()))?;
    if found.f_type as u64 == BPF_FS { Ok(()) } else { Err(AgentError::NoBpfFs(pins.to_owned())) }
}

/// The calling thread's network namespace.
fn namespace() -> Result<u64, AgentError> {
    let path = Path::new("/proc/thread-self/ns/net");
    Ok(fs::metadata(path).map_err(at(path))?.ino())
}

/// Takes away the names of programs and tables. With its last name a program is off its device.
fn forget_names(places: &Places) -> Result<(), AgentError> {
    if !places.pins.exists() {
        return Ok(());
    }
    let layouts = fs::read_dir(&places.pins).map_err(at(&places.pins))?;
    for layout in layouts.flatten().map(|entry| entry.path()) {
        for name in fs::read_dir(&layout).map_err(at(&layout))?.flatten().map(|entry| entry.path()) {
            fs::remove_file(&name).map_err(at(&name))?;
        }
        fs::remove_dir(&layout).map_err(at(&layout))?;
    }
    fs::remove_dir(&places.pins).map_err(at(&places.pins))
}

/// Tables of other layouts than this one's.
fn refuse_others(places: &Places) -> Result<(), AgentError> {
    let Ok(entries) = fs::read_dir(&places.pins) else { return Ok(()) };
    match entries.flatten().find(|entry| entry.path() != places.layout()) {
        Some(other) => Err(AgentError::Layout(other.path())),
        None => Ok(()),
    }
}

impl Agent {
    /// Starts an agent in the calling thread's network namespace, and takes over what a former one left.
    ///
    /// # Errors
    /// No permission; another agent is there; tables of another layout.
    pub fn start(options: AgentOptions) -> Result<Self, AgentError> {
        let AgentOptions { places, identifiers, nodes } = options;
        if !rustix::process::geteuid().is_root() {
            return Err(AgentError::NotRoot);
        }
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
        let journal = Journal::open(&places.journal()).map_err(at(&places.journal()))?;
        let room = Room { nodes, groups: 256, neighbours: 256 };
        let mut agent = Self {
            config: Config::default(),
            overlay: Overlay::default(),
            entries: BTreeMap::new(),
            waiting: BTreeMap::new(),
            compiler: Compiler::new(room),
            tables: Tables::load(Sizes { identifiers, nodes })?,
            underlay: Underlay::open().map_err(doing("netlink"))?,
            devices: BTreeMap::new(),
            starting: None,
            receivers: BTreeMap::new(),
            members: Members::default(),
            journal,
            events: Vec::new(),
            swept: now(),
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
                    self.entries.retain(|(device, _), _| *device != name);
                }
                Line::Request(Request::SetControl { application, control }) => {
                    match control {
                        Some(control) => self.config.controls.insert(application, control),
                        None => self.config.controls.remove(&application),
                    };
                }
                Line::Request(Request::FibAdd { device, identifier, node }) => {
                    self.entries.insert((device, identifier), node);
                }
                Line::Request(Request::FibDel { device, identifier }) => {
                    self.entries.remove(&(device, identifier));
                }
                Line::Request(_) | Line::Journal { .. } => {}
            }
        }
    }

    /// Brings the kernel to what is known: tables first, then the devices, then the programs.
    fn take_over(&mut self) -> Result<(), AgentError> {
        let learned = Tables::learned(&self.places.layout());
        let tenants: BTreeMap<u32, Tenant> = match Table::pinned(&self.places.layout(), &names::TENANTS) {
            Ok(table) => table.keys().filter_map(|key| Some((key, table.get(&key).ok()??))).collect(),
            Err(_) => BTreeMap::new(),
        };
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
        for ((device, identifier), node) in self.entries.clone() {
            if let Some(config) = self.config.devices.iter().find(|known| known.name == device) {
                self.waiting.entry((config.application, node)).or_default().insert((device, identifier));
            }
        }
        for device in self.config.devices.clone() {
            self.set_device(&device)?;
        }
        // What was learned is where it was, in tables whose numbers are others.
        for (key, entry) in learned {
            let Some(tenant) = tenants.get(&key.tenant) else { continue };
            let application = Application(tenant.application as u8);
            let live = self
                .devices
                .values()
                .find(|live| live.config.application == application && live.config.vni == tenant.vni);
            if let Some(live) = live
                && let Some(path) = self.compiler.path(application, NodeId(entry.node))
            {
                let key = FibKey { tenant: live.tenant, ..key };
                if self.tables.fib.get(&key)?.is_none() {
                    self.tables.fib.set(&key, &FibEntry { path, ..entry })?;
                }
            }
        }
        self.attach()?;
        self.tables.programs.pin_tables(&self.places.layout())?;
        for application in self.config.controls.keys().copied().collect::<Vec<_>>() {
            let control = self.config.controls[&application].clone();
            if let Err(error) = self.drive(application, Some(&control)) {
                tracing::error!(%application, %error, "the control plane does not start");
            }
        }
        Ok(())
    }

    /// Does what is asked.
    ///
    /// # Errors
    /// Why it was not done; nothing was changed then, unless a table is full.
    pub fn handle(&mut self, request: Request) -> Result<Reply, AgentError> {
        let line = Line::Request(request.clone());
        let reply = match request {
            Request::Operation(operation) => self.operate(&operation)?,
            Request::SetApplication { application, config } => self.set_application(application, config)?,
            Request::SetDevice(config) => {
                let changed = self.config.devices.iter().all(|known| *known != config);
                if changed {
                    self.set_device(&config)?;
                    self.config.devices.retain(|known| known.name != config.name);
                    self.config.devices.push(config);
                }
                Reply::Done { changed, writes: 0 }
            }
            Request::RemoveDevice { name } => self.remove_device(&name)?,
            Request::SetControl { application, control } => {
                let changed = self.config.controls.get(&application) != control.as_ref();
                if changed {
                    if let Some(control) = &control {
                        control.check()?;
                    }
                    self.drive(application, control.as_ref())?;
                    match control {
                        Some(control) => self.config.controls.insert(application, control),
                        None => self.config.controls.remove(&application),
                    };
                }
                Reply::Done { changed, writes: 0 }
            }
            Request::FibAdd { device, identifier, node } => self.add_entry(device, identifier, node)?,
            Request::FibDel { device, identifier } => self.remove_entry(device, identifier)?,
            Request::FibGet { device } => return self.fib(device.as_deref()),
            Request::Config => return Ok(Reply::Config(self.config.clone())),
            Request::Stats => return Ok(Reply::Stats(self.stats()?)),
            Request::Metrics => return Ok(Reply::Metrics(report::metrics(&self.stats()?))),
            Request::Watch => Reply::Done { changed: false, writes: 0 },
        };
        if matches!(reply, Reply::Done { changed: true, .. }) {
            self.note(&line)?;
        }
        Ok(reply)
    }

    fn note(&mut self, line: &Line) -> Result<(), AgentError> {
        self.journal.add(line).map_err(at(&self.places.journal()))?;
        if self.journal.is_long() { self.write_journal() } else { Ok(()) }
    }

    /// Writes the journal anew.
    fn write_journal(&mut self) -> Result<(), AgentError> {
        let Config { applications, devices, controls } = self.config.clone();
        let requests =
            applications
                .into_iter()
                .map(|(application, config)| Request::SetApplication { application, config })
                .chain(self.overlay.operations().map(Request::Operation))
                .chain(devices.into_iter().map(Request::SetDevice))
                .chain(self.entries.clone().into_iter().map(|((device, identifier), node)| Request::FibAdd {
                    device,
                    identifier,
                    node,
                }))
                .chain(controls.into_iter().map(|(application, control)| Request::SetControl {
                    application,
                    control: Some(control),
                }));
        let path = self.places.journal();
        self.journal =
            Journal::write(&path, self.namespace, requests.map(Line::Request)).map_err(at(&path))?;
        Ok(())
    }

    /// Does one of ovstack's operations.
    fn operate(&mut self, operation: &Operation) -> Result<Reply, AgentError> {
        let (answer, event) = self.overlay.apply(operation)?;
        let Answer::Done { changed } = answer else { return Ok(Reply::Answer(answer)) };
        let application = operation.application();
        if let Some(Event::Own { .. }) = event
            && let Some(tables) = self.overlay.tables(application)
        {
            let locators = tables.locators.clone();
            self.members.locators(application, &locators);
            self.listen();
        }
        let writes = self.follow(event.into_iter().collect())?;
        Ok(Reply::Done { changed, writes })
    }

    /// Opens sockets at all own locators.
    fn listen(&mut self) {
        let all = self.overlay.applications().flat_map(|(_, tables)| tables.locators.keys().copied());
        self.members.listen(all);
    }

    /// Has the data plane follow changes of LIB and RIB. How many entries were written for it.
    fn follow(&mut self, events: Vec<Event>) -> Result<usize, AgentError> {
        let (writes, full) = self.compiler.follow(&self.overlay, &events, &self.underlay, now());
        self.events.extend(events);
        let count = self.write(&writes)?;
        full?;
        Ok(count)
    }

    /// Does writes, and what follows from them.
    fn write(&mut self, writes: &[Write]) -> Result<usize, AgentError> {
        self.tables.apply(writes)?;
        let mut count = writes.len();
        let wanted: BTreeSet<Neighbour> = self.compiler.wanted().collect();
        self.keep(&wanted)?;
        for neighbour in wanted {
            count += self.tell_neighbour(neighbour)?;
        }
        for write in writes {
            if let Write::Node(key, Some(_)) = write {
                count += self.place_entries(Application(key.application as u8), NodeId(key.node))?;
            }
        }
        self.write_tenants()?;
        Ok(count)
    }

    /// Has the kernel keep the neighbours by which packets leave, and notes which they are.
    fn keep(&mut self, wanted: &BTreeSet<Neighbour>) -> Result<(), AgentError> {
        if !self.underlay.keep(wanted.clone()) {
            return Ok(());
        }
        let path = self.places.neighbours();
        let kept: Vec<(u32, IpAddr)> = wanted.iter().map(|kept| (kept.interface, kept.address)).collect();
        let text = serde_json::to_vec(&kept).map_err(io::Error::from).map_err(at(&path))?;
        fs::write(&path, text).map_err(at(&path))
    }

    /// Tells the compiler what is known of a neighbour.
    fn tell_neighbour(&mut self, neighbour: Neighbour) -> Result<usize, AgentError> {
        let (writes, full) = self.compiler.neighbour(neighbour, self.underlay.adjacency(neighbour), now());
        self.tables.apply(&writes)?;
        full?;
        Ok(writes.len())
    }

    /// Says how an application's packets travel.
    fn set_application(
        &mut self,
        application: Application,
        config: ApplicationConfig,
    ) -> Result<Reply, AgentError> {
        config.check()?;
        for device in self.config.devices.iter().filter(|device| device.application == application) {
            config.check_vni(device.vni)?;
        }
        let before = self.config.applications.get(&application);
        if before == Some(&config) {
            return Ok(Reply::Done { changed: false, writes: 0 });
        }
        self.compiler.set_kind(application, config.kind());
        let group_changed = before.is_none_or(|before| before.group != config.group);
        self.config.applications.insert(application, config);
        let writes = self.follow(vec![Event::Own { application }])?;
        if group_changed && let Some(control) = self.config.controls.get(&application).cloned() {
            self.drive(application, None)?;
            self.drive(application, Some(&control))?;
        }
        Ok(Reply::Done { changed: true, writes })
    }

    /// Starts, changes or ends a control plane.
    fn drive(&mut self, application: Application, control: Option<&Control>) -> Result<(), AgentError> {
        let group = self.config.applications.get(&application).and_then(|config| config.group);
        let tables = self.overlay.tables(application).cloned().unwrap_or_default();
        self.members.set(application, control, group, &tables, now())?;
        self.listen();
        Ok(())
    }

    // Devices.

    fn application(&self, application: Application) -> Result<&ApplicationConfig, AgentError> {
        self.config.applications.get(&application).ok_or(AgentError::NoApplication(application))
    }

    /// What stands in the table of tenants for a device.
    fn tenant(&self, live: &Live) -> Result<Tenant, AgentError> {
        let DeviceConfig { application, vni, prefix, .. } = live.config;
        let config = self.application(application)?;
        // Frames for stations that nobody knows go to the group, if there is a way to it.
        let unknown = config
            .group
            .filter(|_| config.carries == Carries::Ethernet)
            .and_then(|group| Some((group.0, self.compiler.path(application, group)?)));
        let (unknown_node, unknown_path) = unknown.unwrap_or_default();
        Ok(Tenant {
            application: application.0.into(),
            vni,
            interface: live.interface,
            driver: config.carries.driver(),
            unknown_node,
            unknown_path,
            address: self.underlay.links.get(&live.interface).map_or([0; 6], |link| link.address),
            prefix,
        })
    }

    /// Writes what changed of tenants, and of their devices' MTU.
    fn write_tenants(&mut self) -> Result<(), AgentError> {
        for name in self.devices.keys().cloned().collect::<Vec<_>>() {
            let live = &self.devices[&name];
            let tenant = self.tenant(live)?;
            let mtu = self.mtu(&live.config)?;
            if live.written != Some(tenant) {
                self.tables.tenants.set(&live.tenant, &tenant)?;
            }
            if live.mtu != mtu {
                devices::set_mtu(&self.underlay.netlink, &name, mtu)
                    .map_err(doing(format!("the MTU of {name}")))?;
            }
            let live = self.devices.get_mut(&name).expect("looked up above");
            (live.written, live.mtu) = (Some(tenant), mtu);
        }
        Ok(())
    }

    /// The largest packet of a device.
    fn mtu(&self, config: &DeviceConfig) -> Result<u32, AgentError> {
        /// Before any next hop is known: what IPv6 needs at least.
        const UNKNOWN: u32 = 1280;
        let frames = self.application(config.application)?.carries == Carries::Ethernet;
        let header = if frames { plait_model_wire::ethernet::Header::LENGTH as u32 } else { 0 };
        let room = self.compiler.room(config.application).map(|room| room.saturating_sub(header));
        Ok(config.mtu.unwrap_or(room.unwrap_or(UNKNOWN)).max(576))
    }

    /// Adds a device, takes over that of a former life, or changes one.
    fn set_device(&mut self, config: &DeviceConfig) -> Result<(), AgentError> {
        config.check()?;
        let application = self.application(config.application)?;
        application.check_vni(config.vni)?;
        let is_ip = application.carries == Carries::Ip;
        let other = self.devices.values().find(|live| {
            live.config.name != config.name
                && (live.config.application, live.config.vni) == (config.application, config.vni)
        });
        if let Some(other) = other {
            return Err(AgentError::TenantTaken(other.config.name.clone()));
        }
        let mtu = self.mtu(config)?;
        if let Some(live) = self.devices.get(&config.name) {
            let same = (live.config.application, live.config.vni, live.config.prefix);
            if same == (config.application, config.vni, config.prefix) {
                self.devices.get_mut(&config.name).expect("looked up above").config = config.clone();
                return self.write_tenants();
            }
            self.forget_device(&config.name)?;
        }
        let path = self.places.transmitter(&config.name);
        self.starting = Some(config.name.clone());
        match devices::create(&self.underlay.netlink, &config.name, mtu, is_ip) {
            Ok(()) => {}
            // One that a former life made has its program on it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.exists() => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(AgentError::Foreign(config.name.clone()));
            }
            Err(error) => return Err(AgentError::Kernel(format!("device {}", config.name), error)),
        }
        let made = self.start_device(config, mtu, &path);
        if made.is_err() {
            let _ = devices::remove(&self.underlay.netlink, &config.name);
        }
        made
    }

    /// Puts a program on a device that is there.
    fn start_device(&mut self, config: &DeviceConfig, mtu: u32, path: &Path) -> Result<(), AgentError> {
        self.hear()?;
        let found = self.underlay.links.iter().find(|(_, link)| link.name == config.name);
        let Some((&interface, link)) = found else {
            return Err(AgentError::Kernel(
                format!("device {}", config.name),
                io::ErrorKind::NotFound.into(),
            ));
        };
        let old_mtu = link.mtu;
        let taken: BTreeSet<u32> = self.devices.values().map(|live| live.tenant).collect();
        let tenant =
            (1..256).find(|number| !taken.contains(number)).ok_or(Full { table: "tenants", size: 256 })?;
        let carries = self.application(config.application)?.carries;
        let device = Device {
            tenant,
            driver: carries.driver(),
            prefix: config.prefix.map(u32::from),
            offset: 0,
            mask: [0; 16],
        };
        let programs = self.tables.programs.share(&device)?;
        // Its tables are whole before its program reads them.
        let key = VniKey { application: config.application.0.into(), vni: config.vni };
        let mut live = Live {
            config: config.clone(),
            tenant,
            interface,
            mtu: old_mtu,
            written: None,
            attachment: {
                let written = self.tenant_before(config, tenant, interface)?;
                self.tables.tenants.set(&tenant, &written)?;
                self.tables.vnis.set(&key, &tenant)?;
                programs.succeed(Program::Transmit, interface, path)?
            },
            _programs: programs,
        };
        if old_mtu != mtu {
            devices::set_mtu(&self.underlay.netlink, &config.name, mtu)
                .map_err(doing(format!("the MTU of {}", config.name)))?;
            live.mtu = mtu;
        }
        self.devices.insert(config.name.clone(), live);
        self.write_tenants()?;
        let nodes: BTreeSet<NodeId> = self
            .entries
            .iter()
            .filter(|((device, _), _)| *device == config.name)
            .map(|(_, node)| *node)
            .collect();
        for node in nodes {
            self.place_entries(config.application, node)?;
        }
        Ok(())
    }

    /// What stands in the table of tenants for a device that is about to be.
    fn tenant_before(&self, config: &DeviceConfig, _: u32, interface: u32) -> Result<Tenant, AgentError> {
        let carries = self.application(config.application)?.carries;
        Ok(Tenant {
            application: config.application.0.into(),
            vni: config.vni,
            interface,
            driver: carries.driver(),
            unknown_node: 0,
            unknown_path: 0,
            address: self.underlay.links.get(&interface).map_or([0; 6], |link| link.address),
            prefix: config.prefix,
        })
    }

    fn remove_device(&mut self, name: &str) -> Result<Reply, AgentError> {
        if !self.devices.contains_key(name) {
            return Err(AgentError::NoDevice(name.to_owned()));
        }
        self.forget_device(name)?;
        self.config.devices.retain(|known| known.name != name);
        let gone: Vec<(String, Identifier)> =
            self.entries.keys().filter(|(device, _)| device == name).cloned().collect();
        for key in gone {
            self.entries.remove(&key);
            for waiting in self.waiting.values_mut() {
                waiting.remove(&key);
            }
        }
        Ok(Reply::Done { changed: true, writes: 0 })
    }

    /// Takes a device away, with what the tables know of it.
    fn forget_device(&mut self, name: &str) -> Result<(), AgentError> {
        let Some(live) = self.devices.remove(name) else { return Ok(()) };
        live.attachment.remove(&self.places.transmitter(name))?;
        devices::remove(&self.underlay.netlink, name).map_err(doing(format!("device {name}")))?;
        let key = VniKey { application: live.config.application.0.into(), vni: live.config.vni };
        self.tables.vnis.remove(&key)?;
        for key in self.tables.fib.keys().collect::<Vec<_>>() {
            if key.tenant == live.tenant {
                self.tables.fib.remove(&key)?;
            }
        }
        Ok(())
    }

    /// Puts the receiving program on the underlay's devices, and takes it from those that are gone.
    fn attach(&mut self) -> Result<(), AgentError> {
        let own = |name: &str| {
            let is_it = |device: &DeviceConfig| device.name == name;
            self.config.devices.iter().any(is_it) || self.starting.as_deref() == Some(name)
        };
        let wanted: BTreeSet<u32> = self
            .underlay
            .links
            .iter()
            .filter(|(_, link)| devices::is_underlay(link, own))
            .map(|(index, _)| *index)
            .collect();
        let places = &self.places;
        let gone: Vec<u32> = self.receivers.keys().filter(|index| !wanted.contains(index)).copied().collect();
        for index in gone {
            if let Some(attachment) = self.receivers.remove(&index) {
                attachment.remove(&places.receiver(index))?;
            }
        }
        for index in wanted {
            if self.receivers.contains_key(&index) {
                continue;
            }
            match self.tables.programs.succeed(Program::Receive, index, &places.receiver(index)) {
                Ok(attachment) => drop(self.receivers.insert(index, attachment)),
                // It may be gone again already.
                Err(error) => {
                    tracing::warn!(interface = index, %error, "no program on a device of the underlay")
                }
            }
        }
        Ok(())
    }

    // Identifiers.

    fn add_entry(
        &mut self,
        device: String,
        identifier: Identifier,
        node: NodeId,
    ) -> Result<Reply, AgentError> {
        let live = self.devices.get(&device).ok_or_else(|| AgentError::NoDevice(device.clone()))?;
        let application = live.config.application;
        let fits = match (identifier, self.application(application)?.carries) {
            (Identifier::Station(_), Carries::Ethernet) => true,
            (Identifier::Network(network), Carries::Ip) => {
                let [four, six] = live.config.prefix;
                let wanted = if network.addr().is_ipv4() { four } else { six };
                network.prefix_len() == wanted && network.trunc() == network
            }
            _ => false,
        };
        if !fits {
            let by = match self.application(application)?.carries {
                Carries::Ethernet => "hardware addresses".to_owned(),
                Carries::Ip => {
                    let [four, six] = live.config.prefix;
                    format!("networks of {four} bits of IPv4 and {six} of IPv6")
                }
            };
            return Err(AgentError::Identifier { device, by, identifier });
        }
        let key = (device, identifier);
        let before = self.entries.insert(key.clone(), node);
        if before == Some(node) {
            return Ok(Reply::Done { changed: false, writes: 0 });
        }
        if let Some(before) = before
            && let Some(waiting) = self.waiting.get_mut(&(application, before))
        {
            waiting.remove(&key);
        }
        self.waiting.entry((application, node)).or_default().insert(key.clone());
        let writes = self.place_entry(&key, node)?;
        Ok(Reply::Done { changed: true, writes })
    }

    fn remove_entry(&mut self, device: String, identifier: Identifier) -> Result<Reply, AgentError> {
        let live = self.devices.get(&device).ok_or_else(|| AgentError::NoDevice(device.clone()))?;
        let (application, tenant) = (live.config.application, live.tenant);
        let key = (device, identifier);
        let known = self.entries.remove(&key);
        if let Some(waiting) = known.and_then(|node| self.waiting.get_mut(&(application, node))) {
            waiting.remove(&key);
        }
        let fib_key = FibKey { tenant, identifier: identifier.bytes() };
        if !self.tables.fib.remove(&fib_key)? && known.is_none() {
            let (device, identifier) = key;
            return Err(AgentError::Absent { device, identifier });
        }
        Ok(Reply::Done { changed: true, writes: 1 })
    }

    /// Writes the identifiers that are at a node.
    fn place_entries(&mut self, application: Application, node: NodeId) -> Result<usize, AgentError> {
        let keys = self.waiting.get(&(application, node)).cloned().unwrap_or_default();
        keys.iter().map(|key| self.place_entry(key, node)).sum()
    }

    /// Writes an identifier, if there is a path to its node; else it waits for one.
    fn place_entry(
        &self,
        (device, identifier): &(String, Identifier),
        node: NodeId,
    ) -> Result<usize, AgentError> {
        let Some(live) = self.devices.get(device) else { return Ok(0) };
        let Some(path) = self.compiler.path(live.config.application, node) else { return Ok(0) };
        let key = FibKey { tenant: live.tenant, identifier: identifier.bytes() };
        let before = self.tables.fib.get(&key)?;
        let (packets, bytes) = before.map_or((0, 0), |entry| (entry.packets, entry.bytes));
        self.tables.fib.set(&key, &FibEntry { node: node.0, path, heard: 0, reserved: 0, packets, bytes })?;
        Ok(1)
    }

    // What happens by itself.

    /// Follows the kernel's news.
    fn hear(&mut self) -> Result<(), AgentError> {
        let changes = self.underlay.changes().map_err(doing("netlink"))?;
        if changes.routes || changes.links {
            self.listen();
            // Only what leaves another way than before is written.
            let (writes, full) = self.compiler.rerouted(&self.overlay, &self.underlay, now());
            self.write(&writes)?;
            full?;
        }
        if changes.links {
            self.attach()?;
        }
        let wanted: BTreeSet<Neighbour> = self.compiler.wanted().collect();
        let mut any = false;
        for neighbour in changes.neighbours.intersection(&wanted) {
            any |= self.tell_neighbour(*neighbour)? > 0;
        }
        if any || changes.links {
            self.keep(&wanted)?;
            self.write_tenants()?;
        }
        Ok(())
    }

    /// Drives the control planes, and forgets stations that were silent for long.
    fn tick(&mut self) -> Result<(), AgentError> {
        self.members.receive(now());
        for operation in self.members.run(now()) {
            match self.overlay.apply(&operation) {
                Ok((_, Some(event))) => {
                    self.note(&Line::Control(operation))?;
                    if let Err(error) = self.follow(vec![event]) {
                        tracing::error!(%error, "the data plane does not follow a control plane");
                    }
                }
                Ok((_, None)) => {}
                Err(error) => tracing::debug!(%error, "a control plane takes away what is away"),
            }
        }
        if now() >= self.swept + SWEEP {
            self.swept = now();
            self.sweep()?;
        }
        Ok(())
    }

    /// Forgets stations that were silent for long.
    fn sweep(&self) -> Result<(), AgentError> {
        let ages: BTreeMap<u32, u32> =
            self.devices.values().map(|live| (live.tenant, live.config.ageing)).collect();
        let second = heard_at(now());
        for key in self.tables.fib.keys().collect::<Vec<_>>() {
            let Some(entry) = self.tables.fib.get(&key)? else { continue };
            let age = ages.get(&key.tenant).copied().unwrap_or(0);
            if entry.heard != 0 && second.saturating_sub(entry.heard) > age {
                self.tables.fib.remove(&key)?;
            }
        }
        Ok(())
    }

    /// When [`tick`](Self::tick) has something to do at the latest.
    fn timeout(&self) -> Duration {
        let sweep = self.swept + SWEEP;
        self.members.timeout().map_or(sweep, |due| due.min(sweep)).saturating_sub(now())
    }
}

/// From one look for silent stations to the next.
const SWEEP: Duration = Duration::from_secs(10);

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
    let mut names = BTreeSet::new();
    for line in Journal::read(&places.journal()).unwrap_or_default() {
        match line {
            Line::Request(Request::SetDevice(device)) => drop(names.insert(device.name)),
            Line::Request(Request::RemoveDevice { name }) => drop(names.remove(&name)),
            _ => {}
        }
    }
    for name in names {
        match devices::remove(&netlink, &name) {
            Err(error) if error.raw_os_error() != Some(libc::ENODEV) => {
                return Err(AgentError::Kernel(format!("device {name}"), error));
            }
            _ => {}
        }
    }
    let kept: Vec<(u32, IpAddr)> = fs::read(places.neighbours())
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    for (interface, address) in kept {
        underlay::let_go(&netlink, Neighbour { interface, address });
    }
    if places.run.exists() {
        fs::remove_dir_all(&places.run).map_err(at(&places.run))?;
    }
    Ok(())
}
