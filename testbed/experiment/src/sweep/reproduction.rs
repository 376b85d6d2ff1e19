//! One run made twice: what must be the same, and what may differ as far as repeats do.

use crate::analysis::{CONFIDENCE, prediction};
use crate::results::{PLAN, Results, ResultsError};
use crate::world::{Direction, Fates, VerdictWord};
use plait_model_link::Journal;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Places of a plan that are listed; of more, only how many there are is of interest.
const MOST_DIFFERENCES: usize = 20;

/// How far a run came out the same when it was made again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reproduction {
    /// Places where what was built differs: addresses, configurations, conditions, seeds. The first twenty.
    pub plan: Vec<Difference>,
    /// How many such places there are.
    pub plan_differences: usize,
    /// Each direction of a link in which chance decides.
    pub fates: Vec<ComparedFates>,
    /// Whether the links did in each run what was asked of them.
    pub verdicts: [VerdictWord; 2],
    /// Each metric.
    pub metrics: Vec<ComparedMetric>,
}

/// A place of the plan with two values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The way to it: `nodes.a.interfaces.eth0.addresses.0`.
    pub place: String,
    /// What the first run had there; absent where it had nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Value>,
    /// What the second had there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Value>,
}

/// What chance decided in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComparedFates {
    /// The link.
    pub link: String,
    /// The direction.
    pub direction: Direction,
    /// First packets that were compared, by their numbers.
    pub packets: u64,
    /// Whether each of them fared alike.
    pub alike: bool,
}

/// A metric of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedMetric {
    /// The metric.
    pub name: String,
    /// What it is measured in.
    pub unit: String,
    /// Its value in the first run.
    pub first: Option<f64>,
    /// And in the second.
    pub second: Option<f64>,
    /// Where repeats say that the second belongs; absent with fewer than two of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<(f64, f64)>,
    /// Whether the second is where repeats say; true where there are too few to say.
    pub inside: bool,
}

impl Reproduction {
    /// Compares two results folders. `repeats` has the values of each metric over the valid runs of the same cell.
    ///
    /// Choice: a further run is to be inside the interval of prediction, not that of the mean, which with thirty
    /// repeats holds one further run in three; and all metrics together are to be inside with 95 %, each with its
    /// share of the rest (Bonferroni).
    ///
    /// # Errors
    /// Results that cannot be read.
    pub fn read(
        first: &Path,
        second: &Path,
        repeats: &BTreeMap<String, Vec<f64>>,
    ) -> Result<Self, ResultsError> {
        let plans = [plan(first)?, plan(second)?];
        let mut differences = Vec::new();
        differ(&mut String::new(), Some(&plans[0]), Some(&plans[1]), &mut differences);
        let results = [Results::read(first)?, Results::read(second)?];
        Ok(Self {
            plan_differences: differences.len(),
            plan: differences.into_iter().take(MOST_DIFFERENCES).collect(),
            fates: fates(&results),
            verdicts: results.each_ref().map(|results| results.verdict.word),
            metrics: metrics(&results, repeats),
        })
    }

    /// Whether all that must be identical is, and every metric with repeats is where they say.
    pub fn holds(&self) -> bool {
        self.plan_differences == 0
            && self.fates.iter().all(|compared| compared.alike)
            && self.metrics.iter().all(|metric| metric.inside)
    }
}

fn plan(folder: &Path) -> Result<Value, ResultsError> {
    let path = folder.join(PLAN);
    let text = fs::read(&path).map_err(|error| {
        let older = "an older plait kept no plan: run it anew";
        let error = if error.kind() == ErrorKind::NotFound { Error::new(error.kind(), older) } else { error };
        ResultsError::read(&path, error)
    })?;
    serde_json::from_slice(&text).map_err(|error| ResultsError::read(&path, error.into()))
}

fn differ(place: &mut String, first: Option<&Value>, second: Option<&Value>, found: &mut Vec<Difference>) {
    let length = place.len();
    let mut deeper = |key: &str, first: Option<&Value>, second: Option<&Value>| {
        place.push_str(if length == 0 { "" } else { "." });
        place.push_str(key);
        differ(place, first, second, found);
        place.truncate(length);
    };
    match (first, second) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            keys.into_iter().for_each(|key| deeper(key, one.get(key), other.get(key)));
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            (0..one.len().max(other.len()))
                .for_each(|at| deeper(&at.to_string(), one.get(at), other.get(at)));
        }
        _ if first == second => {}
        _ => found.push(Difference { place: place.clone(), first: first.cloned(), second: second.cloned() }),
    }
}

/// A direction that only one run has was none in the other: no packet of theirs is common.
fn fates(results: &[Results; 2]) -> Vec<ComparedFates> {
    let key = |fates: &Fates| (fates.link.clone(), fates.direction);
    let other: BTreeMap<_, &Journal> =
        results[1].fates.iter().map(|fates| (key(fates), &fates.journal)).collect();
    let compared = results[0].fates.iter().filter_map(|fates| {
        let (packets, alike) = fates.journal.compare(other.get(&key(fates))?);
        Some(ComparedFates { link: fates.link.clone(), direction: fates.direction, packets, alike })
    });
    compared.collect()
}

fn metrics(results: &[Results; 2], repeats: &BTreeMap<String, Vec<f64>>) -> Vec<ComparedMetric> {
    let share = (1.0 - CONFIDENCE) / results[0].metrics.len().max(1) as f64;
    let one = |(name, metric): (&String, &crate::results::MetricValue)| {
        let (first, second) = (metric.value, results[1].metrics.get(name).and_then(|metric| metric.value));
        let expected = repeats.get(name).and_then(|values| prediction(values, 1.0 - share));
        let inside = match (expected, second) {
            // A counter that is the same in all repeats leaves no room but for rounding.
            (Some((low, high)), Some(value)) => {
                let room = 1e-9 * value.abs();
                (low - room..=high + room).contains(&value)
            }
            (Some(_), None) => false,
            (None, _) => true,
        };
        ComparedMetric { name: name.clone(), unit: metric.unit.clone(), first, second, expected, inside }
    };
    results[0].metrics.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_difference_is_named_by_its_place() {
        let (one, other) = (
            json!({"nodes": {"a": {"addresses": ["10.0.0.1/24"], "files": {}}}, "seed": 1}),
            json!({"nodes": {"a": {"addresses": ["10.0.0.2/24"], "files": {"/x": "y"}}}, "seed": 1}),
        );
        let mut found = Vec::new();
        differ(&mut String::new(), Some(&one), Some(&other), &mut found);
        let places: Vec<&str> = found.iter().map(|difference| difference.place.as_str()).collect();
        assert_eq!(places, ["nodes.a.addresses.0", "nodes.a.files./x"]);
        assert_eq!((&found[1].first, &found[1].second), (&None, &Some(json!("y"))));
    }
}
