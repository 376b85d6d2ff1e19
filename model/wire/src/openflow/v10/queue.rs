//! Queues of 1.0: sections 5.2.2 and 5.3.4.

use super::PortNumber;
use crate::Malformed;
use crate::openflow::QueueId;
use crate::openflow::codec::{Reader, Wire, Writer};
use crate::openflow::queue::Property;
use crate::openflow::tables::record;

/// A queue of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Which.
    pub id: QueueId,
    /// What it promises.
    pub properties: Vec<Property>,
}

impl Wire for Queue {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let id = QueueId::read(from)?;
        let length = u16::read(from)?;
        let mut own = from.rest_of(length.into(), 6)?;
        own.pad(2)?;
        Ok(Self { id, properties: Vec::read(&mut own)? })
    }

    fn write(&self, to: &mut Writer<'_>) {
        let start = to.place();
        self.id.write(to);
        to.pad(4);
        self.properties.write(to);
        to.length(start + 4, start, 0);
    }
}

record! {
    /// Which queues a port has.
    pub struct QueueConfigRequest {
        /// Which port.
        pub port: PortNumber, (pad 2)
    }
}

record! {
    /// A port's queues.
    pub struct QueueConfig {
        /// Which port.
        pub port: PortNumber, (pad 6)
        /// Its queues.
        pub queues: Vec<Queue>,
    }
}
