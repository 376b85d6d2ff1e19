//! What goes into results beside samples: the file that was run, and what nodes leave behind.

use crate::results::{PLAN, ResultsError, Staging};
use crate::section::Collect;
use crate::world::World;
use plait_model_topology::Network;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::time::Duration;

/// Where recordings of control planes stand in results.
const CONTROL: &str = "control";

/// The network and the file it was read from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The network.
    pub network: &'a Network,
    /// The file's path as the user gave it.
    pub file: &'a str,
    /// The file, byte for byte.
    pub text: &'a [u8],
    /// The files it names (traces, nodes' files), by their paths as written, and their bytes.
    pub named: &'a [(String, Vec<u8>)],
}

impl Input<'_> {
    /// The file's name without its folder.
    pub fn file_name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or(self.file)
    }

    /// SHA-256 of the file, in hexadecimal.
    pub fn sha256(&self) -> String {
        hash(self.text)
    }

    /// The same of the files it names.
    pub(crate) fn hashes(&self) -> BTreeMap<String, String> {
        self.named.iter().map(|(path, bytes)| (path.clone(), hash(bytes))).collect()
    }

    /// The file and those it names, as they stand in a results folder, so that it can be run again by itself.
    pub(crate) fn copies(&self) -> Vec<(String, &[u8])> {
        let mut copies = vec![("network.yaml".to_owned(), self.text)];
        for (path, bytes) in self.named {
            // Choice: a path that leads out of the file's own folder would lead out of the results as well. The copy
            // is kept under `files/`, where a person finds it; only those inside stand where the file says.
            let inside = !path.starts_with('/') && !path.split('/').any(|part| part == "..");
            let name = path.trim_start_matches('/').replace("../", "up/").replace("..", "up");
            let relative = if inside && !is_ours(path) { path.clone() } else { format!("files/{name}") };
            copies.push((relative, bytes));
        }
        copies
    }
}

fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Whether a path would stand where results stand.
fn is_ours(path: &str) -> bool {
    let first = path.trim_start_matches("./").split('/').next().unwrap_or_default();
    matches!(
        first,
        "results.json"
            | "network.yaml"
            | "report.html"
            | "samples"
            | "commands"
            | "nodes"
            | "captures"
            | "control"
            | "experiment.json"
            | "summary.json"
            | "runs.csv"
            | "runs"
            | "plan.json"
            | "twice"
            | "twice.json"
            | "waiting"
    )
}

/// Writes down what was built.
pub(super) fn keep_plan(world: &dyn World, staging: &Staging) -> Result<(), ResultsError> {
    let path = staging.path(PLAN)?;
    let plan = world.plan();
    let written =
        File::create(&path).and_then(|file| Ok(serde_json::to_writer(BufWriter::new(file), &plan)?));
    written.map_err(|error| ResultsError::write(&path, error))
}

/// Brings back every node's files. Returns what could not be.
pub(super) fn collect(
    world: &dyn World,
    network: &Network,
    collect: &Collect,
    start: Duration,
    staging: &Staging,
) -> Result<Vec<String>, ResultsError> {
    let mut failures = Vec::new();
    if collect.control {
        let into = staging.subfolder(CONTROL)?;
        if let Err(error) = world.recordings(&into) {
            failures.push(format!("recordings of control planes: {error}"));
        }
        // Their clock is the world's, and so whoever replays them can say instants of the run.
        let began = u64::try_from(start.as_nanos()).unwrap_or(u64::MAX);
        let clock = serde_json::json!({ "run_began_ns": began });
        staging.write(&format!("{CONTROL}/clock.json"), clock.to_string().as_bytes())?;
    }
    for node in &network.nodes {
        let wanted = collect.files.iter().filter(|request| request.node == node.name);
        let paths: Vec<String> = wanted.map(|request| request.path.clone()).collect();
        let into = staging.subfolder(&format!("nodes/{}", node.name))?;
        if let Err(error) = world.collect(&node.name, &paths, &into) {
            failures.push(format!("files of {}: {error}", node.name));
        }
        // Most nodes leave nothing.
        let _ = fs::remove_dir(&into);
    }
    let _ = fs::remove_dir(staging.folder().join(Path::new("nodes")));
    Ok(failures)
}
