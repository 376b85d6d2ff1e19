//! Actions of 1.3: section 7.2.5.

use super::oxm::Oxm;
use super::{GroupId, PortNumber};
use crate::openflow::codec::{Reader, Wire, Writer, padding};
use crate::openflow::tables::{choice, codes};
use crate::openflow::{QueueId, Tagged};
use crate::{Fault, Malformed};

codes! {
    /// How much of a packet the controller gets.
    pub struct ControllerLength(u16) {
        /// The longest that can be asked for.
        MAX = 0xffe5,
        /// All of it, and the switch keeps nothing.
        NO_BUFFER = 0xffff,
    }
}

choice! {
    /// What is done with a packet.
    pub enum Action: u16 {
        /// It leaves by a port.
        Output {
            /// By which.
            port: PortNumber,
            /// To the controller: so many bytes of it.
            max_length: ControllerLength,
        } = 0, pad 6;
        /// The outermost TTL becomes the next one's.
        CopyTtlOut = 11, pad 4;
        /// The next TTL becomes the outermost.
        CopyTtlIn = 12, pad 4;
        /// MPLS's TTL is set.
        SetMplsTtl { /** To what. */ ttl: u8, } = 15, pad 3;
        /// MPLS's TTL is counted down.
        DecMplsTtl = 16, pad 4;
        /// A VLAN is put before it.
        PushVlan { /** Of which EtherType. */ ether_type: u16, } = 17, pad 2;
        /// Its outer VLAN is taken off.
        PopVlan = 18, pad 4;
        /// An MPLS label is put before it.
        PushMpls { /** Of which EtherType. */ ether_type: u16, } = 19, pad 2;
        /// Its outer MPLS label is taken off.
        PopMpls { /** EtherType of what is then outermost. */ ether_type: u16, } = 20, pad 2;
        /// It leaves by a queue of the port that is yet to be said.
        SetQueue { /** By which. */ queue: QueueId, } = 21;
        /// It goes through a group.
        Group { /** Through which. */ group: GroupId, } = 22;
        /// IP's TTL is set.
        SetNwTtl { /** To what. */ ttl: u8, } = 23, pad 3;
        /// IP's TTL is counted down.
        DecNwTtl = 24, pad 4;
        /// A field is set.
        SetField(Oxm) = 25;
        /// A provider's backbone header is put before it.
        PushPbb { /** Of which EtherType. */ ether_type: u16, } = 26, pad 2;
        /// Its provider's backbone header is taken off.
        PopPbb = 27, pad 4;
        /// Somebody's own.
        Experimenter {
            /// Whose.
            experimenter: u32,
            /// What only they know.
            data: Vec<u8>,
        } = 0xffff;
    }
}

impl Action {
    /// What an action says that a view found.
    ///
    /// # Errors
    /// A length that is not that of its type.
    pub fn of(tagged: Tagged<'_>) -> Result<Self, Malformed> {
        let mut body = Reader::new(tagged.body, "OpenFlow 1.3 action");
        let action = Self::read_as(tagged.kind, &mut body)?;
        if matches!(action, Self::SetField(_)) {
            let used = 4 + tagged.body.len() - body.left();
            if body.left() != padding(used) {
                return Err(body.malformed(Fault::Length(4 + tagged.body.len())));
            }
            body.rest();
        }
        body.finish().map(|()| action)
    }
}

impl Wire for Action {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, mut body) = from.tagged()?;
        Self::of(Tagged { kind, body: body.rest() })
    }

    fn write(&self, to: &mut Writer<'_>) {
        let start = to.place();
        to.tagged(self.kind(), |to| {
            self.write_body(to);
            if matches!(self, Self::SetField(_)) {
                to.align(start);
            }
        });
    }
}
