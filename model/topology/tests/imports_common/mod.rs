//! Files in the dialects of others, and how an import of them is looked at.
#![allow(dead_code, unused_imports, reason = "every test file uses its own part of this")]

mod containerlab;
mod gml;
mod maps;
mod netjson;
mod vito;

pub use containerlab::{BARE_LAB, LAB};
pub use gml::{GML, NETWORKX, YED};
pub use maps::{DRAWN, REPETITA, ROCKETFUEL, ZOO};
pub use netjson::{MAP, MESH};
pub use vito::HYBRID;

use plait_model_link::{Conditions, Rate};
use plait_model_topology::diagnostic::Report;
use plait_model_topology::document::{Scalar, Source, Value, parse};
use plait_model_topology::import::{Imported, Loss, Options, importer_for};
use plait_model_topology::vocabulary::Place;
use plait_model_topology::{Network, Vocabulary, resolve_network};

pub fn import(name: &str, text: &str) -> Result<Imported, String> {
    let source = Source::new(name, text);
    let importer = importer_for(&source).ok_or("no importer knows it")?;
    importer.import(&source, &Options::default()).map_err(|report| report.to_string())
}

/// The core's words, and those of other rooms that importers write, without what they mean.
fn vocabulary() -> Vocabulary {
    let mut vocabulary = Vocabulary::core();
    for key in ["frr", "limits", "processors"] {
        vocabulary.key::<serde_json::Value>(Place::Node, key);
    }
    for key in ["collect", "duration", "experiment", "report", "run"] {
        vocabulary.key::<serde_json::Value>(Place::File, key);
    }
    vocabulary
}

/// The network that an import's file describes; where factors vary it, with the first level of each.
pub fn read(imported: &Imported) -> Network {
    let fail = |report: Report| -> Network { panic!("{report}\n{}", imported.yaml) };
    let source = Source::new("net.yaml", imported.yaml.as_str());
    let mut document = parse(&source).unwrap_or_else(|report| panic!("{report}\n{}", imported.yaml));
    let factors = document.clone();
    document.fill(&mut |name| level(&factors, name));
    let network =
        resolve_network(&source, &document, &vocabulary(), &|_| Err(String::new())).unwrap_or_else(fail);
    assert_eq!((network.nodes.len(), network.links.len()), (imported.nodes, imported.links));
    network
}

/// The first level of a factor.
fn level<'a>(document: &'a Value, name: &str) -> Option<&'a str> {
    let inside = |value: &'a Value, key: &str| match value {
        Value::Map(map) => map.get(key),
        _ => None,
    };
    match inside(inside(inside(document, "experiment")?, "factors")?, name)? {
        Value::List(levels, _) => match levels.first()? {
            Value::Scalar(Scalar::Text(text) | Scalar::Int(_, text) | Scalar::Float(_, text), _) => {
                Some(text)
            }
            _ => None,
        },
        _ => None,
    }
}

pub fn names(network: &Network) -> Vec<&str> {
    network.nodes.iter().map(|node| node.name.as_str()).collect()
}

pub fn rate(conditions: &Conditions) -> String {
    match &conditions.rate {
        Rate::Constant(rate) => rate.to_string(),
        Rate::Unlimited => "unlimited".to_owned(),
        Rate::Trace(_) => "a trace".to_owned(),
    }
}

pub fn loses(imported: &Imported, what: &str, why: &str, line: Option<usize>) {
    let found = |loss: &Loss| loss.what == what && loss.why.contains(why) && loss.line == line;
    assert!(imported.losses.iter().any(found), "{what}, {why}, {line:?} is not in {:#?}", imported.losses);
}
