//! The four designs in virtual time: whom a worker visits is decided by the same [`Rounds`] as in the controller, and locks,
//! hand-overs and the queue are waited for; what a step costs was measured. What processors cost each other beside that, memory
//! and caches most of all, is in the costs, which are those of workers beside each other ([`Costs::beside`]).

use plait_control_openflow::{Design, Rounds, Tried, dynamic_partition, static_partition};
use plait_dataplane_openflow::Statistics;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Virtual nanoseconds that are modelled, after as many that are not counted.
const SPAN: f64 = 2e8;
/// Nanoseconds of a try that finds a lock taken.
const SKIP: f64 = 20.0;
/// Nanoseconds in which the shared queue is held.
const QUEUE: f64 = 100.0;
/// Nanoseconds after which who found nothing looks again.
const NAP: f64 = 1000.0;

/// Nanoseconds of each stage, of a piece of work and of each request in it.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    pub visit: f64,
    pub parse: f64,
    /// Of a batch. Choice: all of it is the control runtime's, behind its one lock.
    pub batch: f64,
    pub decide: f64,
    pub output: f64,
    pub answer: f64,
}

impl Costs {
    /// From two measurements of one worker which cut the same work into pieces of other sizes.
    pub fn between(coarse: &Statistics, fine: &Statistics) -> Self {
        let solve = |spent: fn(&Statistics) -> u64, pieces: fn(&Statistics) -> u64| {
            let each = |of: &Statistics| {
                (spent(of) as f64 / of.requests as f64, pieces(of) as f64 / of.requests as f64)
            };
            let ((a, p), (b, q)) = (each(coarse), each(fine));
            let piece = ((b - a) / (q - p)).max(0.0);
            (piece, (a - piece * p).max(0.0))
        };
        let (visit, parse) = solve(|of| of.reading, |of| of.reads);
        let (batch, decide) = solve(|of| of.processing - of.writing, |of| of.batches);
        let (output, answer) = solve(|of| of.writing, |of| of.writes);
        Self { visit, parse, batch, decide, output, answer }
    }

    /// What the stages cost of which these are known of a worker `alone`, by what they took of workers `beside` each other. Waits
    /// for locks, which the model has of its own, are in that, too; they were few of both.
    pub fn beside(&self, alone: &Statistics, beside: &Statistics) -> Self {
        let times = |spent: fn(&Statistics) -> u64| {
            let each = |of: &Statistics| spent(of) as f64 / of.requests.max(1) as f64;
            each(beside) / each(alone).max(1e-3)
        };
        let [reading, deciding, writing] =
            [times(|of| of.reading), times(|of| of.processing - of.writing), times(|of| of.writing)];
        Self {
            visit: self.visit * reading,
            parse: self.parse * reading,
            batch: self.batch * deciding,
            decide: self.decide * deciding,
            output: self.output * writing,
            answer: self.answer * writing,
        }
    }
}

/// Into which pieces work is cut.
pub struct Cut {
    pub switches: usize,
    /// Requests of a visit.
    pub visit: usize,
    /// Requests of a batch.
    pub batch: usize,
}

/// What a worker does next.
enum Step {
    /// Tries a switch, or ends its round.
    Visit,
    /// Hands its batch over, as soon as the runtime's lock is free.
    HandOver,
    /// Tells the switches of its batch, the first that nobody holds first.
    Tell,
    /// Takes a batch out of the queue.
    Dequeue,
}

struct Worker {
    rounds: Rounds,
    step: Step,
    /// Switches and how many requests of each.
    batch: Vec<(usize, usize)>,
    told: VecDeque<(usize, usize)>,
    /// How many outputs were passed by since one was told.
    passed: usize,
}

impl Worker {
    fn requests(&self) -> usize {
        self.batch.iter().map(|(_, requests)| requests).sum()
    }
}

/// Requests a second of a design, where every switch has more to say than is read.
pub fn throughput(design: Design, workers: usize, cut: &Cut, costs: &Costs) -> f64 {
    let assigned = match design {
        Design::DynamicPartition => dynamic_partition(&vec![1.0; cut.switches], workers),
        _ => static_partition(cut.switches, workers),
    };
    let worker = |number| Worker {
        rounds: Rounds::new(design, &vec![1; cut.switches], &assigned, number, workers),
        step: if design == Design::SharedQueue && number > 0 { Step::Dequeue } else { Step::Visit },
        batch: Vec::new(),
        told: VecDeque::new(),
        passed: 0,
    };
    let mut model = Model {
        design,
        cut,
        costs,
        held: vec![0.0; cut.switches],
        runtime: 0.0,
        queue: VecDeque::new(),
        queued: 0,
        full: cut.batch * 4 * workers,
        queue_held: 0.0,
        answered: 0,
    };
    let mut all: Vec<Worker> = (0..workers).map(worker).collect();
    // Times as whole nanoseconds, so that they have an order; who has the lower number goes first.
    let mut due: BinaryHeap<Reverse<(u64, usize)>> =
        (0..workers).map(|number| Reverse((0, number))).collect();
    let mut warm = 0;
    while let Some(Reverse((now, number))) = due.pop() {
        let now = now as f64;
        if now > 2.0 * SPAN {
            break;
        }
        if now < SPAN {
            warm = model.answered;
        }
        let next = model.step(now, &mut all[number], number);
        due.push(Reverse((next.max(now + 1.0) as u64, number)));
    }
    (model.answered - warm) as f64 / SPAN * 1e9
}

struct Model<'a> {
    design: Design,
    cut: &'a Cut,
    costs: &'a Costs,
    /// Until when each switch is held.
    held: Vec<f64>,
    /// Until when the control runtime is.
    runtime: f64,
    queue: VecDeque<(usize, usize)>,
    queued: usize,
    full: usize,
    queue_held: f64,
    answered: u64,
}

impl Model<'_> {
    /// One step, and when it ends.
    fn step(&mut self, now: f64, worker: &mut Worker, number: usize) -> f64 {
        let costs = self.costs;
        match worker.step {
            Step::Visit => {
                let Some(switch) = worker.rounds.next(|_| false) else {
                    worker.rounds.end();
                    return now + SKIP;
                };
                if self.held[switch] > now {
                    worker.rounds.went(Tried::Locked);
                    return now + SKIP;
                }
                let end = now + costs.visit + costs.parse * self.cut.visit as f64;
                self.held[switch] = end;
                worker.rounds.went(Tried::Read);
                if self.design == Design::SharedQueue {
                    self.queue.push_back((switch, self.cut.visit));
                    self.queued += self.cut.visit;
                    if self.queued >= self.full {
                        worker.step = Step::Dequeue;
                    }
                    return self.with_queue(end);
                }
                worker.batch.push((switch, self.cut.visit));
                if worker.requests() >= self.cut.batch {
                    worker.step = Step::HandOver;
                }
                end
            }
            Step::Dequeue => {
                if self.queue.is_empty() {
                    worker.step = if number == 0 { Step::Visit } else { Step::Dequeue };
                    return now + NAP;
                }
                while worker.requests() < self.cut.batch
                    && let Some(part) = self.queue.pop_front()
                {
                    self.queued -= part.1;
                    worker.batch.push(part);
                }
                worker.step = Step::HandOver;
                self.with_queue(now)
            }
            Step::HandOver => {
                if self.runtime > now {
                    return self.runtime;
                }
                self.runtime = now + costs.batch;
                let requests = worker.requests();
                worker.told = std::mem::take(&mut worker.batch).into();
                worker.step = Step::Tell;
                self.runtime + costs.decide * requests as f64
            }
            Step::Tell => {
                let Some((switch, requests)) = worker.told.pop_front() else {
                    let reads = self.design != Design::SharedQueue || number == 0 && self.queued < self.full;
                    worker.step = if reads { Step::Visit } else { Step::Dequeue };
                    return now;
                };
                if self.held[switch] > now {
                    worker.told.push_back((switch, requests));
                    worker.passed += 1;
                    // All are held: it waits for this one.
                    let waits = worker.passed >= worker.told.len();
                    return if waits { self.held[switch] } else { now + SKIP };
                }
                worker.passed = 0;
                self.answered += requests as u64;
                self.held[switch] = now + costs.output + costs.answer * requests as f64;
                self.held[switch]
            }
        }
    }

    /// When the queue was held for a moment by who wants it now.
    fn with_queue(&mut self, now: f64) -> f64 {
        self.queue_held = self.queue_held.max(now) + QUEUE;
        self.queue_held
    }
}
