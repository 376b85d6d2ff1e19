//! Networks from others' files: one [`Importer`] a format, each with a report of what it could not carry
//! over.
//!
//! | name | files |
//! |---|---|
//! | `containerlab` | containerlab's `*.clab.yml`, as far as no vendor's image is needed ([`Containerlab`]) |
//! | `gml` | GML as in the Internet Topology Zoo, from NetworkX or as drawn in yEd ([`Gml`]) |
//! | `graphml` | GraphML as in the Internet Topology Zoo, published or as drawn in yEd ([`GraphMl`]) |
//! | `netjson` | NetJSON's `NetworkGraph`, alone or in a `NetworkCollection` ([`NetJson`]) |
//! | `repetita` | REPETITA's `.graph`, in which Rocketfuel's maps are passed on ([`Repetita`]) |
//! | `vito` | VITO's experiments in XML ([`Vito`]) |
//!
//! An importer gives the text of a network file, so that what was read can be looked at, kept and changed
//! like any other.

mod chart;
mod containerlab;
mod draft;
mod geography;
mod gml;
mod graphml;
mod hint;
mod lines;
mod location;
mod names;
mod netjson;
mod pairs;
mod repetita;
mod speed;
mod values;
mod vito;
mod xml;

pub use containerlab::Containerlab;
pub use gml::Gml;
pub use graphml::GraphMl;
pub use netjson::NetJson;
pub use repetita::Repetita;
pub use vito::Vito;

use crate::diagnostic::Report;
use crate::document::Source;

/// What an import gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The text of a network file.
    pub yaml: String,
    /// What could not be carried over, in the order it was met.
    pub losses: Vec<Loss>,
    /// How many nodes the file has.
    pub nodes: usize,
    /// How many links.
    pub links: usize,
    /// How many parts it falls into; 1 when every node reaches every other.
    pub parts: usize,
}

/// Something that the network file does not say as the source does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// What is concerned: a node, a link, an attribute.
    pub what: String,
    /// What became of it and why.
    pub why: String,
    /// The line of the source, where there is one.
    pub line: Option<usize>,
}

/// What is wanted of an import beyond what the file says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// What all rates are multiplied by; above 0.
    pub scale: f64,
    /// What one unit of a drawing's page stands for, for files whose nodes have no other place.
    pub kilometres_per_unit: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { scale: 1.0, kilometres_per_unit: None }
    }
}

/// Reads one format.
pub trait Importer: Send + Sync {
    /// The name the command line knows it by.
    fn name(&self) -> &'static str;

    /// What files of the format end in, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Whether a text looks like the format, from its beginning.
    fn sniff(&self, text: &str) -> bool;

    /// Reads a text.
    ///
    /// # Errors
    /// What is malformed, with its line and the remedy. Text that is malformed in one place is refused as a
    /// whole.
    fn import(&self, source: &Source, options: &Options) -> Result<Imported, Report>;
}

/// All importers.
pub fn importers() -> Vec<Box<dyn Importer>> {
    vec![
        Box::new(Containerlab),
        Box::new(Gml),
        Box::new(GraphMl),
        Box::new(NetJson),
        Box::new(Repetita),
        Box::new(Vito),
    ]
}

/// The importer for a source: by what the text looks like, else by how its name ends.
pub fn importer_for(source: &Source) -> Option<Box<dyn Importer>> {
    let name = source.name.to_ascii_lowercase();
    let ends = |importer: &dyn Importer| {
        importer.extensions().iter().any(|ending| name.strip_suffix(ending).is_some_and(|s| s.ends_with('.')))
    };
    let mut all = importers();
    let found = all.iter().position(|importer| importer.sniff(&source.text));
    let found = found.or_else(|| all.iter().position(|importer| ends(&**importer)))?;
    Some(all.swap_remove(found))
}
