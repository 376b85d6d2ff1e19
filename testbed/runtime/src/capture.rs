//! Packets of an interface, written as pcapng (draft-ietf-opsawg-pcapng) with nanosecond stamps.
//!
//! Written here rather than by `tcpdump`, because that gives up its rights on the way and then cannot write its file
//! inside a user namespace.

use crate::kernel::packet;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

pub use crate::kernel::packet::{Packet, missed};

/// The next packet of a capture socket; none when nothing came in time.
///
/// # Errors
/// When the interface is gone.
pub fn receive<'a>(socket: &OwnedFd, buffer: &'a mut [u8], wait: Duration) -> io::Result<Option<Packet<'a>>> {
    if !crate::kernel::socket::wait_readable(socket, Some(wait))? {
        return Ok(None);
    }
    packet::receive(socket, buffer)
}

/// A pcapng file being written.
pub struct PcapNg<W: Write> {
    to: W,
    snaplen: usize,
    packets: u64,
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const LINKTYPE_ETHERNET: u16 = 1;

impl<W: Write> PcapNg<W> {
    /// Begins a file with one interface.
    pub fn begin(to: W, interface: &str, snaplen: usize) -> io::Result<Self> {
        let mut file = Self { to, snaplen, packets: 0 };
        let mut body = Vec::new();
        body.extend(0x1a2b_3c4d_u32.to_le_bytes());
        body.extend(1_u16.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        // Length of the section: unknown.
        body.extend(u64::MAX.to_le_bytes());
        option(&mut body, 4, b"plait");
        option(&mut body, 0, b"");
        file.block(SECTION_HEADER, &body)?;
        let mut body = Vec::new();
        body.extend(LINKTYPE_ETHERNET.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        body.extend((snaplen as u32).to_le_bytes());
        option(&mut body, 2, interface.as_bytes());
        // if_tsresol: stamps count 10^-9 s.
        option(&mut body, 9, &[9]);
        option(&mut body, 0, b"");
        file.block(INTERFACE_DESCRIPTION, &body)?;
        file.to.flush()?;
        Ok(file)
    }

    /// Adds a packet.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let kept = &packet.bytes[..packet.bytes.len().min(self.snaplen)];
        let stamp = packet.realtime_nanos;
        let mut body = Vec::with_capacity(kept.len() + 32);
        body.extend(0_u32.to_le_bytes());
        body.extend(((stamp >> 32) as u32).to_le_bytes());
        body.extend((stamp as u32).to_le_bytes());
        body.extend((kept.len() as u32).to_le_bytes());
        body.extend((packet.length as u32).to_le_bytes());
        body.extend_from_slice(kept);
        body.resize(body.len().next_multiple_of(4), 0);
        self.packets += 1;
        self.block(ENHANCED_PACKET, &body)
    }

    /// Passes on what is buffered, so that a reader at the other end of a pipe sees it.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Ends the file; returns how many packets it holds.
    pub fn end(mut self) -> io::Result<u64> {
        self.to.flush()?;
        Ok(self.packets)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let length = (body.len() as u32 + 12).to_le_bytes();
        self.to.write_all(&kind.to_le_bytes())?;
        self.to.write_all(&length)?;
        self.to.write_all(body)?;
        self.to.write_all(&length)
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
