//! The machine a run took place on.

use serde::{Deserialize, Serialize};

/// The machine a run took place on: enough to judge its figures by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// Model of the first processor.
    pub cpu: String,
    /// Processors this process may run on.
    pub cores: usize,
    /// Memory in bytes.
    #[serde(default)]
    pub memory_bytes: u64,
}

impl Machine {
    /// This machine, as `/proc` tells it; what it does not tell stays empty.
    pub fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            cpu: field(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: field(&read("/proc/meminfo"), "MemTotal")
                .and_then(|size| size.split_whitespace().next()?.parse::<u64>().ok())
                .map_or(0, |kibibytes| kibibytes * 1024),
        }
    }
}

/// The value of the first `name: value` line.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}
