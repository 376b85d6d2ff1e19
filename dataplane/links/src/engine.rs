//! The engine's handle.

use crate::Port;
use crate::sys::Waker;
use plait_model_link::Conditions;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

mod agenda;
mod control;
mod lead;
pub(crate) mod link;
mod report;
mod taint;
mod wait;
pub(crate) mod worker;

use control::{Control, Request};
pub use report::{
    AccuracyClass, Calibration, DirectionStats, EngineReport, LinkReport, LinkStats, PortStats, TaintedSecond,
};

/// Moves packets over any number of links, in threads of its own.
///
/// ```text
/// Engine ──requests──► plait-links (opens and closes ports) ──commands──► plait-engine-0, -1, …
///                                                                          epoll ─ receive ─ Direction ─ send
/// ```
///
/// The threads live in the network namespace that the thread calling [`Engine::start`] is in, and look up the names of
/// devices there. Every method waits until the engine has done what it asks. Dropping the handle ends the threads and
/// closes all ports.
#[derive(Debug)]
pub struct Engine {
    requests: Sender<Request>,
    control: Option<JoinHandle<()>>,
}

/// How an engine runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineOptions {
    /// Threads that move packets; each link stays on one. One thread serves about 80,000 packets a second.
    pub threads: usize,
    /// The SCHED_FIFO priority asked for; `None` keeps the ordinary scheduler.
    pub priority: Option<i32>,
}

/// A link to add.
#[derive(Debug)]
pub struct LinkConfig {
    /// The caller's number for the link.
    pub id: u64,
    /// The link's name in reports.
    pub name: String,
    /// Its two ends.
    pub ends: [Port; 2],
    /// What happens to packets from the first end to the second, and back.
    pub directions: [Conditions; 2],
    /// The seed of the file; each direction derives its own from it and the link's name.
    pub seed: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { threads: 1, priority: Some(50) }
    }
}

impl Engine {
    /// Starts the threads.
    pub fn start(options: EngineOptions) -> io::Result<Self> {
        let (requests, inbox) = channel();
        let control = Control::start(options, inbox)?;
        Ok(Self { requests, control: Some(control) })
    }

    /// Opens the ends of a link and begins to move packets. Errors: a device that is not there, a number in use.
    pub fn add_link(&self, link: LinkConfig) -> io::Result<()> {
        self.ask(|reply| Request::Add(Box::new(link), reply))?
    }

    /// Stops moving packets of a link and closes its ends; what is under way is gone.
    pub fn remove_link(&self, id: u64) -> io::Result<()> {
        self.ask(|reply| Request::Remove(id, reply))?
    }

    /// Changes the conditions of one direction (0 from the first end, 1 towards it). No packet under way is lost.
    ///
    /// A TAP's offloads follow by themselves. For a packet port, ask [`offload::Policy`](crate::offload::Policy) and
    /// set it on the node's device: before this call where whole packets become needed, after it otherwise.
    pub fn set(&self, id: u64, direction: usize, conditions: Conditions) -> io::Result<()> {
        self.ask(|reply| Request::Set(id, direction, Box::new(conditions), reply))?
    }

    /// Takes directions of a link down or up: one that is down drops everything, and counts it.
    pub fn set_down(&self, id: u64, down: [bool; 2]) -> io::Result<()> {
        self.ask(|reply| Request::Down(id, down, reply))?
    }

    /// Starts a link afresh: packet numbers, counters and rate traces begin again, so that measuring a link before a
    /// run does not change the fates in it.
    pub fn reset(&self, id: u64) -> io::Result<()> {
        self.ask(|reply| Request::Reset(id, reply))?
    }

    /// What a link did so far.
    pub fn stats(&self, id: u64) -> io::Result<LinkStats> {
        self.ask(|reply| Request::Stats(id, reply))?
    }

    /// How exact the engine was so far.
    pub fn report(&self) -> io::Result<EngineReport> {
        self.ask(Request::Report)
    }

    /// Measures the engine's own constant lateness on a private pair of devices, and from then on sends packets that
    /// much earlier. Takes about half a second and disturbs no link. Best called when all links are built and nothing
    /// runs. Errors: no right to make a namespace or devices; the engine then stays in class B.
    pub fn calibrate(&self) -> io::Result<Calibration> {
        self.ask(Request::Calibrate)?
    }

    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> io::Result<T> {
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the link engine has stopped");
        let (reply, answer) = channel();
        self.requests.send(request(reply)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.requests.send(Request::Stop);
        if let Some(control) = self.control.take() {
            let _ = control.join();
        }
    }
}

/// A thread that moves packets, as the control thread sees it.
#[derive(Debug)]
pub(crate) struct Handle {
    commands: Sender<worker::Command>,
    waker: std::sync::Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Handle {
    fn send(&self, command: worker::Command) {
        // A worker that is gone drops the command and with it the reply channel, which tells the caller.
        let _ = self.commands.send(command);
        self.waker.wake();
    }
}

/// Answers a request. Answers that nobody waits for any more are dropped.
fn answer<T>(reply: Sender<T>, value: T) {
    let _ = reply.send(value);
}
