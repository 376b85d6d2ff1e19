//! What may be typed: the commands here, their arguments in a file for each group of them.

use clap::{Parser, Subcommand};

mod control;
mod controller;
mod file;
mod link;
mod load;
mod name;
mod overlay;
mod pack;
mod paths;
mod run;
mod shell;
mod subflows;
mod testbed;
mod traffic;
mod tuning;

pub use control::{AddArguments, ControlArguments, ControlCommand};
pub use controller::{
    App, ControllerArguments, ControllerChoice, ControllerCommand, ControllerRunArguments, Preset,
};
pub use file::{
    GenerateArguments, GraphArguments, GraphFormat, ImportArguments, ShapeArguments, ValidateArguments,
};
pub use link::{LinkCommand, Way};
pub use load::{LoadArguments, Shape, VersionArgument};
pub use name::name;
pub use overlay::{
    AgentArguments, ConfigCommand, FibCommand, IdCommand, IpArguments, LocatorCommand, NodeCommand,
    OVERLAY_AGENT, OverlayArguments, OverlayCommand, PlaneArgument, ProfileArguments, RouteCommand,
    StatsArguments,
};
pub use pack::{PackArguments, UnpackArguments};
pub use paths::{DEFAULT, MethodArgument, PATHS_AGENT, PathAgentArguments, PathsArguments, PathsCommand};
pub use run::{
    AwakeArguments, CompareArguments, ReplayArguments, ReportArguments, RunArguments, WorldArgument,
};
pub use shell::{CompletionArguments, ManArguments};
pub use subflows::SubflowsArguments;
pub use testbed::{
    CaptureArguments, Choice, DownArguments, ExecArguments, FileArguments, InspectArguments, ShellArguments,
    UpArguments,
};
pub use traffic::{
    ListenArguments, PlanArguments, RatesArgument, SendArguments, TrafficArguments, TrafficCommand,
};
pub use tuning::Weight;

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
    /// Keep this machine's processors from halting while a command measures, as `plait run` does of itself
    #[command(
        after_help = "Examples:\n  plait awake -- iperf3 -c 192.0.2.1\n  plait awake --try -- make bench-links     measure without, where you may not"
    )]
    Awake(AwakeArguments),
    /// Write the packets of an interface in pcapng, to a file or to a pipe
    #[command(
        visible_alias = "tcpdump",
        after_help = "Examples:\n  plait capture a:eth0 | wireshark -k -i -\n  plait capture a:eth0 -w trace.pcapng --count 100\n  \
plait capture a:eth0 -w trace.pcapng --json     how many packets and bytes, and how many it missed"
    )]
    Capture(CaptureArguments),
    /// Set two results side by side
    #[command(
        after_help = "Example:\n  plait compare results/bufferbloat-1 results/bufferbloat-2 -o compared.html"
    )]
    Compare(CompareArguments),
    /// Print completions for a shell
    #[command(after_help = "Example:\n  plait completions bash > /etc/bash_completion.d/plait")]
    Completions(CompletionArguments),
    /// Look at the control runtime of a controller: applications, DAGs, conflicts
    Control(ControlArguments),
    /// Run an OpenFlow controller, and ask one that runs
    Controller(ControllerArguments),
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
    /// The words of ovstack's, the overlay FIB's and iplb's authors for their tables
    #[command(
        after_help = "Examples:\n  plait ip ov route add app ethernet to 10.0.0.3 via 10.0.0.2\n  plait ip ov show node\n  plait ip madcap set dev mc0 offset 16 length 48 src 172.16.0.1 proto udp\n  plait ip madcap add id 3c15c2c4f588 dst 10.0.0.1 dev mc0\n  plait ip lb add prefix 172.16.0.0/24 relay 10.0.0.1,10.0.0.4 type gre"
    )]
    Ip(IpArguments),
    /// Show, change, cut, heal or measure links of a running testbed
    #[command(subcommand)]
    Link(LinkCommand),
    /// List running testbeds
    #[command(visible_alias = "list", after_help = "Example:\n  plait ls --json")]
    Ls,
    /// Write man pages into a folder
    #[command(hide = true)]
    Man(ManArguments),
    /// Run an overlay on this host: identities over any underlay, by eBPF programs
    Overlay(OverlayArguments),
    /// Pack a results folder into one file to keep or to give away
    #[command(
        after_help = "Examples:\n  plait pack results/quickstart-1                 writes results/quickstart-1.tar.zst\n  \
plait pack results/bufferbloat-1 --output bufferbloat.tar.zst"
    )]
    Pack(PackArguments),
    /// Choose the paths of this host's packets through unmodified switches, by headers for relays
    Paths(PathsArguments),
    /// Print what `up` or `apply` would do, without doing it
    #[command(after_help = "Example:\n  plait plan net.yaml")]
    Plan(FileArguments),
    /// Replay what control planes of overlays recorded in a run: in virtual time, decision by decision, and say when which
    /// members had no way to each other, and why. Exits with 0 if they always had, with 1 if not, with 2 if it cannot be
    /// replayed
    #[command(
        after_help = "Examples:\n  plait replay results/overlay-1\n  plait replay results/overlay-1 --verbose      with all that members decided"
    )]
    Replay(ReplayArguments),
    /// Make the report of a results folder anew
    #[command(after_help = "Example:\n  plait report results/quickstart-1")]
    Report(ReportArguments),
    /// Build a network, run its experiment, write results and a report, and tear everything down
    #[command(
        after_help = "Examples:\n  plait run examples/quickstart.yaml\n  plait run net.yaml --world simulated      in virtual time\n  plait run net.yaml --world simulated --threads 4 --capture a:eth0"
    )]
    Run(RunArguments),
    /// Print the JSON Schema of network files, for editors
    #[command(after_help = "Example:\n  plait schema > plait.schema.json")]
    Schema,
    /// Open a shell in a node
    #[command(visible_alias = "connect", after_help = "Example:\n  plait shell a")]
    Shell(ShellArguments),
    /// Give each Multipath TCP connection of this host several subflows, from one interface
    Subflows(SubflowsArguments),
    /// Start a testbed in the place of a program that has threads
    #[command(hide = true)]
    Supervise,
    /// Send many UDP flows, count what comes of them, and see which a pattern makes
    Traffic(TrafficArguments),
    /// Unpack a results folder that `plait pack` packed; safe with files of strangers
    #[command(
        after_help = "Examples:\n  plait unpack quickstart-1.tar.zst               writes the folder quickstart-1 beside it\n  \
plait unpack quickstart-1.tar.zst --output results/theirs"
    )]
    Unpack(UnpackArguments),
    /// Build a testbed from a file
    #[command(visible_aliases = ["deploy", "start"], after_help = "Examples:\n  plait up net.yaml\n  plait up net.yaml --name second --live")]
    Up(UpArguments),
    /// Check a file without building anything
    #[command(
        after_help = "Examples:\n  plait validate net.yaml\n  plait validate net.yaml --world simulated      what cannot run in virtual time"
    )]
    Validate(ValidateArguments),
}
