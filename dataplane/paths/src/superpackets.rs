//! Limits of the superpackets that senders make for a device: stacks of headers ask for them, and they go with these.

use crate::device::{Device, Lengths};
use crate::error::Error;
use crate::options::Superpackets;
use plait_dataplane_reference::paths::tables::{Stack, size};

/// The longest stack that TCP leaves room for by itself. Choice: it takes the length of a superpacket for what is behind all
/// headers, and leaves at least 192 bytes for them, of which its own and IP's are 100 at most.
const SPARE: u32 = 64;

/// How long superpackets may be where a stack is longer. Choice: one length for all such stacks, so that lists that come and go
/// change it once.
const LONGEST_UNDER_STACKS: u32 = 65_536 - size::STACK;

/// What stacks ask of superpackets that senders make for a device.
#[derive(Clone, Copy, Default)]
pub struct Asked {
    /// That there are none.
    none: bool,
    /// That they leave room.
    room: bool,
}

impl Asked {
    /// What these ask.
    pub fn by(stacks: &[Stack], superpackets: Superpackets) -> Self {
        let is_whole = superpackets == Superpackets::Whole;
        Self {
            none: !is_whole && stacks.iter().any(|stack| stack.count > 1),
            room: stacks.iter().any(|stack| (is_whole || stack.count == 1) && stack.length > SPARE),
        }
    }

    /// What either asks.
    pub fn or(self, other: Self) -> Self {
        Self { none: self.none || other.none, room: self.room || other.room }
    }
}

/// A device's own limits, where stacks asked for others.
#[derive(Clone, Copy, Default)]
pub struct Limits {
    /// How many segments its superpackets had before they were forbidden.
    pub segments: Option<u32>,
    /// How long they were before they had to leave room.
    pub lengths: Option<Lengths>,
}

impl Limits {
    /// Has senders make no superpackets for the device, or none that leave no room, those of connections that are open among
    /// them.
    pub fn limit(&mut self, device: &Device, asked: Asked) -> Result<(), Error> {
        if asked.none && self.segments.is_none() {
            let segments = device.segments()?;
            if segments != 1 {
                device.set_segments(1)?;
                self.segments = Some(segments);
            }
        }
        if asked.room && self.lengths.is_none() {
            let lengths = device.lengths()?;
            let less = lengths.at_most(LONGEST_UNDER_STACKS);
            if less != lengths {
                device.set_lengths(less)?;
                self.lengths = Some(lengths);
            }
        }
        Ok(())
    }

    /// Gives the device its own again, where nothing is asked that speaks against them.
    pub fn allow(&mut self, device: &Device, asked: Asked) {
        // Where the device is gone, so is its setting.
        if !asked.none
            && let Some(segments) = self.segments.take()
        {
            let _ = device.set_segments(segments);
        }
        if !asked.room
            && let Some(lengths) = self.lengths.take()
        {
            let _ = device.set_lengths(lengths);
        }
    }
}
