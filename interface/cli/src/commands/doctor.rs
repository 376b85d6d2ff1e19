//! `plait doctor`.

use crate::output::{Failure, Output, table};
use plait_testbed_runtime::doctor::examine;
use serde_json::json;
use std::process::ExitCode;

pub fn doctor(output: &Output) -> Result<ExitCode, Failure> {
    let findings = examine();
    let fine = findings.iter().all(|finding| finding.there || !finding.needed);
    output.result(&json!(findings), || {
        let mut rows = Vec::new();
        for finding in &findings {
            let sign = match (finding.there, finding.needed) {
                (true, _) => "yes",
                (false, true) => "NO",
                (false, false) => "no",
            };
            rows.push(vec![
                sign.to_owned(),
                finding.what.clone(),
                finding.detail.clone(),
                finding.follows.clone(),
            ]);
        }
        table(&rows)
    })?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
