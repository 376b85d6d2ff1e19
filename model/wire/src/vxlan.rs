//! VXLAN, RFC 7348: an Ethernet frame in UDP.

use crate::layout::{U24, header};
use crate::malformed::split;
use crate::{Emit, Fault, Malformed};
use zerocopy::IntoBytes;

const NAME: &str = "VXLAN";
/// The flag that says that there is a VNI.
pub const HAS_VNI: u8 = 0x08;

header! {
    /// ```text
    ///  0       1           4           7   8
    /// ┌───────┬───────────┬───────────┬───┐
    /// │ flags │     0     │    VNI    │ 0 │
    /// └───────┴───────────┴───────────┴───┘
    /// ```
    pub struct Header as "vxlan_header" {
        /// [`HAS_VNI`].
        pub flags: u8,
        /// Sent as 0, not looked at.
        pub reserved: U24,
        /// The virtual network.
        pub vni: U24,
        /// Sent as 0, not looked at.
        pub reserved_end: u8,
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
    /// No VNI.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = split::<Header>(bytes, NAME)?;
        if header.flags & HAS_VNI == 0 {
            return Err(Fault::Field("flags").of(NAME));
        }
        Ok(Self { header, payload })
    }

    /// The virtual network.
    pub fn vni(&self) -> u32 {
        self.header.vni.get()
    }

    /// The frame.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What a packet's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// The virtual network, 24 bits.
    pub vni: u32,
}

impl Repr {
    /// What a packet says.
    pub fn of(packet: &Packet<'_>) -> Self {
        Self { vni: packet.vni() }
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        Header::LENGTH
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let fields = Header { flags: HAS_VNI, vni: U24::new(self.vni), ..Header::default() };
        header.copy_from_slice(fields.as_bytes());
    }
}
