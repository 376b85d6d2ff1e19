//! Text to values. The scanner is `saphyr-parser`; what is ours is the spans and the limits on hostile input.

use super::{Entry, Map, Scalar, Source, Span, Value};
use crate::diagnostic::{Diagnostic, Report};
use saphyr_parser::{Event, Parser, ScalarStyle, Span as Marks};
use std::collections::HashMap;

/// Deeper nesting than any network needs; it bounds every recursion over a document.
const MAX_DEPTH: usize = 64;
/// Aliases may repeat a value, but a document may not grow beyond this many values (the "billion laughs").
const MAX_VALUES: usize = 4_000_000;

/// Reads the one document of a text.
///
/// # Errors
/// A report that points at the first thing that is not YAML, a second document, a key given twice, an alias bomb, or
/// nesting deeper than 64.
pub fn parse(source: &Source) -> Result<Value, Report> {
    let offsets = Offsets::new(&source.text);
    let mut builder =
        Builder { offsets: &offsets, open: Vec::new(), anchors: HashMap::new(), values: 0, root: None };
    let fail = |diagnostic| Err(Report::new(source.clone(), vec![diagnostic]));
    for event in Parser::new_from_str(&source.text) {
        match event {
            Ok((event, marks)) => {
                if let Err(diagnostic) = builder.event(event, marks) {
                    return fail(diagnostic);
                }
            }
            Err(error) => {
                let at = offsets.byte(error.marker().index());
                return fail(Diagnostic::new(
                    Span { start: at, end: at },
                    format!("this is not YAML: {}", error.info()),
                ));
            }
        }
    }
    Ok(builder.root.unwrap_or(Value::Scalar(Scalar::Null, Span::default())))
}

/// The scanner counts characters; spans count bytes.
struct Offsets {
    /// Byte offset of each character, only kept when the text is not plain ASCII.
    bytes: Option<Vec<usize>>,
    len: usize,
}

impl Offsets {
    fn new(text: &str) -> Self {
        let bytes = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
        Self { bytes, len: text.len() }
    }

    fn byte(&self, character: usize) -> usize {
        match &self.bytes {
            None => character.min(self.len),
            Some(bytes) => bytes.get(character).copied().unwrap_or(self.len),
        }
    }

    fn span(&self, marks: Marks) -> Span {
        let start = self.byte(marks.start.index());
        Span { start, end: self.byte(marks.end.index()).max(start) }
    }
}

enum Open {
    List { items: Vec<Value>, start: usize, anchor: usize },
    Map { entries: Vec<Entry>, key: Option<(String, Span)>, start: usize, anchor: usize },
}

struct Builder<'a> {
    offsets: &'a Offsets,
    open: Vec<Open>,
    anchors: HashMap<usize, (Value, usize)>,
    values: usize,
    root: Option<Value>,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, marks: Marks) -> Result<(), Diagnostic> {
        let span = self.offsets.span(marks);
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                let scalar = if plain { Scalar::plain(&text) } else { Scalar::Text(text.into_owned()) };
                self.finish(Value::Scalar(scalar, span), anchor, 1)
            }
            Event::SequenceStart(anchor, _) => {
                self.push(Open::List { items: Vec::new(), start: span.start, anchor }, span)
            }
            Event::MappingStart(anchor, _) => {
                self.push(Open::Map { entries: Vec::new(), key: None, start: span.start, anchor }, span)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List { items, start, anchor }) => {
                    self.finish(Value::List(items, Span { start, end: span.end.max(start) }), anchor, 1)
                }
                Some(Open::Map { entries, start, anchor, .. }) => {
                    let span = Span { start, end: span.end.max(start) };
                    self.finish(Value::Map(Map { entries, span }), anchor, 1)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let (value, size) = self.anchors.get(&anchor).cloned().ok_or_else(|| {
                    Diagnostic::new(span, "this alias names an anchor that holds it")
                        .help("write the value out")
                })?;
                self.finish(value, 0, size)
            }
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(Diagnostic::new(span, "a network file is one YAML document")
                    .help("remove the second document"))
            }
            _ => Ok(()),
        }
    }

    fn push(&mut self, open: Open, span: Span) -> Result<(), Diagnostic> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Diagnostic::new(span, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        if let Some(Open::Map { key: None, .. }) = self.open.last() {
            return Err(Diagnostic::new(span, "a key must be plain text, not a list or a map"));
        }
        self.open.push(open);
        Ok(())
    }

    /// Puts a finished value where it belongs. `size` is how many values it holds.
    fn finish(&mut self, value: Value, anchor: usize, size: usize) -> Result<(), Diagnostic> {
        self.values += size;
        if self.values > MAX_VALUES {
            return Err(Diagnostic::new(value.span(), "aliases make this document too large")
                .help("write fewer nested aliases, or use groups"));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, (value.clone(), count(&value)));
        }
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List { items, .. }) => items.push(value),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                None => {
                    let span = value.span();
                    let text = match value {
                        Value::Scalar(
                            Scalar::Text(text) | Scalar::Int(_, text) | Scalar::Float(_, text),
                            _,
                        ) => text,
                        Value::Scalar(Scalar::Bool(value), _) => value.to_string(),
                        _ => return Err(Diagnostic::new(span, "a key must be plain text")),
                    };
                    *key = Some((text, span));
                }
                Some((key, key_span)) => entries.push(Entry { key, key_span, value }),
            },
        }
        // A key given twice is found when its map is complete, so that a large map is checked once.
        if let Some(Open::Map { entries, key: None, .. }) = self.open.last()
            && let Some((last, earlier)) = entries.split_last()
            && earlier.len() < 64
            && let Some(first) = earlier.iter().find(|entry| entry.key == last.key)
        {
            return Err(twice(first, last));
        }
        if let Some(Value::Map(map)) = self.last_finished()
            && map.entries.len() > 64
        {
            let mut seen = HashMap::with_capacity(map.entries.len());
            for entry in &map.entries {
                if let Some(first) = seen.insert(entry.key.as_str(), entry) {
                    return Err(twice(first, entry));
                }
            }
        }
        Ok(())
    }

    fn last_finished(&self) -> Option<&Value> {
        match self.open.last() {
            None => self.root.as_ref(),
            Some(Open::List { items, .. }) => items.last(),
            Some(Open::Map { entries, .. }) => entries.last().map(|entry| &entry.value),
        }
    }
}

fn twice(first: &Entry, second: &Entry) -> Diagnostic {
    Diagnostic::new(second.key_span, format!("`{}` is given twice", second.key))
        .note(first.key_span, "given here first")
        .help("remove one of them")
}

fn count(value: &Value) -> usize {
    match value {
        Value::Scalar(..) => 1,
        Value::List(items, _) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Map(map) => 1 + map.entries.iter().map(|entry| count(&entry.value)).sum::<usize>(),
    }
}

impl Scalar {
    /// What a text without quotes is: YAML 1.2's core schema, without its octal, hexadecimal, infinite and not-a-number
    /// forms, because no network needs them.
    pub fn plain(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Null,
            "true" | "True" | "TRUE" => return Self::Bool(true),
            "false" | "False" | "FALSE" => return Self::Bool(false),
            _ => {}
        }
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if digits.starts_with(|c: char| c.is_ascii_digit()) {
            if let Ok(number) = text.parse() {
                return Self::Int(number, text.to_owned());
            }
            if digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
                && let Ok(number) = text.parse()
            {
                return Self::Float(number, text.to_owned());
            }
        }
        Self::Text(text.to_owned())
    }
}
