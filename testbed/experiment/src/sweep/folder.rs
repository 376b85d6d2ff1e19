//! The folder of a sweep: what is to run, what was run, what comes next.

use super::order::{Attempt, RunId, block};
use super::summary;
use crate::analysis::mean;
use crate::results::{MetricValue, Results, ResultsError, sync};
use crate::runner::Input;
use crate::section::{Experiment, Repeats};
use crate::world::VerdictWord;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The version of sweep folders this build writes.
pub const EXPERIMENT_VERSION: u64 = 1;

/// Choice: a tainted run gets two more tries. A machine that taints three in a row will taint the fourth.
pub const MOST_ATTEMPTS: usize = 3;

/// Why a sweep cannot begin or go on.
#[derive(Debug, Error)]
pub enum SweepError {
    /// A folder that is there already.
    #[error("{} is there already: go on with it by `--resume`, or choose another folder with `--output`", .0.display())]
    Exists(PathBuf),
    /// A folder that is no sweep's.
    #[error("{} holds no experiment to go on with: {reason}", .folder.display())]
    Nothing {
        /// The folder.
        folder: PathBuf,
        /// Why.
        reason: String,
    },
    /// A folder of another file.
    #[error("{} was begun with another version of the file ({was}, now {is}): begin anew, or bring the old file back (its copy is network.yaml in the folder)", .folder.display())]
    Changed {
        /// The folder.
        folder: PathBuf,
        /// Start of the hash it was begun with.
        was: String,
        /// Start of the hash the file has now.
        is: String,
    },
    /// A folder of a Plait that read the file otherwise.
    #[error("{} was begun by plait {by}, which made other cells of the same file: go on with that, or begin anew", .folder.display())]
    Otherwise {
        /// The folder.
        folder: PathBuf,
        /// Its version.
        by: String,
    },
    /// A run of another version of the file, or of one that it names.
    #[error("{} was made with another version of {file} than the runs before: remove it, bring the old version back, and go on by `--resume`", .run.display())]
    Mixed {
        /// The run.
        run: PathBuf,
        /// The file.
        file: String,
    },
    /// A folder somebody works on.
    #[error("another plait is at work in {}", .0.display())]
    Busy(PathBuf),
    /// Results that cannot be read or written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// The content of `experiment.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    plait_experiment: u64,
    plait: String,
    pub name: String,
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    pub seed: u64,
    factors: Vec<String>,
    /// The level of each factor, by cell.
    cells: Vec<Vec<String>>,
    least_repeats: usize,
    most_repeats: usize,
}

/// A sweep at work. No other process can work in its folder meanwhile.
#[derive(Debug)]
pub struct Sweep<'a> {
    experiment: &'a Experiment,
    manifest: Manifest,
    folder: PathBuf,
    done: BTreeMap<RunId, Vec<Done>>,
    /// The hashes of the files that runs named.
    files: BTreeMap<String, String>,
    _lock: File,
}

/// An attempt that is whole.
#[derive(Debug)]
pub(super) struct Done {
    pub attempt: Attempt,
    pub results: Results,
    /// One value per metric.
    pub metrics: BTreeMap<String, f64>,
}

impl<'a> Sweep<'a> {
    /// Begins a sweep in a folder that is not there yet.
    ///
    /// # Errors
    /// A folder that is there, or cannot be written.
    pub fn begin(experiment: &'a Experiment, input: &Input<'_>, folder: &Path) -> Result<Self, SweepError> {
        if fs::symlink_metadata(folder).is_ok() {
            return Err(SweepError::Exists(folder.to_owned()));
        }
        let runs = folder.join("runs");
        fs::create_dir_all(&runs).map_err(|error| ResultsError::write(&runs, error))?;
        for (path, bytes) in input.copies() {
            let path = folder.join(path);
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            made.and_then(|()| fs::write(&path, bytes)).map_err(|error| ResultsError::write(&path, error))?;
        }
        let manifest = Manifest::of(experiment, input);
        let path = folder.join("experiment.json");
        let mut text =
            serde_json::to_vec_pretty(&manifest).map_err(|error| ResultsError::write(&path, error.into()))?;
        text.push(b'\n');
        // Written under another name first: a folder whose experiment.json is there has everything else.
        let draft = folder.join("experiment.json.new");
        fs::write(&draft, text)
            .and_then(|()| sync(&draft))
            .and_then(|()| fs::rename(&draft, &path))
            .and_then(|()| sync(folder))
            .map_err(|error| ResultsError::write(&path, error))?;
        Self::open(experiment, manifest, folder)
    }

    /// Goes on with a sweep.
    ///
    /// # Errors
    /// A folder that is no sweep's, was begun with another file, or in which another process works.
    pub fn resume(experiment: &'a Experiment, input: &Input<'_>, folder: &Path) -> Result<Self, SweepError> {
        let nothing = |reason: String| SweepError::Nothing { folder: folder.to_owned(), reason };
        let text = fs::read(folder.join("experiment.json"))
            .map_err(|error| nothing(format!("experiment.json: {error}")))?;
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| nothing(format!("experiment.json: {error}")))?;
        match value["plait_experiment"].as_u64() {
            Some(EXPERIMENT_VERSION) => {}
            Some(found) if found > EXPERIMENT_VERSION => {
                return Err(nothing(format!(
                    "it is of format {found}, this plait knows {EXPERIMENT_VERSION}: use a newer plait"
                )));
            }
            _ => return Err(nothing("experiment.json names no version".to_owned())),
        }
        let known: Manifest =
            serde_json::from_value(value).map_err(|error| nothing(format!("experiment.json: {error}")))?;
        let now = Manifest::of(experiment, input);
        if known.sha256 == now.sha256 && known.cells != now.cells {
            return Err(SweepError::Otherwise { folder: folder.to_owned(), by: known.plait });
        }
        if known.sha256 != now.sha256 {
            let start = |hash: &str| hash.chars().take(12).collect();
            return Err(SweepError::Changed {
                folder: folder.to_owned(),
                was: start(&known.sha256),
                is: start(&now.sha256),
            });
        }
        Self::open(experiment, known, folder)
    }

    fn open(experiment: &'a Experiment, manifest: Manifest, folder: &Path) -> Result<Self, SweepError> {
        let path = folder.join("experiment.json");
        let lock = File::open(&path).map_err(|error| ResultsError::read(&path, error))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| SweepError::Busy(folder.to_owned()))?;
        let mut sweep = Self {
            experiment,
            manifest,
            folder: folder.to_owned(),
            done: BTreeMap::new(),
            files: BTreeMap::new(),
            _lock: lock,
        };
        let runs = folder.join("runs");
        let entries = fs::read_dir(&runs).map_err(|error| ResultsError::read(&runs, error))?;
        let mut attempts: Vec<Attempt> =
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        attempts.sort();
        for attempt in attempts {
            sweep.note(attempt)?;
        }
        Ok(sweep)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The network's name.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The levels of a run in words: `queue=10ms control=cubic`.
    pub fn describe(&self, run: RunId) -> String {
        self.experiment.describe(&self.experiment.cells[run.cell - 1])
    }

    /// Where the results of an attempt belong.
    pub fn place(&self, attempt: Attempt) -> PathBuf {
        self.folder.join("runs").join(attempt.to_string())
    }

    /// Reads an attempt that is whole now.
    ///
    /// # Errors
    /// Results that are missing or damaged, or that are of another version of a file: someone changed it meanwhile.
    pub fn note(&mut self, attempt: Attempt) -> Result<&Results, SweepError> {
        let place = self.place(attempt);
        let results = Results::read(&place)?;
        let mixed = |file: &str| SweepError::Mixed { run: place.clone(), file: file.to_owned() };
        if results.network.sha256 != self.manifest.sha256 {
            return Err(mixed(&results.network.file));
        }
        for (path, hash) in &results.network.files {
            if self.files.entry(path.clone()).or_insert_with(|| hash.clone()) != hash {
                return Err(mixed(path));
            }
        }
        let of = |(name, metric): (&String, &MetricValue)| Some((name.clone(), metric.value?));
        let metrics = results.metrics.iter().filter_map(of).collect();
        let tries = self.done.entry(attempt.run).or_default();
        tries.push(Done { attempt, results, metrics });
        Ok(&tries.last().expect("just pushed").results)
    }

    /// What to run next while others go on; none when everything was run or is being run.
    ///
    /// Whether a run is tried again depends on its links and never on its results: a tainted run was on another network
    /// than the one asked for.
    pub fn next_attempt(&self, going_on: &[RunId]) -> Option<Attempt> {
        (1..=self.experiment.repeats.most()).find_map(|repeat| {
            let mut block = block(self.experiment, repeat).into_iter().filter(|run| !going_on.contains(run));
            block.find_map(|run| self.due(run))
        })
    }

    /// The attempt a run still needs.
    fn due(&self, run: RunId) -> Option<Attempt> {
        let tries = self.done.get(&run).map(Vec::as_slice).unwrap_or_default();
        let first = || Attempt { run, number: 1 };
        match tries.last() {
            None if run.repeat <= self.experiment.repeats.least() || self.wants_more(run.cell) => {
                Some(first())
            }
            None => None,
            Some(last) if last.results.interrupted => Some(Attempt { run, number: last.attempt.number + 1 }),
            Some(last) if last.results.verdict.word == VerdictWord::Valid => None,
            Some(_) if tries.iter().filter(|done| !done.results.interrupted).count() >= MOST_ATTEMPTS => None,
            Some(last) => Some(Attempt { run, number: last.attempt.number + 1 }),
        }
    }

    /// Whether the intervals of a cell are still too wide.
    fn wants_more(&self, cell: usize) -> bool {
        let Repeats::Until(share) = self.experiment.repeats else { return false };
        // Asked for every cell before every run, so no more is worked out than this.
        summary::values(self, cell).values().any(|(valid, _)| {
            mean(valid).is_some_and(|mean| mean.relative_half_width().is_none_or(|width| width > share))
        })
    }

    /// How many runs are done, and how many there are at least.
    pub fn progress(&self) -> (usize, usize) {
        let wanted = self.experiment.cells.len() * self.experiment.repeats.least();
        let done = self.done.keys().filter(|run| self.due(**run).is_none()).count();
        (done, wanted.max(done))
    }

    pub(super) fn experiment(&self) -> &Experiment {
        self.experiment
    }

    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether an attempt is the one that counts for its run.
    pub(super) fn counts(&self, done: &Done) -> bool {
        self.counting(done.attempt.run).is_some_and(|counting| counting.attempt == done.attempt)
    }

    /// The attempts of every run, in order.
    pub(super) fn attempts(&self) -> impl Iterator<Item = &Done> {
        self.done.values().flatten()
    }

    /// The attempt of a run that counts: the valid one, else the last; never one that the user ended early.
    pub(super) fn counting(&self, run: RunId) -> Option<&Done> {
        let whole = || self.done.get(&run).into_iter().flatten().filter(|done| !done.results.interrupted);
        whole().find(|done| done.results.verdict.word == VerdictWord::Valid).or(whole().next_back())
    }
}

impl Manifest {
    fn of(experiment: &Experiment, input: &Input<'_>) -> Self {
        Self {
            plait_experiment: EXPERIMENT_VERSION,
            plait: env!("CARGO_PKG_VERSION").to_owned(),
            name: input.network.name.clone(),
            file: input.file_name().to_owned(),
            sha256: input.sha256(),
            seed: experiment.seed,
            factors: experiment.factors.iter().map(|factor| factor.name.clone()).collect(),
            cells: experiment
                .cells
                .iter()
                .map(|cell| cell.levels.iter().map(|level| level.text.clone()).collect())
                .collect(),
            least_repeats: experiment.repeats.least(),
            most_repeats: experiment.repeats.most(),
        }
    }
}
