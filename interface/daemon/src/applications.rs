//! Applications of a controller: what there are, and how they are changed while it runs.

use crate::operator::{OPERATOR, prune};
use crate::router::{Api, fault, taken};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use plait_control_runtime::{Application, Change, Dag, Manifest, Name, Refused, Runtime, Set};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Where applications come from that are added while a controller runs.
pub trait Source: Send + Sync + 'static {
    /// Sets that are compiled in, by their names: a controller has one of them at a time.
    fn sets(&self) -> Vec<(&'static str, Set)>;

    /// One of them is about to be added.
    fn adding(&self, set: &str);

    /// A component of WebAssembly as an application, or why it is none.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    fn component(&self, manifest: &Manifest, bytes: &[u8]) -> Result<Arc<dyn Application>, String>;
}

/// A change of a controller's applications, as `POST /v1/applications` takes it. All of it is made, or nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wanted {
    /// DAGs that go.
    pub remove_dags: Vec<Name>,
    /// Applications that go.
    pub remove_applications: Vec<Name>,
    /// A set that is compiled in, in the place of the others of its kind.
    pub native: Option<String>,
    /// Components that are added, or take the place of applications of their names.
    pub components: Vec<Component>,
    /// DAGs that are added, or take the place of those of their names.
    pub dags: Vec<Dag>,
}

/// A component and what it is permitted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Its bytes, as pairs of hexadecimal digits.
    #[serde(with = "plait_control_runtime::hexadecimal")]
    pub component: Vec<u8>,
    /// Views that it may write.
    #[serde(default)]
    pub allow: Vec<Name>,
}

pub async fn list(State(api): State<Api>) -> Json<Value> {
    let (manifests, dags): (Vec<Manifest>, Vec<Dag>) = api
        .controller
        .look(|runtime| (runtime.applications().cloned().collect(), runtime.dags().cloned().collect()));
    let of = |manifest: &Manifest| {
        let runs = dags.iter().filter(|dag| dag.nodes.contains(&manifest.name));
        let dags: Vec<String> = runs.map(|dag| dag.name.to_string()).collect();
        json!({
            "name": manifest.name.to_string(), "reads": words(&manifest.inputs), "writes": words(&manifest.outputs),
            "parallel": manifest.parallel, "fuel": manifest.fuel, "memory": manifest.memory, "dags": dags,
        })
    };
    Json(manifests.iter().map(of).collect())
}

fn words(declared: &[plait_control_runtime::Declared]) -> Vec<String> {
    declared.iter().map(ToString::to_string).collect()
}

pub async fn change(State(api): State<Api>, body: Bytes) -> Response {
    let wanted: Wanted = match serde_json::from_slice(&body) {
        Ok(wanted) => wanted,
        Err(why) => {
            return fault(StatusCode::BAD_REQUEST, &format!("this is no change of applications: {why}"));
        }
    };
    // A component is compiled, which takes a while: on a thread that may.
    match tokio::task::spawn_blocking(move || make(&api, wanted)).await {
        Ok(Ok(())) => taken(),
        Ok(Err(why)) => fault(StatusCode::CONFLICT, &why),
        Err(why) => fault(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    }
}

fn make(api: &Api, wanted: Wanted) -> Result<(), String> {
    let Wanted { remove_dags, remove_applications, native, components, dags } = wanted;
    let mut change = Change { remove_dags, remove_applications, ..Change::default() };
    let greet = native.is_some();
    if let Some(name) = native {
        let mut sets = api.applications.sets();
        let Some(place) = sets.iter().position(|(set, _)| *set == name) else {
            let names: Vec<&str> = sets.iter().map(|(name, _)| *name).collect();
            return Err(format!("no applications are called {name:?}: there are {}", names.join(" and ")));
        };
        let (_, set) = sets.swap_remove(place);
        let (dags, applications) = api.controller.look(|runtime| others(&set, sets, runtime));
        change.remove_dags.extend(dags);
        change.remove_applications.extend(applications);
        let added = Change::adding(set);
        change.grants.extend(added.grants);
        change.applications.extend(added.applications);
        change.dags.extend(added.dags);
        api.applications.adding(&name);
    }
    join(&mut change, &*api.applications, components, dags)?;
    let applied = api.controller.change(|runtime, now| {
        runtime.apply(now, change)?;
        prune(runtime);
        Ok(())
    });
    applied.map_err(|why: Refused| match &why {
        Refused::NotGranted { view, .. } => format!("{why} (--allow {})", view.name),
        Refused::Driven { view, other } if other.as_str() == OPERATOR => {
            format!("{why}: let it go by `plait control write {view} --release`")
        }
        _ => why.to_string(),
    })?;
    if greet {
        api.controller.greet();
    }
    Ok(())
}

/// Has components join what a controller is to begin with. All of them do, or none.
///
/// # Errors
/// Why one of them cannot be loaded, or does not fit, for people.
pub fn begin_with(
    runtime: &mut Runtime,
    source: &dyn Source,
    components: Vec<Component>,
    dags: Vec<Dag>,
) -> Result<(), String> {
    let mut change = Change::default();
    join(&mut change, source, components, dags)?;
    runtime.apply(Duration::ZERO, change).map_err(|why| match &why {
        Refused::NotGranted { view, .. } => format!("{why} (allow: [{}])", view.name),
        _ => why.to_string(),
    })
}

fn join(
    change: &mut Change,
    source: &dyn Source,
    components: Vec<Component>,
    dags: Vec<Dag>,
) -> Result<(), String> {
    for Component { manifest, component, allow } in components {
        let application = source.component(&manifest, &component)?;
        change.grants.extend(allow.into_iter().map(|view| (manifest.name.clone(), view)));
        change.applications.push((manifest, application));
    }
    change.dags.extend(dags);
    Ok(())
}

/// Of the other sets, DAGs and applications that are there and not of this one.
fn others(set: &Set, others: Vec<(&str, Set)>, runtime: &Runtime) -> (Vec<Name>, Vec<Name>) {
    let (mut dags, mut applications) = (Vec::new(), Vec::new());
    for (_, other) in others {
        let stays = |dag: &Dag| set.dags.iter().any(|own| own.name == dag.name);
        let there = |dag: &&Dag| runtime.dag(&dag.name).is_some() && !stays(dag);
        dags.extend(other.dags.iter().filter(there).map(|dag| dag.name.clone()));
        for (manifest, _) in other.applications {
            let stays = set.applications.iter().any(|(own, _)| own.name == manifest.name);
            if !stays && runtime.applications().any(|there| there.name == manifest.name) {
                applications.push(manifest.name);
            }
        }
    }
    for names in [&mut dags, &mut applications] {
        names.sort();
        names.dedup();
    }
    (dags, applications)
}
