//! Commands that help a shell and its reader.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub struct CompletionArguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct ManArguments {
    /// The folder
    pub folder: PathBuf,
}
