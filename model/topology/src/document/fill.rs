//! Values put where a document names them.

use super::{Scalar, Value};

impl Value {
    /// Puts a text in place of each `$name` in this value's scalars; keys stay as they are. `given` says what a name
    /// stands for; names it does not know are left alone, for a shell may know them. Spans stay those of the document.
    ///
    /// A name is a letter or `_` and all letters, digits and `_` that follow. A scalar that is nothing but a name
    /// becomes what YAML reads in the text given: `$count` with `3` is a number.
    pub fn fill<'a>(&mut self, given: &mut dyn FnMut(&str) -> Option<&'a str>) {
        match self {
            Self::List(items, _) => items.iter_mut().for_each(|item| item.fill(given)),
            Self::Map(map) => map.entries.iter_mut().for_each(|entry| entry.value.fill(given)),
            Self::Scalar(Scalar::Text(text), span) if text.contains('$') => {
                let span = *span;
                let whole =
                    text.strip_prefix('$').filter(|name| !name.is_empty() && end_of_name(name) == name.len());
                let scalar = match whole {
                    Some(name) => given(name).map(Scalar::plain),
                    None => Some(Scalar::Text(filled(text, given))),
                };
                if let Some(scalar) = scalar {
                    *self = Self::Scalar(scalar, span);
                }
            }
            Self::Scalar(..) => {}
        }
    }
}

fn filled<'a>(text: &str, given: &mut dyn FnMut(&str) -> Option<&'a str>) -> String {
    let mut pieces = text.split('$');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_at(end_of_name(piece));
        match given(name).filter(|_| !name.is_empty()) {
            Some(value) => filled.extend([value, rest]),
            None => filled.extend(["$", piece]),
        }
    }
    filled
}

/// How many bytes of a text are a name.
fn end_of_name(text: &str) -> usize {
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let end = || text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    if starts { end() } else { 0 }
}

#[cfg(test)]
mod tests {
    use crate::document::{Scalar, Source, Value, parse};

    fn fill(text: &str) -> Value {
        let mut value = parse(&Source::new("a.yaml", text)).unwrap();
        value.fill(&mut |name| match name {
            "delay" => Some("20ms"),
            "count" => Some("3"),
            _ => None,
        });
        value
    }

    fn at<'a>(value: &'a Value, key: &str) -> &'a Scalar {
        let Value::Map(map) = value else { panic!("{value:?}") };
        let Some(Value::Scalar(scalar, _)) = map.get(key) else { panic!("{value:?}") };
        scalar
    }

    #[test]
    fn names_become_what_they_stand_for() {
        let filled = fill("{whole: $delay, number: $count, within: 'x$count/$delay.', quoted: \"$count\"}");
        assert_eq!(*at(&filled, "whole"), Scalar::Text("20ms".to_owned()));
        assert_eq!(*at(&filled, "number"), Scalar::Int(3, "3".to_owned()));
        assert_eq!(*at(&filled, "within"), Scalar::Text("x3/20ms.".to_owned()));
        assert_eq!(*at(&filled, "quoted"), Scalar::Int(3, "3".to_owned()));
    }

    #[test]
    fn what_is_not_given_stays() {
        let text = "echo $HOME ${delay} $delays $ $1 $$ end$";
        let filled = fill(&format!("{{exec: '{text}', $delay: key}}"));
        assert_eq!(*at(&filled, "exec"), Scalar::Text(text.to_owned()));
        assert_eq!(*at(&filled, "$delay"), Scalar::Text("key".to_owned()));
    }

    #[test]
    fn lists_and_maps_are_filled_and_keep_their_places() {
        let source = "links: [{delay: $delay}]";
        let Value::Map(map) = fill(source) else { panic!() };
        let Some(Value::List(items, _)) = map.get("links") else { panic!() };
        let Value::Map(link) = &items[0] else { panic!() };
        let span = link.get("delay").unwrap().span();
        assert_eq!(&source[span.start..span.end], "$delay");
    }
}
