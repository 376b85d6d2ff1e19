//! Rate: how fast bytes leave a link that always has some to send.

use super::endpoint::Arrival;
use super::{Measured, Path};
use crate::sys::monotonic;
use plait_model_quantity::{Bandwidth, TimeSpan};
use std::io;

/// What is sent, relative to the rate asked, so that the queue never runs empty.
const OVERLOAD: f64 = 1.2;

/// How long the link is kept busy, with at least this many packets but no longer than that.
const PACKETS: f64 = 500.0;
const SHORTEST: f64 = 0.5;
const LONGEST: f64 = 30.0;

/// How often a link is kept busy anew where the machine stood still meanwhile and its queue ran empty.
const TRIES: usize = 3;

impl Path {
    /// Measures the rate as bytes between the first and the last arrival of at least 500 packets, in at most 30 s,
    /// and so up to three times where what was offered was less than the rate, which is the machine's doing.
    /// `frame` is the largest frame the link takes, `tolerance` the share by which the rate may miss.
    pub fn measure_rate(
        &mut self,
        asked: Bandwidth,
        delay: TimeSpan,
        frame: usize,
        tolerance: f64,
    ) -> io::Result<Measured> {
        let bits = asked.bits_per_second() as f64;
        // Slow links get smaller frames, so that 500 of them fit the time.
        let len = ((bits * (LONGEST - 5.0) / PACKETS / 8.0) as usize).clamp(60, frame);
        let seconds = (PACKETS * 1.15 * len as f64 * 8.0 / bits).clamp(SHORTEST, LONGEST);
        // A queue that ran empty says nothing about the rate.
        let mut tries = 0;
        let arrivals = loop {
            let (arrivals, offered) = self.overload(bits * OVERLOAD, len, seconds, delay)?;
            tries += 1;
            if offered >= bits {
                break arrivals;
            }
            if tries == TRIES {
                return Err(io::Error::other(format!(
                    "{TRIES} times this machine could not offer the link more than its rate: {:.3} of {:.3} Mbit/s",
                    offered / 1e6,
                    bits / 1e6
                )));
            }
        };
        // Where delays vary, the first to come find the queue empty.
        let settled = &arrivals[arrivals.len() / 10..];
        let slices = rates(settled);
        let (Some(first), Some(last)) = (settled.first(), settled.last()) else {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no probe came through the link"));
        };
        let bytes: usize = settled[1..].iter().map(|arrival| arrival.len).sum();
        let span = last.at.saturating_sub(first.at).max(1) as f64 / 1e9;
        let got = bytes as f64 * 8.0 / span;
        let whole = Measured::mean("rate", "bit/s", bits, slices, 0.0);
        Ok(Measured {
            got,
            within: (got - bits).abs() <= bits * tolerance,
            samples: settled.len() as u64,
            ..whole
        })
    }

    /// Sends frames of `len` bytes at `bits` per second for some seconds. Returns all that come through, and
    /// the bits per second that the device really took.
    pub(super) fn overload(
        &mut self,
        bits: f64,
        len: usize,
        seconds: f64,
        delay: TimeSpan,
    ) -> io::Result<(Vec<Arrival>, f64)> {
        self.clear()?;
        let mut arrivals = Vec::new();
        let start = monotonic();
        let gap = len as f64 * 8e9 / bits;
        let mut number = 0;
        let mut refused = 0u64;
        loop {
            let elapsed = monotonic() - start;
            if elapsed as f64 > seconds * 1e9 {
                break;
            }
            while (number as f64) * gap <= elapsed as f64 {
                // A full socket is as good as a full queue.
                refused += u64::from(self.from.send(number, len).is_err());
                number += 1;
                if number % 32 == 0 {
                    break;
                }
            }
            while let Some(arrival) = self.to.receive()? {
                arrivals.push(arrival);
            }
            let wait = (number as f64 * gap) as u64;
            if wait > (monotonic() - start) + 200_000 {
                std::thread::sleep(std::time::Duration::from_nanos(100_000));
            }
        }
        let offered = (number - refused) as f64 * len as f64 * 8e9 / (monotonic() - start) as f64;
        if refused == number {
            return Err(io::Error::other("the device refused every probe"));
        }
        // The queue drains: silence for its longest gap and the delay means that all have come.
        let silence = delay.as_nanos() + (gap * 4.0) as u64 + 100_000_000;
        let mut quiet_since = monotonic();
        while monotonic() - quiet_since < silence {
            match self.to.receive()? {
                Some(arrival) => {
                    arrivals.push(arrival);
                    quiet_since = monotonic();
                }
                None => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        }
        Ok((arrivals, offered))
    }
}

/// The rate of each tenth of the arrivals, in bits per second.
fn rates(arrivals: &[Arrival]) -> Vec<f64> {
    let size = (arrivals.len() / 10).max(2);
    let rate = |slice: &[Arrival]| {
        let bytes: usize = slice[1..].iter().map(|arrival| arrival.len).sum();
        let span = slice[slice.len() - 1].at.saturating_sub(slice[0].at).max(1);
        bytes as f64 * 8e9 / span as f64
    };
    let rates: Vec<f64> = arrivals.chunks(size).filter(|slice| slice.len() > 1).map(rate).collect();
    if rates.is_empty() { vec![0.0] } else { rates }
}
