//! `plait link`.

use super::inspect::links;
use crate::arguments::{LinkCommand, Way};
use crate::output::{Failure, Output, table};
use plait::read_text;
use plait_model_link::ConditionsSpec;
use plait_testbed_runtime::control::Testbed;
use plait_testbed_runtime::plan::Realisation;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

pub fn link(command: LinkCommand, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        LinkCommand::Check { choice, links, thorough } => {
            let testbed = Testbed::find(choice.testbed.as_deref())?;
            check(&testbed, links, thorough, output)
        }
        LinkCommand::Fail { choice, link } => {
            cut(&Testbed::find(choice.testbed.as_deref())?, &link, true, output)
        }
        LinkCommand::Recover { choice, link } => {
            cut(&Testbed::find(choice.testbed.as_deref())?, &link, false, output)
        }
        LinkCommand::Set { choice, link, settings, direction } => {
            let spec = parse(&settings)?;
            let direction = direction.map(|way| match way {
                Way::Forward => 0,
                Way::Reverse => 1,
            });
            let traces = spec
                .traces()
                .into_iter()
                .map(|path| Ok((path.to_owned(), read_text(Path::new(path))?)))
                .collect::<Result<_, Failure>>()?;
            let value = Testbed::find(choice.testbed.as_deref())?.set_link(&link, direction, spec, traces)?;
            output.result(&value, || {
                format!(
                    "{}  {} | {}\n",
                    value["link"].as_str().unwrap_or_default(),
                    value["conditions"][0].as_str().unwrap_or_default(),
                    value["conditions"][1].as_str().unwrap_or_default()
                )
            })?;
            Ok(ExitCode::SUCCESS)
        }
        LinkCommand::Show { choice } => {
            let report = Testbed::find(choice.testbed.as_deref())?.inspect()?;
            output.result(&json!(report.links), || links(&report))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn parse(settings: &[String]) -> Result<ConditionsSpec, Failure> {
    let pairs: Vec<(&str, &str)> = settings
        .iter()
        .map(|setting| {
            setting
                .split_once('=')
                .ok_or_else(|| Failure::usage(format!("`{setting}` is not a setting: write `delay=50ms`")))
        })
        .collect::<Result<_, _>>()?;
    ConditionsSpec::from_settings(&pairs).map_err(|error| Failure::usage(error.to_string()))
}

fn cut(testbed: &Testbed, link: &str, failed: bool, output: &Output) -> Result<ExitCode, Failure> {
    testbed.fail_link(link, None, failed)?;
    output.result(&json!({ "link": link, "failed": failed }), || {
        format!("{link} {}\n", if failed { "is cut" } else { "is whole again" })
    })?;
    Ok(ExitCode::SUCCESS)
}

fn check(
    testbed: &Testbed,
    links: Vec<String>,
    thorough: bool,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let links = if links.is_empty() {
        let report = testbed.inspect()?;
        report
            .links
            .into_iter()
            .filter(|link| link.realisation != Realisation::Direct)
            .map(|link| link.name)
            .collect()
    } else {
        links
    };
    if links.is_empty() {
        output.result(&json!([]), || "no link of this testbed is shaped\n".to_owned())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut checked = Vec::new();
    let mut progress = output.progress("measuring");
    for (done, link) in links.iter().enumerate() {
        progress.update(done, links.len());
        // One link that lets nothing through is no reason to say nothing of the others.
        match testbed.check_link(link, thorough) {
            Ok(found) => checked.push(found),
            Err(error) if links.len() == 1 => return Err(error.into()),
            Err(error) => checked.push(json!({ "link": link, "error": error.to_string() })),
        }
    }
    drop(progress);
    let all = checked.iter().flat_map(directions).all(|direction| direction["within"] != false);
    output.result(&json!(checked), || verification(&checked))?;
    let unmeasured =
        || checked.iter().filter_map(|found| Some((found["link"].as_str()?, found["error"].as_str()?)));
    unmeasured().for_each(|(link, error)| output.note(&format!("{link} was not measured: {error}")));
    Ok(if all && unmeasured().next().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn directions(link: &Value) -> impl Iterator<Item = &Value> {
    link["directions"].as_array().into_iter().flatten()
}

/// What was asked and what was found, as a table.
pub fn verification(checked: &[Value]) -> String {
    let mut rows =
        vec![["FROM", "TO", "", "ASKED", "GOT", "99 % INTERVAL", "P99", "N", ""].map(str::to_owned).to_vec()];
    for direction in checked.iter().flat_map(directions) {
        let end = |key: &str| direction[key].as_str().unwrap_or_default().to_owned();
        if direction["within"].is_null() {
            rows.push(vec![end("from"), end("to"), "nothing to measure".to_owned()]);
        }
        for measured in direction["measured"].as_array().into_iter().flatten() {
            let unit = measured["unit"].as_str().unwrap_or_default();
            let show = |value: &Value| quantity(value.as_f64().unwrap_or(f64::NAN), unit);
            rows.push(vec![
                end("from"),
                end("to"),
                measured["quantity"].as_str().unwrap_or_default().to_owned(),
                show(&measured["asked"]),
                show(&measured["got"]),
                format!("{} to {}", show(&measured["interval"][0]), show(&measured["interval"][1])),
                if measured["quantity"] == "delay" { show(&measured["p99"]) } else { String::new() },
                measured["samples"].to_string(),
                if measured["within"] == true { "ok" } else { "OFF" }.to_owned(),
            ]);
        }
    }
    let bursts = checked.iter().flat_map(directions).filter_map(|direction| {
        let burst = direction["burst"].as_str()?;
        Some(format!(
            "{}: the kernel's token bucket lets {burst} leave back to back\n",
            direction["from"].as_str().unwrap_or_default()
        ))
    });
    table(&rows) + &bursts.collect::<String>()
}

/// A measured value with its unit as people write it.
fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "ns" if value.abs() >= 1e9 => format!("{:.3}s", value / 1e9),
        "ns" => format!("{:.3}ms", value / 1e6),
        "bit/s" if value.abs() >= 1e9 => format!("{:.4}Gbit", value / 1e9),
        "bit/s" if value.abs() >= 1e6 => format!("{:.3}Mbit", value / 1e6),
        "bit/s" => format!("{:.3}kbit", value / 1e3),
        "share" => format!("{:.3}%", value * 100.0),
        _ => format!("{value}"),
    }
}
