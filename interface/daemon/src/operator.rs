//! Whoever asks the API as a driver: the views that people write.

use crate::json::{json, value};
use crate::router::{Api, fault, taken};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plait_control_runtime::{Content, Kind, Name, Port, Runtime, Signature, ViewId, ViewUse};
use plait_dataplane_openflow::Controller;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// The driver's name.
pub const OPERATOR: &str = "operator";

/// Writes a view that somebody reads and nobody else writes.
pub async fn write(State(api): State<Api>, Path(view): Path<String>, body: Bytes) -> Response {
    let Ok(id) = view.parse::<ViewId>() else {
        return fault(StatusCode::BAD_REQUEST, &format!("{view:?} is no view: access-list@1 would be one"));
    };
    let text = match serde_json::from_slice(&body) {
        Ok(text) => text,
        Err(why) => return fault(StatusCode::BAD_REQUEST, &format!("this is no JSON: {why}")),
    };
    match set_view(&api.controller, &id, &text) {
        Ok(()) => taken(),
        Err((code, why)) => fault(code, &why),
    }
}

/// Writes a view that somebody reads and nobody else writes: `text` as [`crate::json::json`] has it.
///
/// # Errors
/// Why not, with the code of HTTP for it.
pub fn set_view(controller: &Controller, view: &ViewId, text: &Value) -> Result<(), (StatusCode, String)> {
    controller.change(|runtime, now| written(runtime, now, view, text))
}

/// Lets a view go, so that an application may write it. What it holds stays.
pub async fn release(State(api): State<Api>, Path(view): Path<String>) -> Response {
    let released = api.controller.change(|runtime, _| {
        let kept: Vec<ViewUse> =
            own(runtime).into_iter().filter(|own| own.view.to_string() != view).collect();
        (kept.len() < own(runtime).len()).then(|| drive(runtime, kept))
    });
    match released {
        Some(Ok(())) => taken(),
        Some(Err(why)) => fault(StatusCode::CONFLICT, &why),
        None => fault(StatusCode::NOT_FOUND, &format!("nobody has written {view:?} here")),
    }
}

fn written(
    runtime: &mut Runtime,
    now: Duration,
    view: &ViewId,
    text: &Value,
) -> Result<(), (StatusCode, String)> {
    let Some(found) = runtime.views().into_iter().find(|used| used.view == *view) else {
        let why = format!("nothing reads {view}: /v1/views lists the views that there are");
        return Err((StatusCode::NOT_FOUND, why));
    };
    let conflict = |why: String| (StatusCode::CONFLICT, why);
    if found.kind == Kind::Stream {
        return Err(conflict(format!("{view} is a stream, which is not there to be set")));
    }
    if let Some(writer) = found.writers.iter().find(|writer| writer.as_str() != OPERATOR) {
        let remedy = match runtime.applications().any(|manifest| manifest.name == *writer) {
            true => format!("`plait control remove {writer}` first"),
            false => "a driver, which tells what its devices say".to_owned(),
        };
        return Err(conflict(format!("{view} is written by {writer}: {remedy}")));
    }
    let value =
        value(&found.schema, text).map_err(|why| (StatusCode::BAD_REQUEST, format!("of {view} {why}")))?;
    let mut all = own(runtime);
    if all.iter().all(|own| own.view != *view) {
        all.push(found);
        drive(runtime, all).map_err(conflict)?;
    }
    let changes = vec![(view.clone(), Content::plain(value))];
    runtime.handle_views(now, &Name::of_rust(OPERATOR), changes).map_err(|why| conflict(why.to_string()))
}

/// What the operator writes already.
fn own(runtime: &Runtime) -> Vec<ViewUse> {
    let is_own = |used: &ViewUse| used.writers.iter().any(|writer| writer.as_str() == OPERATOR);
    runtime.views().into_iter().filter(is_own).collect()
}

/// Lets go what nobody reads any more.
pub fn prune(runtime: &mut Runtime) {
    let (kept, gone): (Vec<ViewUse>, Vec<ViewUse>) =
        own(runtime).into_iter().partition(|used| !used.readers.is_empty());
    if !gone.is_empty() {
        // What it wrote and goes on to write is what it wrote before.
        let _ = drive(runtime, kept);
    }
}

/// Makes these the views that the operator writes.
fn drive(runtime: &mut Runtime, views: Vec<ViewUse>) -> Result<(), String> {
    let name = Name::of_rust(OPERATOR);
    // There may be none yet.
    let _ = runtime.remove_driver(&name);
    let port =
        |used: ViewUse| Port { view: used.view, kind: used.kind, schema: used.schema, optional: false };
    let outputs: Vec<Port> = views.into_iter().map(port).collect();
    outputs.iter().for_each(|port| runtime.grant(&name, &port.view.name));
    runtime.add_driver(&name, Signature { inputs: Vec::new(), outputs }).map_err(|why| why.to_string())
}

/// Has a DAG run now.
pub async fn run(State(api): State<Api>, Path(dag): Path<String>) -> Response {
    let Ok(name) = dag.parse::<Name>() else { return no_dag(&dag) };
    match api.controller.change(|runtime, now| runtime.handle_trigger(now, &name)) {
        Ok(()) => taken(),
        Err(why) => fault(StatusCode::CONFLICT, &why.to_string()),
    }
}

/// What a dry run is asked for.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Dry {
    /// Over which past state; over the latest if it is not said.
    revision: Option<u64>,
    /// What the stream that sets it off would bring.
    batch: Option<Value>,
}

/// What a DAG would write, over a state of now or of the past. Nothing changes.
pub async fn dry_run(State(api): State<Api>, Path(dag): Path<String>, body: Bytes) -> Response {
    let Ok(name) = dag.parse::<Name>() else { return no_dag(&dag) };
    let body = if body.is_empty() { &b"{}"[..] } else { &body };
    let asked: Dry = match serde_json::from_slice(body) {
        Ok(asked) => asked,
        Err(why) => return fault(StatusCode::BAD_REQUEST, &format!("this asks for no dry run: {why}")),
    };
    // Applications take their time: on a thread that may, and without the lock that every batch waits for.
    match tokio::task::spawn_blocking(move || would_write(&api, &name, asked)).await {
        Ok(Ok(found)) => Json(found).into_response(),
        Ok(Err((code, why))) => fault(code, &why),
        Err(why) => fault(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}

fn would_write(api: &Api, name: &Name, asked: Dry) -> Result<Value, (StatusCode, String)> {
    let (dry, views, revision) = api.controller.look(|runtime| {
        let dag = runtime.dag(name).ok_or_else(|| (StatusCode::NOT_FOUND, unknown(name.as_str())))?;
        let state = match asked.revision {
            None => runtime.state(),
            Some(revision) => runtime.past(revision).ok_or_else(|| {
                let why = format!(
                    "revision {revision} is not remembered: `plait control history` lists those that are, and \
                     `plait controller run --history` says how many"
                );
                (StatusCode::GONE, why)
            })?,
        };
        let dry = runtime.dry(dag, &state).map_err(|why| (StatusCode::CONFLICT, why.to_string()))?;
        Ok((dry, runtime.views(), state.revision()))
    })?;
    let schema = |view: &ViewId| views.iter().find(|used| used.view == *view).map(|used| &used.schema);
    let bad = |why: String| (StatusCode::BAD_REQUEST, why);
    let batch = match (dry.stream(), asked.batch) {
        (Some(stream), Some(batch)) => {
            let schema = schema(stream).ok_or_else(|| bad(format!("nothing declares {stream}")))?;
            Some(Content::plain(value(schema, &batch).map_err(|why| bad(format!("of {stream} {why}")))?))
        }
        (None, Some(_)) => return Err(bad(format!("no stream sets {name} off: there is no batch of it"))),
        (Some(stream), None) => {
            return Err(bad(format!("{name} is set off by batches of {stream}: give one as `batch`")));
        }
        (None, None) => None,
    };
    let written = dry.run(batch).map_err(|why| (StatusCode::CONFLICT, why.to_string()))?;
    let drawn =
        |(view, content): (&ViewId, &Content)| Some((view.to_string(), json(schema(view)?, content.value())));
    let writes: Map<String, Value> = written.iter().filter_map(drawn).collect();
    Ok(serde_json::json!({ "dag": name.to_string(), "revision": revision, "writes": writes }))
}

/// States that are remembered, the latest first, each with the views that it changed.
pub async fn history(State(api): State<Api>) -> Json<Value> {
    let mut states = Vec::new();
    api.controller.look(|runtime| {
        let latest = runtime.state();
        let before = (0..latest.revision()).rev().map_while(|revision| runtime.past(revision));
        states.extend(std::iter::once(latest.clone()).chain(before));
    });
    let changed = |(place, state): (usize, &plait_control_runtime::Snapshot)| {
        let before = states.get(place + 1)?;
        let other = |(view, content): &(&ViewId, &Content)| {
            !before.content(view).is_some_and(|before| before.same(content))
        };
        Some(state.views().filter(other).map(|(view, _)| view.to_string()).collect::<Vec<_>>())
    };
    let line = |(place, state)| {
        let state: &plait_control_runtime::Snapshot = state;
        serde_json::json!({ "revision": state.revision(), "changed": changed((place, state)) })
    };
    Json(states.iter().enumerate().map(line).collect())
}

fn unknown(dag: &str) -> String {
    format!("there is no DAG {dag:?}: `plait control graph` shows those that there are")
}

fn no_dag(dag: &str) -> Response {
    fault(StatusCode::NOT_FOUND, &unknown(dag))
}
