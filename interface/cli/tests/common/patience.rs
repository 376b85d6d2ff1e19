//! How long tests wait.

use std::time::{Duration, Instant};

/// Longer than anything here takes on a crowded machine; what takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for something that must happen.
pub fn eventually(mut happened: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE / 2 {
        if happened() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}
