//! The page of two results side by side.

use super::page::{FOOT, add, head};
use super::tables::table;
use super::text::{escape, measured, range};
use crate::sweep::Comparison;

/// The whole page.
pub(super) fn page(comparison: &Comparison) -> String {
    let [first, second] = &comparison.sides;
    let title = format!("{} beside {}", first.name, second.name);
    let mut html = head(env!("CARGO_PKG_VERSION"), &title);
    html += &format!("<header>\n<h1>{}</h1>\n</header>\n", escape(&title));
    let facts = first.facts.iter().map(|(name, value)| {
        let other = second.facts.get(name).map(String::as_str).unwrap_or_default();
        let mark = if value == other { "" } else { "≠" };
        vec![(*name).to_owned(), escape(value), mark.to_owned(), escape(other)]
    });
    let facts = table("Both", &["What", "First", "", "Second"], facts.collect());
    add(&mut html, "Where they came from", &facts);
    let rows = comparison.compared.iter().map(|row| {
        let side = |side: Option<(f64, usize)>| match side {
            Some((mean, n)) => format!("{} (n = {n})", measured(mean, &row.unit)),
            None => "–".to_owned(),
        };
        let interval = row.difference.and_then(|found| found.interval);
        vec![
            escape(&row.levels.join(" ")),
            escape(&row.metric),
            side(row.first),
            side(row.second),
            row.difference.map_or("–".to_owned(), |found| measured(found.value, &row.unit)),
            interval.map_or("–".to_owned(), |(low, high)| range(low, high, &row.unit)),
            if row.differs() { "<strong>differ</strong>" } else { "" }.to_owned(),
        ]
    });
    let headings = ["Cell", "Metric", "#First", "#Second", "#Difference", "#95 % (Welch)", "Verdict"];
    let mut body = table("Means over valid runs, and the second less the first", &headings, rows.collect());
    body += "<p class=\"quiet\">They differ where the interval of the difference leaves nought out. Of twenty rows that do not differ, about one will seem to.</p>";
    add(&mut html, "Metrics", &body);
    if !comparison.alone.is_empty() {
        let rows = comparison.alone.iter().map(|(side, levels)| {
            vec![escape(&levels.join(" ")), if *side == 1 { "first" } else { "second" }.to_owned()]
        });
        let body = table("Not compared", &["Cell", "In the"], rows.collect());
        add(&mut html, "Cells that only one has", &body);
    }
    html + FOOT
}
