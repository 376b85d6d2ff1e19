//! What is answered to what.

use crate::applications::{self, Source};
use crate::flows::flows;
use crate::json::json;
use crate::operator;
use axum::extract::{DefaultBodyLimit, FromRef, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use plait_control_runtime::{Graph, Timing, Trigger, ViewId};
use plait_dataplane_openflow::{Controller, NoAnswer, Statistics};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// How long a switch may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest body taken: components are some hundred kilobytes.
const LONGEST: usize = 64 << 20;

/// What is asked.
#[derive(Clone)]
pub struct Api {
    pub controller: Arc<Controller>,
    pub applications: Arc<dyn Source>,
}

impl FromRef<Api> for Arc<Controller> {
    fn from_ref(api: &Api) -> Self {
        api.controller.clone()
    }
}

/// The API of a controller. Applications that are added to it come from `applications`.
pub fn router(controller: Arc<Controller>, applications: Arc<dyn Source>) -> Router {
    Router::new()
        .route("/v1/switches", get(switches))
        .route("/v1/switches/{datapath}/flows", get(flows_of))
        .route("/v1/switches/{datapath}/release", post(release))
        .route("/v1/views", get(views))
        .route("/v1/views/{view}", get(view).put(operator::write).delete(operator::release))
        .route("/v1/applications", get(applications::list).post(applications::change))
        .route("/v1/dags/{dag}/run", post(operator::run))
        .route("/v1/dags/{dag}/dry-run", post(operator::dry_run))
        .route("/v1/history", get(operator::history))
        .route("/v1/statistics", get(statistics))
        .route("/v1/graph", get(graph))
        .route("/metrics", get(metrics))
        .merge(crate::role::routes())
        .fallback(nothing)
        .layer(DefaultBodyLimit::max(LONGEST))
        .with_state(Api { controller, applications })
}

type Of = State<Arc<Controller>>;

async fn switches(State(controller): Of) -> Json<Value> {
    let (requests, (_, roles)) = (controller.requests(), controller.standing());
    let all = controller.switches().into_iter().map(|(datapath, info)| {
        let ports = info.ports.iter().map(|port| {
            let [a, b, c, d, e, f] = port.address;
            json!({
                "number": port.number.0, "name": port.name, "up": port.up, "speed_kbit": port.speed,
                "address": format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"),
            })
        });
        json!({
            "datapath": format!("{datapath:016x}"),
            "connected": info.connected,
            "version": if info.version == 1 { "1.0" } else { "1.3" },
            "address": info.address,
            "maker": info.maker,
            "hardware": info.hardware,
            "software": info.software,
            "buffers": info.buffers,
            "tables": info.tables,
            "requests": requests.get(&datapath),
            "role": roles.get(&datapath).map(ToString::to_string),
            "ports": ports.collect::<Vec<_>>(),
        })
    });
    Json(all.collect())
}

/// A datapath as it was written.
fn datapath_of(text: &str) -> Result<u64, Box<Response>> {
    let no = |_| {
        let why = format!("{text:?} is no datapath: up to 16 hexadecimal digits are");
        Box::new(fault(StatusCode::BAD_REQUEST, &why))
    };
    u64::from_str_radix(text.trim_start_matches("0x"), 16).map_err(no)
}

async fn release(State(controller): Of, Path(datapath): Path<String>) -> Response {
    match datapath_of(&datapath) {
        Ok(number) if controller.release(number) => taken(),
        Ok(number) => {
            let why = format!(
                "the datapath {number:016x} is kept for nobody: its switch is there, or anybody may have it"
            );
            fault(StatusCode::NOT_FOUND, &why)
        }
        Err(no) => *no,
    }
}

async fn flows_of(State(controller): Of, Path(datapath): Path<String>) -> Response {
    let number = match datapath_of(&datapath) {
        Ok(number) => number,
        Err(no) => return *no,
    };
    // It waits for a switch: on a thread that may.
    match tokio::task::spawn_blocking(move || controller.flows(number, PATIENCE)).await {
        Ok(Ok(parts)) => Json(flows(&parts)).into_response(),
        Ok(Err(why @ NoAnswer::Unknown(_))) => fault(StatusCode::NOT_FOUND, &why.to_string()),
        Ok(Err(why)) => fault(StatusCode::GATEWAY_TIMEOUT, &why.to_string()),
        Err(why) => fault(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}

async fn views(State(controller): Of) -> Json<Value> {
    let all = controller.look(|runtime| runtime.views());
    let name = |name: &_| ToString::to_string(name);
    let of = |view: plait_control_runtime::ViewUse| {
        json!({
            "view": view.view.to_string(),
            "kind": view.kind,
            "schema": view.schema.to_string(),
            "readers": view.readers.iter().map(name).collect::<Vec<String>>(),
            "writers": view.writers.iter().map(name).collect::<Vec<String>>(),
        })
    };
    Json(all.into_iter().map(of).collect())
}

async fn view(State(controller): Of, Path(name): Path<String>) -> Response {
    let Ok(id) = name.parse::<ViewId>() else {
        return fault(StatusCode::BAD_REQUEST, &format!("{name:?} is no view: links@1 would be one"));
    };
    let schema = controller
        .look(|runtime| runtime.views().into_iter().find(|view| view.view == id))
        .map(|view| view.schema);
    match (schema, controller.state().content(&id)) {
        (Some(schema), Some(content)) => Json(json(&schema, content.value())).into_response(),
        (Some(_), None) => Json(Value::Null).into_response(),
        (None, _) => {
            fault(StatusCode::NOT_FOUND, &format!("there is no view {id}: /v1/views lists those that are"))
        }
    }
}

async fn statistics(State(controller): Of) -> Json<Value> {
    let ((connections, refused), staged) = (controller.connections(), controller.staged());
    let address = controller.address().ok().map(|address| address.to_string());
    Json(json!({
        "address": address, "mark": controller.mark().to_string(), "workers": controller.statistics(), "connections": connections, "refused": refused,
        "claims": controller.claims(), "unread": controller.unread(), "staged": {
            "held": staged.held, "answered": staged.answered, "abandoned": staged.abandoned,
            "overdue": staged.overdue, "superseded": staged.superseded
        },
    }))
}

#[derive(Deserialize)]
struct Form {
    #[serde(default, rename = "as")]
    form: Option<String>,
}

async fn graph(State(controller): Of, Query(asked): Query<Form>) -> Response {
    let graph: Graph = controller.look(|runtime| runtime.graph());
    match asked.form.as_deref() {
        None | Some("json") => Json(drawn(&graph)).into_response(),
        Some("dot") => graph.dot().into_response(),
        Some("text") => graph.to_string().into_response(),
        Some(other) => fault(
            StatusCode::BAD_REQUEST,
            &format!("a graph is given as json, dot or text, not as {other:?}"),
        ),
    }
}

fn drawn(graph: &Graph) -> Value {
    let text = |all: &[ViewId]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let timed = |timing: &Timing| {
        let micros = |time: Duration| time.as_nanos() as f64 / 1000.0;
        json!({
            "count": timing.count(), "last_us": micros(timing.last()), "mean_us": micros(timing.mean()),
            "p99_us": micros(timing.p99()),
        })
    };
    let dags = graph.dags.iter().map(|dag| {
        let applications =
            dag.nodes.iter().map(|(name, timing)| json!({ "name": name.to_string(), "runs": timed(timing) }));
        let edges = dag.edges.iter().map(|(before, after)| [before.to_string(), after.to_string()]);
        let triggers = dag.triggers.iter().map(|trigger| match trigger {
            Trigger::View(view) => json!({ "view": view.to_string() }),
            Trigger::Every(time) => json!({ "every_us": time.as_nanos() as f64 / 1000.0 }),
        });
        json!({
            "name": dag.name.to_string(),
            "applications": applications.collect::<Vec<_>>(),
            "edges": edges.collect::<Vec<_>>(), "triggers": triggers.collect::<Vec<_>>(),
            "reads": text(&dag.reads), "writes": text(&dag.writes), "streams": text(&dag.streams),
            "runs": timed(&dag.runs), "waits": timed(&dag.waits),
            "running": dag.running, "failed": dag.failed,
            "preempted": dag.preempted, "dropped": dag.dropped,
        })
    });
    let conflicts = graph.conflicts.iter().map(|conflict| {
        json!({
            "first": conflict.first.to_string(), "second": conflict.second.to_string(), "views": text(&conflict.views),
        })
    });
    let drivers = graph.drivers.iter().map(|(name, writes, told)| {
        json!({ "name": name.to_string(), "writes": text(writes), "is_told": text(told) })
    });
    json!({
        "dags": dags.collect::<Vec<_>>(),
        "conflicts": conflicts.collect::<Vec<_>>(),
        "drivers": drivers.collect::<Vec<_>>(),
    })
}

async fn metrics(State(controller): Of) -> Response {
    let mut page = String::new();
    let (connections, refused) = controller.connections();
    let _ = writeln!(
        page,
        "# TYPE plait_controller_connections gauge\nplait_controller_connections {connections}"
    );
    let _ = writeln!(
        page,
        "# TYPE plait_controller_refused_total counter\nplait_controller_refused_total {refused}"
    );
    let claims = controller.claims();
    let _ = writeln!(
        page,
        "# TYPE plait_controller_claims_total counter\nplait_controller_claims_total {claims}"
    );
    let _ = writeln!(
        page,
        "# TYPE plait_controller_unread_bytes gauge\nplait_controller_unread_bytes {}",
        controller.unread()
    );
    let workers: Vec<Value> = controller.statistics().iter().map(|one| json!(one)).collect();
    let Value::Object(names) = json!(Statistics::default()) else { return page.into_response() };
    for name in names.keys() {
        let (kind, end) = if name == "threshold" { ("gauge", "") } else { ("counter", "_total") };
        let _ = writeln!(page, "# TYPE plait_controller_{name}{end} {kind}");
        for (number, worker) in workers.iter().enumerate() {
            let _ = writeln!(page, "plait_controller_{name}{end}{{worker=\"{number}\"}} {}", worker[name]);
        }
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], page).into_response()
}

async fn nothing() -> Response {
    fault(
        StatusCode::NOT_FOUND,
        "there is nothing here: the API begins with /v1/switches, /v1/views, /v1/applications",
    )
}

/// What was asked is done.
pub fn taken() -> Response {
    Json(json!({ "done": true })).into_response()
}

pub fn fault(code: StatusCode, why: &str) -> Response {
    (code, Json(json!({ "error": why }))).into_response()
}
