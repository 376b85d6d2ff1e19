//! Path control's programs on this kernel, without a device: packets in, packets out, held against the reference.

mod holding;
mod lists;
mod packets;
mod relaying;
#[allow(clippy::duplicate_mod, reason = "the guest's program has these cases and those of the overlay")]
#[path = "../support/shelf.rs"]
mod shelf;
mod steering;
