//! What an overlay is to be.

use plait_control_overlay::Plane;
use plait_dataplane_overlay::{ApplicationConfig, Carries, DeviceConfig, Encapsulation, Identifier};
use plait_model_overlay::{Application, Locators, NodeId};
use plait_model_wire::ethernet::Mac;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// An overlay to add.
#[derive(Debug, Clone)]
pub struct OverlaySpec {
    /// Its application's number, of which a node takes part in each once.
    pub application: Application,
    /// Its members.
    pub members: Vec<MemberSpec>,
    /// How routes are decided at first. Without it nobody decides: members are told of each other once, and of
    /// [`MemberSpec::routes`].
    pub plane: Option<Plane>,
    /// From one probe to the next.
    pub interval: Duration,
    /// How many others a member probes; all if not said.
    pub neighbours: Option<usize>,
    /// The identity that stands for all members.
    pub group: Option<NodeId>,
    /// What moves tenants' packets on members that have nothing of their own; nothing does if not said, and the overlay is its
    /// tables alone.
    pub data_plane: Option<DataPlane>,
    /// Whether what members are told and do is kept: [`OverlayMember::recording`](super::OverlayMember::recording).
    pub is_recorded: bool,
}

/// A member to be.
#[derive(Debug, Clone)]
pub struct MemberSpec {
    /// The node's name.
    pub node: String,
    /// Its identity; its place among the members, from 1, if not said.
    pub id: Option<NodeId>,
    /// Where it is reached, with weights; all its addresses, which weigh the same, if not said.
    pub locators: Option<Locators>,
    /// To whom its packets for a member, or for a group, go in place of straight there, where nobody decides.
    pub routes: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// What moves its tenants' packets; that of the overlay if not said.
    pub data_plane: Option<DataPlane>,
}

/// What moves tenants' packets on a member.
#[derive(Debug, Clone)]
pub struct DataPlane {
    /// What they carry, and how they travel.
    pub config: ApplicationConfig,
    /// The member's devices.
    pub devices: Vec<DeviceConfig>,
    /// Their hardware addresses; of one that has none here it is made of the member's identity, so that each has another one.
    pub addresses: Vec<[u8; 6]>,
    /// At which members identifiers are, by devices' places.
    pub entries: Vec<(usize, Identifier, NodeId)>,
}

impl DataPlane {
    /// One device of a virtual network, and else all as a testbed has it where a file says nothing. Its group is the overlay's.
    pub fn new(carries: Carries, vni: u32, encapsulation: Encapsulation) -> Self {
        let config = ApplicationConfig { carries, encapsulation, vni, ..ApplicationConfig::default() };
        let devices = vec![DeviceConfig::new("", Application::ETHERNET, vni)];
        Self { config, devices, addresses: Vec::new(), entries: Vec::new() }
    }

    /// The hardware address of a member's device.
    pub(super) fn address(&self, member: NodeId, device: usize) -> Mac {
        let [a, b, c, d] = member.0.to_be_bytes();
        Mac(self.addresses.get(device).copied().unwrap_or([2, 1, a, b, c, d]))
    }
}

impl MemberSpec {
    /// A node with all that follows from it and from the overlay.
    pub fn new(node: impl Into<String>) -> Self {
        let (node, routes) = (node.into(), BTreeMap::new());
        Self { node, id: None, locators: None, routes, data_plane: None }
    }
}

impl OverlaySpec {
    /// An overlay of Ethernet frames, whose members probe each other every second if they decide.
    pub fn new(
        members: impl IntoIterator<Item = impl Into<String>>,
        plane: impl Into<Option<Plane>>,
    ) -> Self {
        Self {
            application: Application::ETHERNET,
            members: members.into_iter().map(MemberSpec::new).collect(),
            plane: plane.into(),
            interval: Duration::from_secs(1),
            neighbours: None,
            group: Some(GROUP),
            data_plane: None,
            is_recorded: false,
        }
    }
}

/// The group of an overlay whose file names none, as a testbed gives it.
const GROUP: NodeId = NodeId(0xe000_0001);
