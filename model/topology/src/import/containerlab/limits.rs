//! What a node's programs may use.

use super::super::draft::Draft;
use super::super::lines::Lines;
use super::definition::Definition;
use plait_model_quantity::ByteCount;
use serde_json::{Map, Value, json};

/// Gives a node its limits, and reports those that cannot be kept.
pub(super) fn read(definition: &Definition<'_, '_>, index: usize, lines: &Lines, draft: &mut Draft) {
    let mut limits = Map::new();
    let mut lose = |key: &str, why: &str, span| {
        draft.lose(format!("{key} of node {}", definition.name), why, Some(lines.of(span)));
    };
    if let Some((text, span)) = definition.word("memory") {
        match memory(text) {
            Some(memory) => drop(limits.insert("memory".to_owned(), json!(memory.to_string()))),
            None => lose("memory", "is no size; it was left out", span),
        }
    }
    if let Some((text, span)) = definition.word("cpu") {
        match text.parse::<f64>().ok().filter(|share| *share >= 0.01 && *share <= 1.0) {
            Some(share) => {
                let share = libm::round(share * 10_000.0) / 100.0;
                limits.insert("processor".to_owned(), json!(format!("{share}%")));
            }
            None => lose("cpu", "is not a share of one processor; it was left out", span),
        }
    }
    let processors = definition.word("cpu-set").and_then(|(text, span)| {
        let processors = processors(text);
        if processors.is_none() {
            lose("cpu-set", "is no list of processors; it was left out", span);
        }
        processors
    });
    let keys = &mut draft.nodes[index].keys;
    if !limits.is_empty() {
        keys.insert("limits".to_owned(), Value::Object(limits));
    }
    if let Some(processors) = processors {
        keys.insert("processors".to_owned(), json!(processors));
    }
}

/// `1G`, `512mb`, `2GiB`; a number alone is bytes.
fn memory(text: &str) -> Option<ByteCount> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: f64 = text[..end].trim().parse().ok()?;
    let unit = match &text[end..] {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "kib" => 1024.0,
        "m" | "mb" => 1e6,
        "mib" => 1024.0 * 1024.0,
        "g" | "gb" => 1e9,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let bytes = number * unit;
    (1.0..1e15).contains(&bytes).then(|| ByteCount::new(bytes as u64))
}

/// `0,2-3`.
fn processors(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= 4096 || all.len() > 4096 {
            return None;
        }
        all.extend(first..=last);
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}
