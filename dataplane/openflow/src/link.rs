//! A switch's socket and session, and the lock before both.

use crate::stream::Stream;
use plait_control_openflow::Session;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Answers of which it is known that they wait for a switch to read. Choice: 256; those beyond them count as one with the last.
const OWED: usize = 256;

/// A place for a switch. It outlives switches, so that workers share nothing but an array.
#[derive(Debug, Default)]
pub struct Slot {
    /// The link, if there is one. Whoever reads or writes holds it; nobody waits for it but at the end of a batch.
    pub link: Mutex<Option<Link>>,
    /// Whether who holds it reads.
    pub is_read: AtomicBool,
    /// Whether the other end has ended: that is told once, and may come with the last bytes.
    pub ended: AtomicBool,
    /// Requests that it has made, for the dynamic partition and for people.
    pub requests: AtomicU64,
    /// Its worker, where the design has one.
    pub worker: AtomicUsize,
    /// What waits in the socket has come since then, in nanoseconds, as far as a bound on latency counts: since it was read, or not
    /// yet told of.
    pub since: AtomicU64,
    /// Visits a round beyond the first.
    pub favour: AtomicU32,
    /// Whether a worker is still to pass on what it told. Until then no other reads it: applications hear of a switch before
    /// they get its packets, and of its ports in the order in which they changed.
    pub untold: AtomicBool,
}

impl Slot {
    /// The link, once nobody else holds it.
    pub fn hold(&self) -> MutexGuard<'_, Option<Link>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection.
#[derive(Debug)]
pub struct Link {
    pub stream: Stream,
    pub session: Session,
    /// Since when the connection is to end as soon as its output is written, if it is.
    pub ending: Option<Duration>,
    /// The revision by which applications met it. What was decided by what was seen before is not for it.
    pub met: u64,
    /// Bytes that wait for it to read them, as they are counted among those of all.
    pub unread: usize,
    /// Ports that are known of it, likewise.
    pub ports: usize,
    /// Bytes that were written.
    written: u64,
    /// Answers that wait to be written: the number of their last byte, and when the oldest can have come of what they answer.
    owed: VecDeque<(u64, Duration)>,
}

/// How a read or a write went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Went {
    /// So many bytes.
    Bytes(usize),
    /// Nothing, for now.
    Later,
    /// Nothing, for ever.
    Ended,
}

impl Link {
    /// A connection of which nothing was read.
    pub fn new(stream: Stream, session: Session) -> Self {
        Self { stream, session, ending: None, met: 0, unread: 0, ports: 0, written: 0, owed: VecDeque::new() }
    }

    /// Reads once.
    pub fn read(&mut self, into: &mut [u8]) -> Went {
        went(self.stream.read(into))
    }

    /// Writes what waits, as far as the socket takes it.
    pub fn flush(&mut self) -> Went {
        let mut sum = 0;
        // What was encrypted before goes first.
        if let Err(fault) = self.stream.push()
            && went(Err(fault)) == Went::Ended
        {
            return Went::Ended;
        }
        while let Some(output) = self.session.connection.poll_transmit() {
            let length = output.len();
            match went(self.stream.write(output)) {
                Went::Bytes(count) => {
                    self.session.connection.transmitted(count);
                    self.written += count as u64;
                    sum += count;
                    if count < length {
                        break;
                    }
                }
                Went::Later => break,
                Went::Ended => return Went::Ended,
            }
        }
        Went::Bytes(sum)
    }

    /// What it was told last answers something that can have come at `came`.
    pub fn owe(&mut self, came: Duration) {
        let end = self.written + self.session.connection.waiting() as u64;
        let is_full = self.owed.len() >= OWED;
        match self.owed.back_mut().filter(|_| is_full) {
            Some(last) => *last = (end, last.1.min(came)),
            None => self.owed.push_back((end, came)),
        }
    }

    /// When what was answered came, of the next answer that the socket has whole.
    pub fn answered(&mut self) -> Option<Duration> {
        let (end, came) = *self.owed.front()?;
        if end > self.written {
            return None;
        }
        self.owed.pop_front();
        Some(came)
    }

    /// Whether this is that switch's, once it is known: a slot may have come to be another's.
    pub fn is_of(&self, datapath: u64) -> bool {
        self.session.datapath() == Some(datapath)
    }

    /// Whether it ended, and nobody has heard of that yet: what it was told was too much, for one.
    pub fn has_ended_unheard(&self) -> bool {
        self.ending.is_none() && self.session.connection.is_closed()
    }

    /// Whether nothing waits to be written.
    pub fn is_flushed(&self) -> bool {
        self.session.connection.poll_transmit().is_none() && !self.stream.holds_output()
    }
}

fn went(result: io::Result<usize>) -> Went {
    match result {
        Ok(0) => Went::Ended,
        Ok(count) => Went::Bytes(count),
        Err(fault) if matches!(fault.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Went::Later
        }
        Err(_) => Went::Ended,
    }
}
