//! What may be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Virtual networks made real on ordinary Linux.
#[derive(Parser)]
#[command(name = "plait", version, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Examples:\n  plait run examples/quickstart.yaml     build, measure, experiment, report, tear down\n  \
plait up net.yaml && plait exec a -- ping -c 3 b && plait down\n\nExit codes: 0 done, 1 failed, 2 wrong use, 3 the file is faulty; \
`exec` passes on the code of its command."
)]
pub struct Cli {
    /// Answer in JSON.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Change a running testbed to what a file says, touching only what differs
    #[command(after_help = "Example:\n  plait apply net.yaml")]
    Apply(FileArguments),
    /// Write the packets of an interface in pcapng, to a file or to a pipe
    #[command(
        visible_alias = "tcpdump",
        after_help = "Examples:\n  plait capture a:eth0 | wireshark -k -i -\n  plait capture a:eth0 -w trace.pcapng --count 100"
    )]
    Capture(CaptureArguments),
    /// Print completions for a shell
    #[command(after_help = "Example:\n  plait completions bash > /etc/bash_completion.d/plait")]
    Completions(CompletionArguments),
    /// Say what this machine can and cannot do, and what follows
    #[command(after_help = "Example:\n  plait doctor --json")]
    Doctor,
    /// Take a testbed down; nothing of it is left
    #[command(visible_aliases = ["destroy", "stop"], after_help = "Examples:\n  plait down            the only one there is\n  plait down demo\n  plait down --all")]
    Down(DownArguments),
    /// Run a command in a node
    #[command(
        visible_alias = "cmd",
        after_help = "Examples:\n  plait exec a -- ping -c 3 b\n  plait exec --testbed demo a -- ip route"
    )]
    Exec(ExecArguments),
    /// Write a network file of a well-known shape
    #[command(
        after_help = "Examples:\n  plait generate fat-tree --k 4 > net.yaml\n  plait generate torus --rows 32 --columns 32"
    )]
    Generate(GenerateArguments),
    /// Draw a network, as a picture or in Graphviz' language
    #[command(
        after_help = "Example:\n  plait graph net.yaml --format svg > net.svg\n  plait graph net.yaml | dot -Tpdf > net.pdf"
    )]
    Graph(GraphArguments),
    /// Read a network from another tool's file
    #[command(
        after_help = "Examples:\n  plait import Abilene.graphml > abilene.yaml\n  plait import lab.clab.yml --scale 0.1 > lab.yaml\n  plait import --check zoo/"
    )]
    Import(ImportArguments),
    /// Say what a running testbed consists of
    #[command(after_help = "Example:\n  plait inspect demo --json")]
    Inspect(InspectArguments),
    /// Show, change, cut, heal or measure links of a running testbed
    #[command(subcommand)]
    Link(LinkCommand),
    /// List running testbeds
    #[command(visible_alias = "list", after_help = "Example:\n  plait ls --json")]
    Ls,
    /// Write man pages into a folder
    #[command(hide = true)]
    Man(ManArguments),
    /// Print what `up` or `apply` would do, without doing it
    #[command(after_help = "Example:\n  plait plan net.yaml")]
    Plan(FileArguments),
    /// Make the report of a results folder anew
    #[command(after_help = "Example:\n  plait report results/quickstart-1")]
    Report(ReportArguments),
    /// Build a network, run its experiment, write results and a report, and tear everything down
    #[command(after_help = "Example:\n  plait run examples/quickstart.yaml")]
    Run(RunArguments),
    /// Print the JSON Schema of network files, for editors
    #[command(after_help = "Example:\n  plait schema > plait.schema.json")]
    Schema,
    /// Open a shell in a node
    #[command(visible_alias = "connect", after_help = "Example:\n  plait shell a")]
    Shell(ShellArguments),
    /// Build a testbed from a file
    #[command(visible_aliases = ["deploy", "start"], after_help = "Examples:\n  plait up net.yaml\n  plait up net.yaml --name second --live")]
    Up(UpArguments),
    /// Check a file without building anything
    #[command(after_help = "Example:\n  plait validate net.yaml")]
    Validate(ValidateArguments),
}

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
pub struct ValidateArguments {
    /// The network files
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
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
    /// Print the supervisor's log instead
    #[arg(long)]
    pub log: bool,
    /// Print its metrics in Prometheus' text form instead
    #[arg(long, conflicts_with = "log")]
    pub metrics: bool,
}

#[derive(Subcommand)]
pub enum LinkCommand {
    /// Measure links against their request
    #[command(
        after_help = "Examples:\n  plait link check              all that are shaped\n  plait link check a-b --thorough"
    )]
    Check {
        #[command(flatten)]
        choice: Choice,
        /// The links; all shaped ones when none is named
        links: Vec<String>,
        /// Take the time the published accuracy needs
        #[arg(long)]
        thorough: bool,
    },
    /// Let nothing through a link
    #[command(visible_alias = "cut", after_help = "Example:\n  plait link fail a-b")]
    Fail {
        #[command(flatten)]
        choice: Choice,
        /// The link
        link: String,
    },
    /// Let packets through a failed link again
    #[command(visible_alias = "heal", after_help = "Example:\n  plait link recover a-b")]
    Recover {
        #[command(flatten)]
        choice: Choice,
        /// The link
        link: String,
    },
    /// Change conditions of a link while traffic flows
    #[command(
        after_help = "Examples:\n  plait link set a-b delay=50ms loss=1%\n  plait link set a-b rate=none --direction forward"
    )]
    Set {
        #[command(flatten)]
        choice: Choice,
        /// The link
        link: String,
        /// What changes: `delay=50ms loss=1% rate=10Mbit queue=50ms …`; `none` takes it away
        #[arg(required = true)]
        settings: Vec<String>,
        /// Which way; both when not given
        #[arg(long, value_enum)]
        direction: Option<Way>,
    },
    /// List links with their conditions
    #[command(visible_alias = "ls", after_help = "Example:\n  plait link show --json")]
    Show {
        #[command(flatten)]
        choice: Choice,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Way {
    /// From its first end to its second
    Forward,
    /// From its second end to its first
    Reverse,
}

#[derive(Args)]
pub struct CaptureArguments {
    #[command(flatten)]
    pub choice: Choice,
    /// The interface: `node:interface`
    pub port: String,
    /// Write to this file instead of standard output
    #[arg(long, short)]
    pub write: Option<PathBuf>,
    /// Stop after this many packets
    #[arg(long, short)]
    pub count: Option<u64>,
    /// Keep at most this much of each packet
    #[arg(long, default_value = "256KiB")]
    pub snaplen: plait_model_quantity::ByteCount,
}

#[derive(Args)]
pub struct GenerateArguments {
    /// The shape
    #[command(subcommand)]
    pub shape: ShapeArguments,
    /// Kind of the nodes that are not hosts anyway; `router` when not given
    #[arg(long, global = true)]
    pub kind: Option<String>,
    /// Hosts attached to each of those nodes
    #[arg(long, global = true, default_value_t = 0)]
    pub hosts: usize,
}

#[derive(Subcommand)]
pub enum ShapeArguments {
    /// k-ary fat-tree of switches, with hosts
    FatTree {
        /// Ports of a switch; even
        #[arg(long)]
        k: usize,
    },
    /// Every node linked to every other
    FullMesh {
        /// How many
        #[arg(long)]
        nodes: usize,
    },
    /// Rows and columns
    Grid {
        #[arg(long)]
        rows: usize,
        #[arg(long)]
        columns: usize,
    },
    /// A chain
    Line {
        #[arg(long)]
        nodes: usize,
    },
    /// Random regular graph (Jellyfish)
    RandomRegular {
        #[arg(long)]
        nodes: usize,
        #[arg(long)]
        degree: usize,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// A closed chain
    Ring {
        #[arg(long)]
        nodes: usize,
    },
    /// One router, hosts around it
    Star {
        #[arg(long)]
        leaves: usize,
    },
    /// Rows and columns, closed both ways
    Torus {
        #[arg(long)]
        rows: usize,
        #[arg(long)]
        columns: usize,
    },
    /// A tree
    Tree {
        #[arg(long)]
        arity: usize,
        #[arg(long)]
        depth: usize,
    },
}

#[derive(Args)]
pub struct GraphArguments {
    /// The network file
    pub file: PathBuf,
    /// The form
    #[arg(long, value_enum, default_value = "dot")]
    pub format: GraphFormat,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum GraphFormat {
    /// Graphviz
    Dot,
    /// A picture
    Svg,
}

#[derive(Args)]
pub struct ImportArguments {
    /// The file, or with `--check` a folder
    pub path: PathBuf,
    /// Import every file of a folder and print a table
    #[arg(long)]
    pub check: bool,
    /// The file's format, where neither its content nor its name tells
    #[arg(long, value_parser = crate::commands::import::format())]
    pub format: Option<String>,
    /// Multiply all rates, such as by `0.1`: a link engine holds 1 Gbit/s a link
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = crate::commands::import::factor)]
    pub scale: f64,
    /// What one unit of a drawing stands for, where nodes have no coordinates
    #[arg(long, value_name = "KILOMETRES", value_parser = crate::commands::import::factor)]
    pub kilometres_per_unit: Option<f64>,
}

#[derive(Args)]
pub struct RunArguments {
    /// The network file
    pub file: PathBuf,
    /// Where the results go; `results/NAME-NUMBER` when not given
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Name of the testbed while it runs
    #[arg(long)]
    pub name: Option<String>,
    /// Go on with an experiment in the folder where it was begun
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["output", "cell"])]
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
    /// End when the parent does
    #[arg(long, hide = true)]
    pub with_parent: bool,
}

#[derive(Args)]
pub struct ReportArguments {
    /// A results folder
    pub folder: PathBuf,
}

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
