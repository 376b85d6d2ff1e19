//! Traffic in virtual time.

use super::{State, lock};
use crate::section::Traffic;
use crate::world::{FlowLogger, FlowRow, WorldError};
use plait_simulator_world::World as Simulated;
use plait_simulator_world::engine::{FlowIndex, FlowSpec, Size};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The flows of a run, and where each is found.
pub(super) struct Flows(Vec<(FlowIndex, FlowRow)>);

/// The same, to be asked at the end.
pub(super) struct Asked {
    flows: Flows,
    state: Arc<Mutex<State>>,
}

impl Flows {
    /// Adds all flows, of which each begins and ends at its instants after `start`.
    pub fn start(world: &mut Simulated, traffic: &[Traffic], start: Duration) -> Result<Self, WorldError> {
        let mut flows = Vec::new();
        for traffic in traffic {
            for flow in &traffic.flows {
                let names = [flow.from, flow.to].map(|end| traffic.hosts[end].as_str());
                let to = world.address(names[1]).map_err(super::error)?;
                let from = world.address_to(names[0], to).map_err(super::error)?;
                let ends = [from, to];
                let ports = [flow.source_port, flow.destination_port];
                let spec = FlowSpec {
                    // A payload's length was checked where the file was read.
                    size: Size::Constant(flow.size.bytes() as u32),
                    start: start + Duration::from(traffic.start),
                    stop: Some(start + Duration::from(traffic.stop)),
                    ..FlowSpec::constant(ends[0], ends[1], ports, flow.rate)
                };
                let index = world.simulation().add_flow(&spec).map_err(super::error)?;
                flows.push((index, FlowRow::new(&traffic.name, names, ports)));
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
        let row = |(index, row): (FlowIndex, FlowRow)| {
            let counters = state.world.flow(index);
            FlowRow {
                sent: counters.sent,
                received: counters.received,
                bytes: counters.bytes,
                reordered: counters.reordered,
                ..row
            }
        };
        Ok(self.flows.0.into_iter().map(row).collect())
    }
}
