//! Network namespaces of the calling thread.

use super::check;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Moves the calling thread into a network namespace.
pub(crate) fn enter(namespace: BorrowedFd) -> io::Result<()> {
    // SAFETY: setns takes no pointers.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Moves the calling thread into a new, empty network namespace.
pub(crate) fn enter_new() -> io::Result<()> {
    // SAFETY: unshare takes no pointers.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// The number of an interface in the namespace of the calling thread.
pub(crate) fn interface_index(name: &str) -> io::Result<u32> {
    let named = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the pointer is to a string that ends in nought and outlives the call.
    match unsafe { libc::if_nametoindex(named.as_ptr()) } {
        0 => Err(io::Error::new(io::ErrorKind::NotFound, format!("no interface `{name}` in this namespace"))),
        index => Ok(index),
    }
}
