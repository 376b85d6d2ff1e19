//! Kernel queueing disciplines by netlink: the message they share.

use crate::netlink::Message;

/// The root of a device's outgoing side.
pub(crate) const ROOT: u32 = 0xffff_ffff;
pub(crate) const KIND: u16 = 1;
pub(crate) const OPTIONS: u16 = 2;

/// A request about a qdisc or filter of a device: `struct tcmsg`.
pub(crate) fn request(kind: u16, flags: i32, index: u32, handle: u32, parent: u32, info: u32) -> Message {
    let mut fixed = [0; 20];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed[8..12].copy_from_slice(&handle.to_ne_bytes());
    fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
    fixed[16..20].copy_from_slice(&info.to_ne_bytes());
    Message::new(kind, flags, &fixed)
}
