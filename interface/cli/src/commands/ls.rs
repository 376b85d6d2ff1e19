//! `plait ls`.

use crate::output::{Failure, Output, table};
use plait_testbed_runtime::control::{Directory, Testbed};
use serde_json::json;
use std::process::ExitCode;

pub fn ls(output: &Output) -> Result<ExitCode, Failure> {
    let mut rows =
        vec![["NAME", "PID", "STATUS", "NODES", "LINKS", "UPTIME", "FILE"].map(str::to_owned).to_vec()];
    let mut list = Vec::new();
    for found in Directory::open()?.list()? {
        // A testbed may end between the listing and the question.
        let Ok(report) = Testbed::find(Some(&found.name)).and_then(|testbed| testbed.inspect()) else {
            continue;
        };
        rows.push(vec![
            report.name.clone(),
            report.pid.to_string(),
            report.status.clone(),
            report.nodes.len().to_string(),
            report.links.len().to_string(),
            format!("{:.0}s", report.uptime_s),
            report.file.clone(),
        ]);
        list.push(json!({ "name": report.name, "pid": report.pid, "status": report.status, "nodes": report.nodes.len(),
            "links": report.links.len(), "uptime_s": report.uptime_s, "file": report.file, "version": report.version }));
    }
    let none = list.is_empty();
    output.result(&json!(list), || if none { "no testbed is up\n".to_owned() } else { table(&rows) })?;
    Ok(ExitCode::SUCCESS)
}
