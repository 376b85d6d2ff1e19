//! System calls, each wrapped once: what is unsafe about them ends here.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

mod batch;
mod clock;
mod epoll;
mod ifreq;
mod namespace;
mod thread;

pub(crate) use batch::{Batch, PACKETS, Tag, send_all};
pub(crate) use clock::{monotonic, realtime};
pub(crate) use epoll::{Epoll, Waker};
pub(crate) use ifreq::{InterfaceRequest, interface_ioctl};
pub(crate) use namespace::{enter, enter_new, interface_index};
pub(crate) use thread::tighten_timers;

/// The result of a call that returns -1 on failure.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A new socket, closed on exec.
pub(crate) fn socket(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: socket takes no pointers.
    let fd = check(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) })?;
    // SAFETY: the descriptor was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Plain old data that the kernel reads or writes as bytes.
///
/// # Safety
/// Every bit pattern must be a value of the type.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers take any bits.
unsafe impl Plain for i32 {}
// SAFETY: integers take any bits.
unsafe impl Plain for u32 {}
// SAFETY: a struct of integers takes any bits.
unsafe impl Plain for libc::tpacket_stats {}
/// Sets a socket option.
pub(crate) fn set_option<T: Plain>(fd: BorrowedFd, level: i32, name: i32, value: T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`, which outlives the call.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), len) }).map(drop)
}

/// Reads a socket option.
pub(crate) fn option<T: Plain>(fd: BorrowedFd, level: i32, name: i32, mut value: T) -> io::Result<T> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`, and any bits written make a value of a `Plain` type.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut value).cast(), &mut len) })?;
    Ok(value)
}

/// Binds a packet socket to one device and one EtherType.
pub(crate) fn bind_packet(fd: BorrowedFd, ether_type: u16, index: u32) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ether_type.to_be(),
        sll_ifindex: index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and length describe `address`, which outlives the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

/// Reads what is there into `buffer`.
pub(crate) fn read(fd: BorrowedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length describe `buffer`.
    let read = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Writes `bytes` in one call.
pub(crate) fn write(fd: BorrowedFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length describe `bytes`.
    let written = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

/// An ioctl whose argument is a plain number, passed by value.
pub(crate) fn ioctl_value(fd: BorrowedFd, request: libc::Ioctl, value: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the requests used with this function take their argument by value.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), request, value) }).map(drop)
}

/// An ioctl whose argument is a pointer to an int.
pub(crate) fn ioctl_int(fd: BorrowedFd, request: libc::Ioctl, value: i32) -> io::Result<()> {
    // SAFETY: the pointer is to an int that outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), request, &raw const value) }).map(drop)
}

/// Makes reads and writes return instead of waiting.
pub(crate) fn set_nonblocking(fd: BorrowedFd) -> io::Result<()> {
    // SAFETY: fcntl with F_GETFL takes no pointers.
    let flags = check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: fcntl with F_SETFL takes an int.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) }).map(drop)
}
