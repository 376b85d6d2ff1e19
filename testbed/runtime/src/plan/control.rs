//! Control applications of a state.

use plait_control_routing::Ground;
use plait_control_runtime::Manifest;
use serde::{Deserialize, Serialize};

/// Who decides all routes, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlState {
    /// In the order in which they run.
    pub applications: Vec<Deciding>,
    /// Who meets whom over which links, under which addresses.
    pub ground: Ground,
}

/// A control application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deciding {
    /// What it says of itself.
    pub manifest: Manifest,
    /// The bytes of its component, as hexadecimal digits where it is written; none of one that is compiled in.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "plait_control_runtime::hexadecimal::optional"
    )]
    pub component: Option<Vec<u8>>,
}
