//! How the data plane follows: what LIB and RIB say, and what the kernel says of the underlay.

use super::error::{at, doing};
use super::{Agent, AgentError, now};
use crate::compile::{Exit, Full, MOST_PAIRS, QUIET, Write};
use crate::protocol::Change;
use plait_model_overlay::{Application, Event, NodeId};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// How long what the kernel refused waits until it is asked again.
const RETRY: Duration = Duration::from_secs(1);

impl Agent {
    /// Has the data plane follow changes of LIB and RIB.
    pub(super) fn follow(&mut self, events: Vec<Event>) -> Result<(), AgentError> {
        let (writes, full) = self.compiler.follow(&self.overlay, &events, &self.underlay, now());
        self.untold.add(events.into_iter().map(Change::Table));
        let written = self.write(&writes);
        self.look_at(full)?;
        written
    }

    /// A table that has no free slot at the moment is asked again soon; one that is full is an error.
    pub(super) fn look_at(&mut self, full: Result<(), Full>) -> Result<(), Full> {
        match full {
            Err(full) if full.is_busy => {
                self.again.get_or_insert(now() + 2 * QUIET);
                Ok(())
            }
            other => other,
        }
    }

    /// Compiles everything once more, for what found no slot before.
    pub(super) fn compile_again(&mut self) -> Result<(), AgentError> {
        let all = self.overlay.applications();
        let events: Vec<Event> = all.map(|(application, _)| Event::Own { application }).collect();
        let (writes, full) = self.compiler.follow(&self.overlay, &events, &self.underlay, now());
        let written = self.write(&writes);
        self.look_at(full)?;
        written
    }

    /// Does writes, and what follows from them.
    pub(super) fn write(&mut self, writes: &[Write]) -> Result<(), AgentError> {
        let pairs = self.compiler.pairs_left_out();
        if pairs > std::mem::replace(&mut self.told_left_out, pairs) {
            tracing::warn!(
                pairs,
                "of more than {} pairs of locators to a node some get no packets",
                MOST_PAIRS
            );
        }
        let mut written = self.tables.apply(writes).map_err(AgentError::from);
        self.retry_soon(self.tables.is_behind());
        // A full disk keeps nothing from the tables.
        let kept = self.keep();
        // One that fails keeps no other from being done.
        for exit in self.compiler.wanted().collect::<Vec<_>>() {
            written = written.and(self.tell(exit).map(drop));
        }
        for write in writes {
            if let Write::Node(key, Some(_)) = write {
                let placed = self.place_entries(Application(key.application as u8), NodeId(key.node));
                written = written.and(placed);
            }
        }
        written = written.and(self.write_tenants());
        self.follow_entrances();
        written.and(self.follow_relays()).and(kept)
    }

    /// Has the kernel keep the neighbours by which packets leave, and notes which they are.
    pub(super) fn keep(&mut self) -> Result<(), AgentError> {
        let wanted = self.compiler.wanted().map(|exit| exit.neighbour).collect();
        self.are_neighbours_noted &= !self.underlay.keep(&wanted);
        self.retry_soon(self.underlay.neighbours.is_behind());
        if self.are_neighbours_noted {
            return Ok(());
        }
        let noted = self.note_neighbours();
        self.are_neighbours_noted = noted.is_ok();
        self.retry_soon(noted.is_err());
        noted
    }

    /// Notes which neighbours the kernel was asked to keep.
    pub(super) fn note_neighbours(&self) -> Result<(), AgentError> {
        let path = self.places.neighbours();
        let kept: Vec<(u32, IpAddr)> =
            self.underlay.neighbours.kept().iter().map(|kept| (kept.interface, kept.address)).collect();
        let text = serde_json::to_vec(&kept).map_err(io::Error::from).map_err(at(&path))?;
        // Half a file would be nothing that `--remove` can read.
        let new = path.with_extension("new");
        fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).map_err(at(&path))
    }

    /// Asks the kernel again in a while, if it refused something.
    pub(super) fn retry_soon(&mut self, is_behind: bool) {
        if is_behind {
            self.retry.get_or_insert(now() + RETRY);
        }
    }

    /// Tells the compiler what is known of a way out. Whether that changes anything.
    pub(super) fn tell(&mut self, exit: Exit) -> Result<bool, AgentError> {
        let (writes, full) = self.compiler.exit(exit, self.underlay.adjacency(exit.neighbour), now());
        let applied = self.tables.apply(&writes);
        self.retry_soon(self.tables.is_behind());
        applied?;
        self.look_at(full)?;
        Ok(!writes.is_empty())
    }

    /// Follows the kernel's news.
    pub(super) fn hear(&mut self) -> Result<(), AgentError> {
        let changes = self.underlay.changes().map_err(doing("netlink"))?;
        // Neighbours first: each is a store, however much is behind it, while the kernel is asked for one route after the other.
        let is_other = |exit: &Exit| changes.neighbours.contains(&exit.neighbour);
        let wanted: Vec<Exit> = self.compiler.wanted().filter(is_other).collect();
        let (mut written, mut any, is_any_wanted) = (Ok(()), false, !wanted.is_empty());
        for exit in wanted {
            match self.tell(exit) {
                Ok(changes) => any |= changes,
                Err(error) => written = written.and(Err(error)),
            }
        }
        if !changes.routes.is_empty() {
            self.members.reroute(&changes.routes);
            self.listen();
            // Only what leaves another way than before is written.
            let (writes, full) =
                self.compiler.rerouted(&self.overlay, &changes.routes, &self.underlay, now());
            let rerouted = self.write(&writes).and(self.look_at(full).map_err(AgentError::from));
            written = written.and(rerouted);
        }
        // What is not done now is not heard of again: one that fails keeps no other from being done.
        if changes.links {
            self.start_segmenter();
            self.follow_entrances();
            written = written.and(self.attach());
        }
        if changes.links || changes.features {
            self.set_exits();
        }
        // The kernel forgets those that it never found, too, which nobody here knew either.
        if is_any_wanted || changes.links || changes.fixed {
            written = written.and(self.keep());
        }
        if any || changes.links || changes.sizes || changes.fixed {
            written = written.and(self.write_tenants());
        }
        written
    }
}
