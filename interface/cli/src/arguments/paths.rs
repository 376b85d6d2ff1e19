//! Commands on the paths of this host's packets.

use super::name::name;
use clap::{Args, Subcommand, ValueEnum};
use plait_dataplane_paths::Encapsulation;
use plait_dataplane_paths::protocol::Policy;
use plait_model_quantity::TimeSpan;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

/// The name of an agent that nobody named otherwise.
pub const DEFAULT: &str = "default";
/// The variable that says which agent for paths is spoken to.
pub const PATHS_AGENT: &str = "PLAIT_PATHS_AGENT";

/// Which agent is spoken to.
#[derive(Args)]
pub struct PathAgentChoice {
    /// The agent's name, where a host has several
    #[arg(long, global = true, default_value = DEFAULT, env = PATHS_AGENT, value_parser = name)]
    pub agent: String,
}

#[derive(Args)]
pub struct PathsArguments {
    #[command(flatten)]
    pub choice: PathAgentChoice,
    #[command(subcommand)]
    pub command: PathsCommand,
}

#[derive(Subcommand)]
pub enum PathsCommand {
    /// Have packets to a prefix go by relays, on one more list, in iplb's words
    #[command(
        after_help = "Examples:\n  plait paths add prefix 172.16.0.0/24 relay 10.0.0.1,10.0.0.4 type gre\n  \
plait paths add prefix 172.16.0.0/24 relay 10.0.0.2 type gre select weighted weight 3\n  \
plait paths add prefix 2001:db8:16::/64 relay 2001:db8::1,2001:db8::4 type gre\n  \
plait paths add prefix 172.16.0.0/16 select flow-based     of all that is learnt within it"
    )]
    Add {
        /// `prefix P relay A,B [type gre|ipip|gue|srv6|ovstack] [select hash|weighted|round-robin|flow-based] [weight N]`; `relay direct` is
        /// plain routing; or `prefix P select S`, by which flows go by what is learnt of it
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Keep the paths of this host: one agent on each node. Killed, it stops no packet; started again, it goes on
    #[command(
        after_help = "Examples:\n  plait paths agent --device eth0 &                 lists said by hand\n  \
plait paths agent --device eth0 --ospf eth0 &     as iplbd: lists from the fabric that OSPF tells of\n  \
plait paths agent --relay 10.255.0.1 &            a switch that takes headers off\n  \
plait paths agent --remove                        leave the host as it was found"
    )]
    Agent(PathAgentArguments),
    /// Take a list from a prefix, or all that was said of it by hand
    #[command(
        visible_alias = "delete",
        after_help = "Examples:\n  plait paths del prefix 172.16.0.0/24 relay 10.0.0.2\n  plait paths del prefix 172.16.0.0/24"
    )]
    Del {
        /// `prefix P [relay A,B]`
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// List the flows that were heard of, those with most bytes first
    #[command(
        after_help = "Examples:\n  plait paths flows\n  plait paths flows --json\n  plait paths flows --every 1s --most 10"
    )]
    Flows {
        /// So many of them; 0 is all
        #[arg(long, default_value_t = 20)]
        most: usize,
        /// List them again and again, with what each sent since the last time, those that sent most first; in JSON a line each time
        #[arg(long, value_name = "TIME")]
        every: Option<TimeSpan>,
    },
    /// Have a flow go by another of its prefix's lists, from its next gap on, and stay there. Its prefix's policy is `flow-based`
    #[command(after_help = "Example:\n  plait paths move udp 10.0.0.1:5000 10.0.1.1:9 --to 1")]
    Move {
        /// `udp`, `tcp`, or a number
        protocol: String,
        /// Who sends
        source: SocketAddr,
        /// Who receives
        destination: SocketAddr,
        /// The list, counted from nought, as `plait paths show` has them
        #[arg(long)]
        to: u32,
    },
    /// List prefixes, their relay lists, and what went by each
    #[command(visible_alias = "ls", after_help = "Example:\n  plait paths show")]
    Show,
    /// Say how the agent fares: what it learns, what it dropped
    #[command(
        after_help = "Examples:\n  plait paths status\n  plait paths status --metrics      in Prometheus' text form"
    )]
    Status {
        /// In Prometheus' text form
        #[arg(long)]
        metrics: bool,
    },
}

/// How relays are found.
#[derive(Clone, Copy, ValueEnum)]
pub enum MethodArgument {
    /// The fewest that lead along the path whatever the switches' hashes do
    Sure,
    /// As the thesis has it, which some packets leave
    Faithful,
    /// In a fat-tree all shortest paths, each by one relay
    FatTree,
}

#[derive(Args)]
pub struct PathAgentArguments {
    /// A device whose packets are steered as they leave; may be said again
    #[arg(long, value_name = "DEVICE")]
    pub device: Vec<String>,
    /// The source of all headers, an address that nobody has; may be said once of IPv4 and once of IPv6. 203.0.113.1 and
    /// 100::1 where it is not
    #[arg(long, value_name = "ADDRESS")]
    pub source: Vec<IpAddr>,
    /// What stands between headers, where nothing else is said: `gre`, `ipip`, `gue`, `srv6` or `ovstack`
    #[arg(long = "type", value_name = "TYPE", default_value_t = Encapsulation::Gre)]
    pub encapsulation: Encapsulation,
    /// Which list a flow goes by, where nothing else is said: `hash`, `round-robin` or `flow-based`
    #[arg(long, value_name = "POLICY", default_value_t = Policy::Hash)]
    pub select: Policy,
    /// Milliseconds by which a packet may be later by one path than by another: what a flow waits for before it moves
    #[arg(long, value_name = "MS", default_value_t = 10.0)]
    pub spread: f64,
    /// Forget flows that were silent for so long, such as `5m`: what comes then is another one. Without it a flow is known until
    /// another one needs its place
    #[arg(long, value_name = "TIME")]
    pub idle: Option<TimeSpan>,
    /// The longest packet that every link of the fabric carries, where this host's own carry more
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub mtu: Option<u32>,
    /// Keep superpackets whole under any stack: for relays of Plait alone
    #[arg(long)]
    pub whole: bool,
    /// Be a relay: take headers for this address off; may be said once of IPv4 and once of IPv6
    #[arg(long, value_name = "ADDRESS")]
    pub relay: Vec<IpAddr>,
    /// A device that leads outside: nothing may come in by it with the stacks' source; may be said again
    #[arg(long, value_name = "DEVICE")]
    pub border: Vec<String>,
    /// Learn the fabric by OSPF on a device, announcing nothing; may be said again
    #[arg(long, value_name = "DEVICE")]
    pub ospf: Vec<String>,
    /// Its neighbours on that device are one at most
    #[arg(long)]
    pub point_to_point: bool,
    /// Seconds between OSPF's Hellos, as the neighbours have them
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub hello: u16,
    /// Seconds until a neighbour is dead, likewise
    #[arg(long, value_name = "SECONDS", default_value_t = 40)]
    pub dead: u32,
    /// Learn the fabric from the API server of FRR's ospfd
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub ospf_api: Option<SocketAddrV4>,
    /// OSPF's area
    #[arg(long, default_value = "0.0.0.0")]
    pub area: Ipv4Addr,
    /// The router ID of the switch that this host is behind; the neighbour without it
    #[arg(long, value_name = "ROUTER-ID")]
    pub access: Option<Ipv4Addr>,
    /// So many paths to each switch
    #[arg(short, long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub k: u8,
    /// How relays are found
    #[arg(long, value_enum, default_value_t = MethodArgument::Sure)]
    pub method: MethodArgument,
    /// Take away all that agents left: programs, lists
    #[arg(long)]
    pub remove: bool,
}
