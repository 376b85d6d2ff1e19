//! Names of views, applications, DAGs, drivers and fields.

use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A label as WIT has them: words of small letters and digits, each begins with a letter, `-` between them
/// (`routing-table`). A name that exists is valid.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(Arc<str>);

/// Text that is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no name: small letters and digits in words that begin with a letter, joined by `-`")]
pub struct NoName(pub String);

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of what Rust calls `next_hop` or `NextHop`: `next-hop`.
    ///
    /// # Panics
    ///
    /// If there is no such name, as of `_` or `größe`.
    pub fn of_rust(identifier: &str) -> Self {
        let mut label = String::new();
        for letter in identifier.trim_start_matches("r#").chars() {
            if letter == '_' || letter.is_ascii_uppercase() && !label.is_empty() {
                label.push('-');
            }
            if letter != '_' {
                label.push(letter.to_ascii_lowercase());
            }
        }
        label.parse().unwrap_or_else(|fault| panic!("{fault}"))
    }
}

impl FromStr for Name {
    type Err = NoName;

    fn from_str(text: &str) -> Result<Self, NoName> {
        let word = |word: &str| {
            word.starts_with(|first: char| first.is_ascii_lowercase())
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if text.split('-').all(word) { Ok(Self(text.into())) } else { Err(NoName(text.to_owned())) }
    }
}

impl TryFrom<String> for Name {
    type Error = NoName;

    fn try_from(text: String) -> Result<Self, NoName> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// Which view: its name and the version of its schema, written `links@1`. A changed schema is a new version.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ViewId {
    /// The view's name.
    pub name: Name,
    /// The version of its schema, from 1.
    pub version: u32,
}

/// Text that is no view's name and version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no view: a name, `@` and a version from 1, as links@1")]
pub struct NoView(pub String);

impl FromStr for ViewId {
    type Err = NoView;

    fn from_str(text: &str) -> Result<Self, NoView> {
        let parse = || {
            let (name, version) = text.split_once('@')?;
            let digits = version.bytes().all(|byte| byte.is_ascii_digit());
            let version = version.parse().ok().filter(|version| *version > 0 && digits)?;
            Some(Self { name: name.parse().ok()?, version })
        };
        parse().ok_or_else(|| NoView(text.to_owned()))
    }
}

impl TryFrom<String> for ViewId {
    type Error = NoView;

    fn try_from(text: String) -> Result<Self, NoView> {
        text.parse()
    }
}

impl From<ViewId> for String {
    fn from(view: ViewId) -> Self {
        view.to_string()
    }
}

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

impl fmt::Debug for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
