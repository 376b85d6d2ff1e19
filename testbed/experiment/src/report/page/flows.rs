//! The flows: their throughput, round-trip times and windows over time.

use super::{add, figure};
use crate::report::data::{Data, Flow};
use crate::report::distribution::DistributionPlot;
use crate::report::marks::Marks;
use crate::report::plot::{Plot, Size};
use crate::report::scale::Quantity;
use crate::report::series::Series;
use crate::report::tables;
use crate::report::text::{escape, plural, short};
use crate::results::Results;

/// What each flow did over time.
pub(super) fn section(html: &mut String, results: &Results, data: &Data, marks: &Marks) {
    if data.flows.is_empty() && data.iperf3.is_empty() {
        return;
    }
    let end = results.duration_s;
    let mut body = String::new();
    let throughput: Vec<&Series> = data.flows.iter().map(|flow| &flow.throughput).collect();
    if !data.flows.is_empty() {
        let left_out = match data.flows_left_out {
            0 => String::new(),
            more => format!(
                " The {} flows that moved most; {more} more are in samples/tcp.csv.",
                data.flows.len()
            ),
        };
        let plot = Plot {
            describe: format!(
                "Throughput of {} over {} s",
                plural(data.flows.len(), "flow", "flows"),
                short(end)
            ),
            quantity: Quantity::BitsPerSecond,
            end,
            series: throughput,
            marks,
            size: Size::Wide,
            filled: false,
        };
        let note = format!("acknowledged bytes, mean over {} s; n = 1.{left_out}", short(data.bin));
        body += &figure("Throughput", &plot.svg(), &note);
        body += &tables::flows(data);
        let half = |title: &str, note: &str, quantity: Quantity, series: Vec<&Series>| {
            let plot = Plot {
                describe: format!("{title} of each flow over {} s", short(end)),
                quantity,
                end,
                series,
                marks,
                size: Size::Half,
                filled: false,
            };
            figure(title, &plot.svg(), note)
        };
        body += "<div class=\"pair\">";
        let srtt = data.flows.iter().map(|flow| &flow.srtt).collect();
        body += &half("Round-trip time", "smoothed, as the sender sees it", Quantity::Milliseconds, srtt);
        let cwnd = data.flows.iter().map(|flow| &flow.cwnd).collect();
        body += &half("Congestion window", "as the sender keeps it", Quantity::Segments, cwnd);
        body += &spread(data, "Throughput, by share of time", "bit/s", |flow| &flow.throughput);
        body += &spread(data, "Round-trip time, by share of samples", "ms", |flow| &flow.srtt);
        body += "</div>";
        body += &legend(data.flows.iter().map(|flow| (flow.colour, flow.label.as_str())));
    }
    if !data.iperf3.is_empty() && data.flows.is_empty() {
        let plot = Plot {
            describe: format!("Throughput by iperf3 over {} s", short(end)),
            quantity: Quantity::BitsPerSecond,
            end,
            series: data.iperf3.iter().collect(),
            marks,
            size: Size::Wide,
            filled: false,
        };
        body += &figure("Throughput by iperf3", &plot.svg(), "as iperf3 printed it; n = 1");
    }
    add(html, "Flows", &body);
}

/// How the samples of each flow are spread.
fn spread(data: &Data, title: &str, unit: &str, of: fn(&Flow) -> &Series) -> String {
    let values = |flow| of(flow).points.iter().map(|point| point.1).collect();
    let series = data.flows.iter().map(|flow| (flow.label.as_str(), flow.colour, values(flow)));
    let plot = DistributionPlot { describe: title.to_owned(), unit, series: series.collect() };
    plot.svg().map(|picture| figure(title, &picture, "samples of one run (n = 1)")).unwrap_or_default()
}

pub(super) fn legend<'a>(entries: impl Iterator<Item = (usize, &'a str)>) -> String {
    let entry = |(colour, label): (usize, &str)| {
        format!("<li><span class=\"key c{colour}\"></span>{}</li>", escape(label))
    };
    format!("<ul class=\"legend\">{}</ul>", entries.map(entry).collect::<String>())
}
