//! `plait run` and `plait report`.

use crate::arguments::{ReportArguments, RunArguments, WorldArgument};
use crate::commands::sweep::{short, sweep};
use crate::commands::twice::twice;
use crate::load::{load, portable, testbed};
use crate::output::{Failure, Output, Progress as Line, counted, write_file};
use plait::{Checked, Course, KeepAwake, Moment, Results, VerdictWord, next_place, report as make_report};
use plait_simulator_world::is_link_end;
use plait_testbed_experiment::report::junit_of_run;
use plait_testbed_experiment::results::EventKind;
use plait_testbed_experiment::runner::Progress;
use plait_testbed_experiment::section::Script;
use plait_testbed_runtime::kernel::process::die_with_parent;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

pub fn run(arguments: RunArguments, output: &Output) -> Result<ExitCode, Failure> {
    if arguments.with_parent {
        die_with_parent()?;
    }
    let mut loaded = load(&arguments.file)?;
    let simulated = arguments.world == WorldArgument::Simulated;
    if simulated && !arguments.leave_out {
        portable(&loaded, arguments.cell).map_err(|failure| Failure {
            message: format!(
                "{}\n\nto run the rest in virtual time, add `--leave-out`: the report lists what was left out",
                failure.message
            ),
            ..failure
        })?;
    }
    if arguments.leave_out && !simulated {
        let text = "`--leave-out` leaves out what cannot run in virtual time: add `--world simulated`";
        return Err(Failure::usage(text));
    }
    if arguments.threads.is_some() && !simulated {
        let text = "`--threads` are those of virtual time: add `--world simulated`, or leave them out";
        return Err(Failure::usage(text));
    }
    if arguments.awake.is_some() && simulated {
        let text =
            "`--awake` is of this machine's processors, which virtual time does not wait for: leave it out";
        return Err(Failure::usage(text));
    }
    // Before anything is made.
    added_captures(&loaded, &arguments)?;
    match (loaded.experiment(), arguments.cell) {
        (Some(_), None) => return sweep(&arguments, &loaded, output),
        (Some(_), Some(cell)) => {
            let in_cell = loaded.in_cell(cell, arguments.repeat.unwrap_or(1))?;
            match (arguments.resume.is_some(), arguments.twice) {
                (true, true) => return sweep(&arguments, &loaded, output),
                (true, false) => {
                    return Err(Failure::usage(
                        "beside `--resume`, `--cell` says which cell `--twice` makes again: add that, or leave `--cell` out",
                    ));
                }
                (false, _) => loaded = in_cell,
            }
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
    let script = added_captures(&loaded, &arguments)?;
    let traces = loaded.traces(&script)?;
    // A testbed that cannot be leaves no folder behind.
    let ready = match simulated {
        true => None,
        false => Some(testbed(&loaded, arguments.name).ready()?),
    };
    let place = match arguments.output {
        Some(place) => place,
        None => next_place(&loaded.network().name)?,
    };
    if place.exists() {
        return Err(Failure::usage(format!(
            "{} is there already: choose another folder with `--output`",
            place.display()
        )));
    }
    let testbed = match ready {
        None => None,
        Some(ready) => {
            let name = ready.name().to_owned();
            output.note(&format!(
                "building {name}: {}, {}",
                counted(loaded.network().nodes.len(), "node"),
                counted(loaded.network().links.len(), "link")
            ));
            let mut progress = output.progress(&format!("building {name}"));
            // The testbed lives as long as its handle: however this command ends, it goes.
            Some(ready.start(&mut |done, total| progress.update(done, total))?)
        }
    };
    crate::logging();
    // Ctrl-C ends the run, not the program: what was measured until then is kept.
    let stop = crate::stop::on_signals()?;
    let awake = arguments.awake.map_or(KeepAwake::Auto, KeepAwake::from);
    let course = Course { script, traces, place: &place, awake, stop: &stop };
    let mut told = Told { output, line: output.progress("running"), until: None };
    let mut measuring = |link: &str| output.note(&format!("measuring link {link}"));
    let outcome = match testbed {
        Some(testbed) => loaded.carry_out(testbed, course, &mut measuring, &mut told)?,
        None => loaded.simulate(course, arguments.threads.unwrap_or(1), &mut told)?,
    };
    drop(told);
    let results = &outcome.results;
    if let Some(place) = &arguments.junit {
        write_file(place, &junit_of_run(results))?;
    }
    let report = outcome.folder.join("report.html");
    let value = json!({ "folder": outcome.folder, "report": report, "passed": results.passed,
        "metrics": results.metrics, "assertions": results.assertions,
        "verdict": results.verdict, "accuracy": results.world.accuracy, "left_out": results.world.left_out });
    output.result(&value, || summary(results, &report))?;
    Ok(if results.succeeded() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The script of a file, with the captures that were asked for beside it.
fn added_captures(loaded: &Checked, arguments: &RunArguments) -> Result<Script, Failure> {
    let mut script = loaded.script()?;
    for port in &arguments.capture {
        script.add_capture(port, loaded.network()).map_err(Failure::usage)?;
    }
    let is_there = |port: &&String| {
        port.split_once(':').is_some_and(|(node, interface)| is_link_end(loaded.network(), node, interface))
    };
    if arguments.world == WorldArgument::Simulated
        && let Some(port) = arguments.capture.iter().find(|port| !is_there(port))
    {
        return Err(Failure::usage(format!("nobody has `{port}` in virtual time: name an end of a link")));
    }
    Ok(script)
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
            Moment::Stopping | Moment::Writing => return self.line.pause(),
            Moment::Fired(event) if event.kind == EventKind::Wait => {
                // The end moves on by as much.
                self.until = self.until.map(|until| until + event.lateness_s());
            }
            _ => {}
        }
        self.line.pause();
        self.output.note(&format!("{at:7.2} s  {moment}"));
    }
}

pub fn report(arguments: ReportArguments, output: &Output) -> Result<ExitCode, Failure> {
    let place = make_report(&arguments.folder)?;
    output.result(&json!({ "report": place }), || format!("report: {}\n", place.display()))?;
    Ok(ExitCode::SUCCESS)
}
