//! From a path to a network, with the vocabulary of all rooms.

use crate::output::Failure;
use plait_model_topology::address::{Assignment, assign};
use plait_model_topology::diagnostic::{Diagnostic, Report};
use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};
use plait_testbed_runtime::plan::{State, Wishes, desired};
use std::path::{Path, PathBuf};

/// The largest file that is read; a network of ten thousand nodes is about a hundredth of it.
const LARGEST: u64 = 64 << 20;

/// The kinds and keys of all rooms of this build.
pub fn vocabulary() -> Vocabulary {
    let mut vocabulary = Vocabulary::core();
    plait_testbed_runtime::section::register(&mut vocabulary);
    vocabulary
}

/// A network with the file it came from.
pub struct Loaded {
    /// The network.
    pub network: Network,
    /// The file's text.
    pub source: Source,
    folder: PathBuf,
}

/// Reads a network file.
pub fn load(path: &Path) -> Result<Loaded, Failure> {
    let text = read_text(path)?;
    let source = Source::new(path.display().to_string(), text);
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let network = parse_network(&source, &vocabulary(), &|name| read_beside(&folder, name))?;
    Ok(Loaded { network, source, folder })
}

/// Reads a text, refusing what cannot be one.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let fail = |reason: String| Failure { code: 3, ..Failure::new(format!("{}: {reason}", path.display())) };
    let metadata = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?;
    if metadata.len() > LARGEST {
        return Err(fail(format!("{} MiB is too large for a network file", metadata.len() >> 20)));
    }
    let bytes = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| fail("this is not UTF-8 text".to_owned()))
}

fn read_beside(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join(name);
    std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

impl Loaded {
    /// The state that realises the network. With the addresses of a running testbed, those that can stay stay.
    pub fn desired(&self, wishes: &Wishes, previous: Option<&Assignment>) -> Result<State, Failure> {
        let report = |faults: Vec<Diagnostic>| Failure::from(Report::new(self.source.clone(), faults));
        let assignment = assign(&self.network, previous).map_err(report)?;
        desired(&self.network, &assignment, wishes, &|name| read_beside(&self.folder, name)).map_err(report)
    }
}
