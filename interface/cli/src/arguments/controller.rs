//! Commands on an OpenFlow controller.

use super::load::LoadArguments;
use super::tuning::{Weight, poll, read, weight};
use clap::{Args, Subcommand, ValueEnum};
use plait_control_openflow::{Design, Role};
use plait_dataplane_openflow::Idleness;
use plait_model_quantity::{ByteCount, TimeSpan};
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
        after_help = "Examples:\n  plait controller run --app routing\n  plait controller run --listen 127.0.0.1:6653 --workers 4 --name lab\n  plait controller run --role master --weight 0000000000000001=4\n  plait controller run --app routing --applications applications.yaml"
    )]
    Run(Box<ControllerRunArguments>),
    /// Load a controller, this one or any other, with emulated switches, and time every answer
    #[command(
        after_help = "Examples:\n  plait controller load --switches 16 --flood                as much as it takes\n  plait controller load --rate 100000 --shape skewed --probe 5\n  plait controller load --window 1 --switches 1             one request at a time\n  plait controller load --merge one.json other.json"
    )]
    Load(Box<LoadArguments>),
    /// What a controller is to its switches beside others, or have it ask to be something else
    #[command(
        after_help = "Examples:\n  plait controller role                  as it is\n  plait controller role master           who was master is slave from now on\n  plait controller role master --generation 7"
    )]
    Role {
        /// What it is to be
        #[arg(value_enum)]
        role: Option<RoleArgument>,
        /// The number of its election, in place of one that is newer than all before
        #[arg(long, value_name = "N", requires = "role")]
        generation: Option<u64>,
    },
    /// Switches that are or were connected
    #[command(after_help = "Example:\n  plait controller switches")]
    Switches,
    /// A switch's flows, as it says now
    #[command(after_help = "Example:\n  plait controller flows 0000000000000001")]
    Flows {
        /// Its datapath: up to 16 hexadecimal digits
        datapath: String,
    },
    /// Keep the datapath of a switch that is away for its certificate no longer
    #[command(
        after_help = "Example:\n  plait controller release 0000000000000001      its certificate was renewed while it was away"
    )]
    Release {
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
    /// Access lists: those that are obeyed, or others in their place
    #[command(
        after_help = "Examples:\n  plait controller access\n  plait controller access rules.yaml\n  echo '[]' | plait controller access /dev/stdin      everything is permitted\n\nrules.yaml, of which the first that speaks of a packet decides:\n  - permit: {ipv4_src: 10.0.0.1, ip_proto: tcp, destination_port: 22}\n  - deny: {eth_type: ipv4, ip_proto: tcp, destination_port: 22}"
    )]
    Access {
        /// A file with the rules that are to be obeyed from now on
        rules: Option<PathBuf>,
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
    /// How much of a processor's time a batch may take where its size adapts
    #[arg(long, default_value = "1ms", value_name = "TIME")]
    pub batch_bound: TimeSpan,
    /// From when a request can have come until its answer is written, at most, for switches that ask for no more than their
    /// share: reads get smaller as others get louder, which costs throughput
    #[arg(long, value_name = "TIME", conflicts_with = "preset")]
    pub latency_bound: Option<TimeSpan>,
    /// Bytes that are read from a switch at once; 64KiB, or the preset's
    #[arg(long, value_name = "BYTES", value_parser = read)]
    pub read: Option<ByteCount>,
    /// A switch's visits in a round, 1 without it: who is visited twice has twice the share. May be said several times
    #[arg(long, value_name = "DATAPATH=N", value_parser = weight)]
    pub weight: Vec<Weight>,
    /// Who asks where something waits: one worker, in each of its rounds, in one of so many (`one:8`) or so many times in each
    /// (`one:1/4`), all, or none, so that every socket is read in every round
    #[arg(long, value_name = "one[:ROUNDS|:1/TIMES]|all|none", default_value = "one", value_parser = poll)]
    pub poll: Idleness,
    /// Keep all workers awake
    #[arg(long)]
    pub no_scale: bool,
    /// What it is to its switches beside other controllers
    #[arg(long, value_enum, default_value = "equal")]
    pub role: RoleArgument,
    /// The number of its election as master, in place of one that is newer than all before
    #[arg(long, value_name = "N")]
    pub generation: Option<u64>,
    /// Do not keep each worker to a processor of its own
    #[arg(long)]
    pub no_pin: bool,
    /// Pass by a switch that another worker holds until the next round, in place of another try in the same one
    #[arg(long)]
    pub no_revisit: bool,
    /// Send each message by itself
    #[arg(long)]
    pub no_output_batching: bool,
    /// Do not use the room of batches again
    #[arg(long)]
    pub no_pools: bool,
    /// Read every socket in every round: as `--poll none`
    #[arg(long, conflicts_with = "poll")]
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
    /// For how long a switch that is not connected keeps its datapath, if it showed a certificate, and, of routing, its ports,
    /// links and hosts
    #[arg(long, default_value = "3s", value_name = "TIME")]
    pub keep_switch: TimeSpan,
    /// Of routing: let a flow's first packet go when all switches of its way have answered a barrier behind its flow, or after this
    /// much time; without it, it goes at once
    #[arg(long, value_name = "TIME")]
    pub path_barriers: Option<TimeSpan>,
    /// Components that run beside that from the beginning: a list in YAML of what `plait control add` is told, with the keys
    /// `application`, `manifest`, `on`, `every`, `dags`, `allow` and `fuel`
    #[arg(long, value_name = "FILE")]
    pub applications: Option<PathBuf>,
    /// Access lists that are obeyed from the beginning: see `plait controller access --help`
    #[arg(long, value_name = "FILE")]
    pub access: Option<PathBuf>,
    /// Past states that are remembered, for `plait control dry-run`
    #[arg(long, default_value_t = 0, value_name = "STATES", value_parser = clap::value_parser!(u16).range(..=4096))]
    pub history: u16,
    /// Record all that happens, for `plait control replay`, in a file that is not there yet. It costs speed
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum App {
    /// Stations are learned by the ports that they are heard on, switch by switch; there must be no loop
    LearningSwitch,
    /// Links and hosts are discovered, and each flow gets one of the shortest ways; loops are welcome
    Routing,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArgument {
    /// One of several that all command
    Equal,
    /// The only one that commands; who was master is slave
    Master,
    /// Commands nothing, and takes a master's place when it is told to
    Slave,
}

impl From<RoleArgument> for Role {
    fn from(argument: RoleArgument) -> Self {
        match argument {
            RoleArgument::Equal => Self::Equal,
            RoleArgument::Master => Self::Master,
            RoleArgument::Slave => Self::Slave,
        }
    }
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
