//! Elements and their attributes, as the schema allows them.

use super::super::hint::remedy;
use super::super::lines::Lines;
use super::super::xml::{elements, opening};
use crate::diagnostic::Diagnostic;
use crate::document::Span;
use roxmltree::Node;
use std::str::FromStr;

/// An element with its attributes, and the elements that may stand in it.
const SCHEMA: [(&str, &[&str], &[&str]); 9] = [
    (
        "experiment",
        &["name", "seed", "repeats", "duration"],
        &["description", "factor", "bridge", "evm", "command"],
    ),
    ("description", &[], &[]),
    ("factor", &["name", "levels"], &[]),
    ("bridge", &["name"], &[]),
    ("evm", &["hostname", "role", "acts", "template", "cpu"], &["interface", "log"]),
    ("interface", &["name", "bridge", "pf", "vf", "ip"], &["link"]),
    (
        "link",
        &[
            "order",
            "delay",
            "jitter",
            "loss",
            "reorder",
            "duplicate",
            "corrupt",
            "rate",
            "burst",
            "latency",
            "limit",
        ],
        &[],
    ),
    ("log", &["packets", "tcp", "files"], &[]),
    ("command", &["evm", "at", "name", "background", "timeout", "expect"], &[]),
];

/// An element that the schema allows where it stands, with attributes that it allows.
#[derive(Clone, Copy)]
pub(super) struct Element<'a, 'l> {
    node: Node<'a, 'a>,
    lines: &'l Lines,
}

impl<'a, 'l> Element<'a, 'l> {
    /// The whole experiment, with every element in it checked.
    pub fn root(node: Node<'a, 'a>, lines: &'l Lines) -> Result<Self, Diagnostic> {
        if node.tag_name().name() != "experiment" {
            return Err(Diagnostic::new(opening(node), "there is no experiment in this file")
                .help("begin with `<experiment name=\"…\">`"));
        }
        for inner in node.descendants().filter(Node::is_element) {
            check(inner)?;
        }
        Ok(Self { node, lines })
    }

    pub fn children(self, name: &'static str) -> impl Iterator<Item = Self> {
        elements(self.node, name).map(move |node| Self { node, ..self })
    }

    /// An attribute, unless it is blank.
    pub fn attribute(self, name: &str) -> Option<&'a str> {
        self.node.attribute(name).map(str::trim).filter(|text| !text.is_empty())
    }

    pub fn required(self, name: &str) -> Result<&'a str, Diagnostic> {
        self.attribute(name).ok_or_else(|| {
            let tag = self.node.tag_name().name();
            self.fault(format!("`{tag}` has no `{name}`"), format!("add `{name}=\"…\"`"))
        })
    }

    /// A value that can be written in one way.
    pub fn parse<T: FromStr>(self, name: &str, text: &str, form: &str) -> Result<T, Diagnostic> {
        text.parse().map_err(|_| self.fault(format!("`{name}` is not `{text}`"), format!("write {form}")))
    }

    /// What stands between the tags.
    pub fn text(self) -> String {
        let texts = self.node.children().filter(Node::is_text).filter_map(|text| text.text());
        texts.collect::<String>().trim().to_owned()
    }

    pub fn fault(self, what: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.span(), what).help(help)
    }

    pub fn span(self) -> Span {
        opening(self.node)
    }

    pub fn line(self) -> usize {
        self.lines.of(self.span())
    }
}

/// Whether the schema knows an element, where it stands, and its attributes.
fn check(node: Node<'_, '_>) -> Result<(), Diagnostic> {
    let tag = node.tag_name().name();
    let above = node.parent_element().map(|parent| parent.tag_name().name());
    let children = match above {
        None => &["experiment"][..],
        Some(above) => SCHEMA.iter().find(|(name, ..)| *name == above).map_or(&[][..], |row| row.2),
    };
    let Some((_, attributes, _)) = SCHEMA.iter().find(|(name, ..)| *name == tag && children.contains(&tag))
    else {
        let inside = above.map_or(String::new(), |above| format!(" in `{above}`"));
        return Err(Diagnostic::new(opening(node), format!("`{tag}` has no place{inside}"))
            .help(remedy(tag, children.iter().copied())));
    };
    for attribute in node.attributes() {
        if !attributes.contains(&attribute.name()) {
            let what = format!("`{tag}` has no attribute `{}`", attribute.name());
            return Err(Diagnostic::new(opening(node), what)
                .help(remedy(attribute.name(), attributes.iter().copied())));
        }
    }
    Ok(())
}
