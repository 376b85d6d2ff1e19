//! VITO's experiments in XML (A. Stockmayer, dissertation, Tübingen 2023, section 3.1).
//!
//! VITO describes an experiment by nodes, bridges, link properties and timed commands in an XML file, and
//! prints no schema. Choice: the one read here has an element or an attribute for every field that its text
//! names; it is written down in `docs/src/reference/vito-xml.md`.
//!
//! | there | here |
//! |---|---|
//! | `evm` of role `nvm` | a `host`, or what `acts` says |
//! | `evm` of role `avm` | a `router`, or what `acts` says |
//! | a `bridge` with two interfaces | a link, each end's egress one direction of it |
//! | a `bridge` with more | a `switch` and a link to each, shaped towards the switch |
//! | `order="tbf netem"` | two links with a switch between (VITO's auxiliary node split) |
//! | `command` | an event of `run` |
//! | `log` | `collect` |
//! | `factor`, `repeats` | `experiment` |
//!
//! Values are written as in a network file. Everything is checked, and what the schema does not know is
//! refused.

mod element;
mod links;
mod nodes;
mod run;
mod value;

use super::draft::Draft;
use super::lines::Lines;
use super::{Imported, Importer, Options, xml};
use crate::diagnostic::{Diagnostic, Report};
use crate::document::Source;
use element::Element;
use roxmltree::Node;
use serde_json::json;
use value::Factors;

/// Reads VITO's experiments.
pub struct Vito;

impl Importer for Vito {
    fn name(&self) -> &'static str {
        "vito"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["vito.xml"]
    }

    fn sniff(&self, text: &str) -> bool {
        xml::begins_with(text, "experiment")
    }

    fn import(&self, source: &Source, options: &Options) -> Result<Imported, Report> {
        let document = xml::parse(source, "XML")?;
        let lines = Lines::new(source);
        read(document.root_element(), &lines)
            .map(|draft| draft.finish(source, options))
            .map_err(|fault| Report::new(source.clone(), vec![fault]))
    }
}

fn read<'a>(root: Node<'a, 'a>, lines: &Lines) -> Result<Draft, Diagnostic> {
    let root = Element::root(root, lines)?;
    let mut draft = Draft::new(Vito.name());
    draft.title = Some(root.required("name")?.to_owned());
    let factors = Factors::read(&root)?;
    let bridges = links::Bridges::read(&root)?;
    let lab = nodes::read(&root, bridges, &factors, &mut draft)?;
    links::connect(&lab, &mut draft);
    if let Some(seed) = root.attribute("seed") {
        let seed: u64 = root.parse("seed", seed, "a number, such as 1")?;
        draft.sections.insert("seed".to_owned(), json!(seed));
    }
    if let Some(description) = root.children("description").next() {
        let text = description.text().split_whitespace().collect::<Vec<_>>().join(" ");
        draft.sections.insert("report".to_owned(), json!({"question": text}));
    }
    run::read(&root, &lab, &factors, &mut draft)?;
    factors.all_used()?;
    Ok(draft)
}
