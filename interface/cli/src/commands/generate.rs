//! `plait generate`.

use crate::arguments::{GenerateArguments, Shape};
use crate::output::{Failure, Output};
use std::process::ExitCode;

pub fn generate(arguments: GenerateArguments, output: &Output) -> Result<ExitCode, Failure> {
    let _ = (arguments, output);
    let _: Option<Shape> = None;
    Err(Failure::new("later"))
}
