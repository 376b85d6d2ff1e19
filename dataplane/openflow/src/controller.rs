//! A controller that runs: where it listens, who is connected, what is known.

use crate::Config;
use crate::brain::{Brain, Outcome};
use crate::outbox::Outbox;
use crate::poller::Poller;
use crate::shared::Shared;
use crate::standing::{NoRole, NotAsked, Standing};
use crate::statistics::{Counters, Statistics};
use crate::stream::End;
use crate::worker::Worker;
use plait_control_openflow::{
    Candidacy, Mark, News, NotGranted, NotTold, Passed, Role, SwitchInfo, Switchboard, Switches,
};
use plait_control_runtime::{Refused, Runtime, Snapshot, View};
use plait_dataplane_processors as processors;
use plait_model_wire::openflow::{Message, v10, v13};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes that the kernel keeps of what a switch sent and nobody has read, or as many as one read takes if that is more.
/// Choice: 128 KiB, over a thousand requests, in place of the kernel's own limit, which grows to 32 MiB: there a switch that
/// asks for more than its share waits for itself, and segments that find no room any more are lost, so that it starves until
/// they are sent again.
const RECEIVE: usize = 128 << 10;

/// A controller that runs. It stops when it is dropped; switches keep the flows that they have.
pub struct Controller {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// Why no controller runs.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// It cannot listen there.
    #[error("no controller can listen on {address}: {fault}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        fault: io::Error,
    },
    /// The system refused what it needs.
    #[error("no controller can be started: {0}")]
    System(#[from] io::Error),
    /// The runtime has another driver of switches.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// Why a switch did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// It is not connected.
    #[error("no switch {0:016x} is connected")]
    Unknown(u64),
    /// It was not asked.
    #[error(transparent)]
    NotTold(#[from] NotTold),
    /// It is slow, or gone.
    #[error("the switch did not answer in {0:?}")]
    Slow(Duration),
}

impl Controller {
    /// Starts a controller for the switches that connect to `address`, with a runtime to which applications were added.
    ///
    /// # Errors
    /// [`NotStarted`].
    pub fn start(address: SocketAddr, config: Config, runtime: Runtime) -> Result<Self, NotStarted> {
        let listener = TcpListener::bind(address).map_err(|fault| NotStarted::Listen { address, fault })?;
        // Connections inherit it, and their windows are scaled by it, so that it is said before there is one.
        keep(&listener, config.read.max(RECEIVE))
            .map_err(|fault| NotStarted::Listen { address, fault: fault.into() })?;
        let config = Config { workers: config.workers.max(1), ..config };
        let patience = config.latency_bound.map(|bound| bound / 2);
        let brain = Brain::new(runtime, config.recorder.clone())?.with_patience(patience);
        let shared = Arc::new(Shared::new(config, brain, Poller::new(listener)?));
        let (role, generation) = (shared.config.role, shared.config.generation);
        // Any election is newer than none.
        if let Ok(candidacy) = Standing::next(Candidacy::default(), role, generation) {
            shared.standing().candidacy = candidacy;
        }
        let allowed = processors::allowed();
        let mut controller = Self { shared, workers: Vec::new() };
        for number in 0..controller.shared.config.workers {
            let shared = controller.shared.clone();
            let processor = shared.config.pin.then(|| allowed.get(number % allowed.len().max(1)).copied());
            let worker = std::thread::Builder::new().name(format!("worker-{number}")).spawn(move || {
                if let Some(processor) = processor.flatten() {
                    // Where it runs is a matter of speed only.
                    let _ = processors::stay_on(processor);
                }
                Worker::new(&shared, number).run();
            })?;
            controller.workers.push(worker);
        }
        Ok(controller)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.shared.poller.address()
    }

    /// Takes a switch in that is no socket but memory, `address` for people. False if there is no room.
    pub fn admit(&self, end: Box<dyn End>, address: &str) -> bool {
        let admitted = self.shared.admit_end(end, address.to_owned());
        self.shared.poller.ring();
        admitted
    }

    /// The mark that cookies of its own flows have.
    pub fn mark(&self) -> Mark {
        self.shared.config.mark
    }

    /// The latest state of all views.
    pub fn state(&self) -> Snapshot {
        self.shared.brain.lock().runtime.state()
    }

    /// The control runtime, whose lock every batch waits for: be quick.
    pub fn look<T>(&self, look: impl FnOnce(&Runtime) -> T) -> T {
        look(&self.shared.brain.lock().runtime)
    }

    /// Changes applications, DAGs or views, or sets a DAG off. `change` is told what time it is, and what switches are to do
    /// for it is told to them before this returns.
    pub fn change<T>(&self, change: impl FnOnce(&mut Runtime, Duration) -> T) -> T {
        let mut outcome = Outcome::default();
        let now = self.shared.now();
        let changed = self.shared.brain.change(now, &mut outcome, |runtime| change(runtime, now));
        self.finish(outcome);
        changed
    }

    /// Lets applications meet all connected switches as if they had just connected: those that were added since have not
    /// told them anything.
    pub fn greet(&self) {
        let mut outcome = Outcome::default();
        for (datapath, info) in self.switches().into_iter().filter(|(_, info)| info.connected) {
            let news = News::Connected((*info).clone());
            let is_there =
                |_: &mut Switchboard, _| self.shared.routes().contains_key(&datapath).then_some(news);
            self.shared.brain.news_if(self.shared.now(), datapath, &mut outcome, is_there);
        }
        self.finish(outcome);
    }

    /// Switches that are or were connected.
    pub fn switches(&self) -> BTreeMap<u64, Arc<SwitchInfo>> {
        let known = self.state().content(&Switches::id()).and_then(|content| content.read::<Switches>().ok());
        let known = known.iter().flat_map(|switches| switches.known.iter());
        known.map(|(datapath, info)| (*datapath, info.clone())).collect()
    }

    /// Asks a switch for all its flows.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn flows(&self, datapath: u64, patience: Duration) -> Result<Vec<Message>, NoAnswer> {
        let slot = *self.shared.routes().get(&datapath).ok_or(NoAnswer::Unknown(datapath))?;
        let (sender, receiver) = mpsc::channel();
        let place = &self.shared.slots[slot as usize];
        let xid = {
            let mut held = place.hold();
            let link =
                held.as_mut().filter(|link| link.is_of(datapath)).ok_or(NoAnswer::Unknown(datapath))?;
            let xid = link.session.ask_flows()?;
            // Before it can answer.
            self.waiting().insert((slot, xid), sender);
            link.flush();
            xid
        };
        let mut parts = Vec::new();
        let answer = loop {
            match receiver.recv_timeout(patience) {
                Ok(part) => {
                    let last = !more(&part);
                    parts.push(part);
                    if last {
                        break Ok(parts);
                    }
                }
                Err(_) => break Err(NoAnswer::Slow(patience)),
            }
        };
        self.waiting().remove(&(slot, xid));
        answer
    }

    /// What it wants to be to every switch, and what it is to each, as far as is known.
    pub fn standing(&self) -> (Candidacy, BTreeMap<u64, Role>) {
        let candidacy = self.shared.standing().candidacy;
        let known: Vec<(u64, u32)> =
            self.shared.routes().iter().map(|(datapath, slot)| (*datapath, *slot)).collect();
        let role = |(datapath, slot): (u64, u32)| {
            let held = self.shared.slots[slot as usize].hold();
            held.as_ref().filter(|link| link.is_of(datapath)).map(|link| (datapath, link.session.role()))
        };
        (candidacy, known.into_iter().filter_map(role).collect())
    }

    /// Asks every switch to be something else to it, those that connect later among them, and waits for the answers of those
    /// that are known. As master it stands in the election of this number, or in a new one. Where all of them refuse, it wants
    /// to be what it was.
    ///
    /// # Errors
    /// [`NotAsked`]; of each switch, [`NoRole`].
    pub fn stand(
        &self,
        role: Role,
        generation: Option<u64>,
        patience: Duration,
    ) -> Result<BTreeMap<u64, Result<Role, NoRole>>, NotAsked> {
        let (sender, receiver) = mpsc::channel();
        let (before, candidacy, slots) = {
            let mut standing = self.shared.standing();
            if standing.waits.is_some() {
                return Err(NotAsked::Busy);
            }
            let before = standing.candidacy;
            standing.candidacy = Standing::next(before, role, generation)?;
            standing.waits = Some(sender);
            (before, standing.candidacy, self.shared.members())
        };
        let mut answers = BTreeMap::new();
        for slot in slots.iter() {
            let place = &self.shared.slots[*slot as usize];
            let mut held = place.hold();
            let Some(link) = held.as_mut() else { continue };
            let asked = link.session.stand(candidacy);
            link.flush();
            if let Some(datapath) = link.session.datapath() {
                answers.insert(
                    datapath,
                    asked.map_or_else(|why| Err(why.into()), |()| Err(NoRole::Slow(patience))),
                );
            }
        }
        let until = Instant::now() + patience;
        let is_open = |answers: &BTreeMap<u64, Result<Role, NoRole>>| {
            answers.values().any(|answer| matches!(answer, Err(NoRole::Slow(_))))
        };
        while is_open(&answers)
            && let Ok((datapath, said)) =
                receiver.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            // That it was superseded was said of what was told before.
            if said != Err(NotGranted::Superseded)
                && let Some(answer) = answers.get_mut(&datapath)
                && matches!(answer, Err(NoRole::Slow(_)))
            {
                *answer = said.map_err(NoRole::from);
            }
        }
        let mut standing = self.shared.standing();
        standing.waits = None;
        let refused = |answer: &Result<Role, NoRole>| matches!(answer, Err(NoRole::NotGranted(_)));
        if !answers.is_empty() && answers.values().all(refused) {
            standing.candidacy = before;
        }
        Ok(answers)
    }

    /// What each worker has counted.
    pub fn statistics(&self) -> Vec<Statistics> {
        self.shared.counters.iter().map(Counters::read).collect()
    }

    /// Requests that each connected switch has made.
    pub fn requests(&self) -> BTreeMap<u64, u64> {
        let routes = self.shared.routes();
        let of = |slot: &u32| self.shared.slots[*slot as usize].requests.load(Ordering::Relaxed);
        routes.iter().map(|(datapath, slot)| (*datapath, of(slot))).collect()
    }

    /// Connections, and those that were refused for want of room.
    pub fn connections(&self) -> (usize, u64) {
        (self.shared.members().len(), self.shared.refused.load(Ordering::Relaxed))
    }

    /// Connections that were refused since their datapath is that of a switch which is there, or is kept for one.
    pub fn claims(&self) -> u64 {
        self.shared.claims.load(Ordering::Relaxed)
    }

    /// Keeps the datapath of a switch that is away for its certificate no longer. Whether it was kept.
    pub fn release(&self, datapath: u64) -> bool {
        let (now, keep) = (self.shared.now(), self.shared.config.keep_datapath);
        self.shared.brain.lock().switchboard.release(datapath, now, keep)
    }

    /// What has become of commands that wait until other switches have done theirs.
    pub fn staged(&self) -> Passed {
        self.shared.brain.lock().gate.passed()
    }

    /// Bytes that wait for switches to read them.
    pub fn unread(&self) -> usize {
        self.shared.unread()
    }

    fn finish(&self, mut outcome: Outcome) {
        let shared = &self.shared;
        let (counters, mut outbox) = (Counters::default(), Outbox::new(shared.slots.len()));
        loop {
            let tell = |answers: &[_]| outbox.send(shared, answers, &counters);
            shared.brain.work(|| shared.now(), &mut outcome, tell);
            if !outbox.take_unsent().pass(shared, &mut outcome) {
                break;
            }
        }
        shared.poller.ring();
    }

    fn waiting(
        &self,
    ) -> std::sync::MutexGuard<'_, std::collections::HashMap<(u32, u32), mpsc::Sender<Message>>> {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.shared.brain.stop();
        self.shared.poller.ring();
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A worker that panicked has said so.
            let _ = worker.join();
            self.shared.poller.ring();
        }
    }
}

/// Has a socket keep so many bytes, whatever the system's limit for a program is where that may be exceeded.
fn keep(socket: &TcpListener, bytes: usize) -> rustix::io::Result<()> {
    use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};
    set_socket_recv_buffer_size_force(socket, bytes).or_else(|_| set_socket_recv_buffer_size(socket, bytes))
}

/// Whether a reply has more parts.
fn more(message: &Message) -> bool {
    match message {
        Message::V10(v10::Message { body: v10::Body::StatisticsReply(reply), .. }) => {
            reply.flags.contains(v10::statistics::StatisticsFlags::MORE)
        }
        Message::V13(v13::Message { body: v13::Body::MultipartReply(reply), .. }) => {
            reply.flags.contains(v13::multipart::MultipartFlags::MORE)
        }
        _ => false,
    }
}
