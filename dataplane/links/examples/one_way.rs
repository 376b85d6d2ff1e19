//! Sends datagrams from one network namespace to another and says what became of each:
//!
//! ```text
//! one_way FROM ADDRESS TO ADDRESS COUNT FRAME GAP SILENCE
//! ```
//!
//! FROM and TO are files such as `/proc/PID/ns/net`, COUNT datagrams leave in frames of FRAME bytes, one each GAP (`1ms`),
//! and the end is when nothing has come for SILENCE. A line a datagram: when it was sent, from the first, and how long
//! it took or `-`, both in nanoseconds. The clock is CLOCK_REALTIME, the sender's before its call and the kernel's stamp
//! on arrival.
#![allow(clippy::print_stdout)]

use plait_dataplane_links::probe::Stream;
use plait_model_quantity::TimeSpan;
use std::error::Error;
use std::fs::File;
use std::io::{Write, stdout};
use std::os::fd::AsFd;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, source, to, target, count, frame, gap, silence] = &arguments[..] else {
        return Err("usage: one_way FROM ADDRESS TO ADDRESS COUNT FRAME GAP SILENCE".into());
    };
    let (from, to) = (File::open(from)?, File::open(to)?);
    let mut stream = Stream::open((from.as_fd(), source.parse()?), (to.as_fd(), target.parse()?))?;
    let passages = stream.send(count.parse()?, frame.parse()?, gap.parse::<TimeSpan>()?, silence.parse()?)?;
    let first = passages.first().map_or(0, |passage| passage.sent);
    let mut said = Vec::new();
    for passage in &passages {
        let delay = passage.arrived.map(|at| at as i64 - passage.sent as i64);
        let delay = delay.map_or_else(|| "-".to_owned(), |delay| delay.to_string());
        writeln!(said, "{} {delay}", passage.sent - first)?;
    }
    stdout().write_all(&said)?;
    Ok(())
}
