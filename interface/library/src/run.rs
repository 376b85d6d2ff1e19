//! Runs and experiments: from a network to a results folder.

use crate::checked::Checked;
use crate::error::Error;
use crate::network::Network;
use crate::results::{conclude, next_place};
use crate::starter::Starter;
use crate::testbed::Testbed;
use crate::up::Up;
use plait_testbed_experiment::runner::{Moment, Progress, RunOutcome, run};
use plait_testbed_experiment::section::Script;
use plait_testbed_experiment::sweep::{Attempt, Summary, Sweep};
use plait_testbed_experiment::testbed::{KeepAwake, RunningTestbed};
use plait_testbed_experiment::world::Stop;
use plait_testbed_runtime::control::Traces;
use std::path::{Path, PathBuf};

/// Choice: what keeps a run from being built is tried once more, because a machine may be short of something
/// for a moment; then the experiment ends and can be gone on with.
const BUILDS: usize = 2;

/// # Running it
impl Network {
    /// Builds the network, does what [`Network::at`] and its kin say, and writes a results folder with a
    /// report, in `results/NAME-NUMBER`. The testbed is gone afterwards.
    ///
    /// # Errors
    /// What is wrong with the network, or why it could not be built or its results not be written. A run that
    /// fails is none: [`Results::succeeded`](crate::Results::succeeded) says so.
    pub fn run(&self) -> Result<RunOutcome, Error> {
        self.runner().run()
    }

    /// Runs every cell of the experiment as often as asked, each on a fresh testbed, and says what all runs
    /// say together. Tainted runs are tried again.
    ///
    /// # Errors
    /// As of [`Network::run`]. What was done is kept, and [`Runner::resume`] goes on with it.
    pub fn sweep(&self) -> Result<SweepOutcome, Error> {
        self.runner().sweep()
    }

    /// The same two with a say in how: `network.runner().results("results/first").run()`.
    pub fn runner<'a>(&self) -> Runner<'a> {
        let how = How {
            name: None,
            starter: None,
            results: None,
            resume: None,
            awake: KeepAwake::default(),
            stop: Stop::default(),
            progress: Box::new(|_, _| {}),
            attempts: Box::new(|_, _, _| {}),
        };
        Runner { network: self.check(), how }
    }
}

/// What all runs of an experiment say.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepOutcome {
    /// Where its results stand.
    pub folder: PathBuf,
    /// Each metric of each cell, with intervals over runs.
    pub summary: Summary,
    /// Whether every run was done; not, when it was stopped.
    pub finished: bool,
}

/// How a network is run. From [`Network::runner`].
#[must_use = "nothing runs before `run` or `sweep` is called"]
pub struct Runner<'a> {
    network: Result<Checked, Error>,
    how: How<'a>,
}

struct How<'a> {
    name: Option<String>,
    starter: Option<Starter>,
    results: Option<PathBuf>,
    resume: Option<PathBuf>,
    awake: KeepAwake,
    stop: Stop,
    progress: Box<dyn FnMut(f64, Moment<'_>) + 'a>,
    attempts: Box<dyn FnMut(Attempt, usize, usize) + 'a>,
}

impl<'a> Runner<'a> {
    /// Writes the results to this folder, which must not be there yet.
    pub fn results(mut self, folder: impl Into<PathBuf>) -> Self {
        self.how.results = Some(folder.into());
        self
    }

    /// Goes on with an experiment in the folder where it was begun.
    pub fn resume(mut self, folder: impl Into<PathBuf>) -> Self {
        self.how.resume = Some(folder.into());
        self
    }

    /// Calls testbeds so while they are up, instead of by the network's name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.how.name = Some(name.into());
        self
    }

    /// Says who forks supervisors; [`Starter::find`] when not said.
    pub fn starter(mut self, starter: Starter) -> Self {
        self.how.starter = Some(starter);
        self
    }

    /// Says whether this machine's processors are kept from halting; [`KeepAwake::Auto`] when not said.
    pub fn awake(mut self, awake: KeepAwake) -> Self {
        self.how.awake = awake;
        self
    }

    /// Ends early when asked for. What was measured until then is kept.
    pub fn stop(mut self, stop: &Stop) -> Self {
        self.how.stop = stop.clone();
        self
    }

    /// Hears what happens in a run, and how many seconds after its start; not that time passes.
    pub fn progress(mut self, hear: impl FnMut(f64, Moment<'_>) + 'a) -> Self {
        self.how.progress = Box::new(hear);
        self
    }

    /// Hears of each run of an experiment before it begins, how many were done before, and how many there are
    /// at least.
    pub fn attempts(mut self, hear: impl FnMut(Attempt, usize, usize) + 'a) -> Self {
        self.how.attempts = Box::new(hear);
        self
    }

    /// Runs it once. With factors, that is [`Runner::cell`].
    ///
    /// # Errors
    /// As of [`Network::run`].
    pub fn run(self) -> Result<RunOutcome, Error> {
        let Self { network, how } = self;
        let network = network?;
        if network.experiment().is_some() {
            let text = "this network has factors: run all its cells by `sweep`, or one by `cell`";
            return Err(Error::Misused(text.to_owned()));
        }
        how.once(&network)
    }

    /// Runs one cell of an experiment once; cell and repeat count from 1, and each repeat has a seed of its own.
    ///
    /// # Errors
    /// A cell that is not there, and as of [`Network::run`].
    pub fn cell(self, cell: usize, repeat: usize) -> Result<RunOutcome, Error> {
        self.how.once(&self.network?.in_cell(cell, repeat)?)
    }

    /// Runs every cell as often as asked.
    ///
    /// # Errors
    /// As of [`Network::sweep`].
    pub fn sweep(self) -> Result<SweepOutcome, Error> {
        let Self { network, mut how } = self;
        let network = network?;
        let Some(experiment) = network.experiment() else {
            let text =
                "this network has no factors: give it one by `factor`, or `repeats`; or run it once by `run`";
            return Err(Error::Misused(text.to_owned()));
        };
        network.every_cell()?;
        let named = network.named();
        let input = network.input(&named);
        let mut sweep = match (how.resume.take(), how.results.take()) {
            (Some(folder), _) => Sweep::resume(experiment, &input, &folder)?,
            (None, Some(place)) => Sweep::begin(experiment, &input, &place)?,
            (None, None) => Sweep::begin(experiment, &input, &next_place(&network.network().name)?)?,
        };
        while let Some(attempt) = sweep.next_attempt(&[]).filter(|_| !how.stop.is_asked()) {
            let (done, all) = sweep.progress();
            (how.attempts)(attempt, done, all);
            let cell = network.in_cell(attempt.run.cell, attempt.run.repeat)?;
            let place = sweep.place(attempt);
            let mut tried = how.perform(&cell, &place);
            for _ in 1..BUILDS {
                if tried.is_err() && !place.exists() && !how.stop.is_asked() {
                    tried = how.perform(&cell, &place);
                }
            }
            match tried {
                Ok(_) => drop(sweep.note(attempt)?),
                Err(_) if how.stop.is_asked() => break,
                Err(error) => return Err(error),
            }
        }
        let summary = conclude(&sweep)?;
        let finished = sweep.next_attempt(&[]).is_none();
        Ok(SweepOutcome { folder: sweep.folder().to_owned(), summary, finished })
    }
}

impl How<'_> {
    fn once(mut self, network: &Checked) -> Result<RunOutcome, Error> {
        let place = match self.results.take() {
            Some(place) => place,
            None => next_place(&network.network().name)?,
        };
        self.perform(network, &place)
    }

    fn perform(&mut self, network: &Checked, place: &Path) -> Result<RunOutcome, Error> {
        let script = network.script()?;
        let traces = network.traces(&script)?;
        let mut up = Up::of(Ok(network.clone()));
        if let Some(starter) = &self.starter {
            up = up.starter(starter.clone());
        }
        if let Some(name) = &self.name {
            up = up.named(name);
        }
        let ready = up.ready()?;
        if place.exists() {
            return Err(Error::Misused(format!(
                "{} is there already: choose another folder",
                place.display()
            )));
        }
        let testbed = ready.start(&mut |_, _| {})?;
        let course = Course { script, traces, place, awake: self.awake, stop: &self.stop };
        network.carry_out(testbed, course, &mut |_| {}, &mut Hearing(&mut self.progress))
    }
}

/// What a run does, where its results go, and who may end it early.
#[derive(Debug)]
pub struct Course<'a> {
    /// What it does.
    pub script: Script,
    /// The traces that its events name.
    pub traces: Traces,
    /// The results folder, which must not be there yet.
    pub place: &'a Path,
    /// Whether it keeps this machine's processors from halting.
    pub awake: KeepAwake,
    /// Ends it early when asked for.
    pub stop: &'a Stop,
}

impl Checked {
    /// Runs a script on a testbed of this network that was just built, and takes the testbed down.
    /// `measuring` hears of each link that is measured before.
    ///
    /// # Errors
    /// A testbed that is gone, or results that cannot be written.
    pub fn carry_out(
        &self,
        testbed: Testbed,
        course: Course<'_>,
        measuring: &mut dyn FnMut(&str),
        progress: &mut dyn Progress,
    ) -> Result<RunOutcome, Error> {
        let Course { script, traces, place, awake, stop } = course;
        let (control, lifeline) = testbed.into_parts();
        let world = RunningTestbed::new(control, traces, awake, stop, measuring)?;
        let named = self.named();
        let outcome = run(&world, &self.input(&named), &script, place, stop, progress);
        let torn_down = world.into_testbed().down(&mut |_, _| {});
        drop(lifeline);
        let outcome = outcome?;
        torn_down?;
        Ok(outcome)
    }
}

/// A closure that hears how a run gets on.
struct Hearing<F>(F);

impl<F: FnMut(f64, Moment<'_>)> Progress for Hearing<F> {
    fn moment(&mut self, at: f64, moment: Moment<'_>) {
        if !matches!(moment, Moment::Passing | Moment::Waiting { .. }) {
            (self.0)(at, moment);
        }
    }
}
