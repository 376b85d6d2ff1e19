//! Results folders: where they go, and their reports.

use crate::error::Error;
use plait_testbed_experiment::report::{render, render_experiment};
use plait_testbed_experiment::results::ResultsError;
use plait_testbed_experiment::sweep::{Summary, Sweep};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// `results/NAME-NUMBER`, the first that is free.
///
/// # Errors
/// When a hundred thousand are taken.
pub fn next_place(name: &str) -> Result<PathBuf, Error> {
    let folder = Path::new("results");
    // A run that is being written stands beside its place, under a longer name.
    let taken: BTreeSet<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .map(|name| name.split(".partial-").next().unwrap_or_default().to_owned())
        .collect();
    (1..100_000)
        .map(|number| format!("{name}-{number}"))
        .find(|name| !taken.contains(name))
        .map(|name| folder.join(name))
        .ok_or_else(|| Error::Testbed(std::io::Error::other("results/ is full: remove old results")))
}

/// Makes the report of a results folder anew, of a run or of an experiment; returns where it stands.
///
/// # Errors
/// A folder that holds no results, or an experiment that was not brought to its end.
pub fn report(folder: &Path) -> Result<PathBuf, Error> {
    let holds = |name: &str| folder.join(name).exists();
    if holds("experiment.json") && !holds("summary.json") {
        return Err(Error::Testbed(std::io::Error::other(format!(
            "the experiment in {0} was not brought to its end: go on by: plait run FILE --resume {0}",
            folder.display()
        ))));
    }
    let html = match holds("summary.json") {
        true => render_experiment(&Summary::read(folder)?),
        false => render(folder)?,
    };
    let place = folder.join("report.html");
    std::fs::write(&place, html)
        .map_err(|error| ResultsError::Write { path: place.clone(), source: error })?;
    Ok(place)
}

/// Writes what the runs of an experiment say so far, and its report.
///
/// # Errors
/// Files that cannot be written.
pub fn conclude(sweep: &Sweep<'_>) -> Result<Summary, Error> {
    let summary = Summary::of(sweep);
    summary.write(sweep)?;
    report(sweep.folder())?;
    Ok(summary)
}
