//! Figures that commands print.

use super::{Found, Recorded, TOO_FEW};
use crate::analysis::Take;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What is longer is no list of numbers.
const LARGEST: u64 = 256 << 20;

/// The value of the numbers in what a command printed. Its lines have no time unless they are collected, so they count
/// as a second each.
pub(super) fn value(take: Take, command: &str, field: Option<&str>, recorded: &Recorded<'_>) -> Found {
    let mut named = recorded.commands.iter().filter(|known| known.name == command);
    let (Some(command), None) = (named.next(), named.next()) else {
        return Err(format!("there is no command `{command}`, or more than one"));
    };
    let numbers = numbers(&recorded.folder.join(&command.folder).join("stdout"), field)?;
    let samples: Vec<(f64, f64)> = (0u32..).map(f64::from).zip(numbers).collect();
    take.of(&samples).ok_or_else(|| TOO_FEW.to_owned())
}

/// The numbers of an output, of which there is one at least, or why there is none.
pub(super) fn numbers(stdout: &Path, field: Option<&str>) -> Result<Vec<f64>, String> {
    let size = fs::metadata(stdout).map_err(|error| error.to_string())?.len();
    if size > LARGEST {
        return Err(format!("{} MiB of output are too many", size >> 20));
    }
    let text = String::from_utf8_lossy(&fs::read(stdout).map_err(|error| error.to_string())?).into_owned();
    let number = |value: &Value| match field {
        Some(field) => number_at(value, field),
        None => value.as_f64(),
    };
    // One document, or one a line.
    let values: Vec<f64> = match serde_json::from_str::<Value>(&text) {
        Ok(value) => number(&value).into_iter().collect(),
        Err(_) => {
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok());
            lines.filter_map(|value| number(&value)).collect()
        }
    };
    match (values.is_empty(), field) {
        (false, _) => Ok(values),
        (true, Some(field)) => Err(format!("its command printed no JSON with a number at `{field}`")),
        (true, None) => Err("its command printed no number".to_owned()),
    }
}

/// The number that a way of keys and positions leads to.
fn number_at(value: &Value, field: &str) -> Option<f64> {
    let found = field.split('.').try_fold(value, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    })?;
    found.as_f64().filter(|number| number.is_finite())
}
