//! The control runtime behind its lock: batches and news go in, tasks are run by whoever brought them, commands come out.

use crate::Recorder;
use plait_control_openflow::{Commands, Gate, News, Staged, Switchboard, Token, Told};
use plait_control_runtime::{
    Action, Cause, Content, Driver, Finished, Name, NotTaken, Origin, Report, Runtime, Task, View, ViewId,
};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Messages that are told before more tasks are run. Choice: a batch of the largest, so that no switch, if all are one's, is
/// told more at once than may wait for it.
const MANY: usize = 2048;

/// The runtime and the driver of switches.
pub struct Brain {
    inner: Mutex<Inner>,
    driver: Name,
    /// The view of what is told in two stages.
    staged: ViewId,
    /// When the runtime has something to do, in nanoseconds; the greatest number is never.
    due: AtomicU64,
    /// Whether there is a task that any worker may take.
    spares: AtomicBool,
    /// Whether nothing is begun any more.
    is_over: AtomicBool,
    /// How old what an answer is to may be before more is waited for that would be told with it.
    patience: Option<Duration>,
    recorder: Option<Recorder>,
}

pub struct Inner {
    pub runtime: Runtime,
    pub switchboard: Switchboard,
    /// What waits for switches to have done what they were told. Choice: behind the runtime's lock, so that what supersedes it does
    /// so in the order in which both were decided.
    pub gate: Gate,
    /// Tasks that others' end set off, first in, first out. Choice: any worker takes them, and not who ended the others, who
    /// would have the work of all as soon as batches wait, while the rest reads.
    spare: VecDeque<Task>,
    /// Batches that no DAG had room for, by the DAG.
    lost: HashMap<Name, u64>,
}

/// What came of a step.
#[derive(Default)]
pub struct Outcome {
    tasks: Vec<Task>,
    /// What switches are to be told, in the order in which it was committed.
    pub answers: Vec<Answer>,
}

/// What switches are to be told, and where the batch comes from to which it is an answer.
pub struct Answer {
    pub commands: Arc<Commands>,
    /// Barriers that go behind what their switches are told.
    pub barriers: Vec<Token>,
    /// What it follows from: a connection that applications met later than what they had seen is not told it.
    pub cause: Cause,
    /// Whether it waited for switches: how long that took says nothing of what batches wait for.
    pub is_held: bool,
}

impl Answer {
    /// All of it at once.
    pub fn new(commands: Arc<Commands>, cause: Cause) -> Self {
        Self { commands, barriers: Vec::new(), cause, is_held: false }
    }

    /// What a gate lets through, at once or after it was held.
    fn of_gate(Told { commands, barriers, cause }: Told, is_held: bool) -> Self {
        Self { commands: Arc::new(commands), barriers, cause, is_held }
    }
}

impl Brain {
    /// A brain of a runtime to which applications were added.
    ///
    /// # Errors
    /// Another driver of its name, or one that writes its views, is there.
    pub fn new(
        mut runtime: Runtime,
        recorder: Option<Recorder>,
    ) -> Result<Self, plait_control_runtime::Refused> {
        let switchboard = Switchboard::default();
        let driver = switchboard.name();
        let signature = switchboard.signature();
        for port in &signature.outputs {
            runtime.grant(&driver, &port.view.name);
        }
        runtime.add_driver(&driver, signature)?;
        let gate = Gate::default();
        let inner = Inner { runtime, switchboard, gate, spare: VecDeque::new(), lost: HashMap::new() };
        let (due, spares, is_over) = (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
        let (inner, staged) = (Mutex::new(inner), Staged::id());
        Ok(Self { inner, driver, staged, due, spares, is_over, patience: None, recorder })
    }

    /// One that has nothing wait that is as old, so that more is told at once.
    pub fn with_patience(self, patience: Option<Duration>) -> Self {
        Self { patience, ..self }
    }

    /// The runtime, for those who look.
    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When [`time`](Self::time) is due.
    pub fn due(&self) -> Option<Duration> {
        let due = self.due.load(Ordering::Relaxed);
        (due != u64::MAX).then(|| Duration::from_nanos(due))
    }

    /// Hands over what was read, and says where it comes from.
    ///
    /// # Errors
    /// As many batches wait as may.
    pub fn batch(
        &self,
        now: Duration,
        batch: (ViewId, Content),
        origin: Option<Origin>,
        to: &mut Outcome,
    ) -> Result<(), NotTaken> {
        let mut inner = self.lock();
        inner.runtime.handle_batch(now, &self.driver, batch, origin)?;
        self.drain(now, &mut inner, to);
        Ok(())
    }

    /// Tells what happened to a switch. What no application has room for is not told to it; what is known of switches is
    /// always kept.
    pub fn news(&self, now: Duration, datapath: u64, news: News, to: &mut Outcome) {
        self.news_if(now, datapath, to, |_, _| Some(news));
    }

    /// The same of what is `decided` to be news, if there is any, while nothing else can be told: of what is decided there, such
    /// as which connection of a switch is its last, applications hear in the order in which it was decided. Links may be locked,
    /// and told something before applications hear of them, since nobody who holds one waits for the runtime. The number is of the
    /// revision by which they hear.
    pub fn news_if(
        &self,
        now: Duration,
        datapath: u64,
        to: &mut Outcome,
        decided: impl FnOnce(&mut Switchboard, u64) -> Option<News>,
    ) {
        let mut inner = self.lock();
        let Inner { runtime, switchboard, .. } = &mut *inner;
        let Some(news) = decided(switchboard, runtime.state().revision() + 1) else { return };
        for change in switchboard.observe((datapath, news), &runtime.state()) {
            if let Err(fault) = runtime.handle_views(now, &self.driver, vec![change]) {
                tracing::warn!(%fault, datapath = %format_args!("{datapath:016x}"), "an event of a switch was lost");
            }
        }
        self.drain(now, &mut inner, to);
    }

    /// Barriers were answered, or, as each says, never will be.
    pub fn passed(&self, now: Duration, barriers: Vec<(Token, bool)>, to: &mut Outcome) {
        let mut inner = self.lock();
        for (token, is_answered) in barriers {
            let told = match is_answered {
                true => inner.gate.answered(token),
                false => inner.gate.abandoned(token),
            };
            to.answers.extend(told.into_iter().map(|told| Answer::of_gate(told, true)));
        }
        self.drain(now, &mut inner, to);
    }

    /// Lets time pass.
    pub fn time(&self, now: Duration, to: &mut Outcome) {
        let mut inner = self.lock();
        inner.runtime.handle_timeout(now);
        let told = inner.gate.handle_timeout(now).into_iter();
        to.answers.extend(told.map(|told| Answer::of_gate(told, true)));
        self.drain(now, &mut inner, to);
    }

    /// Changes what there is.
    pub fn change<T>(&self, now: Duration, to: &mut Outcome, change: impl FnOnce(&mut Runtime) -> T) -> T {
        let mut inner = self.lock();
        let changed = change(&mut inner.runtime);
        self.drain(now, &mut inner, to);
        changed
    }

    /// Ends workers, and what [`work`](Self::work) does, after the task that each is at: what waits is never begun.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Whether it was stopped.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Runs tasks until there is none: on the calling thread, from first to last, so that a request stays in one
    /// processor's cache (thesis section 4.2.2.5). What they set off, of batches that waited for them, is done in turn by
    /// whoever has no task of its own. Commands are told when there is no task left, or as many messages as [`MANY`], since
    /// one task may set off another for as long as there is load, or when what they answer is older than may be.
    pub fn work(&self, clock: impl Fn() -> Duration, to: &mut Outcome, mut tell: impl FnMut(&[Answer])) {
        loop {
            let messages = |answer: &Answer| answer.commands.len() + answer.barriers.len();
            let messages: usize = to.answers.iter().map(messages).sum();
            let is_enough = messages >= MANY || to.tasks.is_empty() || self.is_urgent(&to.answers, &clock);
            if messages > 0 && is_enough {
                tell(&to.answers);
                to.answers.clear();
            }
            if to.tasks.is_empty() && self.spares.load(Ordering::Acquire) {
                self.take(&mut self.lock(), to);
            }
            if self.is_over() {
                return;
            }
            let Some(task) = to.tasks.pop() else { return };
            let finished: Finished = task.run();
            let mut inner = self.lock();
            let now = clock();
            inner.runtime.handle_finished(now, finished);
            let own = to.tasks.len();
            self.drain(now, &mut inner, to);
            inner.spare.extend(to.tasks.drain(own..));
            if own == 0 {
                self.take(&mut inner, to);
            } else {
                self.spares.store(!inner.spare.is_empty(), Ordering::Release);
            }
        }
    }

    /// Whether something is answered that is so old that nothing more is waited for.
    fn is_urgent(&self, answers: &[Answer], clock: impl Fn() -> Duration) -> bool {
        let came = answers.iter().filter_map(|answer| answer.cause.origin).map(|origin| origin.came).min();
        self.patience.zip(came).is_some_and(|(patience, came)| clock() >= came + patience)
    }

    /// Takes the task that has waited longest, if there is one.
    fn take(&self, inner: &mut Inner, to: &mut Outcome) {
        to.tasks.extend(inner.spare.pop_front());
        self.spares.store(!inner.spare.is_empty(), Ordering::Release);
    }

    fn drain(&self, now: Duration, inner: &mut Inner, to: &mut Outcome) {
        while let Some(action) = inner.runtime.poll_action() {
            match action {
                Action::Start(task) => to.tasks.push(task),
                Action::Push(push) if push.view == self.staged => {
                    let held =
                        push.now.read::<Staged>().map(|staged| inner.gate.hold(now, &staged, push.cause));
                    let told = held.into_iter().flatten();
                    to.answers.extend(told.map(|told| Answer::of_gate(told, false)));
                }
                Action::Push(push) => {
                    let answer = |commands| Answer::new(commands, push.cause);
                    to.answers.extend(push.now.read::<Commands>().map(answer));
                }
                Action::Report(Report::Failed { dag, application, failure, .. }) => {
                    tracing::warn!(%dag, %application, %failure, "an application failed");
                }
                Action::Report(Report::Dropped { dag, view }) => {
                    let lost = inner.lost.entry(dag.clone()).or_default();
                    *lost += 1;
                    // Where many are, each would be told of at the cost of those that are not.
                    if lost.is_power_of_two() {
                        tracing::warn!(%dag, %view, in_all = *lost, "a batch was lost");
                    }
                }
                Action::Report(_) => {}
            }
        }
        while let Some(entry) = inner.runtime.poll_entry() {
            if let Some(recorder) = &self.recorder {
                recorder.take(entry);
            }
        }
        let due = [inner.runtime.poll_timeout(), inner.gate.poll_timeout()].into_iter().flatten().min();
        let due = due.map_or(u64::MAX, |due| due.as_nanos().try_into().unwrap_or(u64::MAX));
        self.due.store(due, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_control_openflow::connection::Reason;
    use plait_control_openflow::{Command, PacketIns, SwitchInfo, Switches};
    use plait_control_runtime::{Dag, Manifest, Policy, View, native};
    use std::sync::{OnceLock, mpsc};

    /// So many commands for each batch.
    fn runtime(count: usize) -> Runtime {
        let mut runtime = Runtime::new(Default::default());
        let manifest = Manifest::new("one").reads("~packet-ins@1").writes("~commands@1").parallel();
        runtime.grant(&manifest.name, &Commands::id().name);
        let one = native(move |(_,): (Arc<PacketIns>,)| {
            let mut commands = Commands::default();
            commands.extend((0..count).map(|_| (1, Command::Raw(vec![1, 20, 0, 8, 0, 0, 0, 0]))));
            Ok((commands,))
        });
        runtime.add_application(manifest, one).unwrap();
        let policy = Policy { instances: 1, ..Policy::default() };
        let dag = Dag::chain("one", &["one"]).on(&PacketIns::id().to_string()).policy(policy);
        runtime.add_dag(Duration::ZERO, dag).unwrap();
        runtime
    }

    #[test]
    fn what_several_batches_come_to_is_told_at_once_unless_it_is_much() {
        for (count, told_at_once) in [(1, vec![3]), (MANY / 2, vec![2, 1]), (MANY, vec![1, 1, 1])] {
            let (brain, mut outcome) = (Brain::new(runtime(count), None).unwrap(), Outcome::default());
            for _ in 0..3 {
                let batch = Content::new(PacketIns::default());
                brain.batch(Duration::ZERO, (PacketIns::id(), batch), None, &mut outcome).unwrap();
            }
            let mut told = Vec::new();
            brain.work(|| Duration::ZERO, &mut outcome, |answers| told.push(answers.len()));
            assert_eq!(told, told_at_once);
        }
    }

    #[test]
    fn what_answers_something_old_is_told_before_more_is_waited_for() {
        let patience = Duration::from_millis(5);
        for (now, told_at_once) in [(4, vec![3]), (6, vec![1, 1, 1])] {
            let brain = Brain::new(runtime(1), None).unwrap().with_patience(Some(patience));
            let mut outcome = Outcome::default();
            for _ in 0..3 {
                let (batch, origin) = (Content::new(PacketIns::default()), Some(Origin::default()));
                brain.batch(Duration::ZERO, (PacketIns::id(), batch), origin, &mut outcome).unwrap();
            }
            let mut told = Vec::new();
            brain.work(|| Duration::from_millis(now), &mut outcome, |answers| told.push(answers.len()));
            assert_eq!(told, told_at_once, "after {now} ms");
        }
    }

    /// A connection of a switch that has a newer one ends: whoever told of both out of order would have it gone.
    #[test]
    fn what_no_longer_holds_is_told_to_nobody() {
        let (brain, mut outcome) = (Brain::new(runtime(0), None).unwrap(), Outcome::default());
        let info = SwitchInfo { version: 1, connected: true, ..SwitchInfo::default() };
        let mut is_connected_after = |news, holds: bool| {
            brain.news_if(Duration::ZERO, 7, &mut outcome, |_, _| holds.then_some(news));
            let state = brain.lock().runtime.state();
            let known = state.content(&Switches::id())?.read::<Switches>().unwrap();
            known.known.get(&7).map(|switch| switch.connected)
        };
        assert_eq!(is_connected_after(News::Connected(info.clone()), false), None);
        assert_eq!(is_connected_after(News::Connected(info), true), Some(true));
        assert_eq!(is_connected_after(News::Ended(Reason::Gone), false), Some(true));
        assert_eq!(is_connected_after(News::Ended(Reason::Gone), true), Some(false));
    }

    #[test]
    fn what_waits_when_it_is_stopped_is_never_begun() {
        let (place, begun): (Arc<OnceLock<Arc<Brain>>>, Arc<AtomicU64>) = Default::default();
        let mut runtime = Runtime::new(Default::default());
        let manifest = Manifest::new("one").reads("~packet-ins@1").writes("~commands@1").parallel();
        runtime.grant(&manifest.name, &Commands::id().name);
        let (brain, count) = (place.clone(), begun.clone());
        let stop = native(move |(_,): (Arc<PacketIns>,)| {
            count.fetch_add(1, Ordering::Relaxed);
            brain.get().unwrap().stop();
            Ok((Commands::default(),))
        });
        runtime.add_application(manifest, stop).unwrap();
        let dag = Dag::chain("one", &["one"]).on(&PacketIns::id().to_string());
        runtime.add_dag(Duration::ZERO, dag).unwrap();
        let (brain, mut outcome) = (Arc::new(Brain::new(runtime, None).unwrap()), Outcome::default());
        place.set(brain.clone()).ok().unwrap();
        for _ in 0..3 {
            let batch = Content::new(PacketIns::default());
            brain.batch(Duration::ZERO, (PacketIns::id(), batch), None, &mut outcome).unwrap();
        }
        brain.work(|| Duration::ZERO, &mut outcome, |_| {});
        assert_eq!(begun.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_waited_for_a_worker_is_anybodys_and_no_dag_waits_for_another_to_run_out() {
        let (sender, ran) = mpsc::channel();
        let place: Arc<OnceLock<Arc<Brain>>> = Arc::default();
        let mut runtime = Runtime::new(Default::default());
        for name in ["one", "two"] {
            let manifest = Manifest::new(name).reads("~packet-ins@1").writes("~commands@1").parallel();
            runtime.grant(&manifest.name, &Commands::id().name);
            let (sender, place) = (Mutex::new(sender.clone()), place.clone());
            let run = native(move |(_,): (Arc<PacketIns>,)| {
                sender.lock().unwrap().send((name, std::thread::current().id())).unwrap();
                // Another worker comes by meanwhile.
                let other = std::thread::Builder::new().name("other".to_owned());
                if let Some(brain) = place.get().cloned()
                    && std::thread::current().name() != Some("other")
                {
                    let work = move || brain.work(|| Duration::ZERO, &mut Outcome::default(), |_| {});
                    other.spawn(work).unwrap().join().unwrap();
                }
                Ok((Commands::default(),))
            });
            runtime.add_application(manifest, run).unwrap();
            let policy = Policy { instances: 1, ..Policy::default() };
            let dag = Dag::chain(name, &[name]).on(&PacketIns::id().to_string()).policy(policy);
            runtime.add_dag(Duration::ZERO, dag).unwrap();
        }
        let (brain, mut outcome) = (Arc::new(Brain::new(runtime, None).unwrap()), Outcome::default());
        let hand_over = |outcome: &mut Outcome| {
            (0..4).for_each(|_| {
                let batch = Content::new(PacketIns::default());
                brain.batch(Duration::ZERO, (PacketIns::id(), batch), None, outcome).unwrap();
            });
        };
        // Alone, the two DAGs take turns.
        hand_over(&mut outcome);
        brain.work(|| Duration::ZERO, &mut outcome, |_| {});
        let names: Vec<&str> = ran.try_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), 8);
        assert!(names.chunks(2).all(|two| two.contains(&"one") && two.contains(&"two")), "{names:?}");
        // While one works on what it began with, the other does what came after.
        place.set(brain.clone()).ok().unwrap();
        hand_over(&mut outcome);
        brain.work(|| Duration::ZERO, &mut outcome, |_| {});
        let own = std::thread::current().id();
        let by_others = ran.try_iter().filter(|(_, thread)| *thread != own).count();
        assert_eq!(by_others, 3);
    }
}
