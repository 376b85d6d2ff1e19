//! Commands on the overlay of this host.

use super::name::name;
use super::paths::DEFAULT;
use clap::{Args, Subcommand, ValueEnum};
use plait_dataplane_overlay::agent::RECORDING_LIMIT;
use plait_dataplane_overlay::trace::LARGEST_PACKET;
use plait_dataplane_overlay::{Carries, ControlKind, Encapsulation, Identifier, Miss};
use plait_model_overlay::{Application, NodeId, Weight};
use plait_model_quantity::{ByteCount, TimeSpan};
use std::net::IpAddr;
use std::path::PathBuf;

/// The variable that says which agent for overlays is spoken to.
pub const OVERLAY_AGENT: &str = "PLAIT_OVERLAY_AGENT";

/// Which agent is spoken to.
#[derive(Args)]
pub struct AgentChoice {
    /// The agent's name, where a host has several
    #[arg(long, global = true, default_value = DEFAULT, env = OVERLAY_AGENT, value_parser = name)]
    pub agent: String,
}

#[derive(Args)]
pub struct OverlayArguments {
    #[command(flatten)]
    pub choice: AgentChoice,
    #[command(subcommand)]
    pub command: OverlayCommand,
}

/// Words as `ip ov` has them.
#[derive(Args)]
pub struct IpArguments {
    /// The agent's name, where a host has several; else what `PLAIT_OVERLAY_AGENT` says, and of `lb` `PLAIT_PATHS_AGENT`
    #[arg(long, value_parser = name)]
    pub agent: Option<String>,
    /// `ov`, `madcap` or `lb`, and what to do
    #[arg(required = true)]
    pub words: Vec<String>,
}

/// Whose tables.
#[derive(Args, Clone, Copy)]
pub struct App {
    /// The application's number: 0 to 255, `ipv4`, `ipv6` or `ethernet`
    #[arg(long, default_value_t = Application::ETHERNET)]
    pub app: Application,
}

#[derive(Subcommand)]
pub enum OverlayCommand {
    /// Keep the overlay of this host: one agent on each node. Killed, it stops no packet; started again, it goes on
    #[command(
        after_help = "Examples:\n  plait overlay agent &\n  plait overlay agent --remove        leave the host as it was found"
    )]
    Agent(AgentArguments),
    /// Say how applications and devices are, or change it
    #[command(subcommand)]
    Config(ConfigCommand),
    /// How sessions with neighbours that speak EVPN fare
    #[command(after_help = "Example:\n  plait overlay evpn")]
    Evpn,
    /// Where identifiers are: stations that were heard, networks that were configured
    #[command(subcommand)]
    Fib(FibCommand),
    /// This node's identity
    #[command(subcommand)]
    Id(IdCommand),
    /// This node's addresses in the underlay
    #[command(subcommand)]
    Locator(LocatorCommand),
    /// The LIB: other nodes, and where they are reached
    #[command(subcommand)]
    Node(NodeCommand),
    /// What sending costs by each encapsulation, from the call to the driver, stage by stage. Needs no agent
    #[command(
        after_help = "Examples:\n  plait overlay profile\n  plait overlay profile --packets 1000 --svg profile.svg"
    )]
    Profile(ProfileArguments),
    /// The RIB: next hops to nodes and groups
    #[command(subcommand)]
    Route(RouteCommand),
    /// Packets sent, received and dropped
    #[command(after_help = "Examples:\n  plait overlay stats\n  \
plait overlay stats --entries --every 1s\n  plait overlay stats --metrics      in Prometheus' text form")]
    Stats(StatsArguments),
    /// Follow a flow hop by hop: what each node's tables do with its packets, and what was counted meanwhile. Exits with 0
    /// if they arrive, with 1 if not. Nothing is sent into the overlay
    #[command(after_help = "Examples:\n  plait overlay trace ov0 10.1.0.3\n  \
plait overlay trace ov0 02:00:00:00:00:03 --seconds 10    count drops for ten seconds\n  \
plait overlay trace ip0 10.1.0.7 --flow 3 --size 1400")]
    Trace {
        /// The device that packets leave by
        device: String,
        /// Where they go: an address, or whatever the device finds packets by
        destination: Identifier,
        /// Who sends them: an IP address, or of frames a hardware address; this host without it
        #[arg(long, value_name = "ADDRESS")]
        from: Option<Identifier>,
        /// Which of the flows between the two, where the kernel tells them apart
        #[arg(long, default_value_t = 0, value_name = "NUMBER")]
        flow: u32,
        /// Bytes of the IP packet
        #[arg(long, default_value_t = 84, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(48..=i64::from(LARGEST_PACKET)))]
        size: u16,
        /// Seconds to count for, from a first look to a second one; 0 looks once
        #[arg(long, default_value_t = 1, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=86_400))]
        seconds: u64,
    },
    /// Say every change that is made of tables and configuration, a line each, until stopped
    #[command(after_help = "Example:\n  plait overlay watch --json")]
    Watch,
}

#[derive(Args)]
pub struct StatsArguments {
    /// In Prometheus' text form, without entries of the FIB, of which there may be a million
    #[arg(long, conflicts_with_all = ["entries", "every"])]
    pub metrics: bool,
    /// Entries of the FIB as well
    #[arg(long)]
    pub entries: bool,
    /// Again and again; in JSON a line each time
    #[arg(long, value_name = "TIME")]
    pub every: Option<TimeSpan>,
}

#[derive(Args)]
pub struct AgentArguments {
    /// How many identifiers the tables hold
    #[arg(long, default_value_t = 65_536)]
    pub identifiers: u32,
    /// How many nodes and groups
    #[arg(long, default_value_t = 4096)]
    pub nodes: u32,
    /// Relay what passes in the drivers of the devices that the overlay's packets leave by, by XDP, where they can: for network
    /// cards, not between veth devices
    #[arg(long)]
    pub xdp: bool,
    /// A folder for the socket and the journal
    #[arg(long, value_name = "FOLDER")]
    pub run: Option<PathBuf>,
    /// A folder of a BPF file system for programs and tables
    #[arg(long, value_name = "FOLDER")]
    pub pins: Option<PathBuf>,
    /// Write down what control planes are told and do, in this file, without their keys; `plait replay` reads it
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The most that is written there
    #[arg(long, value_name = "SIZE", default_value_t = ByteCount::new(RECORDING_LIMIT), requires = "record")]
    pub record_limit: ByteCount,
    /// Take away all that agents left: programs, devices, tables
    #[arg(long)]
    pub remove: bool,
}

#[derive(Args)]
pub struct ProfileArguments {
    /// Packets for each way
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub packets: u32,
    /// Bytes of each, with its Ethernet header
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(64..=1400))]
    pub frame: u16,
    /// Draw stacked bars into a file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum ConfigCommand {
    /// How an application's packets travel
    #[command(after_help = "Examples:\n  plait overlay config application ethernet --group 224.0.0.1\n  \
plait overlay config application ipv4 --carries ip --encapsulation geneve\n  \
plait overlay config application ipv4 --carries ip --miss kernel\n  \
plait overlay config application ethernet --to 10.0.0.2=vxlan")]
    Application {
        /// Its number
        app: Application,
        /// What its packets carry
        #[arg(long, value_enum, default_value = "ethernet")]
        carries: CarriesArgument,
        /// How packets are sent
        #[arg(long, default_value_t)]
        encapsulation: Encapsulation,
        /// How they are sent to one next hop: NODE=ENCAPSULATION
        #[arg(long, value_parser = pair)]
        to: Vec<(NodeId, Encapsulation)>,
        /// How they may come, beside those in which they are sent
        #[arg(long)]
        accept: Vec<Encapsulation>,
        /// Overlay hops of a packet that begins here
        #[arg(long, default_value_t = 60)]
        ttl: u8,
        /// The identity that stands for all nodes: where frames for unknown stations go
        #[arg(long)]
        group: Option<NodeId>,
        /// What becomes of packets whose identifiers nobody knows
        #[arg(long, value_enum, default_value = "group")]
        miss: MissArgument,
        /// The virtual network of packets whose encapsulation names none
        #[arg(long, default_value_t = 0)]
        vni: u32,
    },
    /// A device that hosts use a tenant by
    #[command(
        after_help = "Examples:\n  plait overlay config device ov0 --vni 1\n  plait overlay config device ov0 --delete"
    )]
    Device {
        /// Its name
        name: String,
        #[command(flatten)]
        app: App,
        /// The virtual network, 24 bits
        #[arg(long, default_value_t = 0)]
        vni: u32,
        /// The largest packet; what fits all next hops without it
        #[arg(long)]
        mtu: Option<u32>,
        /// Of IP: bits of an IPv4 address that are the identifier
        #[arg(long, default_value_t = 32, value_name = "BITS")]
        prefix4: u8,
        /// Of IP: bits of an IPv6 address that are the identifier
        #[arg(long, default_value_t = 128, value_name = "BITS")]
        prefix6: u8,
        /// Take IP packets for this host in by the device on which they arrived, which is faster; this one's captures,
        /// firewalls and sockets see nothing of them
        #[arg(long)]
        in_place: bool,
        /// Of bits and payload: the first bit that counts, from the first of the frame or of what it carries; without it
        /// packets all go one way
        #[arg(long, value_name = "BITS", requires = "length")]
        offset: Option<u16>,
        /// Of bits and payload: how many bits
        #[arg(long, value_name = "BITS", requires = "offset")]
        length: Option<u8>,
        /// Seconds after which a silent station is forgotten
        #[arg(long, default_value_t = 300, value_name = "SECONDS")]
        ageing: u32,
        /// Take it away
        #[arg(long)]
        delete: bool,
    },
    /// Who fills LIB and RIB beside you
    #[command(
        after_help = "Examples:\n  plait overlay config control mesh --key overlay.key --seed 192.0.2.1\n  \
plait overlay config control delay --key overlay.key --seed 192.0.2.1\n  \
plait overlay config control static --key overlay.key\n  plait overlay config control none"
    )]
    Control {
        /// How routes are decided; `static` and `none` leave the tables as they are
        #[arg(value_enum)]
        plane: PlaneArgument,
        #[command(flatten)]
        app: App,
        /// The file of the key that all nodes share, at least 16 bytes, readable by its owner only
        #[arg(long, required_if_eq_any([("plane", "mesh"), ("plane", "delay"), ("plane", "static")]))]
        key: Option<PathBuf>,
        /// Locators of nodes to join by
        #[arg(long)]
        seed: Vec<IpAddr>,
        /// Milliseconds from one probe to the next
        #[arg(long, default_value_t = 1000, value_name = "MS")]
        interval: u64,
        /// Probe at most so many others
        #[arg(long)]
        neighbours: Option<usize>,
    },
    /// An existing control plane that fills all tables: a neighbour that speaks BGP EVPN
    #[command(after_help = "Examples:\n  plait overlay config evpn --neighbor 192.0.2.9 --as 65000\n  \
plait overlay config evpn --delete")]
    Evpn {
        #[command(flatten)]
        app: App,
        /// The neighbour's address
        #[arg(long, required_unless_present = "delete", value_name = "ADDRESS")]
        neighbor: Option<IpAddr>,
        /// This node's AS
        #[arg(long = "as", required_unless_present = "delete", value_name = "NUMBER")]
        as_number: Option<u32>,
        /// The neighbour's AS; the same without it
        #[arg(long, value_name = "NUMBER")]
        remote_as: Option<u32>,
        /// Seconds of silence after which the neighbour is gone
        #[arg(long, default_value_t = 9, value_name = "SECONDS")]
        hold: u16,
        /// Take it away, and all that it told
        #[arg(long)]
        delete: bool,
    },
    /// The devices by which the overlay's packets may come to this host
    #[command(after_help = "Examples:\n  plait overlay config underlay eth0 eth1\n  \
plait overlay config underlay --by-routes")]
    Underlay {
        /// Their names
        #[arg(required_unless_present = "by_routes", conflicts_with = "by_routes")]
        devices: Vec<String>,
        /// Those by which routes lead through a router, or to another node; so it is at first
        #[arg(long)]
        by_routes: bool,
    },
    /// Say all
    #[command(visible_alias = "ls", after_help = "Example:\n  plait overlay config show --json")]
    Show,
}

fn pair(text: &str) -> Result<(NodeId, Encapsulation), String> {
    let (node, kind) = text.split_once('=').ok_or("write NODE=ENCAPSULATION, such as 10.0.0.2=vxlan")?;
    let node = node.parse().map_err(|error| format!("{node}: {error}"))?;
    Ok((node, kind.parse().map_err(|error: plait_dataplane_overlay::NoEncapsulation| error.to_string())?))
}

#[derive(Clone, Copy, ValueEnum)]
pub enum CarriesArgument {
    /// Ethernet frames, found by hardware addresses that are learned
    Ethernet,
    /// IP packets, found by prefixes of their addresses
    Ip,
    /// Ethernet frames, found by bits that the device names
    Bits,
    /// What frames carry, such as MPLS labels, found by bits that the device names
    Payload,
}

impl From<CarriesArgument> for Carries {
    fn from(argument: CarriesArgument) -> Self {
        match argument {
            CarriesArgument::Ethernet => Self::Ethernet,
            CarriesArgument::Ip => Self::Ip,
            CarriesArgument::Bits => Self::Bits,
            CarriesArgument::Payload => Self::Payload,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum MissArgument {
    /// Frames go to the group; all else is dropped
    Group,
    /// They are dropped
    Drop,
    /// They leave by the kernel's own route
    Kernel,
}

impl From<MissArgument> for Miss {
    fn from(argument: MissArgument) -> Self {
        match argument {
            MissArgument::Group => Self::Group,
            MissArgument::Drop => Self::Drop,
            MissArgument::Kernel => Self::Kernel,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PlaneArgument {
    /// Everyone straight to everyone
    Mesh,
    /// By paths of least delay
    Delay,
    /// Nobody; nodes that share the key answer each other's traces
    Static,
    /// Nobody
    None,
}

impl PlaneArgument {
    pub fn kind(self) -> Option<ControlKind> {
        match self {
            Self::Mesh => Some(ControlKind::Mesh),
            Self::Delay => Some(ControlKind::Delay),
            Self::Static => Some(ControlKind::Static),
            Self::None => None,
        }
    }
}

#[derive(Subcommand)]
pub enum IdCommand {
    /// Give this node an identity
    #[command(after_help = "Example:\n  plait overlay id set 10.0.0.1")]
    Set {
        /// The identity, four numbers like an IPv4 address
        id: NodeId,
        #[command(flatten)]
        app: App,
    },
    /// Say this node's identity
    #[command(after_help = "Example:\n  plait overlay id show")]
    Show {
        #[command(flatten)]
        app: App,
    },
}

#[derive(Subcommand)]
pub enum LocatorCommand {
    /// Give this node a locator, or one that it has another weight
    #[command(after_help = "Example:\n  plait overlay locator add 192.0.2.1 --weight 100")]
    Add {
        /// The address
        address: IpAddr,
        /// Its share of flows
        #[arg(long, default_value_t)]
        weight: Weight,
        #[command(flatten)]
        app: App,
    },
    /// Take a locator from this node
    #[command(visible_alias = "delete", after_help = "Example:\n  plait overlay locator del 192.0.2.1")]
    Del {
        /// The address
        address: IpAddr,
        #[command(flatten)]
        app: App,
    },
    /// List this node's locators
    #[command(visible_alias = "ls", after_help = "Example:\n  plait overlay locator show")]
    Show {
        #[command(flatten)]
        app: App,
    },
}

#[derive(Subcommand)]
pub enum NodeCommand {
    /// Give another node a locator
    #[command(after_help = "Example:\n  plait overlay node add 10.0.0.2 192.0.2.2")]
    Add {
        /// The node
        node: NodeId,
        /// Where it is reached
        locator: IpAddr,
        /// The locator's share of flows
        #[arg(long, default_value_t)]
        weight: Weight,
        #[command(flatten)]
        app: App,
    },
    /// Take a locator from another node; with its last the node goes
    #[command(visible_alias = "delete", after_help = "Example:\n  plait overlay node del 10.0.0.2 192.0.2.2")]
    Del {
        /// The node
        node: NodeId,
        /// The locator
        locator: IpAddr,
        #[command(flatten)]
        app: App,
    },
    /// List other nodes
    #[command(visible_alias = "ls", after_help = "Example:\n  plait overlay node show --json")]
    Show {
        #[command(flatten)]
        app: App,
    },
}

#[derive(Subcommand)]
pub enum RouteCommand {
    /// Give a node or group a next hop; several mean a copy to each, and this node's own identity means "up here"
    #[command(after_help = "Example:\n  plait overlay route add 10.0.0.3 --via 10.0.0.2")]
    Add {
        /// The node or group
        destination: NodeId,
        /// The next hop
        #[arg(long)]
        via: NodeId,
        #[command(flatten)]
        app: App,
    },
    /// Take a next hop from a node or group
    #[command(
        visible_alias = "delete",
        after_help = "Example:\n  plait overlay route del 10.0.0.3 --via 10.0.0.2"
    )]
    Del {
        /// The node or group
        destination: NodeId,
        /// The next hop
        #[arg(long)]
        via: NodeId,
        #[command(flatten)]
        app: App,
    },
    /// List next hops
    #[command(visible_alias = "ls", after_help = "Example:\n  plait overlay route show")]
    Show {
        #[command(flatten)]
        app: App,
    },
}

#[derive(Subcommand)]
pub enum FibCommand {
    /// Say at which node an identifier is
    #[command(
        after_help = "Examples:\n  plait overlay fib add ov0 02:00:00:00:00:01 10.0.0.2\n  plait overlay fib add ip0 10.1.0.7 10.0.0.2"
    )]
    Add {
        /// The device
        device: String,
        /// A hardware address, or a network
        identifier: Identifier,
        /// The node
        node: NodeId,
    },
    /// Forget where an identifier is
    #[command(
        visible_alias = "delete",
        after_help = "Example:\n  plait overlay fib del ov0 02:00:00:00:00:01"
    )]
    Del {
        /// The device
        device: String,
        /// A hardware address, or a network
        identifier: Identifier,
    },
    /// List identifiers with their packets
    #[command(visible_alias = "ls", after_help = "Example:\n  plait overlay fib show ov0")]
    Show {
        /// The device; all without it
        device: Option<String>,
    },
}
