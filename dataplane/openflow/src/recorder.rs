//! Who is told all that happens in a controller's runtime.

use plait_control_runtime::Entry;
use std::fmt;
use std::sync::Arc;

/// Takes a recording's entries, one after the other, while the runtime waits: a recording that lacks something cannot be
/// replayed. The runtime gives them if its own configuration says so.
#[derive(Clone)]
pub struct Recorder(Arc<dyn Fn(Entry) + Send + Sync>);

impl Recorder {
    /// One that hands each entry to this.
    pub fn new(take: impl Fn(Entry) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    pub(crate) fn take(&self, entry: Entry) {
        (self.0)(entry);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}
