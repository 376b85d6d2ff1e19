//! The asking side.

use crate::protocol::{Envelope, PROTOCOL_VERSION, Reply, Request};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A conversation with an agent.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Begins one, by the path of the agent's socket.
    ///
    /// # Errors
    /// No agent listens there, or it is another user's.
    pub fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket).map_err(|error| {
            let text = match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    format!(
                        "no overlay agent listens at {}: start one with `plait overlay agent`",
                        socket.display()
                    )
                }
                _ => format!("{}: {error}", socket.display()),
            };
            io::Error::new(error.kind(), text)
        })?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Asks, and waits for the reply.
    ///
    /// # Errors
    /// What the agent refuses, in its own words; a conversation that ends.
    pub fn ask(&mut self, request: Request) -> io::Result<Reply> {
        let mut line = serde_json::to_vec(&Envelope { plait: PROTOCOL_VERSION, request })?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        self.next_reply()?.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the agent ended"))
    }

    /// The next reply: after [`Request::Watch`] each change. None when the agent ended.
    ///
    /// # Errors
    /// What the agent refuses; a conversation that fails.
    pub fn next_reply(&mut self) -> io::Result<Option<Reply>> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match serde_json::from_str(&line)? {
            Reply::Error(text) => Err(io::Error::new(io::ErrorKind::InvalidInput, text)),
            reply => Ok(Some(reply)),
        }
    }
}
