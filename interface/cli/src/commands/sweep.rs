//! `plait run` of a file with `experiment:`: every cell and repeat, and what they say together.

use crate::arguments::RunArguments;
use crate::commands::perform::perform;
use crate::commands::twice;
use crate::output::{Failure, Output, counted, table, write_file};
use plait::{Checked, conclude, next_place};
use plait_testbed_experiment::analysis::Estimate;
use plait_testbed_experiment::report::junit_of_experiment;
use plait_testbed_experiment::section::{Experiment, Repeats};
use plait_testbed_experiment::sweep::{Summary, Sweep};
use serde_json::json;
use std::process::ExitCode;

pub fn sweep(arguments: &RunArguments, loaded: &Checked, output: &Output) -> Result<ExitCode, Failure> {
    let experiment = loaded.experiment().expect("the caller has looked");
    loaded.every_cell()?;
    if arguments.dry {
        return dry(experiment, output);
    }
    let named = loaded.named();
    let input = loaded.input(&named);
    let mut sweep = match (&arguments.resume, &arguments.output) {
        (Some(folder), _) => Sweep::resume(experiment, &input, folder)?,
        (None, Some(place)) => Sweep::begin(experiment, &input, place)?,
        (None, None) => Sweep::begin(experiment, &input, &next_place(&loaded.network().name)?)?,
    };
    output.note(&plan(experiment));
    output.note(&format!("results: {}", sweep.folder().display()));

    // Ctrl-C reaches the runs as well, which end and are not counted; the sweep then ends after them.
    let stop = crate::stop::on_signals()?;
    perform(arguments, &mut sweep, &stop, output)?;
    let summary = conclude(&sweep)?;
    let report = sweep.folder().join("report.html");
    if let Some(place) = &arguments.junit {
        write_file(place, &junit_of_experiment(&summary))?;
    }
    let (done, all) = sweep.progress();
    let finished = sweep.next_attempt(&[]).is_none();
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
                        metric.values.len().to_string(),
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
