//! What shows that a packet's sender may send it, RFC 2328 appendix D and RFC 5709.

use super::{HEADER, NAME};
use crate::malformed::take;
use crate::{Fault, Malformed};

/// What shows that a packet's sender may send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// Nothing.
    None,
    /// A password that everybody can read.
    Password([u8; 8]),
    /// A digest behind the packet: of MD5 16 bytes (RFC 2328), of HMAC-SHA 20 to 64 (RFC 5709).
    Digest {
        /// Of which key.
        key: u8,
        /// Never smaller than that of the sender's packet before.
        sequence: u32,
        /// The digest itself, at most 255 bytes.
        digest: Vec<u8>,
    },
}

mod kind {
    pub const NONE: u16 = 0;
    pub const PASSWORD: u16 = 1;
    pub const DIGEST: u16 = 2;
}

impl Authentication {
    /// Of a packet's header, and what is behind the packet.
    pub(super) fn parse(header: &[u8], behind: &[u8]) -> Result<Self, Malformed> {
        let value = &header[16..HEADER];
        match u16::from_be_bytes([header[14], header[15]]) {
            kind::NONE => Ok(Self::None),
            kind::PASSWORD => {
                let mut password = [0; 8];
                password.copy_from_slice(value);
                Ok(Self::Password(password))
            }
            kind::DIGEST => {
                let (digest, _) = take(behind, value[3].into(), NAME)?;
                let sequence = u32::from_be_bytes([value[4], value[5], value[6], value[7]]);
                Ok(Self::Digest { key: value[2], sequence, digest: digest.to_vec() })
            }
            _ => Err(Fault::Field("type of authentication").of(NAME)),
        }
    }

    /// Whether the packet has a checksum. Beside a digest it has none.
    pub(super) fn has_checksum(&self) -> bool {
        !matches!(self, Self::Digest { .. })
    }

    /// Writes it into a packet's header, and behind the packet. The checksum does not cover it.
    pub(super) fn emit(&self, packet: &mut Vec<u8>) {
        let (kind, value) = match self {
            Self::None => (kind::NONE, [0; 8]),
            Self::Password(password) => (kind::PASSWORD, *password),
            Self::Digest { key, sequence, digest } => {
                let [a, b, c, d] = sequence.to_be_bytes();
                (kind::DIGEST, [0, 0, *key, digest.len().min(255) as u8, a, b, c, d])
            }
        };
        packet[14..16].copy_from_slice(&kind.to_be_bytes());
        packet[16..HEADER].copy_from_slice(&value);
        if let Self::Digest { digest, .. } = self {
            packet.extend(digest.iter().take(255));
        }
    }
}
