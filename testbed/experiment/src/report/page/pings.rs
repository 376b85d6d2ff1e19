//! The round trips that were collected: over time, and how they are spread.

use super::{add, figure};
use crate::analysis::quantile;
use crate::report::data::{Data, PingData};
use crate::report::distribution::DistributionPlot;
use crate::report::marks::Marks;
use crate::report::page::flows::legend;
use crate::report::plot::{Plot, Size};
use crate::report::scale::Quantity;
use crate::report::tables::table;
use crate::report::text::{count, escape, plural, short};
use crate::results::Results;

/// What each pair of nodes saw.
pub(super) fn section(html: &mut String, results: &Results, data: &Data, marks: &Marks) {
    if data.pings.is_empty() {
        return;
    }
    let plot = Plot {
        describe: format!("Round trips over {} s", short(results.duration_s)),
        quantity: Quantity::Milliseconds,
        end: results.duration_s,
        series: data.pings.iter().map(|pair| &pair.trips).collect(),
        marks,
        size: Size::Half,
        filled: false,
    };
    let mut body = "<div class=\"pair\">".to_owned();
    body += &figure("Over time", &plot.svg(), "from request to reply; n = 1");
    let values = |pair: &PingData| pair.trips.points.iter().map(|point| point.1).collect();
    let spread = DistributionPlot {
        describe: "How round trips are spread".to_owned(),
        unit: "ms",
        series: data
            .pings
            .iter()
            .map(|pair| (pair.trips.label.as_str(), pair.trips.colour, values(pair)))
            .collect(),
    };
    if let Some(picture) = spread.svg() {
        body += &figure("Spread", &picture, "requests without a reply left out");
    }
    body += "</div>";
    body += &legend(data.pings.iter().map(|pair| (pair.trips.colour, pair.trips.label.as_str())));
    let rows = data.pings.iter().map(|pair| {
        let mut sorted: Vec<f64> = values(pair);
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| match sorted.is_empty() {
            true => "–".to_owned(),
            false => format!("{} ms", short(quantile(&sorted, share))),
        };
        vec![
            escape(&pair.trips.label),
            count(sorted.len() as u64 + pair.lost),
            count(pair.lost),
            at(0.0),
            at(0.5),
            at(0.95),
            at(0.99),
            at(1.0),
        ]
    });
    let headings =
        ["From and to", "#Requests", "#No reply", "#Least", "#Median", "#95 %", "#99 %", "#Greatest"];
    body += &table("Round trips; each figure is of one run (n = 1)", &headings, rows.collect());
    if data.pings_left_out > 0 {
        let more = plural(data.pings_left_out, "more pair is", "more pairs are");
        body += &format!("<p class=\"quiet\">{more} in samples/pings.csv.</p>");
    }
    add(html, "Round trips", &body);
}
