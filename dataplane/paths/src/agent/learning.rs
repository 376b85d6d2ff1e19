//! iplbd: lists that follow from what is learnt of the fabric.

use ipnet::IpNet;
use plait_control_paths::{DaemonConfig, Iplbd, Operation, RelayList, Settings, Table};
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
    /// As an application of the control runtime. Choice: the runtime costs a copy of the last plan with each change of the
    /// fabric, and gives in return what it gives every application.
    iplbd: Iplbd,
    access: Option<Ipv4Addr>,
    is_given: bool,
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
            iplbd: Iplbd::new(options.settings, DaemonConfig::PAUSE, false).settling(Iplbd::SETTLING),
            is_given: options.access.is_some(),
            access: options.access,
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
        self.iplbd.size()
    }

    /// Switches of the last plan that headers can name.
    pub fn relays(&self) -> Option<usize> {
        self.iplbd.relays()
    }

    /// The sockets, and what of them is waited for.
    pub fn waited(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        self.feeds.iter().flat_map(|(_, feed)| feed.waited())
    }

    /// When [`run`](Self::run) has something to do at the latest.
    pub fn timeout(&self) -> Option<Duration> {
        let feeds = self.feeds.iter().filter_map(|(_, feed)| feed.timeout()).min();
        feeds.into_iter().chain(self.iplbd.poll_timeout()).min()
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
                self.access = Some(access);
                self.iplbd.handle_access(access, now);
                match is_new {
                    true => self.iplbd.handle_fabric(lsdb.fabric(), now),
                    false => self.iplbd.handle_lsdb(lsdb, now),
                }
            }
        } else {
            // Whoever tells next counts its states anew, and a number may be one that was looked at.
            self.from = None;
        }
        if self.iplbd.poll_timeout().is_some_and(|due| now >= due) {
            self.iplbd.handle_timeout(now);
        }
        while let Some(failure) = self.iplbd.poll_failure() {
            tracing::error!(%failure, "the fabric changed, and the lists did not follow");
        }
        let mut operations: Vec<_> = std::iter::from_fn(|| self.iplbd.poll_operation()).collect();
        if self.iplbd.size().is_some()
            && let Some(inherited) = self.inherited.take()
        {
            // From what the former life left to what is, not from nothing.
            operations = inherited.operations(&self.iplbd.table());
        }
        operations
    }
}
