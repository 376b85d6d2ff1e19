//! From values to places on a picture, with round numbers on the axis.

/// A linear scale from a range of values to a range of pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub low: f64,
    pub high: f64,
    pub from: f64,
    pub to: f64,
}

impl Scale {
    /// The place of a value.
    pub fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }
}

/// Round numbers from 0 that span up to `high`, about `wanted` of them: steps of 1, 2 or 5 times a power of ten.
pub(super) fn ticks(high: f64, wanted: usize) -> Vec<f64> {
    ticks_between(0.0, high, wanted)
}

/// The same from `low`, which is 0 or less.
pub(super) fn ticks_between(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return vec![0.0, 1.0];
    }
    let step = step(span / wanted.max(1) as f64);
    let first = (low / step + 1e-9).floor() as i64;
    let last = (high / step - 1e-9).ceil() as i64;
    (first..=last.max(first + 1)).map(|position| position as f64 * step).collect()
}

fn step(raw: f64) -> f64 {
    let magnitude = 10f64.powf(raw.log10().floor());
    let rest = raw / magnitude;
    let round = [1.0, 2.0, 5.0].into_iter().find(|round| rest <= *round * 1.0001).unwrap_or(10.0);
    round * magnitude
}

/// A tick's text: only as many decimals as its step needs.
pub(super) fn tick_text(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

/// A unit prefix that brings `high` into a readable range: the divisor and the unit's name.
pub(super) fn unit(quantity: Quantity, high: f64) -> (f64, &'static str) {
    let choices: &[(f64, &'static str)] = match quantity {
        Quantity::BitsPerSecond => &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")],
        Quantity::Bytes => &[(1048576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")],
        Quantity::Milliseconds => &[(1000.0, "s"), (1.0, "ms"), (1e-3, "µs")],
        Quantity::Segments => &[(1.0, "segments")],
        Quantity::PacketsPerSecond => &[(1.0, "packets/s")],
        Quantity::Number => &[(1.0, "")],
    };
    *choices.iter().find(|(divisor, _)| high >= 2.0 * divisor).unwrap_or(choices.last().expect("not empty"))
}

/// A divisor and the name of the unit that it leaves, for values in the unit of this name.
pub(super) fn scaled(name: &str, high: f64) -> (f64, String) {
    let quantity = match name {
        "bit/s" => Quantity::BitsPerSecond,
        "B" => Quantity::Bytes,
        "ms" => Quantity::Milliseconds,
        name => return (1.0, name.to_owned()),
    };
    let (divisor, name) = unit(quantity, high);
    (divisor, name.to_owned())
}

/// What an axis counts; values come in the unit of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    BitsPerSecond,
    Bytes,
    Milliseconds,
    Segments,
    PacketsPerSecond,
    /// Something whose unit nobody told.
    Number,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_range() {
        assert_eq!(ticks(9.4, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(0.0, 5), [0.0, 1.0]);
        assert_eq!(ticks(60.0, 6), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        for high in [1e-9, 0.3, 7.0, 1234.0, 5e11] {
            let ticks = ticks(high, 5);
            assert!(*ticks.last().unwrap() >= high * 0.999 && ticks.len() <= 8, "{high}: {ticks:?}");
        }
        assert_eq!(tick_text(0.4, 0.2), "0.4");
    }
}
