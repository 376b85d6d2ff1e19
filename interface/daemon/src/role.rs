//! What a controller is beside others: asked, and changed.

use crate::router::{Api, fault};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use plait_control_openflow::Role;
use plait_dataplane_openflow::Controller;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long switches may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// `GET` and `POST /v1/role`.
pub fn routes() -> Router<Api> {
    Router::new().route("/v1/role", get(asked).post(changed))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    role: String,
    #[serde(default)]
    generation: Option<u64>,
}

async fn asked(State(controller): State<Arc<Controller>>) -> Json<Value> {
    let (_, roles) = controller.standing();
    Json(said(&controller, roles.into_iter().map(|(datapath, role)| (datapath, Ok::<_, String>(role)))))
}

async fn changed(
    State(controller): State<Arc<Controller>>,
    wanted: Result<Json<Wanted>, axum::extract::rejection::JsonRejection>,
) -> Response {
    let Wanted { role, generation } = match wanted {
        Ok(Json(wanted)) => wanted,
        Err(why) => return fault(StatusCode::BAD_REQUEST, &why.body_text()),
    };
    let Some(role) =
        [Role::Equal, Role::Master, Role::Slave].into_iter().find(|known| known.to_string() == role)
    else {
        return fault(StatusCode::BAD_REQUEST, &format!("{role:?} is no role: equal, master and slave are"));
    };
    if generation.is_some() && role != Role::Master {
        return fault(
            StatusCode::BAD_REQUEST,
            &format!("only a master stands in an election: leave the number out for {role}"),
        );
    }
    let told = controller.clone();
    // It waits for switches: on a thread that may.
    match tokio::task::spawn_blocking(move || told.stand(role, generation, PATIENCE)).await {
        Ok(Ok(roles)) => {
            let roles =
                roles.into_iter().map(|(datapath, role)| (datapath, role.map_err(|why| why.to_string())));
            Json(said(&controller, roles)).into_response()
        }
        Ok(Err(why)) => fault(StatusCode::CONFLICT, &why.to_string()),
        Err(why) => fault(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}

fn said(controller: &Controller, roles: impl Iterator<Item = (u64, Result<Role, String>)>) -> Value {
    let (candidacy, now) = controller.standing();
    let generation = (candidacy.role == Role::Master).then_some(candidacy.generation);
    let of = |(datapath, said): (u64, Result<Role, String>)| {
        let role = now.get(&datapath).map(Role::to_string);
        json!({ "datapath": format!("{datapath:016x}"), "role": role, "refused": said.err() })
    };
    json!({
        "role": candidacy.role.to_string(), "generation": generation, "switches": roles.map(of).collect::<Vec<_>>(),
    })
}
