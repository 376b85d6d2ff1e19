//! Commands on testbeds that run, or are to.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub struct FileArguments {
    /// The network file
    pub file: PathBuf,
    /// Name of the testbed, where it is not the file's
    #[arg(long)]
    pub name: Option<String>,
}

#[derive(Args)]
pub struct UpArguments {
    /// The network file
    pub file: PathBuf,
    /// Name of the testbed, where it is not the file's
    #[arg(long)]
    pub name: Option<String>,
    /// Let every link's conditions change while it is up
    #[arg(long)]
    pub live: bool,
}

#[derive(Args)]
pub struct DownArguments {
    /// The testbeds; the only one there is when none is named
    pub names: Vec<String>,
    /// Take all of yours down
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
}

#[derive(Args)]
pub struct Choice {
    /// The testbed; the only one there is when not named
    #[arg(long, short, visible_alias = "name")]
    pub testbed: Option<String>,
}

#[derive(Args)]
pub struct ExecArguments {
    #[command(flatten)]
    pub choice: Choice,
    /// Kill it after this time, such as `30s`
    #[arg(long)]
    pub timeout: Option<plait_model_quantity::TimeSpan>,
    /// The node
    pub node: String,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}

#[derive(Args)]
pub struct ShellArguments {
    #[command(flatten)]
    pub choice: Choice,
    /// The node
    pub node: String,
}

#[derive(Args)]
pub struct InspectArguments {
    /// The testbed; the only one there is when not named
    pub name: Option<String>,
    /// Print the supervisor's log instead; with `--json` as one list
    #[arg(long)]
    pub log: bool,
    /// Print its metrics in Prometheus' text form instead; with `--json` as a list of samples
    #[arg(long, conflicts_with = "log")]
    pub metrics: bool,
}

#[derive(Args)]
pub struct CaptureArguments {
    #[command(flatten)]
    pub choice: Choice,
    /// The interface: `node:interface`
    pub port: String,
    /// Write to this file instead of standard output; `--json` needs it
    #[arg(long, short)]
    pub write: Option<PathBuf>,
    /// Stop after this many packets
    #[arg(long, short)]
    pub count: Option<u64>,
    /// Keep at most this much of each packet
    #[arg(long, default_value = "256KiB")]
    pub snaplen: plait_model_quantity::ByteCount,
}
