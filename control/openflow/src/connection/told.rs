//! What a connection tells: who the switch is, what happened, why it ended, why nothing was sent.

use crate::{Refusal, Version};
use plait_model_wire::Malformed;
use plait_model_wire::openflow::v13::Role;
use plait_model_wire::openflow::{Frame, Message, TooLong};

/// What a switch has said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// The version that is shared.
    pub version: Version,
    /// Which switch: 16 bits of its maker's, then the hardware address.
    pub datapath: u64,
    /// 0, or which auxiliary connection this is: taken, kept alive, and otherwise left alone.
    pub auxiliary: u8,
    /// Its whole features.
    pub features: Message,
}

/// Messages in a row, which a barrier waits for: those of transactions `first`, `first + 1`… (modulo 2³²).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundle {
    /// The first one's transaction.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Of how many of them the switch said that it refused them, as events did already.
    pub refused: u32,
}

impl Bundle {
    /// Whether a message is one of them.
    pub fn contains(&self, xid: u32) -> bool {
        xid.wrapping_sub(self.first) < self.count
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The switch is known, and can be told something.
    Ready(Switch),
    /// It has done everything that was sent before a barrier.
    Barrier {
        /// The barrier's transaction.
        xid: u32,
        /// What was sent since the barrier before.
        bundle: Bundle,
    },
    /// It has said which role this controller has.
    Role {
        /// The question's transaction.
        xid: u32,
        /// Which, and in which election.
        role: Role,
    },
    /// It refused something.
    Refused {
        /// The transaction that was refused.
        xid: u32,
        /// Why.
        error: Refusal,
    },
    /// It told something else.
    Message(Message),
    /// It said something that cannot be read, and was told so.
    Unreadable(Malformed),
    /// The connection is to be closed when its output is written, or cannot be.
    Closed(Reason),
}

/// Why a connection is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// No version is shared.
    #[error("no version is shared with a switch whose hello says {0}")]
    Incompatible(u8),
    /// The switch finds no version to be shared.
    #[error("the switch refused the hello: {0}")]
    HelloRefused(Refusal),
    /// It began with something else.
    #[error("the first message is of type {0}, not a hello")]
    NoHello(u8),
    /// Hello or features did not come in time.
    #[error("no hello or features came in time")]
    Slow,
    /// It was asked whether it lives.
    #[error("nothing was heard since the echo request")]
    Silent,
    /// Where its messages end is not known any more; or its features cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It does not read.
    #[error("more output waits than may")]
    Backlog,
    /// It said more than is polled.
    #[error("more events wait than may")]
    Flooded,
    /// It has more ports than may be known of it, or of all together.
    #[error("more ports than may be known")]
    Ports,
    /// Its datapath is that of another, which is there and does not end.
    #[error("a switch of this datapath is connected already")]
    Claimed,
    /// Its datapath is kept for another, which is away.
    #[error(
        "this datapath is kept for a switch with another certificate, for a time or until it is released"
    )]
    Kept,
    /// The socket has ended.
    #[error("the connection was closed by the switch, or lost")]
    Gone,
    /// [`Connection::close`](super::Connection::close).
    #[error("closed by the controller")]
    Asked,
}

/// Why nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// The switch is not known yet, or closed.
    #[error("the switch is not ready")]
    NotReady,
    /// An auxiliary connection is left alone.
    #[error("the connection is an auxiliary one")]
    Auxiliary,
    /// As many as may be are unanswered.
    #[error("too many barriers are unanswered")]
    Barriers,
    /// The switch does not read; it is closed now.
    #[error("more output would wait than may")]
    Backlog,
    /// No length field can say it.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

/// A packet-in, where it lies.
#[derive(Debug, Clone, Copy)]
pub struct Hot<'a> {
    /// The message.
    pub frame: Frame<'a>,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Where it begins in the bytes that were handed in, and so remains; nothing if it came in pieces: then it lies in
    /// the connection until the call returns.
    pub place: Option<usize>,
}
