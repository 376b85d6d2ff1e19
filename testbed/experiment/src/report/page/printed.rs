//! The numbers that commands printed in lines of JSON, each a picture of its own, since each has a unit of its own.

use super::{add, figure};
use crate::report::data::Data;
use crate::report::marks::Marks;
use crate::report::plot::{Plot, Size};
use crate::report::scale::Quantity;
use crate::report::text::{count, escape, plural, short};
use crate::results::Results;

/// What each number was over time.
pub(super) fn section(html: &mut String, results: &Results, data: &Data, marks: &Marks) {
    if data.printed.is_empty() {
        return;
    }
    let mut body = String::new();
    for pair in data.printed.chunks(2) {
        body += "<div class=\"pair\">";
        for series in pair {
            let plot = Plot {
                describe: format!("{} over {} s", series.label, short(results.duration_s)),
                quantity: Quantity::Number,
                end: results.duration_s,
                series: vec![series],
                marks,
                size: Size::Half,
                filled: false,
            };
            let middle =
                series.median().map_or(String::new(), |median| format!(", median {}", short(median)));
            let note = format!("{} samples{middle}; n = 1", count(series.points.len() as u64));
            body += &figure(&escape(&series.label), &plot.svg(), &note);
        }
        body += "</div>";
    }
    if data.printed_left_out > 0 {
        let more = plural(data.printed_left_out, "more is", "more are");
        body += &format!("<p class=\"quiet\">{more} in samples/json.csv.</p>");
    }
    add(html, "What commands printed", &body);
}
