//! The thesis's micro-benchmark of output batching (Figure 4.5): 1 to 50 messages of 100 bytes to one destination, each sent by
//! itself, or all at once.
//!
//! ```text
//! cargo run --release -p plait-dataplane-load --example output_batching -- [--runs 100]
//! ```
//!
//! Prints a line for each number of messages: the number, and means of the runs in microseconds: of separate sends, of one send,
//! and of both until the other end has read all.
#![allow(clippy::print_stdout)]

use std::io::{Error, Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const MESSAGE: usize = 100;
const MESSAGES: usize = 50;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runs: u32 = match &arguments[..] {
        [] => 100,
        [option, runs] if option == "--runs" => runs.parse().map_err(Error::other)?,
        _ => return Err(Error::other("output_batching [--runs N]")),
    };
    let mut wire = Wire::open()?;
    let mut sums = [[0.0; 4]; MESSAGES];
    // In turn, so that all of them meet the machine's better and worse moments; the first run does not count.
    for run in 0..=runs {
        for (count, sum) in (1..).zip(&mut sums) {
            let separate = wire.send(count, MESSAGE)?;
            let one = wire.send(1, count * MESSAGE)?;
            if run > 0 {
                let new = [separate.0, one.0, separate.1, one.1];
                sum.iter_mut().zip(new).for_each(|(sum, new)| *sum += new / f64::from(runs));
            }
        }
    }
    for (count, [separate, one, separate_there, one_there]) in (1..).zip(sums) {
        println!("{count} {separate:.2} {one:.2} {separate_there:.2} {one_there:.2}");
    }
    Ok(())
}

/// A connection whose other end reads all.
struct Wire {
    stream: TcpStream,
    sent: u64,
    read: Arc<AtomicU64>,
}

impl Wire {
    fn open() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        stream.set_nodelay(true)?;
        let (mut other, _) = listener.accept()?;
        let read = Arc::new(AtomicU64::new(0));
        let count = read.clone();
        std::thread::spawn(move || {
            let mut room = vec![0; 64 << 10];
            while let Ok(more @ 1..) = other.read(&mut room) {
                count.fetch_add(more as u64, Ordering::Release);
            }
        });
        Ok(Self { stream, sent: 0, read })
    }

    /// Sends so often so many bytes, and gives the microseconds until all were sent and until all were read.
    fn send(&mut self, times: usize, bytes: usize) -> Result<(f64, f64)> {
        let message = vec![0; bytes];
        let began = Instant::now();
        for _ in 0..times {
            self.stream.write_all(&message)?;
        }
        let sent = began.elapsed();
        self.sent += (times * bytes) as u64;
        while self.read.load(Ordering::Acquire) < self.sent {
            std::thread::yield_now();
        }
        Ok((sent.as_secs_f64() * 1e6, began.elapsed().as_secs_f64() * 1e6))
    }
}
