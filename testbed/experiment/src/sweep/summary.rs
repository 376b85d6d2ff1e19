//! What the runs of a sweep say together: one value per run and metric, and intervals over runs.

use super::folder::{Done, EXPERIMENT_VERSION, Sweep};
use super::order::RunId;
use crate::analysis::{CellValues, Effect, Estimate, bootstrap, effects, mean, median, rank_correlation};
use crate::results::{AssertionRecord, Machine, ResultsError, complaints};
use crate::section::Question;
use crate::world::{AccuracyClass, VerdictWord};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What all runs say: the content of `summary.json`, and all that the report of an experiment is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of the folder's format.
    pub plait_experiment: u64,
    /// Version of the program that wrote it.
    pub plait: String,
    /// The network's name.
    pub name: String,
    /// What it is about.
    pub question: Question,
    /// The network file's name.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Seed of the order of runs and of the choice of cells.
    pub seed: u64,
    /// Where the last run took place.
    pub machine: Option<Machine>,
    /// In which world it took place: `testbed` or `simulator`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<String>,
    /// How exact its links were.
    pub accuracy: Option<AccuracyClass>,
    /// When the first run started: RFC 3339, UTC.
    pub started: Option<String>,
    /// The factors, in the order of the file.
    pub factors: Vec<FactorSummary>,
    /// The unit of each metric.
    pub metrics: BTreeMap<String, String>,
    /// Each cell.
    pub cells: Vec<CellSummary>,
    /// Of a full design: what each factor, and every two together, do to each metric.
    pub effects: BTreeMap<String, Vec<Effect>>,
    /// How much each metric goes with each factor, in their order: the rank correlation over cells, where levels have
    /// an order.
    pub sensitivity: BTreeMap<String, Vec<Option<Estimate>>>,
    /// What was asserted.
    pub assertions: Vec<AssertionSummary>,
    /// Every attempt.
    pub runs: Vec<RunSummary>,
    /// Attempts made, tainted ones included.
    pub attempts: usize,
    /// Of these, how many were tainted.
    pub tainted: usize,
    /// Runs in which something did not happen as the file says.
    pub failed: usize,
}

/// Something that varied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactorSummary {
    /// Its name.
    pub name: String,
    /// The levels that cells have, in the order of the file or of their values.
    pub levels: Vec<String>,
    /// Their values, where all have one.
    pub values: Option<Vec<f64>>,
}

/// What the runs of a cell say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSummary {
    /// Its number, from 1.
    pub cell: usize,
    /// The level of each factor.
    pub levels: Vec<String>,
    /// Runs whose links were as asked; only these are counted below.
    pub valid: usize,
    /// Runs of which no attempt was valid; shown apart.
    pub tainted: usize,
    /// Each metric.
    pub metrics: BTreeMap<String, MetricSummary>,
}

/// What the runs of a cell say of one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricSummary {
    /// The mean over valid runs, with Student's interval.
    pub mean: Option<Estimate>,
    /// The median over valid runs, with the interval of order statistics.
    pub median: Option<Estimate>,
    /// The mean again, with the bootstrap's interval, which may lie unevenly about it.
    pub bootstrap: Option<Estimate>,
    /// The values of valid runs.
    pub values: Vec<f64>,
    /// The values of tainted runs, which are in none of these.
    pub tainted: Vec<f64>,
}

/// How often an assertion held, over the attempts that count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssertionSummary {
    /// As it is written.
    pub text: String,
    /// Valid runs in which it held.
    pub held: usize,
    /// Valid runs in which it did not.
    pub broken: usize,
    /// Tainted runs, which prove nothing.
    pub undecided: usize,
}

/// One attempt and its metrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its name, and that of its folder below `runs/`.
    pub run: String,
    /// The cell, from 1.
    pub cell: usize,
    /// The repeat, from 1.
    pub repeat: usize,
    /// The attempt, from 1.
    pub attempt: usize,
    /// `valid` or `tainted`.
    pub verdict: VerdictWord,
    /// Whether everything happened as the file says.
    pub passed: bool,
    /// Whether the user ended it early.
    pub interrupted: bool,
    /// Whether it is the attempt that counts for its run.
    pub counts: bool,
    /// How long it lasted.
    pub duration_s: f64,
    /// Each metric.
    pub metrics: BTreeMap<String, f64>,
    /// Why it did not pass.
    pub failures: Vec<String>,
    /// What was asserted of it.
    pub assertions: Vec<AssertionRecord>,
}

impl RunSummary {
    /// Why it did not pass, and which assertions do not hold.
    pub fn complaints(&self) -> Vec<String> {
        complaints(&self.failures, &self.assertions)
    }
}

impl Summary {
    /// What all runs of a sweep say so far.
    pub fn of(sweep: &Sweep<'_>) -> Self {
        let experiment = sweep.experiment();
        let counting: Vec<&Done> = sweep.attempts().filter(|done| sweep.counts(done)).collect();
        let last = sweep.attempts().last().map(|done| &done.results);
        let cells: Vec<CellSummary> =
            (1..=experiment.cells.len()).map(|cell| Self::of_cell(sweep, cell)).collect();
        let factors: Vec<FactorSummary> = (0..experiment.factors.len()).map(|at| factor(sweep, at)).collect();
        let units = counting.iter().flat_map(|done| &done.results.metrics);
        let metrics: BTreeMap<String, String> =
            units.map(|(name, metric)| (name.clone(), metric.unit.clone())).collect();
        let manifest = sweep.manifest();
        Self {
            plait_experiment: EXPERIMENT_VERSION,
            plait: env!("CARGO_PKG_VERSION").to_owned(),
            name: manifest.name.clone(),
            question: last.map(|results| results.question.clone()).unwrap_or_default(),
            file: manifest.file.clone(),
            sha256: manifest.sha256.clone(),
            seed: manifest.seed,
            machine: last.map(|results| results.machine.clone()),
            world: last.map(|results| results.world.kind.clone()),
            accuracy: last.and_then(|results| results.world.accuracy),
            started: sweep.attempts().map(|done| &done.results.started).min().cloned(),
            effects: metrics
                .keys()
                .filter_map(|name| Some((name.clone(), factorial(&cells, &factors, name)?)))
                .collect(),
            sensitivity: metrics
                .keys()
                .map(|name| (name.clone(), correlations(&cells, &factors, name)))
                .collect(),
            assertions: assertions(&counting),
            runs: sweep.attempts().map(|done| run(sweep, done)).collect(),
            attempts: sweep.attempts().count(),
            tainted: sweep.attempts().filter(|done| !is_valid(done)).count(),
            failed: counting.iter().filter(|done| !done.results.passed).count(),
            factors,
            metrics,
            cells,
        }
    }

    fn of_cell(sweep: &Sweep<'_>, cell: usize) -> CellSummary {
        let experiment = sweep.experiment();
        let (valid, tainted): (Vec<_>, Vec<_>) = counting(sweep, cell).partition(|done| is_valid(done));
        let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let summary = |(valid, tainted): (Vec<f64>, Vec<f64>)| MetricSummary {
            mean: mean(&valid),
            median: median(&valid),
            bootstrap: bootstrap(&valid, experiment.seed, average),
            values: valid,
            tainted,
        };
        CellSummary {
            cell,
            levels: experiment.cells[cell - 1].levels.iter().map(|level| level.text.clone()).collect(),
            valid: valid.len(),
            tainted: tainted.len(),
            metrics: values(sweep, cell)
                .into_iter()
                .map(|(name, values)| (name.to_owned(), summary(values)))
                .collect(),
        }
    }

    /// Whether the experiment succeeded: every run that counts passed, and every assertion held in every valid one.
    /// Where no run was valid, nothing is proved.
    pub fn succeeded(&self) -> bool {
        self.failed == 0
            && self.assertions.iter().all(|assertion| assertion.broken == 0 && assertion.held > 0)
    }

    /// Whether nothing failed and nothing asserted was broken, but something asserted was decided by no run, since
    /// those that say it were all tainted.
    pub fn undecided(&self) -> bool {
        let unknown = |assertion: &AssertionSummary| assertion.held == 0 && assertion.undecided > 0;
        self.failed == 0
            && self.assertions.iter().all(|assertion| assertion.broken == 0)
            && self.assertions.iter().any(unknown)
    }

    /// Reads the `summary.json` of a folder.
    ///
    /// # Errors
    /// A file that is missing, damaged, or of a newer format, which is refused by name.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        let path = folder.join("summary.json");
        let text = fs::read(&path).map_err(|error| ResultsError::read(&path, error))?;
        let damaged = |reason: String| ResultsError::Damaged { path: path.clone(), reason };
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match value["plait_experiment"].as_u64() {
            Some(found) if found > EXPERIMENT_VERSION => {
                return Err(ResultsError::Newer { path, found, known: EXPERIMENT_VERSION });
            }
            Some(EXPERIMENT_VERSION) => {}
            _ => return Err(damaged("it names no version (`plait_experiment`)".to_owned())),
        }
        serde_json::from_value(value).map_err(|error| damaged(error.to_string()))
    }

    /// Writes `summary.json` and `runs.csv` into the sweep's folder.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn write(&self, sweep: &Sweep<'_>) -> Result<(), ResultsError> {
        let path = sweep.folder().join("summary.json");
        let text =
            serde_json::to_vec_pretty(self).map_err(|error| ResultsError::write(&path, error.into()))?;
        fs::write(&path, text).map_err(|error| ResultsError::write(&path, error))?;
        let path = sweep.folder().join("runs.csv");
        let failed = |error| ResultsError::csv_write(&path, error);
        let mut writer = csv::Writer::from_path(&path).map_err(failed)?;
        let fixed = ["cell", "repeat", "attempt", "verdict", "passed", "counts"];
        let factors = self.factors.iter().map(|factor| factor.name.as_str());
        let header = fixed.into_iter().chain(factors).chain(self.metrics.keys().map(String::as_str));
        writer.write_record(header).map_err(failed)?;
        for run in &self.runs {
            let verdict = if run.verdict == VerdictWord::Valid { "valid" } else { "tainted" };
            let fixed = [
                run.cell.to_string(),
                run.repeat.to_string(),
                run.attempt.to_string(),
                verdict.to_owned(),
                run.passed.to_string(),
                run.counts.to_string(),
            ];
            let levels = self.cells[run.cell - 1].levels.iter().cloned();
            let value = |name: &String| run.metrics.get(name).map(f64::to_string).unwrap_or_default();
            let row = fixed.into_iter().chain(levels).chain(self.metrics.keys().map(value));
            writer.write_record(row).map_err(failed)?;
        }
        writer.flush().map_err(|error| ResultsError::write(&path, error))
    }
}

/// The attempts that count for the runs of a cell.
fn counting<'a>(sweep: &'a Sweep<'_>, cell: usize) -> impl Iterator<Item = &'a Done> {
    let repeats = 1..=sweep.experiment().repeats.most();
    repeats.filter_map(move |repeat| sweep.counting(RunId { cell, repeat }))
}

/// What the valid runs of a cell gave, and what its tainted ones, by metric.
pub(super) fn values<'a>(sweep: &'a Sweep<'_>, cell: usize) -> BTreeMap<&'a str, (Vec<f64>, Vec<f64>)> {
    let mut values: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for done in counting(sweep, cell) {
        for (name, &value) in &done.metrics {
            let (valid, tainted) = values.entry(name).or_default();
            let into = if is_valid(done) { valid } else { tainted };
            into.push(value);
        }
    }
    values
}

fn is_valid(done: &Done) -> bool {
    done.results.verdict.word == VerdictWord::Valid
}

/// A factor with the levels that cells have: in their order where they have values, else as they first come.
fn factor(sweep: &Sweep<'_>, at: usize) -> FactorSummary {
    let experiment = sweep.experiment();
    let mut levels: Vec<(&str, Option<f64>)> = Vec::new();
    for cell in &experiment.cells {
        let level = &cell.levels[at];
        if !levels.iter().any(|(text, _)| *text == level.text) {
            levels.push((&level.text, level.value));
        }
    }
    if levels.iter().all(|(_, value)| value.is_some()) {
        levels.sort_by(|a, b| a.1.unwrap_or_default().total_cmp(&b.1.unwrap_or_default()));
    }
    FactorSummary {
        name: experiment.factors[at].name.clone(),
        values: levels.iter().map(|(_, value)| *value).collect(),
        levels: levels.into_iter().map(|(text, _)| text.to_owned()).collect(),
    }
}

/// The effects of factors on a metric, where the design is full and every cell has a valid run.
fn factorial(cells: &[CellSummary], factors: &[FactorSummary], metric: &str) -> Option<Vec<Effect>> {
    let cell = |cell: &CellSummary| {
        let position = |(level, factor): (&String, &FactorSummary)| {
            factor.levels.iter().position(|known| known == level)
        };
        Some(CellValues {
            levels: cell.levels.iter().zip(factors).map(position).collect::<Option<_>>()?,
            values: cell.metrics.get(metric)?.values.clone(),
        })
    };
    effects(&cells.iter().map(cell).collect::<Option<Vec<_>>>()?)
}

fn correlations(cells: &[CellSummary], factors: &[FactorSummary], metric: &str) -> Vec<Option<Estimate>> {
    let of = |(at, factor): (usize, &FactorSummary)| {
        let values = factor.values.as_ref()?;
        let pair = |cell: &CellSummary| {
            let level = factor.levels.iter().position(|known| *known == cell.levels[at])?;
            Some((values[level], cell.metrics.get(metric)?.mean?.value))
        };
        rank_correlation(&cells.iter().filter_map(pair).collect::<Vec<_>>())
    };
    factors.iter().enumerate().map(of).collect()
}

fn assertions(counting: &[&Done]) -> Vec<AssertionSummary> {
    let mut found: Vec<AssertionSummary> = Vec::new();
    for done in counting {
        for assertion in &done.results.assertions {
            let known = found.iter().position(|known| known.text == assertion.text).unwrap_or_else(|| {
                let text = assertion.text.clone();
                found.push(AssertionSummary { text, held: 0, broken: 0, undecided: 0 });
                found.len() - 1
            });
            let counter = match (is_valid(done), assertion.held) {
                (false, _) => &mut found[known].undecided,
                (true, true) => &mut found[known].held,
                (true, false) => &mut found[known].broken,
            };
            *counter += 1;
        }
    }
    found
}

fn run(sweep: &Sweep<'_>, done: &Done) -> RunSummary {
    let results = &done.results;
    RunSummary {
        run: done.attempt.to_string(),
        cell: done.attempt.run.cell,
        repeat: done.attempt.run.repeat,
        attempt: done.attempt.number,
        verdict: results.verdict.word,
        passed: results.passed,
        interrupted: results.interrupted,
        counts: sweep.counts(done),
        duration_s: results.duration_s,
        metrics: done.metrics.clone(),
        failures: results.failures.clone(),
        assertions: results.assertions.clone(),
    }
}
