//! An end of a link: where packets come from and go to.

use crate::frame::OFFLOAD_HEADER;
use crate::sys::{self, Batch, interface_index};
use crate::{netlink, tap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// One end of a link. Any two kinds join.
#[derive(Debug)]
pub enum Port {
    /// A device in the engine's namespace, usually the peer of a node's veth, through a packet socket. Packets carry
    /// the kernel's time of arrival, so this is the more exact kind. Opening it brings the device up
    /// and keeps it without addresses.
    Packet {
        /// The device's name in the engine's namespace.
        ifname: String,
    },
    /// A TAP whose descriptor the engine holds, made with [`tap::create`] or by hand with `IFF_VNET_HDR`.
    Tap {
        /// The descriptor.
        fd: OwnedFd,
    },
}

/// A port ready for use.
#[derive(Debug)]
pub(crate) struct OpenPort {
    pub fd: Arc<OwnedFd>,
    pub kind: PortKind,
    pub received: u64,
    pub sent: u64,
    /// Packets that the kernel dropped because the engine did not fetch them in time.
    pub missed: u64,
    /// Packets that the kernel refused to send.
    pub refused: u64,
    /// Packets that could not be understood.
    pub malformed: u64,
    /// Fetch few packets at a time while they are trains of 64 KB, so that they stay in the cache.
    large: bool,
}

/// How a port moves packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortKind {
    Packet,
    Tap,
}

impl OpenPort {
    /// Opens a port from the namespace of the calling thread.
    pub fn open(port: Port) -> io::Result<Self> {
        let (fd, kind) = match port {
            Port::Packet { ifname } => (open_packet_socket(&ifname)?, PortKind::Packet),
            Port::Tap { fd } => {
                sys::set_nonblocking(fd.as_fd())?;
                tap::set_header_size(fd.as_fd(), OFFLOAD_HEADER)?;
                (fd, PortKind::Tap)
            }
        };
        Ok(Self {
            fd: Arc::new(fd),
            kind,
            received: 0,
            sent: 0,
            missed: 0,
            refused: 0,
            malformed: 0,
            large: false,
        })
    }

    /// Fetches packets into `batch` and says how many. An error means that the device is gone.
    pub fn receive(&mut self, batch: &mut Batch) -> io::Result<usize> {
        const MOST: usize = 64;
        const MOST_LARGE: usize = 4;
        let most = if self.large { MOST_LARGE } else { MOST };
        let result = match self.kind {
            PortKind::Packet => batch.receive(self.fd.as_fd(), most),
            PortKind::Tap => batch.read(self.fd.as_fd(), most),
        };
        let count = match result {
            Ok(count) => count,
            // A TAP without its device answers EBADFD for ever. All else passes: a device that is down, a signal.
            Err(error) if error.raw_os_error() == Some(libc::EBADFD) => return Err(error),
            Err(_) => 0,
        };
        self.large = count > 0 && batch.packet(count - 1).len() > 8192;
        self.received += count as u64;
        Ok(count)
    }

    /// Sends packets, each with its offload header.
    pub fn send<'a>(&mut self, packets: impl ExactSizeIterator<Item = &'a [u8]>) {
        let count = packets.len() as u64;
        let refused = match self.kind {
            PortKind::Packet => sys::send_all(self.fd.as_fd(), packets),
            PortKind::Tap => {
                packets.filter(|packet| sys::write(self.fd.as_fd(), packet).is_err()).count() as u64
            }
        };
        self.refused += refused;
        self.sent += count - refused;
    }

    /// Sends a frame so short that the kernel refuses it at the last moment. After a pause the way through the kernel
    /// has left the processor's caches, and the first packet pays for that; a rehearsal pays instead.
    pub fn rehearse(&self) {
        let stub = [0; OFFLOAD_HEADER + 1];
        match self.kind {
            PortKind::Packet => drop(sys::send_all(self.fd.as_fd(), std::iter::once(&stub[..]))),
            PortKind::Tap => drop(sys::write(self.fd.as_fd(), &stub)),
        }
    }

    /// Brings `missed` up to date.
    pub fn count_missed(&mut self) {
        if self.kind == PortKind::Packet {
            let empty = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
            // Reading sets the kernel's count back to nought.
            if let Ok(stats) = sys::option(self.fd.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, empty)
            {
                self.missed += u64::from(stats.tp_drops);
            }
        }
    }

    /// The descriptor, if this is a TAP.
    pub fn tap(&self) -> Option<Arc<OwnedFd>> {
        (self.kind == PortKind::Tap).then(|| self.fd.clone())
    }

    /// Lets the kernel hand over trains of segments, or only whole packets. For a device behind a packet socket the
    /// switch is on the other side of the veth: [`offload::set`](crate::offload::set).
    pub fn set_trains(&self, trains: bool) -> io::Result<()> {
        match self.kind {
            PortKind::Packet => Ok(()),
            PortKind::Tap => tap::set_trains(self.fd.as_fd(), trains),
        }
    }
}

fn open_packet_socket(ifname: &str) -> io::Result<OwnedFd> {
    const BUFFER: i32 = 64 << 20;
    netlink::prepare(ifname)?;
    let index = interface_index(ifname)?;
    // Protocol 0 receives nothing until the socket is bound to its one device.
    let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0)?;
    let fd = socket.as_fd();
    sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
    sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
    sys::set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    for (force, plain) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
        if sys::set_option(fd, libc::SOL_SOCKET, force, BUFFER).is_err() {
            // Without privilege the kernel gives as much as net.core.rmem_max allows.
            sys::set_option(fd, libc::SOL_SOCKET, plain, BUFFER)?;
        }
    }
    // The length of the device's queue stays as it is: a change makes the kernel drop what others send through the
    // device at that moment, and this socket passes by the queue anyway.
    sys::bind_packet(fd, libc::ETH_P_ALL as u16, index)?;
    Ok(socket)
}
