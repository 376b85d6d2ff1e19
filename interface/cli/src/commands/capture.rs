//! `plait capture`.

use crate::arguments::CaptureArguments;
use crate::output::{Failure, Output};
use plait_testbed_runtime::capture::{PcapNg, missed, receive};
use plait_testbed_runtime::control::Testbed;
use plait_testbed_runtime::kernel::process::block_signals;
use rustix::process::Signal;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The largest frame with its tag: a superpacket of 64 KiB fits four times.
const LARGEST: usize = 256 * 1024;

pub fn capture(arguments: CaptureArguments, output: &Output) -> Result<ExitCode, Failure> {
    let Some((node, interface)) = arguments.port.split_once(':') else {
        return Err(Failure::usage(format!(
            "`{}` is not an interface: write `node:interface`",
            arguments.port
        )));
    };
    let to: Box<dyn Write> = match &arguments.write {
        Some(path) => Box::new(
            File::create(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?,
        ),
        None if io::stdout().is_terminal() => {
            return Err(Failure::usage(
                "a capture is not text: pipe it (`| wireshark -k -i -`) or write it with `-w FILE`",
            ));
        }
        None => Box::new(io::stdout()),
    };
    let testbed = Testbed::find(arguments.choice.testbed.as_deref())?;
    let socket = testbed.capture(node, interface)?;
    let stopped = Arc::new(AtomicBool::new(false));
    let wait = block_signals(&[Signal::INT, Signal::TERM])?;
    let asked = stopped.clone();
    std::thread::spawn(move || {
        let _ = wait();
        asked.store(true, Ordering::Release);
    });
    let snaplen = (arguments.snaplen.bytes() as usize).clamp(64, LARGEST);
    let result = carry(&socket, io::BufWriter::new(to), &arguments, snaplen, &stopped);
    match result {
        Ok(packets) => {
            output.note(&format!("{packets} packets, {} missed", missed(&socket)));
            Ok(ExitCode::SUCCESS)
        }
        // The reader at the other end of the pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error.into()),
    }
}

fn carry(
    socket: &std::os::fd::OwnedFd,
    to: impl Write,
    arguments: &CaptureArguments,
    snaplen: usize,
    stopped: &AtomicBool,
) -> io::Result<u64> {
    let mut file = PcapNg::begin(to, &arguments.port, snaplen)?;
    let mut buffer = vec![0; LARGEST + 4];
    let mut packets = 0;
    while !stopped.load(Ordering::Acquire) && arguments.count.is_none_or(|count| packets < count) {
        match receive(socket, &mut buffer, Duration::from_millis(100))? {
            Some(packet) => {
                file.packet(&packet)?;
                packets += 1;
            }
            // A pause: show the reader what there is.
            None => file.flush()?,
        }
    }
    file.end()
}
