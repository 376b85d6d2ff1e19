//! Two hosts and an engine between them, made of throw-away namespaces.
#![allow(dead_code)]

pub mod tries;

use plait_dataplane_links::offload::{self, Policy};
use plait_dataplane_links::probe::{At, Path};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_links::{Engine, EngineOptions, LinkConfig, Port, tap};
use plait_model_link::{Conditions, ConditionsSpec};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

pub const A: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
pub const B: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
pub const LINK: u64 = 7;

/// How an end is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Packet,
    Tap,
}

/// Host `a` and host `b`, each with a device `eth0`, joined by link 7 of an engine in a namespace of its own.
pub struct Lab {
    pub a: Namespace,
    pub b: Namespace,
    pub middle: Namespace,
    pub engine: Engine,
}

impl Lab {
    /// Builds the lab, or says why this machine cannot and returns nothing.
    pub fn new(ends: [End; 2], settings: &[(&str, &str)]) -> Option<Self> {
        Self::build(ends, settings).inspect_err(|error| println!("skipped: no lab: {error}")).ok()
    }

    fn build(ends: [End; 2], settings: &[(&str, &str)]) -> io::Result<Self> {
        let conditions = conditions(settings);
        let (a, b, middle) = (Namespace::new()?, Namespace::new()?, Namespace::new()?);
        let engine = middle.run(|| Engine::start(EngineOptions::default()))??;
        let mut ports = Vec::new();
        for (host, end, peer, address) in [(&a, ends[0], "to-a", A), (&b, ends[1], "to-b", B)] {
            ports.push(match end {
                End::Packet => {
                    host.veth("eth0", &middle, peer)?;
                    host.run(|| offload::set("eth0", Policy::of(&conditions)))??;
                    Port::Packet { ifname: peer.to_owned() }
                }
                End::Tap => Port::Tap { fd: host.tap("eth0")? },
            });
            host.address("eth0", address, 24)?;
        }
        let ends = [ports.remove(0), ports.remove(0)];
        let directions = [conditions.clone(), conditions];
        engine.add_link(LinkConfig { id: LINK, name: "a-b".to_owned(), ends, directions, seed: 42 })?;
        Ok(Self { a, b, middle, engine })
    }

    /// The way from `a` to `b`, for probes.
    pub fn path(&self) -> Path {
        let at = |namespace: &Namespace| -> io::Result<Path> {
            let from = At { namespace: namespace.as_fd(), ifname: "eth0" };
            Path::open(from, At { namespace: self.b.as_fd(), ifname: "eth0" })
        };
        at(&self.a).unwrap()
    }

    /// A datagram socket on each host, connected to each other and with addresses resolved.
    pub fn datagrams(&self) -> (UdpSocket, UdpSocket) {
        let a = self.a.run(|| UdpSocket::bind((A, 4000)).unwrap()).unwrap();
        let b = self.b.run(|| UdpSocket::bind((B, 4000)).unwrap()).unwrap();
        // A reader that is kept waiting finds what came meanwhile.
        for socket in [&a, &b] {
            rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, 8 << 20).unwrap();
        }
        a.connect((B, 4000)).unwrap();
        b.connect((A, 4000)).unwrap();
        // A device that has just come up drops packets until its carrier is noticed, and a lost address request is
        // repeated after a second.
        b.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        for _ in 0..50 {
            a.send(b"hello").unwrap();
            if b.recv(&mut [0; 64]).is_ok() {
                break;
            }
        }
        b.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        while b.recv(&mut [0; 64]).is_ok() {}
        (a, b)
    }

    /// A connection from `a` to `b`.
    pub fn connection(&self) -> (TcpStream, TcpStream) {
        let listener = self.b.run(|| TcpListener::bind((B, 5000)).unwrap()).unwrap();
        let client = self.a.run(|| TcpStream::connect((B, 5000)).unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    /// Sends `bytes` from `a` to `b` by TCP, checks them, and says how long it took.
    pub fn transfer(&self, bytes: usize) -> Duration {
        let (mut client, mut server) = self.connection();
        let start = Instant::now();
        let pattern: Vec<u8> = (0..65_521u32).map(|index| (index % 251) as u8).collect();
        let sending = std::thread::spawn({
            let pattern = pattern.clone();
            move || {
                let mut left = bytes;
                while left > 0 {
                    let chunk = left.min(pattern.len());
                    client.write_all(&pattern[..chunk]).unwrap();
                    left -= chunk;
                }
            }
        });
        let mut received = Vec::with_capacity(bytes);
        server.read_to_end(&mut received).unwrap();
        sending.join().unwrap();
        assert_eq!(received.len(), bytes);
        assert!(received.chunks(pattern.len()).all(|chunk| *chunk == pattern[..chunk.len()]));
        start.elapsed()
    }
}

/// Conditions as on a command line.
pub fn conditions(settings: &[(&str, &str)]) -> Conditions {
    ConditionsSpec::from_settings(settings).unwrap().build(&|_| Err("no traces".to_owned())).unwrap()
}

trait MakesTaps {
    fn tap(&self, name: &str) -> io::Result<std::os::fd::OwnedFd>;
}

impl MakesTaps for Namespace {
    fn tap(&self, name: &str) -> io::Result<std::os::fd::OwnedFd> {
        let fd = self.run(|| tap::create(name))??;
        self.up(name)?;
        Ok(fd)
    }
}
