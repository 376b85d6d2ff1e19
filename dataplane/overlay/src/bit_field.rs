//! Bits by which a device finds packets.

use crate::Bits;
use plait_dataplane_reference::tables::size;
use serde::{Deserialize, Serialize};

/// Bits of a frame, counted from the first of its Ethernet header; of a payload from its own first. Choice: the thesis counts from
/// behind the outer IP header, so that the same bits have another offset with each tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BitField {
    /// Where they begin.
    pub offset: u16,
    /// How many.
    pub length: u8,
}

impl BitField {
    /// The byte in which they begin.
    pub fn byte(self) -> u16 {
        self.offset / 8
    }

    /// A bit for each that counts, from that byte on, in as many bytes as identifiers have.
    pub fn mask(self) -> [u8; size::IDENTIFIER as usize] {
        (u128::MAX.checked_shl(IDENTIFIER_BITS - u32::from(self.length)).unwrap_or(0)
            >> u32::from(self.bit()))
        .to_be_bytes()
    }

    /// How many hexadecimal digits they are written as. Of those that are no multiple of four the first digit has less.
    pub fn digits(self) -> u8 {
        self.length.div_ceil(4)
    }

    /// What is found in the tables by the bits that digits say; nothing where there are others, or more.
    ///
    /// Choice: there they stand as in the packet, in which no program then has to move them.
    pub fn key(self, bits: Bits) -> Option<[u8; size::IDENTIFIER as usize]> {
        let number = bits.number();
        let fits = self.length > 0
            && bits.length() == 4 * self.digits()
            && number.checked_shr(self.length.into()).is_none_or(|more| more == 0);
        fits.then(|| (number << self.behind()).to_be_bytes())
    }

    /// The digits of what stands in the tables.
    pub fn bits(self, key: [u8; size::IDENTIFIER as usize]) -> Bits {
        let number = u128::from_be_bytes(key) & u128::from_be_bytes(self.mask());
        Bits::of(number >> self.behind(), 4 * self.digits())
    }

    /// Bits of that byte before them.
    pub fn bit(self) -> u8 {
        (self.offset % 8) as u8
    }

    /// Bits behind them that programs look at and do not count.
    fn behind(self) -> u32 {
        IDENTIFIER_BITS - u32::from(self.bit()) - u32::from(self.length)
    }

    /// Whether a program can cut them out.
    pub(crate) fn can_be(self) -> bool {
        self.offset <= LAST_OFFSET
            && self.length > 0
            && u32::from(self.bit()) + u32::from(self.length) <= IDENTIFIER_BITS
    }
}

/// Bits of an identifier in the tables.
const IDENTIFIER_BITS: u32 = 8 * size::IDENTIFIER;

/// The last bit of the last byte that a program looks at first.
const LAST_OFFSET: u16 = 8 * 1023 + 7;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A bit of some bytes, counted from the first one's highest.
    fn bit(bytes: &[u8], at: usize) -> bool {
        bytes[at / 8] >> (7 - at % 8) & 1 == 1
    }

    proptest! {
        /// What a program leaves of a packet is what the packet's own bits, written as digits, stand for.
        #[test]
        fn bits_of_a_packet_are_found_wherever_they_begin_and_end(
            packet in proptest::collection::vec(any::<u8>(), 40),
            offset in 0u16..192,
            length in 1u8..=128,
        ) {
            let field = BitField { offset, length };
            prop_assume!(field.can_be());
            let (from, count) = (usize::from(offset), usize::from(length));
            let digits: String = {
                let written: Vec<bool> = (0..4 * usize::from(field.digits()) - count)
                    .map(|_| false)
                    .chain((from..from + count).map(|at| bit(&packet, at)))
                    .collect();
                let digit = |four: &[bool]| four.iter().fold(0, |digit, bit| digit << 1 | u32::from(*bit));
                written.chunks(4).map(|four| char::from_digit(digit(four), 16).unwrap()).collect()
            };
            let mut found = [0; 16];
            let read = &packet[usize::from(field.byte())..];
            for ((byte, of), mask) in found.iter_mut().zip(read).zip(field.mask()) {
                *byte = of & mask;
            }
            let bits = Bits::parse(&digits).unwrap();
            prop_assert_eq!(field.key(bits), Some(found));
            prop_assert_eq!(field.bits(found), bits);
            prop_assert_eq!(bits.to_string(), digits);
            prop_assert!(field.mask()[0] != 0, "a mask that begins with nought is that of no bits");
        }
    }

    #[test]
    fn digits_of_other_bits_are_no_identifier() {
        let field = BitField { offset: 51, length: 13 };
        let key = |digits: &str| field.key(Bits::parse(digits).unwrap());
        assert_eq!(field.mask()[..3], [0x1f, 0xff, 0]);
        assert_eq!(key("1fff"), Some(field.mask()));
        for other in ["2000", "fff", "01fff", "all"] {
            assert_eq!(key(other), None, "{other}");
        }
        let whole = BitField { offset: 0, length: 128 };
        assert_eq!(whole.key(Bits::parse(&"f".repeat(32)).unwrap()), Some([0xff; 16]));
        for (offset, length, can_be) in [
            (0, 128, true),
            (1, 128, false),
            (1, 127, true),
            (7, 122, false),
            (8191, 1, true),
            (8192, 1, false),
            (0, 0, false),
        ] {
            assert_eq!(BitField { offset, length }.can_be(), can_be, "{offset} {length}");
        }
    }
}
