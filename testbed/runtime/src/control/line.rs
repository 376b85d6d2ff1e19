//! Lines of JSON over a Unix socket, with descriptors beside them.

use crate::kernel::socket;
use serde::{Serialize, de::DeserializeOwned};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The longest line taken: the state of a testbed of ten thousand nodes is about a tenth of it.
const LONGEST: usize = 256 << 20;

/// One end of a conversation.
pub struct Line {
    /// The socket.
    pub socket: UnixStream,
    buffer: Vec<u8>,
    /// Descriptors received so far and not yet taken.
    pub descriptors: Vec<OwnedFd>,
}

impl Line {
    /// A conversation over a socket.
    pub fn new(socket: UnixStream) -> Self {
        Self { socket, buffer: Vec::new(), descriptors: Vec::new() }
    }

    /// Sends one value as a line, with descriptors.
    pub fn send(&self, value: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(value)?;
        bytes.push(b'\n');
        socket::send(&self.socket, &bytes, descriptors)
    }

    /// The next line, without its end; none when the other side is done.
    pub fn next_bytes(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.buffer[searched..].iter().position(|&byte| byte == b'\n') {
                let rest = self.buffer.split_off(searched + end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                return Ok(Some(line));
            }
            searched = self.buffer.len();
            if searched > LONGEST {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a line on the control socket is too long",
                ));
            }
            let mut chunk = vec![0; 64 * 1024];
            let received = socket::receive(&self.socket, &mut chunk, &mut self.descriptors)?;
            if received == 0 {
                return Ok(None);
            }
            self.buffer.extend_from_slice(&chunk[..received]);
        }
    }

    /// The next line as a value.
    pub fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        match self.next_bytes()? {
            None => Ok(None),
            Some(line) => Ok(Some(serde_json::from_slice(&line)?)),
        }
    }
}
