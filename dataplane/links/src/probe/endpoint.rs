//! A socket that sends and receives probe frames.

use crate::sys::{self, Batch, interface_index, realtime};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

const ETHER_TYPE: u16 = 0x88b5;
/// Ethernet header, then a number and nothing.
const HEADER: usize = 14;
const SHORTEST: usize = 60;
const LONGEST: usize = 9018;

/// One end of a path.
#[derive(Debug)]
pub(crate) struct Endpoint {
    socket: OwnedFd,
    frame: Vec<u8>,
    batch: Batch,
    read: std::ops::Range<usize>,
}

/// A probe frame that came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub number: u64,
    /// When it was sent, as the sender wrote into it.
    pub sent: u64,
    /// When it came, on CLOCK_REALTIME.
    pub at: u64,
    pub len: usize,
}

impl Endpoint {
    /// Opens a device of the calling thread's namespace.
    pub fn open(ifname: &str) -> io::Result<Self> {
        const BUFFER: i32 = 64 << 20;
        let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0)?;
        let fd = socket.as_fd();
        sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 0)?;
        sys::set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        if sys::set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER).is_err() {
            sys::set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, BUFFER)?;
        }
        sys::bind_packet(fd, ETHER_TYPE, interface_index(ifname)?)?;
        let mut frame = vec![0; LONGEST];
        // To the nearest bridge (IEEE 802.1Q, table 8-1), so that a link may end in a switch: it keeps such frames to
        // itself. From nobody in particular: a locally administered address.
        frame[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);
        frame[6] = 0x02;
        frame[12..HEADER].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        Ok(Self { socket, frame, batch: Batch::new(), read: 0..0 })
    }

    /// Sends frame `number` of `len` bytes and says when, on CLOCK_REALTIME.
    pub fn send(&mut self, number: u64, len: usize) -> io::Result<u64> {
        let len = len.clamp(SHORTEST, LONGEST);
        self.frame[HEADER..HEADER + 8].copy_from_slice(&number.to_be_bytes());
        let now = realtime();
        self.frame[HEADER + 8..HEADER + 16].copy_from_slice(&now.to_be_bytes());
        sys::write(self.socket.as_fd(), &self.frame[..len])?;
        Ok(now)
    }

    /// The next frame that has come.
    pub fn receive(&mut self) -> io::Result<Option<Arrival>> {
        if self.read.is_empty() {
            match self.batch.receive(self.socket.as_fd(), 64) {
                Ok(count) => self.read = 0..count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let Some(index) = self.read.next() else { return Ok(None) };
        let packet = self.batch.packet(index);
        let at = self.batch.details(index).0.unwrap_or_else(realtime);
        let field = |at: usize| {
            packet.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
        };
        // A frame that was damaged on the way still came.
        let (number, sent) = (field(HEADER).unwrap_or(u64::MAX), field(HEADER + 8).unwrap_or(at));
        Ok(Some(Arrival { number, sent, at, len: packet.len() }))
    }
}
