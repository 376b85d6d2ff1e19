//! Commands in two stages: what some switches are told first, and what others are told once those have done it.
//!
//! A flow's packet that is sent on before the switches behind have their flows meets them without, and they ask again. So a path
//! is set up from its end, a barrier goes behind what each switch gets, and the first switch gets its flow and the packet when
//! all others have answered theirs (OpenFlow 1.3.5 section 6.2, 1.0 section 5.3.7).
//!
//! ```text
//!  Staged ──► first, each switch's part with a barrier behind it ──► answered, or its switch gone ──┐
//!      └────► steps, held ─────────────────────────────────────────► all of theirs answered ────────┴─► told
//!                                                                    or too late: told all the same
//! ```

use crate::Commands;
use plait_control_runtime::{Cause, Kind, View, wit};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// Bytes that are held at most. Choice: 64 MiB, some hundred thousand first packets; what is beyond them is told at once.
const MOST: usize = 64 << 20;
/// Bytes that a step has beside its messages.
const STEP: usize = 320;

/// Commands in two stages: the stream `staged-commands`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staged {
    /// What is told at once, with a barrier behind it for each switch that a step waits for.
    pub first: Commands,
    /// What is told later.
    pub steps: Vec<Step>,
    /// Microseconds after which a step waits for nobody any more.
    pub patience: u64,
    /// Whether what steps of before were decided by is not so now: what they have waiting for flows goes without any.
    pub supersedes: bool,
}
wit!(struct Staged { first, steps, patience, supersedes });

impl View for Staged {
    const NAME: &'static str = "staged-commands";
    const KIND: Kind = Kind::Stream;
}

/// What is told once some switches have done what they were told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// These.
    pub behind: Vec<u64>,
    /// What is told then, to whomever.
    pub then: Commands,
}
wit!(struct Step { behind, then });

/// A barrier of a switch that something waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The switch.
    pub switch: u64,
    /// Which of its barriers, in the order in which they are to be sent.
    pub number: u64,
}

/// What is to be told now, and what it follows from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// What.
    pub commands: Commands,
    /// Barriers that go behind it, each to its switch.
    pub barriers: Vec<Token>,
    /// What from.
    pub cause: Cause,
}

/// What has become of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Steps that are held.
    pub held: u64,
    /// Steps that were told when all had answered.
    pub answered: u64,
    /// Steps that were told when nobody was to be waited for any more: one was gone, could not be asked, or knows no barriers.
    pub abandoned: u64,
    /// Steps that were told without, since it took too long, or too much was held.
    pub overdue: u64,
    /// Steps of which packets alone were told, since something else holds now.
    pub superseded: u64,
}

/// Holds steps. It knows no clock: barriers that were answered, switches that are gone and time go in, what is to be told
/// comes out, in the order in which it became due.
#[derive(Debug, Default)]
pub struct Gate {
    next: u64,
    /// Steps by the order in which they came.
    held: BTreeMap<u64, Held>,
    /// Steps that wait for a barrier.
    waiting: HashMap<Token, Vec<u64>>,
    /// Steps by when they are told at the latest.
    due: BTreeSet<(Duration, u64)>,
    bytes: usize,
    passed: Passed,
}

#[derive(Debug)]
struct Held {
    /// How many barriers are not answered.
    open: usize,
    /// Whether one of them never will be.
    is_abandoned: bool,
    due: Duration,
    then: Commands,
    /// The barriers that it waits for.
    behind: Vec<Token>,
    bytes: usize,
    cause: Cause,
}

impl Gate {
    /// What to tell at once.
    pub fn hold(&mut self, now: Duration, staged: &Staged, cause: Cause) -> Vec<Told> {
        let mut told = if staged.supersedes { self.supersede() } else { Vec::new() };
        let due = now.saturating_add(Duration::from_micros(staged.patience));
        let mut tokens: BTreeMap<u64, Token> = BTreeMap::new();
        let mut at_once = Vec::new();
        for step in &staged.steps {
            let bytes = STEP + step.then.size();
            let is_crowded = self.bytes + bytes > MOST;
            if step.behind.is_empty() || is_crowded {
                self.passed.overdue += u64::from(is_crowded);
                at_once.push(Told { commands: step.then.clone(), barriers: Vec::new(), cause });
                continue;
            }
            let number = self.next;
            self.next += 1;
            // A switch that is named twice is waited for once.
            let behind: BTreeSet<u64> = step.behind.iter().copied().collect();
            let token = |switch: u64| *tokens.entry(switch).or_insert(Token { switch, number });
            let behind: Vec<Token> = behind.into_iter().map(token).collect();
            for token in &behind {
                self.waiting.entry(*token).or_default().push(number);
            }
            self.bytes += bytes;
            self.due.insert((due, number));
            let then = step.then.apart();
            self.held.insert(
                number,
                Held { open: behind.len(), is_abandoned: false, due, then, behind, bytes, cause },
            );
        }
        if !staged.first.is_empty() || !tokens.is_empty() {
            let barriers = tokens.into_values().collect();
            told.push(Told { commands: staged.first.clone(), barriers, cause });
        }
        told.extend(at_once);
        told
    }

    /// A barrier was answered. An answer to one that nobody waits for is none.
    pub fn answered(&mut self, token: Token) -> Vec<Told> {
        self.end(token, false)
    }

    /// A barrier never will be answered: its switch is gone, could not be told, or knows none.
    pub fn abandoned(&mut self, token: Token) -> Vec<Told> {
        self.end(token, true)
    }

    fn end(&mut self, token: Token, is_abandoned: bool) -> Vec<Told> {
        let mut done = Vec::new();
        for step in self.waiting.remove(&token).unwrap_or_default() {
            let Some(held) = self.held.get_mut(&step) else { continue };
            held.open -= 1;
            held.is_abandoned |= is_abandoned;
            if held.open == 0 {
                let count = match held.is_abandoned {
                    true => &mut self.passed.abandoned,
                    false => &mut self.passed.answered,
                };
                *count += 1;
                done.push(step);
            }
        }
        self.tell(done)
    }

    /// Time passed: what has waited for long enough waits no longer.
    pub fn handle_timeout(&mut self, now: Duration) -> Vec<Told> {
        let late: Vec<u64> = self.due.range(..=(now, u64::MAX)).map(|(_, step)| *step).collect();
        self.passed.overdue += late.len() as u64;
        // Nobody waits for their barriers any more: all who did came with them, and are as late.
        for token in late.iter().filter_map(|step| self.held.get(step)).flat_map(|held| &held.behind) {
            self.waiting.remove(token);
        }
        self.tell(late)
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due, if ever.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.due.first().map(|(due, _)| *due)
    }

    /// What has become of all steps so far.
    pub fn passed(&self) -> Passed {
        Passed { held: self.held.len() as u64, ..self.passed }
    }

    /// Lets go of all that is held: what was decided of flows is wrong, but packets may still arrive, and a switch that keeps one is
    /// to have its room again.
    fn supersede(&mut self) -> Vec<Told> {
        self.passed.superseded += self.held.len() as u64;
        self.waiting.clear();
        let told = self.tell(self.held.keys().copied().collect()).into_iter();
        let packets = told.map(|told| Told { commands: told.commands.packets(), ..told });
        packets.filter(|told| !told.commands.is_empty()).collect()
    }

    fn tell(&mut self, steps: Vec<u64>) -> Vec<Told> {
        let mut told = Vec::new();
        for step in steps {
            let Some(held) = self.held.remove(&step) else { continue };
            self.due.remove(&(held.due, step));
            self.bytes -= held.bytes;
            told.push(Told { commands: held.then, barriers: Vec::new(), cause: held.cause });
        }
        told
    }
}
