//! `plait awake`: processors that do not halt while a command measures.

use crate::arguments::AwakeArguments;
use crate::load::testbed;
use crate::output::{Failure, Output};
use plait::{Network, Testbed};
use plait_testbed_runtime::control::Awake;
use plait_testbed_runtime::kernel::process::block_signals;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often it is looked whether the command has ended.
const LOOK: Duration = Duration::from_millis(20);

pub fn awake(arguments: &AwakeArguments, output: &Output) -> Result<ExitCode, Failure> {
    let kept = match keep() {
        Ok(kept) => Some(kept),
        Err(failure) if arguments.attempt => {
            output.note(&format!("processors may halt: {}", failure.message));
            None
        }
        Err(failure) => return Err(failure),
    };
    let (program, words) = arguments.command.split_first().expect("a command has a word at least");
    let mut child = Command::new(program)
        .args(words)
        .spawn()
        .map_err(|error| Failure::new(format!("cannot start `{}`: {error}", program.display())))?;
    let ended = wait(&mut child)?;
    if let Some((empty, awake)) = kept {
        drop(awake);
        empty.down()?;
    }
    Ok(code(ended))
}

/// A testbed without a node keeps them awake: as of any, nothing of it is left, however this ends.
fn keep() -> Result<(Testbed, Awake), Failure> {
    let name = format!("awake-{}", std::process::id());
    let empty = testbed(&Network::new(name).check()?, None).ready()?.start(&mut |_, _| {})?;
    crate::logging();
    let awake = empty.control().keep_awake()?;
    Ok((empty, awake))
}

/// Waits for a command, which hears what this process is told to do. What is typed at a terminal it has heard itself.
fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    // Behind its start: it hears signals as any program does.
    let heard = signals()?;
    loop {
        if let Some(ended) = child.try_wait()? {
            return Ok(ended);
        }
        match heard.recv_timeout(LOOK) {
            Ok(signal) if signal != Signal::INT => {
                if let Some(process) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    let _ = kill_process(process, signal);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return child.wait(),
            _ => {}
        }
    }
}

fn signals() -> io::Result<Receiver<Signal>> {
    let next = block_signals(&[Signal::INT, Signal::TERM, Signal::HUP])?;
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        while let Ok(signal) = next() {
            let known = Signal::from_named_raw(signal);
            if known.is_some_and(|signal| tell.send(signal).is_err()) {
                return;
            }
        }
    });
    Ok(heard)
}

/// The code a shell would give.
fn code(ended: ExitStatus) -> ExitCode {
    let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
    ExitCode::from(code.unwrap_or(1) as u8)
}
