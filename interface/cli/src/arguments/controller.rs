//! Commands on an OpenFlow controller.

use super::load::LoadArguments;
use clap::{Args, Subcommand, ValueEnum};
use plait_control_openflow::Design;
use plait_model_quantity::TimeSpan;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Which controller is spoken to.
#[derive(Args)]
pub struct ControllerChoice {
    /// The controller's name, where a host has several
    #[arg(long, global = true, default_value = "default", env = "PLAIT_CONTROLLER")]
    pub name: String,
}

#[derive(Args)]
pub struct ControllerArguments {
    #[command(flatten)]
    pub choice: ControllerChoice,
    #[command(subcommand)]
    pub command: ControllerCommand,
}

#[derive(Subcommand)]
pub enum ControllerCommand {
    /// Run an OpenFlow controller, for switches of 1.0 and 1.3
    #[command(
        after_help = "Examples:\n  plait controller run --app routing\n  plait controller run --listen 127.0.0.1:6653 --workers 4 --name lab"
    )]
    Run(Box<ControllerRunArguments>),
    /// Load a controller, this one or any other, with emulated switches, and time every answer
    #[command(
        after_help = "Examples:\n  plait controller load --switches 16 --flood                as much as it takes\n  plait controller load --rate 100000 --shape skewed --probe 5\n  plait controller load --window 1 --switches 1             one request at a time\n  plait controller load --merge one.json other.json"
    )]
    Load(Box<LoadArguments>),
    /// Switches that are or were connected
    #[command(after_help = "Example:\n  plait controller switches")]
    Switches,
    /// A switch's flows, as it says now
    #[command(after_help = "Example:\n  plait controller flows 0000000000000001")]
    Flows {
        /// Its datapath: up to 16 hexadecimal digits
        datapath: String,
    },
    /// Switches, links and hosts as they were discovered
    #[command(after_help = "Example:\n  plait controller topology --json")]
    Topology,
    /// What each worker has counted
    #[command(
        after_help = "Examples:\n  plait controller stats\n  plait controller stats --metrics      in Prometheus' text form"
    )]
    Stats {
        /// In Prometheus' text form
        #[arg(long)]
        metrics: bool,
    },
    /// Views of the network's state, or what one of them holds
    #[command(after_help = "Examples:\n  plait controller views\n  plait controller views links@1 --json")]
    Views {
        /// Which view: name and version
        view: Option<String>,
    },
}

#[derive(Args)]
pub struct ControllerRunArguments {
    /// What it does
    #[arg(long, value_enum, default_value = "learning-switch")]
    pub app: App,
    /// Where switches connect to
    #[arg(long, default_value = "127.0.0.1:6653")]
    pub listen: SocketAddr,
    /// Threads; one for each processor if nothing is said
    #[arg(long)]
    pub workers: Option<usize>,
    /// Who serves whom
    #[arg(long, value_enum, default_value = "round-robin")]
    pub design: DesignArgument,
    /// A well-known controller's way of working, in place of this one's
    #[arg(long, value_enum)]
    pub preset: Option<Preset>,
    /// Requests in a batch, always; without it the number adapts to rate and load
    #[arg(long, value_name = "REQUESTS")]
    pub batch: Option<usize>,
    /// How long a batch may take where its size adapts
    #[arg(long, default_value = "1ms", value_name = "TIME")]
    pub batch_bound: TimeSpan,
    /// Bytes that are read of a switch at once: no batch is smaller than what they hold
    #[arg(long, value_name = "BYTES", conflicts_with = "preset", value_parser = clap::value_parser!(u32).range(64..=1 << 20))]
    pub read: Option<u32>,
    /// Do not keep each worker to a processor of its own
    #[arg(long)]
    pub no_pin: bool,
    /// Send each message by itself
    #[arg(long)]
    pub no_output_batching: bool,
    /// Do not use the room of batches again
    #[arg(long)]
    pub no_pools: bool,
    /// Read every socket in every round
    #[arg(long)]
    pub no_idleness_map: bool,
    /// The controller's key in PEM, for TLS; without it anybody who can connect is a switch
    #[arg(long, requires_all = ["certificate", "authorities"], value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Its certificate in PEM, with what leads to a root
    #[arg(long, requires = "key", value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// Certificates in PEM of the authorities whose switches may connect
    #[arg(long, requires = "key", value_name = "FILE")]
    pub authorities: Option<PathBuf>,
    /// Seconds without a packet after which a flow goes
    #[arg(long, default_value_t = 60)]
    pub idle_timeout: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum App {
    /// Stations are learned by the ports that they are heard on, switch by switch; there must be no loop
    LearningSwitch,
    /// Links and hosts are discovered, and each flow gets one of the shortest ways; loops are welcome
    Routing,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DesignArgument {
    /// One worker reads, all process
    SharedQueue,
    /// As many switches for each worker
    StaticPartition,
    /// As much load for each worker, as it was measured
    DynamicPartition,
    /// Every worker serves every switch in turn
    RoundRobin,
}

impl From<DesignArgument> for Design {
    fn from(argument: DesignArgument) -> Self {
        match argument {
            DesignArgument::SharedQueue => Self::SharedQueue,
            DesignArgument::StaticPartition => Self::StaticPartition,
            DesignArgument::DynamicPartition => Self::DynamicPartition,
            DesignArgument::RoundRobin => Self::RoundRobin,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// Static partition, 512 KiB a read, each read a batch
    Nox,
    /// Partition by a hash of descriptors, batches of one read
    Beacon,
}

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
}
