//! What the engine must know of a packet's bytes, and the few bytes it may change. Any input is safe: what cannot be
//! parsed is an ordinary packet of one segment that nobody marks.

use crate::sys::Tag;
use plait_model_link::PacketInfo;

mod damage;
mod mark;
mod offload;

pub(crate) use damage::flip;
pub(crate) use mark::{can_mark, mark};
pub(crate) use offload::OFFLOAD_HEADER;
use offload::Offload;

/// Length of an Ethernet header.
const ETHERNET: usize = 14;
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
const LLDP: u16 = 0x88cc;
const VLAN: [u16; 2] = [0x8100, 0x88a8];

/// Describes a packet, an offload header and a frame. `None` if it is too short to be one.
pub(crate) fn describe(packet: &[u8], look_for_ecn: bool) -> Option<PacketInfo> {
    let (header, frame) = packet.split_at_checked(OFFLOAD_HEADER)?;
    if frame.len() < ETHERNET {
        return None;
    }
    let (segments, segment_header) = Offload::parse(header).segments(frame);
    Some(PacketInfo {
        len: frame.len() as u32,
        segments,
        segment_header,
        ecn_capable: look_for_ecn && can_mark(frame),
        housekeeping: is_housekeeping(frame),
    })
}

/// The packet with the VLAN tag back in its place, which the kernel had taken out.
pub(crate) fn with_tag(packet: &[u8], tag: Tag) -> Box<[u8]> {
    const AT: usize = OFFLOAD_HEADER + 12;
    let Some((before, after)) = packet.split_at_checked(AT) else { return packet.into() };
    let mut tagged = Vec::with_capacity(packet.len() + 4);
    tagged.extend_from_slice(before);
    tagged.extend_from_slice(&tag.protocol.to_be_bytes());
    tagged.extend_from_slice(&tag.tci.to_be_bytes());
    tagged.extend_from_slice(after);
    Offload::shift(&mut tagged[..OFFLOAD_HEADER], 4);
    tagged.into()
}

/// Whether a frame keeps the network going: ARP, LLDP, IPv6 neighbour discovery and multicast listener reports.
fn is_housekeeping(frame: &[u8]) -> bool {
    match network_layer(frame) {
        Some((ARP | LLDP, _)) => true,
        Some((IPV6, packet)) => match packet.get(6) {
            Some(58) => packet.get(40).is_some_and(|kind| (130..=137).contains(kind) || *kind == 143),
            // Listener reports carry a hop-by-hop header (router alert, RFC 2711) of eight bytes.
            Some(0) => packet.get(40) == Some(&58) && packet.get(41) == Some(&0),
            _ => false,
        },
        _ => false,
    }
}

/// A frame's EtherType behind any VLAN tags, and what follows it.
fn network_layer(frame: &[u8]) -> Option<(u16, &[u8])> {
    let mut at = ETHERNET - 2;
    loop {
        let ether_type = word(frame, at)?;
        at += 2;
        if !VLAN.contains(&ether_type) {
            return Some((ether_type, &frame[at..]));
        }
        at += 2;
    }
}

/// The 16 bits at `at`, in network order.
fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
