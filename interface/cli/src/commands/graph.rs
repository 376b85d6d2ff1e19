use crate::arguments::GraphArguments;
use crate::output::{Failure, Output};
use std::process::ExitCode;
pub fn graph(_: GraphArguments, _: &Output) -> Result<ExitCode, Failure> { Err(Failure::new("later")) }
