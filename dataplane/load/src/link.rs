//! How a switch is connected. TCP only, as yet; whatever else comes is another variant.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Bytes that the kernel keeps of what a controller has not taken (it doubles them for its own needs). Choice: 64 KiB, with
/// that some thousand requests, in place of the kernel's own limit, which grows to 4 MiB: with that, what an overloaded controller is late
/// with waits in the switch, 40,000 requests a switch, and goes through memory instead of the processor's cache.
const SEND: usize = 64 << 10;

/// How the kernel sends. Choice: by what the controller takes alone. BBR, the default of some hosts, paces each connection by
/// a rate that it has guessed of it, so that switches whose connections are always full get shares that differ by percents.
const CONGESTION: &str = "reno";

/// A connection that does not block.
#[derive(Debug)]
pub(crate) enum Link {
    Tcp(TcpStream),
}

impl Link {
    pub fn connect(controller: SocketAddr, limit: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&controller, limit)?;
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND)?;
        // Refused by no kernel that is known; with another, shares are the kernel's as well as the controller's.
        let _ = rustix::net::sockopt::set_tcp_congestion(&stream, CONGESTION);
        stream.set_nonblocking(true)?;
        Ok(Self::Tcp(stream))
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
        }
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}
