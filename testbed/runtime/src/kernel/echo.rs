//! Echo requests and their replies (RFC 792, RFC 4443), with the kernel's time stamps.

use super::packet;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, connect, ipproto, send, socket_with};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

const ECHO_REQUEST: [u8; 2] = [8, 128];
const ECHO_REPLY: [u8; 2] = [0, 129];
/// Type, code, checksum, identifier, sequence number.
const HEADER: usize = 8;
/// What `ping` sends unless told otherwise.
const PAYLOAD: usize = 56;

/// A raw socket to one destination.
#[derive(Debug)]
pub struct Echo {
    socket: OwnedFd,
    /// 0 for IPv4, 1 for IPv6.
    version: usize,
    /// Tells replies to us from replies to programs that ping as well.
    cookie: u64,
    to: SocketAddr,
    /// Whether there was a route when it was looked for last.
    connected: bool,
}

/// A reply to one of our requests.
#[derive(Debug, PartialEq, Eq)]
pub struct EchoReply {
    /// The request's number.
    pub number: u64,
    /// When the kernel got it, in nanoseconds of CLOCK_REALTIME.
    pub realtime_nanos: u64,
}

impl Echo {
    /// Opens a socket in the calling thread's network namespace. A route to the destination may come later.
    ///
    /// # Errors
    /// No right to open raw sockets there.
    pub fn open(to: IpAddr, cookie: u64) -> io::Result<Self> {
        let (family, protocol, version) = match to {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP, 0),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6, 1),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::RAW, flags, Some(protocol))?;
        packet::stamp(&socket)?;
        Ok(Self { socket, version, cookie, to: SocketAddr::new(to, 0), connected: false })
    }

    /// Sends a request.
    ///
    /// # Errors
    /// What the kernel says at once: no route, no room.
    pub fn send(&mut self, number: u64) -> io::Result<()> {
        if !self.connected {
            connect(&self.socket, &self.to)?;
            self.connected = true;
        }
        send(&self.socket, &request(self.version, self.cookie, number), SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// The next reply that waits; none when there is none.
    ///
    /// # Errors
    /// What the kernel was told by routers about earlier requests.
    pub fn receive(&self) -> io::Result<Option<EchoReply>> {
        let mut buffer = [0; 512];
        while let Some(packet) = packet::receive(&self.socket, &mut buffer)? {
            if let Some(number) = reply(self.version, self.cookie, packet.bytes) {
                return Ok(Some(EchoReply { number, realtime_nanos: packet.realtime_nanos }));
            }
        }
        Ok(None)
    }
}

fn request(version: usize, cookie: u64, number: u64) -> [u8; HEADER + PAYLOAD] {
    let mut message = [0; HEADER + PAYLOAD];
    message[0] = ECHO_REQUEST[version];
    message[4..6].copy_from_slice(&(cookie as u16).to_be_bytes());
    message[6..8].copy_from_slice(&(number as u16).to_be_bytes());
    message[8..16].copy_from_slice(&cookie.to_be_bytes());
    message[16..24].copy_from_slice(&number.to_be_bytes());
    if version == 0 {
        // The kernel completes that of IPv6, which covers addresses.
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    message
}

/// The number of the request that a received packet answers, if it is ours. A raw socket of IPv4 hears the header too.
fn reply(version: usize, cookie: u64, packet: &[u8]) -> Option<u64> {
    let header = if version == 0 { usize::from(packet.first()? & 0x0f) * 4 } else { 0 };
    let message = packet.get(header..)?;
    if message.first() != Some(&ECHO_REPLY[version]) || message.get(8..16)? != cookie.to_be_bytes() {
        return None;
    }
    Some(u64::from_be_bytes(message.get(16..24)?.try_into().ok()?))
}

/// The Internet checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.as_chunks::<2>().0.iter().map(|pair| u32::from(u16::from_be_bytes(*pair))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !(folded + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_comes_back_is_known_and_others_are_not() {
        let mut answer = vec![0x45; 20];
        answer.extend(request(0, 7, 99));
        assert_eq!(checksum(&answer[20..]), 0, "the checksum completes the sum");
        assert_eq!(reply(0, 7, &answer), None, "a request is no reply");
        answer[20] = ECHO_REPLY[0];
        assert_eq!(reply(0, 7, &answer), Some(99));
        assert_eq!(reply(0, 8, &answer), None, "somebody else's");
        let mut answer = request(1, 7, 99);
        answer[0] = ECHO_REPLY[1];
        assert_eq!(reply(1, 7, &answer), Some(99));
    }

    proptest::proptest! {
        #[test]
        fn no_answer_makes_the_reader_panic(bytes in proptest::collection::vec(0u8.., 0..100), version in 0usize..2) {
            let _ = reply(version, 7, &bytes);
        }
    }
}
