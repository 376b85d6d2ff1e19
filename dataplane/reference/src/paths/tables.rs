//! The tables of path control, declared once as those of the [overlay](crate::tables) are.
//!
//! ```text
//! destination ─► prefix ─► set ─► flow's choice ─► stack
//!                 trie    array                    array
//! ```
//!
//! A stack is all headers of a relay list as they lie on the wire. Sets and stacks are written while nobody can read them;
//! then the prefix is turned to the new set, so that no packet sees half of one.
//!
//! Addresses are of IPv6, those of IPv4 [mapped](super::mapped).

use super::family::{Family, mapped};
use crate::declare::{numbers, reasons, tables};
use std::cmp::Ordering;
use std::net::IpAddr;

tables! {
    /// A prefix of destinations.
    pub struct PrefixKey as "prefix_key" {
        /// How many bits count, those of the family among them.
        pub bits: u32,
        /// One of [`family`]: no prefix of IPv6, however short, has addresses of IPv4.
        pub family: u32,
        /// The address.
        pub address: [u8; 16],
    }

    /// A relay list of a set.
    pub struct ListChoice as "list_choice" {
        /// The hash, reduced to the sum of weights, is below this.
        pub below: u32,
        /// The stack.
        pub stack: u32,
        /// What the list is known by in any set, of any life of an agent: the same for no other list, in all likelihood.
        pub name: u32,
    }

    /// The relay lists of a prefix.
    pub struct ListSet as "list_set" {
        /// How many there are; none is plain routing.
        pub count: u32,
        /// Which of them a flow goes by: [`selector`].
        pub selector: u32,
        /// The sum of all weights.
        pub weights: u32,
        /// How many flows took their turn.
        pub turns: u32,
        /// Bytes of the tallest of their stacks, with which packets of all have to fit: so a flow that moves is not too long for the
        /// list that it comes to.
        pub tallest: u32,
        /// The best first.
        pub choices: [ListChoice; size::LISTS as usize],
    }

    /// All headers of a relay list, but for what follows from the packet.
    pub struct Stack as "stack" {
        /// One behind the other, the first relay's first. They carry packets of their own family.
        pub header: [u8; size::STACK as usize],
        /// Of each IPv4 header the sum of its words, with nought for its length, TOS and checksum.
        pub sums: [u32; size::RELAYS as usize],
        /// How many IP headers there are; none is plain routing.
        pub count: u32,
        /// Bytes of all headers.
        pub length: u32,
        /// One of [`encapsulation`](crate::tables::encapsulation).
        pub encapsulation: u32,
        /// One of [`family`].
        pub family: u32,
    }

    /// A flow.
    pub struct FlowKey as "flow_key" {
        /// From where.
        pub source: [u8; 16],
        /// To where.
        pub destination: [u8; 16],
        /// Both ports as on the wire; nought of protocols without, and of fragments.
        pub ports: [u8; 4],
        /// The IP protocol; of IPv6 what comes right behind its header.
        pub protocol: u32,
    }

    /// What is known of a flow.
    pub struct Flow as "flow" {
        /// Its packets.
        pub packets: u64,
        /// Their bytes, without the stack.
        pub bytes: u64,
        /// When the last one went, in nanoseconds on the monotonic clock.
        pub heard: u64,
        /// The set that the list is of.
        pub set: u32,
        /// The generation of prefixes by which that set was found, under the flow's hash: by no later one it is taken. One word with
        /// the set.
        pub found: u32,
        /// The list's name, by which it is known again in another set.
        pub name: u32,
        /// Its list, counted from nought.
        pub list: u32,
        /// Since when it is to go by another list, on that clock; nought when it is not.
        pub waits: u64,
        /// Since when its packets are held; nought when they are not.
        pub holds: u64,
        /// How many of its packets were held.
        pub held: u32,
        /// How many of those have gone on.
        pub gone: u32,
    }

    /// What stands before a packet that is held, in the host's order.
    pub struct HoldTag as "hold_tag" {
        /// When it may go on, in nanoseconds on the monotonic clock.
        pub until: u64,
    }

    /// Who holds packets of flows that move; noughts when nobody does.
    pub struct Holder as "holder" {
        /// The device that they go to.
        pub tap: u32,
        /// The device by which they go on.
        pub device: u32,
    }

    /// Who cuts superpackets; noughts when nobody does.
    pub struct Cutter as "cutter" {
        /// The device that they go to, which hands over segments.
        pub front: u32,
        /// That which those come by.
        pub back: u32,
        /// The device by which they go on.
        pub device: u32,
    }

    /// What a device's programs do.
    pub struct Steering as "steering" {
        /// The source of all headers of IPv4 that are put before packets.
        pub source: [u8; 4],
        /// The longest packet that may leave, its stack included, where the device takes longer ones; nought: what it takes.
        pub mtu: u32,
        /// The source of all headers of IPv6.
        pub source_ipv6: [u8; 16],
        /// Whether superpackets may go under more than one header.
        pub superpackets: u32,
        /// The mark of packets that were held and go on.
        pub mark: u32,
        /// Nanoseconds that a flow must have been silent before it moves.
        pub spread: u64,
        /// Nanoseconds that a flow which is to move waits for that, before its packets are held.
        pub patience: u64,
        /// Nanoseconds after which nobody waits for a holder any more.
        pub longest_hold: u64,
        /// Nanoseconds after which a flow that was silent is forgotten; nought: only when another one needs its place.
        pub idle: u64,
    }

    /// What a relay takes.
    pub struct RelayKey as "relay_key" {
        /// The relay's address.
        pub own: [u8; 16],
        /// The source that may send to it.
        pub source: [u8; 16],
    }

    /// How much was sent by a stack.
    pub struct ListCount as "list_count" {
        /// Packets.
        pub packets: u64,
        /// Their bytes, without the stack.
        pub bytes: u64,
    }
}

numbers! {
    /// Which of a set's lists a flow goes by.
    pub mod selector as "SELECTOR" {
        /// By its hash, each list its weight's share.
        pub const HASH = 0;
        /// A new flow goes by the next one.
        pub const ROUND_ROBIN = 1;
        /// By its hash, until it is moved.
        pub const FLOW_BASED = 2;
    }

    /// What stands beside the set of a place that a flow is moved to.
    pub mod place as "PLACE" {
        /// Somebody asked for it, so that rearrangement leaves the flow there.
        pub const BY_HAND = 0x8000_0000;
    }

    /// Families of addresses, as IP's version has them.
    pub mod family as "FAMILY" {
        /// IPv4.
        pub const IPV4 = 4;
        /// IPv6.
        pub const IPV6 = 6;
    }

    /// Sizes of parts of tables.
    pub mod size as "PATHS" {
        /// Relay lists of a prefix: the 64 roots of a fat-tree of 16 ports.
        pub const LISTS = 64;
        /// Relays of a list.
        pub const RELAYS = 16;
        /// Bytes of the longest stack: relays of GUE over UDP and IPv6.
        pub const STACK = 832;
        /// The UDP port of GUE, as C knows it.
        pub const GUE_PORT = 6080;
        /// Likewise, that of ovstack.
        pub const OVSTACK_PORT = 60002;
        /// The ovstack application of relay lists.
        pub const LIST_APPLICATION = 8;
    }
}

reasons! {
    /// Why path control dropped a packet.
    pub enum PathDrop as "PATH_DROP" {
        /// The bytes are no packet.
        Malformed as "malformed" = "MALFORMED",
        /// A length that does not fit the packet.
        Length as "length" = "LENGTH",
        /// With the tallest stack of its set it is longer than the device's MTU.
        TooBig as "too-big" = "TOO_BIG",
        /// A superpacket, of which a stack's middle headers would have the wrong length once it is cut.
        Superpacket as "superpacket" = "SUPERPACKET",
        /// From outside, with the source of the stacks.
        Forged as "forged" = "FORGED",
        /// The kernel refused what had to be done with it.
        Refused as "refused" = "REFUSED",
        /// Marked by a switch for congestion, which cannot be told to what is inside.
        Congestion as "congestion" = "CONGESTION",
        /// A relay list that leads to where it is, or has no hops left.
        Loop as "loop" = "LOOP",
        /// Too big at a relay for the next link, and its sender is not told: so many were told lately.
        Untold as "untold" = "UNTOLD",
    }
}

/// By what a flow goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowPlace {
    /// The set.
    pub set: u32,
    /// The list in it.
    pub list: u32,
    /// The list's name.
    pub name: u32,
}

/// Where a flow is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovePlace {
    /// The set: of another one nothing is meant.
    pub set: u32,
    /// The list in it.
    pub list: u32,
    /// Whether somebody asked for it, so that rearrangement leaves the flow there.
    pub by_hand: bool,
}

impl MovePlace {
    /// As the table has it: the set in the upper half, the list in the lower.
    pub fn word(self) -> u64 {
        let set = self.set | if self.by_hand { place::BY_HAND } else { 0 };
        u64::from(set) << 32 | u64::from(self.list)
    }

    /// That of a table.
    pub fn of(word: u64) -> Self {
        let set = (word >> 32) as u32;
        Self { set: set & !place::BY_HAND, list: word as u32, by_hand: set & place::BY_HAND != 0 }
    }
}

impl Flow {
    /// A flow that goes by a place and was heard of just now, with so many packets and bytes.
    pub fn heard(packets: u64, bytes: u64, heard: u64, FlowPlace { set, list, name }: FlowPlace) -> Self {
        Self { packets, bytes, heard, set, found: 0, name, list, waits: 0, holds: 0, held: 0, gone: 0 }
    }

    /// Has it go by a place, and leaves all else that is known of it.
    pub fn goes_by(&mut self, FlowPlace { set, list, name }: FlowPlace) {
        (self.set, self.list, self.name) = (set, list, name);
    }

    /// Whether it was silent for longer than so many nanoseconds, so that what comes now is another one. Of one that is held,
    /// nothing is heard.
    pub fn is_over(&self, idle: u64, now: u64) -> bool {
        now.saturating_sub(self.heard.max(self.holds)) > idle
    }

    /// The list by which it went, in a set that may be another than it was: none where it is not in there.
    pub fn list_in(&self, set: &ListSet) -> Option<u32> {
        let choices = &set.choices[..set.count.min(size::LISTS) as usize];
        let is_it = |choice: &ListChoice| choice.name == self.name;
        if choices.get(self.list as usize).is_some_and(is_it) {
            return Some(self.list);
        }
        choices.iter().position(is_it).map(|list| list as u32)
    }
}

impl PrefixKey {
    /// The key of a prefix with so many bits.
    pub fn new(address: IpAddr, bits: u8) -> Self {
        let family = Family::of(address);
        let before = if family == Family::Ipv4 { 32 + 96 } else { 32 };
        Self { bits: before + u32::from(bits), family: family.number(), address: mapped(address) }
    }
}

impl RelayKey {
    /// What a relay of an address takes from a source of the same family.
    pub fn new(own: IpAddr, source: IpAddr) -> Self {
        Self { own: mapped(own), source: mapped(source) }
    }
}

/// An order that is the same everywhere.
impl Ord for FlowKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let parts = |key: &Self| (key.source, key.destination, key.ports, key.protocol);
        parts(self).cmp(&parts(other))
    }
}

impl PartialOrd for FlowKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// All of it in C, for the programs to include.
pub fn tables_in_c() -> String {
    format!("{}\n{}\n{}", numbers_in_c(), reasons_in_c(), structures_in_c())
}
