//! From overlays to what each of their members is to them.

use super::resolve::{Member, Resolved, resolve};
use crate::plan::{OverlayControl, OverlayDevice, OverlayState, State};
use crate::section::Overlays;
use ipnet::IpNet;
use plait_dataplane_overlay::ApplicationConfig;
use plait_model_topology::address::Assignment;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::network::NodeIndex;
use plait_model_topology::{Network, section as decode_section};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// How many members are told to the others to join by. One would do, if it never failed.
const SEEDS: usize = 3;

/// Puts the overlays of a network into the state that realises it.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn put_in(
    state: &mut State,
    network: &Network,
    assignment: &Assignment,
) -> Result<(), Vec<Diagnostic>> {
    let written = decode_section::<Overlays>(&network.sections, "overlays").map_err(|fault| vec![fault])?;
    let Some(written) = written else { return Ok(()) };
    let overlays = resolve(&written, network)?;
    check(&overlays, network, assignment)?;
    let mut faults = Vec::new();
    for overlay in overlays {
        let locators = locators(&overlay, network, assignment)?;
        let fed =
            overlay.feed.as_ref().map(|feed| feed.members(&overlay.members, &locators, network, assignment));
        let feeds = match fed.unwrap_or_else(|| Ok(vec![None; locators.len()])) {
            Ok(feeds) => feeds,
            Err(fault) => {
                faults.extend(fault);
                continue;
            }
        };
        for ((member, own), evpn) in overlay.members.iter().zip(&locators).zip(feeds) {
            let name = &network.nodes[member.node].name;
            if let Some(node) = state.nodes.get_mut(name) {
                let of = OverlayState { evpn, ..member_state(&overlay, member, own, &locators) };
                node.overlays.insert(overlay.name.clone(), of);
            }
        }
        add_hosts(state, &overlay, network);
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Looks whether overlays can be, in either world: together, and with the network below.
///
/// # Errors
/// What is wrong with them.
pub fn check(
    overlays: &[Resolved],
    network: &Network,
    assignment: &Assignment,
) -> Result<(), Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut before: Vec<(&str, Reached)> = Vec::new();
    for overlay in overlays {
        faults.extend(overlapping(overlay, network, assignment));
        let locators = match locators(overlay, network, assignment) {
            Ok(locators) => locators,
            Err(fault) => {
                faults.extend(fault);
                continue;
            }
        };
        let mut reached = Reached::new();
        for (member, own) in overlay.members.iter().zip(locators) {
            let config = overlay.config_of(member);
            if let Err(fault) = config.check() {
                let text = format!("of `{}`: {fault}", network.nodes[member.node].name);
                faults.push(Diagnostic::new(member.span, text));
            }
            reached.insert(member.node, (config, own));
        }
        for (name, theirs) in &before {
            faults.extend(shared(overlay, &reached, name, theirs, network));
        }
        before.push((&overlay.name, reached));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Where each member is reached.
fn locators(
    overlay: &Resolved,
    network: &Network,
    assignment: &Assignment,
) -> Result<Vec<BTreeSet<IpAddr>>, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut all = Vec::new();
    for member in &overlay.members {
        let own = member
            .locators
            .clone()
            .unwrap_or_else(|| assignment.all(member.node).map(|net| net.addr()).collect());
        if own.is_empty() {
            let text = format!("`{}` has no address to be reached at", network.nodes[member.node].name);
            faults.push(Diagnostic::new(member.span, text).help("link it to others, or give it `locators`"));
        }
        all.push(own);
    }
    if faults.is_empty() { Ok(all) } else { Err(faults) }
}

/// How members' packets travel and where they are reached, by their nodes.
type Reached = BTreeMap<NodeIndex, (ApplicationConfig, BTreeSet<IpAddr>)>;

/// What arrives at a member of two overlays, and could be of either.
fn shared(
    overlay: &Resolved,
    reached: &Reached,
    other: &str,
    theirs: &Reached,
    network: &Network,
) -> Option<Diagnostic> {
    overlay.members.iter().find_map(|member| {
        let ((config, own), (their_config, their_own)) = (reached.get(&member.node)?, theirs.get(&member.node)?);
        let encapsulation = config.takes_as(their_config)?;
        let at = own.intersection(their_own).next()?;
        let node = &network.nodes[member.node].name;
        let text = format!(
            "what comes to `{node}` at {at} in {encapsulation} could be of overlay `{other}` as well: nothing in it says whose it is"
        );
        let help = "give the member `locators` of its own in each, choose the encapsulation `ovstack`, or make both one overlay \
                    with several `devices`";
        Some(Diagnostic::new(member.span, text).help(help))
    })
}

/// Addresses of an overlay that are those of the network below, too.
fn overlapping(overlay: &Resolved, network: &Network, assignment: &Assignment) -> Vec<Diagnostic> {
    let below = |prefix: &IpNet| {
        (0..network.nodes.len()).flat_map(|node| assignment.all(node)).find(|address| {
            prefix.contains(&address.trunc().network()) || address.contains(&prefix.network())
        })
    };
    let written = overlay.devices.iter().flat_map(|device| &device.networks);
    written
        .filter_map(|prefix| {
            let other = below(&prefix.value)?;
            let text = format!("{} meets {} of the network below", prefix.value, other.trunc());
            Some(Diagnostic::new(prefix.span, text).help("choose a prefix that nothing else has"))
        })
        .collect()
}

fn member_state(
    overlay: &Resolved,
    member: &Member,
    own: &BTreeSet<IpAddr>,
    locators: &[BTreeSet<IpAddr>],
) -> OverlayState {
    let others = || overlay.members.iter().zip(locators).filter(|(other, _)| other.node != member.node);
    let devices = overlay.devices_of(member).map(|device| {
        let addresses = device.addresses[&member.node].clone();
        OverlayDevice { config: device.config.clone(), addresses }
    });
    let stations = overlay.devices_of(member).flat_map(|device| {
        let name = &device.config.name;
        overlay.entries_of(member, device).map(|(identifier, node)| (name.clone(), identifier, node))
    });
    let nodes = match overlay.is_static {
        true => others().map(|(other, locators)| (other.id, locators.clone())).collect(),
        false => BTreeMap::new(),
    };
    let weighted = overlay.members.iter().filter(|of| of.node == member.node || overlay.is_static);
    let weighted = weighted.filter(|of| !of.weights.is_empty());
    let seeds: BTreeSet<IpAddr> =
        locators.iter().take(SEEDS).filter_map(|all| all.first().copied()).collect();
    OverlayState {
        application: overlay.application,
        config: overlay.config_of(member),
        id: member.id,
        locators: own.clone(),
        weights: weighted.map(|of| (of.id, of.weights.clone())).collect(),
        control: overlay.plane.as_ref().map(|plane| OverlayControl {
            plane: plane.kind,
            seeds: seeds.into_iter().collect(),
            interval: plane.interval,
            neighbours: plane.neighbours,
        }),
        nodes,
        routes: overlay.routes_of(member),
        evpn: None,
        stations: stations.collect(),
        devices: devices.collect(),
    }
}

/// Names the addresses of members: `NODE-DEVICE`, unless that is somebody's name.
fn add_hosts(state: &mut State, overlay: &Resolved, network: &Network) {
    for device in &overlay.devices {
        for (node, addresses) in &device.addresses {
            let name = format!("{}-{}", network.nodes[*node].name, device.config.name);
            if state.hosts.iter().any(|(_, known)| known.eq_ignore_ascii_case(&name)) {
                continue;
            }
            state.hosts.extend(addresses.iter().map(|address| (address.addr(), name.clone())));
        }
    }
}
