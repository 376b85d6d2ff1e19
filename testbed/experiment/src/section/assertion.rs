//! `assert`: what a run's figures must be for it to succeed.

use super::metric::Metric;
use plait_model_quantity::{Bandwidth, ByteCount, Probability, TimeSpan};
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::Spanned;

/// A metric and what it is compared with: `goodput >= 15Mbit`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    /// As it is written.
    pub text: String,
    /// The metric.
    pub metric: String,
    comparison: Comparison,
    bound: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Equal,
    NotEqual,
    AtLeast,
    More,
}

impl Assertion {
    /// Whether a value, in the metric's unit, is as asserted.
    pub fn holds(&self, value: f64) -> bool {
        match self.comparison {
            Comparison::Less => value < self.bound,
            Comparison::AtMost => value <= self.bound,
            Comparison::Equal => value == self.bound,
            Comparison::NotEqual => value != self.bound,
            Comparison::AtLeast => value >= self.bound,
            Comparison::More => value > self.bound,
        }
    }
}

/// The assertions of a network file with these metrics, or the faults in them.
pub(super) fn resolve(
    file: &[Spanned<String>],
    metrics: &[Metric],
) -> Result<Vec<Assertion>, Vec<Diagnostic>> {
    let (found, faults): (Vec<_>, Vec<_>) =
        file.iter().map(|text| one(text, metrics)).partition(Result::is_ok);
    let faults: Vec<Diagnostic> = faults.into_iter().filter_map(Result::err).collect();
    if faults.is_empty() { Ok(found.into_iter().flatten().collect()) } else { Err(faults) }
}

fn one(text: &Spanned<String>, metrics: &[Metric]) -> Result<Assertion, Diagnostic> {
    let fault = |what: String| Diagnostic::new(text.span, what);
    let words: Vec<&str> = text.split_whitespace().collect();
    let [name, comparison, bound] = words[..] else {
        return Err(fault(format!("`{}` is no assertion", text.value))
            .help("write a metric, a comparison and a value: `goodput >= 15Mbit`"));
    };
    let Some(metric) = metrics.iter().find(|metric| metric.name == name) else {
        let known = metrics.iter().map(|metric| metric.name.as_str());
        let help =
            if metrics.is_empty() { "declare it under `metrics:`".to_owned() } else { suggest(name, known) };
        return Err(fault(format!("there is no metric `{name}`")).help(help));
    };
    let comparison = match comparison {
        "<" => Comparison::Less,
        "<=" => Comparison::AtMost,
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        ">=" => Comparison::AtLeast,
        ">" => Comparison::More,
        other => {
            return Err(
                fault(format!("`{other}` is no comparison")).help("write one of <, <=, ==, !=, >=, >")
            );
        }
    };
    let bound = in_unit(bound, &metric.unit).map_err(|help| {
        fault(format!("`{bound}` cannot be compared with `{name}`, which is in {}", unit_name(&metric.unit)))
            .help(help)
    })?;
    Ok(Assertion { text: text.value.clone(), metric: name.to_owned(), comparison, bound })
}

fn unit_name(unit: &str) -> &str {
    if unit.is_empty() { "plain numbers" } else { unit }
}

/// A written bound in the unit of a metric, or how it must be written.
fn in_unit(text: &str, unit: &str) -> Result<f64, String> {
    let example = |example: &str| format!("write it with a unit, such as `{example}`");
    let time = |divisor: f64| {
        let time: TimeSpan = text.parse().map_err(|_| example("120ms"))?;
        Ok(time.as_nanos() as f64 / divisor)
    };
    match unit {
        "s" => time(1e9),
        "ms" => time(1e6),
        "us" | "µs" => time(1e3),
        "ns" => time(1.0),
        "bit/s" => {
            text.parse::<Bandwidth>().map(|rate| rate.bits_per_second() as f64).map_err(|_| example("15Mbit"))
        }
        "B" => text.parse::<ByteCount>().map(|size| size.bytes() as f64).map_err(|_| example("64KiB")),
        "%" => text.parse::<Probability>().map(|share| 100.0 * share.value()).map_err(|_| example("1%")),
        _ => {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| "write a number without a unit, or give the metric its `unit`".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_unit;

    #[test]
    fn bounds_come_in_the_unit_of_the_metric() {
        assert_eq!(in_unit("1.5s", "ms"), Ok(1500.0));
        assert_eq!(in_unit("15Mbit", "bit/s"), Ok(15e6));
        assert_eq!(in_unit("1KiB", "B"), Ok(1024.0));
        assert_eq!(in_unit("2.5%", "%"), Ok(2.5));
        assert_eq!(in_unit("3", "packets"), Ok(3.0));
        for (text, unit) in [("15", "bit/s"), ("15ms", "bit/s"), ("3ms", ""), ("inf", ""), ("1", "ms")] {
            assert!(in_unit(text, unit).is_err(), "{text} in {unit}");
        }
    }
}
