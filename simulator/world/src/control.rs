//! Routes that control applications decide, changed at the instant at which links do.

use crate::world::{World, WorldError};
use ipnet::IpNet;
use plait_control_routing::{Applications, Crossing, Decider, Ground, Way};
use plait_model_topology::network::Routing;
use plait_simulator_engine::{Neighbour, NodeIndex, Via};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// Who decides routes, and what they decided.
pub(crate) struct Control {
    decider: Decider,
    /// Links by their names.
    links: HashMap<String, usize>,
    /// Of each node of the decider's ground, what is in its table.
    installed: Vec<BTreeSet<Way>>,
    report: ControlReport,
}

/// What became of applications' runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ControlReport {
    /// How often all applications ran to their end.
    pub runs: u64,
    /// What failed, each with its instant; routes stayed as they were then.
    pub failures: Vec<String>,
}

impl World {
    /// Has applications decide all routes from now on, and whenever a link or node fails, recovers or changes its
    /// conditions: at that instant, so that nothing happens between the event and what follows from it.
    ///
    /// # Errors
    /// Applications that the control runtime refuses; a network whose routes somebody else decides.
    pub fn decide_by(&mut self, applications: Applications) -> Result<(), WorldError> {
        if self.network.routing != Routing::None {
            let text = "somebody else decides this network's routes already: write `routing: none`";
            return Err(WorldError::new(text));
        }
        let ground = Ground::of(&self.network, &self.assignment);
        let installed = vec![BTreeSet::new(); ground.nodes.len()];
        let decider = Decider::new(ground, applications, false).map_err(error)?;
        let links = self.links.iter().enumerate().map(|(at, link)| (link.name.clone(), at)).collect();
        self.control = Some(Control { decider, links, installed, report: ControlReport::default() });
        self.decide()
    }

    /// What became of applications' runs, if any decide.
    pub fn control_report(&self) -> Option<ControlReport> {
        let Control { decider, report, .. } = self.control.as_ref()?;
        Some(ControlReport { runs: decider.runs(), ..report.clone() })
    }

    /// Lets applications decide about the links as they are, and nodes do what follows.
    pub(crate) fn decide(&mut self) -> Result<(), WorldError> {
        let now = self.now();
        let Self { control: Some(control), simulation, links, .. } = self else { return Ok(()) };
        let states: Vec<[Option<Duration>; 2]> = links
            .iter()
            .map(|link| {
                [0, 1].map(|side| {
                    let is_down = simulation.link_state(link.index, side).is_down;
                    (!is_down).then(|| link.conditions[side].delay.into())
                })
            })
            .collect();
        let known = &control.links;
        let delay = |crossing: &Crossing| states[*known.get(&crossing.link)?][crossing.side];
        control.decider.observe(delay, now);
        while let Some((application, failure)) = control.decider.poll_failure() {
            control.report.failures.push(format!("at {now:?}: {application}: {failure}"));
        }
        let (mut changes, mut tables) = (Vec::new(), BTreeMap::new());
        while let Some((place, ways)) = control.decider.poll_change() {
            let ways = ways.clone();
            let node = control.decider.ground().nodes[place].id;
            let before = tables.get(&place).unwrap_or(&control.installed[place]);
            let kept: BTreeSet<IpNet> = ways.iter().map(|way| way.to).collect();
            let gone = before.iter().filter(|way| !kept.contains(&way.to));
            changes.extend(gone.map(|way| (NodeIndex(node), way.to, Vec::new())));
            let interfaces = &self.network.nodes[node as usize].interfaces;
            for way in ways.difference(before) {
                let at = interfaces.iter().position(|interface| interface.name == way.interface);
                let Some(at) = at else { continue };
                let interface = self.interfaces[node as usize][at];
                let via = Via { interface, neighbour: Neighbour::Address(way.via) };
                changes.push((NodeIndex(node), way.to, vec![via]));
            }
            tables.insert(place, ways);
        }
        if !changes.is_empty() {
            simulation.set_routes(changes).map_err(error)?;
        }
        for (place, ways) in tables {
            control.installed[place] = ways;
        }
        Ok(())
    }
}

fn error(error: impl std::fmt::Display) -> WorldError {
    WorldError::new(error.to_string())
}
