//! From a path to a network without a fault, and what was wrong as a failure.

use crate::output::Failure;
use plait::{Checked, Error, Fault, Network, Starter, Up};
use plait_model_topology::diagnostic::Report;
use plait_testbed_experiment::sweep::SweepError;
use serde_json::{Value, json};
use std::path::Path;

/// Reads a network file and checks it.
pub fn load(path: &Path) -> Result<Checked, Failure> {
    Ok(Network::read(path)?.check()?)
}

/// Looks whether all of a network can run in virtual time: in one cell of its experiment, or in all of them.
pub fn portable(network: &Checked, cell: Option<usize>) -> Result<(), Failure> {
    let found = match (network.experiment(), cell) {
        (Some(_), Some(cell)) => network.in_cell(cell, 1)?.unportable(),
        _ => network.unportable_in_any_cell()?,
    };
    match found {
        Some(faults) => Err(Error::Faulty(faults).into()),
        None => Ok(()),
    }
}

/// A testbed of a network, whose supervisor is forked from this process: it has one thread until then.
pub fn testbed(network: &Checked, name: Option<String>) -> Up {
    let up = Up::of(Ok(network.clone())).starter(Starter::Fork);
    match name {
        Some(name) => up.named(name),
        None => up,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let detail = match &error {
            Error::Faulty(faults) => Some(faults.iter().map(detail).collect()),
            _ => None,
        };
        let code = match error {
            Error::Faulty(_) | Error::Unreadable { .. } => 3,
            Error::Misused(_) => 2,
            Error::Sweep(error) => return error.into(),
            _ => 1,
        };
        Self { message, detail, code }
    }
}

impl From<Report> for Failure {
    fn from(report: Report) -> Self {
        Error::Faulty(report.into()).into()
    }
}

fn detail(fault: &Fault) -> Value {
    let Fault { place, message, help } = fault;
    let (file, line, column) = (&*place.file, place.line, place.column);
    json!({ "file": file, "line": line, "column": column, "message": message, "help": help })
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        let code = if matches!(error, SweepError::Results(_)) { 1 } else { 2 };
        Self { code, ..Self::new(error.to_string()) }
    }
}
