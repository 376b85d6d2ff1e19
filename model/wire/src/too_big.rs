//! What a relay of the overlay says of a packet that does not fit its next hop: the payload of an ovstack packet with the
//! flag of control, to the node that the packet was from.
//!
//! Bytes behind the message say nothing: they are the packet's own.
//!
//! Choice: ovstack's paper leaves MTUs to whoever deploys it (section 6); this message is that of ICMP, without the quoted
//! packet, since what counts is the node that it was on its way to.

use crate::layout::{U16, U32, header};
use crate::malformed::split;
use crate::ovstack::NodeId;
use crate::{Emit, Fault, Malformed};
use zerocopy::IntoBytes;

const NAME: &str = "too big";
/// What [`Header::kind`] says.
pub const KIND: u8 = 1;

header! {
    /// ```text
    ///  0      1   2          4
    /// ┌──────┬───┬──────────┐
    /// │  1   │ 0 │    0     │
    /// ├──────┴───┴──────────┤
    /// │        room         │
    /// ├─────────────────────┤
    /// │     destination     │
    /// └─────────────────────┘
    /// ```
    pub struct Header as "too_big_header" {
        /// [`KIND`].
        pub kind: u8,
        /// Sent as 0, not looked at.
        pub code: u8,
        /// Sent as 0, not looked at.
        pub reserved: U16,
        /// Bytes of the longest payload that fits: of a frame with its Ethernet header.
        pub room: U32,
        /// The node or group that the packet was on its way to.
        pub destination: U32,
    }
}

/// That packets to a node may be no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// Bytes of the longest payload that fits.
    pub room: u32,
    /// The node or group that the packet was on its way to.
    pub destination: NodeId,
}

impl Repr {
    /// What a message says; bytes behind it are left alone.
    ///
    /// # Errors
    /// Too short; another message.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (header, _) = split::<Header>(bytes, NAME)?;
        match header.kind {
            KIND => Ok(Self { room: header.room.get(), destination: NodeId(header.destination.get()) }),
            _ => Err(Fault::Field("kind").of(NAME)),
        }
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        Header::LENGTH
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let (room, destination) = (self.room.into(), self.destination.0.into());
        let fields = Header { kind: KIND, room, destination, ..Header::default() };
        header.copy_from_slice(fields.as_bytes());
    }
}
