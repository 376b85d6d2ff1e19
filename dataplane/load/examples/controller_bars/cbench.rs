//! What cbench says of controllers. It is built by whoever has it: `studies/maestro/rivals` says how.

use super::running::Running;
use super::{Asked, NULL, PLAIT};
use std::io::{Error, Result};
use std::process::Command;

/// How many times as many responses `plait` gives as libfluid's raw responder, if both and cbench are there and none fails.
pub fn over_libfluid(asked: &Asked) -> Option<f64> {
    let (cbench, libfluid) = (asked.cbench.as_deref()?, asked.libfluid.as_deref()?);
    let of = |name: &str, command: &str| match responses(cbench, command) {
        Ok(responses) => {
            println!("# {name} under cbench: {responses:.0} responses/s");
            Some(responses)
        }
        Err(why) => {
            println!("# {name} under cbench: {why}");
            None
        }
    };
    let known = |name: &str| {
        let (_, command) = asked.controllers.iter().find(|(known, _)| known == name)?;
        of(name, command)
    };
    known(NULL)?;
    Some(known(PLAIT)? / of("libfluid's raw responder", libfluid)?)
}

/// Responses a second under `cbench -s 16 -M 1000 -m 1000 -t`, the mean of four seconds after one that does not count.
fn responses(cbench: &str, controller: &str) -> Result<f64> {
    let controller = Running::start(controller)?;
    let (address, port) = (controller.address.ip().to_string(), controller.address.port().to_string());
    let output = Command::new(cbench)
        .args([
            "-c", &address, "-p", &port, "-s", "16", "-M", "1000", "-m", "1000", "-t", "-l", "5", "-w", "1",
        ])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // RESULT: 16 switches 4 tests min/max/avg/stdev = 1.00/3.00/2.00/0.50 responses/s
    let mean = text.lines().find_map(|line| {
        let (_, figures) = line.strip_prefix("RESULT:")?.split_once('=')?;
        figures.split('/').nth(2)?.trim().parse().ok()
    });
    mean.ok_or_else(|| Error::other(format!("cbench printed no result ({})", output.status)))
}
