//! Bound files.

use super::super::draft::Draft;
use super::super::lines::Lines;
use super::super::values::{items, word};
use super::definition::Definition;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

/// Gives a node its files. Returns whether FRR's configuration is among them.
pub(super) fn read(
    definition: &Definition<'_, '_>,
    frr: bool,
    index: usize,
    lines: &Lines,
    draft: &mut Draft,
) -> bool {
    // The last bind of a path wins, and later ones are nearer to the node.
    let mut binds = IndexMap::new();
    for value in definition.all("binds").flat_map(|value| items(Some(value))) {
        let line = lines.of(value.span());
        let Some(text) = word(value) else { continue };
        // A path with the node's name in it is one path a node.
        let text = text.replace("__clabNodeName__", definition.name);
        match bind(&text, frr) {
            Ok((path, source)) => drop(binds.insert(path, source)),
            Err(why) => draft.lose(format!("bind {text}"), why, Some(line)),
        }
    }
    let config = binds.shift_remove(CONFIG).filter(|_| frr);
    let files: Map<String, Value> =
        binds.into_iter().map(|(path, source)| (path, json!({"source": source}))).collect();
    let keys = &mut draft.nodes[index].keys;
    if !files.is_empty() {
        keys.insert("files".to_owned(), Value::Object(files));
    }
    if let Some(config) = &config {
        keys.insert("frr".to_owned(), json!({"config": config}));
    }
    config.is_some()
}

/// Where FRR reads its configuration.
const CONFIG: &str = "/etc/frr/frr.conf";

/// The path inside the node, and the file beside the network file.
fn bind(text: &str, frr: bool) -> Result<(String, String), &'static str> {
    let mut parts = text.split(':');
    let (Some(source), Some(path)) = (parts.next(), parts.next()) else {
        return Err("names no path inside the node");
    };
    if frr && matches!(path, "/etc/frr/daemons" | "/etc/frr/vtysh.conf") {
        return Err("is Plait's to write: `routing:` names the daemons");
    }
    if source.starts_with(['/', '~', '$']) || source.contains("__clab") {
        return Err("is a path of one machine; copy the file beside the network file");
    }
    if source.is_empty() || !path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err("is no pair of paths");
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    if !last.contains('.') {
        return Err("may be a folder, and a network file names single files");
    }
    Ok((path.to_owned(), source.trim_start_matches("./").to_owned()))
}
