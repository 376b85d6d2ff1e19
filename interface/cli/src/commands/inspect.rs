//! `plait inspect`.

use crate::arguments::InspectArguments;
use crate::output::{Failure, Output, table};
use plait_testbed_runtime::control::{Report, Testbed};
use plait_testbed_runtime::plan::Realisation;
use serde_json::{Map, Value, json};
use std::process::ExitCode;

pub fn inspect(arguments: InspectArguments, output: &Output) -> Result<ExitCode, Failure> {
    let testbed = Testbed::find(arguments.name.as_deref())?;
    if arguments.log {
        let log = testbed.log()?;
        output.result(&lines(&log), || log.clone())?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.metrics {
        let page = testbed.metrics()?;
        output.result(&samples(&page), || page.clone())?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = testbed.inspect()?;
    output.result(&json!(report), || text(&report))?;
    Ok(ExitCode::SUCCESS)
}

/// The lines of a log, each JSON by itself.
fn lines(log: &str) -> Value {
    log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!(line))).collect()
}

/// The samples of a page in Prometheus' text form, version 0.0.4. Label values are names, which hold nothing escaped.
fn samples(page: &str) -> Value {
    let sample = |line: &str| {
        let (series, value) = line.rsplit_once(' ')?;
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let labels: Map<String, Value> = labels
            .trim_end_matches('}')
            .split(',')
            .filter_map(|label| label.split_once('='))
            .map(|(label, text)| (label.to_owned(), json!(text.trim_matches('"'))))
            .collect();
        // Counters stay whole numbers.
        let value = value.parse::<u64>().map(Value::from).or_else(|_| value.parse::<f64>().map(Value::from));
        Some(json!({ "name": name, "labels": labels, "value": value.ok()? }))
    };
    page.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect()
}

fn text(report: &Report) -> String {
    let mut text = format!(
        "{}  {}  process {}  up {:.0} s  plait {}\nfile  {}\n",
        report.name, report.status, report.pid, report.uptime_s, report.version, report.file
    );
    if let Some(class) = &report.accuracy_class {
        text.push_str(&format!("accuracy class  {class}\n"));
    }
    let mut rows =
        vec![["NODE", "KIND", "INTERFACE", "ADDRESSES", "ROUTES", "DAEMONS"].map(str::to_owned).to_vec()];
    for node in &report.nodes {
        let none = [(String::new(), Vec::new())];
        let interfaces = if node.interfaces.is_empty() { &none[..] } else { &node.interfaces };
        for (at, (interface, addresses)) in interfaces.iter().enumerate() {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let first = |text: String| if at == 0 { text } else { String::new() };
            rows.push(vec![
                first(node.name.clone()),
                first(node.kind.clone()),
                interface.clone(),
                addresses.join(" "),
                first(node.routes.to_string()),
                first(node.daemons.join(" ")),
            ]);
        }
    }
    text.push_str(&format!("\n{}\n{}", table(&rows), links(report)));
    text
}

/// The links of a testbed as a table.
pub fn links(report: &Report) -> String {
    let mut rows = vec![["LINK", "ENDS", "MADE BY", "FORWARD", "REVERSE"].map(str::to_owned).to_vec()];
    for link in &report.links {
        let plain = |text: &String| if text.is_empty() { "-".to_owned() } else { text.clone() };
        rows.push(vec![
            if link.failed { format!("{} (cut)", link.name) } else { link.name.clone() },
            link.ends.join(" "),
            match link.realisation {
                Realisation::Direct => "veth".to_owned(),
                Realisation::Kernel => "kernel".to_owned(),
                Realisation::Engine(backends) => format!("engine {backends:?}").to_lowercase(),
            },
            plain(&link.conditions[0]),
            plain(&link.conditions[1]),
        ]);
    }
    table(&rows)
}
