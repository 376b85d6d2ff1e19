//! Text for people: escaped, shortened, numbers with sensible digits.

/// Text as it may stand in HTML and SVG, inside elements and quoted attributes. Control characters, which browsers and
/// terminals read in ways of their own, become `␀`-like pictures.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            '\u{0}'..='\u{1f}' => escaped.push(char::from_u32(0x2400 + character as u32).unwrap_or('�')),
            '\u{7f}'..='\u{9f}' => escaped.push('�'),
            // Marks that turn the direction of text could make a page read otherwise than it is.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => escaped.push('�'),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// A number with three significant digits, and no more zeros than needed.
pub(super) fn short(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    let decimals = match size {
        _ if size == 0.0 || size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ if size >= 0.1 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.replace('-', "−") }
}

/// A byte count with a binary prefix.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(value), UNITS[unit])
}

/// A rate in bits per second with a decimal prefix.
pub(super) fn rate(bits_per_second: f64) -> String {
    let (divisor, unit) = match bits_per_second.abs() {
        size if size >= 1e9 => (1e9, "Gbit/s"),
        size if size >= 1e6 => (1e6, "Mbit/s"),
        size if size >= 1e3 => (1e3, "kbit/s"),
        _ => (1.0, "bit/s"),
    };
    format!("{} {unit}", short(bits_per_second / divisor))
}

/// A value with the unit of its metric.
pub(super) fn measured(value: f64, unit: &str) -> String {
    match unit {
        "bit/s" => rate(value),
        "B" => bytes_of(value),
        "" => short(value),
        unit => format!("{} {}", short(value), escape(unit)),
    }
}

/// Two values of a metric with as many digits as tell them apart: `18.80 to 18.97 Mbit/s`.
pub(super) fn range(low: f64, high: f64, unit: &str) -> String {
    let size = low.abs().max(high.abs());
    let (divisor, name) = match unit {
        "bit/s" => [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")]
            .into_iter()
            .find(|(divisor, _)| size >= *divisor)
            .unwrap_or((1.0, "bit/s")),
        "B" => [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")]
            .into_iter()
            .find(|(divisor, _)| size >= *divisor)
            .unwrap_or((1.0, "B")),
        unit => (1.0, unit),
    };
    // Two digits of the distance between them.
    let step = ((high - low).abs() / divisor).log10().floor();
    let decimals = if step.is_finite() { (1.0 - step).clamp(0.0, 6.0) as usize } else { 2 };
    let text = |value: f64| format!("{:.decimals$}", value / divisor).replace('-', "−");
    format!("{} to {} {}", text(low), text(high), escape(name)).trim_end().to_owned()
}

fn bytes_of(value: f64) -> String {
    if value < 0.0 { format!("−{}", bytes(-value as u64)) } else { bytes(value as u64) }
}

/// A count with thin spaces between thousands.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// `1 link`, `2 links`.
pub(super) fn plural(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number as u64), if number == 1 { one } else { many })
}

/// The first `most` characters, with an ellipsis where more followed.
pub(super) fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_markup_survives_escaping() {
        let hostile = "<script>alert('x')</script>\"&\u{1b}[31m\u{202e}\0";
        let escaped = escape(hostile);
        assert_eq!(escaped, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;␛[31m�␀");
    }

    #[test]
    fn numbers_keep_three_digits() {
        let cases = [
            (0.0, "0"),
            (20.034, "20"),
            (20.34, "20.3"),
            (0.12345, "0.123"),
            (1234.5, "1234"),
            (-2.5, "−2.5"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(range(17.86e6, 17.89e6, "bit/s"), "17.860 to 17.890 Mbit/s");
        assert_eq!(range(-9370.0, 44339.0, "B"), "−9 to 43 KiB");
        assert_eq!(range(1.0, 1.0, ""), "1.00 to 1.00");
        assert_eq!(rate(9_431_000.0), "9.43 Mbit/s");
        assert_eq!(count(1234567), "1\u{202f}234\u{202f}567");
    }
}
