//! A speaker on a real interface, and a client of a real API server: sockets and the clock, for the tests.

use crate::lab::{Node, wait};
use plait_control_paths::Fabric;
use plait_control_paths::ospf::*;
use plait_model_wire::{ipv4, number::protocol, ospf};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockAddr, Socket, Type};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A thread in a node's network that learns a fabric, and what it has seen last.
pub struct Feed {
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What a feed has seen.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// The fabric, while it is complete.
    pub fabric: Option<Fabric>,
    pub states: Vec<(Ipv4Addr, State)>,
    pub refusals: Vec<Refusal>,
}

impl Feed {
    fn start<T>(
        node: &Node,
        open: impl FnOnce() -> T + Send + 'static,
        turn: impl Fn(&mut T, &Mutex<Seen>) + Send + 'static,
    ) -> Self {
        let space = File::open(format!("/proc/{}/ns/net", node.pid())).unwrap();
        let (seen, stop) = <(Arc<Mutex<Seen>>, Arc<AtomicBool>)>::default();
        let (of, until) = (seen.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            let mut feed = open();
            while !until.load(Ordering::Relaxed) {
                turn(&mut feed, &of);
            }
        });
        Self { seen, stop, thread: Some(thread) }
    }

    /// A speaker on an interface.
    pub fn speaker(node: &Node, interface: &'static str, config: Config) -> Self {
        let open = move || {
            let started = Instant::now();
            let socket =
                Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(i32::from(protocol::OSPF))))
                    .unwrap();
            socket.bind_device(Some(interface.as_bytes())).unwrap();
            let index: u32 = std::fs::read_to_string(format!(
                "/proc/self/task/{}/net/dev_mcast",
                rustix::thread::gettid().as_raw_nonzero()
            ))
            .unwrap()
            .lines()
            .find_map(|line| {
                let mut words = line.split_whitespace();
                let index = words.next()?;
                (words.next()? == interface).then(|| index.parse().ok())?
            })
            .unwrap();
            socket.join_multicast_v4_n(&ospf::ALL_ROUTERS, &InterfaceIndexOrAddress::Index(index)).unwrap();
            socket.set_multicast_loop_v4(false).unwrap();
            socket.set_multicast_ttl_v4(1).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            (Speaker::new(config, Duration::ZERO), socket, started)
        };
        Self::start(node, open, |(speaker, socket, started), seen| {
            let mut bytes = [0; 65_536];
            match socket.read(&mut bytes) {
                Ok(length) => {
                    let packet = ipv4::Packet::parse(&bytes[..length]).unwrap();
                    speaker.handle_packet(packet.source(), packet.payload(), started.elapsed());
                }
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted), "{error}")
                }
            }
            if speaker.poll_timeout() <= started.elapsed() {
                speaker.handle_timeout(started.elapsed());
            }
            while let Some(Transmit { destination, payload }) = speaker.poll_transmit() {
                // A link that is down says so; the speaker repeats itself.
                let _ = socket.send_to(&payload, &SockAddr::from(SocketAddrV4::new(destination, 0)));
            }
            let mut seen = seen.lock().unwrap();
            while let Some(event) = speaker.poll_event() {
                if let Event::Refused(_, refusal) = event {
                    seen.refusals.push(refusal);
                }
            }
            seen.states = speaker.neighbors().collect();
            seen.fabric = speaker.is_complete().then(|| speaker.lsdb().fabric());
        })
    }

    /// A client of the API server of a node's ospfd.
    pub fn api(node: &Node) -> Self {
        let open = || {
            let mut client = ApiClient::new(Ipv4Addr::UNSPECIFIED);
            // The server connects back to the port behind the one it is asked from.
            let port = 4607;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port + 1)).unwrap();
            let questions = wait("the API server", || {
                let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
                socket.set_reuse_address(true).ok()?;
                socket.bind(&SocketAddrV4::new(Ipv4Addr::LOCALHOST, port).into()).ok()?;
                socket.connect(&SocketAddrV4::new(Ipv4Addr::LOCALHOST, SYNC_PORT).into()).ok()?;
                Some(TcpStream::from(socket))
            });
            let (notifications, _) = listener.accept().unwrap();
            for stream in [&questions, &notifications] {
                stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            }
            client.handle_connected();
            (client, questions, notifications, Instant::now())
        };
        Self::start(node, open, |(client, questions, notifications, started), seen| {
            while let Some(bytes) = client.poll_transmit() {
                questions.write_all(&bytes).unwrap();
            }
            let mut bytes = [0; 65_536];
            if let Ok(length) = questions.read(&mut bytes) {
                client.handle_replies(&bytes[..length]).unwrap();
            }
            while let Ok(length @ 1..) = notifications.read(&mut bytes) {
                client.handle_notifications(&bytes[..length], started.elapsed()).unwrap();
            }
            seen.lock().unwrap().fabric = client.is_complete().then(|| client.lsdb().fabric());
        })
    }

    pub fn seen(&self) -> Seen {
        assert!(self.thread.as_ref().is_some_and(|thread| !thread.is_finished()), "the feed's thread ended");
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.transpose().unwrap();
        }
    }
}
