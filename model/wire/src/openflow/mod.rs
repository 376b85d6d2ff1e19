//! OpenFlow 1.0 (version 0x01) and 1.3 (version 0x04): how a controller and a switch speak.
//!
//! To read in this order:
//!
//! 1. [`Frame`] and [`chop`]: a stream of bytes is cut into messages by their headers,
//! 2. [`v10`] and [`v13`]: the tables of each version, a file an idea. What a message says is a `Message` of its version;
//!    [`Message`] is either,
//! 3. the messages that come by the million have a checked view beside the repr, which borrows and allocates nothing:
//!    [`v10::packet_in::View`], [`v10::packet_out::View`], [`v10::flow_mod::View`] and the same in [`v13`]. An echo and a
//!    barrier are a [`Frame`]. What their `Parts` borrow is emitted behind whatever a reused buffer holds, as everything is,
//! 4. [`Hello`], which is read whichever version it is of.
//!
//! Whatever is unknown is kept: messages, multiparts, actions, instructions, match fields, properties, elements, codes and
//! flags come out with the bytes that they came in with. Reserved bytes alone do not: they mean nothing by definition, so
//! they are not looked at, and written as the zeros that the specification asks for.
//!
//! Sources: OpenFlow Switch Specification 1.0.0 (wire protocol 0x01) and 1.3.5 (wire protocol 0x04). Constants have the
//! specification's names without their prefix.

pub(crate) mod codec;
pub mod error;
pub mod header;
pub mod hello;
pub(crate) mod message;
pub mod queue;
pub(crate) mod tables;
pub mod tag;
pub mod text;
pub mod v10;
pub mod v13;

pub use header::{Frame, Header, chop, length_of_next};
pub use hello::Hello;
pub use tag::{Tagged, Tags};
pub use text::Text;

use crate::{Fault, Malformed};
use std::time::Duration;
use tables::{codes, record};

/// A message of either version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Of OpenFlow 1.0.
    V10(v10::Message),
    /// Of OpenFlow 1.3.
    V13(v13::Message),
}

impl Message {
    /// The message of exactly these bytes.
    ///
    /// # Errors
    /// Another version; bytes that contradict the lengths in them. Of a hello, whose version may be any, see [`Hello::of`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        Self::of(&Frame::parse(bytes)?)
    }

    /// What a message says.
    ///
    /// # Errors
    /// As of [`Message::parse`].
    pub fn of(frame: &Frame<'_>) -> Result<Self, Malformed> {
        match frame.version() {
            v10::VERSION => v10::Message::of(frame).map(Self::V10),
            v13::VERSION => v13::Message::of(frame).map(Self::V13),
            version => Err(Fault::Version(version).of(header::NAME)),
        }
    }

    /// Writes the message behind what `bytes` holds.
    ///
    /// # Errors
    /// [`TooLong`]; `bytes` is as it was.
    pub fn emit_into(&self, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        match self {
            Self::V10(message) => message.emit_into(bytes),
            Self::V13(message) => message.emit_into(bytes),
        }
    }

    /// The message's bytes.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn emit(&self) -> Result<Vec<u8>, TooLong> {
        let mut bytes = Vec::new();
        self.emit_into(&mut bytes).map(|()| bytes)
    }
}

/// A message, or a part of it, has more bytes than the field for its length can say: 65,535, and 255 of a match field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an OpenFlow message, or a part of it, is longer than the field for its length can say: split it")]
pub struct TooLong;

codes! {
    /// A packet that the switch keeps, of which it sends the beginning only.
    pub struct BufferId(u32) {
        /// The packet is kept nowhere: the message holds it whole.
        NO_BUFFER = 0xffff_ffff,
    }
}

codes! {
    /// A queue of a port.
    pub struct QueueId(u32) {
        /// Every queue, in requests.
        ALL = 0xffff_ffff,
    }
}

record! {
    /// How long something has been there.
    pub struct Age {
        /// Whole seconds.
        pub seconds: u32,
        /// And nanoseconds.
        pub nanoseconds: u32,
    }
}

impl Age {
    /// The same as one value.
    pub fn duration(&self) -> Duration {
        Duration::from_secs(self.seconds.into()) + Duration::from_nanos(self.nanoseconds.into())
    }
}
