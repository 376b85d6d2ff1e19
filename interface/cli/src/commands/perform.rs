//! The runs of an experiment, each in a process of its own: whatever happens to one, the sweep goes on.

use crate::arguments::{RunArguments, WorldArgument};
use crate::output::{Failure, Output};
use clap::ValueEnum;
use plait_testbed_experiment::results::Results;
use plait_testbed_experiment::sweep::{Attempt, Lanes, Load, RunId, Sweep};
use plait_testbed_experiment::world::{Stop, VerdictWord};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Choice: what keeps a run from being built is tried once more, because a machine may be short of something for a
/// moment; then the sweep ends and can be gone on with.
const BUILDS: usize = 2;
/// How often the machine's load is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A run that goes on.
struct GoingOn {
    attempt: Attempt,
    /// Whether another went on at any time of it.
    had_company: bool,
}

/// Runs whatever a sweep still needs, side by side as far as [`Lanes`] allow.
pub fn perform(
    arguments: &RunArguments,
    sweep: &mut Sweep<'_>,
    stop: &Stop,
    output: &Output,
) -> Result<(), Failure> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let most = arguments.jobs.unwrap_or(1);
    let mut lanes = match arguments.world {
        WorldArgument::Testbed => Lanes::new(most, processors),
        WorldArgument::Simulated => Lanes::in_virtual_time(most, processors, arguments.threads.unwrap_or(1)),
    };
    let mut going_on: BTreeMap<usize, GoingOn> = BTreeMap::new();
    let mut failed = None;
    let (begun, mut runs) = (Instant::now(), 0);
    // Unknown of a run that was over before it could be told.
    let (mut load, mut busiest) = (Load::now(), None::<f64>);
    let (report, reports) = channel();
    thread::scope(|scope| {
        loop {
            while going_on.len() < lanes.open() && !stop.is_asked() && failed.is_none() {
                let others: Vec<RunId> = going_on.values().map(|run| run.attempt.run).collect();
                let Some(attempt) = sweep.next_attempt(&others) else { break };
                tell_begin(sweep, attempt, (begun, runs), output);
                let lane = (0..).find(|lane| !going_on.contains_key(lane)).expect("fewer runs than numbers");
                going_on.insert(lane, GoingOn { attempt, had_company: false });
                if going_on.len() > 1 {
                    going_on.values_mut().for_each(|run| run.had_company = true);
                }
                (load, busiest) = (Load::now(), None);
                let (place, name) = (sweep.place(attempt), name(arguments, sweep, lane));
                let report = report.clone();
                scope.spawn(move || {
                    let built = build(arguments, attempt, name.as_deref(), &place, stop);
                    // The receiver outlives all who send.
                    let _ = report.send((lane, built));
                });
            }
            if going_on.is_empty() {
                break;
            }
            let ended = reports.recv_timeout(LOOK);
            if let Some(busy) = load.since(processors) {
                busiest = Some(busiest.map_or(busy, |known| known.max(busy)));
            }
            let (lane, built) = match ended {
                Ok(ended) => ended,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => unreachable!("this thread holds a sender"),
            };
            let Some(GoingOn { attempt, had_company }) = going_on.remove(&lane) else { continue };
            runs += 1;
            let results = match built.and_then(|is_there| match is_there {
                true => Ok(Some(sweep.note(attempt)?)),
                false => Ok(None),
            }) {
                Ok(Some(results)) => results,
                Ok(None) => continue,
                Err(failure) => {
                    failed.get_or_insert((attempt, failure));
                    continue;
                }
            };
            tell_end(attempt, results, output);
            match (had_company, results.verdict.word) {
                (true, VerdictWord::Tainted) => lanes.tainted(),
                (true, VerdictWord::Valid) => {}
                (false, _) => {
                    busiest.into_iter().for_each(|busy| lanes.measured(busy, results.world.accuracy));
                }
            }
        }
    });
    match failed {
        None => Ok(()),
        Some((attempt, failure)) => Err(Failure::new(format!(
            "{attempt} could not be run: {}\nwhat was done is kept; go on by: plait run {} --resume {}",
            failure.message,
            arguments.file.display(),
            sweep.folder().display()
        ))),
    }
}

/// The name of a testbed in a lane; none for the one that the file gives.
fn name(arguments: &RunArguments, sweep: &Sweep<'_>, lane: usize) -> Option<String> {
    let own = arguments.name.as_deref();
    if lane == 0 {
        own.map(str::to_owned)
    } else {
        Some(format!("{}-{}", own.unwrap_or(sweep.name()), lane + 1))
    }
}

/// Makes a run, again if it cannot be built. False when the user ended it before it left anything.
fn build(
    arguments: &RunArguments,
    attempt: Attempt,
    name: Option<&str>,
    place: &Path,
    stop: &Stop,
) -> Result<bool, Failure> {
    let mut built = Ok(());
    for _ in 0..BUILDS {
        built = child(arguments, Some(attempt.run), name, place);
        if built.is_ok() || stop.is_asked() {
            return Ok(built.is_ok());
        }
    }
    built.map(|()| true)
}

fn tell_begin(sweep: &Sweep<'_>, attempt: Attempt, (begun, runs): (Instant, u32), output: &Output) {
    let (done, all) = sweep.progress();
    let left = (runs > 0).then(|| begun.elapsed() / runs * (all - done) as u32);
    let left = left.map(|left| format!(", {} left", rough(left))).unwrap_or_default();
    output.note(&format!("{done}/{all}{left}  {attempt}  {}", sweep.describe(attempt.run)));
}

fn tell_end(attempt: Attempt, results: &Results, output: &Output) {
    if results.interrupted {
        output.note(&format!("  {attempt} ended early: not counted"));
        return;
    }
    if results.verdict.word == VerdictWord::Tainted {
        output.note(&format!("  {attempt} tainted: the links were not all the time as asked"));
    }
    for failure in results.complaints().into_iter().take(3) {
        output.note(&format!("  {attempt} FAILED: {failure}"));
    }
}

/// Makes a run in a process of its own. That it leaves results is a success, whatever they say.
pub fn child(
    arguments: &RunArguments,
    run: Option<RunId>,
    name: Option<&str>,
    place: &Path,
) -> Result<(), Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("run").arg(&arguments.file).args(["--json", "--with-parent", "--output"]).arg(place);
    if let Some(RunId { cell, repeat }) = run {
        command.args(["--cell", &cell.to_string(), "--repeat", &repeat.to_string()]);
    }
    if let Some(name) = name {
        command.args(["--name", name]);
    }
    if arguments.world == WorldArgument::Simulated {
        command.args(["--world", "simulated"]);
    }
    if let Some(awake) = arguments.awake.and_then(|awake| awake.to_possible_value()) {
        command.args(["--awake", awake.get_name()]);
    }
    if arguments.leave_out {
        command.arg("--leave-out");
    }
    if let Some(threads) = arguments.threads {
        command.args(["--threads", &threads.to_string()]);
    }
    for port in &arguments.capture {
        command.args(["--capture", port]);
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

fn rough(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds >= 5400 => format!("{:.1} h", time.as_secs_f64() / 3600.0),
        seconds if seconds >= 90 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}
