//! GML's grammar: keys with values, and lists of them in brackets (Himsolt, "GML: a portable graph file
//! format", 1997).

use crate::diagnostic::Diagnostic;
use crate::document::Span;
use std::borrow::Cow;

/// Deeper nesting than any map has.
const MAX_DEPTH: usize = 64;

/// A key with its value.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub key: &'a str,
    /// Where the key stands.
    pub span: Span,
    pub value: Value<'a>,
}

#[derive(Debug)]
pub(super) enum Value<'a> {
    List(Vec<Pair<'a>>),
    /// A number, or a text with its entities resolved.
    Word(Cow<'a, str>),
}

impl<'a> Value<'a> {
    /// The pairs of a list; a word has none.
    pub fn pairs(&self) -> &[Pair<'a>] {
        match self {
            Self::List(pairs) => pairs,
            Self::Word(_) => &[],
        }
    }

    /// A number or a text without the white space around it, unless it is blank.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::List(_) => None,
            Self::Word(word) => Some(word.trim()).filter(|word| !word.is_empty()),
        }
    }
}

/// The first value of a key, whatever the case it is written in.
pub(super) fn find<'p, 'a>(pairs: &'p [Pair<'a>], key: &str) -> Option<&'p Value<'a>> {
    pairs.iter().find(|pair| pair.key.eq_ignore_ascii_case(key)).map(|pair| &pair.value)
}

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<Vec<Pair<'_>>, Diagnostic> {
    let mut scanner = Scanner { text, at: if text.starts_with('\u{feff}') { 3 } else { 0 } };
    // The lists that are open, each with the key that it is the value of.
    let mut open: Vec<(&str, Span, Vec<Pair<'_>>)> = Vec::new();
    let mut pairs = Vec::new();
    while let Some(token) = scanner.next()? {
        let (key, span) = match token {
            (Token::Word(key), span) if key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                (key, span)
            }
            (Token::Close, span) => {
                let Some((key, opened, outer)) = open.pop() else {
                    return Err(Diagnostic::new(span, "this bracket closes nothing").help("remove it"));
                };
                let list = std::mem::replace(&mut pairs, outer);
                pairs.push(Pair { key, span: opened, value: Value::List(list) });
                continue;
            }
            (_, span) => {
                return Err(Diagnostic::new(span, "expected a key").help("write a key and a value: `id 0`"));
            }
        };
        match scanner.next()? {
            Some((Token::Word(word), _)) => {
                pairs.push(Pair { key, span, value: Value::Word(Cow::Borrowed(word)) })
            }
            Some((Token::Quoted(text), _)) => {
                pairs.push(Pair { key, span, value: Value::Word(entities(text)) })
            }
            Some((Token::Open, place)) => {
                if open.len() >= MAX_DEPTH {
                    return Err(Diagnostic::new(place, format!("nested deeper than {MAX_DEPTH} levels"))
                        .help("give a flatter file"));
                }
                open.push((key, span, std::mem::take(&mut pairs)));
            }
            Some((Token::Close, _)) | None => {
                return Err(Diagnostic::new(span, format!("`{key}` has no value"))
                    .help("write a number, a \"text\" or a list in brackets behind it"));
            }
        }
    }
    match open.pop() {
        None => Ok(pairs),
        Some((key, span, _)) => Err(Diagnostic::new(span, format!("the bracket of `{key}` is never closed"))
            .help("the file is cut off; fetch it again, or add `]`")),
    }
}

enum Token<'a> {
    Open,
    Close,
    Quoted(&'a str),
    /// A key or a number.
    Word(&'a str),
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn next(&mut self) -> Result<Option<(Token<'a>, Span)>, Diagnostic> {
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start().len();
            if !self.text[self.at..].starts_with('#') {
                break;
            }
            // A comment ends with its line.
            self.at = self.text[self.at..].find('\n').map_or(self.text.len(), |end| self.at + end + 1);
        }
        let (start, rest) = (self.at, &self.text[self.at..]);
        let (token, length) = match rest.chars().next() {
            None => return Ok(None),
            Some('[') => (Token::Open, 1),
            Some(']') => (Token::Close, 1),
            Some('"') => match rest[1..].find('"') {
                Some(end) => (Token::Quoted(&rest[1..=end]), end + 2),
                None => {
                    return Err(Diagnostic::new(Span { start, end: start + 1 }, "this text is never closed")
                        .help("add a `\"`; one inside a text is written `&quot;`"));
                }
            },
            Some(_) => {
                let ends = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"');
                let length = rest.find(ends).unwrap_or(rest.len());
                (Token::Word(&rest[..length]), length)
            }
        };
        self.at += length;
        Ok(Some((token, Span { start, end: self.at })))
    }
}

/// A text with its character entities resolved: the named ones of ISO 8859-1 that names of places use, and
/// numbers.
fn entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        // No entity is longer than `&#1114111;`.
        let end = rest.bytes().take(10).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&rest[..end])?, end))) {
            Some((c, end)) => {
                plain.push(c);
                rest = &rest[end + 1..];
            }
            None => plain.push('&'),
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code);
    }
    let named = [
        ("amp", '&'),
        ("apos", '\''),
        ("gt", '>'),
        ("lt", '<'),
        ("nbsp", ' '),
        ("quot", '"'),
        ("Auml", 'Ä'),
        ("Ouml", 'Ö'),
        ("Uuml", 'Ü'),
        ("aacute", 'á'),
        ("auml", 'ä'),
        ("ccedil", 'ç'),
        ("eacute", 'é'),
        ("egrave", 'è'),
        ("iacute", 'í'),
        ("ntilde", 'ñ'),
        ("oacute", 'ó'),
        ("ouml", 'ö'),
        ("oslash", 'ø'),
        ("szlig", 'ß'),
        ("uacute", 'ú'),
        ("uuml", 'ü'),
    ];
    named.into_iter().find(|(known, _)| *known == name).map(|(_, c)| c)
}
