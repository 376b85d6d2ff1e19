//! Frames as they come to a device, before any program sees them.

use super::Row;
use plait_model_wire::number::protocol;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketType, recv, socket, sockopt};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;

/// What comes to a device, from when this was made.
pub struct Capture {
    socket: OwnedFd,
    station: [u8; 6],
}

impl Capture {
    /// Of the device in a node that has this address.
    pub fn new(row: &Row, node: usize, station: [u8; 6]) -> Self {
        // ETH_P_ALL, in network order.
        let all = Protocol::from_raw(NonZeroU32::new(u32::from(3u16.to_be())).unwrap());
        let socket = row.within(node, || socket(AddressFamily::PACKET, SocketType::RAW, Some(all)).unwrap());
        sockopt::set_socket_recv_buffer_size_force(&socket, 256 << 20).unwrap();
        Self { socket, station }
    }

    /// The packets that came, in their order, as frames. What neighbours of IPv6 say to each other is left out.
    pub fn frames(&self) -> Vec<Vec<u8>> {
        let mut buffer = vec![0; 70_000];
        let mut frames = Vec::new();
        while let Ok((_, length)) = recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
            let frame = &buffer[..length];
            // The socket hears all devices of the node, in both directions.
            if frame[..6] == self.station && is_routed(&frame[12..]) {
                frames.push(frame.to_vec());
            }
        }
        frames
    }
}

/// Whether a packet behind its EtherType is one that routers forward.
fn is_routed(packet: &[u8]) -> bool {
    match packet {
        [0x08, 0x00, ..] => true,
        [0x86, 0xdd, rest @ ..] => !(rest[6] == protocol::ICMPV6 && (133..=137).contains(&rest[40])),
        _ => false,
    }
}
