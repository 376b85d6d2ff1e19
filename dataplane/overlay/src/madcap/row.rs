//! What a device finds packets by, and in what they travel: Table 4.1 of the thesis.

use crate::{BitField, Carries, Encapsulation};
use std::str::FromStr;

/// What the outer IP header says comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// UDP, 17.
    Udp,
    /// GRE, 47.
    Gre,
    /// IP in IP, 4.
    Ipip,
}

/// By its name in the thesis's words, or its number.
impl FromStr for Protocol {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "udp" | "17" => Ok(Self::Udp),
            "gre" | "47" => Ok(Self::Gre),
            "ipip" | "4" => Ok(Self::Ipip),
            other => Err(format!("`proto {other}` is none: write `udp`, `gre` or `ipip`")),
        }
    }
}

/// Where bits begin: bytes, or bytes and bits of the next one, such as `16.4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Whole bytes.
    pub byte: u16,
    /// Bits behind those, fewer than eight.
    pub bit: u8,
}

impl From<u16> for Place {
    fn from(byte: u16) -> Self {
        Self { byte, bit: 0 }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (byte, bit) = word.split_once('.').unwrap_or((word, "0"));
        match (byte.parse(), bit.parse()) {
            (Ok(byte), Ok(bit @ 0..8)) => Ok(Self { byte, bit }),
            _ => Err(format!("`offset {word}` is no place: write bytes, or bytes and bits such as `16.4`")),
        }
    }
}

/// A row of the thesis's Table 4.1: a tunnel, with what its device finds packets by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub(super) encapsulation: Encapsulation,
    pub(super) carries: Carries,
    pub(super) field: Option<BitField>,
}

impl Row {
    /// The row of a protocol (without it UDP where bits are named, else GRE) and of bits, if any are named: where behind the outer IP
    /// header they begin, and how many they are.
    ///
    /// Choice: frames are in VXLAN or NVGRE, since those name virtual networks; what is found by bits that the table has for labels
    /// and service headers, or by none, is what frames carry.
    ///
    /// # Errors
    /// What no tunnel has there, with what one has.
    pub fn of(protocol: Option<Protocol>, bits: Option<(Place, u8)>) -> Result<Self, String> {
        let row = |encapsulation, carries, field| Self { encapsulation, carries, field };
        let begins = |encapsulation: Encapsulation, carries, (place, length): (Place, u8)| {
            let (header, Place { byte, bit }) = (encapsulation.shim_bytes(), place);
            let offset = byte.checked_sub(header).and_then(|bytes| bytes.checked_mul(8));
            match offset.and_then(|offset| offset.checked_add(bit.into())) {
                Some(offset) => Ok(row(encapsulation, carries, Some(BitField { offset, length }))),
                None => Err(format!(
                    "what begins {byte} bytes behind the outer IP header is in the header of {encapsulation}, which is the same \
                     of all packets: begin at {header}"
                )),
            }
        };
        let usual = if bits.is_some() { Protocol::Udp } else { Protocol::Gre };
        match (protocol.unwrap_or(usual), bits) {
            (Protocol::Udp, Some(bits @ (Place { byte: 20, bit: 0 }, 32))) => {
                begins(Encapsulation::Gpe, Carries::Payload, bits)
            }
            (Protocol::Udp, Some(bits)) => begins(Encapsulation::Vxlan, Carries::Bits, bits),
            (Protocol::Udp, None) => Ok(row(Encapsulation::Gpe, Carries::Payload, None)),
            (Protocol::Gre, Some(bits @ (Place { byte: 4, bit: 0 }, 20))) => {
                begins(Encapsulation::Gre, Carries::Payload, bits)
            }
            (Protocol::Gre, Some(bits)) => begins(Encapsulation::Nvgre, Carries::Bits, bits),
            (Protocol::Gre, None) => Ok(row(Encapsulation::Gre, Carries::Payload, None)),
            (Protocol::Ipip, None) => Ok(row(Encapsulation::Ipip, Carries::Payload, None)),
            (Protocol::Ipip, Some(_)) => {
                Err("nothing stands between the headers of IP in IP: leave out `offset` and `length`"
                    .to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Protocol, Row};
    use crate::{BitField, Carries, Encapsulation};

    #[test]
    fn the_rows_of_the_thesiss_table_are_there() {
        let row = |encapsulation, carries, bits: Option<(u16, u8)>| {
            let field = bits.map(|(offset, length)| BitField { offset, length });
            Ok(Row { encapsulation, carries, field })
        };
        for (protocol, bits, expected) in [
            (Protocol::Udp, Some((16, 48)), row(Encapsulation::Vxlan, Carries::Bits, Some((0, 48)))),
            (Protocol::Gre, Some((8, 48)), row(Encapsulation::Nvgre, Carries::Bits, Some((0, 48)))),
            (Protocol::Gre, Some((4, 20)), row(Encapsulation::Gre, Carries::Payload, Some((0, 20)))),
            (Protocol::Udp, Some((20, 32)), row(Encapsulation::Gpe, Carries::Payload, Some((32, 32)))),
            (Protocol::Gre, None, row(Encapsulation::Gre, Carries::Payload, None)),
            (Protocol::Ipip, None, row(Encapsulation::Ipip, Carries::Payload, None)),
        ] {
            let bits = bits.map(|(byte, length): (u16, u8)| (byte.into(), length));
            assert_eq!(Row::of(Some(protocol), bits), expected, "{protocol:?} {bits:?}");
        }
        assert_eq!(Row::of(None, None), Row::of(Some(Protocol::Gre), None));
        let (usual, within) = (Some((Place::from(16), 48)), Some((Place { byte: 16, bit: 4 }, 13)));
        assert_eq!(Row::of(None, usual), Row::of(Some(Protocol::Udp), usual));
        assert_eq!(Row::of(None, within), row(Encapsulation::Vxlan, Carries::Bits, Some((4, 13))));
    }

    #[test]
    fn what_no_tunnel_has_is_told_with_what_one_has() {
        for (protocol, bits, word) in
            [(Protocol::Ipip, (16, 48), "nothing stands between"), (Protocol::Udp, (12, 48), "begin at 16")]
        {
            let (byte, length): (u16, u8) = bits;
            let fault = Row::of(Some(protocol), Some((byte.into(), length))).unwrap_err();
            assert!(fault.contains(word), "{protocol:?}: {fault}");
        }
    }

    #[test]
    fn bits_begin_at_bytes_or_within_them() {
        assert_eq!(["16", "16.4"].map(str::parse), [Ok(Place::from(16)), Ok(Place { byte: 16, bit: 4 })]);
        for word in ["16.8", "16.", ".4", "-1", "16.4.1", "x"] {
            assert!(word.parse::<Place>().unwrap_err().contains("`16.4`"), "{word}");
        }
    }

    #[test]
    fn protocols_have_names_and_numbers() {
        for (words, protocol) in
            [(["udp", "17"], Protocol::Udp), (["gre", "47"], Protocol::Gre), (["ipip", "4"], Protocol::Ipip)]
        {
            assert_eq!(words.map(str::parse), [Ok(protocol), Ok(protocol)]);
        }
        assert!("icmp".parse::<Protocol>().unwrap_err().contains("`udp`, `gre` or `ipip`"));
    }
}
