//! What the links were measured to do, and what the engine says of a run, in the results' words.

use crate::world::{Direction, Fates, Reason, Verdict, VerdictWord, Verification};
use plait_model_link::Journal;
use plait_model_quantity::TimeSpan;
use serde_json::Value;
use std::time::Duration;

/// The measurements of one link, as [`plait_testbed_runtime::control::Testbed::check_link`] gives them, in the results'
/// units.
pub fn verified(link: &str, checked: &Value) -> Vec<Verification> {
    let mut found = Vec::new();
    for (direction, side) in [Direction::Forward, Direction::Reverse].into_iter().zip(0..) {
        for measured in checked["directions"][side]["measured"].as_array().into_iter().flatten() {
            let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
            let (unit, scale) = match measured["unit"].as_str() {
                Some("ns") => ("ms", 1e-6),
                Some("bit/s") => ("Mbit/s", 1e-6),
                _ => ("%", 100.0),
            };
            let property = measured["quantity"].as_str().unwrap_or_default().to_owned();
            // The longest wait of one overload is a single observation, so the queue has no interval.
            let half = (number(&measured["interval"][1]) - number(&measured["interval"][0])) / 2.0;
            found.push(Verification {
                link: link.to_owned(),
                direction,
                unit: unit.to_owned(),
                asked: number(&measured["asked"]) * scale,
                got: number(&measured["got"]) * scale,
                interval: (property != "queue").then_some(half * scale),
                property,
                samples: measured["samples"].as_u64().unwrap_or(0),
                holds: measured["within"] == true,
            });
        }
    }
    found
}

/// The verdict on a run that began at `since`, from the engine's report; none where the testbed could not be asked.
pub(super) fn verdict(report: Option<&Value>, since: Duration) -> Verdict {
    let Some(report) = report else {
        let why = "the testbed ended before it could be asked".to_owned();
        return Verdict {
            word: VerdictWord::Tainted,
            reasons: vec![Reason { seconds: 0.0, link: None, why }],
        };
    };
    let started = report["engine_started_ns"].as_u64().unwrap_or(0) as f64 / 1e9;
    let mut reasons = Vec::new();
    for tainted in report["tainted"].as_array().into_iter().flatten() {
        let second = started + tainted["second"].as_f64().unwrap_or(0.0) - since.as_secs_f64();
        // A second that was over before the run began is no matter of the run's.
        if second < -1.0 {
            continue;
        }
        let why = why_tainted(tainted);
        for link in tainted["links"].as_array().into_iter().flatten() {
            let link = link.as_str().map(str::to_owned);
            reasons.push(Reason { seconds: second.max(0.0), link, why: why.clone() });
        }
    }
    let word = if reasons.is_empty() { VerdictWord::Valid } else { VerdictWord::Tainted };
    Verdict { word, reasons }
}

/// What chance decided, from the engine's report: links without chance are left out.
pub(super) fn fates(report: &Value) -> Vec<Fates> {
    let mut found = Vec::new();
    for link in report["links"].as_array().into_iter().flatten() {
        let ways = link["fates"].as_array().into_iter().flatten();
        for (direction, journal) in [Direction::Forward, Direction::Reverse].into_iter().zip(ways) {
            let journal: Journal = serde_json::from_value(journal.clone()).unwrap_or_default();
            if !journal.digests.is_empty() {
                let link = link["name"].as_str().unwrap_or_default().to_owned();
                found.push(Fates { link, direction, journal });
            }
        }
    }
    found
}

/// What went wrong in a second that the engine calls tainted.
fn why_tainted(second: &Value) -> String {
    let count = |key: &str| second[key].as_u64().unwrap_or(0);
    let latest: TimeSpan =
        second["latest"].as_str().and_then(|text| text.parse().ok()).unwrap_or(TimeSpan::ZERO);
    let mut reasons = Vec::new();
    if count("late") > 0 {
        reasons.push(format!(
            "{} of {} packets left more than 1 ms late, one {:.1} ms",
            count("late"),
            count("packets"),
            latest.as_nanos() as f64 / 1e6
        ));
    }
    if count("dropped") > 0 {
        reasons.push(format!("{} packets were dropped outside the model", count("dropped")));
    }
    reasons.join("; ")
}
