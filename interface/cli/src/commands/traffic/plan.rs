//! `plait traffic plan`.

use super::rounded;
use crate::arguments::PlanArguments;
use crate::load::load;
use crate::output::{Failure, Output, counted, table};
use plait_model_quantity::TimeSpan;
use plait_model_traffic::{Flow, Pattern, TrafficSpec};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Flows among hosts, of a pattern or of a file's traffic.
struct Planned {
    hosts: Vec<String>,
    flows: Vec<Flow>,
    of: Option<Named>,
}

/// What a file adds.
struct Named {
    name: String,
    /// The device of an overlay that it goes over.
    over: Option<String>,
    start: TimeSpan,
    stop: TimeSpan,
}

pub fn plan(arguments: &PlanArguments, output: &Output) -> Result<ExitCode, Failure> {
    let planned = match (&arguments.file, arguments.pattern) {
        (Some(file), _) => of_file(file)?,
        (None, Some(pattern)) => vec![of_pattern(pattern, arguments)?],
        (None, None) => return Err(Failure::usage("name a file, or a `--pattern`")),
    };
    output.result(&value(&planned), || text(&planned))?;
    let flows = planned.iter().map(|planned| planned.flows.len()).sum();
    let total: f64 = all(&planned).map(|(_, flow)| flow.rate.bits_per_second() as f64).sum();
    output.note(&format!("{}, {}", counted(flows, "flow"), rounded(total)));
    Ok(ExitCode::SUCCESS)
}

fn of_pattern(pattern: Pattern, arguments: &PlanArguments) -> Result<Planned, Failure> {
    let hosts = match &arguments.hosts[..] {
        [one] => match one.parse::<usize>() {
            Ok(count) if count <= MOST_HOSTS => (0..count).map(|host| host.to_string()).collect(),
            Ok(_) => return Err(Failure::usage(format!("`--hosts` is {MOST_HOSTS} at most"))),
            Err(_) => vec![one.clone()],
        },
        names => names.to_vec(),
    };
    let rate = arguments.rate.ok_or_else(|| Failure::usage("`--rate` is missing"))?;
    let asked = &arguments.flows;
    let spec = TrafficSpec {
        flows: asked.flows,
        rates: asked.rates.into(),
        size: asked.size,
        port: asked.port,
        ..TrafficSpec::new(pattern, rate)
    };
    let flows = spec.flows(hosts.len(), asked.seed).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Planned { hosts, flows, of: None })
}

/// As many as one traffic has flows.
const MOST_HOSTS: usize = 1_000_000;

fn of_file(file: &Path) -> Result<Vec<Planned>, Failure> {
    let script = load(file)?.script()?;
    if script.traffic.is_empty() {
        return Err(Failure::usage(format!(
            "{} has no `traffic:`: add it, or name a `--pattern` in place of the file",
            file.display()
        )));
    }
    let planned = script.traffic.into_iter().map(|traffic| {
        let over = traffic.over.map(|over| over.device);
        let of = Some(Named { name: traffic.name, over, start: traffic.start, stop: traffic.stop });
        Planned { hosts: traffic.hosts, flows: traffic.flows, of }
    });
    Ok(planned.collect())
}

fn all(planned: &[Planned]) -> impl Iterator<Item = (&Planned, &Flow)> {
    planned.iter().flat_map(|planned| planned.flows.iter().map(move |flow| (planned, flow)))
}

fn value(planned: &[Planned]) -> Value {
    let rows = all(planned).map(|(planned, flow)| {
        let mut row = json!({
            "from": planned.hosts[flow.from],
            "to": planned.hosts[flow.to],
            "source_port": flow.source_port,
            "destination_port": flow.destination_port,
            "bits_per_second": flow.rate.bits_per_second(),
            "size": flow.size.bytes(),
        });
        if let Some(of) = &planned.of {
            row["traffic"] = json!(of.name);
            row["start"] = json!(of.start.as_secs_f64());
            row["stop"] = json!(of.stop.as_secs_f64());
            row["over"] = json!(of.over);
        }
        row
    });
    rows.collect()
}

fn text(planned: &[Planned]) -> String {
    let named = planned.iter().any(|planned| planned.of.is_some());
    let mut head = ["FROM", "TO", "PORTS", "RATE", "SIZE"].map(str::to_owned).to_vec();
    if named {
        head.extend(["TRAFFIC", "OVER", "TIME"].map(str::to_owned));
    }
    let rows = all(planned).map(|(planned, flow)| {
        let mut row = vec![
            planned.hosts[flow.from].clone(),
            planned.hosts[flow.to].clone(),
            format!("{} > {}", flow.source_port, flow.destination_port),
            rounded(flow.rate.bits_per_second() as f64).to_string(),
            flow.size.to_string(),
        ];
        if let Some(of) = &planned.of {
            let over = of.over.as_deref().unwrap_or("links").to_owned();
            row.extend([of.name.clone(), over, format!("{} to {}", of.start, of.stop)]);
        }
        row
    });
    table(&[vec![head], rows.collect()].concat())
}
