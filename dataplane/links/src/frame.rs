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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; OFFLOAD_HEADER + 12];
        packet.extend(ether_type.to_be_bytes());
        packet.extend(payload);
        packet
    }

    #[test]
    fn what_keeps_the_network_going_is_told_from_the_experiment() {
        let mut ipv6 = [0; 60];
        let housekeeping = |packet: Vec<u8>| describe(&packet, false).unwrap().housekeeping;
        assert!(housekeeping(packet(ARP, &[0; 28])));
        assert!(!housekeeping(packet(IPV4, &[0; 28])));
        for (kind, expected) in [(135, true), (136, true), (143, true), (128, false)] {
            (ipv6[6], ipv6[40]) = (58, kind);
            assert_eq!(housekeeping(packet(IPV6, &ipv6)), expected, "{kind}");
        }
        let tagged = [&[0, 5][..], &ARP.to_be_bytes(), &[0; 28]].concat();
        assert!(housekeeping(packet(0x8100, &tagged)));
    }

    #[test]
    fn a_tag_goes_back_where_it_was() {
        let untagged = packet(ARP, &[7; 28]);
        let tagged = with_tag(&untagged, Tag { protocol: 0x8100, tci: 5 });
        assert_eq!(tagged[OFFLOAD_HEADER + 12..][..6], [0x81, 0, 0, 5, 8, 6]);
        assert_eq!(tagged.len(), untagged.len() + 4);
    }

    #[test]
    fn a_train_counts_its_segments_and_their_headers() {
        let mut train = packet(IPV4, &[0; 20 + 32 + 4000]);
        train[OFFLOAD_HEADER + 34 + 12] = 8 << 4;
        train[0] = 1;
        train[1] = 1;
        train[4..6].copy_from_slice(&1448u16.to_ne_bytes());
        train[6..8].copy_from_slice(&34u16.to_ne_bytes());
        train[8..10].copy_from_slice(&16u16.to_ne_bytes());
        let info = describe(&train, false).unwrap();
        assert_eq!((info.len, info.segments, info.segment_header), (4066, 3, 66));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), choice: u64, protocol: u16, tci: u16) {
            let _ = describe(&bytes, true);
            let _ = with_tag(&bytes, Tag { protocol, tci });
            let mut changed = bytes.clone();
            mark(&mut changed);
            flip(&mut changed, choice);
            prop_assert_eq!(changed.len(), bytes.len());
        }
    }
}
