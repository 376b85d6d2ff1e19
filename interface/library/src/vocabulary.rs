//! The kinds and keys of all rooms of this build.

use plait_model_topology::Vocabulary;

/// What a network file may say.
#[must_use]
pub fn vocabulary() -> Vocabulary {
    let mut vocabulary = Vocabulary::core();
    plait_testbed_runtime::section::register(&mut vocabulary);
    plait_testbed_experiment::section::register(&mut vocabulary);
    vocabulary
}
