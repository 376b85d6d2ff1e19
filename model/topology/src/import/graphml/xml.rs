//! What XML holds, without what it means.

use crate::diagnostic::Diagnostic;
use crate::document::{Source, Span};
use roxmltree::Node;
use std::collections::HashMap;

/// The line of every element, from 1.
pub(super) struct Lines {
    /// Where each line begins.
    starts: Vec<usize>,
}

impl Lines {
    pub fn new(source: &Source) -> Self {
        let ends = source.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { starts: [0].into_iter().chain(ends).collect() }
    }

    pub fn of(&self, node: Node<'_, '_>) -> usize {
        self.starts.partition_point(|&start| start <= node.range().start)
    }
}

/// An attribute that a `key` element declares.
struct Key<'a> {
    name: String,
    /// What it is said of: `node`, `edge`, `all`…
    domain: &'a str,
    default: Option<&'a str>,
}

/// The attributes that a file declares, by id.
pub(super) struct Keys<'a> {
    keys: HashMap<&'a str, Key<'a>>,
}

impl<'a> Keys<'a> {
    pub fn new(root: Node<'a, 'a>) -> Self {
        let key = |key: Node<'a, 'a>| {
            let name = key.attribute("attr.name")?.to_ascii_lowercase();
            let default = elements(key, "default").next().and_then(|default| default.text());
            Some((key.attribute("id")?, Key { name, domain: key.attribute("for").unwrap_or("all"), default }))
        };
        Self { keys: elements(root, "key").filter_map(key).collect() }
    }

    /// The attributes of a node or edge by their names in small letters: those given, then the defaults of those that
    /// are not. Blank ones are left out.
    pub fn attributes(&self, element: Node<'a, 'a>) -> HashMap<&str, &'a str> {
        let domain = element.tag_name().name();
        let of_domain = self.keys.values().filter(|key| key.domain == domain || key.domain == "all");
        let defaults = of_domain.filter_map(|key| Some((key.name.as_str(), key.default?.trim())));
        let given = elements(element, "data").filter_map(|data| {
            let key = self.keys.get(data.attribute("key")?)?;
            Some((key.name.as_str(), data.text().map_or("", str::trim)))
        });
        let mut attributes: HashMap<&str, &'a str> = defaults.chain(given).collect();
        attributes.retain(|_, text| !text.is_empty());
        attributes
    }

    /// The names of the attributes that an element gives, in its order.
    pub fn given(&self, element: Node<'a, 'a>) -> impl Iterator<Item = &str> {
        let filled = |data: &Node<'_, '_>| data.text().is_some_and(|text| !text.trim().is_empty());
        let key = |data: Node<'a, 'a>| self.keys.get(data.attribute("key")?);
        elements(element, "data").filter(filled).filter_map(key).map(|key| key.name.as_str())
    }
}

/// The label in yEd's drawing of a node.
pub(super) fn drawn_label<'a>(node: Node<'a, 'a>) -> Option<&'a str> {
    let labels = node.descendants().filter(|inner| inner.tag_name().name() == "NodeLabel");
    labels.filter_map(|label| label.text()).map(str::trim).find(|text| !text.is_empty())
}

pub(super) fn elements<'a>(parent: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    parent.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

pub(super) fn descendants<'a, 'i>(
    parent: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    parent.descendants().skip(1).filter(move |inner| inner.is_element() && inner.tag_name().name() == name)
}

/// The place of an element's opening tag, not of all it holds.
pub(super) fn opening(node: Node<'_, '_>) -> Span {
    let range = node.range();
    let first = node.first_child().map_or(range.end, |child| child.range().start);
    Span { start: range.start, end: first.max(range.start + 1) }
}

/// The fault in a text that is not XML.
pub(super) fn not_xml(source: &Source, error: &roxmltree::Error) -> Diagnostic {
    let place = error.pos();
    let line = source.text.split_inclusive('\n').take(place.row.saturating_sub(1) as usize);
    let start: usize = line.map(str::len).sum();
    let rest = &source.text[start.min(source.text.len())..];
    let column =
        rest.char_indices().nth(place.col.saturating_sub(1) as usize).map_or(rest.len(), |(at, _)| at);
    let at = match error {
        roxmltree::Error::UnclosedRootNode | roxmltree::Error::UnexpectedEndOfStream => {
            source.text.trim_end().len().saturating_sub(1)
        }
        roxmltree::Error::DtdDetected => source.text.find("<!DOCTYPE").unwrap_or_default(),
        _ => start + column,
    };
    let help = match error {
        roxmltree::Error::DtdDetected => "remove the document type and its entities; GraphML needs none",
        roxmltree::Error::NodesLimitReached => "give a smaller file",
        roxmltree::Error::UnclosedRootNode | roxmltree::Error::UnexpectedEndOfStream => {
            "the file is cut off; fetch it again"
        }
        _ => "save the file again as GraphML, or mend the line",
    };
    // The place stands in front of the line already.
    let message = error.to_string();
    let message = message.strip_suffix(&format!(" at {place}")).unwrap_or(&message);
    Diagnostic::new(Span { start: at, end: at + 1 }, format!("this is not XML: {message}")).help(help)
}
