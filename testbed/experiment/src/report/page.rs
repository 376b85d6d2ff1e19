//! The page: words, tables and pictures in the order a reader asks for them.

mod drops;
mod flows;
mod links;
mod pings;
mod printed;

use super::data::Data;
use super::marks::Marks;
use super::text::{bytes, count, escape, measured, plural, short};
use super::{drawing, tables, timeline};
use crate::results::Results;
use crate::world::VerdictWord;
use std::path::Path;

pub(super) const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(super) fn page(folder: &Path, results: &Results, data: &Data) -> String {
    let marks = Marks::of(results);
    let title = results.question.title.clone().unwrap_or_else(|| results.network.name.clone());
    let mut html = head(&results.plait, &title);
    header(&mut html, results, &title);
    verdict(&mut html, results);
    network(&mut html, results);
    flows::section(&mut html, results, data, &marks);
    pings::section(&mut html, results, data, &marks);
    printed::section(&mut html, results, data, &marks);
    metrics(&mut html, results);
    happenings(&mut html, results, &marks);
    links::section(&mut html, results, data, &marks);
    drops::section(&mut html, results);
    add(&mut html, "Commands", &tables::commands(folder, results, data));
    provenance(&mut html, results, data);
    html + FOOT
}

/// Everything before a page's words. Nothing is loaded from elsewhere, and no script runs.
pub(super) fn head(version: &str, title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"plait {}\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        escape(version),
        escape(title)
    )
}

/// What ends a page.
pub(super) const FOOT: &str = "</main>\n</body>\n</html>\n";

/// Names and values in a row under a title.
pub(super) fn facts(facts: &[(&str, String)]) -> String {
    let items = facts.iter().map(|(name, value)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>"));
    format!("<dl class=\"facts\">{}</dl>\n", items.collect::<String>())
}

pub(super) fn add(html: &mut String, heading: &str, body: &str) {
    *html += &format!("<section>\n<h2>{heading}</h2>\n{body}\n</section>\n");
}

pub(super) fn figure(title: &str, picture: &str, note: &str) -> String {
    let part = |tag: &str, text: &str| match text {
        "" => String::new(),
        text => format!("<{tag}>{text}</{tag}>"),
    };
    format!(
        "<figure><figcaption>{}{}</figcaption>{picture}</figure>\n",
        part("b", title),
        part("small", note)
    )
}

fn header(html: &mut String, results: &Results, title: &str) {
    *html += &format!("<header>\n<h1>{}</h1>\n", escape(title));
    if let Some(question) = &results.question.question {
        *html += &format!("<p class=\"question\">{}</p>\n", escape(question));
    }
    let mut facts = vec![
        ("Network", escape(&results.network.name)),
        ("Started", escape(&results.started.replace('T', " ").replace('Z', " UTC"))),
        ("Duration", format!("{} s", short(results.duration_s))),
        ("Runs", "n = 1".to_owned()),
        ("Seed", results.network.seed.to_string()),
    ];
    if let Some(class) = results.world.accuracy {
        facts.push(("Accuracy", format!("class {class:?}")));
    }
    *html += &self::facts(&facts);
    for note in &results.question.notes {
        *html += &format!("<p>{}</p>\n", escape(note));
    }
    *html += "</header>\n";
}

/// What a reader must know before any figure: may it be trusted, did it go as written.
fn verdict(html: &mut String, results: &Results) {
    let valid = results.verdict.word == VerdictWord::Valid;
    let (class, sign, word, why) = match valid {
        true => ("good", "✓", "valid", "Links did what was asked of them, the whole run.".to_owned()),
        false => {
            let seconds = plural(results.verdict.reasons.len(), "time", "times");
            (
                "bad",
                "✗",
                "tainted",
                format!("Links were not as asked, {seconds}. Do not build on these figures."),
            )
        }
    };
    *html += &format!(
        "<div class=\"verdict {class}\"><p><strong class=\"badge\">{sign} {word}</strong> {why}</p>"
    );
    const MOST: usize = 12;
    if !results.verdict.reasons.is_empty() {
        *html += "<ul>";
        for reason in results.verdict.reasons.iter().take(MOST) {
            let link = reason.link.as_deref().unwrap_or("all links");
            *html +=
                &format!("<li>{} s, {}: {}</li>", short(reason.seconds), escape(link), escape(&reason.why));
        }
        if results.verdict.reasons.len() > MOST {
            *html += &format!("<li>and {} more</li>", results.verdict.reasons.len() - MOST);
        }
        *html += "</ul>";
    }
    *html += "</div>\n";
    if !results.world.left_out.is_empty() {
        *html += "<div class=\"verdict\"><p><strong class=\"badge\">left out</strong> This does not run in virtual time:</p><ul>";
        for what in &results.world.left_out {
            *html += &format!("<li>{}</li>", escape(what));
        }
        *html += "</ul></div>\n";
    }
    if !results.passed || results.interrupted {
        let word = if results.interrupted { "interrupted" } else { "failed" };
        *html += &format!(
            "<div class=\"verdict bad\"><p><strong class=\"badge\">✗ {word}</strong> The run did not go as written; what there is was kept.</p>"
        );
        if !results.failures.is_empty() {
            *html += "<ul>";
            for failure in &results.failures {
                *html += &format!("<li>{}</li>", escape(failure));
            }
            *html += "</ul>";
        }
        *html += "</div>\n";
    }
}

fn network(html: &mut String, results: &Results) {
    let mut body = String::new();
    match drawing::svg(&results.network, &results.events) {
        Some(picture) => {
            let note = "What is asked of each link stands beside it. Rounded nodes are routers.";
            body += &figure("", &picture, note);
        }
        None => {
            body += &format!(
                "<p>{} and {}: too many to draw here; they stand in <code>network.yaml</code>.</p>",
                plural(results.network.nodes.len(), "node", "nodes"),
                plural(results.network.links.len(), "link", "links")
            );
        }
    }
    body += &proof(results);
    add(html, "Network", &body);
}

/// What measuring the links before the run found, in a line; the figures stand with the links.
fn proof(results: &Results) -> String {
    let measured = results.verification.len();
    if measured == 0 {
        return "<p class=\"quiet\">The links were not measured before this run (<code>verify: true</code> does).</p>"
            .to_owned();
    }
    let off = results.verification.iter().filter(|row| !row.holds).count();
    let what = plural(measured, "property", "properties");
    match off {
        0 => format!(
            "<p><span class=\"good\">✓</span> Measured before the run: {what} of the links, all as asked.</p>"
        ),
        off => format!(
            "<p><span class=\"bad\">✗</span> Measured before the run: {what} of the links, <strong>{off} not as asked</strong>.</p>"
        ),
    }
}

/// The figures that the file asks for, and what it asserts of them.
fn metrics(html: &mut String, results: &Results) {
    if results.metrics.is_empty() {
        return;
    }
    let rows = results.metrics.iter().map(|(name, metric)| {
        let value = metric.value.map(|value| measured(value, &metric.unit));
        vec![escape(name), value.unwrap_or_else(|| escape(metric.why.as_deref().unwrap_or("–")))]
    });
    let mut body = tables::table("One value a run (n = 1)", &["Metric", "#Value"], rows.collect());
    let asserted: Vec<Vec<String>> = results
        .assertions
        .iter()
        .map(|assertion| {
            let word = if assertion.held { "holds" } else { "does not hold" };
            vec![escape(&assertion.text), tables::state(assertion.held, word)]
        })
        .collect();
    if !asserted.is_empty() {
        body += &tables::table("Assertions", &["Assertion", "State"], asserted);
    }
    add(html, "Metrics", &body);
}

fn happenings(html: &mut String, results: &Results, marks: &Marks) {
    let mut body = String::new();
    if let Some(picture) = timeline::svg(results, marks) {
        body += &figure(
            "Commands over time",
            &picture,
            "pale: in the background; numbers: changes of links and nodes",
        );
    }
    body += &tables::events(results).unwrap_or_default();
    if !body.is_empty() {
        add(html, "What happened", &body);
    }
}

/// Enough to run it again and to judge what comes out.
fn provenance(html: &mut String, results: &Results, data: &Data) {
    let machine = &results.machine;
    let row = |name: &str, value: String| format!("<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>");
    let memory = match machine.memory_bytes {
        0 => String::new(),
        size => format!(", {} of memory", bytes(size)),
    };
    let missed = match results.samples.rows.missed + results.samples.packets.missed {
        0 => "none missed".to_owned(),
        missed => format!("{} missed", count(missed)),
    };
    let body = format!(
        "<p>From inside this folder:</p><pre><code>plait run network.yaml</code></pre><div class=\"scroll\"><table class=\"facts\"><tbody>{}{}{}{}{}{}{}</tbody></table></div>",
        row("Plait", format!("{} on a {}", escape(&results.plait), escape(&results.world.kind))),
        row("Kernel", escape(&machine.kernel)),
        row(
            "Machine",
            format!(
                "{}, {}{}{memory}",
                escape(&machine.cpu),
                plural(machine.cores, "core", "cores"),
                if results.world.kept_awake { ", kept from halting" } else { "" }
            )
        ),
        row("Seed", results.network.seed.to_string()),
        row(
            "Network file",
            format!(
                "{}, SHA-256 <code class=\"hash\">{}</code>",
                escape(&results.network.file),
                escape(&results.network.sha256)
            ),
        ),
        row(
            "Samples",
            format!(
                "{} rows of TCP, {} of links, {} of round trips, {} of iperf3, {} of JSON; {missed}",
                count(data.rows.tcp),
                count(data.rows.links),
                count(data.rows.pings),
                count(data.rows.iperf3),
                count(data.rows.json)
            ),
        ),
        row("Statistics", "One run. Samples within a run draw lines; they carry no interval.".to_owned()),
    );
    add(html, "Run it again", &body);
}
