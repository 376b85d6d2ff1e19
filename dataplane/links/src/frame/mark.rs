//! Congestion marks in the IP header, RFC 3168.

use super::{IPV4, IPV6, OFFLOAD_HEADER, network_layer, word};

/// Both ECN bits set: congestion experienced.
const CE: u8 = 0b11;

/// Whether the sender said that marks will be understood: ECT(0), ECT(1), or a mark that is already there.
pub(crate) fn can_mark(frame: &[u8]) -> bool {
    match network_layer(frame) {
        Some((IPV4, packet)) => packet.len() >= 20 && packet[1] & CE != 0,
        Some((IPV6, packet)) => packet.len() >= 40 && packet[1] >> 4 & CE != 0,
        _ => false,
    }
}

/// Sets the mark. The IPv4 header checksum follows by RFC 1624; IPv6 has none, and the transport's checksums do not
/// cover these bits.
pub(crate) fn mark(packet: &mut [u8]) {
    let Some(frame) = packet.get_mut(OFFLOAD_HEADER..) else { return };
    if !can_mark(frame) {
        return;
    }
    let Some((ether_type, rest)) = network_layer(frame) else { return };
    let at = frame.len() - rest.len();
    if ether_type == IPV6 {
        frame[at + 1] |= CE << 4;
        return;
    }
    let Some(old) = word(frame, at) else { return };
    frame[at + 1] |= CE;
    let new = old | u16::from(CE);
    let Some(checksum) = word(frame, at + 10) else { return };
    // RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    frame[at + 10..at + 12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(tos: u8) -> Vec<u8> {
        let mut packet = vec![0; OFFLOAD_HEADER + 12];
        packet.extend([0x08, 0x00]);
        let at = packet.len();
        packet.extend([0x45, tos, 0, 84, 0x1c, 0x46, 0x40, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let checksum = !header_sum(&packet[at..]);
        packet[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
        packet
    }

    fn header_sum(header: &[u8]) -> u16 {
        let sum: u32 = header[..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn a_mark_keeps_the_header_checksum_right() {
        for tos in [1, 2, 0xb9, 0xfe, 3] {
            let mut packet = ipv4(tos);
            mark(&mut packet);
            let header = &packet[OFFLOAD_HEADER + 14..];
            assert_eq!((header[1], header_sum(header)), (tos | CE, 0xffff), "{tos}");
        }
    }

    #[test]
    fn a_packet_that_did_not_ask_for_marks_gets_none() {
        let mut packet = ipv4(0xb8);
        mark(&mut packet);
        assert_eq!(packet, ipv4(0xb8));
    }

    #[test]
    fn an_ipv6_packet_is_marked_in_its_traffic_class() {
        let mut packet = vec![0; OFFLOAD_HEADER + 12];
        packet.extend([0x86, 0xdd, 0x60, 0x20]);
        packet.extend([0; 38]);
        mark(&mut packet);
        assert_eq!(packet[OFFLOAD_HEADER + 15], 0x30);
    }
}
