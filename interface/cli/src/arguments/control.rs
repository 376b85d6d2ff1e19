//! Commands on a controller's applications.

use super::ControllerChoice;
use clap::{Args, Subcommand};
use plait_model_quantity::TimeSpan;
use std::path::PathBuf;

/// `plait control`
#[derive(Args)]
pub struct ControlArguments {
    #[command(flatten)]
    pub choice: ControllerChoice,
    #[command(subcommand)]
    pub command: ControlCommand,
}

#[derive(Subcommand)]
pub enum ControlCommand {
    /// DAGs of applications, which of them conflict, and how long they took
    #[command(
        after_help = "Examples:\n  plait control graph\n  plait control graph --dot | dot -Tsvg > control.svg"
    )]
    Graph {
        /// In Graphviz' language
        #[arg(long)]
        dot: bool,
    },
    /// Applications, what they read and write, and which DAGs run them
    #[command(after_help = "Example:\n  plait control applications")]
    Applications,
    /// Add a component as an application, or put it in the place of the one of its name, while the controller runs
    #[command(
        after_help = "Examples:\n  plait control add degree.wasm --manifest degree.json --on links@1 --allow degree\n  plait control add better.wasm --manifest degree.json       in its place\n\nWhat is refused changes nothing."
    )]
    Add(AddArguments),
    /// Remove an application and the DAG that runs it alone, or another DAG
    #[command(after_help = "Examples:\n  plait control remove degree\n  plait control remove --dag counting")]
    Remove {
        /// The application
        #[arg(required_unless_present = "dag")]
        application: Option<String>,
        /// A DAG
        #[arg(long)]
        dag: Vec<String>,
    },
    /// Put a compiled-in set of applications in the place of the other, while switches stay connected
    #[command(after_help = "Example:\n  plait control use routing")]
    Use {
        /// learning-switch or routing
        set: String,
    },
    /// Write a view that applications read and none of them writes
    #[command(
        after_help = "Examples:\n  plait control write wanted@1 wanted.json\n  echo '{\"rules\": []}' | plait control write access-list@1 -\n  plait control write wanted@1 --release           let an application write it"
    )]
    Write {
        /// Which view: name and version
        view: String,
        /// Its value in JSON, as `plait controller views` shows it; - reads standard input
        #[arg(required_unless_present = "release")]
        file: Option<PathBuf>,
        /// Let it go instead: what it holds stays
        #[arg(long, conflicts_with = "file")]
        release: bool,
    },
    /// Have a DAG run now
    #[command(after_help = "Example:\n  plait control run degree")]
    Run {
        /// Which DAG
        dag: String,
    },
    /// What a DAG would write, over the state of now or of the past; nothing changes
    #[command(
        after_help = "Examples:\n  plait control dry-run degree\n  plait control dry-run degree --revision 17     one of `plait control history`"
    )]
    DryRun {
        /// Which DAG
        dag: String,
        /// Over which past state
        #[arg(long)]
        revision: Option<u64>,
        /// A file in JSON with what the stream brings that sets it off
        #[arg(long, value_name = "FILE")]
        batch: Option<PathBuf>,
    },
    /// Past states that the controller remembers, and which views each changed
    #[command(after_help = "Example:\n  plait controller run --history 100 & plait control history")]
    History,
    /// Run a recording again, and say whether all came out as it did
    #[command(
        after_help = "Examples:\n  plait controller run --record monday.jsonl\n  plait control replay monday.jsonl\n  plait control replay monday.jsonl --with degree.json=better.wasm\n\nExit code: 0 all is as recorded, 1 something is not, 2 it cannot be replayed."
    )]
    Replay {
        /// The recording
        file: PathBuf,
        /// Another component in the place of one of the recording, to see what it would have done
        #[arg(long, value_name = "MANIFEST=COMPONENT")]
        with: Vec<String>,
    },
}

#[derive(Args)]
pub struct AddArguments {
    /// The component
    pub component: PathBuf,
    /// Its manifest in JSON: its name, and the views that it reads and writes
    #[arg(long, value_name = "FILE")]
    pub manifest: PathBuf,
    /// Run it, in a DAG of its name, when this view changes or this stream brings a batch
    #[arg(long, value_name = "VIEW")]
    pub on: Vec<String>,
    /// Run it, in a DAG of its name, every so often
    #[arg(long, value_name = "TIME")]
    pub every: Vec<TimeSpan>,
    /// A DAG in JSON that runs it, in place of one of its name
    #[arg(long, value_name = "FILE", conflicts_with_all = ["on", "every"])]
    pub dag: Vec<PathBuf>,
    /// Let it write this view
    #[arg(long, value_name = "VIEW")]
    pub allow: Vec<String>,
    /// Instructions that a run of it may take, about, if its manifest does not say less: without this 200000000, a fraction
    /// of a second, if it reads `packet-ins@1`, and 4000000000 else
    #[arg(long, value_name = "N")]
    pub fuel: Option<u64>,
}
