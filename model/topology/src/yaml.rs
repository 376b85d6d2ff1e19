//! Values as people write them in YAML: short ones on one line, long ones a line an entry.

use crate::document::Scalar;
use serde_json::{Map, Value};

/// How long a line may grow before its entries get lines of their own.
const WIDTH: usize = 100;

/// A key and its value at a depth, ended by a new line.
pub fn entry(key: &str, value: &Value, depth: usize, to: &mut String) {
    to.push_str(&"  ".repeat(depth));
    to.push_str(&text(key));
    to.push(':');
    rest(value, depth, to);
}

/// What stands behind `key:`, or behind `-` where `depth` is that of the list's owner.
fn rest(value: &Value, depth: usize, to: &mut String) {
    let line = flow(value);
    let short = line.len() + 2 * depth < WIDTH;
    match value {
        Value::Object(map) if !map.is_empty() && !short => {
            to.push('\n');
            for (key, value) in map {
                entry(key, value, depth + 1, to);
            }
        }
        Value::Array(items) if !(items.is_empty() || short && items.iter().all(is_word)) => {
            to.push('\n');
            for item in items {
                to.push_str(&"  ".repeat(depth + 1));
                to.push_str("- ");
                to.push_str(&flow(item));
                to.push('\n');
            }
        }
        _ => {
            to.push(' ');
            to.push_str(&line);
            to.push('\n');
        }
    }
}

fn is_word(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains(' '),
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    }
}

/// A value on one line.
pub fn flow(value: &Value) -> String {
    match value {
        Value::String(word) => text(word),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => format!("{{{}}}", pairs(map)),
        other => other.to_string(),
    }
}

/// What stands between the braces of a map on one line.
fn pairs(map: &Map<String, Value>) -> String {
    // `on` is a key that everybody writes without quotes, though YAML 1.1 has another meaning for it.
    let key = |key: &str| if key == "on" { key.to_owned() } else { text(key) };
    let pair = |(name, value): (&String, &Value)| format!("{}: {}", key(name), flow(value));
    map.iter().map(pair).collect::<Vec<_>>().join(", ")
}

/// A text as YAML reads it back: in quotes unless it can be nothing but text.
pub fn text(word: &str) -> String {
    // YAML 1.1 takes some of these for something else, and people's editors often speak it.
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_./+%$".contains(c);
    let plain = word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/' || c == '$')
        && word.chars().all(fine)
        && matches!(Scalar::plain(word), Scalar::Text(_))
        && !reserved.contains(&word.to_ascii_lowercase().as_str());
    let number_like = word.matches('.').count() < 2
        && word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || "_.eExXabcdefABCDEF+-".contains(c));
    if plain && !number_like {
        return word.to_owned();
    }
    if word.chars().all(|c| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric()) {
        return format!("'{}'", word.replace('\'', "''"));
    }
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() => quoted.push(c),
            c => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    quoted + "\""
}
