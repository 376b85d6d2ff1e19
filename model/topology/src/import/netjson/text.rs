//! JSON to values that know their place.

use crate::diagnostic::{Diagnostic, Report};
use crate::document::{Source, Span, Value, parse};

/// Reads a text as JSON. The source that comes back is the one that places of values and faults belong to.
///
/// JSON is YAML but for tabs and surrogates, and this crate's reader of YAML gives places. So the text is
/// checked to be JSON, and then written so that it is YAML too, each line staying what it was: tabs become
/// spaces, and a character that JSON writes as two surrogates becomes one escape.
pub(super) fn read(source: &Source) -> Result<(Source, Value), Report> {
    let text = source.text.trim_start_matches('\u{feff}');
    if let Err(error) = serde_json::from_str::<serde_json::Value>(text) {
        let start: usize =
            text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let mut at = (start + error.column().saturating_sub(1)).min(text.len().saturating_sub(1));
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
        let help = if error.is_eof() { "the file is cut off; fetch it again" } else { "mend the line" };
        let fault = Diagnostic::new(Span { start: at, end: at + 1 }, format!("this is not JSON: {message}"));
        return Err(Report::new(Source::new(source.name.clone(), text), vec![fault.help(help)]));
    }
    // Raw tabs stand only between values, because JSON refuses them in strings.
    let source = Source::new(source.name.clone(), joined(&text.replace('\t', " ")));
    let value = parse(&source)?;
    Ok((source, value))
}

/// The text with every pair of surrogate escapes (`\ud83d\ude00`) as one (`\U0001f600`).
fn joined(text: &str) -> String {
    let mut to = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at..];
        to.push_str(&rest[..at]);
        let unit = |from: usize| {
            let digits = escape.get(from..from + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        let pair = unit(0).zip(unit(6)).map(|(high, low)| char::decode_utf16([high, low]).next());
        let length = match pair {
            Some(Some(Ok(c))) if c > '\u{ffff}' => {
                to.push_str(&format!("\\U{:08x}", u32::from(c)));
                12
            }
            // The character behind a backslash is never the beginning of another escape.
            _ => {
                let length = escape.chars().take(2).map(char::len_utf8).sum();
                to.push_str(&escape[..length]);
                length
            }
        };
        rest = &escape[length..];
    }
    to + rest
}
