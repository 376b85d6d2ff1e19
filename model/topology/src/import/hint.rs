//! What may have been meant, asked only of names short enough to be names: comparing two takes time in the
//! product of their lengths.

use crate::diagnostic::{nearest, suggest};

const LONGEST: usize = 100;

/// The known name nearest to what was written.
pub(super) fn near<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut known: Vec<&str> = known.into_iter().filter(|name| name.len() <= LONGEST).collect();
    known.sort_unstable();
    if written.len() > LONGEST { None } else { nearest(written, known) }
}

/// The remedy for an unknown name.
pub(super) fn remedy<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().filter(|name| name.len() <= LONGEST).collect();
    if written.len() > LONGEST { "give it a shorter name".to_owned() } else { suggest(written, known) }
}
