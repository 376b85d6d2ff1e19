//! What of `overlays:` runs in both worlds: all overlays whose tables their members or the file fill.

use super::{entry, is_one_of};
use plait_model_topology::document::{Entry, Map, Span, Value};
use std::collections::BTreeSet;

/// Who fills tables in both worlds: mesh where nothing is said.
const CONTROL: [&str; 3] = ["mesh", "delay", "static"];

/// Names what cannot: its place, what it is, and what to do instead.
pub(super) fn unportable(overlays: &Map, name: &mut dyn FnMut(Span, &str, &str)) {
    for overlay in &overlays.entries {
        let Value::Map(map) = &overlay.value else { continue };
        if let Some(control) = other_control(map) {
            let what = format!("`control` of the overlay `{}`", overlay.key);
            name(
                control.key_span,
                &what,
                "write `mesh`, `delay` or `static`: nobody else fills tables there",
            );
        }
    }
}

/// The devices of overlays that run.
pub(super) fn devices(overlays: &Map) -> BTreeSet<&str> {
    overlays.entries.iter().flat_map(of_overlay).collect()
}

/// The names of an overlay's devices: its own, where it says no others.
fn of_overlay(overlay: &Entry) -> Vec<&str> {
    let Value::Map(map) = &overlay.value else { return vec![&overlay.key] };
    match entry(map, "devices").map(|devices| &devices.value) {
        _ if other_control(map).is_some() => Vec::new(),
        Some(Value::Map(devices)) => devices.entries.iter().map(|device| device.key.as_str()).collect(),
        _ => vec![&overlay.key],
    }
}

/// What an overlay says of who fills its tables, where that is neither its members nor the file.
fn other_control(overlay: &Map) -> Option<&Entry> {
    entry(overlay, "control").filter(|control| !is_one_of(&control.value, &CONTROL))
}
