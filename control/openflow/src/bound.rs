//! A bound on latency that holds from end to end: from when a request can have come, until its answer is in the socket.
//!
//! The thesis bounds how long one batch takes (BDU), and says itself that this bounds nothing else: a request waits for
//! its switch's turn, and that is as long as all other switches' reads together (section 4.2.3). What it waits for
//! besides is other workers' batches, applications, and output.
//!
//! ```text
//!  it comes ──► its switch's turn ──► in a batch ──► handed over ──► others' batches, applications, output ──► written
//!            a round                until due            what its bytes take, and what lately came on top of that
//! ```
//!
//! So of the bound what lately came on top is kept back, and of the rest
//!
//! - a round over all switches takes half: as many bytes are read of each as make it so, by what bytes took before,
//! - a batch is handed over when its oldest request would be as old as the rest once it, and one more turn, are answered.
//!
//! A request that comes just after its switch was read waits for one round and is answered in the next. It holds for
//! every switch that asks for no more than its share: what a switch has beyond its turn waits by its own fault, and counts from that
//! turn on. Where load is light, rounds are short anyway, and nothing changes. Where so many are loud that the least
//! which is read of each makes a round longer than its half, the bound is that round and the next.

use plait_control_runtime::Origin;
use std::time::Duration;

/// The least that is read of a switch at once. Choice: 2 KiB, some 20 requests; less has half of the time go into calls of
/// the system, and shortens no round.
const LEAST: usize = 2 << 10;
/// How much of a new round is taken into the mean.
const SMOOTHING: f64 = 0.2;
/// Of how many batches what came on top was more than what is kept back. Choice: one in a hundred, so that what is kept is what
/// the bound promises, and one batch that a kernel's thread put aside does not shrink all that follow.
const EXCEEDED: f64 = 0.01;
/// By which part of the bound what is kept back grows when it was exceeded. Choice: a thirty-second, so that it follows within some
/// dozens of batches, and wavers by little.
const STEP: f64 = 1.0 / 32.0;

/// Requests that were read and not handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// When the oldest of them can have come.
    pub came: Duration,
    /// Bytes that they had.
    pub bytes: usize,
}

impl Waiting {
    /// These and others.
    pub fn and(self, other: Self) -> Self {
        Self { came: self.came.min(other.came), bytes: self.bytes + other.bytes }
    }
}

/// A worker's bound.
///
/// [`begin`](Self::begin) a round, say of each switch what it [`took`](Self::took), hand the batch over
/// when it [`is_due`](Self::is_due), and [`end`](Self::end) the round. Of each batch that was answered, whichever worker had read it,
/// [`answered`](Self::answered) is to be told when its output was in the sockets that take any.
#[derive(Debug, Clone)]
pub struct LatencyBound {
    bound: Duration,
    /// Nanoseconds that a byte of requests takes, from read to answer.
    each: f64,
    /// Switches that had something in a round.
    busy: f64,
    /// Nanoseconds that are kept back: what came on top of what a batch's bytes take, but for one in a hundred.
    beyond: f64,
    /// Bytes that a switch's turn is in this round.
    turn: usize,
    began: Duration,
    /// Switches that had something in this round, and bytes.
    found: (usize, usize),
    waiting: Option<Waiting>,
}

impl LatencyBound {
    /// A bound before anything was measured.
    pub fn new(bound: Duration) -> Self {
        let (began, found) = (Duration::ZERO, (0, 0));
        Self { bound, each: 0.0, busy: 1.0, beyond: 0.0, turn: 0, began, found, waiting: None }
    }

    /// A round begins, in which at most so many bytes may be read of a switch.
    pub fn begin(&mut self, now: Duration, most: usize) {
        let each = self.rest() / 2.0 / (self.each * self.busy.max(1.0));
        // What is not measured yet divides by nothing: an infinity is as much as may be.
        self.turn = (each.min(most as f64) as usize).max(LEAST.min(most));
        (self.began, self.found) = (now, (0, 0));
    }

    /// Bytes to read of each switch in its turn in this round.
    pub fn turn(&self) -> usize {
        self.turn
    }

    /// So many bytes were read of a switch. If requests are among them, none of these came before `came`.
    pub fn took(&mut self, bytes: usize, came: Option<Duration>) {
        self.found = (self.found.0 + 1, self.found.1 + bytes);
        if let Some(came) = came {
            self.joined(Waiting { came, bytes });
        }
    }

    /// What another worker has read is handed over by this one.
    pub fn joined(&mut self, others: Waiting) {
        self.waiting = Some(self.waiting.map_or(others, |own| own.and(others)));
    }

    /// Whether what was read is to be handed over before more is.
    pub fn is_due(&self, now: Duration) -> bool {
        self.waiting.is_some_and(|waiting| {
            let takes = self.each * (waiting.bytes + self.turn) as f64;
            now.saturating_sub(waiting.came).as_nanos() as f64 + takes >= self.rest()
        })
    }

    /// Whether what waits since then has had its half of the time before anybody takes it.
    pub fn is_behind(&self, now: Duration, came: Duration) -> bool {
        now.saturating_sub(came).as_nanos() as f64 >= self.rest() / 2.0
    }

    /// What was read goes elsewhere.
    pub fn take(&mut self) -> Option<Waiting> {
        self.waiting.take()
    }

    /// What was read is handed over now.
    pub fn hand_over(&mut self, now: Duration) -> Option<Origin> {
        let Waiting { came, bytes } = self.waiting.take()?;
        Some(Origin { came, handed: now, size: bytes as u64 })
    }

    /// A batch was answered, as far as its switches take answers: one that reads nothing shrinks no batch.
    pub fn answered(&mut self, now: Duration, of: &Origin) {
        let took = now.saturating_sub(of.handed).as_nanos() as f64;
        let bound = self.bound.as_nanos() as f64;
        // A quantile, by a step up where it is exceeded and by so much less down where it is not that both come to the same if
        // it is exceeded as seldom as that (Robbins and Monro, 1951).
        let is_exceeded = took - self.each * of.size as f64 > self.beyond;
        let step = if is_exceeded { 1.0 - EXCEEDED } else { -EXCEEDED };
        self.beyond = (self.beyond + step * STEP * bound).clamp(0.0, bound / 2.0);
    }

    /// The round is over.
    pub fn end(&mut self, now: Duration) {
        let (switches, bytes) = self.found;
        if bytes == 0 {
            return;
        }
        let each = now.saturating_sub(self.began).as_nanos() as f64 / bytes as f64;
        let mean = |mean: f64, new: f64| if mean == 0.0 { new } else { mean + SMOOTHING * (new - mean) };
        self.each = mean(self.each, each);
        self.busy = mean(self.busy, switches as f64);
    }

    /// Nanoseconds of the bound that are not kept back.
    fn rest(&self) -> f64 {
        self.bound.as_nanos() as f64 - self.beyond
    }
}
