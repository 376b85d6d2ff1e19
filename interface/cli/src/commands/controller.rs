//! `plait controller`.

use super::access;
use super::additions::{bounded, listed};
use crate::arguments::{App, ControllerArguments, ControllerCommand, ControllerRunArguments, Preset, Weight};
use crate::compiled::{Applications, Compiled};
use crate::output::{Failure, Output, table};
use plait_control_forwarding::access::AccessList;
use plait_control_openflow::{Batching, Role};
use plait_control_runtime::{self as runtime, Memory, Runtime, View};
use plait_dataplane_agent::open_many_files;
use plait_dataplane_openflow::{Config, Controller, Idleness, Recorder, Security};
use plait_interface_daemon::{
    Method, NotAsked, Recording, ask, begin_with, router, serve, set_view, socket, tell,
};
use plait_testbed_runtime::kernel::process::block_signals;
use plait_testbed_runtime::plan::AddedComponent;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

pub fn controller(arguments: ControllerArguments, output: &Output) -> Result<ExitCode, Failure> {
    let name = named(&arguments.choice.name)?;
    let socket = socket(&name);
    match arguments.command {
        ControllerCommand::Run(arguments) => return run(&arguments, &name, &socket, output),
        ControllerCommand::Load(arguments) => return super::load::load(&arguments, output),
        ControllerCommand::Switches => {
            let found = asked(&socket, "/v1/switches")?;
            output.result(&found, || switches(&found))?;
        }
        ControllerCommand::Flows { datapath } => {
            let found = asked(&socket, &format!("/v1/switches/{}/flows", segment(&datapath)?))?;
            output.result(&found, || flows(&found))?;
        }
        ControllerCommand::Release { datapath } => {
            let path = format!("/v1/switches/{}/release", segment(&datapath)?);
            tell(&socket, Method::POST, &path, Vec::new())?;
            output.result(&json!({ "released": datapath }), || format!("{datapath} is kept no longer\n"))?;
        }
        ControllerCommand::Role { role, generation } => {
            return self::role(&socket, role.map(Role::from), generation, output);
        }
        ControllerCommand::Topology => view(&socket, "topology@1", output).map_err(|why| Failure {
            message: match why.message.contains("there is no view") {
                true => "nobody discovers the topology here: `plait control use routing` does".to_owned(),
                false => why.message,
            },
            ..why
        })?,
        ControllerCommand::Stats { metrics: true } => {
            let page = String::from_utf8_lossy(&ask(&socket, "/metrics")?).into_owned();
            output.result(&json!({ "metrics": page }), || page.clone())?;
        }
        ControllerCommand::Stats { metrics: false } => {
            let found = asked(&socket, "/v1/statistics")?;
            output.result(&found, || statistics(&found))?;
        }
        ControllerCommand::Access { rules: Some(file) } => {
            let list = access::json(&access::read(&file)?);
            tell(&socket, Method::PUT, &format!("/v1/views/{}", AccessList::id()), list.to_string().into())?;
            output.result(&list, || access::text(&list))?;
        }
        ControllerCommand::Access { rules: None } => {
            let found = asked(&socket, &format!("/v1/views/{}", AccessList::id()))?;
            output.result(&found, || access::text(&found))?;
        }
        ControllerCommand::Views { view: Some(name) } => view(&socket, &segment(&name)?, output)?,
        ControllerCommand::Views { view: None } => {
            let found = asked(&socket, "/v1/views")?;
            output.result(&found, || views(&found))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run(
    arguments: &ControllerRunArguments,
    name: &str,
    socket: &Path,
    output: &Output,
) -> Result<ExitCode, Failure> {
    // A list may come by a pipe: who waits for it can be interrupted, as yet.
    let added = arguments.applications.as_deref().map(listed).transpose()?.unwrap_or_default();
    // Each switch is one.
    open_many_files();
    // Before any thread is started: all of them leave signals to this one.
    let stopped = block_signals(&[Signal::INT, Signal::TERM, Signal::HUP])?;
    let mut config = config(arguments)?;
    let rules = arguments.access.as_deref().map(access::read).transpose()?;
    let compiled = compiled(arguments, name, config.workers)?;
    config.mark = compiled.mark();
    let recording = arguments.record.as_deref().map(|file| recording(file, &compiled)).transpose()?;
    let track = recording.as_ref().map(Recording::track);
    config.recorder = track.clone().map(|track| Recorder::new(move |entry| track.entry(entry)));
    let settings = runtime::Config { record: recording.is_some(), ..Default::default() };
    let environment = Memory::new(arguments.history.into());
    let mut runtime = Runtime::with_environment(settings, Box::new(environment));
    let set = compiled.set(&compiled.app).ok_or_else(|| Failure::usage(format!("no {}", compiled.app)))?;
    set.add_to(&mut runtime, Duration::ZERO).map_err(|why| Failure::new(why.to_string()))?;
    let applications = Arc::new(Applications { compiled, track });
    begin_with_added(&mut runtime, &applications, added, arguments.applications.as_deref())?;
    let controller =
        Controller::start(arguments.listen, config, runtime).map_err(|why| Failure::new(why.to_string()))?;
    if let Some(rules) = rules {
        let obeyed = set_view(&controller, &AccessList::id(), &access::json(&rules));
        obeyed.map_err(|(_, why)| Failure::new(why))?;
    }
    let address = controller.address()?;
    let controller = Arc::new(controller);
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let (began, begun) = std::sync::mpsc::channel();
    let api = {
        let (router, socket) = (router(controller.clone(), applications), socket.to_owned());
        let ready = move || {
            let _ = began.send(());
        };
        std::thread::spawn(move || {
            let served = serve(router, &socket, ready, async {
                let _ = ended.await;
            });
            served.map_err(|why| why.to_string())
        })
    };
    // Whoever serves says so, or ends with the reason why not.
    if begun.recv().is_err() {
        let why = api.join().ok().and_then(Result::err);
        return Err(Failure::new(why.unwrap_or_else(|| "the northbound API could not be served".to_owned())));
    }
    output.note(&format!(
        "a controller listens on {address}; ask it by `plait controller switches`; Ctrl-C ends it"
    ));
    stopped()?;
    let _ = end.send(());
    let _ = api.join();
    drop(controller);
    if let (Some(recording), Some(file)) = (recording, &arguments.record) {
        let cut = |why| Failure::new(format!("{}: the recording is cut: {why}", file.display()));
        recording.finish().map_err(cut)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Has the components of a list join the applications that are compiled in.
fn begin_with_added(
    runtime: &mut Runtime,
    source: &Applications,
    added: Vec<AddedComponent>,
    list: Option<&Path>,
) -> Result<(), Failure> {
    // A component may have the name of an application that is there: where its code is, is told behind that one.
    if let Some(track) = &source.track {
        while let Some(entry) = runtime.poll_entry() {
            track.entry(entry);
        }
    }
    let (components, dags): (Vec<_>, Vec<_>) = added.into_iter().map(bounded).unzip();
    begin_with(runtime, source, components, dags.concat()).map_err(|why| Failure {
        code: 3,
        ..Failure::new(format!("{}: {why}", list.unwrap_or(Path::new("applications")).display()))
    })
}

fn compiled(arguments: &ControllerRunArguments, name: &str, workers: usize) -> Result<Compiled, Failure> {
    // What authenticates probes of links is drawn anew each time, and known to nobody else.
    let mut key = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    let app = match arguments.app {
        App::LearningSwitch => "learning-switch",
        App::Routing => "routing",
    };
    Ok(Compiled {
        app: app.to_owned(),
        idle_timeout: arguments.idle_timeout,
        away: arguments.keep_switch.into(),
        barriers: arguments.path_barriers.map(Duration::from),
        instances: workers,
        key,
        controller: whose(name),
    })
}

/// Who a controller is. Choice: its name and its host's, since most are called as they are without one, and which host it is does not
/// change when it starts again.
fn whose(name: &str) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{name}@{}", host.trim())
}

fn recording(file: &Path, compiled: &Compiled) -> Result<Recording, Failure> {
    let began = serde_json::to_value(compiled).map_err(|why| Failure::new(why.to_string()))?;
    Recording::create(file, began).map_err(|why| Failure::new(format!("{}: {why}", file.display())))
}

fn config(arguments: &ControllerRunArguments) -> Result<Config, Failure> {
    let mut config = match arguments.preset {
        None => Config { design: arguments.design.into(), ..Config::default() },
        Some(Preset::Nox) => Config::nox(),
        Some(Preset::Beacon) => Config::beacon(),
    };
    if arguments.preset.is_none() {
        config.batching = match arguments.batch {
            Some(requests) => Batching::Static(requests),
            None => Batching::Adaptive(arguments.batch_bound.into()),
        };
    }
    config.latency_bound = arguments.latency_bound.map(Duration::from);
    config.workers = arguments.workers.unwrap_or(config.workers).max(1);
    config.pin = !arguments.no_pin;
    config.revisits = !arguments.no_revisit;
    config.output_batching = !arguments.no_output_batching;
    config.pools = !arguments.no_pools;
    config.scale = !arguments.no_scale;
    config.idleness = if arguments.no_idleness_map { Idleness::Unknown } else { arguments.poll };
    if let Some(read) = arguments.read {
        config.read = read.bytes() as usize;
    }
    for Weight { datapath, weight } in &arguments.weight {
        if config.weights.insert(*datapath, *weight).is_some() {
            return Err(Failure::usage(format!(
                "the switch {datapath:016x} has two weights: give it one --weight"
            )));
        }
    }
    config.keep_datapath = arguments.keep_switch.into();
    config.role = arguments.role.into();
    config.generation = elected(config.role, arguments.generation)?;
    if let (Some(key), Some(certificate), Some(authorities)) =
        (&arguments.key, &arguments.certificate, &arguments.authorities)
    {
        let security = Security::load(key, certificate, authorities);
        config.security = Some(security.map_err(|why| Failure::new(why.to_string()))?);
    }
    Ok(config)
}

/// The number of an election, where one can be given.
fn elected(role: Role, generation: Option<u64>) -> Result<Option<u64>, Failure> {
    match generation {
        Some(_) if role != Role::Master => Err(Failure::usage(format!(
            "only a master stands in an election: leave --generation out for {role}"
        ))),
        generation => Ok(generation),
    }
}

/// Asks what it is, or has it ask for something else. That a switch refuses is a failure.
fn role(
    socket: &Path,
    role: Option<Role>,
    generation: Option<u64>,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let answer = match role {
        None => ask(socket, "/v1/role")?,
        Some(role) => {
            let generation = elected(role, generation)?;
            let wanted = json!({ "role": role.to_string(), "generation": generation });
            tell(socket, Method::POST, "/v1/role", wanted.to_string().into())?
        }
    };
    let found: Value = serde_json::from_slice(&answer).map_err(|why| Failure::new(why.to_string()))?;
    output.result(&found, || roles(&found))?;
    let refused: Vec<&Value> =
        found["switches"].as_array().into_iter().flatten().filter(|one| !one["refused"].is_null()).collect();
    for one in &refused {
        output.note(&format!("{}: {}", text(&one["datapath"]), text(&one["refused"])));
    }
    Ok(if refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A name that is a file's: nothing else may be reached by it.
pub fn named(name: &str) -> Result<String, Failure> {
    crate::arguments::name(name)
        .map_err(|why| Failure::usage(format!("{name:?} is no name of a controller: {why}")))
}

/// A part of a path as it was typed.
pub fn segment(text: &str) -> Result<String, Failure> {
    let good = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '@' | ':');
    if text.is_empty() || !text.chars().all(good) {
        return Err(Failure::usage(format!("{text:?} names nothing: letters, digits, - and @ do")));
    }
    Ok(text.replace(':', ""))
}

pub fn asked(socket: &Path, what: &str) -> Result<Value, Failure> {
    serde_json::from_slice(&ask(socket, what)?).map_err(|why| Failure::new(why.to_string()))
}

fn view(socket: &Path, name: &str, output: &Output) -> Result<(), Failure> {
    let found = asked(socket, &format!("/v1/views/{name}"))?;
    output.result(&found, || format!("{found:#}\n"))
}

fn switches(found: &Value) -> String {
    let heads = ["DATAPATH", "VERSION", "STATE", "ROLE", "PORTS", "REQUESTS", "FROM", "SOFTWARE"];
    let row = |switch: &Value| {
        let ports = switch["ports"].as_array().map_or(0, Vec::len);
        vec![
            text(&switch["datapath"]),
            text(&switch["version"]),
            if switch["connected"] == true { "connected".to_owned() } else { "gone".to_owned() },
            text(&switch["role"]),
            ports.to_string(),
            text(&switch["requests"]),
            text(&switch["address"]),
            text(&switch["software"]),
        ]
    };
    rows(&heads, found, row)
}

fn roles(found: &Value) -> String {
    let row = |switch: &Value| vec![text(&switch["datapath"]), text(&switch["role"])];
    let wanted = match &found["generation"] {
        Value::Null => format!("wants to be {}\n", text(&found["role"])),
        generation => format!("wants to be {}, in the election {generation}\n", text(&found["role"])),
    };
    rows(&["DATAPATH", "ROLE"], &found["switches"], row) + &wanted
}

fn flows(found: &Value) -> String {
    let heads = ["TABLE", "PRIORITY", "PACKETS", "BYTES", "AGE", "IDLE", "MATCH", "ACTIONS"];
    let row = |flow: &Value| {
        let fields = flow["match"].as_object().into_iter().flatten();
        let fields: Vec<String> = fields.map(|(name, value)| format!("{name}={}", text(value))).collect();
        let actions = flow["actions"].as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
        vec![
            text(&flow["table"]),
            text(&flow["priority"]),
            text(&flow["packets"]),
            text(&flow["bytes"]),
            format!("{:.1} s", flow["age_seconds"].as_f64().unwrap_or_default()),
            format!("{} s", text(&flow["idle_timeout"])),
            if fields.is_empty() { "any".to_owned() } else { fields.join(",") },
            if actions.is_empty() { "drop".to_owned() } else { actions.join(",") },
        ]
    };
    rows(&heads, found, row)
}

fn statistics(found: &Value) -> String {
    let heads =
        ["WORKER", "REQUESTS", "BATCHES", "THRESHOLD", "NS/REQUEST", "MESSAGES", "WRITES", "SKIPS", "SLEEPS"];
    let workers = found["workers"].as_array().cloned().unwrap_or_default();
    let numbered: Vec<Value> = workers
        .into_iter()
        .enumerate()
        .map(|(number, mut worker)| {
            worker["number"] = json!(number);
            worker
        })
        .collect();
    let row = |worker: &Value| {
        let requests = worker["requests"].as_u64().unwrap_or_default();
        let each = worker["processing"].as_u64().unwrap_or_default().checked_div(requests);
        let mut cells = vec![text(&worker["number"]), requests.to_string(), text(&worker["batches"])];
        cells.push(text(&worker["threshold"]));
        cells.push(each.map_or("-".to_owned(), |each| each.to_string()));
        cells.extend(["messages", "writes", "skips", "sleeps"].map(|name| text(&worker[name])));
        cells
    };
    let connections = format!(
        "{} connections, {} refused, {} bytes unread\n",
        found["connections"], found["refused"], found["unread"]
    );
    rows(&heads, &Value::Array(numbered), row) + &connections
}

fn views(found: &Value) -> String {
    let heads = ["VIEW", "KIND", "WRITTEN BY", "READ BY"];
    let joined = |list: &Value| {
        let names: Vec<String> = list.as_array().into_iter().flatten().map(text).collect();
        if names.is_empty() { "-".to_owned() } else { names.join(", ") }
    };
    let row = |view: &Value| {
        vec![text(&view["view"]), text(&view["kind"]), joined(&view["writers"]), joined(&view["readers"])]
    };
    rows(&heads, found, row)
}

pub fn rows(heads: &[&str], found: &Value, row: impl Fn(&Value) -> Vec<String>) -> String {
    let mut all = vec![heads.iter().map(|head| (*head).to_owned()).collect()];
    all.extend(found.as_array().into_iter().flatten().map(row));
    table(&all)
}

pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl From<NotAsked> for Failure {
    fn from(why: NotAsked) -> Self {
        Self::new(why.to_string())
    }
}
