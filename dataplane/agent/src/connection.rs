//! One who asks.

use crate::scrape::Scrape;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// The longest request taken.
const LONGEST: usize = 1 << 20;
/// Who reads so much slower than things happen is let go.
const MOST_UNREAD: usize = 64 << 20;

/// One who asks, and what was not read or sent yet.
#[derive(Debug)]
pub struct Connection {
    pub number: u64,
    pub stream: UnixStream,
    unread: Vec<u8>,
    unsent: Vec<u8>,
    /// Replies that follow later, and that it waits for.
    pub owed: usize,
    /// It asks no more; what it asked is still answered.
    pub has_ended: bool,
    /// Whether it speaks HTTP.
    pub scrape: Scrape,
    is_gone: bool,
}

impl Connection {
    pub fn new(number: u64, stream: UnixStream) -> Self {
        let (unread, unsent) = (Vec::new(), Vec::new());
        let scrape = Scrape::default();
        Self { number, stream, unread, unsent, owed: 0, has_ended: false, scrape, is_gone: false }
    }

    /// Whether there is anything left of it.
    pub fn is_alive(&self) -> bool {
        !(self.is_gone || self.has_ended && self.unsent.is_empty() && self.owed == 0)
    }

    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub fn read(&mut self) {
        let mut chunk = [0; 16 * 1024];
        // Who asks much does not keep the others waiting.
        for _ in 0..16 {
            match self.stream.read(&mut chunk) {
                Ok(0) => {
                    self.has_ended = true;
                    return;
                }
                Ok(length) => self.unread.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_gone |= error.kind() != io::ErrorKind::WouldBlock;
                    return;
                }
            }
        }
    }

    /// The next whole line.
    pub fn line(&mut self) -> Option<Vec<u8>> {
        match self.unread.iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                let rest = self.unread.split_off(end + 1);
                Some(std::mem::replace(&mut self.unread, rest))
            }
            None => {
                self.is_gone |= self.unread.len() > LONGEST;
                None
            }
        }
    }

    /// Says the last that it is told.
    pub fn end_with(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        self.has_ended = true;
    }

    pub fn say(&mut self, line: &[u8]) {
        self.unsent.extend_from_slice(line);
        self.unsent.push(b'\n');
        self.is_gone |= self.unsent.len() > MOST_UNREAD;
    }

    pub fn write(&mut self) {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return,
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_gone |= error.kind() != io::ErrorKind::WouldBlock;
                    return;
                }
            }
        }
    }
}
