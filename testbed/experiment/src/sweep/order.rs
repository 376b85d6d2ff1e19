//! In which order runs happen.

use crate::section::Experiment;
use plait_model_topology::random::SplitMix64;
use std::fmt;
use std::str::FromStr;

/// One repeat of one cell. Both count from 1, as people do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// The cell.
    pub cell: usize,
    /// The repeat.
    pub repeat: usize,
}

/// One try at a run: `c3-r2-a1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attempt {
    /// The run.
    pub run: RunId,
    /// Which try, from 1.
    pub number: usize,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}-r{}-a{}", self.run.cell, self.run.repeat, self.number)
    }
}

impl FromStr for Attempt {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('-');
        let mut part = |letter: char| -> Result<usize, ()> {
            let digits = parts.next().and_then(|part| part.strip_prefix(letter)).ok_or(())?;
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
            if plain { digits.parse().map_err(drop) } else { Err(()) }
        };
        let attempt = Self { run: RunId { cell: part('c')?, repeat: part('r')? }, number: part('a')? };
        if parts.next().is_none() { Ok(attempt) } else { Err(()) }
    }
}

/// The runs of one repeat: every cell once, in an order drawn by lot.
///
/// Choice: complete blocks in random order (Box, Hunter and Hunter, Statistics for Experimenters, chapter 4). What
/// drifts while a night passes, such as the neighbours of a rented machine, then falls on all cells alike and on no
/// factor.
pub(super) fn block(experiment: &Experiment, repeat: usize) -> Vec<RunId> {
    let mut cells: Vec<usize> = (1..=experiment.cells.len()).collect();
    let mut random = SplitMix64::new(experiment.seed ^ (repeat as u64).rotate_left(32));
    random.shuffle(&mut cells);
    cells.into_iter().map(|cell| RunId { cell, repeat }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_written_and_read() {
        let attempt = Attempt { run: RunId { cell: 12, repeat: 3 }, number: 1 };
        assert_eq!(attempt.to_string(), "c12-r3-a1");
        assert_eq!("c12-r3-a1".parse(), Ok(attempt));
        for wrong in [
            "",
            "c1-r1",
            "c1-r1-a1-x",
            "c0-r1-a1",
            "c1-r1-a+1",
            "c01-r1-a1",
            "c1-r1-a1.partial-7",
            "x1-r1-a1",
        ] {
            assert_eq!(wrong.parse::<Attempt>(), Err(()), "{wrong}");
        }
    }
}
