//! What is read of a device that is steered.

use ipnet::IpNet;
use plait_control_paths::RelayList;
use plait_dataplane_reference::paths::tables::FlowKey;
use std::time::Duration;

/// A flow that was heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowReport {
    /// Which.
    pub key: FlowKey,
    /// The prefix it is steered by, if that is still there.
    pub prefix: Option<IpNet>,
    /// Its list among the prefix's, counted from nought.
    pub list: u32,
    /// The list that it goes by from its next gap on, where it was moved.
    pub moves: Option<u32>,
    /// Whether somebody moved it there, so that rearrangement leaves it.
    pub by_hand: bool,
    /// Its packets.
    pub packets: u64,
    /// Their bytes from Ethernet's header on, without the stack.
    pub bytes: u64,
    /// When the last one went, on the monotonic clock.
    pub heard: Duration,
}

/// How much went by a relay list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListReport {
    /// The prefix.
    pub prefix: IpNet,
    /// The relays.
    pub relays: RelayList,
    /// Packets since the list is there.
    pub packets: u64,
    /// Their bytes from Ethernet's header on, without the stack.
    pub bytes: u64,
}
