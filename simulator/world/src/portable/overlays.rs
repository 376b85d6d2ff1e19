//! What of `overlays:` runs in both worlds: overlays of Ethernet frames whose members decide, each node a member of one.

use super::{entry, is_one_of};
use plait_model_topology::document::{Entry, Map, Scalar, Span, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Names what cannot: its place, what it is, and what to do instead.
pub(super) fn unportable(overlays: &Map, name: &mut dyn FnMut(Span, &str, &str)) {
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    for overlay in &overlays.entries {
        let list;
        let (map, members) = match &overlay.value {
            Value::Map(map) => (map, entry(map, "members").map(|members| &members.value)),
            whole => {
                list = Map::default();
                (&list, Some(whole))
            }
        };
        for said in overrides(map) {
            let what = format!("`{}` of the overlay `{}`", said.key, overlay.key);
            name(
                said.key_span,
                &what,
                "leave it out: members send in one encapsulation there, and learn stations",
            );
        }
        for (key, known) in [
            ("control", &["mesh", "delay"][..]),
            ("carries", &["ethernet"]),
            ("encapsulation", &["ovstack", "vxlan", "geneve"]),
        ] {
            if let Some(said) = entry(map, key).filter(|said| !is_one_of(&said.value, known)) {
                let what = format!("`{key}` of the overlay `{}`", overlay.key);
                name(said.key_span, &what, &format!("write `{}`", known.join("` or `")));
            }
        }
        for (place, (key, device)) in inner(map, "devices").enumerate() {
            let instead = "leave it out: each member has one device of an overlay there";
            if place > 0 {
                let what =
                    format!("the device `{}` beside the first of the overlay `{}`", key.key, overlay.key);
                name(key.key_span, &what, instead);
            } else if let Some(some) = entry(device, "members") {
                let what = format!("`members` of the device `{}`", key.key);
                name(some.key_span, &what, instead);
            }
        }
        if entry(map, "control").is_some_and(|said| !is_one_of(&said.value, &["mesh", "delay"])) {
            continue;
        }
        for (member, span) in members.into_iter().flat_map(names) {
            match taken.get(&member) {
                Some(first) => {
                    let what =
                        format!("`{member}` as a member of `{}`, as it is one of `{first}`,", overlay.key);
                    name(
                        span,
                        &what,
                        "let one of the two do without it: a node is a member of one overlay there",
                    );
                }
                None => {
                    taken.insert(member, &overlay.key);
                }
            }
        }
    }
}

/// The devices that there are: the first of each overlay whose members decide.
pub(super) fn devices(overlays: &Map) -> BTreeSet<&str> {
    overlays.entries.iter().filter_map(device).collect()
}

fn device(overlay: &Entry) -> Option<&str> {
    let Value::Map(map) = &overlay.value else { return Some(&overlay.key) };
    if entry(map, "control").is_some_and(|said| !is_one_of(&said.value, &["mesh", "delay"])) {
        return None;
    }
    Some(inner(map, "devices").next().map_or(&overlay.key, |(first, _)| &first.key))
}

/// The maps within a map of an overlay, with their entries.
fn inner<'a>(overlay: &'a Map, key: &str) -> impl Iterator<Item = (&'a Entry, &'a Map)> + use<'a> {
    let all = match entry(overlay, key).map(|all| &all.value) {
        Some(Value::Map(all)) => &all.entries[..],
        _ => &[],
    };
    all.iter().filter_map(|one| match &one.value {
        Value::Map(map) => Some((one, map)),
        _ => None,
    })
}

/// What an overlay says of encapsulations of its own to some members, and of stations.
fn overrides(overlay: &Map) -> impl Iterator<Item = &Entry> {
    let of =
        |key: &str, wanted: &'static str| inner(overlay, key).filter_map(move |(_, map)| entry(map, wanted));
    of("members", "to").chain(of("devices", "stations")).chain(entry(overlay, "stations"))
}

/// The members that a list or map names, each with its place.
fn names(members: &Value) -> Vec<(String, Span)> {
    match members {
        Value::Map(map) => map.entries.iter().map(|entry| (entry.key.clone(), entry.key_span)).collect(),
        Value::List(items, _) => items
            .iter()
            .filter_map(|item| match item {
                Value::Scalar(Scalar::Text(text) | Scalar::Int(_, text), span) => Some((text.clone(), *span)),
                _ => None,
            })
            .collect(),
        Value::Scalar(..) => Vec::new(),
    }
}
