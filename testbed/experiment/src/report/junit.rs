//! Runs as a JUnit file, which CI servers read.
//!
//! Each run that counts is a test case, and each assertion of it another: failed where it does not hold, skipped where
//! the run was tainted and proves nothing.

use super::text::escape;
use crate::results::Results;
use crate::sweep::{RunSummary, Summary};
use crate::world::VerdictWord;

/// One run as a JUnit file.
pub fn junit_of_run(results: &Results) -> String {
    junit_of_runs(&[("run", results)])
}

/// Runs of one file as a JUnit file, by what they are called there.
pub fn junit_of_runs(runs: &[(&str, &Results)]) -> String {
    let name = runs.first().map_or("", |(_, results)| &results.network.name);
    let runs: Vec<RunSummary> = runs.iter().map(|(name, results)| alone(name, results)).collect();
    suite(name, &runs.iter().map(|run| (String::new(), run)).collect::<Vec<_>>())
}

/// A run that is of no experiment.
fn alone(name: &str, results: &Results) -> RunSummary {
    RunSummary {
        run: name.to_owned(),
        cell: 1,
        repeat: 1,
        attempt: 1,
        verdict: results.verdict.word,
        passed: results.passed,
        interrupted: results.interrupted,
        counts: true,
        duration_s: results.duration_s,
        metrics: Default::default(),
        failures: results.failures.clone(),
        assertions: results.assertions.clone(),
    }
}

/// The runs of an experiment as a JUnit file.
pub fn junit_of_experiment(summary: &Summary) -> String {
    let describe = |run: &RunSummary| {
        let levels = summary.factors.iter().zip(&summary.cells[run.cell - 1].levels);
        levels.map(|(factor, level)| format!(" {}={level}", factor.name)).collect::<String>()
    };
    let counting = summary.runs.iter().filter(|run| run.counts);
    suite(&summary.name, &counting.map(|run| (describe(run), run)).collect::<Vec<_>>())
}

fn suite(name: &str, runs: &[(String, &RunSummary)]) -> String {
    let mut cases = String::new();
    let (mut tests, mut failures, mut skipped) = (0, 0, 0);
    let mut case = |title: &str, seconds: f64, inside: &str| {
        tests += 1;
        failures += usize::from(inside.starts_with("<failure"));
        skipped += usize::from(inside.starts_with("<skipped"));
        let head = format!(
            "  <testcase classname=\"{}\" name=\"{}\" time=\"{seconds:.3}\"",
            escape(name),
            escape(title)
        );
        let end = if inside.is_empty() { "/>\n".to_owned() } else { format!(">{inside}</testcase>\n") };
        cases.push_str(&(head + &end));
    };
    for (levels, run) in runs {
        let inside = if run.passed { String::new() } else { failure(&run.failures) };
        case(&format!("{}{levels}", run.run), run.duration_s, &inside);
        for assertion in &run.assertions {
            let inside = match (run.verdict, assertion.held) {
                (VerdictWord::Tainted, _) => {
                    "<skipped message=\"links were not as asked, so this run proves nothing\"/>".to_owned()
                }
                (VerdictWord::Valid, true) => String::new(),
                (VerdictWord::Valid, false) => failure(&[format!("not so: {}", assertion.text)]),
            };
            case(&format!("{}{levels}: {}", run.run, assertion.text), 0.0, &inside);
        }
    }
    let seconds: f64 = runs.iter().map(|(_, run)| run.duration_s).sum();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{seconds:.3}\">\n{cases}</testsuite>\n</testsuites>\n",
        escape(name)
    )
}

fn failure(why: &[String]) -> String {
    let first = why.first().map_or("did not go as written", String::as_str);
    format!("<failure message=\"{}\">{}</failure>", escape(first), escape(&why.join("\n")))
}
