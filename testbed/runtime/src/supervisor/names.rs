//! Finding what a request names.

use crate::plan::{State, auxiliary};
use std::io;

/// A link by its name or by its name the other way round, and whether it was the latter.
pub fn resolve(state: &State, name: &str) -> io::Result<(String, bool)> {
    if state.links.contains_key(name) {
        return Ok((name.to_owned(), false));
    }
    let turned = state.links.iter().find(|(_, link)| {
        let [a, b] = &link.ends;
        name.strip_prefix(b.0.as_str()).and_then(|rest| rest.strip_prefix('-')) == Some(&a.0)
    });
    if let Some((name, _)) = turned {
        return Ok((name.clone(), true));
    }
    match &halves(state, name)[..] {
        [a, b] => Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!(
                "the kernel shapes {name} in two halves with an auxiliary node between: ask for {a} or {b}"
            ),
        )),
        _ => Err(unknown("link", name, state.links.keys())),
    }
}

/// The halves of a link that was split, by its name either way round; none of any other.
pub fn halves(state: &State, name: &str) -> Vec<String> {
    let links = state.nodes.keys().filter_map(|node| node.strip_prefix(auxiliary("").as_str()));
    let mut found = links.filter_map(|link| {
        let own = auxiliary(link);
        let halves: Vec<_> = state.links.iter().filter(|(_, half)| half.ends[1].0 == own).collect();
        let [a, b] = &halves[..] else { return None };
        let turned = format!("{}-{}", b.1.ends[0].0, a.1.ends[0].0);
        (name == link || name == turned).then(|| vec![a.0.clone(), b.0.clone()])
    });
    found.next().unwrap_or_default()
}

/// An error that suggests the nearest name.
pub fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String> + Clone) -> io::Error {
    let help = plait_model_topology::diagnostic::suggest(name, known.map(String::as_str));
    io::Error::new(io::ErrorKind::NotFound, format!("there is no {what} `{name}`: {help}"))
}
