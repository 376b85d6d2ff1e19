//! VXLAN-GPE, draft-ietf-nvo3-vxlan-gpe-13: VXLAN that says what it carries.

use crate::layout::{U24, header};
use crate::malformed::split;
use crate::{Emit, Fault, Malformed};
use zerocopy::IntoBytes;

const NAME: &str = "VXLAN-GPE";

header! {
    /// ```text
    ///  0              1       3      4           7   8
    /// ┌─┬─┬───┬─┬─┬─┬─┬───────┬──────┬───────────┬───┐
    /// │0│0│ver│I│P│B│O│   0   │ next │    VNI    │ 0 │
    /// └─┴─┴───┴─┴─┴─┴─┴───────┴──────┴───────────┴───┘
    /// ```
    pub struct Header as "vxlan_gpe_header" {
        /// Version (2 bits), and whether there is a VNI, a next protocol, a copy for many, a maintenance message.
        pub flags: u8,
        /// Sent as 0, not looked at.
        pub reserved: [u8; 2],
        /// What it carries: [`next`].
        pub next_protocol: u8,
        /// The virtual network.
        pub vni: U24,
        /// Sent as 0, not looked at.
        pub reserved_end: u8,
    }
}

/// The bits of [`Header::flags`].
pub mod flag {
    /// The version.
    pub const VERSION: u8 = 0x30;
    /// There is a VNI.
    pub const VNI: u8 = 0x08;
    /// There is a next protocol; without it the header is one of VXLAN.
    pub const NEXT: u8 = 0x04;
    /// A copy of a frame for broadcast, an unknown station or a group.
    pub const COPY: u8 = 0x02;
    /// A message for maintenance, of which hosts get nothing.
    pub const MAINTENANCE: u8 = 0x01;
}

/// What a VXLAN-GPE header may carry.
pub mod next {
    /// IPv4.
    pub const IPV4: u8 = 1;
    /// IPv6.
    pub const IPV6: u8 = 2;
    /// An Ethernet frame.
    pub const ETHERNET: u8 = 3;
    /// A network service header.
    pub const NSH: u8 = 4;
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
    /// Another version than 0; no VNI; no next protocol.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = split::<Header>(bytes, NAME)?;
        if header.flags & flag::VERSION != 0 {
            return Err(Fault::Version(header.flags >> 4 & 3).of(NAME));
        }
        if header.flags & (flag::VNI | flag::NEXT) != flag::VNI | flag::NEXT {
            return Err(Fault::Field("flags").of(NAME));
        }
        Ok(Self { header, payload })
    }

    /// The virtual network.
    pub fn vni(&self) -> u32 {
        self.header.vni.get()
    }

    /// What it carries: [`next`].
    pub fn next_protocol(&self) -> u8 {
        self.header.next_protocol
    }

    /// Whether it is a message for maintenance.
    pub fn is_maintenance(&self) -> bool {
        self.header.flags & flag::MAINTENANCE != 0
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What a packet's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// The virtual network, 24 bits.
    pub vni: u32,
    /// What it carries: [`next`].
    pub next_protocol: u8,
}

impl Repr {
    /// What a packet says.
    ///
    /// # Errors
    /// A message for maintenance.
    pub fn of(packet: &Packet<'_>) -> Result<Self, Malformed> {
        if packet.is_maintenance() {
            return Err(Fault::Field("flags").of(NAME));
        }
        Ok(Self { vni: packet.vni(), next_protocol: packet.next_protocol() })
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        Header::LENGTH
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let Self { vni, next_protocol } = *self;
        let flags = flag::VNI | flag::NEXT;
        let fields = Header { flags, next_protocol, vni: U24::new(vni), ..Header::default() };
        header.copy_from_slice(fields.as_bytes());
    }
}
