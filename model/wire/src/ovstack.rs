//! The ovstack header: who a packet is from and for by flat identity, whatever carries it.
//!
//! Choice: Nakamura et al. name the fields (their section 4.1.1) and draw no layout that survives. This one has them in
//! words, the identities last so that what a relay changes stands in the first word; a version is added, without which
//! no later layout could be told from it, and flags, of which one marks what the overlay says about itself.

use crate::layout::{U24, U32, header};
use crate::malformed::split;
use crate::{Emit, Fault, Malformed};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;
use zerocopy::IntoBytes;

const NAME: &str = "ovstack";
/// The version of this layout.
pub const VERSION: u8 = 1;
/// Choice: below the 64 that the paper advises, above any sensible path.
pub const DEFAULT_TTL: u8 = 60;
/// The flag of messages of the overlay itself, such as that a packet was too big.
pub const CONTROL: u8 = 0x80;

header! {
    /// ```text
    ///  0         1      2             3       4
    /// ┌─────────┬──────┬─────────────┬───────┐
    /// │ version │ TTL  │ application │ flags │
    /// ├─────────┴──────┴─────────────┼───────┤
    /// │             VNI              │   0   │
    /// ├──────────────────────────────┴───────┤
    /// │                 hash                 │
    /// ├──────────────────────────────────────┤
    /// │             destination              │
    /// ├──────────────────────────────────────┤
    /// │                source                │
    /// └──────────────────────────────────────┘
    /// ```
    pub struct Header as "ovstack_header" {
        /// [`VERSION`].
        pub version: u8,
        /// Overlay hops left.
        pub ttl: u8,
        /// What it carries, and whose tables it follows.
        pub application: u8,
        /// [`CONTROL`]; other bits are sent as 0 and not looked at.
        pub flags: u8,
        /// The tenant.
        pub vni: U24,
        /// Sent as 0, not looked at.
        pub reserved: u8,
        /// Hash of the flow: what must not overtake each other has the same.
        pub hash: U32,
        /// The node or group it is for.
        pub destination: U32,
        /// The node it is from.
        pub source: U32,
    }
}

/// A node's identity, or a group's: 32 bits without inner meaning, written as four numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv4Addr::from(self.0).fmt(f)
    }
}

impl FromStr for NodeId {
    type Err = std::net::AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<Ipv4Addr>().map(|address| Self(address.into()))
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ipv4Addr::deserialize(deserializer).map(|address| Self(address.into()))
    }
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a Header,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A packet of some bytes.
    ///
    /// # Errors
    /// Another version.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = split::<Header>(bytes, NAME)?;
        if header.version != VERSION {
            return Err(Fault::Version(header.version).of(NAME));
        }
        Ok(Self { header, payload })
    }

    /// Overlay hops left.
    pub fn ttl(&self) -> u8 {
        self.header.ttl
    }

    /// What it carries, and whose tables it follows.
    pub fn application(&self) -> u8 {
        self.header.application
    }

    /// Whether the overlay says something about itself.
    pub fn is_control(&self) -> bool {
        self.header.flags & CONTROL != 0
    }

    /// The tenant, 24 bits.
    pub fn vni(&self) -> u32 {
        self.header.vni.get()
    }

    /// Hash of the flow.
    pub fn hash(&self) -> u32 {
        self.header.hash.get()
    }

    /// The node or group it is for.
    pub fn destination(&self) -> NodeId {
        NodeId(self.header.destination.get())
    }

    /// The node it is from.
    pub fn source(&self) -> NodeId {
        NodeId(self.header.source.get())
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What a packet's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// Overlay hops left.
    pub ttl: u8,
    /// What it carries, and whose tables it follows.
    pub application: u8,
    /// Whether the overlay says something about itself.
    pub is_control: bool,
    /// The tenant, 24 bits.
    pub vni: u32,
    /// Hash of the flow.
    pub hash: u32,
    /// The node or group it is for.
    pub destination: NodeId,
    /// The node it is from.
    pub source: NodeId,
}

impl Repr {
    /// What a packet says.
    pub fn of(packet: &Packet<'_>) -> Self {
        Self {
            ttl: packet.ttl(),
            application: packet.application(),
            is_control: packet.is_control(),
            vni: packet.vni(),
            hash: packet.hash(),
            destination: packet.destination(),
            source: packet.source(),
        }
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        Header::LENGTH
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let fields = Header {
            version: VERSION,
            ttl: self.ttl,
            application: self.application,
            flags: if self.is_control { CONTROL } else { 0 },
            vni: U24::new(self.vni),
            reserved: 0,
            hash: self.hash.into(),
            destination: self.destination.0.into(),
            source: self.source.0.into(),
        };
        header.copy_from_slice(fields.as_bytes());
    }
}
