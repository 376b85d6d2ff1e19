//! `plait run` of a file with `experiment:`: every cell and repeat, each in a process and a testbed of its own.

use crate::arguments::RunArguments;
use crate::commands::run::next_place;
use crate::commands::twice;
use crate::load::Loaded;
use crate::output::{Failure, Output, counted, table, write_file};
use plait_testbed_experiment::analysis::Estimate;
use plait_testbed_experiment::report::{junit_of_experiment, render_experiment};
use plait_testbed_experiment::section::{Experiment, Repeats};
use plait_testbed_experiment::sweep::{Attempt, RunId, Summary, Sweep, SweepError};
use plait_testbed_experiment::world::{Stop, VerdictWord};
use serde_json::json;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Choice: what keeps a run from being built is tried once more, because a machine may be short of something for a
/// moment; then the sweep ends and can be gone on with.
const BUILDS: usize = 2;

pub fn sweep(arguments: &RunArguments, loaded: &Loaded, output: &Output) -> Result<ExitCode, Failure> {
    let experiment = loaded.experiment.as_ref().expect("the caller has looked");
    for cell in 2..=experiment.cells.len() {
        loaded.network_of(experiment, cell)?;
    }
    if arguments.dry {
        return dry(experiment, output);
    }
    let named = loaded.named();
    let input = loaded.input(&named);
    let mut sweep = match (&arguments.resume, &arguments.output) {
        (Some(folder), _) => Sweep::resume(experiment, &input, folder)?,
        (None, Some(place)) => Sweep::begin(experiment, &input, place)?,
        (None, None) => Sweep::begin(experiment, &input, &next_place(&loaded.network.name)?)?,
    };
    output.note(&plan(experiment));
    output.note(&format!("results: {}", sweep.folder().display()));

    // Ctrl-C reaches the run as well, which ends and is not counted; the sweep then ends after it.
    let stop = crate::stop::on_signals()?;
    let begun = Instant::now();
    let mut runs = 0;
    while let Some(attempt) = sweep.next_attempt() {
        if stop.is_asked() {
            break;
        }
        let (done, all) = sweep.progress();
        let left = (runs > 0).then(|| begun.elapsed() / runs * (all - done) as u32);
        let cell = &experiment.cells[attempt.run.cell - 1];
        let left = left.map(|left| format!(", {} left", rough(left))).unwrap_or_default();
        output.note(&format!("{done}/{all}{left}  {attempt}  {}", experiment.describe(cell)));
        perform(arguments, &mut sweep, attempt, &stop, output)?;
        runs += 1;
    }
    let summary = Summary::of(&sweep);
    summary.write(&sweep).map_err(SweepError::from)?;
    let report = sweep.folder().join("report.html");
    write_file(&report, &render_experiment(&summary))?;
    if let Some(place) = &arguments.junit {
        write_file(place, &junit_of_experiment(&summary))?;
    }
    let (done, all) = sweep.progress();
    let finished = sweep.next_attempt().is_none();
    let again = match arguments.twice && finished {
        true => Some(twice::again(arguments, &sweep, &summary, output)?),
        false => None,
    };
    let value = json!({ "folder": sweep.folder(), "report": report, "finished": finished, "done": done, "runs": all,
        "summary": summary, "twice": again });
    let reproduced = again.as_ref().map(twice::text).unwrap_or_default();
    output.result(&value, || format!("{}{reproduced}report: {}\n", text(&summary), report.display()))?;
    if !finished {
        output.note(&format!(
            "{done} of {all} runs are done; go on by: plait run {} --resume {}",
            arguments.file.display(),
            sweep.folder().display()
        ));
    }
    let reproduced = again.is_none_or(|again| again.holds());
    Ok(if finished && summary.succeeded() && reproduced { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one attempt in a process of its own: whatever happens to it, the sweep goes on.
fn perform(
    arguments: &RunArguments,
    sweep: &mut Sweep<'_>,
    attempt: Attempt,
    stop: &Stop,
    output: &Output,
) -> Result<(), Failure> {
    let place = sweep.place(attempt);
    let mut said = String::new();
    for _ in 0..BUILDS {
        said = match child(arguments, Some(attempt.run), &place) {
            Ok(()) => String::new(),
            Err(failure) => failure.message,
        };
        if place.exists() {
            let results = sweep.note(attempt)?;
            if results.interrupted {
                output.note("  ended early: not counted");
            } else if results.verdict.word == VerdictWord::Tainted {
                output.note("  tainted: the links were not all the time as asked");
            }
            if !results.interrupted {
                let broken = results.assertions.iter().filter(|assertion| !assertion.held);
                let broken = broken.map(|assertion| format!("not so: {}", assertion.text));
                for failure in results.failures.iter().cloned().chain(broken).take(3) {
                    output.note(&format!("  FAILED: {failure}"));
                }
            }
            return Ok(());
        }
        if stop.is_asked() {
            return Ok(());
        }
    }
    Err(Failure::new(format!(
        "{attempt} could not be run: {said}\nwhat was done is kept; go on by: plait run {} --resume {}",
        arguments.file.display(),
        sweep.folder().display()
    )))
}

/// Makes a run in a process of its own. That it leaves results is a success, whatever they say.
pub fn child(arguments: &RunArguments, run: Option<RunId>, place: &Path) -> Result<(), Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("run").arg(&arguments.file).args(["--json", "--with-parent", "--output"]).arg(place);
    if let Some(RunId { cell, repeat }) = run {
        command.args(["--cell", &cell.to_string(), "--repeat", &repeat.to_string()]);
    }
    if let Some(name) = &arguments.name {
        command.args(["--name", name]);
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    if place.exists() {
        return Ok(());
    }
    let answer: serde_json::Value = serde_json::from_slice(&child.stdout).unwrap_or_default();
    Err(Failure::new(match answer["error"].as_str() {
        Some(error) => error.to_owned(),
        None => format!("{}: {}", child.status, String::from_utf8_lossy(&child.stderr).trim()),
    }))
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        let code = if matches!(error, SweepError::Results(_)) { 1 } else { 2 };
        Self { code, ..Self::new(error.to_string()) }
    }
}

/// What will be run, before it is.
fn plan(experiment: &Experiment) -> String {
    let repeats = match experiment.repeats {
        Repeats::Fixed(count) => counted(count, "repeat"),
        Repeats::Until(share) => format!(
            "{} to {} repeats, until every interval is under {} % of its mean",
            experiment.repeats.least(),
            experiment.repeats.most(),
            share * 100.0
        ),
    };
    let cells = experiment.cells.len();
    format!(
        "{} × {repeats}: {} at least",
        counted(cells, "cell"),
        counted(cells * experiment.repeats.least(), "run")
    )
}

fn dry(experiment: &Experiment, output: &Output) -> Result<ExitCode, Failure> {
    let head = std::iter::once("CELL".to_owned())
        .chain(experiment.factors.iter().map(|factor| factor.name.to_uppercase()));
    let cells = experiment.cells.iter().zip(1..);
    let rows = cells.clone().map(|(cell, number): (_, usize)| {
        std::iter::once(number.to_string())
            .chain(cell.levels.iter().map(|level| level.text.clone()))
            .collect()
    });
    let rows: Vec<Vec<String>> = std::iter::once(head.collect()).chain(rows).collect();
    let values: Vec<_> = cells
        .map(|(cell, number): (_, usize)| {
            let levels: serde_json::Map<String, serde_json::Value> = experiment
                .factors
                .iter()
                .zip(&cell.levels)
                .map(|(factor, level)| (factor.name.clone(), json!(level.text)))
                .collect();
            json!({ "cell": number, "levels": levels })
        })
        .collect();
    let value = json!({ "cells": values, "repeats": { "least": experiment.repeats.least(),
        "most": experiment.repeats.most() } });
    output.result(&value, || format!("{}{}\n", table(&rows), plan(experiment)))?;
    Ok(ExitCode::SUCCESS)
}

/// A row for each cell and metric.
fn text(summary: &Summary) -> String {
    let head = ["CELL".to_owned()]
        .into_iter()
        .chain(summary.factors.iter().map(|factor| factor.name.to_uppercase()))
        .chain(["METRIC", "MEAN", "95 % INTERVAL", "MEDIAN", "N", "TAINTED"].map(str::to_owned));
    let mut rows = vec![head.collect::<Vec<String>>()];
    for cell in &summary.cells {
        for (name, metric) in &cell.metrics {
            let value = |estimate: Option<Estimate>| estimate.map(|of| short(of.value)).unwrap_or_default();
            let interval = metric.mean.and_then(|mean| mean.interval);
            let interval = interval.map(|(low, high)| format!("{} to {}", short(low), short(high)));
            rows.push(
                [cell.cell.to_string()]
                    .into_iter()
                    .chain(cell.levels.iter().cloned())
                    .chain([
                        with_unit(name, &summary.metrics[name]),
                        value(metric.mean),
                        interval.unwrap_or_default(),
                        value(metric.median),
                        cell.valid.to_string(),
                        cell.tainted.to_string(),
                    ])
                    .collect(),
            );
        }
    }
    let attempts = counted(summary.attempts, "attempt");
    let asserted: String = summary
        .assertions
        .iter()
        .map(|assertion| {
            let word = if assertion.broken == 0 && assertion.held > 0 { "holds" } else { "DOES NOT HOLD" };
            let runs = assertion.held + assertion.broken;
            format!("{}: {word}, in {} of {runs} valid runs\n", assertion.text, assertion.held)
        })
        .collect();
    format!("{}{asserted}{attempts}, {} tainted, {} failed\n", table(&rows), summary.tainted, summary.failed)
}

/// A metric's name, and what its values are measured in.
pub fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} [{unit}]") }
}

/// Four digits and a prefix: `18.63M`.
pub fn short(value: f64) -> String {
    let (scale, prefix) = match value.abs() {
        size if size >= 1e9 => (1e9, "G"),
        size if size >= 1e6 => (1e6, "M"),
        size if size >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{:.2}{prefix}", value / scale)
}

fn rough(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds >= 5400 => format!("{:.1} h", time.as_secs_f64() / 3600.0),
        seconds if seconds >= 90 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}
