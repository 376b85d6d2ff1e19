//! `plait compare`.

use crate::arguments::CompareArguments;
use crate::commands::sweep::{short, with_unit};
use crate::output::{Failure, Output, counted, table, write_file};
use plait_testbed_experiment::report::render_comparison;
use plait_testbed_experiment::sweep::{Comparison, Side};
use std::path::Path;
use std::process::ExitCode;

pub fn compare(arguments: CompareArguments, output: &Output) -> Result<ExitCode, Failure> {
    let read = |folder: &Path| Side::read(folder).map_err(|error| Failure::new(error.to_string()));
    let comparison = Comparison::of(read(&arguments.first)?, read(&arguments.second)?);
    if comparison.compared.is_empty() {
        return Err(Failure::new(format!(
            "{} and {} have no metric of the same cell in common",
            arguments.first.display(),
            arguments.second.display()
        )));
    }
    if let Some(place) = &arguments.output {
        write_file(place, &render_comparison(&comparison))?;
    }
    output.result(&serde_json::json!(comparison), || text(&comparison))?;
    Ok(ExitCode::SUCCESS)
}

/// What the two sides do not have in common: `world  testbed  simulator`.
fn differing(comparison: &Comparison) -> String {
    let [first, second] = &comparison.sides;
    let rows = first.facts.iter().filter_map(|(name, value)| {
        let other = second.facts.get(name).filter(|other| *other != value)?;
        Some(vec![(*name).to_owned(), value.clone(), other.clone()])
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() { String::new() } else { format!("{}\n", table(&rows)) }
}

fn text(comparison: &Comparison) -> String {
    let head = ["CELL", "METRIC", "FIRST", "N", "SECOND", "N", "DIFFERENCE", "95 % INTERVAL", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for row in &comparison.compared {
        let mean = |side: Option<(f64, usize)>| side.map(|(mean, _)| short(mean)).unwrap_or_default();
        let runs = |side: Option<(f64, usize)>| side.map_or(0, |(_, runs)| runs).to_string();
        let interval = row.difference.and_then(|found| found.interval);
        rows.push(vec![
            row.levels.join(" "),
            with_unit(&row.metric, &row.unit),
            mean(row.first),
            runs(row.first),
            mean(row.second),
            runs(row.second),
            row.difference.map(|found| short(found.value)).unwrap_or_default(),
            interval.map(|(low, high)| format!("{} to {}", short(low), short(high))).unwrap_or_default(),
            if row.differs() { "differ" } else { "" }.to_owned(),
        ]);
    }
    let alone = match comparison.alone.len() {
        0 => String::new(),
        count => format!("{} in one of them only\n", counted(count, "cell")),
    };
    format!("{}{}{alone}", differing(comparison), table(&rows))
}
