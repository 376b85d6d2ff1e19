//! Many packets by one system call.

use super::read;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// How many packets are read at most before packets that are due get their turn.
pub(crate) const PACKETS: usize = 64;

/// Room for one packet: the largest train (64 KiB), its Ethernet and VLAN headers and the header before them.
const ROOM: usize = 68 * 1024;

/// Room for a time stamp and a packet's auxiliary data.
const CONTROL: usize = 128;

/// A VLAN tag that the kernel took out of the frame: protocol and tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    pub protocol: u16,
    pub tci: u16,
}

/// Packets just read, still in the memory they were read into.
pub(crate) struct Batch {
    memory: Box<[u8]>,
    /// Where the kernel puts stamps and tags; `messages` points into it.
    _control: Box<[Control]>,
    vectors: Box<[libc::iovec]>,
    messages: Box<[libc::mmsghdr]>,
    lengths: [usize; PACKETS],
    count: usize,
    stamped: bool,
}

/// Control messages want the alignment of their headers.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

// SAFETY: the pointers in `vectors` and `messages` are to heap memory that the batch itself owns and never
// reallocates, so they stay good wherever the batch goes.
unsafe impl Send for Batch {}

impl Batch {
    pub fn new() -> Self {
        let mut memory = vec![0; PACKETS * ROOM].into_boxed_slice();
        let mut control = vec![Control([0; CONTROL]); PACKETS].into_boxed_slice();
        let mut vectors: Box<[libc::iovec]> = memory
            .chunks_exact_mut(ROOM)
            .map(|room| libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: ROOM })
            .collect();
        let messages = vectors
            .iter_mut()
            .zip(&mut control)
            .map(|(vector, control)| {
                // SAFETY: an mmsghdr is made of integers and pointers, for which nought is a value.
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                message.msg_hdr.msg_iov = vector;
                message.msg_hdr.msg_iovlen = 1;
                message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
                message.msg_hdr.msg_controllen = CONTROL as _;
                message
            })
            .collect();
        Self { memory, _control: control, vectors, messages, lengths: [0; PACKETS], count: 0, stamped: false }
    }

    /// Reads up to `most` packets from a packet socket.
    pub fn receive(&mut self, fd: BorrowedFd, most: usize) -> io::Result<usize> {
        self.count = 0;
        self.stamped = true;
        for message in &mut self.messages[..most] {
            message.msg_hdr.msg_controllen = CONTROL as _;
        }
        // SAFETY: the messages point to memory of the lengths they say, which `self` owns.
        let received = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                self.messages.as_mut_ptr(),
                most as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        for (length, message) in self.lengths.iter_mut().zip(&self.messages[..received]) {
            // A packet beyond the room was cut: nought makes it one that nobody can use.
            let cut = message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            *length = if cut { 0 } else { message.msg_len as usize };
        }
        self.count = received;
        Ok(received)
    }

    /// Reads packets from a TAP, one by one, until none is left or `most` are read or they fill a cache.
    pub fn read(&mut self, fd: BorrowedFd, most: usize) -> io::Result<usize> {
        const CACHE: usize = 128 * 1024;
        self.count = 0;
        self.stamped = false;
        let mut bytes = 0;
        while self.count < most && bytes < CACHE {
            let at = self.count * ROOM;
            match read(fd, &mut self.memory[at..at + ROOM]) {
                Ok(length) => {
                    self.lengths[self.count] = length;
                    self.count += 1;
                    bytes += length;
                }
                Err(error) if self.count == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(self.count)
    }

    /// The `index`th packet, with the header before it.
    pub fn packet(&self, index: usize) -> &[u8] {
        &self.memory[index * ROOM..][..self.lengths[index]]
    }

    /// The kernel's stamp (CLOCK_REALTIME) and the VLAN tag it took out, where there are any.
    pub fn details(&self, index: usize) -> (Option<u64>, Option<Tag>) {
        let mut details = (None, None);
        if !self.stamped {
            return details;
        }
        let header = &self.messages[index].msg_hdr;
        // SAFETY: the kernel filled the control buffer, which `self` owns, and set its length.
        let mut cmsg = unsafe { libc::CMSG_FIRSTHDR(header) };
        while !cmsg.is_null() {
            // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return null or a whole header inside the buffer.
            let (level, kind, data) =
                unsafe { ((*cmsg).cmsg_level, (*cmsg).cmsg_type, libc::CMSG_DATA(cmsg)) };
            match (level, kind) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    // SAFETY: a message of this kind carries a timespec.
                    let time: libc::timespec = unsafe { data.cast::<libc::timespec>().read_unaligned() };
                    details.0 = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    // SAFETY: a message of this kind carries a tpacket_auxdata.
                    let aux: libc::tpacket_auxdata =
                        unsafe { data.cast::<libc::tpacket_auxdata>().read_unaligned() };
                    if aux.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                        let known = aux.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
                        let protocol = if known { aux.tp_vlan_tpid } else { 0x8100 };
                        details.1 = Some(Tag { protocol, tci: aux.tp_vlan_tci });
                    }
                }
                _ => {}
            }
            // SAFETY: `cmsg` is a header inside the buffer that `header` describes.
            cmsg = unsafe { libc::CMSG_NXTHDR(header, cmsg) };
        }
        details
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Batch of {} ({} at most)", self.count, self.vectors.len())
    }
}

/// Sends packets through a socket and says how many the kernel refused.
pub(crate) fn send_all<'a>(fd: BorrowedFd, packets: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut vectors: Vec<libc::iovec> = packets
        .map(|packet| libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = vectors
        .iter_mut()
        .map(|vector| {
            // SAFETY: an mmsghdr is made of integers and pointers, for which nought is a value.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect();
    let mut refused = 0;
    let mut rest = messages.as_mut_slice();
    while !rest.is_empty() {
        let most = rest.len().min(libc::UIO_MAXIOV as usize);
        // SAFETY: the messages point to vectors, and these to packets, that outlive the call; sending only reads.
        let sent = unsafe {
            libc::sendmmsg(fd.as_raw_fd(), rest.as_mut_ptr(), most as libc::c_uint, libc::MSG_DONTWAIT)
        };
        // The call stops at the first packet that is refused: that one is gone, the others have their chance.
        let sent = usize::try_from(sent).unwrap_or_else(|_| {
            let interrupted = io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
            refused += u64::from(!interrupted);
            usize::from(!interrupted)
        });
        rest = &mut rest[sent..];
    }
    refused
}
