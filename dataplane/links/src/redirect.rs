//! Joining two devices inside the kernel: what one receives the other sends.
//!
//! A link that may change later has both its ends' peers in the engine's namespace from the start. As long as nothing
//! is asked of it, a filter redirects packets from one peer to the other and the engine never sees them. The filter is
//! a `u32` that matches all, with a `mirred` action: it loads without root.
//!
//! To let the engine take over, add the link to it first and then [`detach`]: no packet is lost, and the few that come
//! in between are delivered twice, because packet sockets see a packet before filters do. To give the link back, make
//! its conditions unimpaired, let it drain, [`attach`], and remove it from the engine.

use crate::netlink::{Message, Route, prepare};
use crate::sys::interface_index;
use crate::traffic_control::{KIND, OPTIONS, request};
use std::io;

const CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;
const INGRESS: u32 = 0xffff_fff2;

/// Redirects between two devices of the calling thread's namespace, both ways, and brings them up.
pub fn attach(first: &str, second: &str) -> io::Result<()> {
    prepare(first)?;
    prepare(second)?;
    one_way(first, second)?;
    one_way(second, first).inspect_err(|_| drop(detach_one(first)))
}

/// Takes the redirection away, both ways. No error if there is none.
pub fn detach(first: &str, second: &str) -> io::Result<()> {
    detach_one(first).and(detach_one(second))
}

fn one_way(from: &str, to: &str) -> io::Result<()> {
    let (from, to) = (interface_index(from)?, interface_index(to)?);
    let route = Route::open()?;
    let create = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let hook = request(libc::RTM_NEWQDISC, create, from, CLSACT_HANDLE, CLSACT, 0).text(KIND, "clsact");
    match route.request(hook) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => result?,
    }
    let priority_and_protocol = 1 << 16 | u32::from((libc::ETH_P_ALL as u16).to_be());
    let filter = request(libc::RTM_NEWTFILTER, create, from, 0, INGRESS, priority_and_protocol);
    route.request(match_all(filter, to))
}

fn detach_one(from: &str) -> io::Result<()> {
    let message = request(libc::RTM_DELQDISC, 0, interface_index(from)?, CLSACT_HANDLE, CLSACT, 0);
    match Route::open()?.request(message) {
        Err(error) if [Some(libc::ENOENT), Some(libc::EINVAL)].contains(&error.raw_os_error()) => Ok(()),
        result => result,
    }
}

/// A `u32` filter with one key that any packet fits, whose action sends the packet out of device `to`.
fn match_all(filter: Message, to: u32) -> Message {
    const SELECTOR: u16 = 5;
    const ACTIONS: u16 = 7;
    const ACTION_KIND: u16 = 1;
    const ACTION_OPTIONS: u16 = 2;
    const MIRRED_PARMS: u16 = 2;
    filter.text(KIND, "u32").nest(OPTIONS, |options| {
        options.attribute(SELECTOR, &selector()).nest(ACTIONS, |actions| {
            actions.nest(1, |first| {
                first
                    .text(ACTION_KIND, "mirred")
                    .nest(ACTION_OPTIONS, |options| options.attribute(MIRRED_PARMS, &mirred(to)))
            })
        })
    })
}

/// `struct tc_u32_sel` with one `struct tc_u32_key` whose mask is nought.
fn selector() -> [u8; 32] {
    const TERMINAL: u8 = 1;
    let mut bytes = [0; 32];
    bytes[0] = TERMINAL;
    bytes[2] = 1;
    bytes
}

/// `struct tc_mirred`: send the packet out of `to`, and that was it.
fn mirred(to: u32) -> [u8; 28] {
    const STOLEN: i32 = 4;
    const EGRESS_REDIRECT: i32 = 1;
    let mut bytes = [0; 28];
    bytes[8..12].copy_from_slice(&STOLEN.to_ne_bytes());
    bytes[20..24].copy_from_slice(&EGRESS_REDIRECT.to_ne_bytes());
    bytes[24..28].copy_from_slice(&to.to_ne_bytes());
    bytes
}
