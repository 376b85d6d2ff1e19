//! Path control's programs on this kernel, without a device: packets in, packets out, held against the reference.

mod holding;
mod lists;
mod packets;
mod relaying;
#[path = "../support/shelf.rs"]
mod shelf;
mod steering;
