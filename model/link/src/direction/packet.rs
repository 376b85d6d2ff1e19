//! A packet as the link sees it: sizes and times, never its content.

use super::fate::Fates;
use std::ops::{Deref, DerefMut};

/// What the link must know of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketInfo {
    /// Bytes of the frame as handed over, with its Ethernet header. At most 16 MiB.
    pub len: u32,
    /// How many packets it is on the wire: 1, or the segments of a train (TSO, GSO).
    pub segments: u16,
    /// The headers that each further segment of a train repeats, in bytes.
    pub segment_header: u16,
    /// Whether the packet can carry a congestion mark. Asked only where [`Direction::marks`](crate::Direction::marks).
    pub ecn_capable: bool,
    /// Whether it keeps the network going rather than being part of the experiment: ARP, IPv6 neighbour discovery.
    ///
    /// Choice: housekeeping has a numbering of its own. Its timing depends on kernels and caches, and one ARP more or
    /// less would shift the fate of every packet after it.
    pub housekeeping: bool,
}

impl PacketInfo {
    /// A single packet of `len` bytes.
    pub const fn frame(len: u32) -> Self {
        Self { len, segments: 1, segment_header: 0, ecn_capable: false, housekeeping: false }
    }

    /// Bytes on the wire: each further segment of a train brings its own headers.
    #[inline]
    pub(crate) fn charge(self) -> u64 {
        let repeated = u64::from(self.segments.saturating_sub(1)) * u64::from(self.segment_header);
        u64::from(self.len.min(1 << 24)) + repeated
    }
}

/// A packet that leaves the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure<P> {
    /// What was handed over.
    pub payload: P,
    /// When its last bit leaves, in nanoseconds. A late caller delivers late, but the time itself is exact.
    pub at: u64,
    /// When it arrived.
    pub arrived: u64,
    /// A random number that chooses the bit to flip, if the packet is to be damaged.
    pub corrupt: Option<u64>,
    /// Whether to set the congestion mark.
    pub mark: bool,
}

/// A departure of a packet that goes on to another link.
pub type Handover<P> = Departure<Box<Parcel<P>>>;

/// A packet with what a link notes of it: whoever passes packets from link to link gives
/// [`carry`](crate::Direction::carry) what [`take`](crate::Direction::take) gave, and nothing is copied. It is used
/// as what stands for the packet.
///
/// What is read on every link stands behind the payload's end, what is only written in most cases behind that.
#[derive(Debug)]
#[repr(C)]
pub struct Parcel<P> {
    pub(super) payload: P,
    /// When its last bit leaves, rounded up, once that is known.
    pub(super) finish: u64,
    /// How long before that, in nanoseconds over the rate.
    pub(super) fraction: u64,
    /// When it enters the queue.
    pub(super) release: u64,
    /// Bytes on the wire.
    pub(super) charge: u32,
    pub(super) segments: u16,
    flags: u8,
    pub(super) arrived: u64,
    pub(super) number: u64,
}

const DAMAGED: u8 = 1;
const ECN_CAPABLE: u8 = 2;
const MARKED: u8 = 4;

impl<P> Parcel<P> {
    /// A packet that is on no link.
    pub fn new(payload: P) -> Box<Self> {
        Box::new(Self {
            payload,
            arrived: 0,
            release: 0,
            finish: 0,
            fraction: 0,
            number: 0,
            charge: 0,
            segments: 0,
            flags: 0,
        })
    }

    /// Comes onto a link, delayed by nothing yet.
    #[inline]
    pub(super) fn enter(&mut self, now: u64, number: u64, info: PacketInfo) {
        (self.arrived, self.release, self.number) = (now, now, number);
        self.charge = info.charge().min(u64::from(u32::MAX)) as u32;
        self.segments = info.segments;
        self.flags = if info.ecn_capable { ECN_CAPABLE } else { 0 };
    }

    /// The same for another payload.
    pub(super) fn copy(&self, payload: P) -> Box<Self> {
        Box::new(Self { payload, ..*self })
    }

    /// Leaves at the instant when its last bit does.
    #[inline]
    pub(super) fn depart(self: Box<Self>, fates: &Fates) -> Departure<Box<Self>> {
        let corrupt = (self.flags & DAMAGED != 0).then(|| fates.bit(self.number));
        let mark = self.flags & MARKED != 0;
        Departure { at: self.finish, arrived: self.arrived, payload: self, corrupt, mark }
    }

    pub(super) fn set_damaged(&mut self, is_damaged: bool) {
        self.flags = self.flags & !DAMAGED | if is_damaged { DAMAGED } else { 0 };
    }

    pub(super) fn is_ecn_capable(&self) -> bool {
        self.flags & ECN_CAPABLE != 0
    }

    pub(super) fn mark(&mut self) {
        self.flags |= MARKED;
    }
}

impl<P> Deref for Parcel<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.payload
    }
}

impl<P> DerefMut for Parcel<P> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.payload
    }
}
