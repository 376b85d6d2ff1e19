//! `plait overlay`.

use crate::arguments::{
    AgentArguments, ConfigCommand, FibCommand, IdCommand, LocatorCommand, NodeCommand, OverlayArguments,
    OverlayCommand, PlaneArgument, RouteCommand, StatsArguments,
};
use crate::commands::{counters, trace};
use crate::output::{Failure, Output, table};
use plait_dataplane_overlay::agent::{Agent, AgentOptions, Places, remove};
use plait_dataplane_overlay::protocol::{Change, Config, EvpnReport, FibRow, Reply, Request};
use plait_dataplane_overlay::trace::TraceRequest;
use plait_dataplane_overlay::{ApplicationConfig, BitField, Client, Control, DeviceConfig, Evpn, MOST_PAIRS};
use plait_model_overlay::{Answer, Event, Locators, Operation};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

pub fn overlay(arguments: OverlayArguments, output: &Output) -> Result<ExitCode, Failure> {
    let places = Places::of(&arguments.choice.agent);
    let request = match arguments.command {
        OverlayCommand::Agent(arguments) => return agent(arguments, places, output),
        OverlayCommand::Profile(arguments) => return super::profile::profile(arguments, output),
        OverlayCommand::Watch => return watch(&places, output),
        OverlayCommand::Stats(StatsArguments { metrics: true, .. }) => Request::Metrics,
        OverlayCommand::Stats(StatsArguments { entries: false, every: None, .. }) => Request::Stats,
        OverlayCommand::Stats(arguments) => return counters::looks(&places, &arguments, output),
        OverlayCommand::Trace { device, destination, from, flow, size, seconds } => {
            let request = TraceRequest { device, destination, from, flow, size };
            return trace::trace(&places, request, Duration::from_secs(seconds), output);
        }
        OverlayCommand::Config(command) => config(command)?,
        OverlayCommand::Evpn => Request::Evpn,
        OverlayCommand::Fib(command) => match command {
            FibCommand::Add { device, identifier, node } => Request::FibAdd { device, identifier, node },
            FibCommand::Del { device, identifier } => Request::FibDel { device, identifier },
            FibCommand::Show { device } => Request::FibGet { device },
        },
        OverlayCommand::Id(command) => Request::Operation(match command {
            IdCommand::Set { id, app } => Operation::NodeIdSet { application: app.app, node: id },
            IdCommand::Show { app } => Operation::NodeIdGet { application: app.app },
        }),
        OverlayCommand::Locator(command) => Request::Operation(match command {
            LocatorCommand::Add { address, weight, app } => {
                Operation::LocatorAdd { application: app.app, locator: address, weight }
            }
            LocatorCommand::Del { address, app } => {
                Operation::LocatorDel { application: app.app, locator: address }
            }
            LocatorCommand::Show { app } => Operation::LocatorGet { application: app.app },
        }),
        OverlayCommand::Node(command) => Request::Operation(match command {
            NodeCommand::Add { node, locator, weight, app } => {
                Operation::NodeAdd { application: app.app, node, locator, weight }
            }
            NodeCommand::Del { node, locator, app } => {
                Operation::NodeDel { application: app.app, node, locator }
            }
            NodeCommand::Show { app } => Operation::NodeGet { application: app.app },
        }),
        OverlayCommand::Route(command) => Request::Operation(match command {
            RouteCommand::Add { destination, via, app } => {
                Operation::RouteAdd { application: app.app, destination, next_hop: via }
            }
            RouteCommand::Del { destination, via, app } => {
                Operation::RouteDel { application: app.app, destination, next_hop: via }
            }
            RouteCommand::Show { app } => Operation::RouteGet { application: app.app },
        }),
    };
    say(Client::connect(&places.socket())?.ask(request)?, output)?;
    Ok(ExitCode::SUCCESS)
}

fn agent(arguments: AgentArguments, places: Places, output: &Output) -> Result<ExitCode, Failure> {
    let AgentArguments { identifiers, nodes, xdp, run, pins, record, record_limit, remove: is_removed } =
        arguments;
    let places = Places { run: run.unwrap_or(places.run), pins: pins.unwrap_or(places.pins) };
    let failed = |error: plait_dataplane_overlay::agent::AgentError| Failure::new(error.to_string());
    if is_removed {
        remove(&places).map_err(failed)?;
        output.result(&json!({ "removed": places.run }), || "nothing of the overlay is left\n".to_owned())?;
        return Ok(ExitCode::SUCCESS);
    }
    let record = record.map(|file| (file, record_limit.bytes()));
    let agent = Agent::start(AgentOptions { places, identifiers, nodes, xdp, record }).map_err(failed)?;
    agent.serve().map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

fn config(command: ConfigCommand) -> Result<Request, Failure> {
    Ok(match command {
        ConfigCommand::Show => Request::Config,
        ConfigCommand::Application { app, carries, encapsulation, to, accept, ttl, group, miss, vni } => {
            let config = ApplicationConfig {
                carries: carries.into(),
                ttl,
                encapsulation,
                to: to.into_iter().collect(),
                accepts: accept.into_iter().collect(),
                group,
                miss: miss.into(),
                vni,
            };
            Request::SetApplication { application: app, config }
        }
        ConfigCommand::Device { name, delete: true, .. } => Request::RemoveDevice { name },
        ConfigCommand::Device {
            name,
            app,
            vni,
            mtu,
            prefix4,
            prefix6,
            in_place,
            offset,
            length,
            ageing,
            ..
        } => {
            let prefix = [prefix4, prefix6];
            let bits = offset.zip(length).map(|(offset, length)| BitField { offset, length });
            let device = DeviceConfig::new(name, app.app, vni);
            Request::SetDevice(DeviceConfig { mtu, prefix, bits, in_place, ageing, ..device })
        }
        ConfigCommand::Evpn { app, neighbor, as_number, remote_as, hold, delete } => {
            let asked = neighbor.zip(as_number).filter(|_| !delete);
            let evpn =
                asked.map(|(neighbor, as_number)| Evpn { remote_as, hold, ..Evpn::new(neighbor, as_number) });
            Request::SetEvpn { application: app.app, evpn }
        }
        ConfigCommand::Underlay { devices, by_routes } => {
            Request::SetUnderlay { devices: (!by_routes).then(|| devices.into_iter().collect()) }
        }
        ConfigCommand::Control { plane: PlaneArgument::None, app, .. } => {
            Request::SetControl { application: app.app, control: None }
        }
        ConfigCommand::Control { plane, app, key, seed, interval, neighbours } => {
            let key = key.ok_or_else(|| Failure::usage("a control plane needs `--key FILE`"))?;
            // The agent's working folder is another.
            let key = std::path::absolute(&key)?;
            let plane = plane.kind().expect("none was handled above");
            let control = Control { plane, seeds: seed, key, interval, neighbours };
            Request::SetControl { application: app.app, control: Some(control) }
        }
    })
}

fn watch(places: &Places, output: &Output) -> Result<ExitCode, Failure> {
    let mut client = Client::connect(&places.socket())?;
    client.ask(Request::Watch)?;
    while let Some(reply) = client.next_reply()? {
        let Reply::Event(change) = reply else { continue };
        let line = if output.is_json() { json!(change).to_string() } else { change_line(&change) };
        match writeln!(io::stdout(), "{line}") {
            // Whoever reads has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            written => written?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn change_line(change: &Change) -> String {
    match change {
        Change::Application { application } => format!("app {application} config"),
        Change::Device { device } => format!("device {device}"),
        Change::Underlay { devices: Some(devices) } => format!("underlay {}", json!(devices)),
        Change::Underlay { devices: None } => "underlay by routes".to_owned(),
        Change::Written { entries } => format!("written {entries}"),
        Change::Identifier { device, identifier } => format!("fib {device} {identifier}"),
        Change::Table(Event::Own { application }) => format!("app {application} own"),
        Change::Table(Event::Node { application, node }) => format!("app {application} node {node}"),
        Change::Table(Event::Route { application, destination }) => {
            format!("app {application} route {destination}")
        }
    }
}

pub fn say(reply: Reply, output: &Output) -> Result<(), Failure> {
    let (value, text) = match reply {
        Reply::Done { changed, writes, left_out } => {
            let mut value = json!({ "changed": changed, "writes": writes });
            if left_out > 0 {
                value["left_out"] = json!(left_out);
                output.note(&format!(
                    "{}: flows to a node are spread over those {MOST_PAIRS} that weigh most; give up some locators, or write other \
                     weights (`plait overlay stats` names the nodes)",
                    without_packets(left_out)
                ));
            }
            (value, if changed { "" } else { "nothing to change\n" }.to_owned())
        }
        Reply::Answer(answer) => answer_text(answer),
        Reply::Fib(rows) => (json!(rows), fib(&rows)),
        Reply::Evpn(sessions) => (json!(sessions), evpn_text(&sessions)),
        Reply::Config(config) => (json!(config), config_text(&config)),
        Reply::Stats(stats) => (json!(stats), counters::text(&stats)),
        Reply::Metrics(text) => (json!(text), text),
        Reply::Trace(_) | Reply::Event(_) | Reply::Error(_) => (Value::Null, String::new()),
    };
    output.result(&value, || text)
}

/// How many pairs of locators get no packets.
pub(super) fn without_packets(pairs: usize) -> String {
    match pairs {
        1 => "1 pair of locators gets no packets".to_owned(),
        _ => format!("{pairs} pairs of locators get no packets"),
    }
}

/// The lines of an answer; each can be typed again behind `add`.
fn answer_text(answer: Answer) -> (Value, String) {
    let locators = |locators: &Locators| -> String {
        locators.iter().map(|(address, weight)| format!("{address} weight {weight}\n")).collect()
    };
    match answer {
        Answer::Done { changed } => (json!({ "changed": changed }), String::new()),
        Answer::NodeId(id) => (json!(id), id.map_or("none\n".to_owned(), |id| format!("{id}\n"))),
        Answer::Locators(all) => (json!(all), locators(&all)),
        Answer::Nodes(nodes) => {
            let lines = nodes.iter().flat_map(|(node, all)| {
                all.iter().map(move |(address, weight)| format!("{node} {address} weight {weight}\n"))
            });
            (json!(nodes), lines.collect())
        }
        Answer::Routes(routes) => {
            let lines = routes
                .iter()
                .flat_map(|(to, hops)| hops.iter().map(move |hop| format!("to {to} via {hop}\n")));
            (json!(routes), lines.collect())
        }
    }
}

/// Entries of the FIB as a table.
pub(super) fn fib(rows: &[FibRow]) -> String {
    let head = ["DEVICE", "IDENTIFIER", "NODE", "HEARD", "PACKETS", "BYTES"].map(str::to_owned).to_vec();
    let lines = rows.iter().map(|row| {
        vec![
            row.device.clone(),
            row.identifier.to_string(),
            row.node.to_string(),
            row.heard.map_or("configured".to_owned(), |seconds| format!("{seconds} s ago")),
            row.packets.to_string(),
            row.bytes.to_string(),
        ]
    });
    table(&[head].into_iter().chain(lines).collect::<Vec<_>>())
}

fn evpn_text(sessions: &[EvpnReport]) -> String {
    let head = ["APP", "NEIGHBOR", "STATE", "RECEIVED", "ANNOUNCED", "LAST"].map(str::to_owned).to_vec();
    let lines = sessions.iter().map(|of| {
        vec![
            of.application.to_string(),
            of.neighbor.to_string(),
            of.state.clone(),
            of.received.to_string(),
            of.announced.to_string(),
            of.last.clone().unwrap_or_default(),
        ]
    });
    table(&[head].into_iter().chain(lines).collect::<Vec<_>>())
}

fn config_text(config: &Config) -> String {
    let mut text = String::new();
    for (application, of) in &config.applications {
        text += &format!("application {application}  {}\n", json!(of));
    }
    for device in &config.devices {
        text += &format!("device {}  {}\n", device.name, json!(device));
    }
    for (application, evpn) in &config.evpn {
        text += &format!("evpn {application}  {}\n", json!(evpn));
    }
    for (application, control) in &config.controls {
        text += &format!("control {application}  {}\n", json!(control));
    }
    if let Some(devices) = &config.underlay {
        text += &format!("underlay  {}\n", json!(devices));
    }
    text
}
