//! Queues of 1.3: sections 7.2.2, 7.3.6 and 7.3.5.10.

use super::PortNumber;
use crate::Malformed;
use crate::openflow::codec::{Reader, Wire, Writer};
use crate::openflow::queue::Property;
use crate::openflow::tables::record;
use crate::openflow::{Age, QueueId};

/// A queue of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Which.
    pub id: QueueId,
    /// Of which port.
    pub port: PortNumber,
    /// What it promises.
    pub properties: Vec<Property>,
}

impl Wire for Queue {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let id = QueueId::read(from)?;
        let port = PortNumber::read(from)?;
        let length = u16::read(from)?;
        let mut own = from.rest_of(length.into(), 10)?;
        own.pad(6)?;
        Ok(Self { id, port, properties: Vec::read(&mut own)? })
    }

    fn write(&self, to: &mut Writer<'_>) {
        let start = to.place();
        self.id.write(to);
        self.port.write(to);
        to.pad(8);
        self.properties.write(to);
        to.length(start + 8, start, 0);
    }
}

record! {
    /// Which queues a port has.
    pub struct QueueConfigRequest {
        /// Which port; [`PortNumber::ANY`] is all.
        pub port: PortNumber, (pad 4)
    }
}

record! {
    /// A port's queues.
    pub struct QueueConfig {
        /// Which port.
        pub port: PortNumber, (pad 4)
        /// Its queues.
        pub queues: Vec<Queue>,
    }
}

record! {
    /// What a queue has counted.
    pub struct QueueStatistics {
        /// Of which port.
        pub port: PortNumber,
        /// Which.
        pub queue: QueueId,
        /// Bytes sent.
        pub sent_bytes: u64,
        /// Packets sent.
        pub sent: u64,
        /// Packets dropped since there was no room.
        pub sent_errors: u64,
        /// How long it has been there.
        pub age: Age,
    }
}
