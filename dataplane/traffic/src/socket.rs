//! The sockets of sources and sinks.

use crate::PortError;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, socket_with, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The most that a datagram carries over IPv4, which is the less of both.
const MOST: u32 = 65_507;

/// Choice: what a sink may hold while its thread waits for a processor, and a source while its device is busy. 30 ms of
/// 1 Gbit/s.
const BUFFER: usize = 4 << 20;

/// The largest payload that this host sends to an address in one packet, by its route.
///
/// # Errors
/// There is no route.
pub fn largest(to: SocketAddr) -> io::Result<u32> {
    let socket = UdpSocket::bind(any(to.is_ipv6(), 0))?;
    socket.connect(to)?;
    let (packet, headers) = match to.is_ipv6() {
        true => (sockopt::ipv6_mtu(&socket)?, 40 + 8),
        false => (sockopt::ip_mtu(&socket)?, 20 + 8),
    };
    Ok(packet.saturating_sub(headers).min(MOST))
}

/// A socket that sends to an address. What does not fit into one packet is refused where `whole` says so, otherwise the
/// kernel cuts it up. What does not fit into the buffer is refused as well: one flow whose device is slow keeps no other
/// waiting, nor whoever wants to stop.
pub(crate) fn source(port: u16, to: &SocketAddr, whole: bool) -> Result<UdpSocket, PortError> {
    let open = || {
        let socket = UdpSocket::bind(any(to.is_ipv6(), port))?;
        match (whole, to.is_ipv6()) {
            (true, true) => sockopt::set_ipv6_mtu_discover(&socket, sockopt::Ipv6PathMtuDiscovery::DO)?,
            (true, false) => sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::DO)?,
            (false, _) => {}
        }
        if sockopt::set_socket_send_buffer_size_force(&socket, BUFFER).is_err() {
            let _ = sockopt::set_socket_send_buffer_size(&socket, BUFFER);
        }
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    open().map_err(|why| PortError { port, why })
}

/// A socket that hears datagrams of both families, or of IPv4 on a host without IPv6.
pub(crate) fn sink(port: u16) -> Result<UdpSocket, PortError> {
    let both = || -> io::Result<OwnedFd> {
        let datagrams = SocketType::DGRAM;
        let socket = socket_with(AddressFamily::INET6, datagrams, SocketFlags::CLOEXEC, Some(ipproto::UDP))?;
        sockopt::set_ipv6_v6only(&socket, false)?;
        bind(&socket, &any(true, port))?;
        Ok(socket)
    };
    let socket = match both() {
        Ok(socket) => UdpSocket::from(socket),
        Err(why) => {
            let missing = [rustix::io::Errno::AFNOSUPPORT, rustix::io::Errno::ADDRNOTAVAIL];
            let is_missing = missing.iter().any(|error| why.raw_os_error() == Some(error.raw_os_error()));
            match is_missing {
                true => UdpSocket::bind(any(false, port)).map_err(|why| PortError { port, why })?,
                false => return Err(PortError { port, why }),
            }
        }
    };
    // Beyond what the host gives everyone only for those who may; what it then is, is enough or is told as overrun.
    if sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(&socket, BUFFER);
    }
    Ok(socket)
}

fn any(six: bool, port: u16) -> SocketAddr {
    match six {
        true => SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port),
        false => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
    }
}

/// Lets this program open as many files as it ever may. Each flow has a socket, since each has a port.
pub(crate) fn open_many() {
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, the socket that is one too many says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
