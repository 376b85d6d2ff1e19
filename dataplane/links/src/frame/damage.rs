//! Damage: one bit flips, as on a bad cable.

use super::offload::{OFFLOAD_HEADER, Offload};
use super::{ETHERNET, word};

/// Flips one bit behind the Ethernet header; `choice` says which.
///
/// An open checksum is completed first. Left open, the receiver would trust the damaged bytes, or compute a checksum
/// that fits them.
pub(crate) fn flip(packet: &mut [u8], choice: u64) {
    complete_checksum(packet);
    let Some(body) = packet.get_mut(OFFLOAD_HEADER + ETHERNET..).filter(|body| !body.is_empty()) else {
        return;
    };
    let bit = choice % (body.len() as u64 * 8);
    body[(bit / 8) as usize] ^= 1 << (bit % 8);
}

/// Sums from the transport header to the end, as hardware would, and stores the complement (RFC 1071). The field holds
/// the pseudo-header's sum until then.
fn complete_checksum(packet: &mut [u8]) {
    let Some((header, frame)) = packet.split_at_mut_checked(OFFLOAD_HEADER) else { return };
    let Some((start, field)) = Offload::parse(header).checksum() else { return };
    let Some(covered) = frame.get(start..) else { return };
    let mut sum: u64 =
        (0..covered.len() / 2).filter_map(|index| word(covered, index * 2)).map(u64::from).sum();
    if covered.len() % 2 == 1 {
        sum += u64::from(covered[covered.len() - 1]) << 8;
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let Some(stored) = frame.get_mut(field..field + 2) else { return };
    // UDP says "no checksum" by nought, so a sum of nought is written as all ones (RFC 768).
    let complement = !(sum as u16);
    stored.copy_from_slice(&if complement == 0 { 0xffff } else { complement }.to_be_bytes());
    Offload::clear_checksum(header);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Vec<u8> {
        let mut packet = vec![0; OFFLOAD_HEADER + ETHERNET];
        packet.extend((0u8..64).collect::<Vec<_>>());
        packet
    }

    #[test]
    fn exactly_one_bit_behind_the_ethernet_header_flips() {
        for choice in 0..2000 {
            let mut damaged = packet();
            flip(&mut damaged, choice);
            let flipped: u32 = packet().iter().zip(&damaged).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!(flipped, 1);
            assert_eq!(damaged[..OFFLOAD_HEADER + ETHERNET], packet()[..OFFLOAD_HEADER + ETHERNET]);
        }
    }

    #[test]
    fn an_open_checksum_is_complete_before_the_damage() {
        let mut open = packet();
        open[0] = 1;
        open[6..8].copy_from_slice(&34u16.to_ne_bytes());
        open[8..10].copy_from_slice(&6u16.to_ne_bytes());
        complete_checksum(&mut open);
        assert_eq!(open[0], 0);
        let covered = &open[OFFLOAD_HEADER + 34..];
        let pseudo_header = u32::from(word(&packet(), OFFLOAD_HEADER + 40).unwrap());
        let data: u32 = covered.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        let sum = data + pseudo_header;
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn hostile_offsets_do_no_harm() {
        for (start, field) in [(0u16, 0u16), (65535, 65535), (77, 6), (78, 0), (13, 100)] {
            let mut hostile = packet();
            hostile[0] = 1;
            hostile[6..8].copy_from_slice(&start.to_ne_bytes());
            hostile[8..10].copy_from_slice(&field.to_ne_bytes());
            flip(&mut hostile, 7);
        }
        flip(&mut [], 1);
        flip(&mut [1; 12], 1);
    }
}
