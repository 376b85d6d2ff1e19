//! A network as the text of a file, in the order in which people write one.

use plait_model_topology::yaml;
use serde_json::Value;

/// The sections in the order of a file: what it is about, what it consists of, what happens. Others come
/// last.
const ORDER: [&str; 18] = [
    "plait",
    "name",
    "seed",
    "report",
    "experiment",
    "defaults",
    "routing",
    "verify",
    "groups",
    "nodes",
    "links",
    "lans",
    "duration",
    "warmup",
    "collect",
    "metrics",
    "assert",
    "run",
];

/// The text of a network file.
pub fn text(network: &Value) -> String {
    let position = |key: &str| ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len());
    let mut sections: Vec<_> = network.as_object().into_iter().flatten().collect();
    sections.sort_by_key(|(key, _)| position(key));
    let mut text = String::new();
    for (key, value) in sections {
        yaml::entry(key, value, 0, &mut text);
    }
    text
}
