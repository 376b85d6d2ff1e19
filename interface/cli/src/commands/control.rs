//! `plait control`: a controller's applications, seen and changed while it runs.

use super::additions::bounded;
use super::controller::{asked, named, rows, segment, text};
use crate::arguments::{AddArguments, ControlArguments, ControlCommand};
use crate::compiled::Compiled;
use crate::component;
use crate::output::{Failure, Output, counted};
use plait_control_runtime::{Application, Dag, Divergence, Event, Manifest, Name, Trigger, ViewId, replay};
use plait_interface_daemon::recording::{self, Code};
use plait_interface_daemon::{Method, Wanted, ask, socket, tell};
use plait_testbed_runtime::plan::AddedComponent;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

pub fn control(arguments: ControlArguments, output: &Output) -> Result<ExitCode, Failure> {
    let socket = socket(&named(&arguments.choice.name)?);
    match arguments.command {
        ControlCommand::Graph { dot } => graph(&socket, dot, output)?,
        ControlCommand::Applications => {
            let found = asked(&socket, "/v1/applications")?;
            output.result(&found, || applications(&found))?;
        }
        ControlCommand::Add(arguments) => {
            let wanted = added(&arguments)?;
            let name = wanted.components[0].manifest.name.clone();
            change(&socket, &wanted)?;
            output.result(&json!({ "added": name.to_string() }), || format!("{name} is added\n"))?;
        }
        ControlCommand::Remove { application, dag } => {
            let wanted = removed(&socket, application.as_deref(), &dag)?;
            change(&socket, &wanted)?;
            let names = |names: &[Name]| names.iter().map(Name::to_string).collect::<Vec<_>>();
            let (dags, applications) = (names(&wanted.remove_dags), names(&wanted.remove_applications));
            output.result(&json!({ "removed": { "dags": dags, "applications": applications } }), || {
                format!("removed: {}\n", [dags.as_slice(), &applications].concat().join(", "))
            })?;
        }
        ControlCommand::Use { set } => {
            change(&socket, &Wanted { native: Some(set.clone()), ..Wanted::default() })?;
            output.result(&json!({ "used": set }), || format!("{set} is used\n"))?;
        }
        ControlCommand::Write { view, release: true, .. } => {
            tell(&socket, Method::DELETE, &format!("/v1/views/{}", segment(&view)?), Vec::new())?;
            output.result(&json!({ "released": view }), || format!("{view} is released\n"))?;
        }
        ControlCommand::Write { view, file, .. } => {
            let body = match file {
                Some(file) if file.as_os_str() != "-" => read(&file)?,
                _ => {
                    let mut body = Vec::new();
                    io::stdin().read_to_end(&mut body)?;
                    body
                }
            };
            tell(&socket, Method::PUT, &format!("/v1/views/{}", segment(&view)?), body)?;
            output.result(&json!({ "written": view }), || format!("{view} is written\n"))?;
        }
        ControlCommand::Run { dag } => {
            tell(&socket, Method::POST, &format!("/v1/dags/{}/run", segment(&dag)?), Vec::new())?;
            output.result(&json!({ "run": dag }), || format!("{dag} is set off\n"))?;
        }
        ControlCommand::DryRun { dag, revision, batch } => {
            let batch: Option<Value> = batch.as_deref().map(parsed).transpose()?;
            let mut asked = json!({ "revision": revision });
            if let Some(batch) = batch {
                asked["batch"] = batch;
            }
            let what = format!("/v1/dags/{}/dry-run", segment(&dag)?);
            let answer = tell(&socket, Method::POST, &what, asked.to_string().into())?;
            let found: Value =
                serde_json::from_slice(&answer).map_err(|why| Failure::new(why.to_string()))?;
            output.result(&found, || would_write(&found))?;
        }
        ControlCommand::History => {
            let found = asked(&socket, "/v1/history")?;
            output.result(&found, || history(&found))?;
        }
        ControlCommand::Replay { file, with } => return replayed(&file, &with, output),
    }
    Ok(ExitCode::SUCCESS)
}

fn graph(socket: &Path, dot: bool, output: &Output) -> Result<(), Failure> {
    let what = match (output.is_json(), dot) {
        (true, _) => "json",
        (_, true) => "dot",
        _ => "text",
    };
    let answer = ask(socket, &format!("/v1/graph?as={what}"))?;
    let value = serde_json::from_slice(&answer).unwrap_or(Value::Null);
    output.result(&value, || String::from_utf8_lossy(&answer).into_owned())
}

fn change(socket: &Path, wanted: &Wanted) -> Result<(), Failure> {
    let body = serde_json::to_vec(wanted).map_err(|why| Failure::new(why.to_string()))?;
    tell(socket, Method::POST, "/v1/applications", body)?;
    Ok(())
}

fn added(arguments: &AddArguments) -> Result<Wanted, Failure> {
    let manifest: Manifest = parsed(&arguments.manifest)?;
    let component = read(&arguments.component)?;
    let named = |text: &String| text.parse().map_err(|why| Failure::usage(format!("--allow {text}: {why}")));
    let allow = arguments.allow.iter().map(named).collect::<Result<Vec<Name>, _>>()?;
    let mut dags = arguments.dag.iter().map(|file| parsed(file)).collect::<Result<Vec<Dag>, _>>()?;
    if !arguments.on.is_empty() || !arguments.every.is_empty() {
        let mut triggers = Vec::new();
        for view in &arguments.on {
            let view: ViewId = view.parse().map_err(|why| Failure::usage(format!("--on {view}: {why}")))?;
            triggers.push(Trigger::View(view));
        }
        triggers.extend(arguments.every.iter().map(|time| Trigger::Every(Duration::from(*time))));
        dags.push(Dag::contained(&manifest.name, triggers));
    }
    let (component, dags) =
        bounded(AddedComponent { manifest, component, dags, allow, fuel: arguments.fuel });
    Ok(Wanted { components: vec![component], dags, ..Wanted::default() })
}

/// An application goes with the DAG that runs nothing else; another DAG that needs it has the change refused.
fn removed(socket: &Path, application: Option<&str>, dags: &[String]) -> Result<Wanted, Failure> {
    let named = |text: &str| text.parse::<Name>().map_err(|why| Failure::usage(format!("{text}: {why}")));
    let mut wanted = Wanted::default();
    for dag in dags {
        wanted.remove_dags.push(named(dag)?);
    }
    if let Some(name) = application {
        let graph = asked(socket, "/v1/graph")?;
        for dag in graph["dags"].as_array().into_iter().flatten() {
            let runs = dag["applications"].as_array().map_or(&[][..], Vec::as_slice);
            if let [only] = runs
                && only["name"] == name
            {
                wanted.remove_dags.push(named(dag["name"].as_str().unwrap_or_default())?);
            }
        }
        wanted.remove_applications.push(named(name)?);
    }
    wanted.remove_dags.sort();
    wanted.remove_dags.dedup();
    Ok(wanted)
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|why| Failure::new(format!("{}: {why}", file.display())))
}

/// A file in JSON: what is wrong with it is said with its line.
fn parsed<T: DeserializeOwned>(file: &Path) -> Result<T, Failure> {
    serde_json::from_slice(&read(file)?)
        .map_err(|why| Failure { code: 3, ..Failure::new(format!("{}: {why}", file.display())) })
}

fn applications(found: &Value) -> String {
    let heads = ["APPLICATION", "READS", "WRITES", "RUN BY"];
    let joined = |list: &Value| {
        let names: Vec<String> = list.as_array().into_iter().flatten().map(text).collect();
        if names.is_empty() { "-".to_owned() } else { names.join(" ") }
    };
    rows(&heads, found, |one| {
        vec![text(&one["name"]), joined(&one["reads"]), joined(&one["writes"]), joined(&one["dags"])]
    })
}

fn would_write(found: &Value) -> String {
    let written = found["writes"].as_object().into_iter().flatten();
    let mut said = format!("{} over revision {}:\n", text(&found["dag"]), text(&found["revision"]));
    let before = said.len();
    for (view, value) in written {
        said += &format!("{view} = {value:#}\n");
    }
    if said.len() == before {
        said += "it would write nothing\n";
    }
    said
}

fn history(found: &Value) -> String {
    rows(&["REVISION", "CHANGED"], found, |state| {
        let changed = state["changed"].as_array().map(|views| views.iter().map(text).collect::<Vec<_>>());
        vec![text(&state["revision"]), changed.map_or("-".to_owned(), |views| views.join(" "))]
    })
}

/// What is run in the place of an application of a recording.
type Others = BTreeMap<Name, Arc<dyn Application>>;

fn replayed(file: &Path, with: &[String], output: &Output) -> Result<ExitCode, Failure> {
    let unfit = |why: String| Failure { code: 2, ..Failure::new(format!("{}: {why}", file.display())) };
    let recorded = recording::read(file).map_err(|why| unfit(why.to_string()))?;
    let compiled: Compiled = serde_json::from_value(recorded.began).map_err(|why| unfit(why.to_string()))?;
    let others = others(with)?;
    if recorded.is_cut {
        output.note(&format!("{}: its last line is cut, and left out", file.display()));
    }
    let (mut code, mut fault) = (recorded.code, None);
    let found = |manifest: &Manifest| {
        let own = code.get_mut(&manifest.name).and_then(|queue| queue.pop_front())?;
        if let Some(other) = others.get(&manifest.name) {
            return Some(other.clone());
        }
        match own {
            Code::Compiled(set) => {
                compiled.application(set.as_deref().unwrap_or(&compiled.app), &manifest.name)
            }
            Code::Component(bytes) => component::load(manifest, &bytes).map_err(|why| fault = Some(why)).ok(),
        }
    };
    let ended = replay(&recorded.entries, found);
    let count = |of: fn(&Event) -> bool| recorded.entries.iter().filter(|entry| of(&entry.event)).count();
    let commits = count(|event| matches!(event, Event::Committed { .. }));
    let failures = count(|event| matches!(event, Event::Failed { .. }));
    let events = recorded.entries.len() - commits - failures;
    let (revision, divergence) = match ended {
        Ok(state) => (Some(state.revision()), None),
        Err(why @ (Divergence::Other { .. } | Divergence::NotTaken { .. })) => (None, Some(why.to_string())),
        Err(why) => return Err(unfit(fault.unwrap_or_else(|| why.to_string()))),
    };
    let value = json!({
        "events": events, "commits": commits, "failures": failures, "revision": revision,
        "is_cut": recorded.is_cut, "divergence": divergence,
    });
    let said = format!("{}, {}", counted(events, "event"), counted(commits, "commit"));
    output.result(&value, || match &divergence {
        None => format!("{said} and {}: all as recorded\n", counted(failures, "failure")),
        Some(why) => format!("{said}: it goes another way\n{why}\n"),
    })?;
    Ok(if divergence.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn others(with: &[String]) -> Result<Others, Failure> {
    let mut others = Others::new();
    for pair in with {
        let (manifest, component) = pair
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("--with {pair}: write MANIFEST=COMPONENT, two files")))?;
        let manifest: Manifest = parsed(Path::new(manifest))?;
        let code = component::load(&manifest, &read(Path::new(component))?).map_err(Failure::new)?;
        others.insert(manifest.name, code);
    }
    Ok(others)
}
