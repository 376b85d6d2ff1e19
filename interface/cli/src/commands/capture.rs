//! `plait capture`.

use crate::arguments::CaptureArguments;
use crate::output::{Failure, Output};
use plait_testbed_runtime::capture::{PcapNg, missed, receive};
use plait_testbed_runtime::control::Testbed;
use plait_testbed_runtime::kernel::process::block_signals;
use rustix::process::Signal;
use serde_json::json;
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
    if output.is_json() && arguments.write.is_none() {
        return Err(Failure::usage(
            "the packets and the JSON summary cannot both go to standard output: write the packets with `-w FILE`",
        ));
    }
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
    let mut seen = Seen::default();
    match carry(&socket, io::BufWriter::new(to), &arguments, snaplen, &stopped, &mut seen) {
        Ok(()) => {}
        // The reader at the other end of the pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error.into()),
    }
    let missed = missed(&socket);
    let summary = json!({
        "interface": arguments.port,
        "file": arguments.write,
        "packets": seen.packets,
        "bytes": seen.bytes,
        "missed": missed,
    });
    output.result(&summary, String::new)?;
    output.note(&format!("{} packets, {missed} missed", seen.packets));
    Ok(ExitCode::SUCCESS)
}

/// What was captured so far.
#[derive(Default)]
struct Seen {
    packets: u64,
    /// As they were on the wire, also where less was kept.
    bytes: u64,
}

fn carry(
    socket: &std::os::fd::OwnedFd,
    to: impl Write,
    arguments: &CaptureArguments,
    snaplen: usize,
    stopped: &AtomicBool,
    seen: &mut Seen,
) -> io::Result<()> {
    let mut file = PcapNg::begin(to, &arguments.port, snaplen)?;
    let mut buffer = vec![0; LARGEST + 4];
    while !stopped.load(Ordering::Acquire) && arguments.count.is_none_or(|count| seen.packets < count) {
        match receive(socket, &mut buffer, Duration::from_millis(100))? {
            Some(packet) => {
                file.packet(&packet)?;
                seen.packets += 1;
                seen.bytes += packet.length as u64;
            }
            // A pause: show the reader what there is.
            None => file.flush()?,
        }
    }
    file.end().map(drop)
}
