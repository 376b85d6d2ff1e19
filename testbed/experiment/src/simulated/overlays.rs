//! Overlays of a file in virtual time.

use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::{Network, section};
use plait_simulator_world::{DataPlane, MemberSpec, OverlayIndex, OverlaySpec, World};
use plait_testbed_runtime::overlay::{Member, Resolved, check, resolve};
use plait_testbed_runtime::plan::mac;
use plait_testbed_runtime::section::Overlays;
use std::collections::HashMap;
use std::time::Duration;

/// An overlay that is there.
pub(super) struct SimulatedOverlay {
    pub index: OverlayIndex,
    /// The virtual network of each of its devices, by name.
    pub devices: HashMap<String, u32>,
    /// The place of each member, by name.
    pub members: HashMap<String, usize>,
}

/// Adds the overlays of a file whose tables something here fills.
///
/// # Errors
/// Overlays that cannot be.
pub(super) fn add(
    world: &mut World,
    network: &Network,
    is_recorded: bool,
) -> Result<Vec<SimulatedOverlay>, Vec<Diagnostic>> {
    let written: Option<Overlays> = section(&network.sections, "overlays").map_err(|fault| vec![fault])?;
    let overlays = written.map(|written| resolve(&written, network)).transpose()?.unwrap_or_default();
    check(&overlays, network, world.assignment())?;
    let mut added = Vec::new();
    for overlay in overlays {
        let Some(spec) = spec_of(&overlay, network, is_recorded) else { continue };
        let span = overlay.members.first().map(|member| member.span).unwrap_or_default();
        let index = world
            .add_overlay(&spec)
            .map_err(|error| vec![Diagnostic::new(span, format!("overlay `{}`: {error}", overlay.name))])?;
        let devices =
            overlay.devices.iter().map(|device| (device.config.name.clone(), device.config.vni)).collect();
        let members =
            spec.members.into_iter().enumerate().map(|(place, member)| (member.node, place)).collect();
        added.push(SimulatedOverlay { index, devices, members });
    }
    Ok(added)
}

/// An overlay that members decide, or that the file fills; no other.
fn spec_of(overlay: &Resolved, network: &Network, is_recorded: bool) -> Option<OverlaySpec> {
    let decides = overlay.plane.as_ref();
    let plane = decides.and_then(|plane| plane.kind.plane());
    if plane.is_none() && !overlay.is_static {
        return None;
    }
    let mut spec = OverlaySpec {
        application: overlay.application,
        members: overlay.members.iter().map(|member| member_of(overlay, member, network)).collect(),
        group: overlay.config.group,
        is_recorded,
        ..OverlaySpec::new([""; 0], plane)
    };
    if let Some(decides) = decides {
        spec.interval = Duration::from_millis(decides.interval);
        spec.neighbours = decides.neighbours;
    }
    Some(spec)
}

fn member_of(overlay: &Resolved, member: &Member, network: &Network) -> MemberSpec {
    let name = network.nodes[member.node].name.clone();
    let devices: Vec<_> = overlay.devices_of(member).collect();
    let entries = devices.iter().enumerate().flat_map(|(place, device)| {
        overlay.entries_of(member, device).map(move |(identifier, node)| (place, identifier, node))
    });
    let data_plane = DataPlane {
        config: overlay.config_of(member),
        entries: entries.collect(),
        devices: devices.iter().map(|device| device.config.clone()).collect(),
        addresses: devices.iter().map(|device| mac(&(name.clone(), device.config.name.clone()))).collect(),
    };
    MemberSpec {
        node: name,
        id: Some(member.id),
        locators: member.locators.as_ref().map(|given| member.weighted(given.iter().copied())),
        routes: overlay.routes_of(member),
        data_plane: Some(data_plane),
    }
}
