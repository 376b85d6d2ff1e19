//! Traffic in virtual time.

use super::overlays::SimulatedOverlay;
use super::{State, lock};
use crate::section::{Over, Traffic};
use crate::world::{FlowLogger, FlowRow, WorldError};
use plait_model_traffic::Flow;
use plait_simulator_world::engine::{FlowCounters, FlowIndex, FlowSpec, Size};
use plait_simulator_world::{OverlayFlowIndex, OverlayFlowSpec, World as Simulated};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The flows of a run, and where each is found.
pub(super) struct Flows(Vec<(Place, FlowRow)>);

/// The same, to be asked at the end.
pub(super) struct Asked {
    flows: Flows,
    state: Arc<Mutex<State>>,
}

/// Where a flow is found.
#[derive(Clone, Copy)]
enum Place {
    Below(FlowIndex),
    Over(OverlayFlowIndex),
}

impl Flows {
    /// Adds all flows, of which each begins and ends at its instants after `start`. Of those over overlays, the ones whose
    /// members are not there are left out.
    pub fn start(state: &mut State, traffic: &[Traffic], start: Duration) -> Result<Self, WorldError> {
        let State { world, overlays, .. } = state;
        let mut flows = Vec::new();
        for traffic in traffic {
            for flow in &traffic.flows {
                let place = match &traffic.over {
                    None => Some(Place::Below(below(world, traffic, flow, start)?)),
                    Some(over) => {
                        let of = overlays.iter().find(|known| known.devices.contains_key(&over.device));
                        let spec = of.and_then(|of| Some((of, above(of, traffic, over, flow, start)?)));
                        let add = |(of, spec): (&SimulatedOverlay, OverlayFlowSpec)| {
                            world.add_overlay_flow(of.index, &spec).map(Place::Over).map_err(super::error)
                        };
                        spec.map(add).transpose()?
                    }
                };
                let names = [flow.from, flow.to].map(|end| traffic.hosts[end].as_str());
                let ports = [flow.source_port, flow.destination_port];
                flows.extend(place.map(|place| (place, FlowRow::new(&traffic.name, names, ports))));
            }
        }
        Ok(Self(flows))
    }

    pub fn of(self, state: Arc<Mutex<State>>) -> Asked {
        Asked { flows: self, state }
    }
}

impl FlowLogger for Asked {
    fn finish(self: Box<Self>) -> Result<Vec<FlowRow>, WorldError> {
        let state = lock(&self.state);
        let row = |(place, row): (Place, FlowRow)| {
            let FlowCounters { sent, received, bytes, reordered, .. } = match place {
                Place::Below(index) => state.world.flow(index),
                Place::Over(index) => state.world.overlay_flow(index),
            };
            FlowRow { sent, received, bytes, reordered, ..row }
        };
        Ok(self.flows.0.into_iter().map(row).collect())
    }
}

/// A flow by the addresses of links.
fn below(
    world: &mut Simulated,
    traffic: &Traffic,
    flow: &Flow,
    start: Duration,
) -> Result<FlowIndex, WorldError> {
    let to = world.address(&traffic.hosts[flow.to]).map_err(super::error)?;
    let from = world.address_to(&traffic.hosts[flow.from], to).map_err(super::error)?;
    let ports = [flow.source_port, flow.destination_port];
    let spec = FlowSpec {
        // A payload's length was checked where the file was read.
        size: Size::Constant(flow.size.bytes() as u32),
        start: start + Duration::from(traffic.start),
        stop: Some(start + Duration::from(traffic.stop)),
        ..FlowSpec::constant(from, to, ports, flow.rate)
    };
    world.simulation().add_flow(&spec).map_err(super::error)
}

/// A flow over an overlay, if both ends are members of it here.
fn above(
    overlay: &SimulatedOverlay,
    traffic: &Traffic,
    over: &Over,
    flow: &Flow,
    start: Duration,
) -> Option<OverlayFlowSpec> {
    let ends = [flow.from, flow.to];
    let member = |end: usize| overlay.members.get(&traffic.hosts[end]).copied();
    Some(OverlayFlowSpec {
        vni: *overlay.devices.get(&over.device)?,
        members: [member(flow.from)?, member(flow.to)?],
        addresses: ends.map(|end| over.addresses[end]),
        ports: [flow.source_port, flow.destination_port],
        size: flow.size.bytes() as u16,
        rate: flow.rate,
        start: start + Duration::from(traffic.start),
        stop: start + Duration::from(traffic.stop),
    })
}
