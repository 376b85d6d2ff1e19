//! From a path to a network, with the vocabulary of all rooms.

use crate::output::Failure;
use plait_model_topology::address::{Assignment, assign};
use plait_model_topology::diagnostic::{Diagnostic, Report};
use plait_model_topology::document::{Source, Value, parse};
use plait_model_topology::{Network, Vocabulary, resolve_network};
use plait_testbed_experiment::runner::Input;
use plait_testbed_experiment::section::{Action, Experiment, Script};
use plait_testbed_runtime::obstacle::obstacles;
use plait_testbed_runtime::plan::{State, Wishes, desired};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file that is read; a network of ten thousand nodes is about a hundredth of it.
const LARGEST: u64 = 64 << 20;

/// The kinds and keys of all rooms of this build.
pub fn vocabulary() -> Vocabulary {
    let mut vocabulary = Vocabulary::core();
    plait_testbed_runtime::section::register(&mut vocabulary);
    plait_testbed_experiment::section::register(&mut vocabulary);
    vocabulary
}

/// A network with the file it came from.
pub struct Loaded {
    /// The network.
    pub network: Network,
    /// The file's text.
    pub source: Source,
    /// What varies between runs, if the file says so; the network is then that of its first cell.
    pub experiment: Option<Experiment>,
    document: Value,
    /// The files it names that were read, by their paths as written.
    named: RefCell<BTreeMap<String, Vec<u8>>>,
    folder: PathBuf,
}

/// Reads a network file.
pub fn load(path: &Path) -> Result<Loaded, Failure> {
    let text = read_text(path)?;
    let source = Source::new(path.display().to_string(), text);
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let named = RefCell::new(BTreeMap::new());
    let document = parse(&source)?;
    let experiment =
        Experiment::of(&document).map_err(|faults| Failure::from(Report::new(source.clone(), faults)))?;
    let filled = match &experiment {
        Some(experiment) => &experiment.document(&document, &experiment.cells[0]),
        None => &document,
    };
    let network =
        resolve_network(&source, filled, &vocabulary(), &|name| read_beside(&folder, name, &named))?;
    Ok(Loaded { network, source, experiment, document, named, folder })
}

/// Reads a text, refusing what cannot be one.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let fail = |reason: String| Failure { code: 3, ..Failure::new(format!("{}: {reason}", path.display())) };
    let bytes = read_bytes(path).map_err(|error| fail(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| fail("this is not UTF-8 text".to_owned()))
}

/// Reads a file, or a pipe, whose length nobody knows before; what never ends is not read for ever.
fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("more than {} MiB is too large", LARGEST >> 20)));
    }
    Ok(bytes)
}

fn read_beside(
    folder: &Path,
    name: &str,
    named: &RefCell<BTreeMap<String, Vec<u8>>>,
) -> Result<String, String> {
    let path = folder.join(name);
    let fail = |error: String| format!("cannot read {}: {error}", path.display());
    let bytes = read_bytes(&path).map_err(|error| fail(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| fail("this is not UTF-8 text".to_owned()))?;
    named.borrow_mut().insert(name.to_owned(), text.clone().into_bytes());
    Ok(text)
}

impl Loaded {
    /// The network of a cell, counted from 1.
    ///
    /// # Errors
    /// What is wrong with the file when the cell's levels stand in it, and which these are.
    pub fn network_of(&self, experiment: &Experiment, number: usize) -> Result<Network, Failure> {
        let cell = &experiment.cells[number - 1];
        let filled = experiment.document(&self.document, cell);
        resolve_network(&self.source, &filled, &vocabulary(), &|name| self.read(name)).map_err(|report| {
            let failure = Failure::from(report);
            Failure {
                message: format!("{}\nin cell {number}: {}", failure.message, experiment.describe(cell)),
                ..failure
            }
        })
    }

    /// The state that realises the network. With the addresses of a running testbed, those that can stay stay.
    pub fn desired(&self, wishes: &Wishes, previous: Option<&Assignment>) -> Result<State, Failure> {
        let report = |faults: Vec<Diagnostic>| Failure::from(Report::new(self.source.clone(), faults));
        let assignment = assign(&self.network, previous).map_err(report)?;
        let mut wishes = wishes.clone();
        wishes.dynamic.extend(self.changing()?);
        desired(&self.network, &assignment, &wishes, &|name| self.read(name)).map_err(report)
    }

    /// The links that events change, which must be made so that they can.
    fn changing(&self) -> Result<Vec<String>, Failure> {
        let script = Script::of(&self.network).map_err(|faults| self.faulty(faults))?;
        let changed = script.events.into_iter().filter_map(|event| match event.action {
            Action::Set { link, .. } | Action::Link { link, .. } => Some(link),
            Action::Start(_) | Action::Node { .. } | Action::Wait(_) => None,
        });
        Ok(changed.collect())
    }

    /// The same, where it can be built on this machine.
    pub fn buildable(&self, wishes: &Wishes, previous: Option<&Assignment>) -> Result<State, Failure> {
        let state = self.desired(wishes, previous)?;
        let obstacles = obstacles(&self.network, &state);
        if obstacles.is_empty() { Ok(state) } else { Err(self.faulty(obstacles)) }
    }

    /// Reads a file that the network file names.
    ///
    /// # Errors
    /// Why it cannot be read, with its path.
    pub fn read(&self, name: &str) -> Result<String, String> {
        read_beside(&self.folder, name, &self.named)
    }

    /// The files it names, with their bytes.
    pub fn named(&self) -> Vec<(String, Vec<u8>)> {
        self.named.borrow().iter().map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
    }

    /// What a run keeps of the file, beside the files it names.
    pub fn input<'a>(&'a self, named: &'a [(String, Vec<u8>)]) -> Input<'a> {
        let (file, text) = (&self.source.name, self.source.text.as_bytes());
        Input { network: &self.network, file, text, named }
    }

    /// A fault found after parsing, as a failure that points at the file.
    pub fn faulty(&self, faults: Vec<Diagnostic>) -> Failure {
        Report::new(self.source.clone(), faults).into()
    }
}
