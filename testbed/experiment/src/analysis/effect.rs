//! What each factor of a full design does to a metric, and what two do together.
//!
//! The cell means of a factorial design, with the pooled variance of the runs within cells as the error: the analysis
//! of unweighted means (Winer, Statistical Principles in Experimental Design, 5.23), which for equally many runs in
//! each cell is the usual analysis of variance.

use super::estimate::{CONFIDENCE, Estimate};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};
use std::collections::BTreeMap;

/// A cell of a design and what its runs gave.
#[derive(Debug, Clone)]
pub struct CellValues {
    /// Which level of each factor, as its position.
    pub levels: Vec<usize>,
    /// One value a run.
    pub values: Vec<f64>,
}

/// What one factor, or two together beyond what each does alone, do to a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The factors' positions: one, or two.
    pub factors: Vec<usize>,
    /// The part of all variation between runs that goes with it, from 0 to 1.
    pub share: f64,
    /// Degrees of freedom.
    pub degrees: usize,
    /// Fisher's F; absent where runs within cells do not vary or are single.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f: Option<f64>,
    /// The probability of so large an F if it did nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Of one factor: how far the mean at each level is from the mean of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Estimate>,
}

/// The effects of every factor, then of every two. None where the design is not full, or a cell has no run.
pub fn effects(cells: &[CellValues]) -> Option<Vec<Effect>> {
    let factors = cells.first()?.levels.len();
    let counts: Vec<usize> = (0..factors)
        .map(|factor| cells.iter().map(|cell| cell.levels[factor] + 1).max().unwrap_or_default())
        .collect();
    let whole = cells.len() == counts.iter().product::<usize>();
    if factors == 0 || !whole || cells.iter().any(|cell| cell.values.is_empty()) {
        return None;
    }
    let design = Design::new(cells, counts);
    let singles = (0..factors).filter(|factor| design.counts[*factor] > 1).collect::<Vec<_>>();
    let mut effects: Vec<Effect> = singles.iter().map(|factor| design.main(*factor)).collect();
    for (at, first) in singles.iter().enumerate() {
        effects.extend(singles[at + 1..].iter().map(|second| design.interaction(*first, *second)));
    }
    Some(effects)
}

struct Design<'a> {
    cells: &'a [CellValues],
    counts: Vec<usize>,
    means: Vec<f64>,
    grand: f64,
    /// The pooled variance within cells, and its degrees of freedom.
    error: Option<(f64, usize)>,
    /// Runs a cell has: their harmonic mean.
    runs: f64,
    /// All variation between runs, in the weight of cell means.
    total: f64,
}

impl<'a> Design<'a> {
    fn new(cells: &'a [CellValues], counts: Vec<usize>) -> Self {
        let means: Vec<f64> = cells.iter().map(|cell| average(&cell.values)).collect();
        let grand = average(&means);
        let within: f64 = cells
            .iter()
            .zip(&means)
            .map(|(cell, mean)| cell.values.iter().map(|value| (value - mean).powi(2)).sum::<f64>())
            .sum();
        let degrees: usize = cells.iter().map(|cell| cell.values.len() - 1).sum();
        let runs = cells.len() as f64 / cells.iter().map(|cell| 1.0 / cell.values.len() as f64).sum::<f64>();
        let between: f64 = means.iter().map(|mean| (mean - grand).powi(2)).sum::<f64>() * runs;
        Self {
            cells,
            counts,
            means,
            grand,
            error: (degrees > 0).then(|| (within / degrees as f64, degrees)),
            runs,
            total: between + within,
        }
    }

    /// The mean of cell means where some factors have some levels, by those levels.
    fn margins(&self, factors: &[usize]) -> BTreeMap<Vec<usize>, f64> {
        let mut groups: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
        for (cell, mean) in self.cells.iter().zip(&self.means) {
            groups
                .entry(factors.iter().map(|factor| cell.levels[*factor]).collect())
                .or_default()
                .push(*mean);
        }
        groups.into_iter().map(|(levels, means)| (levels, average(&means))).collect()
    }

    fn main(&self, factor: usize) -> Effect {
        let margins = self.margins(&[factor]);
        let deviations: Vec<f64> = margins.values().map(|mean| mean - self.grand).collect();
        let levels = self.counts[factor];
        let sum = deviations.iter().map(|one| one * one).sum::<f64>() * (self.cells.len() / levels) as f64;
        let level = |(at, deviation): (usize, &f64)| {
            let n: usize = self
                .cells
                .iter()
                .filter(|cell| cell.levels[factor] == at)
                .map(|cell| cell.values.len())
                .sum();
            let interval = self.error.map(|(variance, degrees)| {
                let error = (variance * self.contrast(factor, at)).sqrt();
                let student = StudentsT::new(0.0, 1.0, degrees as f64).expect("at least one degree");
                let half = student.inverse_cdf(0.5 + CONFIDENCE / 2.0) * error;
                (deviation - half, deviation + half)
            });
            Estimate { n, value: *deviation, interval }
        };
        Effect {
            levels: deviations.iter().enumerate().map(level).collect(),
            ..self.effect(vec![factor], sum, levels - 1)
        }
    }

    /// The variance of a level's deviation in units of the runs' variance: the level's mean less the mean of all is a
    /// sum of cell means, each with a weight.
    fn contrast(&self, factor: usize, level: usize) -> f64 {
        let all = 1.0 / self.cells.len() as f64;
        let own = self.counts[factor] as f64 * all;
        let weight = |cell: &CellValues| if cell.levels[factor] == level { own - all } else { -all };
        self.cells.iter().map(|cell| weight(cell).powi(2) / cell.values.len() as f64).sum()
    }

    fn interaction(&self, first: usize, second: usize) -> Effect {
        let (rows, columns) = (self.margins(&[first]), self.margins(&[second]));
        let both = self.margins(&[first, second]);
        let rest = |(levels, mean): (&Vec<usize>, &f64)| {
            let alone = rows[&levels[..1]] + columns[&levels[1..]] - self.grand;
            (mean - alone).powi(2)
        };
        let sum = both.iter().map(rest).sum::<f64>() * (self.cells.len() / both.len()) as f64;
        let degrees = (self.counts[first] - 1) * (self.counts[second] - 1);
        self.effect(vec![first, second], sum, degrees)
    }

    /// An effect from the sum of the squares of what it does to the cell means.
    fn effect(&self, factors: Vec<usize>, squares: f64, degrees: usize) -> Effect {
        let sum = squares * self.runs;
        let f = self.error.filter(|(variance, _)| *variance > 0.0).map(|(variance, error)| {
            let f = sum / degrees as f64 / variance;
            let fisher = FisherSnedecor::new(degrees as f64, error as f64).expect("degrees above nought");
            (f, fisher.sf(f))
        });
        Effect {
            factors,
            share: if self.total > 0.0 { sum / self.total } else { 0.0 },
            degrees,
            f: f.map(|(f, _)| f),
            p: f.map(|(_, p)| p),
            levels: Vec::new(),
        }
    }
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(levels: &[usize], values: &[f64]) -> CellValues {
        CellValues { levels: levels.to_vec(), values: values.to_vec() }
    }

    /// Montgomery, Design and Analysis of Experiments, table 5.1: battery life by material and temperature, four runs a
    /// cell. His table 5.5: F = 7.91, 28.97, 3.56.
    #[test]
    fn the_analysis_of_variance_is_that_in_the_book() {
        let cells = [
            cell(&[0, 0], &[130.0, 155.0, 74.0, 180.0]),
            cell(&[0, 1], &[34.0, 40.0, 80.0, 75.0]),
            cell(&[0, 2], &[20.0, 70.0, 82.0, 58.0]),
            cell(&[1, 0], &[150.0, 188.0, 159.0, 126.0]),
            cell(&[1, 1], &[136.0, 122.0, 106.0, 115.0]),
            cell(&[1, 2], &[25.0, 70.0, 58.0, 45.0]),
            cell(&[2, 0], &[138.0, 110.0, 168.0, 160.0]),
            cell(&[2, 1], &[174.0, 120.0, 150.0, 139.0]),
            cell(&[2, 2], &[96.0, 104.0, 82.0, 60.0]),
        ];
        let effects = effects(&cells).unwrap();
        let of = |factors: &[usize]| effects.iter().find(|effect| effect.factors == factors).unwrap();
        let close = |effect: &Effect, f: f64, degrees: usize| {
            assert!((effect.f.unwrap() - f).abs() < 0.005 && effect.degrees == degrees, "{effect:?}");
        };
        close(of(&[0]), 7.91, 2);
        close(of(&[1]), 28.97, 2);
        close(of(&[0, 1]), 3.56, 4);
        assert!((of(&[0, 1]).p.unwrap() - 0.0186).abs() < 0.0005);
        assert!((of(&[1]).share - 39_118.72 / 77_646.97).abs() < 1e-4);
        // The means of the materials are 83.17, 108.33 and 125.08 about 105.53; t(27) = 2.0518, the error's mean square
        // 675.21, so that a level's deviation has the half-width 2.0518 √(675.21 (1/12 − 1/36)) = 12.566.
        let first = of(&[0]).levels[0];
        let (low, high) = first.interval.unwrap();
        assert!((first.value + 22.36).abs() < 0.01 && first.n == 12, "{first:?}");
        assert!(((high - low) / 2.0 - 12.566).abs() < 0.01, "{first:?}");
    }

    #[test]
    fn a_design_that_is_not_full_has_no_such_analysis() {
        let full =
            [cell(&[0, 0], &[1.0]), cell(&[0, 1], &[2.0]), cell(&[1, 0], &[3.0]), cell(&[1, 1], &[4.0])];
        let found = effects(&full).unwrap();
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|effect| effect.f.is_none()), "single runs have no error to compare with");
        assert!((found[0].share - 0.8).abs() < 1e-9 && found[2].share.abs() < 1e-9);
        assert_eq!(effects(&full[..3]), None);
        assert_eq!(effects(&[cell(&[0], &[])]), None);
        assert_eq!(effects(&[]), None);
    }
}
