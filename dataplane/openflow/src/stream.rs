//! A switch's byte stream: TCP, or TLS over it.

use rustls::{ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// One or the other. Neither ever waits.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Plain(TcpStream),
    /// TLS.
    Secure(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Stream {
    /// Reads once.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(into),
            Self::Secure(stream) => stream.read(into),
        }
    }

    /// Takes what it can.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Secure(stream) => {
                let taken = stream.write(bytes)?;
                // What is encrypted waits in the stream if the socket is full; it is not to be taken twice.
                match stream.flush() {
                    Err(fault) if fault.kind() != io::ErrorKind::WouldBlock => Err(fault),
                    _ => Ok(taken),
                }
            }
        }
    }

    /// Sends what is encrypted already.
    pub fn push(&mut self) -> io::Result<()> {
        match self {
            Self::Secure(stream) if stream.conn.wants_write() => match stream.flush() {
                Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => Ok(()),
                pushed => pushed,
            },
            _ => Ok(()),
        }
    }

    /// Whether something is encrypted and not sent.
    pub fn holds_output(&self) -> bool {
        matches!(self, Self::Secure(stream) if stream.conn.wants_write())
    }

    /// Whether a read may find something though the socket holds nothing: records are decrypted as a whole.
    pub fn may_hold_input(&self) -> bool {
        matches!(self, Self::Secure(_))
    }
}
