//! Control planes of a testbed once more, in virtual time, and what was wrong between them.
//!
//! ```text
//! recordings, one a node ─► Recording::read ─► replay ─┬─► each Member: the same inputs at the same instants
//!                                                      │      its decisions, held against those recorded
//!                                                      └─► after each instant, for each pair: is there a way?
//!                                                             Fault: what, where, from when until when, for whom
//! ```
//!
//! [`replay`] merges the recordings of all nodes by their one clock and feeds members of `control/overlay` with them. What
//! each decides must be what was recorded of it, so that whoever looks for a fault looks at the code that made it, without
//! namespaces, sockets and waiting. Between two instants nothing changes; after each the ways of all pairs are followed
//! through the tables that were in force, hop by hop as the data plane does, and what ends them is a [`Fault`] under the name
//! that the data plane's counters have for it.

mod fault;
mod reading;
mod watch;
mod wires;

pub use fault::{Cause, Fault, Outage};
pub use reading::{Recording, Unreadable};

use plait_control_overlay::record::{Divergence, Entry, Event, Replay};
use plait_model_overlay::{Application, NodeId, Operation, Overlay, Tables};
use std::collections::BTreeMap;
use std::time::Duration;
use thiserror::Error;
use watch::Watch;
use wires::Wires;

/// What a replay found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Who was there: faults and decisions name them by their places here.
    pub members: Vec<ReplayedMember>,
    /// When the first of them began.
    pub from: Duration,
    /// The last instant that all recordings have.
    pub until: Duration,
    /// Whose recording ended there since it was full.
    pub full: Option<String>,
    /// What was wrong, in the order in which it began.
    pub faults: Vec<Fault>,
    /// What members decided, in order.
    pub decisions: Vec<Decision>,
}

/// A member of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedMember {
    /// The recording that it is in: its node's name.
    pub name: String,
    /// Its overlay's application.
    pub application: Application,
    /// Its identity.
    pub node: NodeId,
    /// How often it began.
    pub lives: usize,
    /// Inputs that it was fed with.
    pub inputs: usize,
    /// Operations that it decided.
    pub operations: usize,
    /// When the last was heard of it.
    pub last: Duration,
}

/// What a member changed at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// When.
    pub at: Duration,
    /// Who, by its place among the members.
    pub member: usize,
    /// What, one at least.
    pub operations: Vec<Operation>,
}

/// Why recordings could not be replayed to their end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// A member does not do what was recorded: other code, or a recording that was changed.
    #[error("{name}:{line}: at {at:?}, {}: {divergence}", member.map_or("nobody".to_owned(), |node| node.to_string()))]
    Diverged {
        /// The recording.
        name: String,
        /// The line of it, from 1.
        line: usize,
        /// When, on the clock of the recording.
        at: Duration,
        /// Whose.
        member: Option<NodeId>,
        /// What is another.
        divergence: Box<Divergence>,
    },
    /// Two recordings are of one member.
    #[error("{name}:{line}: {node} is the member that `{other}` is of, too")]
    Twice {
        /// The recording.
        name: String,
        /// The line of it.
        line: usize,
        /// Who.
        node: NodeId,
        /// The other one.
        other: String,
    },
    /// There is nothing to replay.
    #[error("no member of any overlay is in these recordings")]
    Nobody,
}

/// A member while it is replayed.
struct Played {
    replay: Replay,
    overlay: Overlay,
    /// Whether it takes part: it began, and did not take its leave.
    is_there: bool,
    about: ReplayedMember,
}

impl Played {
    fn tables(&self) -> Option<&Tables> {
        self.overlay.tables(self.about.application)
    }
}

/// Replays what nodes recorded, all of them that took part.
///
/// Cost: what their members did, and for each instant that changes a table a walk for each pair.
///
/// # Errors
/// The first thing that is not as it was recorded.
pub fn replay(recordings: &[Recording]) -> Result<Replayed, ReplayError> {
    let full =
        recordings.iter().filter_map(|recording| Some((recording.full?, recording))).min_by_key(|of| of.0);
    let horizon = full.map(|(at, _)| at);
    // A full recording lacks the instant at which it was, and what came after.
    let is_within = |at: Duration| horizon.is_none_or(|horizon| at < horizon);
    recordings.iter().try_for_each(never_goes_back)?;
    let mut order: Vec<(Duration, usize, usize)> = Vec::new();
    for (file, recording) in recordings.iter().enumerate() {
        let entries = recording.entries.iter().enumerate();
        let within = entries.filter(|(_, (_, entry))| is_within(entry.at));
        order.extend(within.map(|(place, (_, entry))| (entry.at, file, place)));
    }
    // The order of each member is kept, since its instants never go back.
    order.sort_by_key(|(at, file, _)| (*at, *file));
    let (Some(first), Some(last)) = (order.first(), order.last()) else { return Err(ReplayError::Nobody) };
    let (from, until) = (first.0, last.0);

    let mut stage = Stage { recordings, places: BTreeMap::new(), played: Vec::new(), decisions: Vec::new() };
    let mut wires = Wires::of(recordings, order.iter().map(|(_, file, place)| (*file, *place)));
    let mut watch = Watch::default();
    let mut next = 0;
    while next < order.len() {
        let at = wires.next_change().map_or(order[next].0, |change| change.min(order[next].0));
        let mut is_changed = wires.pass(at);
        while let Some((_, file, place)) = order.get(next).filter(|(of, ..)| *of == at) {
            is_changed |= stage.step(*file, *place)?;
            next += 1;
        }
        if is_changed {
            watch.look(at, &stage.played, &wires);
        }
    }
    let faults = watch.end();
    Ok(Replayed {
        members: stage.played.into_iter().map(|played| played.about).collect(),
        from,
        until,
        full: full.map(|(_, recording)| recording.name.clone()),
        faults,
        decisions: stage.decisions,
    })
}

/// Whether each member's instants follow each other as its lines do: a machine that was started anew in between has
/// another clock.
fn never_goes_back(recording: &Recording) -> Result<(), ReplayError> {
    let mut last: BTreeMap<Application, (Duration, Option<NodeId>)> = BTreeMap::new();
    for (line, Entry { at, application, event }) in &recording.entries {
        let (before, member) = last.entry(*application).or_default();
        if at < before {
            return Err(ReplayError::Diverged {
                name: recording.name.clone(),
                line: *line,
                at: *at,
                member: *member,
                divergence: Box::new(Divergence::Past),
            });
        }
        *before = *at;
        if let Event::Begin(begin) = event {
            *member = Some(begin.own);
        }
    }
    Ok(())
}

struct Stage<'a> {
    recordings: &'a [Recording],
    /// Members by recording and application.
    places: BTreeMap<(usize, Application), usize>,
    played: Vec<Played>,
    decisions: Vec<Decision>,
}

impl Stage<'_> {
    /// Does the next line of a recording; whether the tables in force, or who is there, may be others now.
    fn step(&mut self, file: usize, place: usize) -> Result<bool, ReplayError> {
        let recording = &self.recordings[file];
        let (line, entry) = &recording.entries[place];
        let Entry { at, application, event } = entry;
        let diverged = |member, divergence| ReplayError::Diverged {
            name: recording.name.clone(),
            line: *line,
            at: *at,
            member,
            divergence: Box::new(divergence),
        };
        let member = match (self.places.get(&(file, *application)), event) {
            (Some(member), _) => *member,
            (None, Event::Begin(begin)) => {
                let is_same =
                    |of: &&Played| of.about.application == *application && of.about.node == begin.own;
                if let Some(other) = self.played.iter().find(is_same) {
                    return Err(ReplayError::Twice {
                        name: recording.name.clone(),
                        line: *line,
                        node: begin.own,
                        other: other.about.name.clone(),
                    });
                }
                self.places.insert((file, *application), self.played.len());
                self.played.push(Played {
                    replay: Replay::new(*application),
                    overlay: Overlay::default(),
                    is_there: false,
                    about: ReplayedMember {
                        name: recording.name.clone(),
                        application: *application,
                        node: begin.own,
                        lives: 0,
                        inputs: 0,
                        operations: 0,
                        last: *at,
                    },
                });
                self.played.len() - 1
            }
            (None, _) => return Err(diverged(None, Divergence::Unborn)),
        };
        let played = &mut self.played[member];
        played.replay.step(entry).map_err(|divergence| diverged(Some(played.about.node), divergence))?;
        played.about.last = *at;
        if !event.follows() {
            played.about.inputs += 1;
        }
        match event {
            Event::Begin(_) => {
                played.about.lives += 1;
                (played.overlay, played.is_there) = (Overlay::default(), true);
                Ok(true)
            }
            Event::Adopt { nodes, routes } => {
                let application = *application;
                let nodes = nodes.iter().flat_map(|(node, locators)| {
                    locators.iter().map(|(locator, weight)| Operation::NodeAdd {
                        application,
                        node: *node,
                        locator: *locator,
                        weight: *weight,
                    })
                });
                let routes = routes.iter().flat_map(|(destination, hops)| {
                    hops.iter().map(|hop| Operation::RouteAdd {
                        application,
                        destination: *destination,
                        next_hop: *hop,
                    })
                });
                // What cannot be in a table was in none.
                nodes.chain(routes).for_each(|operation| drop(played.overlay.apply(&operation)));
                Ok(true)
            }
            Event::Leave => {
                played.is_there = false;
                Ok(true)
            }
            Event::Decided { operations } if !operations.is_empty() => {
                for operation in operations {
                    // As an agent does: what is away already may be taken away.
                    let _ = played.overlay.apply(operation);
                }
                played.about.operations += operations.len();
                self.decisions.push(Decision { at: *at, member, operations: operations.clone() });
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}
