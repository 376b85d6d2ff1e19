//! When a worker works, when it makes way for others, and when it sleeps.

use super::{HOUSEKEEPING, Worker, processor_time};
use crate::Idleness;
use crate::statistics::Counters;
use plait_control_openflow::Design;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a worker sleeps that another one is to wake. Choice: it looks by itself as often as this.
const NAP: Duration = Duration::from_millis(100);
/// How long a worker is busy before it wakes another one. Choice: about as long as a batch; with less, every burst would wake
/// all, who would then take processors from those that make the load and from each other.
const BUSY: Duration = Duration::from_millis(1);
/// Bytes of a read from which on there is more to do than a worker can, however long it has been busy. Choice: 4 KiB, some forty
/// requests, which take as long as the system's calls for them. Who reads less is busy with these calls, and makes fewer of them
/// the more waits in each socket: of a thousand switches that ask for a little, another worker would take its part in smaller
/// reads.
pub(super) const DEEP: usize = 4 << 10;
/// Over how long a worker measures how much of a processor it has. Choice: some time slices of the kernel's.
const WINDOW: Duration = Duration::from_millis(10);
/// A worker that has less than this part of a processor gives way even when there is more to do than can be done. Choice: a
/// fifth. Who shares a processor with one that makes the load uses what that leaves; of less, others lose more by waiting for
/// the locks of one that does not run.
const SHORT: u32 = 5;

impl Worker<'_> {
    /// Asks where something waits, if that is this worker's to do.
    pub(super) fn look_out(&mut self) {
        self.round += 1;
        let polls = match self.shared.config.idleness {
            Idleness::AllPoll => true,
            Idleness::OnePoller(rounds) => {
                self.is_poller() && self.round.is_multiple_of(u64::from(rounds.max(1)))
            }
            // New connections are found by polling alone.
            Idleness::EagerPoller(_) | Idleness::Unknown => self.is_poller(),
        };
        if polls {
            self.ask();
        }
    }

    /// Whether it is the one that polls. Choice: the first, and any other while that sleeps and waits to be woken: by polling alone
    /// it is known that there is more to do than one can.
    fn is_poller(&self) -> bool {
        self.number == 0 || self.shared.first_sleeps.load(Ordering::Relaxed)
    }

    /// How many sockets are read in a round from one poll to the next; none where a round has one poll at most, before it.
    pub(super) fn reads_of_a_poll(&self) -> Option<usize> {
        let Idleness::EagerPoller(times) = self.shared.config.idleness else { return None };
        let waiting = || self.members.iter().filter(|slot| self.shared.is_ready(**slot)).count();
        self.is_poller().then(|| waiting().div_ceil(times.max(1) as usize).max(1))
    }

    /// Asks where something waits.
    pub(super) fn ask(&mut self) {
        let found = self.shared.poller.poll(self.shared, Duration::ZERO, &mut self.events);
        Counters::add(&self.counters.polls, 1);
        if self.shared.config.scale && found.is_some_and(|found| self.needs_others(found, self.is_busy())) {
            self.wake_others();
        }
    }

    /// Whether others are to be woken, where a poll has told of so many switches. What it tells is told once: of a switch that is
    /// another worker's that one is to know at once, and of what is anybody's only if this one has too much.
    fn needs_others(&self, found: usize, has_too_much: bool) -> bool {
        if self.is_partitioned() { found > 0 } else { found > 1 && has_too_much }
    }

    /// Whether each worker has switches of its own.
    fn is_partitioned(&self) -> bool {
        matches!(self.shared.config.design, Design::StaticPartition | Design::DynamicPartition)
    }

    /// Whether it is time for another worker.
    fn is_busy(&self) -> bool {
        self.took > BUSY || (self.is_deep && self.shared.now() > self.idle + BUSY)
    }

    pub(super) fn wakes(&mut self) {
        self.idle = self.shared.now();
        self.window = (self.idle, processor_time());
    }

    /// Leaves the processor to whoever waits for it, if another worker works besides. Choice: between rounds, when it holds neither
    /// a switch nor a batch; whoever makes the load on the same processor then finds out at once that there is room, and so
    /// the other worker has something to do. Without it, two workers beside a load were slower than one.
    pub(super) fn offer_processor(&self) {
        if self.helps && self.shared.config.scale {
            std::thread::yield_now();
        }
    }

    /// Whether others want the processor that it works on, and all would be done without it: whoever makes the load is then in
    /// time. The first worker never gives way.
    pub(super) fn is_short(&mut self) -> bool {
        let now = self.shared.now();
        let wanted = now.saturating_sub(self.window.0);
        if wanted < WINDOW {
            return false;
        }
        let (_, before) = std::mem::replace(&mut self.window, (now, processor_time()));
        let had = self.window.1.saturating_sub(before);
        let rested = Duration::from_nanos(self.shared.rested.load(Ordering::Relaxed));
        // Who helps has offered the processor all the time, and whoever wanted it has had it.
        let is_spare = !self.helps && now.saturating_sub(rested) < WINDOW;
        let enough = if is_spare { wanted * 4 / 5 } else { wanted / SHORT };
        self.number != 0 && self.shared.config.scale && !self.is_partitioned() && had < enough
    }

    pub(super) fn wake_others(&self) {
        let shared = self.shared;
        match shared.config.design {
            Design::StaticPartition | Design::DynamicPartition => {
                for slot in self.members.iter() {
                    let place = &shared.slots[*slot as usize];
                    let worker = place.worker.load(Ordering::Relaxed);
                    if worker != self.number && shared.is_ready(*slot) {
                        shared.wake(Some(worker));
                    }
                }
            }
            Design::RoundRobin | Design::SharedQueue => shared.wake(None),
        }
    }

    pub(super) fn anything_waits(&self) -> bool {
        let ready = |slot: &u32| self.shared.is_ready(*slot);
        match self.shared.config.design {
            Design::RoundRobin => self.members.iter().any(ready),
            Design::SharedQueue if self.number == 0 => self.members.iter().any(ready),
            Design::SharedQueue => !self.queue().is_empty(),
            Design::StaticPartition | Design::DynamicPartition => self.members.iter().any(|slot| {
                let own = self.shared.slots[*slot as usize].worker.load(Ordering::Relaxed) == self.number;
                own && ready(slot)
            }),
        }
    }

    /// Waits for work: one worker in the poll, the others until they are woken.
    pub(super) fn sleep(&mut self) {
        let now = self.shared.now();
        self.shared.rested.store(now.as_nanos() as u64, Ordering::Relaxed);
        let due = self.shared.brain.due().map_or(HOUSEKEEPING, |due| due.saturating_sub(now));
        let wait = due.min(HOUSEKEEPING);
        if self.shared.config.idleness == Idleness::Unknown || !self.shared.config.scale {
            // Without a map there is nothing to wait for: that is what it costs. Who is to stay awake asks in every round.
            return std::thread::yield_now();
        }
        Counters::add(&self.counters.sleeps, 1);
        let shared = self.shared;
        // Who does not read has no use for what a poll tells: it would keep it from the one that does.
        let reads = shared.config.design != Design::SharedQueue || self.number == 0;
        let poll = |wait| shared.poller.poll(shared, wait, &mut self.events);
        let asked = reads.then(|| self.spin.wait(wait, || shared.now(), poll)).flatten();
        match asked {
            Some(found) => {
                self.helps = false;
                Counters::add(&self.counters.polls, 1);
                // Who slept is not late, but may soon be if what it does takes long.
                if self.needs_others(found, self.took > BUSY) {
                    self.wake_others();
                }
            }
            None => {
                self.helps = true;
                let sleeper = (self.number, std::thread::current());
                self.shared.sleepers.lock().unwrap_or_else(PoisonError::into_inner).push(sleeper);
                // Whoever saw that there is work before this worker was among the sleepers has woken nobody.
                if !self.anything_waits() {
                    let first_sleeps = |sleeps| {
                        if self.number == 0 {
                            self.shared.first_sleeps.store(sleeps, Ordering::Relaxed);
                        }
                    };
                    first_sleeps(true);
                    std::thread::park_timeout(NAP.min(wait));
                    first_sleeps(false);
                }
                let mut sleepers = self.shared.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
                sleepers.retain(|(sleeper, _)| *sleeper != self.number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::Shared;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn while_the_first_sleeps_and_is_to_be_woken_another_polls() {
        let shared = Shared::of_two_workers(1);
        let polls = || shared.counters[1].read().polls;
        let mut second = Worker::new(&shared, 1);
        second.look_out();
        assert_eq!(polls(), 0);
        let somebody_polls = shared.poller.hold();
        let has_polled = AtomicBool::new(false);
        let helped = std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let mut first = Worker::new(&shared, 0);
                while !has_polled.load(Ordering::Relaxed) {
                    first.sleep();
                }
                first.helps
            });
            let until = std::time::Instant::now() + Duration::from_secs(30);
            while polls() == 0 && std::time::Instant::now() < until {
                second.look_out();
            }
            has_polled.store(true, Ordering::Relaxed);
            sleeper.join().unwrap()
        });
        assert!(polls() > 0 && helped);
        let before = polls();
        second.look_out();
        assert_eq!(polls(), before, "the first is awake");
        drop(somebody_polls);
        second.helps = true;
        second.sleep();
        assert!(!second.helps, "it has polled, and is woken by nobody");
    }
}
