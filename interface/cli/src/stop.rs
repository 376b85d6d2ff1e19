//! Ctrl-C and its kin as a wish to stop, which a run hears between two things.

use plait_testbed_experiment::world::Stop;
use plait_testbed_runtime::kernel::process::block_signals;
use rustix::process::Signal;

/// A stop that SIGINT, SIGTERM and SIGHUP ask for from here on. Call it before any thread is started.
///
/// # Errors
/// When signals cannot be blocked.
pub fn on_signals() -> std::io::Result<Stop> {
    let wait = block_signals(&[Signal::INT, Signal::TERM, Signal::HUP])?;
    let stop = Stop::default();
    let asked = stop.clone();
    std::thread::spawn(move || {
        while wait().is_ok() {
            asked.ask();
        }
    });
    Ok(stop)
}
