//! Flows from one station to another, of which a learning switch makes nothing else: written by changing a few bytes of
//! one that was written before.

use super::{Flow, NotSaid};
use crate::{Action, Actions, Fields, Port, Version};

/// Writes flows from station to station that differ in their stations, ports and packets alone.
///
/// Cost: a copy of some eighty bytes, and five places in it.
#[derive(Debug, Clone)]
pub struct StationFlows {
    version: Version,
    bytes: Vec<u8>,
    in_port: usize,
    source: usize,
    destination: usize,
    buffer: usize,
    output: usize,
}

/// What one of them is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Between {
    /// The port that packets come by.
    pub in_port: Port,
    /// Whose they are.
    pub source: [u8; 6],
    /// Whom they are for.
    pub destination: [u8; 6],
    /// A packet that is kept and that the flow is then applied to.
    pub buffer: Option<u32>,
    /// The port that they leave by.
    pub to: Port,
}

impl StationFlows {
    /// Flows that are otherwise as this one; its fields and actions mean nothing.
    ///
    /// # Errors
    /// [`NotSaid`].
    pub fn like(flow: &Flow, version: Version) -> Result<Self, NotSaid> {
        // Values that occur nowhere else in a message, each found by where changing it changes the message.
        let some = Between {
            in_port: Port(0x0101),
            source: [0x11; 6],
            destination: [0x21; 6],
            buffer: Some(0x3131_3131),
            to: Port(0x4141),
        };
        let written = |between: &Between| {
            let mut bytes = Vec::new();
            between.flow(flow).emit_into(version, 0, &mut bytes).map(|()| bytes)
        };
        let bytes = written(&some)?;
        let first = |other: Between| -> Result<usize, NotSaid> {
            let other = written(&other)?;
            let place = bytes.iter().zip(&other).position(|(one, other)| one != other);
            place.ok_or(NotSaid::Version)
        };
        // Port numbers have two bytes in 1.0, whose upper byte, and in 1.3 four, whose first byte, is to be found.
        let (high, other) = match version {
            Version::V10 => (Port(0x0201), Port(0x4241)),
            Version::V13 => (Port(0x0100_0101), Port(0x0100_4141)),
        };
        Ok(Self {
            version,
            in_port: first(Between { in_port: high, ..some })?,
            source: first(Between { source: [0x12; 6], ..some })?,
            destination: first(Between { destination: [0x22; 6], ..some })?,
            buffer: first(Between { buffer: Some(0x3231_3131), ..some })?,
            output: first(Between { to: other, ..some })?,
            bytes,
        })
    }

    /// Writes one of them behind what `bytes` holds. Its transaction is nought.
    ///
    /// # Errors
    /// 1.0 has no port of such a number; `bytes` is as it was.
    #[inline]
    pub fn emit_into(&self, between: &Between, bytes: &mut Vec<u8>) -> Result<(), NotSaid> {
        let start = bytes.len();
        let ports = match self.version {
            Version::V10 => {
                let low = |port: Port| port.v10().map(|port| port.0.to_be_bytes()).ok_or(NotSaid::Version);
                Some([low(between.in_port)?, low(between.to)?])
            }
            Version::V13 => None,
        };
        bytes.extend_from_slice(&self.bytes);
        let message = &mut bytes[start..];
        match ports {
            Some([in_port, to]) => {
                message[self.in_port..][..2].copy_from_slice(&in_port);
                message[self.output..][..2].copy_from_slice(&to);
            }
            None => {
                message[self.in_port..][..4].copy_from_slice(&between.in_port.0.to_be_bytes());
                message[self.output..][..4].copy_from_slice(&between.to.0.to_be_bytes());
            }
        }
        message[self.source..][..6].copy_from_slice(&between.source);
        message[self.destination..][..6].copy_from_slice(&between.destination);
        message[self.buffer..][..4].copy_from_slice(&between.buffer.unwrap_or(u32::MAX).to_be_bytes());
        Ok(())
    }
}

impl Between {
    /// The flow between them that is otherwise as `other`.
    pub fn flow(&self, other: &Flow) -> Flow {
        Flow {
            fields: Fields {
                in_port: Some(self.in_port),
                eth_src: Some(self.source),
                eth_dst: Some(self.destination),
                ..Fields::ANY
            },
            actions: [Action::Output(self.to)].into_iter().collect::<Actions>(),
            buffer: self.buffer,
            ..other.clone()
        }
    }
}
