//! What names where a packet goes, as people write it.

use crate::BitField;
use ipnet::IpNet;
use plait_dataplane_reference::mapped;
use plait_dataplane_reference::tables::size;
use plait_model_wire::ethernet::Mac;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// What names where a packet goes: a station of a device that carries frames, a network of one that carries packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Identifier {
    /// A hardware address.
    Station([u8; 6]),
    /// A network; of a single address the whole of it.
    Network(IpNet),
    /// Bits of a frame.
    Bits(Bits),
}

/// Bits of a packet, written as hexadecimal digits without anything between them; those of a device that finds packets by none,
/// which all have, as `all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits {
    bytes: [u8; size::IDENTIFIER as usize],
    length: u8,
}

impl Bits {
    /// Of a device that finds packets by none.
    pub const NONE: Self = Self { bytes: [0; size::IDENTIFIER as usize], length: 0 };

    /// The last bits of a number; so many that they are whole digits.
    pub(crate) fn of(number: u128, length: u8) -> Self {
        let left = 8 * size::IDENTIFIER - u32::from(length);
        Self { bytes: number.checked_shl(left).unwrap_or(0).to_be_bytes(), length }
    }

    /// The number that the digits are.
    pub(crate) fn number(self) -> u128 {
        u128::from_be_bytes(self.bytes)
            .checked_shr(8 * size::IDENTIFIER - u32::from(self.length))
            .unwrap_or(0)
    }

    /// How many, four a digit.
    pub fn length(self) -> u8 {
        self.length
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; size::IDENTIFIER as usize];
        if matches!(text, "all" | "none") {
            return Some(Self::NONE);
        }
        if text.is_empty() || text.len() > 2 * bytes.len() {
            return None;
        }
        for (place, digit) in text.chars().enumerate() {
            let digit = digit.to_digit(16)? as u8;
            bytes[place / 2] |= if place.is_multiple_of(2) { digit << 4 } else { digit };
        }
        Some(Self { bytes, length: 4 * text.len() as u8 })
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.length == 0 {
            return f.write_str("all");
        }
        let digit =
            |place: usize| self.bytes[place / 2] >> (if place.is_multiple_of(2) { 4 } else { 0 }) & 15;
        (0..usize::from(self.length / 4)).try_for_each(|place| write!(f, "{:x}", digit(place)))
    }
}

/// Words that are no identifier.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no identifier: write a hardware address, a network such as 10.1.0.0/24, bits as hexadecimal digits, or `all`"
)]
pub struct BadIdentifier(String);

impl Identifier {
    /// Its bytes in the tables of a device that finds packets by those bits, if by any: of what [can be](BitField::key) one there.
    pub fn bytes(self, field: Option<BitField>) -> [u8; size::IDENTIFIER as usize] {
        match self {
            Self::Station(station) => {
                let mut bytes = [0; size::IDENTIFIER as usize];
                bytes[..6].copy_from_slice(&station);
                bytes
            }
            Self::Network(network) => mapped(network.network()),
            Self::Bits(bits) => field.and_then(|field| field.key(bits)).unwrap_or(bits.bytes),
        }
    }
}

impl FromStr for Identifier {
    type Err = BadIdentifier;

    fn from_str(text: &str) -> Result<Self, BadIdentifier> {
        // Digits without anything between them are bits.
        if text.contains([':', '-'])
            && let Ok(Mac(station)) = text.parse()
        {
            return Ok(Self::Station(station));
        }
        let network = text.parse().or_else(|_| text.parse().map(|address: std::net::IpAddr| address.into()));
        let bits = || Bits::parse(text).map(Self::Bits).ok_or_else(|| BadIdentifier(text.to_owned()));
        network.map(Self::Network).or_else(|_| bits())
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Station(station) => Mac(*station).fmt(f),
            Self::Network(network) if network.prefix_len() == network.max_prefix_len() => {
                network.addr().fmt(f)
            }
            Self::Network(network) => network.fmt(f),
            Self::Bits(bits) => bits.fmt(f),
        }
    }
}

impl TryFrom<String> for Identifier {
    type Error = BadIdentifier;

    fn try_from(text: String) -> Result<Self, BadIdentifier> {
        text.parse()
    }
}

impl From<Identifier> for String {
    fn from(identifier: Identifier) -> Self {
        identifier.to_string()
    }
}
