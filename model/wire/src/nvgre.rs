//! NVGRE, RFC 7637: an Ethernet frame in GRE, whose key is a virtual subnet and a flow.

use crate::layout::{U24, header};
use crate::number::ether_type;
use crate::{Emit, Fault, Malformed, gre};

const NAME: &str = "NVGRE";

header! {
    /// The key of an NVGRE packet's GRE header.
    pub struct Key as "nvgre_key" {
        /// The virtual subnet.
        pub subnet: U24,
        /// The flow's entropy.
        pub flow: u8,
    }
}

/// What an NVGRE header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// The virtual subnet, 24 bits.
    pub subnet: u32,
    /// The flow's entropy.
    pub flow: u8,
}

impl Repr {
    /// What a GRE packet says, if it is one of NVGRE.
    ///
    /// # Errors
    /// Another payload than a frame; no key; a checksum or sequence number, which RFC 7637 section 3.2 excludes.
    pub fn of(packet: &gre::Packet<'_>) -> Result<Self, Malformed> {
        let gre = gre::Repr::of(packet)?;
        if gre.protocol != ether_type::ETHERNET {
            return Err(Fault::Field("protocol").of(NAME));
        }
        if gre.checksum || gre.sequence.is_some() {
            return Err(Fault::Field("flags").of(NAME));
        }
        let key = gre.key.ok_or(Fault::Field("key").of(NAME))?;
        Ok(Self { subnet: key >> 8, flow: key as u8 })
    }

    fn gre(self) -> gre::Repr {
        let key = self.subnet << 8 | u32::from(self.flow);
        gre::Repr { protocol: ether_type::ETHERNET, key: Some(key), ..gre::Repr::default() }
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        self.gre().length()
    }

    fn emit(&self, header: &mut [u8], payload: &[u8]) {
        self.gre().emit(header, payload);
    }
}
