//! Interface requests: a name and a union, as old as sockets.

use super::{check, socket};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct ifreq`: an interface's name and what is asked of it.
#[repr(C)]
pub(crate) struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    pub payload: Payload,
}

/// The part of the request that its kind decides.
#[repr(C)]
pub(crate) union Payload {
    pub int: libc::c_int,
    pub flags: libc::c_short,
    pub pointer: *mut libc::c_void,
    size: [u8; 24],
}

impl InterfaceRequest {
    pub fn new(name: &str) -> io::Result<Self> {
        if name.len() >= libc::IFNAMSIZ || name.is_empty() || name.contains('\0') {
            let text = format!("`{name}` is not an interface name: use 1 to 15 characters");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut bytes = [0; libc::IFNAMSIZ];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Self { name: bytes, payload: Payload { size: [0; 24] } })
    }

    /// Sends the request on a descriptor.
    ///
    /// # Safety
    /// `request` must be one that takes a `struct ifreq`, and a pointer in the payload must be good for it.
    pub unsafe fn send(&mut self, fd: BorrowedFd, request: libc::Ioctl) -> io::Result<()> {
        // SAFETY: `self` has the layout of `struct ifreq` and outlives the call; the caller answers for the rest.
        check(unsafe { libc::ioctl(fd.as_raw_fd(), request, &raw mut *self) }).map(drop)
    }
}

/// Sends a request whose argument is an int about an interface of the calling thread's namespace.
pub(crate) fn interface_ioctl(name: &str, request: libc::Ioctl, value: i32) -> io::Result<()> {
    use std::os::fd::AsFd;
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut ifreq = InterfaceRequest::new(name)?;
    ifreq.payload.int = value;
    // SAFETY: callers pass requests that read an int.
    unsafe { ifreq.send(socket.as_fd(), request) }
}
