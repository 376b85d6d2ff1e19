//! What editors, shells and manuals want: the schema, completions, man pages.

use crate::arguments::{Cli, CompletionArguments, ManArguments};
use crate::output::Failure;
use clap::CommandFactory;
use plait::vocabulary;
use plait_model_topology::json_schema;
use std::process::ExitCode;

pub fn schema() -> Result<ExitCode, Failure> {
    println!("{:#}", json_schema(&vocabulary()));
    Ok(ExitCode::SUCCESS)
}

pub fn completions(arguments: CompletionArguments) -> Result<ExitCode, Failure> {
    clap_complete::generate(arguments.shell, &mut Cli::command(), "plait", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}

/// One page for the command and one for each verb.
pub fn man(arguments: ManArguments) -> Result<ExitCode, Failure> {
    std::fs::create_dir_all(&arguments.folder)?;
    clap_mangen::generate_to(Cli::command(), &arguments.folder)?;
    Ok(ExitCode::SUCCESS)
}
