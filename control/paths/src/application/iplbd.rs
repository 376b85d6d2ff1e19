//! iplbd on a control runtime of its own.

use super::{FabricDriver, IPLBD, Learnt, Planned, iplbd, named};
use crate::fabric::Fabric;
use crate::ospf::Lsdb;
use crate::passage::{Passage, is_nearer, lasting};
use crate::plan::{Plan, Settings};
use crate::table::{Operation, Table};
use plait_control_runtime::{
    Action, Config, Content, Driver, Entry, Failure, InPlace, NotRun, NotTaken, Report, Runtime, View,
};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// iplbd on a control runtime of its own, with the same methods in the same order as a [`Daemon`] has. What it takes more
/// than that one is a run of the runtime with each change, and what of plans is no longer the same; and it waits for switches, where it is [said so](Self::settling).
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
        Some(self.view::<Planned>()?.fabric())
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
        self.view::<Planned>()?.ask(ask)
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
