//! What a bound on latency holds: a switch that asks now and then beside many that say as much as they can.

use super::running::Running;
use super::{Asked, median};
use plait_dataplane_load::{Load, Offer, run};
use std::error::Error;
use std::time::Duration;

/// The loud ones.
const LOUD: usize = 64;
/// What the quiet one asks a second.
const ASKS: f64 = 100.0;
/// How long the loud ones go on before the quiet one comes, and after it.
const AROUND: Duration = Duration::from_secs(1);

/// What a controller is told to hold.
const BOUNDS: [Option<&str>; 3] = [None, Some("5ms"), Some("2ms")];
/// The bound that a bar is about.
const HELD: &str = "5ms";

/// What came of one bound in one round.
struct Came {
    /// What the quiet switch waited for, in milliseconds, from when its request was due.
    median: f64,
    p99: f64,
    /// Of the loud ones, answers a second.
    answered: f64,
    /// The share of answers that the controller wrote later than the bound.
    late: f64,
}

/// Measures a controller of this project by each bound, in rounds, and tells of it. The share of answers that were late by [`HELD`] in
/// the round in the middle; nothing if it fails.
///
/// Choice: one worker, so that it and the loud switches have a processor each, and the quiet one is a load of its own: in one with the
/// loud ones its answers would wait until those have been read. What counts for the bar is the controller's own account, up to when an
/// answer is in the socket. How long the load takes to look at it is printed, and is no bound's.
pub fn late(command: &str, asked: &Asked) -> f64 {
    let mut held = f64::NAN;
    for bound in BOUNDS {
        let with = bound.map_or_else(String::new, |bound| format!(" --latency-bound {bound}"));
        let command = format!("{command} --workers 1{with}");
        let measured = (0..asked.rounds).map(|_| measure(&command, bound.is_some(), asked));
        let rounds = match measured.collect::<Result<Vec<_>, _>>() {
            Ok(rounds) => rounds,
            Err(why) => {
                println!("# bound: {why}");
                return f64::NAN;
            }
        };
        let of = |figure: fn(&Came) -> f64| median(&rounds, figure);
        let late = of(|came| came.late) * 100.0;
        println!(
            "# {}: the quiet switch waits for {:.1} ms, 99 of 100 times for less than {:.1}; {:.2} % of answers are late; {LOUD} loud \
             switches {:.1} M answers/s",
            bound.map_or_else(|| "no bound".to_owned(), |bound| format!("a bound of {bound}")),
            of(|came| came.median),
            of(|came| came.p99),
            late,
            of(|came| came.answered) / 1e6,
        );
        if bound == Some(HELD) {
            held = late;
        }
    }
    held
}

fn measure(command: &str, is_bounded: bool, asked: &Asked) -> Result<Came, Box<dyn Error>> {
    let controller = Running::start(command)?;
    let load = |process, offers, duration| Load {
        versions: vec![asked.version],
        duration,
        process,
        ..Load::new(controller.address, offers)
    };
    let span = Duration::from_secs(asked.seconds);
    let loud = load(1, vec![Offer::Flood; LOUD], span + 2 * AROUND);
    let quiet = load(2, vec![Offer::Open(ASKS)], span);
    let (loud, quiet) = std::thread::scope(|scope| {
        let loud = scope.spawn(|| run(&loud));
        std::thread::sleep(AROUND);
        let quiet = run(&quiet);
        let loud = loud.join().map_err(|_| "the loud switches' load ended by a panic")?;
        Ok::<_, Box<dyn Error>>((loud?.report(), quiet?.report()))
    })?;
    let late = if is_bounded { controller.late()? } else { 0.0 };
    let milliseconds = |found: Option<f64>| found.map_or(f64::INFINITY, |found| found / 1000.0);
    let (median, p99) = (milliseconds(quiet.latency_of_all.p50), milliseconds(quiet.latency_of_all.p99));
    Ok(Came { median, p99, answered: loud.answered, late })
}
