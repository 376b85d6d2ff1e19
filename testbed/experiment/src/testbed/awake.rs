//! Whether processors may halt while a run measures.

use plait_dataplane_processors::is_virtual;
use plait_testbed_runtime::control::{Awake, Testbed};
use std::io;

/// Whether a run keeps the processors of its machine from halting.
///
/// Choice: where there is a hypervisor it does, since a packet that is due while the host has the processor is late by as
/// much as the host takes to give it back, and the run tainted. It costs the machine's power, and programs that hand work
/// to each other a part of what they do (`docs/src/reference/accuracy.md`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeepAwake {
    /// Where there is a hypervisor, and this user may.
    #[default]
    Auto,
    /// Everywhere; a run that may not is refused.
    Always,
    /// Nowhere.
    Never,
}

impl KeepAwake {
    /// Begins, for a testbed that is up.
    pub(super) fn begin(self, testbed: &Testbed) -> io::Result<Option<Awake>> {
        match self {
            Self::Never => Ok(None),
            Self::Always => testbed.keep_awake().map(Some),
            Self::Auto if is_virtual() => Ok(testbed
                .keep_awake()
                .inspect_err(|error| {
                    tracing::info!(%error, "processors may halt, and a hypervisor give them away meanwhile");
                })
                .ok()),
            Self::Auto => Ok(None),
        }
    }
}
