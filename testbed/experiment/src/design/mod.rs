//! Which runs answer a question: factors, their levels, and the cells they make.
//!
//! A [`Factor`] is something that varies, such as a queue's size; a [`Cell`] is one choice of a level for each factor.
//! A full design has a cell for every combination; a space-filling one spreads a given number of cells evenly over the
//! ranges of its factors.

mod factor;
mod space_filling;

pub use factor::{Factor, Level, Levels, Range, RangeError, Scale};
pub use space_filling::space_filling;

/// One choice of a level for each factor, in the order of the factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The levels.
    pub levels: Vec<Level>,
}

/// Every combination of levels; the last factor changes fastest. Ranges give the levels they were asked to have.
///
/// A question without factors has one cell.
pub fn full(factors: &[Factor]) -> Vec<Cell> {
    let mut cells = vec![Cell { levels: Vec::new() }];
    for factor in factors {
        let levels = factor.levels.list();
        let extended = |cell: Cell| {
            let with = move |level: &Level| {
                let mut levels = cell.levels.clone();
                levels.push(level.clone());
                Cell { levels }
            };
            levels.iter().map(with).collect::<Vec<_>>()
        };
        cells = cells.into_iter().flat_map(extended).collect();
    }
    cells
}

/// About `count` cells, spread evenly over the ranges of the factors: the same for the same seed, everywhere. A list of
/// levels counts as a range cut into as many equal parts.
pub fn spread(factors: &[Factor], count: usize, seed: u64) -> Vec<Cell> {
    let points = space_filling(factors.len(), count, seed);
    let cell = |point: &Vec<f64>| {
        let levels = factors.iter().zip(point).map(|(factor, &share)| factor.levels.at(share)).collect();
        Cell { levels }
    };
    points.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(name: &str, levels: Levels) -> Factor {
        Factor { name: name.to_owned(), levels }
    }

    fn list(levels: &[&str]) -> Levels {
        Levels::List(levels.iter().map(|text| Level::of(text)).collect())
    }

    fn texts(cells: &[Cell]) -> Vec<Vec<&str>> {
        cells.iter().map(|cell| cell.levels.iter().map(|level| level.text.as_str()).collect()).collect()
    }

    #[test]
    fn a_full_design_has_every_combination_once_in_order() {
        let range = Levels::Range(Range::new("10ms", "30ms", Scale::Linear, 3).unwrap());
        let factors = [factor("control", list(&["cubic", "bbr"])), factor("delay", range)];
        assert_eq!(
            texts(&full(&factors)),
            [
                ["cubic", "10ms"],
                ["cubic", "20ms"],
                ["cubic", "30ms"],
                ["bbr", "10ms"],
                ["bbr", "20ms"],
                ["bbr", "30ms"]
            ]
        );
        assert_eq!(full(&[]), [Cell { levels: Vec::new() }], "no factors, one cell");
    }

    #[test]
    fn a_spread_design_stays_in_its_ranges_and_visits_every_level() {
        let range = Levels::Range(Range::new("1Mbit", "100Mbit", Scale::Logarithmic, 2).unwrap());
        let factors = [factor("control", list(&["cubic", "bbr", "reno"])), factor("rate", range)];
        let cells = spread(&factors, 30, 1);
        assert_eq!(cells, spread(&factors, 30, 1));
        assert_ne!(cells, spread(&factors, 30, 2));
        for level in ["cubic", "bbr", "reno"] {
            let visits = cells.iter().filter(|cell| cell.levels[0].text == level).count();
            assert!((7..=13).contains(&visits), "{level} in {visits} of 30");
        }
        let rates: Vec<f64> = cells.iter().map(|cell| cell.levels[1].value.unwrap()).collect();
        assert!(rates.iter().all(|rate| (1e6..=1e8).contains(rate)));
        let low = rates.iter().filter(|rate| **rate < 1e7).count();
        assert!((12..=18).contains(&low), "{low} of 30 below the geometric middle");
    }
}
