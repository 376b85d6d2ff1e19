//! Packet sockets for captures: every frame of an interface, with the kernel's time stamp.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Opens a packet socket on an interface of the calling thread's network namespace. Frames both ways are seen; the
/// kernel stamps them (`SO_TIMESTAMPNS`) and passes metadata for stripped VLAN tags (`PACKET_AUXDATA`).
pub fn open(interface: &str) -> io::Result<OwnedFd> {
    const ALL: u16 = (libc::ETH_P_ALL as u16).to_be();
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: the name is terminated and lives through the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: plain integers; the result is checked. Protocol 0: no frame is queued until the socket is bound.
    let raw = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    set(&socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
    // A burst of a gigabit for a tenth of a second; the host's limit rules where it is lower.
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, 16 << 20);
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ALL,
        sll_ifindex: index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: the address has the layout and size that AF_PACKET expects.
    let bound = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            std::mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if bound != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(socket)
}

fn set(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the option takes an int, whose address and size are passed.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            std::mem::size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
