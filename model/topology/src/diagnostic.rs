//! What is wrong with a file, where, and what to do about it.

use crate::document::{Source, Span};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;

/// One fault: where it stands, what was expected, and the remedy.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// Where the fault stands.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// Other places that explain it.
    pub notes: Vec<(Span, String)>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A fault at a place.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), notes: Vec::new(), help: None }
    }

    /// Adds the remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another place that explains the fault.
    pub fn note(mut self, span: Span, note: impl Into<String>) -> Self {
        self.notes.push((span, note.into()));
        self
    }
}

/// All faults found in one source. Its text form is what people read: `error: …`, then `file:line:column`, the line
/// itself, and the remedy.
#[derive(Debug, Clone)]
pub struct Report {
    /// The text they were found in.
    pub source: Source,
    /// The faults, in the order they were found.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// A report on a source.
    pub fn new(source: Source, diagnostics: Vec<Diagnostic>) -> Self {
        Self { source, diagnostics }
    }

    /// Each fault as `(line, column, message, help)`, for machines.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, &str, Option<&str>)> {
        self.diagnostics.iter().map(|diagnostic| {
            let (line, column) = self.source.position(diagnostic.span.start);
            (line, column, diagnostic.message.as_str(), diagnostic.help.as_deref())
        })
    }
}

/// The part of a span on its first line, and at least one character of it, so that a fault in a long map marks one
/// line.
fn first_line(text: &str, span: Span) -> std::ops::Range<usize> {
    let mut start = span.start.min(text.len());
    let mut end = span.end.clamp(start, text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let line = text[start..end].find('\n').map_or(end, |at| start + at);
    let line = start + text[start..line].trim_end().len();
    start..line
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: &str = &self.source.text;
        for (count, diagnostic) in self.diagnostics.iter().enumerate() {
            if count > 0 {
                f.write_str("\n\n")?;
            }
            let mut snippet = Snippet::source(text)
                .path(&*self.source.name)
                .annotation(AnnotationKind::Primary.span(first_line(text, diagnostic.span)));
            for (span, note) in &diagnostic.notes {
                snippet = snippet
                    .annotation(AnnotationKind::Context.span(first_line(text, *span)).label(note.as_str()));
            }
            let mut group = Level::ERROR.primary_title(diagnostic.message.as_str()).element(snippet);
            if let Some(help) = &diagnostic.help {
                group = group.element(Level::HELP.message(help.as_str()));
            }
            write!(f, "{}", Renderer::plain().render(&[group]))?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// The known name nearest to what was written, when it is near enough to be what was meant.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(written, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len().min(written.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The remedy for an unknown name: the nearest known one, else the list of all.
pub fn suggest<'a>(written: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(name) = nearest(written, known.clone()) {
        return format!("did you mean `{name}`?");
    }
    let mut names: Vec<_> = known.into_iter().map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "none is known here".to_owned(),
        1 => format!("only {} is known here", names[0]),
        2..=24 => format!("known here: {}", names.join(", ")),
        more => {
            names.truncate(12);
            format!("known here: {} and {} more", names.join(", "), more - 12)
        }
    }
}
