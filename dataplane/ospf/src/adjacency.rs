//! A passive adjacency on an interface: its raw socket, and packets between that and the speaker.

use crate::FeedError;
use crate::interface::Interface;
use plait_control_paths::ospf::{Config, Event, LinkKind, Lsdb, Speaker, State, Transmit};
use plait_model_wire::{ipv4, number::protocol, ospf};
use rustix::event::PollFlags;
use rustix::io::Errno;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockAddr, Socket, Type};
use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Packets taken in one go, before anything else has its turn.
const MOST: usize = 256;
/// From one word about packets that are not taken to the next.
const QUIET: Duration = Duration::from_secs(10);
/// What is said of a device that is no more.
const GONE: [Errno; 2] = [Errno::NODEV, Errno::NXIO];
/// The longest packet of IPv4.
const LONGEST: usize = 65_535;

/// An interface on which this node takes part in OSPF, and announces nothing.
#[derive(Debug)]
pub struct Adjacency {
    interface: String,
    speaker: Speaker,
    socket: Socket,
    /// When a packet that was not taken is told of again.
    quiet: Duration,
}

impl Adjacency {
    /// Begins to speak on an interface of the calling thread's network namespace. `change` says where the interface's
    /// configuration is another than its address, mask and MTU and OSPF's usual values make it.
    ///
    /// # Errors
    /// What the interface lacks, or this process.
    pub fn open(
        interface: &str,
        kind: LinkKind,
        change: impl FnOnce(&mut Config),
        now: Duration,
    ) -> Result<Self, FeedError> {
        let found = Interface::find(interface)?;
        let mut config = Config { mtu: found.mtu, ..Config::new(found.address, found.mask, kind) };
        change(&mut config);
        let socket = open(interface, found.index).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => FeedError::NoRight,
            _ => FeedError::Interface(interface.to_owned(), error),
        })?;
        Ok(Self { interface: interface.to_owned(), speaker: Speaker::new(config, now), socket, quiet: now })
    }

    /// The advertisements received.
    pub fn lsdb(&self) -> &Lsdb {
        self.speaker.lsdb()
    }

    /// Whether all is there that some neighbour has.
    pub fn is_complete(&self) -> bool {
        self.speaker.is_complete()
    }

    /// The neighbours' router IDs and states.
    pub fn neighbors(&self) -> impl Iterator<Item = (Ipv4Addr, State)> {
        self.speaker.neighbors()
    }

    /// Takes what came, and does what is due.
    ///
    /// # Errors
    /// The interface failed, or is gone.
    pub fn run(&mut self, now: Duration) -> Result<(), FeedError> {
        self.receive(now).map_err(|error| FeedError::Interface(self.interface.clone(), error))?;
        if self.speaker.poll_timeout() <= now {
            self.speaker.handle_timeout(now);
        }
        self.transmit().map_err(|error| FeedError::Interface(self.interface.clone(), error))?;
        while let Some(event) = self.speaker.poll_event() {
            self.tell(&event, now);
        }
        Ok(())
    }

    /// When [`run`](Self::run) has something to do at the latest.
    pub fn timeout(&self) -> Duration {
        self.speaker.poll_timeout()
    }

    /// The socket, and what of it is waited for.
    pub fn waited(&self) -> (BorrowedFd<'_>, PollFlags) {
        (self.socket.as_fd(), PollFlags::IN)
    }

    fn receive(&mut self, now: Duration) -> io::Result<()> {
        let mut bytes = [0; LONGEST];
        for _ in 0..MOST {
            match self.socket.read(&mut bytes) {
                Ok(length) => {
                    // What is no packet at all did not come from the kernel's IP.
                    if let Ok(packet) = ipv4::Packet::parse(&bytes[..length]) {
                        let (source, destination) = (packet.source(), packet.destination());
                        self.speaker.handle_packet(source, destination, packet.payload(), now);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn transmit(&mut self) -> io::Result<()> {
        while let Some(Transmit { destination, payload }) = self.speaker.poll_transmit() {
            let to = SockAddr::from(SocketAddrV4::new(destination, 0));
            match self.socket.send_to(&payload, &to) {
                // The device that the socket is bound to is no more, and whatever has its name by now is another.
                Err(error) if GONE.map(|gone| Some(gone.raw_os_error())).contains(&error.raw_os_error()) => {
                    return Err(error);
                }
                // A link that is down says so; the speaker repeats itself.
                Err(error) => {
                    tracing::debug!(interface = self.interface, %destination, %error, "OSPF is not sent");
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }

    fn tell(&mut self, event: &Event, now: Duration) {
        let interface = &self.interface;
        match event {
            Event::Neighbor(neighbor, Some(State::Full)) => {
                tracing::info!(interface, %neighbor, "an OSPF neighbour told all that it has");
            }
            Event::Neighbor(neighbor, Some(state)) => tracing::debug!(interface, %neighbor, ?state, "OSPF"),
            Event::Neighbor(neighbor, None) => {
                tracing::info!(interface, %neighbor, "an OSPF neighbour is gone")
            }
            // Whoever is on the link can send them without end.
            Event::Refused(source, refusal) if now >= self.quiet => {
                self.quiet = now + QUIET;
                tracing::warn!(interface, %source, %refusal, "an OSPF packet is not taken");
            }
            Event::Refused(..) => {}
        }
    }
}

impl Drop for Adjacency {
    /// Says goodbye, so that neighbours need not wait until this node counts as dead.
    fn drop(&mut self) {
        self.speaker.leave();
        // Who is gone needs no goodbye.
        let _ = self.transmit();
    }
}

fn open(interface: &str, index: u32) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(i32::from(protocol::OSPF))))?;
    socket.bind_device(Some(interface.as_bytes()))?;
    socket.join_multicast_v4_n(&ospf::ALL_ROUTERS, &InterfaceIndexOrAddress::Index(index))?;
    socket.set_multicast_loop_v4(false)?;
    socket.set_multicast_ttl_v4(1)?;
    socket.set_ttl_v4(1)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
