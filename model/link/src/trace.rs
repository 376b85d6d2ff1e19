//! Trace files: rates over time, and samples of jitter.

use plait_model_quantity::{Bandwidth, TimeSpan};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A rate that changes over time. After the last step it starts again from the beginning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateTrace {
    steps: Vec<RateStep>,
    period: TimeSpan,
}

/// From `at` on, the link runs at `rate`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateStep {
    /// Time since the start of the trace.
    pub at: TimeSpan,
    /// The rate from then on. Nought means that nothing passes for a while.
    pub rate: Bandwidth,
}

/// Why a trace file was refused. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct TraceError {
    /// The line at fault; 0 if it is the whole file.
    pub line: usize,
    /// What is wrong and how to write it.
    pub reason: String,
}

impl RateTrace {
    /// Reads lines of `time rate`, such as `20ms 10Mbit`, starting at `0s` with times that grow. `#` starts a comment.
    ///
    /// Choice: the trace repeats, as mahimahi's do, and the last rate is held as long as the step before it, so a
    /// trace sampled every 100 ms keeps its beat over the seam. A trace of one line holds for ever.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut steps: Vec<RateStep> = Vec::new();
        for (line, content) in content_lines(text) {
            let fault = |reason: String| TraceError { line, reason };
            let mut words = content.split_whitespace();
            let (Some(at), Some(rate), None) = (words.next(), words.next(), words.next()) else {
                return Err(fault(format!("`{content}` is not a time and a rate: write `20ms 10Mbit`")));
            };
            let at: TimeSpan = at.parse().map_err(|error| fault(format!("{error}")))?;
            let rate: Bandwidth = rate.parse().map_err(|error| fault(format!("{error}")))?;
            match steps.last() {
                None if at != TimeSpan::ZERO => {
                    return Err(fault("the first line says the rate from `0s` on".to_owned()));
                }
                Some(last) if at <= last.at => {
                    return Err(fault(format!("{at} is not after {} of the line before", last.at)));
                }
                _ => steps.push(RateStep { at, rate }),
            }
        }
        if steps.iter().all(|step| step.rate.bits_per_second() == 0) {
            return Err(TraceError { line: 0, reason: "no line gives a rate above nought".to_owned() });
        }
        let period = match steps.as_slice() {
            [.., before, last] => last.at.as_nanos().saturating_mul(2).saturating_sub(before.at.as_nanos()),
            _ => u64::MAX,
        };
        Ok(Self { steps, period: TimeSpan::from_nanos(period) })
    }

    /// The steps, in order, the first at nought.
    pub fn steps(&self) -> &[RateStep] {
        &self.steps
    }

    /// When the trace starts again.
    pub fn period(&self) -> TimeSpan {
        self.period
    }

    /// The average rate over one period.
    pub fn mean(&self) -> Bandwidth {
        let [.., last] = self.steps.as_slice() else { unreachable!("a trace has steps") };
        if self.steps.len() == 1 {
            return last.rate;
        }
        let ends = self.steps[1..].iter().map(|step| step.at).chain([self.period]);
        let bits: u128 = self
            .steps
            .iter()
            .zip(ends)
            .map(|(step, end)| {
                u128::from(end.as_nanos() - step.at.as_nanos()) * u128::from(step.rate.bits_per_second())
            })
            .sum();
        Bandwidth::from_bits_per_second((bits / u128::from(self.period.as_nanos())) as u64)
    }

    /// The highest rate in the trace.
    pub fn fastest(&self) -> Bandwidth {
        self.steps.iter().map(|step| step.rate).max().expect("a trace has steps")
    }
}

/// Reads samples of jitter, one time a line. `#` starts a comment.
pub(crate) fn jitter_samples(text: &str) -> Result<Vec<TimeSpan>, TraceError> {
    let samples = content_lines(text)
        .map(|(line, content)| {
            content.parse().map_err(|error| TraceError { line, reason: format!("{error}") })
        })
        .collect::<Result<Vec<TimeSpan>, _>>()?;
    if samples.is_empty() {
        return Err(TraceError { line: 0, reason: "no line gives a time".to_owned() });
    }
    Ok(samples)
}

/// The lines that say something, with their numbers from 1.
fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split('#').next().unwrap_or("").trim()))
        .filter(|(_, content)| !content.is_empty())
}
