//! What XML holds, without what it means.

use crate::diagnostic::{Diagnostic, Report};
use crate::document::{Source, Span};
use roxmltree::{Document, Node, ParsingOptions};

/// Reads a text as XML; `format` is what people know the file as.
pub(super) fn parse<'a>(source: &'a Source, format: &str) -> Result<Document<'a>, Report> {
    // No document type means no entities, and so none that grow without end.
    let options = ParsingOptions { allow_dtd: false, nodes_limit: 10_000_000, ..ParsingOptions::default() };
    Document::parse_with_options(&source.text, options)
        .map_err(|error| Report::new(source.clone(), vec![not_xml(source, &error, format)]))
}

/// Whether the beginning of a text holds the opening of an element.
pub(super) fn begins_with(text: &str, element: &str) -> bool {
    let end = text.char_indices().nth(2000).map_or(text.len(), |(at, _)| at);
    text[..end].contains(&format!("<{element}"))
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
fn not_xml(source: &Source, error: &roxmltree::Error, format: &str) -> Diagnostic {
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
        roxmltree::Error::DtdDetected => {
            format!("remove the document type and its entities; {format} needs none")
        }
        roxmltree::Error::NodesLimitReached => "give a smaller file".to_owned(),
        roxmltree::Error::UnclosedRootNode | roxmltree::Error::UnexpectedEndOfStream => {
            "the file is cut off; fetch it again".to_owned()
        }
        _ => format!("save the file again as {format}, or mend the line"),
    };
    // The place stands in front of the line already.
    let message = error.to_string();
    let message = message.strip_suffix(&format!(" at {place}")).unwrap_or(&message);
    Diagnostic::new(Span { start: at, end: at + 1 }, format!("this is not XML: {message}")).help(help)
}
