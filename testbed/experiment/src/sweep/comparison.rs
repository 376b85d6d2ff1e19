//! Two results side by side: cells of the same levels, metrics of the same name.

use super::summary::Summary;
use crate::analysis::{Estimate, difference};
use crate::results::{Results, ResultsError};
use crate::world::VerdictWord;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What can be compared: an experiment, or a single run, which is one cell of one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// What it is called.
    pub name: String,
    /// Where it came from: version, world, kernel, file, seed.
    pub facts: BTreeMap<&'static str, String>,
    #[serde(skip)]
    cells: BTreeMap<Vec<String>, Metrics>,
}

/// Unit and values of valid runs, by metric.
type Metrics = BTreeMap<String, (String, Vec<f64>)>;

impl Side {
    /// Reads a results folder, of a run or of an experiment.
    ///
    /// # Errors
    /// A folder that is neither, or of a newer format.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        match folder.join("summary.json").exists() {
            true => Summary::read(folder).map(Self::of_experiment),
            false => Results::read(folder).map(|results| Self::of_run(&results)),
        }
    }

    fn of_experiment(summary: Summary) -> Self {
        let mut cells: BTreeMap<Vec<String>, Metrics> = BTreeMap::new();
        for cell in &summary.cells {
            let levels = summary.factors.iter().zip(&cell.levels);
            let levels = levels.map(|(factor, level)| format!("{}={level}", factor.name)).collect();
            let unit = |name: &String| summary.metrics.get(name).cloned().unwrap_or_default();
            // A space-filling design may have several cells of the same levels.
            let known = cells.entry(levels).or_default();
            for (name, metric) in &cell.metrics {
                let (_, values) = known.entry(name.clone()).or_insert_with(|| (unit(name), Vec::new()));
                values.extend_from_slice(&metric.values);
            }
        }
        let kernel = summary.machine.as_ref().map(|machine| machine.kernel.clone()).unwrap_or_default();
        Self {
            facts: facts(
                &summary.plait,
                summary.world.unwrap_or_default(),
                kernel,
                &summary.sha256,
                summary.seed,
            ),
            name: summary.name,
            cells,
        }
    }

    fn of_run(results: &Results) -> Self {
        let valid = results.verdict.word == VerdictWord::Valid;
        let values = |value: Option<f64>| value.filter(|_| valid).into_iter().collect();
        let metrics = results.metrics.iter();
        let metrics =
            metrics.map(|(name, metric)| (name.clone(), (metric.unit.clone(), values(metric.value))));
        let network = &results.network;
        Self {
            name: network.name.clone(),
            facts: facts(
                &results.plait,
                results.world.kind.clone(),
                results.machine.kernel.clone(),
                &network.sha256,
                network.seed,
            ),
            cells: BTreeMap::from([(Vec::new(), metrics.collect())]),
        }
    }
}

fn facts(
    plait: &str,
    world: String,
    kernel: String,
    sha256: &str,
    seed: u64,
) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("plait", plait.to_owned()),
        ("world", world),
        ("kernel", kernel),
        ("file", sha256.chars().take(12).collect()),
        ("seed", seed.to_string()),
    ])
}

/// A metric of a cell that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The levels, as `factor=level`.
    pub levels: Vec<String>,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The mean of the first side's valid runs, and how many these are.
    pub first: Option<(f64, usize)>,
    /// The same of the second.
    pub second: Option<(f64, usize)>,
    /// The second less the first, with Welch's interval.
    pub difference: Option<Estimate>,
}

impl Compared {
    /// Whether the interval of the difference leaves nought out: they differ.
    pub fn differs(&self) -> bool {
        self.difference.and_then(|found| found.interval).is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

/// Two sides, and what they have in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The two.
    pub sides: [Side; 2],
    /// What both have.
    pub compared: Vec<Compared>,
    /// Cells that only one has, with its number.
    pub alone: Vec<(usize, Vec<String>)>,
}

impl Comparison {
    /// Sets two side by side.
    pub fn of(first: Side, second: Side) -> Self {
        let mut compared = Vec::new();
        let mut alone = Vec::new();
        for (levels, metrics) in &first.cells {
            match second.cells.get(levels) {
                Some(others) => compared.extend(in_common(levels, metrics, others)),
                None => alone.push((1, levels.clone())),
            }
        }
        let only_second = second.cells.keys().filter(|levels| !first.cells.contains_key(*levels));
        alone.extend(only_second.map(|levels| (2, levels.clone())));
        Self { sides: [first, second], compared, alone }
    }
}

fn in_common(levels: &[String], first: &Metrics, second: &Metrics) -> Vec<Compared> {
    let mean = |values: &[f64]| {
        let n = values.len();
        (n > 0).then(|| (values.iter().sum::<f64>() / n as f64, n))
    };
    let row = |(name, (unit, values)): (&String, &(String, Vec<f64>))| {
        let (_, others) = second.get(name)?;
        Some(Compared {
            levels: levels.to_vec(),
            metric: name.clone(),
            unit: unit.clone(),
            first: mean(values),
            second: mean(others),
            difference: difference(values, others),
        })
    };
    first.iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_the_same_levels_are_compared_as_one() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/experiment-1");
        let mut summary = Summary::read(&golden).unwrap();
        let count = |side: &Side| -> usize {
            side.cells.values().flat_map(BTreeMap::values).map(|(_, values)| values.len()).sum()
        };
        let once = count(&Side::of_experiment(summary.clone()));
        let doubled: Vec<_> = summary.cells.clone();
        summary.cells.extend(doubled);
        let side = Side::of_experiment(summary);
        assert_eq!((side.cells.len(), count(&side)), (2, 2 * once));
        assert!(once > 0);
    }
}
