//! The pure function between two states.

use super::{LinkState, NodeState, OpenFlowState, Realisation, State, Step};
use std::collections::BTreeMap;

/// The steps that lead from `observed` to `desired`. Applying their effects to `observed` gives `desired`, and what
/// is the same in both is not touched.
///
/// The order is that in which the kernel can follow: links go before nodes, nodes come before links, addresses before
/// routes, daemons, overlays, paths, control and commands last.
pub fn plan(desired: &State, observed: &State) -> Vec<Step> {
    let mut plan = Planner { now: observed.clone(), steps: Vec::new() };
    let rebuilt: Vec<&String> = observed
        .nodes
        .iter()
        .filter(|(name, node)| desired.nodes.get(*name).is_none_or(|wanted| must_rebuild(wanted, node)))
        .map(|(name, _)| name)
        .collect();
    for (name, link) in &observed.links {
        let stays = desired.links.get(name).is_some_and(|wanted| !must_replug(wanted, link))
            && link.ends.iter().all(|(node, _)| !rebuilt.contains(&node));
        if !stays {
            plan.step(Step::RemoveLink { name: name.clone() });
        }
    }
    for name in rebuilt {
        plan.step(Step::RemoveNode { name: name.clone() });
    }
    for (name, node) in &desired.nodes {
        match plan.now.nodes.get(name) {
            None => plan.step(Step::AddNode { name: name.clone(), node: Box::new(node.clone()) }),
            Some(known) => {
                let steps = [sysctls(name, node, known), files(name, node, known)];
                steps.into_iter().flatten().for_each(|step| plan.step(step));
            }
        }
    }
    for (name, link) in &desired.links {
        match plan.now.links.get(name) {
            None => plan.step(Step::AddLink { name: name.clone(), link: Box::new(link.clone()) }),
            Some(known) if known != link => {
                plan.step(Step::Condition { name: name.clone(), link: Box::new(link.clone()) });
            }
            Some(_) => {}
        }
    }
    if plan.now.hosts != desired.hosts || plan.now.assignment != desired.assignment {
        plan.step(Step::Hosts(desired.hosts.clone(), desired.assignment.clone()));
    }
    for (name, node) in &desired.nodes {
        plan.addresses(name, node);
    }
    for (name, node) in &desired.nodes {
        plan.routes(name, node);
    }
    for (name, node) in &desired.nodes {
        let known = &plan.now.nodes[name];
        if known.frr != node.frr {
            plan.step(Step::Daemons { node: name.clone(), frr: node.frr.clone() });
        }
    }
    // Controllers first, so that no switch waits for its second attempt.
    for is_controller in [true, false] {
        for (name, node) in &desired.nodes {
            let controls = matches!(node.openflow, Some(OpenFlowState::Controller(_)));
            if controls == is_controller && plan.now.nodes[name].openflow != node.openflow {
                plan.step(Step::OpenFlow { node: name.clone(), openflow: node.openflow.clone() });
            }
        }
    }
    for (name, node) in &desired.nodes {
        if plan.now.nodes[name].overlays != node.overlays {
            plan.step(Step::Overlays { node: name.clone(), overlays: node.overlays.clone() });
        }
    }
    for (name, node) in &desired.nodes {
        if plan.now.nodes[name].paths != node.paths {
            plan.step(Step::Paths { node: name.clone(), paths: node.paths.clone() });
        }
    }
    // Routes that applications decided went with the nodes and devices that had them.
    let loses_routes = |step: &Step| {
        matches!(
            step,
            Step::AddNode { .. } | Step::AddLink { .. } | Step::RemoveLink { .. } | Step::Addresses { .. }
        )
    };
    if plan.now.control != desired.control
        || (desired.control.is_some() && plan.steps.iter().any(loses_routes))
    {
        plan.step(Step::Control(desired.control.clone().map(Box::new)));
    }
    for (name, node) in &desired.nodes {
        let known = &plan.now.nodes[name].commands;
        if *known != node.commands {
            let run = node.commands.iter().filter(|command| !known.contains(command)).cloned().collect();
            plan.step(Step::Commands { node: name.clone(), run, all: node.commands.clone() });
        }
    }
    plan.steps
}

struct Planner {
    now: State,
    steps: Vec<Step>,
}

impl Planner {
    fn step(&mut self, step: Step) {
        step.effect(&mut self.now);
        self.steps.push(step);
    }

    fn addresses(&mut self, name: &str, node: &NodeState) {
        let known = &self.now.nodes[name].interfaces;
        let mut steps = Vec::new();
        for (interface, wanted) in &node.interfaces {
            let known = known.get(interface).map(|known| &known.addresses[..]).unwrap_or_default();
            if known == wanted.addresses {
                continue;
            }
            // The first address is the one packets leave with, so what follows a change is set again.
            let same =
                known.iter().zip(&wanted.addresses).take_while(|(known, wanted)| known == wanted).count();
            steps.push(Step::Addresses {
                node: name.to_owned(),
                interface: interface.clone(),
                remove: known[same..].to_vec(),
                add: wanted.addresses[same..].to_vec(),
            });
        }
        steps.into_iter().for_each(|step| self.step(step));
    }

    fn routes(&mut self, name: &str, node: &NodeState) {
        let known = &self.now.nodes[name].routes;
        let remove: Vec<_> = known.difference(&node.routes).cloned().collect();
        let add: Vec<_> = node.routes.difference(known).cloned().collect();
        if !remove.is_empty() || !add.is_empty() {
            self.step(Step::Routes { node: name.to_owned(), remove, add });
        }
    }
}

/// What cannot be changed in place.
fn must_rebuild(wanted: &NodeState, known: &NodeState) -> bool {
    // A parameter that is no longer given has a value nobody can know, so the node starts afresh.
    let forgets = known.sysctls.keys().any(|name| !wanted.sysctls.contains_key(name));
    wanted.role != known.role
        || wanted.kind != known.kind
        || wanted.hidden != known.hidden
        || wanted.processors != known.processors
        || wanted.limits != known.limits
        || wanted.uplink != known.uplink
        || wanted.congestion_control != known.congestion_control
        || forgets
}

fn must_replug(wanted: &LinkState, known: &LinkState) -> bool {
    wanted.ends != known.ends
        || wanted.mtu != known.mtu
        || wanted.realisation != known.realisation
        || wanted.hidden != known.hidden
        // The engine draws from the seed a link was made with; nobody else draws.
        || wanted.seed != known.seed && matches!(wanted.realisation, Realisation::Engine(_))
}

fn sysctls(name: &str, wanted: &NodeState, known: &NodeState) -> Option<Step> {
    let set: BTreeMap<_, _> = wanted
        .sysctls
        .iter()
        .filter(|(key, value)| known.sysctls.get(*key) != Some(value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    (!set.is_empty()).then(|| Step::Sysctls { node: name.to_owned(), set })
}

fn files(name: &str, wanted: &NodeState, known: &NodeState) -> Option<Step> {
    let changed = wanted
        .files
        .iter()
        .filter(|(path, text)| known.files.get(*path) != Some(text))
        .map(|(path, text)| (path.clone(), Some(text.clone())));
    let gone =
        known.files.keys().filter(|path| !wanted.files.contains_key(*path)).map(|path| (path.clone(), None));
    let files: BTreeMap<_, _> = changed.chain(gone).collect();
    (!files.is_empty()).then(|| Step::Files { node: name.to_owned(), files })
}
