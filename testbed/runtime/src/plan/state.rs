//! What a testbed consists of, as a value that can be compared, stored and sent.

use super::ControlState;
use crate::section::OPENFLOW_SWITCH;
use indexmap::IndexMap;
use ipnet::IpNet;
use plait_control_runtime::{Dag, Manifest, Name};
use plait_dataplane_overlay::{ApplicationConfig, ControlKind, DeviceConfig, Evpn, Identifier};
use plait_dataplane_paths::protocol::{Policies, Policy, Static};
use plait_model_link::{Conditions, ConditionsSpec};
use plait_model_overlay::{Application, Locators, NodeId};
use plait_model_topology::vocabulary::Role;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

/// Version of [`State`] on the control socket.
pub const STATE_VERSION: u32 = 1;

/// A whole testbed: what should be, or what is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Version of this structure.
    pub version: u32,
    /// Nodes by name; a LAN is a hidden switch named `lan:NAME`, and the node
    /// between the halves of a link that the kernel both impairs and shapes one named `aux:LINK`.
    pub nodes: IndexMap<String, NodeState>,
    /// Links by name; a LAN's members are links named `NAME/NODE:INTERFACE`.
    pub links: IndexMap<String, LinkState>,
    /// What every node finds in `/etc/hosts`.
    pub hosts: Vec<(IpAddr, String)>,
    /// Control applications that decide all routes, where the file has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlState>,
    /// The addresses by segment, from which the next version of the file is numbered. Not part of what is built.
    pub assignment: Option<serde_json::Value>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeState {
    /// The kind as the file says.
    pub kind: String,
    /// Host, router or switch.
    pub role: Role,
    /// Made by Plait for a LAN or between halves of a link; not shown among the nodes.
    pub hidden: bool,
    /// Interfaces by name.
    pub interfaces: BTreeMap<String, InterfaceState>,
    /// Routes beyond the connected ones.
    pub routes: BTreeSet<RouteState>,
    /// Kernel parameters, by dotted name; all begin with `net.`.
    pub sysctls: BTreeMap<String, String>,
    /// Files, by absolute path.
    pub files: BTreeMap<String, String>,
    /// Shell commands run once, when the node is up.
    pub commands: Vec<String>,
    /// Processors its programs may use; all when empty.
    pub processors: Vec<usize>,
    /// What its programs may use of memory, time and processes.
    pub limits: Limits,
    /// Routing daemons.
    pub frr: Option<FrrState>,
    /// What it is to OpenFlow, where it is a switch or controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openflow: Option<OpenFlowState>,
    /// Whether its own programs reach the host's network, through a NAT.
    #[serde(default)]
    pub uplink: bool,
    /// Congestion control of TCP connections over its routes; the kernel's default when none.
    pub congestion_control: Option<String>,
    /// The overlays it is a member of, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overlays: BTreeMap<String, OverlayState>,
    /// What it does about paths, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<PathsState>,
}

impl NodeState {
    /// Whether the kernel bridges its interfaces: a switch that is none of Open vSwitch's.
    pub fn is_bridged(&self) -> bool {
        self.role == Role::Switch && self.kind != OPENFLOW_SWITCH
    }

    /// Whether what it switches passes through a program, which knows no packet but a finished one.
    pub fn is_switched_in_user_space(&self) -> bool {
        self.kind == OPENFLOW_SWITCH
    }
}

/// Resource limits of a node's programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Thousandths of one processor.
    pub processor_millis: Option<u64>,
    /// Number of processes and threads.
    pub processes: Option<u64>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceState {
    /// Addresses with their prefix length, in the order they are set.
    pub addresses: Vec<IpNet>,
    /// Hardware address, the same in every run.
    pub mac: [u8; 6],
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RouteState {
    /// Where it leads.
    pub to: IpNet,
    /// The next hop.
    pub via: IpAddr,
    /// The interface it leaves by, where that is known.
    pub interface: Option<String>,
    /// Congestion control of TCP connections over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
}

/// Routing daemons of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrrState {
    /// `zebra`, `ospfd`, … in the order they start.
    pub daemons: Vec<String>,
    /// The configuration of all of them (`frr.conf`).
    pub config: String,
}

/// What a node is to OpenFlow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenFlowState {
    /// A switch.
    Switch(OpenFlowSwitch),
    /// A controller.
    Controller(OpenFlowController),
}

/// A switch of Open vSwitch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFlowSwitch {
    /// Its datapath ID.
    pub datapath: u64,
    /// Its ports, numbered from 1.
    pub ports: Vec<String>,
    /// The protocol as Open vSwitch calls it.
    pub protocol: String,
    /// Where its controller listens.
    pub controller: Option<SocketAddr>,
    /// `secure` or `standalone`.
    pub fail: String,
}

/// A controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFlowController {
    /// The application, as `plait controller run --app` calls it.
    pub app: String,
    /// Where it listens for switches.
    pub listen: SocketAddr,
    /// What it runs beside that from the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<AddedComponent>,
}

/// A component that a controller runs beside its own applications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedComponent {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Its bytes, as hexadecimal digits where they are written.
    #[serde(with = "plait_control_runtime::hexadecimal")]
    pub component: Vec<u8>,
    /// What runs it; none in place of what a controller has already.
    #[serde(default)]
    pub dags: Vec<Dag>,
    /// Views that it may write.
    #[serde(default)]
    pub allow: Vec<Name>,
    /// Instructions that a run of it may take, if its manifest does not say less.
    #[serde(default)]
    pub fuel: Option<u64>,
}

/// What a node does about paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathsState {
    /// Interfaces whose packets are steered.
    pub devices: Vec<String>,
    /// The source of all headers.
    pub source: IpAddr,
    /// What stands between them.
    pub encapsulation: plait_dataplane_paths::Encapsulation,
    /// Which path a flow goes by.
    pub policy: Policy,
    /// What a flow that moves waits for, in microseconds.
    pub spread_micros: u64,
    /// Milliseconds of silence after which a flow is forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_millis: Option<u64>,
    /// The address that it takes headers off for.
    pub relay: Option<IpAddr>,
    /// Interfaces that lead outside.
    pub borders: Vec<String>,
    /// How it learns the fabric, if it does.
    pub learning: Option<PathLearning>,
    /// Lists that it is told.
    pub statics: BTreeMap<IpNet, Static>,
    /// By which policies flows go by what it learns, where the file says so by prefix.
    #[serde(default, skip_serializing_if = "Policies::is_empty")]
    pub policies: Policies,
}

/// How a node learns the fabric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathLearning {
    /// Interfaces on which it listens to OSPF.
    pub interfaces: Vec<String>,
    /// Whether there is one neighbour at most on each.
    pub point_to_point: bool,
    /// Seconds between two Hellos.
    pub hello: u16,
    /// Seconds without any until a neighbour is dead.
    pub dead: u32,
    /// How many paths to each router.
    pub k: u8,
    /// How relays are found, as `plait paths agent --method` has it.
    pub method: String,
    /// How many switches and links, each direction counted, there are to learn.
    pub fabric: (usize, usize),
}

/// What a node is to an overlay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlayState {
    /// The overlay's number.
    pub application: Application,
    /// How its packets travel.
    pub config: ApplicationConfig,
    /// The node's identity.
    pub id: NodeId,
    /// Where the network below reaches it.
    pub locators: BTreeSet<IpAddr>,
    /// Weights of its locators and of those of other members that it is told of, where they are not the usual one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<NodeId, Locators>,
    /// Its devices.
    pub devices: Vec<OverlayDevice>,
    /// Who fills its tables; nobody when none.
    pub control: Option<OverlayControl>,
    /// A control plane that is there already and fills its tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evpn: Option<Evpn>,
    /// Other members that it is told of, each straight reached, and all of them by the group.
    pub nodes: BTreeMap<NodeId, BTreeSet<IpAddr>>,
    /// To whom packets for some of them, or for groups, go instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub routes: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// At which members identifiers are that it is told of, by device.
    pub stations: Vec<(String, Identifier, NodeId)>,
}

/// A device of an overlay in a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlayDevice {
    /// What it is.
    pub config: DeviceConfig,
    /// Addresses with their prefix length.
    pub addresses: Vec<IpNet>,
}

/// The control plane of an overlay. Its key is in no state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlayControl {
    /// How routes are decided.
    pub plane: ControlKind,
    /// Locators of members to join by.
    pub seeds: Vec<IpAddr>,
    /// Milliseconds from one probe to the next.
    pub interval: u64,
    /// How many others are probed; all when none.
    pub neighbours: Option<usize>,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkState {
    /// Node and interface of each end.
    pub ends: [(String, String); 2],
    /// MTU of both devices.
    pub mtu: Option<u32>,
    /// What happens to packets from end 0 to end 1, and back.
    pub conditions: [Conditions; 2],
    /// The same as written, over which live changes are laid.
    pub specs: [ConditionsSpec; 2],
    /// How the link is made.
    pub realisation: Realisation,
    /// Seed of its random choices.
    pub seed: u64,
    /// Whether it is measured against its request at start.
    pub verify: bool,
    /// Made by Plait for a LAN's member, or as half of a link.
    pub hidden: bool,
}

/// How a link is made; stated in every report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Realisation {
    /// One veth pair; nothing between the nodes.
    Direct,
    /// One veth pair with one of the kernel's disciplines at each end of which something is asked: the token bucket, or
    /// netem.
    Kernel,
    /// Both ends in the link engine.
    Engine([Backend; 2]),
}

/// How the engine holds one end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// A packet socket with kernel receive stamps on a veth peer.
    Packet,
    /// A TAP whose node side is the node's interface.
    Tap,
}
