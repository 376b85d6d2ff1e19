//! Rates as people write them on maps: `10 Gbps`, `OC-192c`, `45 Mbps DS-3`.

use plait_model_quantity::Bandwidth;

/// The line rate that a label gives, when it gives exactly one.
pub(super) fn from_label(label: &str) -> Option<Bandwidth> {
    let label = label.trim().to_ascii_lowercase();
    measured(&label).or_else(|| circuit(&label))
}

/// A rate from a number and the letter of its unit, as in LinkSpeed and LinkSpeedUnits.
pub(super) fn from_parts(number: &str, unit: &str) -> Option<Bandwidth> {
    let value: f64 = number.trim().parse().ok()?;
    bits(value * scale(unit.trim().chars().next().map(|c| c.to_ascii_lowercase()))?)
}

/// A rate in bits per second, as in LinkSpeedRaw.
pub(super) fn bits(value: f64) -> Option<Bandwidth> {
    (1.0..9e18).contains(&value).then(|| Bandwidth::from_bits_per_second(libm::round(value) as u64))
}

fn scale(letter: Option<char>) -> Option<f64> {
    match letter {
        None => Some(1.0),
        Some('k') => Some(1e3),
        Some('m') => Some(1e6),
        Some('g') => Some(1e9),
        Some('t') => Some(1e12),
        _ => None,
    }
}

/// `1 Gbps`, `622Mbps`, `2.5 Gbit/s`, `10G`, with at most the name of a circuit behind.
fn measured(label: &str) -> Option<Bandwidth> {
    let end = label.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(label.len());
    let value: f64 = label[..end].parse().ok()?;
    let rest = label[end..].trim_start();
    let scale = scale(Some(rest.chars().next()?))?;
    let rest = rest[1..].trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '/').trim();
    // Two figures are no rate: `155 Mbps - 1 Gbps`, `2 x 10G`.
    if rest.is_empty() || circuit(rest).is_some() { bits(value * scale) } else { None }
}

/// Circuits by name: SONET's OC-n (ANSI T1.105) and SDH's STM-n (ITU-T G.707), and the older digital hierarchy (G.702).
fn circuit(label: &str) -> Option<Bandwidth> {
    let numbered = |prefix: &str, unit: f64| {
        let rest = label.strip_prefix(prefix)?.trim_start_matches([' ', '-']);
        let number: u32 = rest.strip_suffix('c').unwrap_or(rest).parse().ok()?;
        (1..=3072).contains(&number).then(|| f64::from(number) * unit)
    };
    let value = numbered("oc", 51_840_000.0).or_else(|| numbered("stm", 155_520_000.0)).or(match label {
        "ds-1" | "ds1" | "t1" | "t-1" => Some(1_544_000.0),
        "ds-3" | "ds3" | "t3" | "t-3" => Some(44_736_000.0),
        "e1" | "e-1" => Some(2_048_000.0),
        "e3" | "e-3" => Some(34_368_000.0),
        _ => None,
    })?;
    bits(value)
}
