//! `plait traffic`: a node's share of a run's traffic.

use crate::arguments::TrafficArguments;
use crate::output::Failure;
use plait_testbed_experiment::testbed::generator::carry;
use std::process::ExitCode;

pub fn traffic(arguments: &TrafficArguments) -> Result<ExitCode, Failure> {
    let share = serde_json::from_str(&arguments.share)
        .map_err(|error| Failure::usage(format!("this is no share of traffic: {error}")))?;
    let told = carry(&share)?;
    println!("{}", serde_json::to_string(&told).map_err(|error| Failure::new(error.to_string()))?);
    Ok(ExitCode::SUCCESS)
}
