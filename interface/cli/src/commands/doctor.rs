use crate::output::{Failure, Output};
use std::process::ExitCode;
pub fn doctor(_: &Output) -> Result<ExitCode, Failure> { Err(Failure::new("later")) }
