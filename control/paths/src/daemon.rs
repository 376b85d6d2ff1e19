//! The core of iplbd (§5.5.2): fabrics go in, operations on a sender's table come out.

use crate::fabric::Fabric;
use crate::ospf::Lsdb;
use crate::plan::{Effort, Plan, Settings};
use crate::table::{Operation, Table};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Duration;

/// How a daemon works.
#[derive(Debug, Clone)]
pub struct DaemonConfig {
    /// The switch that this host is behind: its router ID. Paths begin there.
    pub access: Ipv4Addr,
    /// What is planned.
    pub settings: Settings,
    /// Between two plans at least. Choice: the first change counts at once, and what follows is gathered, since a failure
    /// comes as several advertisements.
    pub pause: Duration,
}

impl DaemonConfig {
    /// The pause that most have: a tenth of a second.
    pub const PAUSE: Duration = Duration::from_millis(100);

    /// For a host behind a switch: eight sure paths to each other one, planned ten times a second at most.
    pub fn new(access: Ipv4Addr) -> Self {
        Self { access, settings: Settings::default(), pause: Self::PAUSE }
    }
}

/// Keeps a table true to a fabric that changes.
///
/// `handle_*` for what was learnt and for time that passed, then [`poll_operation`](Self::poll_operation) until it gives
/// nothing, then [`poll_timeout`](Self::poll_timeout).
#[derive(Debug, Clone)]
pub struct Daemon {
    config: DaemonConfig,
    plan: Option<Plan>,
    table: Table,
    /// The state of the LSDB that was last looked at.
    version: Option<u64>,
    waiting: Option<Fabric>,
    /// Not before then.
    next: Duration,
    last: Option<Effort>,
    operations: VecDeque<Operation>,
}

impl Daemon {
    /// One that knows no fabric yet.
    pub fn new(config: DaemonConfig) -> Self {
        Self {
            config,
            plan: None,
            table: Table::default(),
            version: None,
            waiting: None,
            next: Duration::ZERO,
            last: None,
            operations: VecDeque::new(),
        }
    }

    /// The table as it is when all operations are done.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The last plan.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// What the last plan took.
    pub fn last_effort(&self) -> Option<Effort> {
        self.last
    }

    /// Advertisements changed, or might have. Only for a feed that is complete: what a feed lacks is no failure. After a change
    /// of feeds, begin with [`handle_fabric`](Self::handle_fabric): numbers of versions are each feed's own.
    pub fn handle_lsdb(&mut self, lsdb: &Lsdb, now: Duration) {
        if self.version.replace(lsdb.version()) != Some(lsdb.version()) {
            self.learn(lsdb.fabric(), now);
        }
    }

    /// The fabric is this one now.
    pub fn handle_fabric(&mut self, fabric: Fabric, now: Duration) {
        self.version = None;
        self.learn(fabric, now);
    }

    /// The host is behind another switch now.
    pub fn handle_access(&mut self, access: Ipv4Addr, now: Duration) {
        self.config.access = access;
        if let Some(fabric) =
            self.waiting.take().or_else(|| self.plan.as_ref().map(|plan| plan.fabric().clone()))
        {
            self.learn(fabric, now);
        }
    }

    /// Time passed.
    pub fn handle_timeout(&mut self, now: Duration) {
        if now >= self.next
            && let Some(fabric) = self.waiting.take()
        {
            self.next = now + self.config.pause;
            self.adopt(fabric);
        }
    }

    /// The next operation.
    pub fn poll_operation(&mut self) -> Option<Operation> {
        self.operations.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due; none while nothing waits.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.waiting.as_ref().map(|_| self.next)
    }

    /// The host is behind another switch by the time of the next fabric, which is about to come.
    pub(crate) fn move_to(&mut self, access: Ipv4Addr) {
        self.config.access = access;
    }

    fn learn(&mut self, fabric: Fabric, now: Duration) {
        self.waiting = Some(fabric);
        self.handle_timeout(now);
    }

    fn adopt(&mut self, fabric: Fabric) {
        // Choice: while the access switch is no part of the fabric, the table stays as it is. Nothing leaves this host then, by
        // whatever table; and most likely the switch is back soon, with the same fabric behind it.
        let Some(source) = fabric.index(self.config.access) else { return };
        match &mut self.plan {
            Some(plan) => self.last = Some(plan.update(fabric, source)),
            plan => {
                let new = plan.insert(Plan::new(self.config.settings.clone(), fabric, source));
                self.last = Some(Effort { searched: new.fabric().switches().len(), is_whole: true });
            }
        }
        let Some(plan) = &self.plan else { return };
        let table = Table::of(plan);
        self.operations.extend(self.table.operations(&table));
        self.table = table;
    }
}
