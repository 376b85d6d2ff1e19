//! Figures of rounds, and what they are to each other.

use std::collections::BTreeMap;

/// What was measured, by quantity and way, a figure a round.
#[derive(Default)]
pub struct Rounds {
    figures: BTreeMap<(String, String), Vec<f64>>,
    order: Vec<String>,
}

/// What a bar asks.
#[derive(Clone, Copy)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// A ratio of medians, and its 90 % bootstrap interval.
#[derive(Clone, Copy)]
pub struct Ratio {
    value: f64,
    interval: (f64, f64),
}

/// Resamples of the rounds.
const RESAMPLES: usize = 2000;

impl Rounds {
    pub fn note(&mut self, what: &str, way: &str, figure: f64) {
        if !self.order.iter().any(|known| known == way) {
            self.order.push(way.to_owned());
        }
        self.figures.entry((what.to_owned(), way.to_owned())).or_default().push(figure);
    }

    /// In how many rounds a quantity was noted.
    pub fn count(&self, what: &str) -> usize {
        self.figures.iter().find(|((known, _), _)| known == what).map_or(0, |(_, figures)| figures.len())
    }

    fn of(&self, what: &str, way: &str) -> &[f64] {
        &self.figures[&(what.to_owned(), way.to_owned())]
    }

    /// Medians of all ways, with those of the first as 1, and of what they are to it the interval.
    pub fn table(&self, what: &str, unit: &str) {
        println!("# {what}, {unit}");
        println!("#   {} rounds", self.count(what));
        for way in &self.order {
            let middle = median(self.of(what, way));
            let Ratio { value, interval: (low, high) } = self.ratio(what, way, &self.order[0]);
            println!("#   {way:24} {middle:12.3}  {value:.3}  ({low:.3} to {high:.3})");
        }
    }

    /// One way over another.
    pub fn ratio(&self, what: &str, way: &str, other: &str) -> Ratio {
        let (a, b) = (self.of(what, way), self.of(what, other));
        estimate(a.len(), |pick| median(&pick(a)) / median(&pick(b)))
    }

    /// What one way adds to the bare one, over what another adds.
    pub fn added(&self, what: &str, way: &str, other: &str, bare: &str) -> Ratio {
        let [a, b, bare] = [way, other, bare].map(|way| self.of(what, way));
        estimate(a.len(), |pick| {
            let none = median(&pick(bare));
            (median(&pick(a)) - none) / (median(&pick(b)) - none)
        })
    }

    /// What a hop adds to a direct way, over what another's hop adds to its own.
    pub fn hop(&self, what: &str, way: (&str, &str), other: (&str, &str)) -> Ratio {
        let [a, a0, b, b0] = [way.0, way.1, other.0, other.1].map(|way| self.of(what, way));
        estimate(a.len(), |pick| {
            (median(&pick(a)) - median(&pick(a0))) / (median(&pick(b)) - median(&pick(b0)))
        })
    }
}

/// The value from all rounds, and the interval from resamples of them. Rounds stay together: what the machine did in one
/// met all ways.
fn estimate(rounds: usize, value: impl Fn(&dyn Fn(&[f64]) -> Vec<f64>) -> f64) -> Ratio {
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut draws: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let picked: Vec<usize> = (0..rounds)
                .map(|_| {
                    seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (seed >> 33) as usize % rounds
                })
                .collect();
            value(&|figures| picked.iter().map(|at| figures[*at]).collect())
        })
        .collect();
    draws.sort_by(f64::total_cmp);
    let interval = (draws[RESAMPLES / 20], draws[RESAMPLES - 1 - RESAMPLES / 20]);
    Ratio { value: value(&|figures| figures.to_vec()), interval }
}

impl Ratio {
    /// Says whether a bar holds, and a goal beside it.
    pub fn bar(self, name: &str, bound: Bound, goal: Option<f64>) {
        let Self { value, interval: (low, high) } = self;
        let (sign, bar, holds) = match bound {
            Bound::AtLeast(bar) => (">=", bar, value >= bar && low >= bar * 0.95),
            Bound::AtMost(bar) => ("<=", bar, value <= bar && high <= bar * 1.05),
        };
        println!("# {name}: {low:.3} to {high:.3}");
        println!("bar {name} {value:.3} x {sign} {bar} {}", if holds { "ok" } else { "short" });
        if let Some(goal) = goal {
            self.reaches(name, bound.with(goal));
        }
    }

    /// Says whether what no bar is about reaches a goal.
    pub fn goal(self, name: &str, goal: Bound) {
        let (low, high) = self.interval;
        println!("# {name}: {low:.3} to {high:.3}");
        self.reaches(name, goal);
    }

    fn reaches(self, name: &str, goal: Bound) {
        let value = self.value;
        let (sign, goal, reached) = match goal {
            Bound::AtLeast(goal) => (">=", goal, value >= goal),
            Bound::AtMost(goal) => ("<=", goal, value <= goal),
        };
        println!("goal {name} {value:.3} x {sign} {goal} {}", if reached { "ok" } else { "short" });
    }
}

impl Bound {
    /// The same of another figure.
    fn with(self, figure: f64) -> Self {
        match self {
            Self::AtLeast(_) => Self::AtLeast(figure),
            Self::AtMost(_) => Self::AtMost(figure),
        }
    }
}

/// The mean of squares of what figures differ by from their mean.
pub fn variance(figures: &[f64]) -> f64 {
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / count;
    figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / count
}

pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}
