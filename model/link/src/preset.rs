//! Presets: conditions of common access and wide-area links, kept as data files with their sources.

use crate::ConditionsSpec;
use serde::Deserialize;

const FILES: &[(&str, &str)] = &[
    ("dsl", include_str!("../presets/dsl.json")),
    ("lte", include_str!("../presets/lte.json")),
    ("wifi", include_str!("../presets/wifi.json")),
    ("satellite", include_str!("../presets/satellite.json")),
    ("wan", include_str!("../presets/wan.json")),
];

/// Conditions of a common kind of link, for both directions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// What the link is, in a line.
    pub about: String,
    /// Where the values come from.
    pub source: String,
    /// From the first end to the second: down, where the first end is the network's.
    pub forward: ConditionsSpec,
    /// From the second end to the first: up, where the second end is the user's.
    pub reverse: ConditionsSpec,
}

/// The preset of this name.
pub fn preset(name: &str) -> Option<Preset> {
    let (_, file) = FILES.iter().find(|(known, _)| *known == name)?;
    Some(serde_json::from_str(file).expect("presets are tested"))
}

/// The names of all presets.
pub fn preset_names() -> impl ExactSizeIterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}
