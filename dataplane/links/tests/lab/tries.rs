//! Measurements on a machine that others use.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Measures until what is asserted holds, at most so often; the last try may fail.
///
/// Another's burst of work spoils a measurement, and at times two. A link that is wrong is wrong in each.
pub fn in_tries(tries: usize, mut measure: impl FnMut()) {
    for _ in 1..tries {
        if catch_unwind(AssertUnwindSafe(&mut measure)).is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    measure();
}
