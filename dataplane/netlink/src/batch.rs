//! Messages that are sent together.

use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use std::io;
use std::ops::Range;

/// The kernel takes a send of up to the socket's buffer; this stays well below the smallest default (208 KiB).
const FULL: usize = 48 * 1024;

/// Messages to be sent together.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where each message begins.
    starts: Vec<usize>,
}

/// A request of a batch that the kernel refused.
#[derive(Debug)]
pub struct Refused {
    /// Position in the batch.
    pub index: usize,
    /// Why.
    pub error: io::Error,
}

impl Batch {
    /// Adds a request; `flags` are those beyond `NLM_F_REQUEST`, such as `NLM_F_CREATE`.
    pub fn push(&mut self, message: RouteNetlinkMessage, flags: u16) {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let start = self.bytes.len();
        self.starts.push(start);
        self.bytes.resize(start + message.buffer_len().next_multiple_of(4), 0);
        message.serialize(&mut self.bytes[start..]);
    }

    /// How many messages are waiting.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether nothing is waiting.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Gives each message the number by which its answer is known, in their order from `first` on.
    pub(crate) fn number(&mut self, first: u32) {
        for (start, sequence) in self.starts.iter().zip(0..) {
            let sequence = first.wrapping_add(sequence);
            self.bytes[start + 8..start + 12].copy_from_slice(&sequence.to_ne_bytes());
        }
    }

    /// The messages from `first` on that fit into one send. None behind the last.
    pub(crate) fn next_send(&self, first: usize) -> Option<Range<usize>> {
        let base = *self.starts.get(first)?;
        let more = self.starts[first + 1..].iter().take_while(|start| **start - base < FULL).count();
        Some(first..first + 1 + more)
    }

    /// Asks for an answer to a message though it is done.
    pub(crate) fn acknowledge(&mut self, message: usize) {
        let flags = self.starts[message] + 6;
        self.bytes[flags..flags + 2]
            .iter_mut()
            .zip(NLM_F_ACK.to_ne_bytes())
            .for_each(|(byte, bit)| *byte |= bit);
    }

    pub(crate) fn bytes(&self, messages: Range<usize>) -> &[u8] {
        let end = self.starts.get(messages.end).copied().unwrap_or(self.bytes.len());
        &self.bytes[self.starts[messages.start]..end]
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
    }
}
