//! How a switch is connected: by TCP, or TLS over it.

use crate::security::Security;
use plait_dataplane_openflow::tls;
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How the kernel sends. Choice: by what the controller takes alone. BBR, the default of some hosts, paces each connection by
/// a rate that it has guessed of it, so that switches whose connections are always full get shares that differ by percents.
const CONGESTION: &str = "reno";

/// A connection that does not block.
#[derive(Debug)]
pub(crate) enum Link {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Link {
    /// Connects, and shows who it is where that is asked for, within this time each. The kernel keeps so many bytes of what
    /// the controller has not taken, or as many as it lets anybody have.
    pub fn connect(
        controller: SocketAddr,
        security: Option<&Security>,
        limit: Duration,
        room: usize,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&controller, limit)?;
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_send_buffer_size(&stream, room)?;
        // Refused by no kernel that is known; with another, shares are the kernel's as well as the controller's.
        let _ = rustix::net::sockopt::set_tcp_congestion(&stream, CONGESTION);
        let link = match security {
            None => Self::Tcp(stream),
            Some(security) => {
                stream.set_read_timeout(Some(limit))?;
                stream.set_write_timeout(Some(limit))?;
                Self::Tls(Box::new(security.connect(stream, controller.ip())?))
            }
        };
        link.socket().set_nonblocking(true)?;
        Ok(link)
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        }
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Tls(stream) => tls::read(&mut stream.conn, &mut stream.sock, into),
        }
    }

    /// Whether there may be more to read though the socket holds nothing, where so many bytes of a buffer were filled.
    pub fn may_hold_input(&self, read: usize, buffer: usize) -> bool {
        matches!(self, Self::Tls(_)) && read == buffer
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Tls(stream) => tls::write(&mut stream.conn, &mut stream.sock, bytes),
        }
    }

    /// Sends what is encrypted already. Whether all of it is sent.
    pub fn push(&mut self) -> io::Result<bool> {
        match self {
            Self::Tcp(_) => Ok(true),
            Self::Tls(stream) => tls::send(&mut stream.conn, &mut stream.sock),
        }
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}
