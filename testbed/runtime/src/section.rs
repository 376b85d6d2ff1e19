//! The keys of a network file that this room gives meaning to.

mod applications;
mod control;
mod openflow;
mod overlay;
mod paths;

pub use applications::{ControllerApplication, ControllerApplications};
pub use control::{ComponentFiles, Control, ControlApplication};
pub use openflow::{
    CONTROLLER, ControllerApp, ControllerChoice, FailMode, OpenFlowVersion, SWITCH as OPENFLOW_SWITCH,
};
pub use overlay::{
    CarriesWord, ControlForm, ControlWord, EncapsulationWord, Members, Networks, NextHops, NodeName, Overlay,
    OverlayDevice, OverlayEvpn, OverlayForm, OverlayMember, Overlays, Stations, WrittenLocators,
    WrittenWeight,
};
pub use paths::{
    LearnWord, MethodWord, PathTypeWord, Paths, PrefixWays, RelayListForm, SelectWord, WrittenWays,
};

use plait_model_quantity::{ByteCount, Probability};
use plait_model_topology::Vocabulary;
use plait_model_topology::vocabulary::{Place, Role};
use schemars::JsonSchema;
use serde::Deserialize;

/// Adds the keys to a vocabulary.
pub fn register(vocabulary: &mut Vocabulary) {
    vocabulary
        .kind(
            OPENFLOW_SWITCH,
            Role::Switch,
            "an OpenFlow switch: Open vSwitch with its datapath in user space",
        )
        .kind(CONTROLLER, Role::Host, "an OpenFlow controller: `plait controller run`")
        .key::<ControllerApp>(Place::Node, "app")
        .key::<ControllerApplications>(Place::Node, "applications")
        .key::<ControllerChoice>(Place::Node, "controller")
        .key::<OpenFlowVersion>(Place::Node, "openflow")
        .key::<FailMode>(Place::Node, "fail")
        .key::<Limits>(Place::Node, "limits")
        .key::<Processors>(Place::Node, "processors")
        .key::<Frr>(Place::Node, "frr")
        .key::<CongestionControl>(Place::Node, "congestion_control")
        .key::<Uplink>(Place::Node, "uplink")
        .key::<Via>(Place::Link, "via")
        .key::<Dynamic>(Place::Link, "dynamic")
        .key::<Verify>(Place::Link, "verify")
        .key::<Verify>(Place::Lan, "verify")
        .key::<Verify>(Place::File, "verify")
        .checked_key::<Overlays>(Place::File, "overlays", |overlays, network| {
            crate::overlay::resolve(overlays, network).err().unwrap_or_default()
        })
        .checked_key::<Control>(Place::File, "control", crate::routing::check)
        .checked_key::<Paths>(Place::File, "paths", |paths, network| {
            crate::paths::resolve(paths, network).err().unwrap_or_default()
        });
}

/// Whether the node's programs reach the host's network, through a NAT in user space. No unless said otherwise.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[allow(dead_code, reason = "its form and its words are what counts")]
struct Uplink(bool);

/// Whether the link is made so that its conditions can change while it is up. Links that an event changes are.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[allow(dead_code, reason = "its form and its words are what counts")]
struct Dynamic(bool);

/// Whether links are measured against what was asked before a run. No unless said otherwise.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[allow(dead_code, reason = "its form and its words are what counts")]
struct Verify(bool);

/// The processors that the node's programs run on, from 0. All unless said otherwise.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Processors(pub Vec<usize>);

/// Congestion control of TCP connections over the node's routes: one that `plait doctor` lists. The kernel's default
/// unless said otherwise.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CongestionControl(pub String);

/// What a node's programs may use.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Memory of all its programs together.
    pub memory: Option<ByteCount>,
    /// Share of one processor for all its programs together.
    pub processor: Option<Probability>,
    /// Number of processes and threads.
    pub processes: Option<u64>,
}

/// FRR's own configuration for a node, in place of the generated one.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frr {
    /// Path of an `frr.conf` beside the network file.
    pub config: Option<String>,
    /// Lines added to the generated configuration.
    pub extra: Option<String>,
}

/// Who shapes a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// Plait's engine, by packet sockets.
    Engine,
    /// The kernel's queueing disciplines.
    Kernel,
    /// Plait's engine, by TAP devices.
    Tap,
}
