//! The tables of the report.

use super::data::Data;
use super::text::{bytes, clip, count, escape, rate, short};
use crate::results::{CommandRecord, EventKind, Results};
use crate::section::Expect;
use crate::world::Ended;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Lines of a command's output shown from its start and from its end.
const EXCERPT: (usize, usize) = (12, 28);
/// Bytes read from either end of an output for its excerpt.
const EXCERPT_BYTES: u64 = 16 * 1024;

/// Rows of cells under headings; cells are markup already. A heading that begins with `#` is of numbers.
pub(super) fn table(caption: &str, headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut html = format!("<div class=\"scroll\"><table><caption>{caption}</caption><thead><tr>");
    for heading in headings {
        let (class, text) = heading.strip_prefix('#').map_or(("", *heading), |text| (" class=\"n\"", text));
        html += &format!("<th scope=\"col\"{class}>{text}</th>");
    }
    html += "</tr></thead><tbody>";
    for row in rows {
        html += "<tr>";
        for (cell, heading) in row.iter().zip(headings) {
            let class = if heading.starts_with('#') { " class=\"n\"" } else { "" };
            html += &format!("<td{class}>{cell}</td>");
        }
        html += "</tr>";
    }
    html + "</tbody></table></div>"
}

/// A word with a sign, so that colour is not all that tells.
pub(super) fn state(good: bool, word: &str) -> String {
    let (class, sign) = if good { ("good", "✓") } else { ("bad", "✗") };
    format!("<span class=\"{class}\">{sign} {word}</span>")
}

/// Links measured against their request, before the run.
pub(super) fn verification(results: &Results) -> Option<String> {
    if results.verification.is_empty() {
        return None;
    }
    let rows = results.verification.iter().map(|row| {
        let interval = row.interval.map_or(String::new(), |half| format!(" ± {}", short(half)));
        vec![
            escape(&row.link),
            escape(&results.network.direction_name(&row.link, row.direction)),
            escape(&row.property),
            format!("{} {}", short(row.asked), escape(&row.unit)),
            format!("{:.*}{interval} {}", decimals(row.interval), row.got, escape(&row.unit)),
            count(row.samples),
            state(row.holds, if row.holds { "as asked" } else { "off" }),
        ]
    });
    Some(table(
        "Each shaped link, measured before the run; ± is the 95 % interval over its n probes",
        &["Link", "Direction", "Property", "#Asked", "#Got", "#n", "Verdict"],
        rows.collect(),
    ))
}

/// Decimals that a figure with this interval deserves: as many as the interval is printed with.
fn decimals(interval: Option<f64>) -> usize {
    match interval.map(short) {
        Some(half) => half.split_once('.').map_or(0, |(_, decimals)| decimals.len()),
        None => 2,
    }
}

/// The flows in figures.
pub(super) fn flows(data: &Data) -> String {
    let rows = data.flows.iter().map(|flow| {
        let seconds = flow.span.1 - flow.span.0;
        let mean = if seconds > 0.0 { rate(flow.bytes as f64 * 8.0 / seconds) } else { "–".to_owned() };
        vec![
            format!("<span class=\"key c{}\"></span>{}", flow.colour, escape(&flow.label)),
            escape(&flow.congestion_control),
            format!("{} – {} s", short(flow.span.0), short(flow.span.1)),
            bytes(flow.bytes),
            mean,
            flow.srtt.median().map_or("–".to_owned(), |value| format!("{} ms", short(value))),
            flow.min_rtt_ms.map_or("–".to_owned(), |value| format!("{} ms", short(value))),
            count(flow.retransmits.into()),
        ]
    });
    table(
        "TCP flows; each figure is of one run (n = 1)",
        &[
            "Flow",
            "Control",
            "Seen",
            "#Acknowledged",
            "#Mean rate",
            "#Median RTT",
            "#Least RTT",
            "#Retransmits",
        ],
        rows.collect(),
    )
}

/// What the links carried.
pub(super) fn links(results: &Results, data: &Data) -> String {
    let share = |part: u64, whole: u64| match whole {
        0 => "–".to_owned(),
        _ => format!("{} %", short(100.0 * part as f64 / whole as f64)),
    };
    let rows = data.links.iter().map(|link| {
        let offered = link.packets + link.lost + link.queue_dropped;
        vec![
            escape(&link.link),
            escape(&results.network.direction_name(&link.link, link.direction)),
            count(link.packets),
            bytes(link.bytes),
            format!("{} ({})", count(link.lost), share(link.lost, offered)),
            format!("{} ({})", count(link.queue_dropped), share(link.queue_dropped, offered)),
            bytes(link.queue.high() as u64),
        ]
    });
    table(
        "Links over the run (n = 1)",
        &["Link", "Direction", "#Packets", "#Bytes", "#Lost", "#Queue drops", "#Longest queue"],
        rows.collect(),
    )
}

/// Changes of links and nodes, and waits, numbered as on the plots.
pub(super) fn events(results: &Results) -> Option<String> {
    let changes = results.events.iter().filter(|event| event.kind != EventKind::Command);
    let rows: Vec<Vec<String>> = changes
        .enumerate()
        .map(|(position, event)| {
            let done = match &event.error {
                None if event.kind == EventKind::Wait => {
                    state(true, &format!("after {} s", short(event.lateness_s())))
                }
                None => state(true, "done"),
                Some(error) => state(false, &escape(error)),
            };
            vec![
                super::plot::circled(position + 1),
                escape(&event.label),
                format!("{} s", short(event.asked_s)),
                match event.kind {
                    EventKind::Wait => "–".to_owned(),
                    _ => format!("{} ms", short(1e3 * event.lateness_s())),
                },
                done,
            ]
        })
        .collect();
    (!rows.is_empty())
        .then(|| table("Changes during the run", &["No.", "Change", "#At", "#Late by", "State"], rows))
}

/// Commands with how they ended, then what they printed.
pub(super) fn commands(folder: &Path, results: &Results, data: &Data) -> String {
    let rows = results.commands.iter().enumerate().map(|(position, command)| {
        let seconds =
            |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{} s", short(value)));
        vec![
            (position + 1).to_string(),
            escape(&command.node),
            format!("{}<br><code>{}</code>", escape(&command.name), escape(&clip(&command.exec, 160))),
            seconds(command.started_s),
            seconds(command.finished_s),
            ended(command),
        ]
    });
    let mut html = table(
        "What ran, and how it ended",
        &["No.", "Node", "Command", "#Start", "#End", "Ended"],
        rows.collect(),
    );
    for (position, command) in results.commands.iter().enumerate() {
        html += &outputs(folder, position + 1, command, data);
    }
    html
}

fn ended(command: &CommandRecord) -> String {
    let word = match command.ended {
        None => "could not start".to_owned(),
        Some(Ended::Exit(code)) => format!("exit {code}"),
        Some(Ended::Signal(signal)) => format!("signal {signal}"),
        Some(Ended::TimedOut) => "timed out".to_owned(),
        Some(Ended::Stopped) => "stopped at the end".to_owned(),
    };
    let word = match command.expect {
        Expect::Code(0) | Expect::Any => word,
        Expect::Code(code) => format!("{word} (expected {code})"),
    };
    state(command.passed, &word)
}

/// What a command printed, folded; open when it failed.
fn outputs(folder: &Path, number: usize, command: &CommandRecord, data: &Data) -> String {
    let mut shown = String::new();
    for stream in ["stdout", "stderr"] {
        let path = folder.join(&command.folder).join(stream);
        let Some((text, size)) = excerpt(&path) else { continue };
        if size == 0 {
            continue;
        }
        shown += &format!("<h4>{stream} <small>{}</small></h4>", bytes(size));
        let series = data.iperf3.iter().filter(|series| {
            command
                .folder
                .strip_prefix("commands/")
                .is_some_and(|name| series.label.starts_with(&format!("{name} on ")))
        });
        let intervals: usize = series.map(|series| series.points.len()).sum();
        if stream == "stdout" && intervals > 0 {
            shown += &format!(
                "<p>iperf3's JSON with {} intervals, as rows in <code>samples/iperf3.csv</code>.</p>",
                count(intervals as u64)
            );
        } else {
            shown += &format!("<pre>{}</pre>", escape(&text));
        }
    }
    if shown.is_empty() {
        return String::new();
    }
    let open = if command.passed { "" } else { " open" };
    format!(
        "<details{open}><summary>{number}. Output of {} on {}</summary>{shown}</details>",
        escape(&command.name),
        escape(&command.node)
    )
}

/// The first and last lines of a file, and its size in bytes.
fn excerpt(path: &Path) -> Option<(String, u64)> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    let mut head = Vec::new();
    let whole = size <= 2 * EXCERPT_BYTES;
    (&mut file).take(if whole { size } else { EXCERPT_BYTES }).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head).into_owned();
    let cut = |line: &str| clip(line, 300);
    if whole {
        let lines: Vec<&str> = head.lines().collect();
        let (first, last) = EXCERPT;
        if lines.len() <= first + last {
            return Some((lines.into_iter().map(cut).collect::<Vec<_>>().join("\n"), size));
        }
        let left_out = lines.len() - first - last;
        let mut kept: Vec<String> = lines[..first].iter().map(|line| cut(line)).collect();
        kept.push(format!("[… {} …]", super::text::plural(left_out, "line", "lines")));
        kept.extend(lines[lines.len() - last..].iter().map(|line| cut(line)));
        return Some((kept.join("\n"), size));
    }
    let mut tail = Vec::new();
    file.seek(SeekFrom::End(-(EXCERPT_BYTES as i64))).ok()?;
    file.take(EXCERPT_BYTES).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail).into_owned();
    let mut kept: Vec<String> = head.lines().take(EXCERPT.0).map(cut).collect();
    kept.push(format!("[… of {} …]", bytes(size)));
    // The first line of the tail may be half of one.
    let last: Vec<&str> = tail.lines().skip(1).collect();
    kept.extend(last[last.len().saturating_sub(EXCERPT.1)..].iter().map(|line| cut(line)));
    Some((kept.join("\n"), size))
}
