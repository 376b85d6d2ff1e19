//! Devices: pairs of them, and what an engine's device must be told.

use super::{Message, Route};
use crate::sys::interface_index;
use std::io;
use std::os::fd::RawFd;

const LINKINFO: u16 = libc::IFLA_LINKINFO;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VETH_PEER: u16 = 1;
const AF_SPEC: u16 = libc::IFLA_AF_SPEC;
const ADDR_GEN_MODE: u16 = 8;
const NO_ADDRESSES: u8 = 1;

/// Makes a veth pair in the namespace of the calling thread, both ends up and without addresses.
pub(crate) fn create_veth(first: &str, second: &str) -> io::Result<()> {
    create(first, |peer| peer.text(libc::IFLA_IFNAME, second))?;
    prepare(first)?;
    prepare(second)
}

/// Makes a veth pair with its second end in another namespace.
pub(crate) fn create_veth_between(first: &str, second: &str, namespace: RawFd) -> io::Result<()> {
    create(first, |peer| {
        peer.text(libc::IFLA_IFNAME, second).attribute(libc::IFLA_NET_NS_FD, &namespace.to_ne_bytes())
    })
}

fn create(name: &str, peer: impl FnOnce(Message) -> Message) -> io::Result<()> {
    let message =
        Message::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &interface_info(0, 0))
            .text(libc::IFLA_IFNAME, name)
            .nest(LINKINFO, |info| {
                info.text(INFO_KIND, "veth").nest(INFO_DATA, |data| {
                    data.nest(VETH_PEER, |inside| peer(inside.raw(&interface_info(0, 0))))
                })
            });
    Route::open()?.request(message)
}

/// Brings a device up that carries other people's packets only: it gets no IPv6 addresses, so that the kernel on this
/// side sends nothing of its own into the link.
pub(crate) fn prepare(name: &str) -> io::Result<()> {
    let index = interface_index(name)?;
    let route = Route::open()?;
    let quiet = Message::new(libc::RTM_NEWLINK, 0, &interface_info(index, 0)).nest(AF_SPEC, |spec| {
        spec.nest(libc::AF_INET6 as u16, |inet6| inet6.attribute(ADDR_GEN_MODE, &[NO_ADDRESSES]))
    });
    // A kernel without IPv6 has nothing to keep quiet.
    let _ = route.request(quiet);
    route.request(Message::new(libc::RTM_NEWLINK, 0, &interface_info(index, libc::IFF_UP)))
}

/// `struct ifinfomsg` that asks for `flags`.
fn interface_info(index: u32, flags: i32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..16].copy_from_slice(&flags.to_ne_bytes());
    bytes
}
