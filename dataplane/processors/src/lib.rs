//! The processors that Plait runs on.
//!
//! - [`allowed`], [`stay_on`] – which they are, and a thread that stays on one;
//! - [`handover`] – how near two of them are to each other, which is [`NEAR`] or not;
//! - [`become_real_time`] – a thread that runs when its timer fires; [`hurry`] – a process that gives way no more;
//! - [`Ticks`] – what a hypervisor took of them, which [`is_virtual`] says there is;
//! - [`Waker`] – a process that keeps one from halting, where a hypervisor gives away those that do.

#![allow(unsafe_code, reason = "scheduling classes and a copy of the process are asked of the kernel itself")]

mod affinity;
mod handover;
mod priority;
mod ticks;
mod waker;

pub use affinity::{allowed, stay_on};
pub use handover::{NEAR, handover};
pub use priority::{become_real_time, hurry};
pub use ticks::{Ticks, is_virtual};
pub use waker::Waker;
