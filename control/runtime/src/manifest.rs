//! Manifests: what an application says of itself, for people to read before they let it in.

use crate::{Kind, Name, Port, ViewId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an application declares. It is checked against its code when it is loaded, in both directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The application's name.
    pub name: Name,
    /// Views that it reads.
    #[serde(default)]
    pub inputs: Vec<Declared>,
    /// Views that it writes.
    #[serde(default)]
    pub outputs: Vec<Declared>,
    /// Whether it may be run in several instances at once, each with a batch of its own (thesis §4.2.1). Its code is
    /// written as for one.
    #[serde(default)]
    pub parallel: bool,
    /// Instructions that one run may take, about, if it is a component: fewer than its loader says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// Bytes of memory that one run may have, if it is a component: fewer than its loader says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// A view in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    /// Which view.
    pub view: ViewId,
    /// What becomes of its values.
    #[serde(default)]
    pub kind: Kind,
    /// Read: it need not be there yet. Written: it may be left as it is.
    #[serde(default)]
    pub optional: bool,
}

/// What an application's code reads and writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// Views that it reads.
    pub inputs: Vec<Port>,
    /// Views that it writes.
    pub outputs: Vec<Port>,
}

/// A manifest and its code disagree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestFault {
    /// The code uses what is not declared.
    #[error("its code {does} {view}, which its manifest does not say")]
    Undeclared {
        /// Reads or writes.
        does: Does,
        /// The view, its kind and whether it is optional.
        view: Declared,
    },
    /// What is declared is not used.
    #[error("its manifest says that it {does} {view}, which its code does not")]
    Unused {
        /// Reads or writes.
        does: Does,
        /// The view, its kind and whether it is optional.
        view: Declared,
    },
    /// A view is declared twice in one direction.
    #[error("it {does} {view} twice")]
    Twice {
        /// Reads or writes.
        does: Does,
        /// The view.
        view: ViewId,
    },
}

/// What an application does with a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Reads it.
    Reads,
    /// Writes it.
    Writes,
}

impl Manifest {
    /// An application that reads and writes nothing yet.
    ///
    /// # Panics
    ///
    /// If `name` is no [`Name`].
    pub fn new(name: &str) -> Self {
        let name = name.parse().unwrap_or_else(|fault| panic!("{fault}"));
        Self { name, inputs: Vec::new(), outputs: Vec::new(), parallel: false, fuel: None, memory: None }
    }

    /// Reads a view, written `links@1`; with `?` at its end it need not be there yet, with `~` before it is a stream.
    ///
    /// # Panics
    ///
    /// If that is no view.
    pub fn reads(mut self, view: &str) -> Self {
        self.inputs.push(Declared::written(view));
        self
    }

    /// Writes a view, written `links@1`; with `?` at its end it may be left as it is, with `~` before it is a stream.
    ///
    /// # Panics
    ///
    /// If that is no view.
    pub fn writes(mut self, view: &str) -> Self {
        self.outputs.push(Declared::written(view));
        self
    }

    /// May be run in several instances at once.
    pub fn parallel(mut self) -> Self {
        self.parallel = true;
        self
    }

    /// Whether the code does what is said here, no more and no less.
    pub fn check(&self, code: &Signature) -> Result<(), ManifestFault> {
        for (does, said, done) in
            [(Does::Reads, &self.inputs, &code.inputs), (Does::Writes, &self.outputs, &code.outputs)]
        {
            let done: Vec<Declared> = done.iter().map(Declared::of).collect();
            for (place, view) in said.iter().enumerate() {
                if said[..place].iter().any(|other| other.view == view.view) {
                    return Err(ManifestFault::Twice { does, view: view.view.clone() });
                }
                if !done.contains(view) {
                    return Err(ManifestFault::Unused { does, view: view.clone() });
                }
            }
            for (place, view) in done.iter().enumerate() {
                if done[..place].iter().any(|other| other.view == view.view) {
                    return Err(ManifestFault::Twice { does, view: view.view.clone() });
                }
                if !said.contains(view) {
                    return Err(ManifestFault::Undeclared { does, view: view.clone() });
                }
            }
        }
        Ok(())
    }
}

impl Declared {
    fn of(port: &Port) -> Self {
        Self { view: port.view.clone(), kind: port.kind, optional: port.optional }
    }

    fn written(text: &str) -> Self {
        let (kind, rest) = match text.strip_prefix('~') {
            Some(rest) => (Kind::Stream, rest),
            None => (Kind::State, text),
        };
        let (optional, view) = match rest.strip_suffix('?') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        Self { view: view.parse().unwrap_or_else(|fault| panic!("{fault}")), kind, optional }
    }
}

/// As [`Manifest::reads`] takes it.
impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stream = if self.kind == Kind::Stream { "~" } else { "" };
        write!(f, "{stream}{}{}", self.view, if self.optional { "?" } else { "" })
    }
}

impl fmt::Display for Does {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Does::Reads => "reads",
            Does::Writes => "writes",
        })
    }
}
