//! What changes, as the kernel tells it.

use crate::frame::frames;
use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Hears of changes of links, neighbours, addresses, routes, rules and nexthop objects in the namespace that it was opened in.
pub struct Watch {
    socket: Socket,
}

/// What was heard.
#[derive(Debug)]
pub enum Heard {
    /// A change.
    Change(RouteNetlinkMessage),
    /// A rule or a nexthop object, perhaps a group, came, changed or went: packets may leave another way, though no route says so.
    Rerouted,
    /// There were more changes than fit: everything is to be looked at anew.
    TooMuch,
}

impl Watch {
    /// Begins to listen.
    ///
    /// # Errors
    /// Too many open files.
    pub fn new() -> io::Result<Self> {
        Self::of(&GROUPS)
    }

    /// The same, of links alone.
    ///
    /// # Errors
    /// The same.
    pub fn links() -> io::Result<Self> {
        Self::of(&[libc::RTNLGRP_LINK])
    }

    fn of(groups: &[u32]) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, 0))?;
        for group in groups {
            socket.add_membership(*group)?;
        }
        socket.set_non_blocking(true)?;
        // Refused for users; the default then serves.
        let _ = socket.set_rx_buf_sz(4 << 20);
        Ok(Self { socket })
    }

    /// All that was heard since the last time.
    ///
    /// # Errors
    /// The socket fails.
    pub fn heard(&self) -> io::Result<Vec<Heard>> {
        let mut heard = Vec::new();
        loop {
            match self.socket.recv_from_full() {
                Ok((bytes, _)) => read(&bytes, &mut heard),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(heard),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => heard.push(Heard::TooMuch),
                Err(error) => return Err(error),
            }
        }
    }
}

fn read(bytes: &[u8], heard: &mut Vec<Heard>) {
    for frame in frames(bytes) {
        // What this version of the library cannot read is of no concern here.
        if REROUTING.contains(&frame.kind) {
            heard.push(Heard::Rerouted);
        } else if let Some(NetlinkPayload::InnerMessage(inner)) = frame.payload() {
            heard.push(Heard::Change(inner));
        }
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Links, neighbours, addresses, routes and rules of both families, and nexthop objects.
const GROUPS: [u32; 9] = [
    libc::RTNLGRP_LINK,
    libc::RTNLGRP_NEIGH,
    libc::RTNLGRP_IPV4_IFADDR,
    libc::RTNLGRP_IPV4_ROUTE,
    libc::RTNLGRP_IPV4_RULE,
    libc::RTNLGRP_IPV6_IFADDR,
    libc::RTNLGRP_IPV6_ROUTE,
    libc::RTNLGRP_IPV6_RULE,
    libc::RTNLGRP_NEXTHOP,
];

/// Of `linux/rtnetlink.h`; the library has none of these.
const RTM_NEWNEXTHOP: u16 = 104;
const RTM_DELNEXTHOP: u16 = 105;
/// A flow's share of a resilient group, which moves on its own once it was idle.
const RTM_NEWNEXTHOPBUCKET: u16 = 116;

/// Kinds of messages of which it is enough to know that they came.
const REROUTING: [u16; 5] =
    [libc::RTM_NEWRULE, libc::RTM_DELRULE, RTM_NEWNEXTHOP, RTM_DELNEXTHOP, RTM_NEWNEXTHOPBUCKET];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_rules_and_nexthops_it_is_known_that_they_changed_whatever_they_say() {
        let message = |kind: u16, length: usize| {
            let mut message = vec![0xee; length];
            message[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            message[4..6].copy_from_slice(&kind.to_ne_bytes());
            message.resize(length.next_multiple_of(4), 0);
            message
        };
        // Together, as the kernel may tell them, and with something that nobody knows between them.
        let told: Vec<u8> =
            REROUTING.iter().flat_map(|kind| [message(*kind, 25), message(9999, 16)].concat()).collect();
        let mut heard = Vec::new();
        read(&told, &mut heard);
        assert_eq!(heard.len(), REROUTING.len(), "{heard:?}");
        assert!(heard.iter().all(|heard| matches!(heard, Heard::Rerouted)), "{heard:?}");
        for cut in 0..25 {
            let mut heard = Vec::new();
            read(&told[..cut], &mut heard);
            assert!(heard.is_empty(), "{cut}: {heard:?}");
        }
    }
}
