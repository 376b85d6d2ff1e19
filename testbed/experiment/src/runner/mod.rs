//! One run, from the first logger to the results folder.
//!
//! [`run`] takes a network that is up (a [`World`]), does what its script says, and leaves a results folder:
//!
//! ```text
//! loggers ──► events at their instants ──► wait for commands ──► stop what still runs ──► collect ──► write, report
//! ```
//!
//! Whatever happens on the way (a command that fails or hangs, a world that refuses, Ctrl-C), the steps to the right
//! still follow: commands are always stopped, and what there is of results is always written.
//!
//! A wait is an event, too. While it lasts the run's clock stands still, so that the instants of later events, of the
//! end and of the warm-up's end count as if it took no time; records and samples have real seconds. A wait in vain
//! ends the run, because what follows rests on it.

mod commands;
mod flows;
mod loggers;
mod printed;
mod provenance;
mod timeline;
mod wait;
mod words;

pub use provenance::Input;

use crate::report;
use crate::results::records::seconds;
use crate::results::{
    AssertionRecord, EventKind, EventRecord, Iperf3Rows, Machine, NetworkSummary, RESULTS_VERSION, Recorded,
    Results, ResultsError, SamplesSummary, Staging, measure, usual_metrics,
};
use crate::section::{Action, Command, Condition, Event, Script};
use crate::world::{Direction, Stop, World, WorldError};
use commands::{Commands, End};
use loggers::Loggers;
use plait_model_quantity::TimeSpan;
use printed::Printed;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wait::Waited;

/// How long commands that were asked to stop may take; a world kills them after a second.
const GRACE: Duration = Duration::from_secs(5);
/// How often commands are looked after between events.
const TICK: Duration = Duration::from_millis(20);
/// How often progress hears that time passes.
const WORD: Duration = Duration::from_millis(100);

/// How a run ended.
#[derive(Debug)]
pub struct RunOutcome {
    /// Where its results stand.
    pub folder: PathBuf,
    /// What stands in its `results.json`.
    pub results: Results,
}

/// Is told how a run gets on, on the thread that runs it.
pub trait Progress {
    /// Something happened, `at` seconds after the start.
    fn moment(&mut self, at: f64, moment: Moment<'_>);
}

/// Something that happened in a run. Its text form is for people.
#[derive(Debug)]
pub enum Moment<'a> {
    /// Loggers are on; the run lasts until about this second, where that is known.
    Started {
        /// Seconds from the start, if no wait takes time.
        until: Option<f64>,
    },
    /// Time passes: about ten times a second.
    Passing,
    /// The run waits: about ten times a second.
    Waiting {
        /// For this.
        what: &'a str,
    },
    /// An event was fired, or a wait is over.
    Fired(&'a EventRecord),
    /// A command is gone, and whether it did what it had to.
    Ended {
        /// What people call it.
        name: &'a str,
        /// Where it ran.
        node: &'a str,
        /// Whether it did what it had to.
        passed: bool,
    },
    /// Commands are being stopped.
    Stopping,
    /// Files are being brought back from the nodes.
    Collecting,
    /// Results and report are being written.
    Writing,
}

/// Says nothing.
impl Progress for () {
    fn moment(&mut self, _: f64, _: Moment<'_>) {}
}

/// Runs a script on a world that is up, and writes its results to `place`, which must not exist yet.
///
/// A run that fails (a command that does not return what it must, an event the world refuses) is a result like any
/// other: its folder says so. `stop` ends the run early; commands are stopped and results written all the same.
///
/// # Errors
/// Results that cannot be written. What was written until then stays beside `place`, without a `results.json`.
pub fn run(
    world: &dyn World,
    input: &Input<'_>,
    script: &Script,
    place: &Path,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<RunOutcome, ResultsError> {
    let staging = Staging::begin(place)?;
    for (path, bytes) in input.copies() {
        staging.write(&path, bytes)?;
    }
    provenance::keep_plan(world, &staging)?;
    let results = perform(world, input, script, &staging, stop, progress)?;
    staging.write_results(&results)?;
    let html = report::render(staging.folder())?;
    staging.write("report.html", html.as_bytes())?;
    let folder = staging.finish()?;
    tracing::info!(folder = %folder.display(), passed = results.passed, "results written");
    Ok(RunOutcome { folder, results })
}

/// Everything but the writing of `results.json` and the report.
fn perform(
    world: &dyn World,
    input: &Input<'_>,
    script: &Script,
    staging: &Staging,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Results, ResultsError> {
    let mut loggers = Loggers::start(world, &script.collect, staging)?;
    let (flows, start, refused) = match script.traffic.is_empty() {
        true => (None, world.now(), None),
        false => match world.traffic(&script.traffic, stop) {
            Ok((flows, begin)) => (Some(flows), begin, None),
            Err(error) => (None, world.now(), Some(format!("traffic: {error}"))),
        },
    };
    // Sinks listen before the run begins.
    while world.now() < start && !stop.is_asked() {
        world.wait_until(start, stop);
    }
    loggers.begin_at(start);
    let wall = SystemTime::now();
    tracing::info!(network = %input.network.name, events = script.events.len(), "run started");

    let mut stage = Stage {
        world,
        staging,
        start,
        commands: Commands::new(world, staging, start),
        printed: Printed::new(&script.collect.json, staging, start),
        events: Vec::new(),
        waiting: None,
        pauses: Vec::new(),
        next_word: start,
    };
    progress.moment(0.0, Moment::Started { until: script.duration.map(TimeSpan::as_secs_f64) });
    // Without its traffic nothing would come of a run but the time that it takes.
    let played = match refused {
        Some(_) => Ok(()),
        None => stage.play(script, &Halt { world, stop, loggers: &loggers }, progress),
    };
    let played_s = stage.elapsed();
    progress.moment(played_s, Moment::Stopping);
    stage.commands.stop_all(GRACE, progress);
    let flows = flows.map_or(Ok(Vec::new()), |flows| flows.finish());
    let duration_s = stage.elapsed();
    let verdict = world.verdict(start);
    played?;
    let is_gone = world.is_gone();
    // At the end, because a slow disk would hold up what follows a wait.
    staging.remove(wait::FOLDER)?;

    let mut failures = loggers.refusals();
    let is_refused = refused.is_some();
    failures.extend(refused);
    let flows = flows.unwrap_or_else(|error| {
        failures.push(format!("traffic: {error}"));
        Vec::new()
    });
    flows::write(&flows, staging)?;
    if is_gone {
        failures.push(format!("the network was gone before the run was over, at {duration_s:.1} s"));
    }
    let (mut rows, packets, more) = loggers.stop()?;
    let (kept, missed) = stage.printed.finish(world.now())?;
    rows.kept += kept;
    rows.missed += missed;
    failures.extend(more);
    progress.moment(stage.elapsed(), Moment::Collecting);
    failures.extend(provenance::collect(world, input.network, &script.collect, start, staging)?);

    progress.moment(stage.elapsed(), Moment::Writing);
    let interrupted = stop.is_asked();
    let in_vain = |event: &EventRecord| event.kind == EventKind::Wait && event.error.is_some();
    let end = match interrupted {
        true => End::Interrupted,
        false if stage.events.iter().any(in_vain) => End::Waited,
        false => End::Reached,
    };
    failures.extend(stage.events.iter().filter_map(timeline::failure));
    let (commands, more) = stage.commands.records(end);
    failures.extend(more);
    Iperf3Rows::of(&commands, staging.folder()).write(staging)?;
    let warmup_s = stage.real(script.warmup, |pause| pause.at <= script.warmup).as_secs_f64();
    let mut metrics = match script.metrics.is_empty() {
        true => usual_metrics(&commands, staging.folder()),
        false => {
            let recorded =
                Recorded { folder: staging.folder(), commands: &commands, json: &script.collect.json };
            measure(&script.metrics, warmup_s..=played_s, &recorded)?
        }
    };
    for (name, figure) in flows::figures(&flows) {
        // One that was asked for by this name stays.
        metrics.entry(name).or_insert(figure);
    }
    // Of a run that was cut short it goes without saying.
    if end == End::Reached && !is_refused {
        let missing = metrics.iter().filter_map(|(name, metric)| {
            Some(format!("the metric {name} has no value: {}", metric.why.as_ref()?))
        });
        failures.extend(missing);
    }
    let value = |name: &str| metrics.get(name).and_then(|metric| metric.value);
    let assertions = script.assertions.iter().map(|assertion| AssertionRecord {
        text: assertion.text.clone(),
        metric: assertion.metric.clone(),
        held: value(&assertion.metric).is_some_and(|value| assertion.holds(value)),
    });
    let assertions = assertions.collect();
    let interval = |interval: Option<Duration>| interval.map(|interval| interval.as_secs_f64());
    Ok(Results {
        plait_results: RESULTS_VERSION,
        plait: env!("CARGO_PKG_VERSION").to_owned(),
        network: NetworkSummary::of(input.network, input.file_name(), input.sha256(), input.hashes()),
        question: script.question.clone(),
        machine: Machine::here(),
        world: world.describe(),
        started: humantime::format_rfc3339_seconds(wall).to_string(),
        duration_s,
        interrupted,
        passed: failures.is_empty() && !interrupted,
        failures,
        verdict,
        verification: world.verification(),
        warmup_s,
        metrics,
        assertions,
        commands,
        events: std::mem::take(&mut stage.events),
        samples: SamplesSummary {
            tcp_interval_s: interval(script.collect.tcp),
            links_interval_s: interval(script.collect.links),
            interfaces_interval_s: interval(script.collect.interfaces),
            rows,
            packets,
        },
        fates: world.fates(),
        links: world.link_report(),
    })
}

/// What ends a run before its time: the user, a disk that takes no more samples, or that the network is gone.
struct Halt<'a> {
    world: &'a dyn World,
    stop: &'a Stop,
    loggers: &'a Loggers,
}

impl Halt<'_> {
    fn is_due(&self) -> bool {
        self.stop.is_asked() || self.loggers.failed() || self.world.is_gone()
    }
}

/// A run while it happens.
struct Stage<'a> {
    world: &'a dyn World,
    staging: &'a Staging,
    start: Duration,
    commands: Commands<'a>,
    printed: Printed<'a>,
    events: Vec<EventRecord>,
    /// What the run waits for just now.
    waiting: Option<String>,
    /// The waits that are over.
    pauses: Vec<Pause>,
    /// When progress hears next that time passes.
    next_word: Duration,
}

/// A time in which the run's clock stood still.
struct Pause {
    /// On the run's clock.
    at: TimeSpan,
    /// On the world's clock.
    length: Duration,
}

impl Stage<'_> {
    /// The real time from the start to an instant of the run's clock, where some pauses came before it.
    fn real(&self, at: TimeSpan, before: impl Fn(&Pause) -> bool) -> Duration {
        let pauses = self.pauses.iter().filter(|pause| before(pause));
        Duration::from(at) + pauses.map(|pause| pause.length).sum::<Duration>()
    }

    /// Seconds since the start.
    fn elapsed(&self) -> f64 {
        seconds(self.world.now(), self.start)
    }

    /// Fires every event at its instant, then waits for the end: that of the script, or of all traffic and the last
    /// command in the foreground.
    fn play(
        &mut self,
        script: &Script,
        halt: &Halt<'_>,
        progress: &mut dyn Progress,
    ) -> Result<(), ResultsError> {
        for event in &script.events {
            let asked = self.start + self.real(event.at, |_| true);
            if !self.pass_until(asked, halt, progress) {
                return Ok(());
            }
            let asked_s = seconds(asked, self.start);
            let error = match &event.action {
                Action::Wait(wait) => match self.wait(wait, event.at, halt, progress)? {
                    Waited::Held => None,
                    Waited::Failed(why) => Some(why),
                    Waited::Halted => return Ok(()),
                },
                _ => self.fire(&event.action, asked_s)?.err().map(|error| error.message),
            };
            let in_vain = error.is_some() && matches!(event.action, Action::Wait(_));
            let record = timeline::record(event, asked_s, self.elapsed(), error);
            progress.moment(record.actual_s, Moment::Fired(&record));
            self.events.push(record);
            if in_vain {
                return Ok(());
            }
        }
        if let Some(until) = script.duration {
            let end = self.start + self.real(until, |_| true);
            self.pass_until(end, halt, progress);
            return Ok(());
        }
        // Traffic keeps real time, whatever the run waits for.
        let last = script.traffic.iter().map(|traffic| Duration::from(traffic.stop)).max();
        if last.is_some_and(|last| !self.pass_until(self.start + last, halt, progress)) {
            return Ok(());
        }
        while self.commands.awaited() && self.pass_until(self.world.now() + TICK, halt, progress) {}
        Ok(())
    }

    /// Looks after commands until an instant; false when the run is to end at once.
    fn pass_until(&mut self, instant: Duration, halt: &Halt<'_>, progress: &mut dyn Progress) -> bool {
        loop {
            self.commands.look(progress);
            let now = self.world.now();
            self.printed.look(now);
            if halt.is_due() || self.printed.failed() {
                return false;
            }
            if now >= instant {
                return true;
            }
            if now >= self.next_word {
                self.next_word = now + WORD;
                let moment = match &self.waiting {
                    Some(what) => Moment::Waiting { what },
                    None => Moment::Passing,
                };
                progress.moment(seconds(now, self.start), moment);
            }
            // With nothing to look after there is nothing to wake up for but the instant and a word of progress.
            let nap = if self.commands.any_running() { TICK } else { WORD };
            self.world.wait_until(instant.min(now + nap), halt.stop);
        }
    }

    fn fire(&mut self, action: &Action, asked_s: f64) -> Result<Result<(), WorldError>, ResultsError> {
        Ok(match action {
            Action::Start(command) => {
                let started = self.commands.start(command, asked_s)?;
                started.map(|folder| self.printed.follow(command, &folder))
            }
            Action::Set { link, direction, change } => self.world.set_link(link, *direction, change),
            Action::Link { link, direction, up } => self.world.set_link_up(link, *direction, *up),
            Action::Node { node, up } => self.world.set_node_up(node, *up),
            Action::Wait(_) => Ok(()),
        })
    }
}
