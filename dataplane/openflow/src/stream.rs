//! A switch's byte stream: TCP, TLS over it, or memory.

use crate::tls;
use plait_control_openflow::Identity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ServerConnection, StreamOwned};
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The other end of a connection that is no socket but memory: what it says is read, what it is told is written. A read
/// that finds nothing, or a write that finds no room, is [`io::ErrorKind::WouldBlock`]; nobody tells when there is more, so
/// that it is asked in every round.
pub trait End: Send + std::fmt::Debug {
    /// Says something. 0 bytes end the connection.
    ///
    /// # Errors
    /// Of a connection that ends, or nothing for now.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;

    /// Is told something, and how much of it is taken.
    ///
    /// # Errors
    /// Of a connection that ends, or no room for now.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
}

/// One of them. None ever waits.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Plain(TcpStream),
    /// TLS.
    Secure(Box<StreamOwned<ServerConnection, TcpStream>>),
    /// Memory.
    Memory(Box<dyn End>),
}

impl Stream {
    /// Reads once.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(into),
            Self::Secure(stream) => tls::read(&mut stream.conn, &mut stream.sock, into),
            Self::Memory(end) => end.read(into),
        }
    }

    /// Takes what it can.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Memory(end) => end.write(bytes),
            Self::Secure(stream) => tls::write(&mut stream.conn, &mut stream.sock, bytes),
        }
    }

    /// Sends what is encrypted already.
    pub fn push(&mut self) -> io::Result<()> {
        match self {
            Self::Secure(stream) => tls::send(&mut stream.conn, &mut stream.sock).map(drop),
            Self::Plain(_) | Self::Memory(_) => Ok(()),
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

    /// Whether the other end has ended, whatever it said before that and is still to be read.
    pub fn has_ended(&self) -> bool {
        let socket = match self {
            Self::Plain(stream) => stream,
            Self::Secure(stream) => &stream.sock,
            Self::Memory(_) => return false,
        };
        // That a connection is broken is told whether it is asked or not.
        let mut asked = [PollFd::new(socket, PollFlags::RDHUP)];
        poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|found| found > 0)
    }

    /// Who the switch is by the certificate that it showed.
    pub fn identity(&self) -> Option<Identity> {
        match self {
            Self::Secure(stream) => {
                let certificate = stream.conn.peer_certificates()?.first()?;
                Some(Identity(Sha256::digest(certificate).into()))
            }
            Self::Plain(_) | Self::Memory(_) => None,
        }
    }

    /// Whether the poller tells when there is more to read.
    pub fn is_watched(&self) -> bool {
        !matches!(self, Self::Memory(_))
    }
}
