//! `plait run --twice`: a run is made again, and what should have come out the same is compared.

use crate::arguments::RunArguments;
use crate::commands::perform::child;
use crate::commands::sweep::{short, with_unit};
use crate::output::{Failure, Output, counted, table, write_file};
use plait::{Checked, next_place};
use plait_testbed_experiment::report::junit_of_runs;
use plait_testbed_experiment::results::Results;
use plait_testbed_experiment::sweep::{
    CellSummary, ComparedMetric, MOST_ATTEMPTS, Reproduction, RunId, Summary, Sweep,
};
use plait_testbed_experiment::world::VerdictWord;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Makes one run twice: that of a file without factors, or of one of its cells.
pub fn twice(arguments: &RunArguments, loaded: &Checked, output: &Output) -> Result<ExitCode, Failure> {
    let folder = match &arguments.output {
        Some(folder) => folder.clone(),
        None => next_place(&loaded.network().name)?,
    };
    let run = arguments.cell.map(|cell| RunId { cell, repeat: arguments.repeat.unwrap_or(1) });
    let places = ["first", "second"].map(|name| folder.join(name));
    if let Some(place) = places.iter().find(|place| place.exists()) {
        return Err(Failure::usage(format!(
            "{} is there already: choose another folder with `--output`",
            place.display()
        )));
    }
    for (place, word) in places.iter().zip(["once", "twice"]) {
        output.note(&format!("running {word}: {}", place.display()));
        child(arguments, run, arguments.name.as_deref(), place)?;
    }
    let reproduction = compare(&folder, [&places[0], &places[1]], &BTreeMap::new())?;
    let read = |place: &PathBuf| Results::read(place).map_err(|error| Failure::new(error.to_string()));
    let results = [read(&places[0])?, read(&places[1])?];
    if let Some(place) = &arguments.junit {
        write_file(place, &junit_of_runs(&[("first", &results[0]), ("second", &results[1])]))?;
    }
    for (results, word) in results.iter().zip(["first", "second"]) {
        for failure in results.complaints() {
            output.note(&format!("the {word} run FAILED: {failure}"));
        }
    }
    output.result(&serde_json::json!({ "folder": folder, "twice": reproduction }), || text(&reproduction))?;
    let succeeded = results.iter().all(Results::succeeded);
    Ok(if succeeded && reproduction.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes the first repeat of a cell again after its experiment.
pub fn again(
    arguments: &RunArguments,
    sweep: &Sweep<'_>,
    summary: &Summary,
    output: &Output,
) -> Result<Reproduction, Failure> {
    let cell = arguments.cell.unwrap_or(1);
    let known = summary.runs.iter().find(|run| (run.cell, run.repeat, run.counts) == (cell, 1, true));
    let known = known.ok_or_else(|| {
        Failure::new(format!(
            "no run of cell {cell} counts, so none can be made again: choose another by `--cell`"
        ))
    })?;
    let place = sweep.folder().join("twice").join(&known.run);
    let first = sweep.folder().join("runs").join(&known.run);
    let values = |cell: &CellSummary| {
        cell.metrics.iter().map(|(name, metric)| (name.clone(), metric.values.clone())).collect()
    };
    let repeats = summary.cells.iter().find(|known| known.cell == cell).map(values).unwrap_or_default();
    let mut tries = 0;
    loop {
        tries += 1;
        // What stands there is tainted, or of an earlier time that it was asked for.
        if place.exists() {
            std::fs::remove_dir_all(&place)?;
        }
        output.note(&format!("running {} again: {}", known.run, place.display()));
        child(arguments, Some(RunId { cell, repeat: 1 }), arguments.name.as_deref(), &place)?;
        let reproduction = compare(sweep.folder(), [&first, &place], &repeats)?;
        if reproduction.verdicts[1] == VerdictWord::Valid || tries == MOST_ATTEMPTS {
            return Ok(reproduction);
        }
        output.note("  tainted: the links were not all the time as asked");
    }
}

fn compare(
    folder: &Path,
    places: [&Path; 2],
    repeats: &BTreeMap<String, Vec<f64>>,
) -> Result<Reproduction, Failure> {
    let reproduction =
        Reproduction::read(places[0], places[1], repeats).map_err(|error| Failure::new(error.to_string()))?;
    let json = serde_json::to_string_pretty(&reproduction).expect("figures and texts can be written");
    write_file(&folder.join("twice.json"), &(json + "\n"))?;
    Ok(reproduction)
}

/// What was the same, and each thing that was not.
pub fn text(reproduction: &Reproduction) -> String {
    let mut text = match reproduction.plan_differences {
        0 => "plan, addresses, configurations and seeds: identical\n".to_owned(),
        count => {
            let places = reproduction.plan.iter().map(|difference| {
                let value = |value: &Option<serde_json::Value>| {
                    value.as_ref().map_or("nothing".to_owned(), ToString::to_string)
                };
                let (first, second) = (value(&difference.first), value(&difference.second));
                format!("  {}: {first}, then {second}\n", difference.place)
            });
            format!(
                "DIFFERS at {} of what was built:\n{}",
                counted(count, "place"),
                places.collect::<String>()
            )
        }
    };
    for fates in &reproduction.fates {
        let direction = format!("{:?}", fates.direction).to_lowercase();
        let packets = counted(fates.packets as usize, "packet");
        let word = if fates.alike { "identical" } else { "DIFFER" };
        text += &format!("fates on {}, {direction}, first {packets}: {word}\n", fates.link);
    }
    for (word, run) in reproduction.verdicts.iter().zip(["first", "second"]) {
        if *word == VerdictWord::Tainted {
            text += &format!(
                "the links of the {run} run were not all the time as asked: its figures say little\n"
            );
        }
    }
    let mut rows = vec![["METRIC", "FIRST", "SECOND", "EXPECTED", ""].map(str::to_owned).to_vec()];
    rows.extend(reproduction.metrics.iter().map(row));
    if rows.len() > 1 {
        text += &table(&rows);
    }
    text
}

fn row(metric: &ComparedMetric) -> Vec<String> {
    let value = |value: Option<f64>| value.map_or("none".to_owned(), short);
    let expected = metric.expected.map(|(low, high)| format!("{} to {}", short(low), short(high)));
    let word = match (&expected, metric.inside) {
        (None, _) => "no repeats to say",
        (Some(_), true) => "inside",
        (Some(_), false) => "OUTSIDE",
    };
    vec![
        with_unit(&metric.name, &metric.unit),
        value(metric.first),
        value(metric.second),
        expected.unwrap_or_default(),
        word.to_owned(),
    ]
}
