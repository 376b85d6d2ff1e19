//! Ports that cannot be had.

use std::error::Error;
use std::fmt;
use std::io;

/// A port that cannot be had.
#[derive(Debug)]
pub struct PortError {
    /// The port.
    pub port: u16,
    /// Why.
    pub why: io::Error,
}

impl PortError {
    /// Whether another program has it.
    pub fn is_taken(&self) -> bool {
        self.why.kind() == io::ErrorKind::AddrInUse
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port;
        let most = rustix::io::Errno::MFILE.raw_os_error();
        match self.why.kind() {
            io::ErrorKind::AddrInUse => write!(f, "UDP port {port} is taken by another program of this host"),
            io::ErrorKind::PermissionDenied => {
                write!(f, "UDP port {port} is for root alone here: take one from 1024 on")
            }
            _ if self.why.raw_os_error() == Some(most) => {
                f.write_str("every flow has a socket, and so many may not be open: send fewer flows, or raise `ulimit -Hn`")
            }
            _ => write!(f, "UDP port {port}: {}", self.why),
        }
    }
}

impl Error for PortError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.why)
    }
}

impl From<PortError> for io::Error {
    fn from(error: PortError) -> Self {
        Self::new(error.why.kind(), error)
    }
}
