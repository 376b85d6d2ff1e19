//! The API server of FRR's ospfd: two connections, the second of which the server makes, to the port behind the one that it
//! is asked from.

use crate::FeedError;
use plait_control_paths::ospf::{ApiClient, Lsdb};
use rustix::event::PollFlags;
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How long both connections may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// After so long without a word the server is asked whether it is there, each few seconds, a few times: it is missed after 25 s,
/// sooner than a neighbour by OSPF's usual intervals.
const IDLE: Duration = Duration::from_secs(10);
const ASKED_EACH: Duration = Duration::from_secs(5);
const ASKED: u32 = 3;
/// Pairs of ports that are tried.
const TRIES: usize = 32;
/// Bytes taken in one go, before anything else has its turn.
const MOST: usize = 1 << 20;

/// Both connections with the API server of FRR's ospfd.
#[derive(Debug)]
pub struct ApiLink {
    server: SocketAddrV4,
    client: ApiClient,
    questions: TcpStream,
    notifications: Notifications,
    unsent: Vec<u8>,
    /// Until when both must be there.
    until: Duration,
    /// Whether all that came was read.
    is_read: bool,
}

#[derive(Debug)]
enum Notifications {
    Awaited(TcpListener),
    There(TcpStream),
}

impl ApiLink {
    /// Begins to connect, from the calling thread's network namespace.
    ///
    /// # Errors
    /// There is no way to the server, or it refuses at once.
    pub fn open(server: SocketAddrV4, area: Ipv4Addr, now: Duration) -> Result<Self, FeedError> {
        let (questions, listener) = connect(server).map_err(|error| FeedError::Server(server, error))?;
        Ok(Self {
            server,
            client: ApiClient::new(area),
            questions,
            notifications: Notifications::Awaited(listener),
            unsent: Vec::new(),
            until: now + PATIENCE,
            is_read: false,
        })
    }

    /// The advertisements received.
    pub fn lsdb(&self) -> &Lsdb {
        self.client.lsdb()
    }

    /// Whether all is there that the server has.
    pub fn is_complete(&self) -> bool {
        self.client.is_complete() && self.is_read
    }

    /// Takes what came, and does what is due.
    ///
    /// # Errors
    /// What ends both connections.
    pub fn run(&mut self, now: Duration) -> Result<(), FeedError> {
        let server = self.server;
        let broken = |error| FeedError::Server(server, error);
        let nonsense = |error| FeedError::Protocol(server, error);
        if let Notifications::Awaited(listener) = &self.notifications {
            let Some(stream) = accept(listener, *server.ip()).map_err(broken)? else {
                if now >= self.until {
                    return Err(broken(ErrorKind::TimedOut.into()));
                }
                return self
                    .questions
                    .take_error()
                    .map_err(broken)?
                    .map_or(Ok(()), |error| Err(broken(error)));
            };
            self.notifications = Notifications::There(stream);
            self.client.handle_connected();
        }
        let Notifications::There(notifications) = &mut self.notifications else { return Ok(()) };
        let (replies, _) = read(&mut self.questions).map_err(broken)?;
        let (told, is_read) = read(notifications).map_err(broken)?;
        self.is_read = is_read;
        self.client.handle_replies(&replies, now).map_err(nonsense)?;
        self.client.handle_notifications(&told, now).map_err(nonsense)?;
        if is_read {
            self.client.handle_timeout(now);
        }
        while let Some(bytes) = self.client.poll_transmit() {
            self.unsent.extend(bytes);
        }
        write(&mut self.questions, &mut self.unsent).map_err(broken)
    }

    /// When [`run`](Self::run) has something to do at the latest; none once all was told.
    pub fn timeout(&self) -> Option<Duration> {
        match self.notifications {
            Notifications::Awaited(_) => Some(self.until),
            Notifications::There(_) => self.client.poll_timeout(),
        }
    }

    /// The sockets, and what of them is waited for.
    pub fn waited(&self) -> [(BorrowedFd<'_>, PollFlags); 2] {
        match &self.notifications {
            // The server's own connection is the later of both.
            Notifications::Awaited(listener) => {
                [(self.questions.as_fd(), PollFlags::empty()), (listener.as_fd(), PollFlags::IN)]
            }
            Notifications::There(stream) => {
                let write = if self.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
                [(self.questions.as_fd(), PollFlags::IN | write), (stream.as_fd(), PollFlags::IN)]
            }
        }
    }
}

/// A connection under way, and what listens at the port behind its own.
fn connect(server: SocketAddrV4) -> io::Result<(TcpStream, TcpListener)> {
    let own = if server.ip().is_loopback() { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
    let mut last = ErrorKind::AddrInUse.into();
    for _ in 0..TRIES {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        notice_death(SockRef::from(&socket))?;
        socket.bind(&SocketAddrV4::new(own, 0).into())?;
        let port = socket.local_addr()?.as_socket_ipv4().map_or(u16::MAX, |address| address.port());
        let Some(next) = port.checked_add(1) else { continue };
        let listener = match TcpListener::bind((own, next)) {
            Ok(listener) => listener,
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                last = error;
                continue;
            }
            Err(error) => return Err(error),
        };
        listener.set_nonblocking(true)?;
        match socket.connect(&server.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
        return Ok((socket.into(), listener));
    }
    Err(last)
}

/// The server's connection. Others that knock are turned away.
fn accept(listener: &TcpListener, server: Ipv4Addr) -> io::Result<Option<TcpStream>> {
    loop {
        match listener.accept() {
            Ok((stream, SocketAddr::V4(from))) if *from.ip() == server => {
                stream.set_nonblocking(true)?;
                notice_death(SockRef::from(&stream))?;
                return Ok(Some(stream));
            }
            Ok((_, from)) => tracing::warn!(from = %from.ip(), "not ospfd: turned away"),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Has the kernel ask whether the server is there, where nothing was heard of it for a while: ospfd says nothing as long as nothing
/// changes, and one whose host has lost its power would never be missed.
fn notice_death(socket: SockRef<'_>) -> io::Result<()> {
    let keepalive = TcpKeepalive::new().with_time(IDLE).with_interval(ASKED_EACH).with_retries(ASKED);
    socket.set_tcp_keepalive(&keepalive)
}

/// What came, and whether that is all for now.
fn read(stream: &mut TcpStream) -> io::Result<(Vec<u8>, bool)> {
    let mut all = Vec::new();
    let mut bytes = [0; 16 << 10];
    while all.len() < MOST {
        match stream.read(&mut bytes) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => all.extend(&bytes[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok((all, true)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((all, false))
}

fn write(stream: &mut TcpStream, unsent: &mut Vec<u8>) -> io::Result<()> {
    while !unsent.is_empty() {
        match stream.write(unsent) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => drop(unsent.drain(..written)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
