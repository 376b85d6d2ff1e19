//! Route netlink, as much of it as links need: one message, one answer.

use crate::sys;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

mod device;

pub(crate) use device::{create_veth, create_veth_between, prepare};

/// A request under construction: header, fixed part, attributes (RFC 3549, section 2.3).
#[derive(Debug)]
pub(crate) struct Message(Vec<u8>);

/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;

impl Message {
    /// A request of this kind whose fixed part is `fixed`.
    pub fn new(kind: u16, flags: i32, fixed: &[u8]) -> Self {
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(&1u32.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(fixed);
        Self(bytes)
    }

    /// Adds an attribute.
    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let length = (4 + value.len()) as u16;
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.pad()
    }

    /// What would be sent.
    #[cfg(test)]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Adds an attribute that is a text ending in nought.
    pub fn text(self, kind: u16, value: &str) -> Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Adds an attribute that holds other attributes.
    pub fn nest(mut self, kind: u16, inside: impl FnOnce(Self) -> Self) -> Self {
        let at = self.0.len();
        self.0.extend_from_slice(&[0; 2]);
        self.0.extend_from_slice(&kind.to_ne_bytes());
        let mut filled = inside(self);
        let length = (filled.0.len() - at) as u16;
        filled.0[at..at + 2].copy_from_slice(&length.to_ne_bytes());
        filled
    }

    /// Adds bytes as they are: a fixed part inside a nest.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self.pad()
    }

    fn pad(mut self) -> Self {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }
}

/// A conversation with the kernel about the network namespace it was opened in.
#[derive(Debug)]
pub(crate) struct Route(OwnedFd);

impl Route {
    pub fn open() -> io::Result<Self> {
        sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE).map(Self)
    }

    /// Sends a request and waits for the kernel's answer.
    pub fn request(&self, message: Message) -> io::Result<()> {
        let Message(mut bytes) = message;
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        sys::write(self.0.as_fd(), &bytes)?;
        let mut answer = vec![0; 8192];
        loop {
            let read = sys::read(self.0.as_fd(), &mut answer)?;
            let Some((header, rest)) = answer[..read].split_at_checked(HEADER) else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            let kind = i32::from(u16::from_ne_bytes([header[4], header[5]]));
            if let (libc::NLMSG_ERROR, Some(code)) = (kind, rest.first_chunk::<4>()) {
                return match i32::from_ne_bytes(*code) {
                    0 => Ok(()),
                    code => Err(io::Error::from_raw_os_error(-code)),
                };
            }
        }
    }
}
