//! What nodes of virtual time dropped, and why.

use super::add;
use crate::report::tables::table;
use crate::report::text::{count, escape, plural};
use crate::results::Results;
use serde_json::Value;

/// Choice: so many rows, those of most packets; the results have all of them.
const MOST: usize = 40;

/// Who dropped what for which reason; nothing where nobody did.
pub(super) fn section(html: &mut String, results: &Results) {
    let mut rows: Vec<(u64, [&str; 3])> = Vec::new();
    for (of, who) in [("nodes", "node"), ("paths", "of these, path control"), ("overlays", "overlay")] {
        for (node, reasons) in objects(&results.links["drops"][of]) {
            for (reason, packets) in objects(reasons) {
                rows.push((packets.as_u64().unwrap_or_default(), [node, who, reason]));
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let more = rows.len().saturating_sub(MOST);
    let cells = rows.iter().take(MOST).map(|(packets, words)| {
        let [node, who, reason] = words.map(escape);
        vec![node, who, reason.replace(['_', '-'], " "), count(*packets)]
    });
    let mut body = table(
        "Packets that nodes dropped, from the run's beginning",
        &["Node", "By", "Why", "#Packets"],
        cells.collect(),
    );
    if more > 0 {
        body += &format!("<p>{} in results.json.</p>", plural(more, "more row is", "more rows are"));
    }
    add(html, "What nodes dropped", &body);
}

fn objects(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}
