//! Which worker serves which switch, and when: the four designs of section 4.2.2 of the thesis, as decisions. Locks and
//! reads are the driver's, which is asked to try a switch and says how that went.
//!
//! | design | who reads a switch | fair |
//! |---|---|---|
//! | shared queue | the first worker alone; the others take what it has queued | yes |
//! | static partition | its worker, for ever | no |
//! | dynamic partition | its worker, until rates are measured anew | no |
//! | round robin | every worker, in turn | yes |

use std::collections::VecDeque;

/// One of the designs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Design {
    /// One worker reads all, and queues. Choice: it cuts and parses as well, where the thesis leaves parsing to who takes a request:
    /// with reading and cutting that is 14 to 20 ns of one here, most likely less than to hand over what is unparsed.
    SharedQueue,
    /// As many switches for each worker.
    StaticPartition,
    /// As much load for each worker, as it was measured.
    DynamicPartition,
    /// Every worker serves every switch; one that another worker holds is skipped and tried again.
    #[default]
    RoundRobin,
}

/// The worker of each switch: as many for each, in turn.
pub fn static_partition(switches: usize, workers: usize) -> Vec<usize> {
    (0..switches).map(|switch| switch % workers.max(1)).collect()
}

/// The worker of one more switch where some have theirs: who has fewest, the first of those. One after the other they get what
/// [`static_partition`] gives, and where some have gone those who lost them come first.
pub fn fewest(assigned: impl IntoIterator<Item = usize>, workers: usize) -> usize {
    let mut counts = vec![0usize; workers.max(1)];
    for worker in assigned {
        if let Some(count) = counts.get_mut(worker) {
            *count += 1;
        }
    }
    (0..counts.len()).min_by_key(|worker| counts[*worker]).unwrap_or(0)
}

/// The worker of each switch by its rate: the fastest first, each to the worker that has least load. Ties go to the
/// first. Cost: switches × (workers + log switches).
pub fn dynamic_partition(rates: &[f64], workers: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|a, b| rates[*b].total_cmp(&rates[*a]));
    let mut loads = vec![0.0f64; workers.max(1)];
    let mut assigned = vec![0; rates.len()];
    for switch in order {
        let least = (0..loads.len()).min_by(|a, b| loads[*a].total_cmp(&loads[*b])).unwrap_or(0);
        loads[least] += rates[switch];
        assigned[switch] = least;
    }
    assigned
}

/// How a try went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// Something was read.
    Read,
    /// Nothing was there.
    Empty,
    /// Another worker holds it.
    Locked,
}

/// What a worker has met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Rounds that ended.
    pub rounds: u64,
    /// Switches that another worker held at first.
    pub skips: u64,
    /// Of these, those that were tried again in the same round.
    pub revisits: u64,
    /// Of these, those that were held again: whoever holds them serves them.
    pub missed: u64,
}

/// A worker's rounds: [`next`](Self::next) switch, try it, say how it [`went`](Self::went), until the round is over.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// Switches and their weights, from where this worker begins.
    turns: Vec<(usize, u32)>,
    place: usize,
    visits: u32,
    skipped: VecDeque<usize>,
    revisits: bool,
    revisiting: Option<usize>,
    found: bool,
    counters: Counters,
}

impl Rounds {
    /// Rounds of worker `worker` of `workers` over switches with these weights, visits a round each. `assigned` is each
    /// switch's worker, where the design has one: of [`static_partition`] or [`dynamic_partition`].
    ///
    /// Choice: in round robin each worker begins at another switch, so that they do not follow each other from lock to
    /// lock.
    pub fn new(design: Design, weights: &[u32], assigned: &[usize], worker: usize, workers: usize) -> Self {
        let mut turns: Vec<(usize, u32)> = weights.iter().copied().enumerate().collect();
        match design {
            Design::SharedQueue if worker == 0 => {}
            Design::SharedQueue => turns.clear(),
            Design::StaticPartition | Design::DynamicPartition => {
                turns.retain(|(switch, _)| assigned.get(*switch) == Some(&worker));
            }
            Design::RoundRobin => {
                let begin = worker * turns.len() / workers.max(1);
                let count = turns.len().max(1);
                turns.rotate_left(begin % count);
            }
        }
        Self {
            turns,
            place: 0,
            visits: 0,
            skipped: VecDeque::new(),
            revisits: true,
            revisiting: None,
            found: false,
            counters: Counters::default(),
        }
    }

    /// The same, but a switch that another worker holds is passed by until the next round, unless it `revisits`: what the second
    /// try is worth is seen by its absence (Figure 4.10 of the thesis).
    pub fn revisiting(self, revisits: bool) -> Self {
        Self { revisits, ..self }
    }

    /// The next switch to try, unless the round is over. Those that `idle` names are passed by.
    pub fn next(&mut self, idle: impl Fn(usize) -> bool) -> Option<usize> {
        while let Some((switch, weight)) = self.turns.get(self.place).copied() {
            if self.visits < weight && !idle(switch) {
                return Some(switch);
            }
            self.place += 1;
            self.visits = 0;
        }
        self.revisiting = self.skipped.pop_front();
        self.counters.revisits += u64::from(self.revisiting.is_some());
        self.revisiting
    }

    /// How the try of [`next`](Self::next)'s switch went. One that was empty or held gets no more visits at once.
    pub fn went(&mut self, tried: Tried) {
        self.found |= tried != Tried::Empty;
        if self.revisiting.take().is_some() {
            self.counters.missed += u64::from(tried == Tried::Locked);
            return;
        }
        let Some((switch, _)) = self.turns.get(self.place).copied() else { return };
        self.visits += 1;
        if tried == Tried::Locked {
            self.counters.skips += 1;
            if self.revisits {
                self.skipped.push_back(switch);
            }
        }
        if tried != Tried::Read {
            self.place += 1;
            self.visits = 0;
        }
    }

    /// Ends a round of which [`next`](Self::next) gave all, and begins another. False if no switch had anything: load is
    /// light, and [`Batch::light_load`](crate::Batch::light_load) is due.
    pub fn end(&mut self) -> bool {
        self.counters.rounds += 1;
        self.place = 0;
        self.visits = 0;
        std::mem::take(&mut self.found)
    }

    /// A whole round with a driver's `try_take`. What it returns is as of [`end`](Self::end).
    pub fn round(&mut self, idle: impl Fn(usize) -> bool, mut try_take: impl FnMut(usize) -> Tried) -> bool {
        while let Some(switch) = self.next(&idle) {
            let tried = try_take(switch);
            self.went(tried);
        }
        self.end()
    }

    /// What was met since this was asked for.
    pub fn take_counters(&mut self) -> Counters {
        std::mem::take(&mut self.counters)
    }

    /// What was met.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
