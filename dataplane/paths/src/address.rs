//! Addresses on the loopback: a relay's, so that it is the node's own whichever way packets come.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use plait_dataplane_netlink::Netlink;
use std::io;
use std::net::IpAddr;

/// The device number of every namespace's loopback.
const LOOPBACK: u32 = 1;

/// Gives the namespace that this was opened in an address; whether it had it not.
pub fn add(netlink: &Netlink, address: IpAddr) -> io::Result<bool> {
    let add = RouteNetlinkMessage::NewAddress(message(address));
    match netlink.request(add, NLM_F_CREATE | NLM_F_EXCL) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        done => done.map(|()| true),
    }
}

/// Takes it away again.
pub fn remove(netlink: &Netlink, address: IpAddr) -> io::Result<()> {
    match netlink.request(RouteNetlinkMessage::DelAddress(message(address)), 0) {
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => Ok(()),
        done => done,
    }
}

fn message(address: IpAddr) -> AddressMessage {
    let mut message = AddressMessage::default();
    (message.header.family, message.header.prefix_len) = match address {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    message.header.scope = AddressScope::Universe;
    message.header.index = LOOPBACK;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    message
}
