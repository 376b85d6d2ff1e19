//! Flows between the hosts above members' devices.

use super::OverlayIndex;
use crate::world::{World, WorldError};
use plait_model_quantity::Bandwidth;
use plait_simulator_engine::FlowCounters;
use std::net::IpAddr;
use std::time::Duration;

/// A flow of UDP datagrams over an overlay, evenly at a rate, which counts whole frames of the overlay's device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayFlowSpec {
    /// The virtual network whose device both have.
    pub vni: u32,
    /// Sender and receiver by their places among the members.
    pub members: [usize; 2],
    /// Their addresses on the device.
    pub addresses: [IpAddr; 2],
    /// Ports of sender and receiver.
    pub ports: [u16; 2],
    /// Bytes of UDP payload, 20 at least.
    pub size: u16,
    /// How fast.
    pub rate: Bandwidth,
    /// From when on.
    pub start: Duration,
    /// Until when.
    pub stop: Duration,
}

/// A flow over an overlay by its place among all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OverlayFlowIndex(pub u32);

impl World {
    /// Adds a flow between the hosts above two members' devices. Where those carry frames the first datagram waits until the
    /// receiver's hardware address is known.
    ///
    /// # Errors
    /// Members that are not there or have no such device, addresses of two IP versions.
    pub fn add_overlay_flow(
        &mut self,
        overlay: OverlayIndex,
        spec: &OverlayFlowSpec,
    ) -> Result<OverlayFlowIndex, WorldError> {
        let number = self.overlays.flows.len() as u32;
        let [from, to] = spec.addresses;
        if from.is_ipv6() != to.is_ipv6() {
            let text =
                format!("{from} and {to} are of different IP versions: send from and to addresses of one");
            return Err(WorldError::new(text));
        }
        let has_one =
            |place: &usize| self.member(overlay, *place).is_some_and(|member| member.has_device(spec.vni));
        if !spec.members.iter().all(has_one) {
            let text =
                format!("a flow goes between members of an overlay that have a device of VNI {}", spec.vni);
            return Err(WorldError::new(text));
        }
        if self.overlays.all.get(overlay.0).is_some_and(|of| of.falls_back) {
            spec.addresses.into_iter().for_each(|address| self.simulation.know(address));
        }
        self.with_member(overlay, spec.members[0], |member| member.send_flow(number, spec));
        self.with_member(overlay, spec.members[1], |member| member.receive_flow(number, spec));
        self.overlays.flows.push((overlay, spec.members));
        Ok(OverlayFlowIndex(number))
    }

    /// What became of a flow over an overlay.
    pub fn overlay_flow(&self, flow: OverlayFlowIndex) -> FlowCounters {
        let Some((overlay, places)) = self.overlays.flows.get(flow.0 as usize) else {
            return FlowCounters::default();
        };
        let [from, to] = places.map(|place| self.member(*overlay, place));
        let sent = from.map_or(0, |member| member.sent(flow.0));
        FlowCounters { sent, ..to.map(|member| member.received(flow.0)).unwrap_or_default() }
    }
}
