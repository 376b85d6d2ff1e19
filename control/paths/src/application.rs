//! iplbd as an application of the control runtime: views go in, views come out, and a [`Daemon`] decides between them.
//!
//! ```text
//!  Learnt ─► FabricDriver ─┬─► fabric@1 ────────┐                 ┌─► relay-lists@1 ─► FabricDriver ─► Operations
//!                          └─► access-switch@1 ─┴─► iplbd ────────┤
//!                                     ▲                           └─► path-plan@1 ─┐
//!                                     └────────────────────────────────────────────┘
//! ```
//!
//! What a [`Daemon`] does by itself, the runtime does here: changes that come while it pauses are gathered by the DAG's
//! least interval between runs, and what is known from one run to the next is a view. For that a run can be recorded and
//! replayed, drawn, and asked what would be ([`Iplbd::what_if`]).

use crate::daemon::{Daemon, DaemonConfig};
use crate::fabric::{Fabric, Link, Switch};
use crate::fat_tree::{FatTree, Layer};
use crate::ospf::Lsdb;
use crate::passage::{Passage, is_nearer, lasting};
use crate::plan::{Method, Plan, Settings};
use crate::table::{Operation, Table};
use ipnet::IpNet;
use plait_control_runtime::{
    Action, Config, Content, Dag, Driver, Entry, Failure, InPlace, Manifest, Mismatch, Name, NotRun,
    NotTaken, Perhaps, Policy, Port, Report, Runtime, Set, Signature, Snapshot, Type, Value, View, ViewId,
    Wit, changed, native, wit,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// What the application and its DAG are called.
const IPLBD: &str = "iplbd";
/// What the driver is called.
const DRIVER: &str = "fabric-driver";

/// The switch that this host is behind: the state `access-switch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessSwitch {
    /// Its router ID.
    pub id: Ipv4Addr,
}
wit!(struct AccessSwitch { id });

impl View for AccessSwitch {
    const NAME: &'static str = "access-switch";
}

impl View for Fabric {
    const NAME: &'static str = "fabric";
}

/// Its switches, and its links by the switches' places. What no fabric is, is a mismatch.
impl Wit for Fabric {
    fn schema() -> Type {
        FabricForm::schema()
    }
    fn to_value(&self) -> Value {
        let switch = |switch: &Switch| SwitchForm {
            id: switch.id,
            relay: switch.relay,
            prefixes: switch.prefixes.iter().copied().map(PrefixForm::of).collect(),
        };
        let switches = self.switches().iter().map(switch).collect();
        FabricForm { switches, links: self.links().to_vec() }.to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let FabricForm { switches, links } = FabricForm::from_value(value)?;
        let ids: BTreeSet<Ipv4Addr> = switches.iter().map(|switch| switch.id).collect();
        if ids.len() != switches.len() {
            return Err(Mismatch::new("switches each of an ID of its own", value));
        }
        let is_end = |end: u32| (end as usize) < switches.len();
        if !links.iter().all(|link| is_end(link.from) && is_end(link.to)) {
            return Err(Mismatch::new("links between switches that there are", value));
        }
        let switch = |form: SwitchForm| {
            let prefixes = form.prefixes.into_iter().map(|prefix| prefix.prefix(value));
            Ok(Switch {
                id: form.id,
                relay: form.relay,
                prefixes: prefixes.collect::<Result<_, Mismatch>>()?,
            })
        };
        Ok(Self::new(switches.into_iter().map(switch).collect::<Result<_, Mismatch>>()?, links))
    }
}

struct FabricForm {
    switches: Vec<SwitchForm>,
    links: Vec<Link>,
}
wit!(struct FabricForm { switches, links });
wit!(struct Link { from, to, cost });

struct SwitchForm {
    id: Ipv4Addr,
    relay: Option<IpAddr>,
    prefixes: Vec<PrefixForm>,
}
wit!(struct SwitchForm { id, relay, prefixes });

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PrefixForm {
    address: IpAddr,
    length: u8,
}
wit!(struct PrefixForm { address, length });

impl PrefixForm {
    fn of(prefix: IpNet) -> Self {
        Self { address: prefix.addr(), length: prefix.prefix_len() }
    }

    fn prefix(self, value: &Value) -> Result<IpNet, Mismatch> {
        IpNet::new(self.address, self.length)
            .map_err(|_| Mismatch::new("a prefix no longer than its address", value))
    }
}

impl View for Table {
    const NAME: &'static str = "relay-lists";
}

/// Pairs of a prefix and its lists, the best first.
impl Wit for Table {
    fn schema() -> Type {
        <BTreeMap<PrefixForm, Vec<Vec<IpAddr>>>>::schema()
    }
    fn to_value(&self) -> Value {
        let set = |(prefix, lists): (&IpNet, &[_])| (PrefixForm::of(*prefix), lists.to_vec());
        self.sets().map(set).collect::<BTreeMap<PrefixForm, Vec<Vec<IpAddr>>>>().to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let mut table = Self::default();
        for (prefix, lists) in <Vec<(PrefixForm, Vec<Vec<IpAddr>>)>>::from_value(value)? {
            table.apply(Operation::Set { prefix: prefix.prefix(value)?, lists });
        }
        Ok(table)
    }
}

/// What is known from one run to the next: the state `path-plan`.
///
/// Choice: as a value it is what a plan follows from, and not the paths, which are many more: who gets it from a value
/// plans anew, to the same paths.
#[derive(Debug, Clone)]
pub struct Planned(Known);

#[derive(Debug, Clone)]
enum Known {
    Daemon(Box<Daemon>),
    Told(PlannedForm),
}

#[derive(Debug, Clone)]
struct PlannedForm {
    access: Ipv4Addr,
    fabric: Arc<Fabric>,
    /// Those of the last whole fat-tree, where one was recognised.
    layers: Option<Vec<LayerForm>>,
}
wit!(struct PlannedForm { access, fabric, layers });

#[derive(Debug, Clone, Copy)]
enum LayerForm {
    Core,
    Aggregation(u32),
    Edge(u32),
}
wit!(variant LayerForm { Core, Aggregation(_), Edge(_) });

impl Planned {
    /// That of a daemon; none while it has no plan.
    fn of(daemon: Daemon) -> Option<Self> {
        daemon.plan().is_some().then(|| Self(Known::Daemon(Box::new(daemon))))
    }

    /// None of what was read from a value.
    fn plan(&self) -> Option<&Plan> {
        match &self.0 {
            Known::Daemon(daemon) => daemon.plan(),
            Known::Told(_) => None,
        }
    }

    fn form(&self) -> PlannedForm {
        let daemon = match &self.0 {
            Known::Daemon(daemon) => daemon,
            Known::Told(form) => return form.clone(),
        };
        let plan = daemon.plan().expect("only a daemon with a plan becomes one of these");
        let layer = |layer: &Layer| match *layer {
            Layer::Core => LayerForm::Core,
            Layer::Aggregation { pod } => LayerForm::Aggregation(pod as u32),
            Layer::Edge { pod } => LayerForm::Edge(pod as u32),
        };
        PlannedForm {
            access: plan.fabric().switches()[plan.source()].id,
            fabric: Arc::new(plan.fabric().clone()),
            layers: plan.tree().map(|tree| tree.layers().iter().map(layer).collect()),
        }
    }

    /// The daemon again, as it was when this was written.
    fn daemon(&self, settings: &Settings) -> Daemon {
        let form = match &self.0 {
            Known::Daemon(daemon) => return Daemon::clone(daemon),
            Known::Told(form) => form,
        };
        let layer = |layer: &LayerForm| match *layer {
            LayerForm::Core => Layer::Core,
            LayerForm::Aggregation(pod) => Layer::Aggregation { pod: pod as usize },
            LayerForm::Edge(pod) => Layer::Edge { pod: pod as usize },
        };
        let mut settings = settings.clone();
        if let (Method::FatTree(tree), Some(layers)) = (&mut settings.method, &form.layers) {
            *tree = Some(FatTree::new(layers.iter().map(layer).collect()));
        }
        let mut daemon = daemon(settings, form.access);
        daemon.handle_fabric(Fabric::clone(&form.fabric), Duration::ZERO);
        while daemon.poll_operation().is_some() {}
        daemon
    }
}

impl Wit for Planned {
    fn schema() -> Type {
        PlannedForm::schema()
    }
    fn to_value(&self) -> Value {
        self.form().to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        PlannedForm::from_value(value).map(|form| Self(Known::Told(form)))
    }
}

impl View for Planned {
    const NAME: &'static str = "path-plan";
}

/// A daemon that does not pause: the DAG does.
fn daemon(settings: Settings, access: Ipv4Addr) -> Daemon {
    Daemon::new(DaemonConfig { access, settings, pause: Duration::ZERO })
}

/// The application, and the DAG that runs it when the fabric or the access switch has changed, with this pause between two
/// plans at least.
pub fn iplbd(settings: Settings, pause: Duration) -> Set {
    let decide = move |(fabric, access, before): (Arc<Fabric>, Arc<AccessSwitch>, Option<Arc<Planned>>)| {
        decide(&settings, &fabric, access.id, before.as_deref())
    };
    let manifest = Manifest::new(IPLBD)
        .reads("fabric@1")
        .reads("access-switch@1")
        .reads("path-plan@1?")
        .writes("relay-lists@1?")
        .writes("path-plan@1?");
    Set::default().with(manifest, native(decide)).dag(
        Dag::chain(IPLBD, &[IPLBD])
            .on("fabric@1")
            .on("access-switch@1")
            .policy(Policy { min_interval: pause, ..Policy::default() }),
    )
}

fn decide(
    settings: &Settings,
    fabric: &Fabric,
    access: Ipv4Addr,
    before: Option<&Planned>,
) -> Result<(Perhaps<Table>, Perhaps<Planned>), Failure> {
    // As the daemon does: what is known stays while the access switch is no part of the fabric.
    if fabric.index(access).is_none() {
        return Ok((Perhaps(None), Perhaps(None)));
    }
    let mut daemon = match before {
        Some(before) => before.daemon(settings),
        None => daemon(settings.clone(), access),
    };
    daemon.move_to(access);
    daemon.handle_fabric(fabric.clone(), Duration::ZERO);
    let mut is_changed = before.is_none();
    while daemon.poll_operation().is_some() {
        is_changed = true;
    }
    let table = is_changed.then(|| daemon.table().clone());
    Ok((Perhaps(table), Perhaps(Planned::of(daemon))))
}

/// What is learnt of a network, at one moment.
#[derive(Debug, Clone, Default)]
pub struct Learnt {
    /// The fabric, if it is another.
    pub fabric: Option<Fabric>,
    /// The switch that the host is behind, if it is another.
    pub access: Option<Ipv4Addr>,
}

/// What is learnt becomes views, and relay lists become operations on a sender's table.
#[derive(Debug, Clone, Copy, Default)]
pub struct FabricDriver;

impl Driver for FabricDriver {
    type Event = Learnt;
    type Message = Operation;

    fn name(&self) -> Name {
        named(DRIVER)
    }

    fn signature(&self) -> Signature {
        Signature {
            inputs: vec![Port::of::<Table>()],
            outputs: vec![Port::of::<Fabric>(), Port::of::<AccessSwitch>()],
        }
    }

    fn observe(&mut self, learnt: Learnt, views: &Snapshot) -> Vec<(ViewId, Content)> {
        let access = learnt.access.map(|id| AccessSwitch { id });
        let fabric = learnt.fabric.and_then(|fabric| changed(fabric, views));
        fabric.into_iter().chain(access.and_then(|access| changed(access, views))).collect()
    }

    fn push(&mut self, _: &ViewId, before: Option<&Content>, now: &Content) -> Vec<Operation> {
        let read = |content: &Content| content.read::<Table>().unwrap_or_default();
        before.map(read).unwrap_or_default().operations(&read(now))
    }
}

fn named(name: &str) -> Name {
    name.parse().unwrap_or_else(|fault| panic!("{fault}"))
}

/// iplbd on a control runtime of its own, with the same methods in the same order as a [`Daemon`] has. What it takes more
/// than that one is a copy of the last plan with each change; and it waits for switches, where it is [said so](Self::settling).
pub struct Iplbd {
    runtime: Runtime,
    driver: FabricDriver,
    access: Option<Ipv4Addr>,
    /// The state of the LSDB that was last looked at.
    version: Option<u64>,
    operations: VecDeque<Operation>,
    failures: VecDeque<Failure>,
    passage: Passage,
    /// What was planned last.
    last: Option<Arc<Planned>>,
    /// The plan of which lists are in force, or were before switches had changes to follow.
    settled: Option<Arc<Planned>>,
}

impl Iplbd {
    /// For how long lists stay that a failure left alone, where switches are as they usually are. Choice: a second. FRR computes 10 to
    /// 500 ms after it heard of one, as Plait has it do, and writes its routes after that; meanwhile a longer list costs a few bytes
    /// of each packet.
    pub const SETTLING: Duration = Duration::from_secs(1);

    /// One that knows no fabric yet, with so much between two plans at least; `record` lets
    /// [`poll_entry`](Self::poll_entry) tell everything.
    ///
    /// # Panics
    /// Never: its own parts fit each other.
    pub fn new(settings: Settings, pause: Duration, record: bool) -> Self {
        let mut runtime = Runtime::new(Config { record, ..Config::default() });
        let driver = FabricDriver;
        let signature = driver.signature();
        for port in &signature.outputs {
            runtime.grant(&driver.name(), &port.view.name);
        }
        let fits = "the driver and the application declare the same views";
        runtime.add_driver(&driver.name(), signature).expect(fits);
        iplbd(settings, pause).add_to(&mut runtime, Duration::ZERO).expect(fits);
        Self {
            runtime,
            driver,
            access: None,
            version: None,
            operations: VecDeque::new(),
            failures: VecDeque::new(),
            passage: Passage::default(),
            last: None,
            settled: None,
        }
    }

    /// The same, where switches take so long to follow a failure: until then lists stay along whose paths nothing changed, for each
    /// prefix that has any, and others are none.
    pub fn settling(mut self, time: Duration) -> Self {
        self.passage.time = time;
        self
    }

    /// Advertisements changed, or might have: see [`Daemon::handle_lsdb`].
    pub fn handle_lsdb(&mut self, lsdb: &Lsdb, now: Duration) {
        if self.version.replace(lsdb.version()) != Some(lsdb.version()) {
            self.learn(Learnt { fabric: Some(lsdb.fabric()), access: None }, now);
        }
    }

    /// The fabric is this one now.
    pub fn handle_fabric(&mut self, fabric: Fabric, now: Duration) {
        self.version = None;
        self.learn(Learnt { fabric: Some(fabric), access: None }, now);
    }

    /// The host is behind this switch now.
    pub fn handle_access(&mut self, access: Ipv4Addr, now: Duration) {
        if self.access.replace(access) != Some(access) {
            self.learn(Learnt { fabric: None, access: Some(access) }, now);
        }
    }

    /// Time passed.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.runtime.handle_timeout(now);
        self.settle(now);
        self.operations.extend(self.passage.handle_timeout(now));
    }

    /// The next operation.
    pub fn poll_operation(&mut self) -> Option<Operation> {
        self.operations.pop_front()
    }

    /// Why a run changed nothing, if one failed.
    pub fn poll_failure(&mut self) -> Option<Failure> {
        self.failures.pop_front()
    }

    /// The next line of the recording.
    pub fn poll_entry(&mut self) -> Option<Entry> {
        self.runtime.poll_entry()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due; none while nothing waits.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.runtime.poll_timeout().into_iter().chain(self.passage.poll_timeout()).min()
    }

    /// The table as it is in the end, when all operations are done.
    pub fn table(&self) -> Arc<Table> {
        self.view().unwrap_or_default()
    }

    /// The table as it is now, when the operations so far are done.
    pub fn in_force(&self) -> &Table {
        &self.passage.in_force
    }

    /// The fabric that was planned for last.
    pub fn planned(&self) -> Option<Arc<Fabric>> {
        Some(self.view::<Planned>()?.form().fabric)
    }

    /// How many switches and links were planned for last.
    pub fn size(&self) -> Option<(usize, usize)> {
        self.of_planned(|fabric| (fabric.switches().len(), fabric.links().len()))
    }

    /// How many switches of them headers can name.
    pub fn relays(&self) -> Option<usize> {
        self.of_planned(|fabric| fabric.switches().iter().filter(|switch| switch.relay.is_some()).count())
    }

    fn of_planned<T>(&self, ask: impl Fn(&Fabric) -> T) -> Option<T> {
        let planned = self.view::<Planned>()?;
        match &planned.0 {
            Known::Daemon(_) => planned.plan().map(|plan| ask(plan.fabric())),
            Known::Told(form) => Some(ask(&form.fabric)),
        }
    }

    /// The fabric as it was learnt last.
    pub fn fabric(&self) -> Option<Arc<Fabric>> {
        self.view()
    }

    /// The table that there would be with another fabric. Nothing changes, and no operation follows.
    ///
    /// # Errors
    /// It would fail; nothing was learnt yet.
    pub fn what_if(&self, fabric: Fabric) -> Result<Arc<Table>, NotRun> {
        let dag = self.runtime.dag(&named(IPLBD)).ok_or_else(|| NotRun::Unknown(named(IPLBD)))?;
        let state = self.runtime.state().with([(Fabric::id(), Content::new(fabric))]);
        let written = self.runtime.dry_run(dag, &state, None)?;
        Ok(written.get(&Table::id()).and_then(|table| table.read().ok()).unwrap_or_else(|| self.table()))
    }

    /// The runtime, to be drawn and measured.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    fn view<T: View>(&self) -> Option<Arc<T>> {
        self.runtime.state().content(&T::id())?.read().ok()
    }

    fn learn(&mut self, learnt: Learnt, now: Duration) {
        let taken: Result<(), NotTaken> = self.runtime.observe(now, &mut self.driver, learnt);
        debug_assert_eq!(taken, Ok(()), "a driver writes what it declares");
        self.settle(now);
    }

    fn settle(&mut self, now: Duration) {
        for action in self.runtime.settle(&mut InPlace::default(), || now) {
            if let Action::Report(Report::Failed { failure, .. }) = action {
                self.failures.push_back(failure);
            }
        }
        let Some(planned) = self.view::<Planned>() else { return };
        if self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &planned)) {
            return;
        }
        let last = self.last.replace(Arc::clone(&planned));
        if self.passage.poll_timeout().is_none() {
            self.settled.clone_from(&last);
        }
        fn plan(of: &Option<Arc<Planned>>) -> Option<&Plan> {
            of.as_deref().and_then(Planned::plan)
        }
        let lasting = match (plan(&self.settled), plan(&last), planned.plan()) {
            (Some(settled), Some(last), Some(next))
                if self.passage.is_awaited() && !is_nearer(last.fabric(), next.fabric()) =>
            {
                lasting(settled, next)
            }
            _ => Table::default(),
        };
        let target = Table::clone(&self.table());
        self.operations.extend(self.passage.lead_to(target, &lasting, now));
    }
}
