//! Commands on runs and their results.

use clap::{Args, ValueEnum};
use plait::KeepAwake;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args)]
pub struct RunArguments {
    /// The network file
    pub file: PathBuf,
    /// Where it runs
    #[arg(long, value_enum, default_value_t)]
    pub world: WorldArgument,
    /// In virtual time, leave out what cannot run there instead of refusing the file; the report lists it
    #[arg(long)]
    pub leave_out: bool,
    /// In virtual time, how many threads work on a run; its results are the same with any number
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// Keep the packets of an interface in `captures/` of the results, as `collect: {capture: …}` of the file does;
    /// may be given several times
    #[arg(long, value_name = "NODE:INTERFACE")]
    pub capture: Vec<String>,
    /// Keep this machine's processors from halting meanwhile: a hypervisor gives away those that do, and packets are late until
    /// they are back. What keeps them awake gives way to all programs. `auto` when not given
    #[arg(long, value_enum, value_name = "WHEN")]
    pub awake: Option<AwakeArgument>,
    /// Where the results go; `results/NAME-NUMBER` when not given
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Name of the testbed while it runs
    #[arg(long)]
    pub name: Option<String>,
    /// Go on with an experiment in the folder where it was begun
    #[arg(long, value_name = "FOLDER", conflicts_with = "output")]
    pub resume: Option<PathBuf>,
    /// Say which runs an experiment has, and run none
    #[arg(long, conflicts_with = "cell")]
    pub dry: bool,
    /// Run one cell of an experiment, counted from 1
    #[arg(long)]
    pub cell: Option<usize>,
    /// Which repeat of the cell, counted from 1: its seed is the file's plus what is beyond the first
    #[arg(long, requires = "cell")]
    pub repeat: Option<usize>,
    /// Make a run twice, and compare what was built, what chance decided and what was measured; after an experiment,
    /// the first repeat of its first cell, or of `--cell`
    #[arg(long, conflicts_with = "dry")]
    pub twice: bool,
    /// How many runs of an experiment may go on side by side at most: as many as the machine has room for, as far as
    /// the load of one that was alone tells. Shaped links keep a processor each run. In virtual time as many as there
    /// are processors for their threads
    #[arg(long, value_name = "N", conflicts_with_all = ["dry", "cell"], value_parser = at_least_one)]
    pub jobs: Option<usize>,
    /// Write a JUnit file too, with a test case for each run and each assertion of it
    #[arg(long, value_name = "FILE", conflicts_with = "dry")]
    pub junit: Option<PathBuf>,
    /// End when the parent does
    #[arg(long, hide = true)]
    pub with_parent: bool,
}

/// When processors are kept from halting.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AwakeArgument {
    /// Where there is a hypervisor, and you may
    Auto,
    /// Everywhere; a run that may not is refused
    Always,
    /// Nowhere
    Never,
}

impl From<AwakeArgument> for KeepAwake {
    fn from(argument: AwakeArgument) -> Self {
        match argument {
            AwakeArgument::Auto => Self::Auto,
            AwakeArgument::Always => Self::Always,
            AwakeArgument::Never => Self::Never,
        }
    }
}

/// A world that a file can run in.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum WorldArgument {
    /// Real protocol stacks in namespaces
    #[default]
    Testbed,
    /// The simulator, in virtual time
    Simulated,
}

#[derive(Args)]
pub struct AwakeArguments {
    /// Run the command even if processors cannot be kept awake
    #[arg(long = "try")]
    pub attempt: bool,
    /// What to run; its exit code is passed on
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Args)]
pub struct ReplayArguments {
    /// The results folder of a run whose file says `collect: {control: true}`, or a folder of recordings
    pub folder: PathBuf,
    /// Say what each member decided, and when
    #[arg(long, short)]
    pub verbose: bool,
}

#[derive(Args)]
pub struct ReportArguments {
    /// A results folder
    pub folder: PathBuf,
}

#[derive(Args)]
pub struct CompareArguments {
    /// A results folder, of a run or of an experiment
    pub first: PathBuf,
    /// Another
    pub second: PathBuf,
    /// Write the comparison as an HTML page too
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a number from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}
