//! Something that varies, and what it takes.

use plait_model_quantity::{Bandwidth, ByteCount, Probability, TimeSpan};
use thiserror::Error;

/// Something that varies between cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// What the file calls it: `${name}` stands for its level.
    pub name: String,
    /// What it takes.
    pub levels: Levels,
}

/// What a factor takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Levels {
    /// These, in this order; at least one.
    List(Vec<Level>),
    /// Anything between two ends.
    Range(Range),
}

impl Levels {
    /// All levels of a list; those that a range was asked to have, its ends included.
    pub fn list(&self) -> Vec<Level> {
        match self {
            Self::List(levels) => levels.clone(),
            Self::Range(range) => {
                let last = (range.levels - 1).max(1) as f64;
                (0..range.levels).map(|index| range.at(index as f64 / last)).collect()
            }
        }
    }

    /// How many levels a full design takes.
    pub fn count(&self) -> usize {
        match self {
            Self::List(levels) => levels.len(),
            Self::Range(range) => range.levels,
        }
    }

    /// The level at a share of the way from the first to the last.
    pub fn at(&self, share: f64) -> Level {
        match self {
            Self::List(levels) => {
                let index = (share * levels.len() as f64) as usize;
                levels[index.min(levels.len() - 1)].clone()
            }
            Self::Range(range) => range.at(share),
        }
    }
}

/// One value of a factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// As it stands in the file: `20ms`.
    pub text: String,
    /// Its size in the base unit (nanoseconds, bits per second, bytes, a share), if it is a number or a quantity.
    pub value: Option<f64>,
}

impl Level {
    /// The level that a text stands for.
    pub fn of(text: &str) -> Self {
        Self { text: text.to_owned(), value: Unit::of(text).map(|(_, value)| value) }
    }
}

/// How the way between two ends is divided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// By equal differences.
    #[default]
    Linear,
    /// By equal ratios.
    Logarithmic,
}

/// Everything between two quantities of the same unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    unit: Unit,
    from: Level,
    to: Level,
    scale: Scale,
    levels: usize,
}

/// Why two ends make no range.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RangeError {
    /// An end that is no quantity.
    #[error("`{0}` is no number and no quantity such as `10ms`")]
    NoQuantity(String),
    /// Ends that cannot be compared.
    #[error("`{0}` and `{1}` have different units")]
    Units(String, String),
    /// A logarithm of nought.
    #[error("a logarithmic range begins above nought")]
    Logarithm,
    /// Too few.
    #[error("a range has at least two levels")]
    Levels,
}

impl Range {
    /// From one quantity to another, with so many levels in a full design.
    ///
    /// # Errors
    /// Ends that are no quantities or of different units, a logarithm of nought, fewer than two levels.
    pub fn new(from: &str, to: &str, scale: Scale, levels: usize) -> Result<Self, RangeError> {
        let end = |text: &str| Unit::of(text).ok_or_else(|| RangeError::NoQuantity(text.to_owned()));
        let ((unit, low), (other, high)) = (end(from)?, end(to)?);
        if unit != other {
            return Err(RangeError::Units(from.to_owned(), to.to_owned()));
        }
        if scale == Scale::Logarithmic && (low <= 0.0 || high <= 0.0) {
            return Err(RangeError::Logarithm);
        }
        if levels < 2 {
            return Err(RangeError::Levels);
        }
        Ok(Self { unit, from: Level::of(from), to: Level::of(to), scale, levels })
    }

    /// The level at a share of the way; the ends are as they were written.
    fn at(&self, share: f64) -> Level {
        let (Some(from), Some(to)) = (self.from.value, self.to.value) else { return self.from.clone() };
        if share <= 0.0 {
            return self.from.clone();
        }
        if share >= 1.0 {
            return self.to.clone();
        }
        let value = match self.scale {
            Scale::Linear => from + (to - from) * share,
            // libm gives the same on every machine.
            Scale::Logarithmic => libm::exp(libm::log(from) + (libm::log(to) - libm::log(from)) * share),
        };
        Level::of(&self.unit.write(value))
    }
}

/// What a level is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Time,
    Rate,
    Size,
    Share,
    Number,
}

impl Unit {
    /// The unit of a text, and its value in the base unit.
    fn of(text: &str) -> Option<(Self, f64)> {
        if let Ok(value) = text.parse::<f64>() {
            return value.is_finite().then_some((Self::Number, value));
        }
        let time = || text.parse::<TimeSpan>().ok().map(|time| (Self::Time, time.as_nanos() as f64));
        let rate = || text.parse::<Bandwidth>().ok().map(|rate| (Self::Rate, rate.bits_per_second() as f64));
        let size = || text.parse::<ByteCount>().ok().map(|size| (Self::Size, size.bytes() as f64));
        let share = || text.parse::<Probability>().ok().map(|share| (Self::Share, share.value()));
        time().or_else(rate).or_else(size).or_else(share)
    }

    /// A value as text, to four significant digits: a range's levels are read by people.
    fn write(self, value: f64) -> String {
        let rounded = four_digits(value);
        let whole = rounded.max(0.0) as u64;
        match self {
            Self::Time => TimeSpan::from_nanos(whole).to_string(),
            Self::Rate => Bandwidth::from_bits_per_second(whole).to_string(),
            Self::Size => ByteCount::new(whole).to_string(),
            Self::Share => {
                Probability::new(rounded.clamp(0.0, 1.0)).map(|share| share.to_string()).unwrap_or_default()
            }
            Self::Number => rounded.to_string(),
        }
    }
}

/// The nearest number with four significant digits, by way of its decimal form, which has no rounding of its own.
fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(range: Range) -> Vec<String> {
        Levels::Range(range).list().into_iter().map(|level| level.text).collect()
    }

    #[test]
    fn ranges_have_their_ends_and_equal_steps() {
        let levels = |from, to, scale, count| texts(Range::new(from, to, scale, count).unwrap());
        assert_eq!(levels("0ms", "200ms", Scale::Linear, 3), ["0ms", "100ms", "200ms"]);
        assert_eq!(levels("1Mbit", "100Mbit", Scale::Logarithmic, 3), ["1Mbit", "10Mbit", "100Mbit"]);
        assert_eq!(levels("0%", "2.5%", Scale::Linear, 2), ["0%", "2.5%"]);
        assert_eq!(levels("1", "4", Scale::Linear, 4), ["1", "2", "3", "4"]);
        assert_eq!(levels("64KiB", "16KiB", Scale::Linear, 2), ["64KiB", "16KiB"], "downwards too");
    }

    #[test]
    fn what_makes_no_range_says_why() {
        let why = |from, to, scale, levels| Range::new(from, to, scale, levels).unwrap_err().to_string();
        assert!(why("fast", "slow", Scale::Linear, 2).contains("`fast` is no number"));
        assert!(why("1ms", "1Mbit", Scale::Linear, 2).contains("different units"));
        assert!(why("0ms", "1s", Scale::Logarithmic, 2).contains("above nought"));
        assert!(why("0ms", "1s", Scale::Linear, 1).contains("two levels"));
    }

    #[test]
    fn a_level_knows_its_size_where_it_has_one() {
        assert_eq!(Level::of("20ms").value, Some(2e7));
        assert_eq!(Level::of("10Mbit").value, Some(1e7));
        assert_eq!(Level::of("3").value, Some(3.0));
        assert_eq!(Level::of("1%").value, Some(0.01));
        assert_eq!(Level::of("cubic").value, None);
        assert_eq!(Level::of("inf").value, None);
    }
}
