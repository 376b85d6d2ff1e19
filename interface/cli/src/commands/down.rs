//! `plait down`.

use crate::arguments::DownArguments;
use crate::output::{Failure, Output};
use plait_testbed_runtime::control::{Directory, Testbed};
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

pub fn down(arguments: DownArguments, output: &Output) -> Result<ExitCode, Failure> {
    let testbeds = if arguments.all {
        let names: Vec<String> = Directory::open()?.list()?.into_iter().map(|found| found.name).collect();
        names.iter().map(|name| Testbed::find(Some(name))).collect::<Result<Vec<_>, _>>()?
    } else if arguments.names.is_empty() {
        vec![Testbed::find(None)?]
    } else {
        arguments.names.iter().map(|name| Testbed::find(Some(name))).collect::<Result<Vec<_>, _>>()?
    };
    let mut done = Vec::new();
    for testbed in testbeds {
        let started = Instant::now();
        let name = testbed.name().to_owned();
        let mut progress = output.progress(&format!("taking {name} down"));
        testbed.down(&mut |done, total| progress.update(done, total))?;
        drop(progress);
        let seconds = started.elapsed().as_secs_f64();
        if !output.is_json() {
            output.result(&json!(null), || format!("{name} is down, in {seconds:.2} s\n"))?;
        }
        done.push(json!({ "name": name, "seconds": seconds }));
    }
    if output.is_json() {
        output.result(&json!(done), String::new)?;
    }
    Ok(ExitCode::SUCCESS)
}
