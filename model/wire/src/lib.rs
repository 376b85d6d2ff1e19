//! Packet formats, one file a protocol.
//!
//! Each file has the same three things, in this order:
//!
//! 1. the **header** as it lies on the wire ([`layout`] makes its twin for eBPF programs of the same lines),
//! 2. a **view**, such as [`ipv4::Packet`]: made by `parse`, which looks at everything that its accessors rely on, so
//!    that none of them can fail. It borrows the bytes and copies nothing,
//! 3. a **repr**, such as [`ipv4::Repr`]: what the packet says, without what follows from the rest of it (lengths,
//!    checksums). `Repr::of` a view, [`Emit::emit`] into bytes; [`push`] puts one before a packet.
//!
//! Malformed bytes are a [`Malformed`] and never a panic. Nothing here does I/O.
//!
//! | carried by | protocols |
//! |---|---|
//! | a link | [`ethernet`] |
//! | Ethernet | [`ipv4`], [`ipv6`], [`arp`], [`lldp`], [`mpls`] |
//! | IP | [`udp`], [`gre`] with [`nvgre`] in it, [`icmp`], [`neighbor`], IP again |
//! | UDP | [`vxlan`], [`vxlan_gpe`] with [`nsh`] in it, [`geneve`], [`gue`], [`ovstack`] |
//! | IPv6 | [`segment_routing`] |
//! | ovstack | [`too_big`], [`relay_list`], or what its application says |
//! | TCP | [`bgp`] and [`openflow`], whose messages are many: a folder each, with its own page |
//! | IP | [`ospf`], likewise |

#![forbid(unsafe_code)]

pub mod arp;
pub mod bgp;
pub mod checksum;
pub mod ethernet;
pub mod geneve;
pub mod gre;
pub mod gue;
pub mod icmp;
pub mod ipv4;
pub mod ipv6;
pub mod layout;
pub mod lldp;
mod malformed;
pub mod mpls;
pub mod neighbor;
pub mod nsh;
pub mod number;
pub mod nvgre;
pub mod openflow;
pub mod ospf;
pub mod ovstack;
pub mod relay_list;
pub mod segment_routing;
pub mod too_big;
pub mod udp;
pub mod vxlan;
pub mod vxlan_gpe;

pub use malformed::{Fault, Malformed};

/// What is put before something that it carries.
pub trait Emit {
    /// Bytes of the header.
    fn length(&self) -> usize;

    /// Writes the header before `payload`, which it may have to measure or sum.
    ///
    /// # Panics
    /// If `header` has not [`Emit::length`] bytes.
    fn emit(&self, header: &mut [u8], payload: &[u8]);
}

/// Puts a header before a packet.
pub fn push(packet: &mut Vec<u8>, repr: &impl Emit) {
    let length = repr.length();
    packet.splice(0..0, std::iter::repeat_n(0, length));
    let (header, payload) = packet.split_at_mut(length);
    repr.emit(header, payload);
}
