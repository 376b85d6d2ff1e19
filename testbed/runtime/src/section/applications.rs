//! `applications:` of a controller as written, in a network file and in a file of its own.

use plait_model_quantity::TimeSpan;
use plait_model_topology::document::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;

/// Components that a controller runs beside its own applications from the beginning.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ControllerApplications(pub Vec<ControllerApplication>);

/// A component that a controller runs beside its own applications: as `plait control add` adds one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControllerApplication {
    /// Path of the component beside this file.
    pub application: Spanned<String>,
    /// Path of its manifest beside this file: its name, and the views that it reads and writes.
    pub manifest: Spanned<String>,
    /// Views and streams that set it off, in a DAG of its name.
    #[serde(default)]
    pub on: Vec<Spanned<String>>,
    /// It runs every so often, in a DAG of its name.
    #[serde(default)]
    pub every: Vec<Spanned<TimeSpan>>,
    /// Paths of DAGs in JSON beside this file that run it, in place of `on` and `every`.
    #[serde(default)]
    pub dags: Vec<Spanned<String>>,
    /// Views that it may write.
    #[serde(default)]
    pub allow: Vec<Spanned<String>>,
    /// Instructions that a run of it may take, about, if its manifest does not say less.
    pub fuel: Option<NonZeroU64>,
}
