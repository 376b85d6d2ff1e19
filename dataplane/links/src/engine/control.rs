//! The thread that opens and closes ports, so that slow calls never hold up packets.

use super::link::Link;
use super::report::{AccuracyClass, Calibration, EngineReport, LinkStats};
use super::taint::TOO_LATE;
use super::worker::{Command, Worker, WorkerReport};
use super::{EngineOptions, Handle, LinkConfig, answer};
use crate::lateness::Lateness;
use crate::port::OpenPort;
use crate::{calibrate, sys};
use plait_dataplane_processors::{Ticks, become_real_time};
use plait_model_link::Conditions;
use plait_model_quantity::TimeSpan;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What the engine's handle asks for, with where to send the answer.
#[derive(Debug)]
pub(super) enum Request {
    Add(Box<LinkConfig>, Sender<io::Result<()>>),
    Remove(u64, Sender<io::Result<()>>),
    Set(u64, usize, Box<Conditions>, Sender<io::Result<()>>),
    Down(u64, [bool; 2], Sender<io::Result<()>>),
    Reset(u64, Sender<io::Result<()>>),
    Stats(u64, Sender<io::Result<LinkStats>>),
    Report(Sender<EngineReport>),
    Calibrate(Sender<io::Result<Calibration>>),
    Stop,
}

pub(super) struct Control {
    workers: Vec<Handle>,
    real_time: bool,
    links: HashMap<u64, Placed>,
    calibration: Option<Calibration>,
    stolen_at_start: Duration,
}

/// Where a link is, and the TAPs among its ends.
struct Placed {
    worker: usize,
    taps: [Option<Arc<OwnedFd>>; 2],
}

impl Control {
    /// Starts the workers and then itself.
    pub fn start(options: EngineOptions, inbox: Receiver<Request>) -> io::Result<JoinHandle<()>> {
        let started: Vec<(Handle, bool)> = (0..options.threads.max(1))
            .map(|index| start_worker(index, options.priority))
            .collect::<io::Result<_>>()?;
        let real_time = started.iter().all(|(_, real_time)| *real_time);
        let control = Self {
            workers: started.into_iter().map(|(handle, _)| handle).collect(),
            real_time,
            links: HashMap::new(),
            calibration: None,
            stolen_at_start: Ticks::now().stolen(),
        };
        thread::Builder::new().name("plait-links".to_owned()).spawn(move || control.run(inbox))
    }

    fn run(mut self, inbox: Receiver<Request>) {
        while let Ok(request) = inbox.recv() {
            match request {
                Request::Add(link, reply) => answer(reply, self.add(*link)),
                Request::Remove(id, reply) => answer(reply, self.remove(id)),
                Request::Set(id, way, conditions, reply) => answer(reply, self.set(id, way, conditions)),
                Request::Down(id, down, reply) => {
                    answer(reply, self.order(id, |done| Command::Down(id, down, done)))
                }
                Request::Reset(id, reply) => answer(reply, self.order(id, |done| Command::Reset(id, done))),
                Request::Stats(id, reply) => answer(reply, self.stats(id)),
                Request::Report(reply) => answer(reply, self.report()),
                Request::Calibrate(reply) => answer(reply, self.calibrate()),
                Request::Stop => break,
            }
        }
        self.workers.iter().for_each(|worker| worker.send(Command::Stop));
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                let _ = thread.join();
            }
        }
    }

    fn add(&mut self, link: LinkConfig) -> io::Result<()> {
        if self.links.contains_key(&link.id) {
            let text = format!("link {} is there already", link.id);
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        let [first, second] = link.ends;
        let ends = [OpenPort::open(first)?, OpenPort::open(second)?];
        for (end, conditions) in ends.iter().zip(&link.directions) {
            end.set_trains(!conditions.needs_whole_packets())?;
        }
        let taps = [ends[0].tap(), ends[1].tap()];
        // The worker with the fewest links takes the next.
        let load = |index: &usize| self.links.values().filter(|placed| placed.worker == *index).count();
        let worker = (0..self.workers.len()).min_by_key(load).expect("an engine has workers");
        let made = Link::new(link.id, link.name, link.seed, ends, link.directions, sys::monotonic());
        self.workers[worker].ask(|reply| Command::Add(Box::new(made), reply))??;
        self.links.insert(link.id, Placed { worker, taps });
        Ok(())
    }

    fn remove(&mut self, id: u64) -> io::Result<()> {
        let placed = self.links.remove(&id).ok_or_else(|| unknown(id))?;
        // The ports close here, when the link is dropped.
        self.workers[placed.worker].ask(|reply| Command::Remove(id, reply)).map(drop)
    }

    fn set(&mut self, id: u64, way: usize, conditions: Box<Conditions>) -> io::Result<()> {
        let placed = self.links.get(&id).ok_or_else(|| unknown(id))?;
        let tap = placed.taps.get(way).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("a link has directions 0 and 1, not {way}"))
        })?;
        let trains = !conditions.needs_whole_packets();
        let switch = |when: bool| match tap {
            Some(tap) if when => crate::tap::set_trains(tap.as_fd(), trains),
            _ => Ok(()),
        };
        switch(!trains)?;
        self.order(id, |done| Command::Set(id, way, conditions, done))?;
        switch(trains)
    }

    fn order(&self, id: u64, command: impl FnOnce(Sender<bool>) -> Command) -> io::Result<()> {
        let placed = self.links.get(&id).ok_or_else(|| unknown(id))?;
        self.workers[placed.worker].ask(command)?.then_some(()).ok_or_else(|| unknown(id))
    }

    fn stats(&self, id: u64) -> io::Result<LinkStats> {
        let placed = self.links.get(&id).ok_or_else(|| unknown(id))?;
        self.workers[placed.worker].ask(|reply| Command::Stats(id, reply))?.ok_or_else(|| unknown(id))
    }

    fn calibrate(&mut self) -> io::Result<Calibration> {
        let nothing = Calibration { packet: TimeSpan::ZERO, tap: None, send: TimeSpan::ZERO, samples: 0 };
        let tell =
            |constants| self.workers.iter().for_each(|worker| worker.send(Command::Calibrated(constants)));
        tell(nothing);
        let measured = calibrate::measure(&self.workers[0]);
        match &measured {
            Ok(constants) => {
                tell(*constants);
                self.calibration = Some(*constants);
            }
            Err(error) => {
                tracing::warn!(%error, "the link engine could not be calibrated");
                tell(self.calibration.unwrap_or(nothing));
            }
        }
        measured
    }

    fn report(&self) -> EngineReport {
        let reports: Vec<WorkerReport> =
            self.workers.iter().filter_map(|worker| worker.ask(Command::Report).ok()).collect();
        let mut lateness = Lateness::new();
        reports.iter().for_each(|report| lateness.merge(&report.lateness));
        let lateness = lateness.summary();
        let sum = |count: fn(&WorkerReport) -> u64| reports.iter().map(count).sum();
        let mut tainted: Vec<_> = reports.iter().flat_map(|report| report.tainted.clone()).collect();
        tainted.sort_by_key(|bad| bad.second);
        // Among fewer packets the latest one would decide alone.
        let often_late = lateness.packets >= 100 && lateness.p99.as_nanos() > TOO_LATE;
        let class = match (often_late, self.real_time && self.calibration.is_some()) {
            (true, _) => AccuracyClass::C,
            (false, true) => AccuracyClass::A,
            (false, false) => AccuracyClass::B,
        };
        EngineReport {
            class,
            real_time: self.real_time,
            calibration: self.calibration,
            lateness,
            tainted,
            steal: Ticks::now().stolen().saturating_sub(self.stolen_at_start).into(),
            missed: sum(|report| report.missed),
            refused: sum(|report| report.refused),
            clock_jumps: reports.iter().map(|report| report.clock_jumps).max().unwrap_or(0),
            links: reports.into_iter().flat_map(|report| report.links).collect(),
        }
    }
}

impl Handle {
    /// Sends a command and waits for its answer.
    pub(crate) fn ask<T>(&self, command: impl FnOnce(Sender<T>) -> Command) -> io::Result<T> {
        let (reply, answer) = channel();
        self.send(command(reply));
        answer
            .recv()
            .map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "a link engine thread has stopped"))
    }
}

/// Starts a worker and says whether it got real-time scheduling.
fn start_worker(index: usize, priority: Option<i32>) -> io::Result<(Handle, bool)> {
    let (commands, inbox) = channel();
    let waker = Arc::new(sys::Waker::new()?);
    let worker = Worker::new(inbox, waker.clone())?;
    let (scheduled, answer) = channel();
    let thread = thread::Builder::new().name(format!("plait-engine-{index}")).spawn(move || {
        sys::tighten_timers();
        let real_time = priority.is_some_and(|priority| become_real_time(priority).is_ok());
        let _ = scheduled.send(real_time);
        worker.run();
    })?;
    let real_time = answer.recv().unwrap_or(false);
    Ok((Handle { commands, waker, thread: Some(thread) }, real_time))
}

fn unknown(id: u64) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("the link engine has no link {id}"))
}
