//! What changes, as the kernel tells it.

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Hears of changes of links, neighbours, addresses and routes in the namespace that it was opened in.
pub struct Watch {
    socket: Socket,
}

/// What was heard.
#[derive(Debug)]
pub enum Heard {
    /// A change.
    Change(RouteNetlinkMessage),
    /// There were more changes than fit: everything is to be looked at anew.
    TooMuch,
}

impl Watch {
    /// Begins to listen.
    ///
    /// # Errors
    /// Too many open files.
    pub fn new() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, 0))?;
        for group in GROUPS {
            socket.add_membership(group)?;
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

fn read(mut rest: &[u8], heard: &mut Vec<Heard>) {
    while rest.len() >= 16 {
        let length = u32::from_ne_bytes(rest[0..4].try_into().expect("four bytes")) as usize;
        if length < 16 || length > rest.len() {
            return;
        }
        // What this version of the library cannot read is of no concern here.
        if let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&rest[..length])
            && let NetlinkPayload::InnerMessage(inner) = message.payload
        {
            heard.push(Heard::Change(inner));
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Links, neighbours, addresses and routes of both families.
const GROUPS: [u32; 6] = [
    libc::RTNLGRP_LINK,
    libc::RTNLGRP_NEIGH,
    libc::RTNLGRP_IPV4_IFADDR,
    libc::RTNLGRP_IPV4_ROUTE,
    libc::RTNLGRP_IPV6_IFADDR,
    libc::RTNLGRP_IPV6_ROUTE,
];
