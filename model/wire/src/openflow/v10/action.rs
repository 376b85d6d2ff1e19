//! Actions of 1.0: section 5.2.4.

use super::PortNumber;
use crate::Malformed;
use crate::ethernet::Mac;
use crate::openflow::codec::{Reader, Wire, Writer};
use crate::openflow::tables::choice;
use crate::openflow::{QueueId, Tagged};
use std::net::Ipv4Addr;

choice! {
    /// What is done with a packet.
    pub enum Action: u16 {
        /// It leaves by a port.
        Output {
            /// By which.
            port: PortNumber,
            /// To the controller: so many bytes of it.
            max_length: u16,
        } = 0;
        /// It gets a VLAN, or another.
        SetVlanId { /** Which: 12 bits. */ id: u16, } = 1, pad 2;
        /// Its VLAN gets a priority.
        SetVlanPriority { /** Which: 3 bits. */ priority: u8, } = 2, pad 3;
        /// It loses its VLAN.
        StripVlan = 3, pad 4;
        /// Ethernet's source address is set.
        SetEthernetSource { /** To what. */ address: Mac, } = 4, pad 6;
        /// Ethernet's destination address is set.
        SetEthernetDestination { /** To what. */ address: Mac, } = 5, pad 6;
        /// IP's source address is set.
        SetIpSource { /** To what. */ address: Ipv4Addr, } = 6;
        /// IP's destination address is set.
        SetIpDestination { /** To what. */ address: Ipv4Addr, } = 7;
        /// IP's DSCP is set.
        SetTypeOfService { /** To what: the upper 6 bits. */ tos: u8, } = 8, pad 3;
        /// The source port of TCP or UDP is set.
        SetSourcePort { /** To what. */ port: u16, } = 9, pad 2;
        /// The destination port of TCP or UDP is set.
        SetDestinationPort { /** To what. */ port: u16, } = 10, pad 2;
        /// It leaves by a queue of a port.
        Enqueue {
            /// By which port.
            port: PortNumber, (pad 6)
            /// By which queue of it.
            queue: QueueId,
        } = 11;
        /// Somebody's own.
        Vendor {
            /// Whose.
            vendor: u32,
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
        let mut body = Reader::new(tagged.body, "OpenFlow 1.0 action");
        let action = Self::read_as(tagged.kind, &mut body)?;
        body.finish().map(|()| action)
    }
}

impl Wire for Action {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, mut body) = from.tagged()?;
        Self::of(Tagged { kind, body: body.rest() })
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.tagged(self.kind(), |to| self.write_body(to));
    }
}
