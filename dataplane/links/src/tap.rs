//! TAP devices: a network device whose other side is a descriptor.

use crate::sys::{self, InterfaceRequest, ioctl_int, ioctl_value};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Makes a TAP in the network namespace of the calling thread, fit for [`Port::Tap`](crate::Port::Tap). The device
/// lives as long as its descriptor; it may move to another namespace.
///
/// The device is down and has a queue of 10,000 packets, so that a busy engine does not drop what the model would
/// not. Errors: no `/dev/net/tun`, no CAP_NET_ADMIN in the namespace, a name that is taken or too long.
pub fn create(name: &str) -> io::Result<OwnedFd> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    let fd = OwnedFd::from(file);
    let mut request = InterfaceRequest::new(name)?;
    request.payload.flags = (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    // SAFETY: TUNSETIFF takes a struct ifreq with flags.
    unsafe { request.send(fd.as_fd(), libc::TUNSETIFF) }?;
    sys::interface_ioctl(name, libc::SIOCSIFTXQLEN as libc::Ioctl, 10_000)?;
    sys::set_nonblocking(fd.as_fd())?;
    Ok(fd)
}

/// Says how long the offload header is.
pub(crate) fn set_header_size(fd: BorrowedFd, size: usize) -> io::Result<()> {
    ioctl_int(fd, libc::TUNSETVNETHDRSZ, size as i32)
}

/// Says whether the kernel may hand over packets that are not finished: trains of segments with open checksums.
pub fn set_trains(fd: BorrowedFd, trains: bool) -> io::Result<()> {
    const TRAINS: u32 = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    const UDP_TRAINS: u32 = TRAINS | libc::TUN_F_USO4 | libc::TUN_F_USO6;
    if !trains {
        return ioctl_value(fd, libc::TUNSETOFFLOAD, 0);
    }
    // Kernels before 6.2 refuse trains of datagrams.
    ioctl_value(fd, libc::TUNSETOFFLOAD, UDP_TRAINS.into())
        .or_else(|_| ioctl_value(fd, libc::TUNSETOFFLOAD, TRAINS.into()))
}
