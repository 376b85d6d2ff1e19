//! What the runs of a sweep say together: one value per run and metric, and intervals over runs.

use super::folder::{Done, Sweep};
use super::order::RunId;
use crate::analysis::{Estimate, mean, median};
use crate::results::ResultsError;
use crate::world::VerdictWord;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What all runs say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The factors, in the order of the file.
    pub factors: Vec<String>,
    /// Each cell.
    pub cells: Vec<CellSummary>,
    /// Attempts made, tainted ones included.
    pub attempts: usize,
    /// Of these, how many were tainted.
    pub tainted: usize,
    /// Runs in which something did not happen as the file says.
    pub failed: usize,
}

/// What the runs of a cell say.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricSummary {
    /// The mean over valid runs.
    pub mean: Option<Estimate>,
    /// The median over valid runs.
    pub median: Option<Estimate>,
    /// The values of tainted runs, which are in neither.
    pub tainted: Vec<f64>,
}

/// One attempt and its metrics, a row of `runs.csv`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
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
    /// Whether it is the attempt that counts for its run.
    pub counts: bool,
    /// Each metric.
    pub metrics: BTreeMap<String, f64>,
}

impl Summary {
    /// What all runs of a sweep say so far.
    pub fn of(sweep: &Sweep<'_>) -> Self {
        let experiment = sweep.experiment();
        let attempts = || sweep.attempts();
        Self {
            factors: experiment.factors.iter().map(|factor| factor.name.clone()).collect(),
            cells: (1..=experiment.cells.len()).map(|cell| Self::of_cell(sweep, cell)).collect(),
            attempts: attempts().count(),
            tainted: attempts().filter(|done| done.results.verdict.word == VerdictWord::Tainted).count(),
            failed: attempts().filter(|done| !done.results.passed).count(),
        }
    }

    pub(super) fn of_cell(sweep: &Sweep<'_>, cell: usize) -> CellSummary {
        let experiment = sweep.experiment();
        let counting: Vec<&Done> = (1..=experiment.repeats.most())
            .filter_map(|repeat| sweep.counting(RunId { cell, repeat }))
            .collect();
        let mut values: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for done in &counting {
            for (name, &value) in &done.metrics {
                let (valid, tainted) = values.entry(name.clone()).or_default();
                let into = if is_valid(done) { valid } else { tainted };
                into.push(value);
            }
        }
        let valid = counting.iter().filter(|done| is_valid(done)).count();
        let summary = |(valid, tainted): (Vec<f64>, Vec<f64>)| MetricSummary {
            mean: mean(&valid),
            median: median(&valid),
            tainted,
        };
        CellSummary {
            cell,
            levels: experiment.cells[cell - 1].levels.iter().map(|level| level.text.clone()).collect(),
            valid,
            tainted: counting.len() - valid,
            metrics: values.into_iter().map(|(name, values)| (name, summary(values))).collect(),
        }
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
        let rows: Vec<RunRow> = sweep.attempts().map(|done| row(sweep, done)).collect();
        let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.metrics.keys()).collect();
        let path = sweep.folder().join("runs.csv");
        let failed = |error| ResultsError::csv_write(&path, error);
        let mut writer = csv::Writer::from_path(&path).map_err(failed)?;
        let fixed = ["cell", "repeat", "attempt", "verdict", "passed", "counts"].map(str::to_owned);
        let header = fixed.iter().chain(&self.factors).chain(names.iter().copied());
        writer.write_record(header).map_err(failed)?;
        for row in &rows {
            let verdict = if row.verdict == VerdictWord::Valid { "valid" } else { "tainted" };
            let fixed = [
                row.cell.to_string(),
                row.repeat.to_string(),
                row.attempt.to_string(),
                verdict.to_owned(),
                row.passed.to_string(),
                row.counts.to_string(),
            ];
            let levels = self.cells[row.cell - 1].levels.iter().cloned();
            let values =
                names.iter().map(|name| row.metrics.get(*name).map(f64::to_string).unwrap_or_default());
            writer.write_record(fixed.into_iter().chain(levels).chain(values)).map_err(failed)?;
        }
        writer.flush().map_err(|error| ResultsError::write(&path, error))
    }
}

fn is_valid(done: &Done) -> bool {
    done.results.verdict.word == VerdictWord::Valid
}

fn row(sweep: &Sweep<'_>, done: &Done) -> RunRow {
    let counts = sweep.counting(done.attempt.run).is_some_and(|counting| counting.attempt == done.attempt);
    RunRow {
        cell: done.attempt.run.cell,
        repeat: done.attempt.run.repeat,
        attempt: done.attempt.number,
        verdict: done.results.verdict.word,
        passed: done.results.passed,
        counts,
        metrics: done.metrics.clone(),
    }
}
