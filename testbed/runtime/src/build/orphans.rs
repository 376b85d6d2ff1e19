//! Connections that outlive their programs.
//!
//! A connection that a dead program left half closed is the kernel's to finish: it repeats its last segments for up to
//! minutes, and keeps the network namespace alive meanwhile. In a testbed that goes, nobody will ever answer.

use crate::sample::dump::{self, NodeSocket};
use netlink_packet_sock_diag::constants::{
    AF_INET, AF_INET6, IPPROTO_TCP, SOCK_DESTROY, SOCK_DIAG_BY_FAMILY,
};
use rustix::net::netlink::SOCK_DIAG;
use std::io;
use std::os::fd::BorrowedFd;

/// Bytes of `struct inet_diag_sockid` (`linux/inet_diag.h`), and where it stands in a request and in an answer.
const SOCKET_ID: usize = 48;
const IN_REQUEST: usize = 8;
const IN_ANSWER: usize = 4;

/// All states (`linux/tcp_states.h`) but TIME-WAIT, which goes with its namespace, and LISTEN, which goes with its
/// program.
const STATES: u32 = 0x1fff & !(1 << 6) & !(1 << 10);

/// Ends every TCP connection of nodes whose programs are all dead, and says how many there were.
///
/// # Errors
/// A node that cannot be entered, or a kernel that cannot end connections (before 4.5, or without `INET_DIAG_DESTROY`).
pub(super) fn end_connections(nodes: &[(String, BorrowedFd<'_>)]) -> io::Result<usize> {
    let sockets = dump::open(nodes, Some(SOCK_DIAG)).map_err(|error| error.source)?;
    sockets.iter().try_fold(0, |ended, socket| Ok(ended + end_in(socket)?))
}

fn end_in(socket: &NodeSocket) -> io::Result<usize> {
    let (mut buffer, mut sequence, mut ended) = (Vec::new(), 0, 0);
    for family in [AF_INET, AF_INET6] {
        let mut found: Vec<[u8; SOCKET_ID]> = Vec::new();
        sequence += 1;
        let mut take = |answer: &[u8]| {
            let id: Option<[u8; SOCKET_ID]> =
                answer.get(IN_ANSWER..IN_ANSWER + SOCKET_ID).and_then(|id| id.try_into().ok());
            // An answer for IPv6 may hold sockets of both families.
            if answer.first() == Some(&family) {
                found.extend(id);
            }
        };
        let every = request(family, &[0; SOCKET_ID]);
        socket.dump(SOCK_DIAG_BY_FAMILY, &every, sequence, &mut buffer, &mut take)?;
        for id in found {
            sequence += 1;
            match socket.ask(SOCK_DESTROY, &request(family, &id), sequence, &mut buffer) {
                Ok(()) => ended += 1,
                // It ended by itself.
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(ended)
}

/// A `struct inet_diag_req_v2`.
fn request(family: u8, id: &[u8; SOCKET_ID]) -> [u8; IN_REQUEST + SOCKET_ID] {
    let mut request = [0; IN_REQUEST + SOCKET_ID];
    request[0] = family;
    request[1] = IPPROTO_TCP;
    request[4..IN_REQUEST].copy_from_slice(&STATES.to_ne_bytes());
    request[IN_REQUEST..].copy_from_slice(id);
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::messages::{self, Up};
    use crate::kernel::namespace::{self, Kind};
    use crate::kernel::netlink::{Batch, Netlink};
    use rustix::thread::UnshareFlags;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn connections_that_nobody_will_answer_are_ended() {
        let tried = namespace::on_thread(|| {
            namespace::renew(UnshareFlags::NEWNET)?;
            let own = namespace::current(Kind::Network)?;
            let netlink = Netlink::open()?;
            let change = |message| {
                let mut batch = Batch::default();
                batch.push(message, 0);
                netlink.send(&mut batch).map(|refused| assert!(refused.is_empty()))
            };
            change(messages::up(messages::LOOPBACK, Up::Plain))?;
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let mut client = TcpStream::connect(listener.local_addr()?)?;
            let (mut server, _) = listener.accept()?;
            change(messages::down(messages::LOOPBACK))?;
            client.write_all(b"lost")?;
            server.write_all(b"lost")?;
            // Both programs are gone, and neither end hears of it.
            drop((client, server, listener));
            let nodes = [("here".to_owned(), own.as_fd())];
            Ok((end_connections(&nodes)?, end_connections(&nodes)?))
        });
        match tried {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                eprintln!("skipped: a network namespace needs root: {error}");
            }
            tried => assert_eq!(tried.unwrap(), (2, 0), "both at first, none afterwards"),
        }
    }
}
