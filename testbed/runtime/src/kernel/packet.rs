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
    stamp(&socket)?;
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

/// Asks the kernel to say of each packet when it came.
pub fn stamp(socket: &OwnedFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
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

/// A packet that was seen.
#[derive(Debug)]
pub struct Packet<'a> {
    /// The frame, with its VLAN tag back in place.
    pub bytes: &'a [u8],
    /// Its length on the wire.
    pub length: usize,
    /// When the kernel saw it, in nanoseconds of CLOCK_REALTIME.
    pub realtime_nanos: u64,
}

/// The next packet, which must be waiting; none when it was taken back.
pub fn receive<'a>(socket: &OwnedFd, buffer: &'a mut [u8]) -> io::Result<Option<Packet<'a>>> {
    /// Room for a VLAN tag that the kernel stripped.
    const TAG: usize = 4;
    let room = buffer.len().saturating_sub(TAG);
    let mut part = libc::iovec { iov_base: buffer[TAG..].as_mut_ptr().cast(), iov_len: room };
    let mut control = [0u64; 32];
    // SAFETY: a zeroed header is a valid one, and every field that matters is set next.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = std::mem::size_of_val(&control);
    // SAFETY: the header points to live buffers of the lengths it states.
    let received =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &mut header, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    if received < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    let mut length = received as usize;
    let mut kept = length.min(room);
    let (mut stamp, mut tag) = (None, None);
    // SAFETY: the kernel filled the control buffer, and the macros stay inside what the header says of it.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(&header) };
    while !message.is_null() {
        // SAFETY: `message` is not null, so it points to a whole control message in the buffer.
        let (level, kind, data) =
            unsafe { ((*message).cmsg_level, (*message).cmsg_type, libc::CMSG_DATA(message)) };
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                // SAFETY: this message carries a timespec, perhaps unaligned.
                let time: libc::timespec = unsafe { std::ptr::read_unaligned(data.cast()) };
                stamp = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                // SAFETY: this message carries a tpacket_auxdata, perhaps unaligned.
                let aux: libc::tpacket_auxdata = unsafe { std::ptr::read_unaligned(data.cast()) };
                if aux.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                    tag = Some((aux.tp_vlan_tpid, aux.tp_vlan_tci));
                }
            }
            _ => {}
        }
        // SAFETY: both pointers belong to the header above.
        message = unsafe { libc::CMSG_NXTHDR(&header, message) };
    }
    let mut from = TAG;
    if let (Some((kind, value)), true) = (tag, kept >= 12) {
        // The addresses move forward, and the tag takes the room before the type.
        buffer.copy_within(TAG..TAG + 12, 0);
        buffer[12..14].copy_from_slice(&kind.to_be_bytes());
        buffer[14..16].copy_from_slice(&value.to_be_bytes());
        from = 0;
        kept += TAG;
        length += TAG;
    }
    let realtime_nanos = stamp.unwrap_or_else(|| {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    });
    Ok(Some(Packet { bytes: &buffer[from..from + kept], length, realtime_nanos }))
}

/// Packets that the kernel dropped because they were not fetched in time, since the last time this was asked.
pub fn missed(socket: &OwnedFd) -> u64 {
    let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut size = std::mem::size_of_val(&counts) as libc::socklen_t;
    // SAFETY: the structure and its size are passed by pointers to live locals.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut counts).cast(),
            &mut size,
        )
    };
    if done == 0 { u64::from(counts.tp_drops) } else { 0 }
}
