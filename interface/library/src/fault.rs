//! What is wrong with a network, and which line wrote it.

use crate::place::Place;
use crate::written::{Written, pointer};
use plait_model_topology::diagnostic::{Diagnostic, Report};
use plait_model_topology::document::{Source, Span, Value};
use std::collections::HashMap;
use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line that wrote it: of the program, or of the file that was read.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

/// All that is wrong with a network. Its text form is what people read: `error: …`, the place, what stands
/// there, the remedy.
#[derive(Debug, Clone)]
pub struct Faults {
    faults: Vec<Fault>,
    text: String,
}

impl Faults {
    /// Each fault, in the order they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }

    /// Says under which circumstances they were found.
    pub(crate) fn within(self, circumstances: &str) -> Self {
        Self { text: format!("{}\n{circumstances}", self.text), ..self }
    }

    fn of(told: Vec<Told>) -> Self {
        let texts: Vec<String> = told.iter().map(Told::to_string).collect();
        Self { faults: told.into_iter().map(|told| told.fault).collect(), text: texts.join("\n\n") }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Faults of a file, as its report tells them.
impl From<Report> for Faults {
    fn from(report: Report) -> Self {
        let fault = |(line, column, message, help): (usize, usize, &str, Option<&str>)| Fault {
            place: Place { file: report.source.name.clone(), line, column },
            message: message.to_owned(),
            help: help.map(str::to_owned),
        };
        Self { faults: report.entries().map(fault).collect(), text: report.to_string() }
    }
}

/// A name that was given to two things.
#[derive(Debug, Clone)]
pub(crate) struct Twice {
    pub name: String,
    pub first: Place,
    pub second: Place,
}

impl Twice {
    /// Names that were given twice, in the words of the file's reader.
    pub fn faults(twice: &[Self]) -> Faults {
        let told = |twice: &Self| Told {
            fault: Fault {
                place: twice.second.clone(),
                message: format!("`{}` is given twice", twice.name),
                help: Some("remove one of them".to_owned()),
            },
            excerpt: None,
            notes: vec![(twice.first.clone(), "given here first".to_owned())],
        };
        Faults::of(twice.iter().map(told).collect())
    }
}

/// Which line wrote each part of a network that methods made.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    places: HashMap<String, Place>,
}

impl Origin {
    pub fn of(written: &Written) -> Self {
        Self { places: written.places().iter().cloned().collect() }
    }

    /// Faults of the text that was made of a network, as faults of the lines that wrote it.
    pub fn faults(&self, source: &Source, document: &Value, faults: Vec<Diagnostic>) -> Faults {
        let told = |diagnostic: Diagnostic| Told {
            excerpt: Excerpt::of(source, diagnostic.span),
            notes: diagnostic
                .notes
                .into_iter()
                .map(|(span, note)| (self.place(document, span), note))
                .collect(),
            fault: Fault {
                place: self.place(document, diagnostic.span),
                message: diagnostic.message,
                help: diagnostic.help,
            },
        };
        Faults::of(faults.into_iter().map(told).collect())
    }

    /// The line that wrote the innermost part which holds a span.
    fn place(&self, document: &Value, span: Span) -> Place {
        let mut path = vec![String::new()];
        lead(document, span.start, &mut path);
        let known = path.iter().rev().find_map(|at| self.places.get(at));
        known.cloned().unwrap_or(Place { file: "a program".into(), line: 0, column: 0 })
    }
}

/// The pointers of all parts that hold a byte, outermost first.
fn lead(value: &Value, byte: usize, path: &mut Vec<String>) {
    let inside = |span: Span| span.start <= byte && byte < span.end.max(span.start + 1);
    let mut enter = |part: &str, value: &Value| {
        path.push(format!("{}{}", path.last().map_or("", String::as_str), pointer(&[part])));
        lead(value, byte, path);
    };
    match value {
        Value::Map(map) => {
            let found = map.entries.iter().find(|entry| inside(entry.key_span) || inside(entry.value.span()));
            if let Some(entry) = found {
                enter(&entry.key, &entry.value);
            }
        }
        Value::List(items, _) => {
            if let Some(position) = items.iter().position(|item| inside(item.span())) {
                enter(&position.to_string(), &items[position]);
            }
        }
        Value::Scalar(..) => {}
    }
}

/// A fault with what people see beside it.
struct Told {
    fault: Fault,
    excerpt: Option<Excerpt>,
    notes: Vec<(Place, String)>,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}\n --> {}", self.fault.message, self.fault.place)?;
        if let Some(Excerpt { line, before, marked }) = &self.excerpt {
            write!(f, "\n  |\n  | {line}\n  | {}{}\n  |", " ".repeat(*before), "^".repeat(*marked))?;
        }
        for (place, note) in &self.notes {
            write!(f, "\n  = note: {note}: {place}")?;
        }
        match &self.fault.help {
            Some(help) => write!(f, "\n  = help: {help}"),
            None => Ok(()),
        }
    }
}

/// A line of the file that methods made, with the part that is at fault.
struct Excerpt {
    line: String,
    before: usize,
    marked: usize,
}

impl Excerpt {
    fn of(source: &Source, span: Span) -> Option<Self> {
        let text = source.text.get(span.start..)?;
        let start = source.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let end = span.start + text.find('\n').unwrap_or(text.len());
        let line = source.text[start..end].trim_start();
        let indented = end - start - line.len();
        let before = source.text.get(start + indented..span.start)?.chars().count();
        let marked = source.text.get(span.start..span.end.min(end))?.trim_end().chars().count().max(1);
        Some(Self { line: line.to_owned(), before, marked })
    }
}
