//! `plait validate`.

use crate::arguments::{ValidateArguments, WorldArgument};
use crate::load::{load, portable};
use crate::output::{Failure, Output, counted};
use plait::Wishes;
use serde_json::{Value, json};
use std::process::ExitCode;

pub fn validate(arguments: ValidateArguments, output: &Output) -> Result<ExitCode, Failure> {
    let mut results: Vec<Value> = Vec::new();
    let mut faulty = false;
    let in_virtual_time = arguments.world == WorldArgument::Simulated;
    for path in &arguments.files {
        let checked = load(path).and_then(|loaded| {
            loaded.desired(&Wishes { in_virtual_time, ..Wishes::default() }, None)?;
            loaded.every_cell()?;
            if in_virtual_time {
                portable(&loaded, None)?;
            }
            Ok(loaded)
        });
        let name = path.display().to_string();
        match checked {
            Ok(loaded) => {
                let (nodes, links) = (loaded.network().nodes.len(), loaded.network().links.len());
                if !output.is_json() {
                    output.result(&Value::Null, || {
                        format!("{name}: fine, {}, {}\n", counted(nodes, "node"), counted(links, "link"))
                    })?;
                }
                results.push(json!({ "file": name, "valid": true, "nodes": nodes, "links": links }));
            }
            Err(failure) => {
                faulty = true;
                if !output.is_json() {
                    output.failure(&failure);
                }
                results.push(json!({ "file": name, "valid": false, "error": failure.message, "faults": failure.detail }));
            }
        }
    }
    if output.is_json() {
        output.result(&json!(results), String::new)?;
    }
    Ok(if faulty { ExitCode::from(3) } else { ExitCode::SUCCESS })
}
