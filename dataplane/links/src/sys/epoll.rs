//! Waiting for descriptors and for the right nanosecond.

use super::{check, read, write};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A set of descriptors to wait for.
#[derive(Debug)]
pub(crate) struct Epoll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Epoll {
    pub fn new() -> io::Result<Self> {
        // SAFETY: epoll_create1 takes no pointers.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the descriptor was just made and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd, events: vec![libc::epoll_event { events: 0, u64: 0 }; 64] })
    }

    /// Waits for `fd` to become readable from now on, under `token`.
    pub fn add(&self, fd: BorrowedFd, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: token };
        // SAFETY: the pointer is to an event that outlives the call.
        let result = unsafe {
            libc::epoll_ctl(self.fd.as_raw_fd(), libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &raw mut event)
        };
        check(result).map(drop)
    }

    /// Waits for `fd` no longer.
    pub fn remove(&self, fd: BorrowedFd) {
        // SAFETY: EPOLL_CTL_DEL ignores the event.
        unsafe {
            libc::epoll_ctl(self.fd.as_raw_fd(), libc::EPOLL_CTL_DEL, fd.as_raw_fd(), std::ptr::null_mut())
        };
    }

    /// Waits at most `timeout` nanoseconds, for ever without, and says how many descriptors are ready.
    ///
    /// epoll_pwait2 takes nanoseconds where epoll_wait takes milliseconds. It is called by number, because a libc
    /// from before 2.35 has no name for it.
    pub fn wait(&mut self, timeout: Option<u64>) -> usize {
        let timeout = timeout.map(|nanos| libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), |timeout| &raw const *timeout);
        // SAFETY: the pointers are to the event buffer of the given length and to a timespec or null; a null signal
        // mask keeps the mask as it is.
        let ready = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        // An interrupted wait is a short one.
        usize::try_from(ready).unwrap_or(0)
    }

    /// The token of the `index`th ready descriptor.
    pub fn token(&self, index: usize) -> u64 {
        self.events[index].u64
    }
}

/// Wakes a thread that waits.
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

impl Waker {
    pub fn new() -> io::Result<Self> {
        // SAFETY: eventfd takes no pointers.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: the descriptor was just made and belongs to nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Makes the descriptor readable.
    pub fn wake(&self) {
        // It can only fail when 2^64 wakes are pending.
        let _ = write(self.0.as_fd(), &1u64.to_ne_bytes());
    }

    /// Makes the descriptor wait again.
    pub fn clear(&self) {
        let _ = read(self.0.as_fd(), &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
