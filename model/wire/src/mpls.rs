//! MPLS labels, RFC 3032.

use crate::layout::{U32, header};
use crate::malformed::split;
use crate::{Emit, Malformed};
use zerocopy::IntoBytes;

const NAME: &str = "MPLS";

header! {
    /// ```text
    ///  0                            4
    /// ┌──────────────┬─────┬─┬─────┐
    /// │ label, 20 b  │TC, 3│S│ TTL │
    /// └──────────────┴─────┴─┴─────┘
    /// ```
    pub struct Header as "mpls_header" {
        /// Label (20 bits), traffic class (3, RFC 5462), bottom of the stack, TTL (8).
        pub label_class_bottom_ttl: U32,
    }
}

/// One label, and what stands behind it: another label, or what the stack carries.
#[derive(Debug, Clone, Copy)]
pub struct Label<'a> {
    header: &'a Header,
    payload: &'a [u8],
}

impl<'a> Label<'a> {
    /// The first label of some bytes.
    ///
    /// # Errors
    /// Fewer than four.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = split(bytes, NAME)?;
        Ok(Self { header, payload })
    }

    /// The label, 20 bits.
    pub fn label(&self) -> u32 {
        self.header.label_class_bottom_ttl.get() >> 12
    }

    /// The traffic class, 3 bits.
    pub fn traffic_class(&self) -> u8 {
        (self.header.label_class_bottom_ttl.get() >> 9 & 7) as u8
    }

    /// Whether it is the last of its stack.
    pub fn is_bottom(&self) -> bool {
        self.header.label_class_bottom_ttl.get() & 0x100 != 0
    }

    /// Hops left.
    pub fn ttl(&self) -> u8 {
        self.header.label_class_bottom_ttl.get() as u8
    }

    /// What stands behind it.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What a label says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// The label, 20 bits.
    pub label: u32,
    /// The traffic class, 3 bits.
    pub traffic_class: u8,
    /// Whether it is the last of its stack.
    pub is_bottom: bool,
    /// Hops left.
    pub ttl: u8,
}

impl Repr {
    /// What a label says.
    pub fn of(label: &Label<'_>) -> Self {
        Self {
            label: label.label(),
            traffic_class: label.traffic_class(),
            is_bottom: label.is_bottom(),
            ttl: label.ttl(),
        }
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        Header::LENGTH
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let Self { label, traffic_class, is_bottom, ttl } = *self;
        let word = (label & 0xf_ffff) << 12
            | u32::from(traffic_class & 7) << 9
            | u32::from(is_bottom) << 8
            | u32::from(ttl);
        header.copy_from_slice(Header { label_class_bottom_ttl: word.into() }.as_bytes());
    }
}
