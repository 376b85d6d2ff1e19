//! The asking side.

use crate::conversation::{Conversation, line};
use std::io::{self, BufRead, BufReader, Write};
use std::marker::PhantomData;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A conversation with an agent.
#[derive(Debug)]
pub struct Client<C> {
    stream: BufReader<UnixStream>,
    speaks: PhantomData<C>,
}

impl<C: Conversation> Client<C> {
    /// Begins one, by the path of the agent's socket.
    ///
    /// # Errors
    /// No agent listens there, or it is another user's.
    pub fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket).map_err(|error| {
            let text = match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    let (kind, start) = (C::KIND, C::START);
                    format!("no {kind} agent listens at {}: start one with `{start}`", socket.display())
                }
                _ => format!("{}: {error}", socket.display()),
            };
            io::Error::new(error.kind(), text)
        })?;
        Ok(Self { stream: BufReader::new(stream), speaks: PhantomData })
    }

    /// Asks, and waits for the reply.
    ///
    /// # Errors
    /// What the agent refuses, in its own words; a conversation that ends.
    pub fn ask(&mut self, request: C::Request) -> io::Result<C::Reply> {
        self.stream.get_mut().write_all(&line::<C>(request)?)?;
        self.next_reply()?.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the agent ended"))
    }

    /// The next reply, where more than one follows a request. None when the agent ended.
    ///
    /// # Errors
    /// What the agent refuses; a conversation that fails.
    pub fn next_reply(&mut self) -> io::Result<Option<C::Reply>> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let reply = serde_json::from_str(&line)?;
        match C::refused(&reply) {
            Some(text) => Err(io::Error::new(io::ErrorKind::InvalidInput, text)),
            None => Ok(Some(reply)),
        }
    }
}
