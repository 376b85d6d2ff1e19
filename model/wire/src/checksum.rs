//! The Internet checksum: RFC 1071, and RFC 1624 for what changes under way.

use std::net::IpAddr;

/// A sum in the making. Parts but the last must have an even number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum(u64);

impl Sum {
    /// Nothing summed.
    pub fn new() -> Self {
        Self(0)
    }

    /// Adds bytes; an odd last one counts as if a zero followed.
    #[allow(clippy::should_implement_trait, reason = "sums of bytes are no sums of sums")]
    pub fn add(self, bytes: &[u8]) -> Self {
        let (pairs, odd) = bytes.as_chunks::<2>();
        let pairs: u64 = pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum();
        Self(self.0 + pairs + odd.first().map_or(0, |byte| u64::from(*byte) << 8))
    }

    /// Adds a number of 16 bits.
    pub fn add_number(self, number: u16) -> Self {
        Self(self.0 + u64::from(number))
    }

    /// Adds the pseudo header of RFC 768 and RFC 8200 section 8.1. Both addresses are of one family.
    pub fn add_pseudo_header(self, source: IpAddr, destination: IpAddr, protocol: u8, length: usize) -> Self {
        let with = |sum: Self, address: IpAddr| match address {
            IpAddr::V4(address) => sum.add(&address.octets()),
            IpAddr::V6(address) => sum.add(&address.octets()),
        };
        let sum = with(with(self, source), destination);
        sum.add(&(length as u32).to_be_bytes()).add_number(u16::from(protocol))
    }

    /// The sum in 16 bits with its carries, not inverted.
    pub fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// What belongs in the header: the inverted sum.
    pub fn checksum(self) -> u16 {
        !self.folded()
    }
}

/// A checksum after a number of 16 bits in what it covers changed, RFC 1624 equation 3.
pub fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    Sum(u64::from(!checksum) + u64::from(!before) + u64::from(after)).checksum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071_adds_up() {
        let sum = Sum::new().add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!((sum.folded(), sum.checksum()), (0xddf2, 0x220d));
    }

    proptest! {
        #[test]
        fn an_update_is_a_sum_anew(mut bytes in proptest::collection::vec(0u8.., 2..60), after: u16) {
            let checksum = Sum::new().add(&bytes).checksum();
            let before = u16::from_be_bytes([bytes[0], bytes[1]]);
            bytes[..2].copy_from_slice(&after.to_be_bytes());
            let anew = Sum::new().add(&bytes).checksum();
            // Both forms of nought mean the same (RFC 1624 section 3).
            let same = |sum: u16| if sum == 0xffff { 0 } else { sum };
            prop_assert_eq!(same(updated(checksum, before, after)), same(anew));
        }
    }
}
