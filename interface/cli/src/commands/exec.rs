//! `plait exec` and `plait shell`.

use crate::arguments::{ExecArguments, ShellArguments};
use crate::output::{Failure, Output};
use plait_testbed_runtime::control::{ExecRequest, Exited, Running, Testbed};
use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

/// What `timeout` of coreutils answers, and so what people's scripts expect.
const TIMED_OUT: u8 = 124;

pub fn exec(arguments: ExecArguments, output: &Output) -> Result<ExitCode, Failure> {
    let _ = output;
    let testbed = Testbed::find(arguments.choice.testbed.as_deref())?;
    let request = ExecRequest {
        node: arguments.node,
        command: arguments.command,
        timeout_ms: arguments.timeout.map(|time| time.as_nanos() / 1_000_000),
        ..ExecRequest::default()
    };
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return on_terminal(&testbed, request);
    }
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let mut running = testbed.exec(request, [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
    Ok(code(running.wait()?))
}

pub fn shell(arguments: ShellArguments, output: &Output) -> Result<ExitCode, Failure> {
    let _ = output;
    let testbed = Testbed::find(arguments.choice.testbed.as_deref())?;
    let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/bash".to_owned());
    let request = ExecRequest {
        environment: vec![("PS1".to_owned(), format!("{}:\\w\\$ ", arguments.node))],
        node: arguments.node,
        command: vec![shell],
        ..ExecRequest::default()
    };
    on_terminal(&testbed, request)
}

/// Runs a program on a terminal of the sandbox and carries what is typed and shown.
fn on_terminal(testbed: &Testbed, mut request: ExecRequest) -> Result<ExitCode, Failure> {
    let stdin = io::stdin();
    let size = || tcgetwinsize(io::stdin()).map_or((24, 80), |size| (size.ws_row, size.ws_col));
    request.terminal = Some(size());
    let (mut running, terminal) = testbed.exec_on_terminal(request)?;
    let before = tcgetattr(&stdin).ok();
    if let Some(before) = &before {
        let mut raw = before.clone();
        raw.make_raw();
        let _ = tcsetattr(&stdin, OptionalActions::Now, &raw);
    }
    let exited = carry(&mut running, terminal, size);
    if let Some(before) = &before {
        let _ = tcsetattr(&stdin, OptionalActions::Now, before);
    }
    Ok(code(exited?))
}

fn carry(
    running: &mut Running,
    terminal: OwnedFd,
    size: impl Fn() -> (u16, u16) + Send + 'static,
) -> io::Result<Exited> {
    let mut shown = std::fs::File::from(terminal.try_clone()?);
    let typed = std::fs::File::from(terminal.try_clone()?);
    // Both carriers end with the process; a read of a closed terminal fails with EIO.
    let output = std::thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(count @ 1..) = shown.read(&mut buffer) {
            let mut stdout = io::stdout().lock();
            if stdout.write_all(&buffer[..count]).and_then(|()| stdout.flush()).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        let mut typed = typed;
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = io::stdin().read(&mut buffer) {
            if typed.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        let mut known = size();
        // Polled: a signal handler would need more machinery than four looks a second.
        loop {
            std::thread::sleep(std::time::Duration::from_millis(250));
            let now = size();
            if now != known {
                known = now;
                let size =
                    rustix::termios::Winsize { ws_row: now.0, ws_col: now.1, ws_xpixel: 0, ws_ypixel: 0 };
                if tcsetwinsize(&terminal, size).is_err() {
                    return;
                }
            }
        }
    });
    let exited = running.wait();
    let _ = output.join();
    exited
}

/// The code a shell would give.
fn code(exited: Exited) -> ExitCode {
    match exited {
        Exited::Code(code) => ExitCode::from(code as u8),
        Exited::Signal(signal) => ExitCode::from(128 + signal as u8),
        Exited::TimedOut => ExitCode::from(TIMED_OUT),
    }
}
