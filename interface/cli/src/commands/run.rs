//! `plait run` and `plait report`.

use crate::arguments::{ReportArguments, RunArguments};
use crate::commands::sweep::{short, sweep};
use crate::commands::twice::twice;
use crate::load::{Loaded, load};
use crate::output::{Failure, Output, Progress as Line, counted, write_file};
use plait_testbed_experiment::report::{junit_of_run, render, render_experiment};
use plait_testbed_experiment::results::{EventKind, Results};
use plait_testbed_experiment::runner::{Moment, Progress, run as run_script};
use plait_testbed_experiment::section::{Action, Script};
use plait_testbed_experiment::sweep::Summary;
use plait_testbed_experiment::testbed::RunningTestbed;
use plait_testbed_experiment::world::VerdictWord;
use plait_testbed_runtime::control::{Testbed, Traces};
use plait_testbed_runtime::kernel::process::die_with_parent;
use plait_testbed_runtime::plan::Wishes;
use plait_testbed_runtime::supervisor::{StartOptions, start};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn run(arguments: RunArguments, output: &Output) -> Result<ExitCode, Failure> {
    if arguments.with_parent {
        die_with_parent()?;
    }
    let mut loaded = load(&arguments.file)?;
    match (&loaded.experiment, arguments.cell) {
        (Some(_), None) => return sweep(&arguments, &loaded, output),
        (Some(experiment), Some(cell)) => {
            let cells = experiment.cells.len();
            if !(1..=cells).contains(&cell) {
                return Err(Failure::usage(format!(
                    "there is no cell {cell}: this experiment has 1 to {cells}"
                )));
            }
            match (arguments.resume.is_some(), arguments.twice) {
                (true, true) => return sweep(&arguments, &loaded, output),
                (true, false) => {
                    return Err(Failure::usage(
                        "`--cell` has a meaning beside `--resume` with `--twice` only",
                    ));
                }
                (false, _) => {}
            }
            let repeat = arguments.repeat.unwrap_or(1).max(1) as u64;
            let mut network = loaded.network_of(experiment, cell)?;
            // Choice: all cells of a repeat share its seed, so that they meet the same losses (common random numbers).
            network.seed = network.seed.wrapping_add(repeat - 1);
            loaded.network = network;
        }
        (None, _)
            if arguments.cell.is_some()
                || arguments.resume.is_some()
                || arguments.jobs.is_some()
                || arguments.dry =>
        {
            return Err(Failure::usage(format!(
                "{} has no `experiment:`, so there are no cells to choose from, to go on with or to run side by side",
                arguments.file.display()
            )));
        }
        (None, _) => {}
    }
    if arguments.twice {
        return twice(&arguments, &loaded, output);
    }
    let script = Script::of(&loaded.network).map_err(|faults| loaded.faulty(faults))?;
    let traces = traces(&script, &loaded)?;
    let desired = loaded.buildable(&Wishes::default(), None)?;
    let place = match arguments.output {
        Some(place) => place,
        None => next_place(&loaded.network.name)?,
    };
    if place.exists() {
        return Err(Failure::usage(format!(
            "{} is there already: choose another folder with `--output`",
            place.display()
        )));
    }
    let name = arguments.name.unwrap_or_else(|| loaded.network.name.clone());
    output.note(&format!(
        "building {name}: {}, {}",
        counted(loaded.network.nodes.len(), "node"),
        counted(loaded.network.links.len(), "link")
    ));
    let mut progress = output.progress(&format!("building {name}"));
    let options = StartOptions {
        name: name.clone(),
        file: arguments.file.display().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        desired,
        leased: true,
        live: false,
    };
    // The testbed lives as long as this line: however this command ends, it goes.
    let lease = start(options, &mut |done, total| progress.update(done, total))?;
    drop(progress);
    crate::logging();
    // Ctrl-C ends the run, not the program: what was measured until then is kept.
    let stop = crate::stop::on_signals()?;
    let world = RunningTestbed::new(Testbed::find(Some(&name))?, traces, &stop, &mut |link| {
        output.note(&format!("measuring link {link}"))
    })?;
    let named = loaded.named();
    let input = loaded.input(&named);
    let mut told = Told { output, line: output.progress("running"), until: None };
    let outcome = run_script(&world, &input, &script, &place, &stop, &mut told);
    drop(told);
    let testbed = world.into_testbed();
    let torn_down = testbed.down(&mut |_, _| {});
    drop(lease);
    let outcome = outcome.map_err(|error| Failure::new(error.to_string()))?;
    torn_down?;
    let results = &outcome.results;
    if let Some(place) = &arguments.junit {
        write_file(place, &junit_of_run(results))?;
    }
    let report = outcome.folder.join("report.html");
    let value = json!({ "folder": outcome.folder, "report": report, "passed": results.passed,
        "metrics": results.metrics, "assertions": results.assertions,
        "verdict": results.verdict, "accuracy": results.world.accuracy });
    output.result(&value, || summary(results, &report))?;
    Ok(if results.succeeded() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The traces that events name, read before anything is built.
fn traces(script: &Script, loaded: &Loaded) -> Result<Traces, Failure> {
    let mut traces = Traces::new();
    for event in &script.events {
        let Action::Set { change, .. } = &event.action else { continue };
        for path in change.traces() {
            let text = loaded.read(path).map_err(|reason| Failure {
                code: 3,
                ..Failure::new(format!("{}: an event's trace: {reason}", loaded.source.name))
            })?;
            traces.insert(path.to_owned(), text);
        }
    }
    Ok(traces)
}

/// `results/NAME-NUMBER`, the first that is free.
pub fn next_place(name: &str) -> Result<PathBuf, Failure> {
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
        .ok_or_else(|| Failure::new("results/ is full: remove old results"))
}

fn summary(results: &Results, report: &Path) -> String {
    let word = match results.verdict.word {
        VerdictWord::Valid => "valid".to_owned(),
        VerdictWord::Tainted => {
            // One reason a link, so a second may have several.
            let seconds: BTreeSet<u64> =
                results.verdict.reasons.iter().map(|reason| reason.seconds as u64).collect();
            format!("tainted in {}, see the report", counted(seconds.len(), "second"))
        }
    };
    let metrics = results.metrics.iter().filter_map(|(name, metric)| {
        Some(format!("{name}: {} {}\n", short(metric.value?), metric.unit).replace(" \n", "\n"))
    });
    let asserted = results.assertions.iter().map(|assertion| {
        format!("{}: {}\n", assertion.text, if assertion.held { "holds" } else { "DOES NOT HOLD" })
    });
    format!(
        "{}{}{}  links: {word}\nreport: {}\n",
        metrics.collect::<String>(),
        asserted.collect::<String>(),
        if results.passed { "passed" } else { "FAILED: see the commands in the report" },
        report.display()
    )
}

/// Says how a run gets on.
struct Told<'a> {
    output: &'a Output,
    line: Line,
    until: Option<f64>,
}

impl Progress for Told<'_> {
    fn moment(&mut self, at: f64, moment: Moment<'_>) {
        match moment {
            Moment::Started { until } => self.until = until,
            Moment::Passing => {
                let until = self.until.map(|until| format!(" of {until:.0}")).unwrap_or_default();
                self.line.line(&format!("running, {at:.0}{until} s"));
                return;
            }
            Moment::Waiting { what } => {
                self.line.line(&format!("running, {at:.0} s: waiting for {what}"));
                return;
            }
            _ => self.line.pause(),
        }
        let text = match moment {
            Moment::Started { .. } => format!("{at:7.2} s  loggers are on"),
            Moment::Fired(event) if event.kind == EventKind::Wait => {
                // The end moves on by as much.
                self.until = self.until.map(|until| until + event.lateness_s());
                match &event.error {
                    None => format!("{at:7.2} s  {}: {:.2} s", event.label, event.lateness_s()),
                    Some(error) => format!("{at:7.2} s  {error}: FAILED"),
                }
            }
            Moment::Fired(event) => format!("{at:7.2} s  {}", event.label),
            Moment::Ended { name, node, passed } => {
                format!("{at:7.2} s  {name} on {node} {}", if passed { "ended" } else { "FAILED" })
            }
            Moment::Collecting => format!("{at:7.2} s  collecting"),
            Moment::Stopping | Moment::Writing | Moment::Passing | Moment::Waiting { .. } => return,
        };
        self.output.note(&text);
    }
}

pub fn report(arguments: ReportArguments, output: &Output) -> Result<ExitCode, Failure> {
    let holds = |name: &str| arguments.folder.join(name).exists();
    if holds("experiment.json") && !holds("summary.json") {
        return Err(Failure::new(format!(
            "the experiment in {0} was not brought to its end: go on by: plait run FILE --resume {0}",
            arguments.folder.display()
        )));
    }
    let html = match holds("summary.json") {
        true => Summary::read(&arguments.folder).map(|summary| render_experiment(&summary)),
        false => render(&arguments.folder),
    };
    let html = html.map_err(|error| Failure::new(error.to_string()))?;
    let place = arguments.folder.join("report.html");
    write_file(&place, &html)?;
    output.result(&json!({ "report": place }), || format!("report: {}\n", place.display()))?;
    Ok(ExitCode::SUCCESS)
}
