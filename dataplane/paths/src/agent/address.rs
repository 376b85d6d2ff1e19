//! The relay's address: on the loopback, so that it is the node's own whichever way packets come.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use plait_dataplane_netlink::Netlink;
use std::io;
use std::net::Ipv4Addr;

/// The device number of every namespace's loopback.
const LOOPBACK: u32 = 1;

/// Gives the calling thread's namespace an address; whether it had it not.
pub fn add(address: Ipv4Addr) -> io::Result<bool> {
    let add = RouteNetlinkMessage::NewAddress(message(address));
    match Netlink::open()?.request(add, NLM_F_CREATE | NLM_F_EXCL) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        done => done.map(|()| true),
    }
}

/// Takes it away again.
pub fn remove(address: Ipv4Addr) -> io::Result<()> {
    match Netlink::open()?.request(RouteNetlinkMessage::DelAddress(message(address)), 0) {
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => Ok(()),
        done => done,
    }
}

fn message(address: Ipv4Addr) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = 32;
    message.header.scope = AddressScope::Universe;
    message.header.index = LOOPBACK;
    message.attributes =
        vec![AddressAttribute::Local(address.into()), AddressAttribute::Address(address.into())];
    message
}
