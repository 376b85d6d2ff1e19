//! `plait up`.

use crate::arguments::UpArguments;
use crate::load::load;
use crate::output::{Failure, Output, counted};
use plait_testbed_runtime::plan::Wishes;
use plait_testbed_runtime::supervisor::{StartOptions, start};
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

pub fn up(arguments: UpArguments, output: &Output) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let loaded = load(&arguments.file)?;
    let desired = loaded.buildable(&Wishes { live: arguments.live, ..Wishes::default() }, None)?;
    let name = arguments.name.unwrap_or_else(|| loaded.network.name.clone());
    let nodes = loaded.network.nodes.len();
    let links = loaded.network.links.len();
    let mut progress = output.progress(&format!("building {name}"));
    start(
        StartOptions {
            name: name.clone(),
            file: arguments.file.display().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            desired,
            leased: false,
            live: arguments.live,
        },
        &mut |done, total| progress.update(done, total),
    )?;
    drop(progress);
    crate::logging();
    let seconds = started.elapsed().as_secs_f64();
    output.result(&json!({ "name": name, "nodes": nodes, "links": links, "seconds": seconds }), || {
        format!("{name} is up: {}, {}, in {seconds:.2} s\n", counted(nodes, "node"), counted(links, "link"))
    })?;
    Ok(ExitCode::SUCCESS)
}
