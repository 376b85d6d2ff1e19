//! Environments: the latest content of all views, and snapshots of it.

use crate::{Content, ViewId};
use rpds::RedBlackTreeMapSync;
use std::collections::VecDeque;

/// All views at one time. A copy costs nothing, and nothing changes it (thesis §3.2.5: a local environment).
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    revision: u64,
    views: RedBlackTreeMapSync<ViewId, Content>,
}

impl Snapshot {
    /// How many commits came before.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// What a view holds, if anything was ever written to it.
    pub fn content(&self, view: &ViewId) -> Option<&Content> {
        self.views.get(view)
    }

    /// All views that hold anything, in the order of their names.
    pub fn views(&self) -> impl Iterator<Item = (&ViewId, &Content)> {
        self.views.iter()
    }

    /// The same with other contents in some views: the next revision. Cost: the logarithm of the number of views each.
    pub fn with(&self, changes: impl IntoIterator<Item = (ViewId, Content)>) -> Self {
        let mut next = Self { revision: self.revision + 1, views: self.views.clone() };
        for (view, content) in changes {
            next.views.insert_mut(view, content);
        }
        next
    }

    /// The same without a view.
    pub fn without(&self, view: &ViewId) -> Self {
        Self { revision: self.revision + 1, views: self.views.remove(view) }
    }
}

/// Where the latest content of all views is kept (thesis §3.2.5: the global environment). [`Memory`] is one; a store
/// that keeps every revision is another.
pub trait Environment: Send {
    /// The latest revision. Must cost the same however much the views hold.
    fn latest(&self) -> Snapshot;

    /// Makes a revision the latest: all of its changes are seen from now on, or none. Its number is one more than that
    /// of the latest.
    fn commit(&mut self, next: Snapshot);

    /// A past revision, if it is still known.
    fn at(&self, revision: u64) -> Option<Snapshot>;
}

/// An environment in memory, with its last revisions.
#[derive(Debug)]
pub struct Memory {
    latest: Snapshot,
    past: VecDeque<Snapshot>,
    history: usize,
}

impl Memory {
    /// An empty environment that remembers `history` past revisions. They share what did not change between them.
    pub fn new(history: usize) -> Self {
        Self { latest: Snapshot::default(), past: VecDeque::new(), history }
    }
}

impl Environment for Memory {
    fn latest(&self) -> Snapshot {
        self.latest.clone()
    }

    fn commit(&mut self, next: Snapshot) {
        self.past.push_back(std::mem::replace(&mut self.latest, next));
        while self.past.len() > self.history {
            self.past.pop_front();
        }
    }

    fn at(&self, revision: u64) -> Option<Snapshot> {
        self.past.iter().chain([&self.latest]).find(|past| past.revision == revision).cloned()
    }
}
