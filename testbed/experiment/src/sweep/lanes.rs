//! How many runs may go side by side without one telling in another's figures.

use crate::world::AccuracyClass;
use plait_dataplane_processors::Ticks;
use std::time::{Duration, Instant};

/// Choice: a run may need a quarter more than it did in its busiest second so far.
const ROOM: f64 = 1.25;
/// Choice: a run that seems to need nothing needs this part of a processor, to be built and taken down.
const LEAST: f64 = 0.1;

/// Decides how many runs go on at once, from what the first of them was seen to need.
///
/// Choice: one run after the other until one was alone from its beginning to its end, since its load is its own only
/// then; a run that is alone later says it anew. Links with a rate or a delay keep a processor to themselves, busy or
/// not, because a packet that waits for the processor is late; on a machine that is too slow for one such run (class
/// C) there is no second. And when a run that had company was tainted, all later ones go alone: its links tell more
/// than any load.
///
/// Choice: runs in virtual time go on side by side from the first on, as many as there are processors for their threads: nothing of
/// theirs depends on how late it is.
#[derive(Debug, Clone)]
pub struct Lanes {
    most: usize,
    processors: f64,
    open: usize,
    /// Whether what runs need is known before the first.
    is_known: bool,
}

impl Lanes {
    /// At most so many lanes, on a machine with so many processors. One is open.
    pub fn new(most: usize, processors: usize) -> Self {
        Self { most: most.max(1), processors: processors as f64, open: 1, is_known: false }
    }

    /// Lanes of runs in virtual time, on each of which so many threads work.
    pub fn in_virtual_time(most: usize, processors: usize, threads: usize) -> Self {
        let open = most.min(processors / threads.max(1)).max(1);
        Self { open, is_known: true, ..Self::new(most, processors) }
    }

    /// How many runs may go on now.
    pub fn open(&self) -> usize {
        self.open
    }

    /// A run is over that was alone: so many processors were busy in its busiest second, by whatever, and so exact its
    /// links were (absent where none was shaped).
    pub fn measured(&mut self, busy: f64, class: Option<AccuracyClass>) {
        if self.is_known {
            return;
        }
        let links = match class {
            None => 0.0,
            Some(AccuracyClass::A | AccuracyClass::B) => 1.0,
            Some(AccuracyClass::C) => self.processors,
        };
        let need = (busy * ROOM).max(links).max(LEAST);
        // Work of the machine and of this command comes on top of the links' processors.
        let spare = if class.is_some() { 1.0 } else { 0.0 };
        let fit = ((self.processors - spare) / need).floor().max(1.0);
        self.open = self.most.min(fit as usize);
    }

    /// A run that had company was tainted.
    pub fn tainted(&mut self) {
        self.most = 1;
        self.open = 1;
    }
}

/// How many processors of this machine are busy.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    ticks: Ticks,
    at: Instant,
}

impl Load {
    /// From now on.
    pub fn now() -> Self {
        Self { ticks: Ticks::now(), at: Instant::now() }
    }

    /// How many were busy on the average since the last call, `processors` being all; none while too little time has
    /// passed to tell.
    pub fn since(&mut self, processors: usize) -> Option<f64> {
        if self.at.elapsed() < Duration::from_millis(250) {
            return None;
        }
        let before = std::mem::replace(self, Self::now());
        let (_, busy) = self.ticks.since(before.ticks)?;
        Some(busy * processors as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(processors: usize, busy: f64, class: Option<AccuracyClass>) -> usize {
        let mut lanes = Lanes::new(100, processors);
        assert_eq!(lanes.open(), 1, "the first run is alone");
        lanes.measured(busy, class);
        lanes.open()
    }

    #[test]
    fn as_many_runs_go_on_as_the_machine_has_room_for() {
        assert_eq!(open(2, 0.05, None), 20, "runs that sleep");
        assert_eq!(open(8, 1.6, None), 4);
        assert_eq!(open(8, 9.0, None), 1, "never fewer than one");
        assert_eq!(open(2, 0.1, Some(AccuracyClass::A)), 1, "shaped links keep a processor");
        assert_eq!(open(8, 0.1, Some(AccuracyClass::B)), 7, "and one is left for the machine");
        assert_eq!(open(8, 1.6, Some(AccuracyClass::A)), 3);
        assert_eq!(open(64, 0.1, Some(AccuracyClass::C)), 1);
        let mut lanes = Lanes::new(3, 8);
        lanes.measured(0.1, None);
        assert_eq!(lanes.open(), 3, "no more than asked for");
        lanes.tainted();
        lanes.measured(0.1, None);
        assert_eq!(lanes.open(), 1, "what tainted a run once will do so again");
    }

    #[test]
    fn runs_in_virtual_time_have_a_processor_for_each_thread() {
        let open = |most, processors, threads| {
            let mut lanes = Lanes::in_virtual_time(most, processors, threads);
            let open = lanes.open();
            lanes.measured(2.0, None);
            assert_eq!(lanes.open(), open, "whatever the machine does");
            open
        };
        assert_eq!([open(8, 2, 1), open(8, 64, 1), open(8, 8, 2), open(1, 8, 1)], [2, 8, 4, 1]);
        assert_eq!(open(8, 2, 4), 1, "never fewer than one");
    }
}
