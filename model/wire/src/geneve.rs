//! Geneve, RFC 8926: anything with an EtherType in UDP, with options.

use crate::layout::{U16, U24, header};
use crate::malformed::{split, take};
use crate::{Emit, Fault, Malformed};
use zerocopy::IntoBytes;

const NAME: &str = "Geneve";
/// The most that six bits of words can say.
const MOST_OPTIONS: usize = 63 * 4;

header! {
    /// ```text
    ///  0           1         2          4           7   8
    /// ┌───┬───────┬─┬─┬─────┬──────────┬───────────┬───┐
    /// │ver│length │O│C│  0  │ protocol │    VNI    │ 0 │
    /// ├───┴───────┴─┴─┴─────┴──────────┴───────────┴───┤
    /// │                    options                     │
    /// └────────────────────────────────────────────────┘
    /// ```
    pub struct Header as "geneve_header" {
        /// Version (2 bits), and length of the options in words (6 bits).
        pub version_length: u8,
        /// [`flag`].
        pub flags: u8,
        /// EtherType of what it carries.
        pub protocol: U16,
        /// The virtual network.
        pub vni: U24,
        /// Sent as 0, not looked at.
        pub reserved: u8,
    }
}

/// The bits of [`Header::flags`].
pub mod flag {
    /// A control packet, of which hosts get nothing.
    pub const CONTROL: u8 = 0x80;
    /// One option at least must be understood, or the packet is dropped.
    pub const CRITICAL: u8 = 0x40;
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a Header,
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A packet of some bytes.
    ///
    /// # Errors
    /// Another version than 0; options that overrun their room or the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) = split::<Header>(bytes, NAME)?;
        if header.version_length >> 6 != 0 {
            return Err(Fault::Version(header.version_length >> 6).of(NAME));
        }
        let (options, payload) = take(rest, usize::from(header.version_length & 0x3f) * 4, NAME)?;
        Options(options).try_for_each(|option| option.map(drop))?;
        Ok(Self { header, options, payload })
    }

    /// The virtual network.
    pub fn vni(&self) -> u32 {
        self.header.vni.get()
    }

    /// EtherType of what it carries.
    pub fn protocol(&self) -> u16 {
        self.header.protocol.get()
    }

    /// Whether it is a control packet.
    pub fn is_control(&self) -> bool {
        self.header.flags & flag::CONTROL != 0
    }

    /// Whether who does not understand one of its options must drop it.
    pub fn is_critical(&self) -> bool {
        self.header.flags & flag::CRITICAL != 0
    }

    /// Its options, which [`Options`] walks.
    pub fn options(&self) -> &'a [u8] {
        self.options
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// An option, RFC 8926 section 3.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeneveOption<'a> {
    /// Who defines its type.
    pub class: u16,
    /// Its type; the uppermost bit says that it must be understood.
    pub kind: u8,
    /// Its value, a multiple of four bytes.
    pub value: &'a [u8],
}

/// The options of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a>(pub &'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = Result<GeneveOption<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut read = || {
            let (head, rest) = take(self.0, 4, NAME)?;
            let (value, rest) = take(rest, usize::from(head[3] & 0x1f) * 4, NAME)?;
            self.0 = rest;
            Ok(GeneveOption { class: u16::from_be_bytes([head[0], head[1]]), kind: head[2], value })
        };
        let option = read();
        if option.is_err() {
            self.0 = &[];
        }
        Some(option)
    }
}

/// What a packet's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr<'a> {
    /// The virtual network, 24 bits.
    pub vni: u32,
    /// EtherType of what it carries.
    pub protocol: u16,
    /// Its options as they lie on the wire: words, at most 252 bytes; more is left out.
    pub options: &'a [u8],
}

impl<'a> Repr<'a> {
    /// What a packet says.
    ///
    /// # Errors
    /// A control packet.
    pub fn of(packet: &Packet<'a>) -> Result<Self, Malformed> {
        if packet.is_control() {
            return Err(Fault::Field("flags").of(NAME));
        }
        Ok(Self { vni: packet.vni(), protocol: packet.protocol(), options: packet.options })
    }

    fn sent(&self) -> &'a [u8] {
        &self.options[..self.options.len().min(MOST_OPTIONS) / 4 * 4]
    }
}

impl Emit for Repr<'_> {
    fn length(&self) -> usize {
        Header::LENGTH + self.sent().len()
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let critical = Options(self.sent()).flatten().any(|option| option.kind & 0x80 != 0);
        let fields = Header {
            version_length: (self.sent().len() / 4) as u8,
            flags: if critical { flag::CRITICAL } else { 0 },
            protocol: self.protocol.into(),
            vni: U24::new(self.vni),
            reserved: 0,
        };
        let (fixed, options) = header.split_at_mut(Header::LENGTH);
        fixed.copy_from_slice(fields.as_bytes());
        options.copy_from_slice(self.sent());
    }
}
