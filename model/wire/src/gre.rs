//! GRE: RFC 2784, with key and sequence number of RFC 2890.

use crate::checksum::Sum;
use crate::layout::{U16, header};
use crate::malformed::{split, take};
use crate::{Emit, Fault, Malformed};
use zerocopy::IntoBytes;

const NAME: &str = "GRE";
/// Bytes of each optional part: checksum with its reserved half, key, sequence number.
const PART: usize = 4;

header! {
    /// ```text
    ///  0                2           4
    /// ┌─┬─┬─┬─┬──────┬─┬───────────┐
    /// │C│0│K│S│  0   │0│ protocol  │
    /// ├─┴─┴─┴─┴──────┼─┴───────────┤
    /// │ checksum, C  │      0      │
    /// ├──────────────┴─────────────┤
    /// │           key, K           │
    /// ├────────────────────────────┤
    /// │     sequence number, S     │
    /// └────────────────────────────┘
    /// ```
    pub struct Header as "gre_header" {
        /// Which parts follow, and the version (3 bits).
        pub flags_version: U16,
        /// EtherType of what it carries.
        pub protocol: U16,
    }
}

/// The bits of [`Header::flags_version`].
pub mod flag {
    /// A checksum follows.
    pub const CHECKSUM: u16 = 0x8000;
    /// A key follows.
    pub const KEY: u16 = 0x2000;
    /// A sequence number follows.
    pub const SEQUENCE: u16 = 0x1000;
    /// The version.
    pub const VERSION: u16 = 0x0007;
    /// A receiver that is no receiver of RFC 1701 drops a packet with one of these (RFC 2784 section 2.3).
    pub const RESERVED: u16 = 0x4c00;
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a Header,
    whole: &'a [u8],
    checksum: Option<u16>,
    key: Option<u32>,
    sequence: Option<u32>,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A packet of some bytes.
    ///
    /// # Errors
    /// Another version than 0, routing of RFC 1701, fewer bytes than its flags say.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, mut rest) = split::<Header>(bytes, NAME)?;
        let flags = header.flags_version.get();
        if flags & flag::VERSION != 0 {
            return Err(Fault::Version((flags & flag::VERSION) as u8).of(NAME));
        }
        if flags & flag::RESERVED != 0 {
            return Err(Fault::Field("reserved bits").of(NAME));
        }
        let mut part = |bit: u16| -> Result<Option<u32>, Malformed> {
            if flags & bit == 0 {
                return Ok(None);
            }
            let (part, after) = take(rest, PART, NAME)?;
            rest = after;
            Ok(Some(u32::from_be_bytes([part[0], part[1], part[2], part[3]])))
        };
        let checksum = part(flag::CHECKSUM)?.map(|part| (part >> 16) as u16);
        let (key, sequence) = (part(flag::KEY)?, part(flag::SEQUENCE)?);
        Ok(Self { header, whole: bytes, checksum, key, sequence, payload: rest })
    }

    /// EtherType of what it carries.
    pub fn protocol(&self) -> u16 {
        self.header.protocol.get()
    }

    /// The key.
    pub fn key(&self) -> Option<u32> {
        self.key
    }

    /// The sequence number.
    pub fn sequence(&self) -> Option<u32> {
        self.sequence
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether the checksum, if there is one, fits header and payload.
    pub fn checksum_fits(&self) -> bool {
        self.checksum.is_none() || Sum::new().add(self.whole).folded() == 0xffff
    }
}

/// What a packet's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repr {
    /// EtherType of what it carries.
    pub protocol: u16,
    /// The key.
    pub key: Option<u32>,
    /// The sequence number.
    pub sequence: Option<u32>,
    /// Whether it carries a checksum.
    pub checksum: bool,
}

impl Repr {
    /// What a packet says.
    ///
    /// # Errors
    /// A checksum that does not fit.
    pub fn of(packet: &Packet<'_>) -> Result<Self, Malformed> {
        if !packet.checksum_fits() {
            return Err(Fault::Checksum.of(NAME));
        }
        let Packet { key, sequence, checksum, .. } = *packet;
        Ok(Self { protocol: packet.protocol(), key, sequence, checksum: checksum.is_some() })
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        let parts = [self.checksum, self.key.is_some(), self.sequence.is_some()];
        Header::LENGTH + parts.into_iter().filter(|part| *part).count() * PART
    }

    fn emit(&self, header: &mut [u8], payload: &[u8]) {
        let bit = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
        let flags = bit(self.checksum, flag::CHECKSUM)
            | bit(self.key.is_some(), flag::KEY)
            | bit(self.sequence.is_some(), flag::SEQUENCE);
        let fields = Header { flags_version: flags.into(), protocol: self.protocol.into() };
        let (fixed, parts) = header.split_at_mut(Header::LENGTH);
        fixed.copy_from_slice(fields.as_bytes());
        let given = [self.checksum.then_some(0), self.key, self.sequence];
        for (bytes, part) in parts.chunks_exact_mut(PART).zip(given.into_iter().flatten()) {
            bytes.copy_from_slice(&part.to_be_bytes());
        }
        if self.checksum {
            // The header has an even number of bytes, so that both sums can be added.
            let sum = Sum::new().add(header).add(payload).checksum();
            header[Header::LENGTH..Header::LENGTH + 2].copy_from_slice(&sum.to_be_bytes());
        }
    }
}
