//! iplbd: lists that follow from what is learnt of the fabric.

use ipnet::IpNet;
use plait_control_paths::{Daemon, DaemonConfig, Operation, RelayList, Settings, Table};
use plait_dataplane_ospf::{Feed, Source};
use rustix::event::PollFlags;
use std::net::Ipv4Addr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// What is learnt, and what follows.
#[derive(Debug, Clone, Default)]
pub struct LearningOptions {
    /// Where the fabric is learnt from: the first that knows all of it counts.
    pub sources: Vec<Source>,
    /// The switch that this host is behind; without it the neighbour with the lowest router ID.
    pub access: Option<Ipv4Addr>,
    /// What is planned.
    pub settings: Settings,
}

/// iplbd.
pub struct Learning {
    feeds: Vec<(String, Feed)>,
    daemon: Option<Daemon>,
    access: Option<Ipv4Addr>,
    is_given: bool,
    settings: Settings,
    /// Which feed was listened to last.
    from: Option<usize>,
    /// Of a former life, until the fabric is known.
    inherited: Option<Table>,
}

impl Learning {
    /// Begins to learn. What a former life learnt counts until all is known again.
    pub fn new(options: LearningOptions, inherited: impl Iterator<Item = (IpNet, Vec<RelayList>)>) -> Self {
        let mut table = Table::default();
        inherited.for_each(|(prefix, lists)| table.apply(Operation::Set { prefix, lists }));
        let name = |source: &Source| match source {
            Source::Adjacency { interface, .. } => format!("OSPF on {interface}"),
            Source::Api { server, .. } => format!("ospfd at {server}"),
        };
        Self {
            feeds: options.sources.into_iter().map(|source| (name(&source), Feed::new(source))).collect(),
            daemon: None,
            is_given: options.access.is_some(),
            access: options.access,
            settings: options.settings,
            from: None,
            inherited: Some(table),
        }
    }

    /// The feeds, and whether all is known from each.
    pub fn feeds(&self) -> impl Iterator<Item = (&str, bool)> {
        self.feeds.iter().map(|(name, feed)| (name.as_str(), feed.lsdb().is_some()))
    }

    /// The switch that this host is behind.
    pub fn access(&self) -> Option<Ipv4Addr> {
        self.access
    }

    /// Switches and links of the last plan.
    pub fn fabric(&self) -> Option<(usize, usize)> {
        let fabric = self.daemon.as_ref()?.plan()?.fabric();
        Some((fabric.switches().len(), fabric.links().len()))
    }

    /// The sockets, and what of them is waited for.
    pub fn waited(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        self.feeds.iter().flat_map(|(_, feed)| feed.waited())
    }

    /// When [`run`](Self::run) has something to do at the latest.
    pub fn timeout(&self) -> Option<Duration> {
        let feeds = self.feeds.iter().filter_map(|(_, feed)| feed.timeout()).min();
        let daemon = self.daemon.as_ref().and_then(Daemon::poll_timeout);
        feeds.into_iter().chain(daemon).min()
    }

    /// Takes what came, and says what is to be changed.
    pub fn run(&mut self, now: Duration) -> Vec<Operation> {
        self.feeds.iter_mut().for_each(|(_, feed)| feed.run(now));
        let known = self.feeds.iter().position(|(_, feed)| feed.lsdb().is_some());
        if let Some(index) = known {
            let feed = &self.feeds[index].1;
            // The neighbour stays the one that it was, as long as it is there.
            let stays =
                self.access.filter(|access| self.is_given || feed.neighbors().any(|id| id == *access));
            let access = stays.or_else(|| feed.neighbors().min());
            if let (Some(lsdb), Some(access)) = (feed.lsdb(), access) {
                let is_new = self.from.replace(index) != Some(index);
                let moved = self.access.replace(access) != Some(access);
                let settings = &self.settings;
                let daemon = self.daemon.get_or_insert_with(|| {
                    let config = DaemonConfig { settings: settings.clone(), ..DaemonConfig::new(access) };
                    Daemon::new(config)
                });
                if moved {
                    daemon.handle_access(access, now);
                }
                match is_new {
                    true => daemon.handle_fabric(lsdb.fabric(), now),
                    false => daemon.handle_lsdb(lsdb, now),
                }
            }
        }
        let Some(daemon) = &mut self.daemon else { return Vec::new() };
        daemon.handle_timeout(now);
        let mut operations: Vec<_> = std::iter::from_fn(|| daemon.poll_operation()).collect();
        if daemon.plan().is_some()
            && let Some(inherited) = self.inherited.take()
        {
            // From what the former life left to what is, not from nothing.
            operations = inherited.operations(daemon.table());
        }
        operations
    }
}
