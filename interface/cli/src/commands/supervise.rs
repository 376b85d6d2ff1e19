//! `plait supervise`: what the library starts where it must not fork itself.

use crate::output::Failure;
use plait_testbed_runtime::supervisor::serve_as_deputy;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;

pub fn supervise() -> Result<ExitCode, Failure> {
    serve_as_deputy(io::stdin().as_fd().try_clone_to_owned()?)?;
    Ok(ExitCode::SUCCESS)
}
