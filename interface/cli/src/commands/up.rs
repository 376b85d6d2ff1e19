//! `plait up`.

use crate::arguments::UpArguments;
use crate::load::{load, testbed};
use crate::output::{Failure, Output, counted};
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

pub fn up(arguments: UpArguments, output: &Output) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let loaded = load(&arguments.file)?;
    let up = testbed(&loaded, arguments.name).keep();
    let ready = if arguments.live { up.live() } else { up }.ready()?;
    let name = ready.name().to_owned();
    let nodes = loaded.network().nodes.len();
    let links = loaded.network().links.len();
    let mut progress = output.progress(&format!("building {name}"));
    ready.start(&mut |done, total| progress.update(done, total))?;
    drop(progress);
    crate::logging();
    let seconds = started.elapsed().as_secs_f64();
    output.result(&json!({ "name": name, "nodes": nodes, "links": links, "seconds": seconds }), || {
        format!("{name} is up: {}, {}, in {seconds:.2} s\n", counted(nodes, "node"), counted(links, "link"))
    })?;
    Ok(ExitCode::SUCCESS)
}
