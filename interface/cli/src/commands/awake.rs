//! `plait awake`: processors that do not halt while a command measures.

use crate::arguments::AwakeArguments;
use crate::load::testbed;
use crate::output::{Failure, Output};
use plait::Network;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

/// How often it is looked whether the command has ended, and whether it shall.
const LOOK: Duration = Duration::from_millis(20);

/// A testbed without a node keeps them awake: as of any, nothing of it is left, however this ends.
pub fn awake(arguments: &AwakeArguments, output: &Output) -> Result<ExitCode, Failure> {
    let name = format!("awake-{}", std::process::id());
    let ready = testbed(&Network::new(&*name).check()?, None).ready()?;
    let empty = ready.start(&mut |_, _| {})?;
    crate::logging();
    let stop = crate::stop::on_signals()?;
    let kept = match empty.control().keep_awake() {
        Ok(kept) => Some(kept),
        Err(error) if arguments.attempt => {
            output.note(&format!("processors may halt: {error}"));
            None
        }
        Err(error) => {
            return Err(Failure::new(format!("{error}: run as root, or add `--try` to measure without")));
        }
    };
    let (program, words) = arguments.command.split_first().expect("a command has a word at least");
    let mut child = Command::new(program)
        .args(words)
        .spawn()
        .map_err(|error| Failure::new(format!("cannot start `{}`: {error}", program.display())))?;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        if stop.is_asked() {
            end(&child);
            break child.wait()?;
        }
        sleep(LOOK);
    };
    drop(kept);
    empty.down()?;
    Ok(code(ended))
}

fn end(child: &Child) {
    // What is typed at a terminal it has heard itself.
    if let Some(process) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(process, Signal::TERM);
    }
}

/// The code a shell would give.
fn code(ended: ExitStatus) -> ExitCode {
    let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
    ExitCode::from(code.unwrap_or(1) as u8)
}
