//! Networks from others' files: one [`Importer`] a format, each with a report of what it could not carry over.
//!
//! | name | files |
//! |---|---|
//! | `graphml` | GraphML as in the Internet Topology Zoo, published or as drawn in yEd ([`GraphMl`]) |
//! | `repetita` | REPETITA's `.graph`, in which Rocketfuel's maps are passed on ([`Repetita`]) |
//!
//! An importer gives the text of a network file, so that what was read can be looked at, kept and changed like any other.

mod draft;
mod geography;
mod graphml;
mod names;
mod repetita;
mod speed;

pub use graphml::GraphMl;
pub use repetita::Repetita;

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
    /// What is malformed, with its line and the remedy. Text that is malformed in one place is refused as a whole.
    fn import(&self, source: &Source) -> Result<Imported, Report>;
}

/// All importers.
pub fn importers() -> Vec<Box<dyn Importer>> {
    vec![Box::new(GraphMl::default()), Box::new(Repetita)]
}

/// The importer for a source: by what the text looks like, else by how its name ends.
pub fn importer_for(source: &Source) -> Option<Box<dyn Importer>> {
    let ending = source.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let mut by_name = None;
    for importer in importers() {
        if importer.sniff(&source.text) {
            return Some(importer);
        }
        if ending.as_deref().is_some_and(|ending| importer.extensions().contains(&ending)) {
            by_name = by_name.or(Some(importer));
        }
    }
    by_name
}
