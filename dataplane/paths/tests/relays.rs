//! A host, three routers and another host in a row: packets go by relays, which are the kernel's tunnels or ours.
//!
//! The namespaces are made by `unshare(1)` and wired by `ip(8)`; without the permission to make them, the tests say so and
//! pass. They go with their keepers.

use plait_control_paths::Operation;
use plait_dataplane_paths::{Encapsulation, Options, PathDrop, Paths, Relay, Selector};
use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const SHARED: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 2);
const BYTES: usize = 2_000_000;

struct Row {
    keepers: Vec<Child>,
}

impl Drop for Row {
    fn drop(&mut self) {
        for keeper in &mut self.keepers {
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
    }
}

impl Row {
    fn new() -> Option<Self> {
        let mut row = Self { keepers: Vec::new() };
        let script = "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 \
            net.ipv4.conf.default.rp_filter=0 && ip link set lo up && echo ready && exec sleep 60";
        for _ in 0..5 {
            let mut child = Command::new("unshare")
                .args(["--net", "sh", "-c", script])
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .ok()?;
            let mut ready = [0; 6];
            let is_made = child.stdout.as_mut()?.read_exact(&mut ready).is_ok();
            row.keepers.push(child);
            if !is_made {
                println!("skipped: namespaces cannot be made here");
                return None;
            }
        }
        for link in 0..4 {
            let (a, b) = (format!("r{link}"), format!("l{}", link + 1));
            let there = row.keepers[link + 1].id();
            row.sh(link, &format!("ip link add {a} type veth peer name {b} netns {there}"));
            row.sh(link, &format!("ip addr add 10.0.{link}.1/24 dev {a} && ip link set {a} up"));
            row.sh(link + 1, &format!("ip addr add 10.0.{link}.2/24 dev {b} && ip link set {b} up"));
            row.sh(link, &format!("ip route add default via 10.0.{link}.2"));
            for left in 0..link {
                row.sh(link + 1, &format!("ip route add 10.0.{left}.0/24 via 10.0.{link}.1"));
            }
        }
        Some(row)
    }

    /// Whether the kernel has a kind of tunnel.
    fn has(&self, kind: &str) -> bool {
        let target = format!("--target={}", self.keepers[0].id());
        let make = format!("ip link add try type {kind} local 10.0.0.1 remote {SHARED} && ip link del try");
        let made = Command::new("nsenter")
            .args([&target, "--net", "sh", "-c", &make])
            .stderr(Stdio::null())
            .status();
        made.is_ok_and(|status| status.success())
    }

    fn sh(&self, node: usize, command: &str) {
        let target = format!("--target={}", self.keepers[node].id());
        let status = Command::new("nsenter").args([&target, "--net", "sh", "-c", command]).status().unwrap();
        assert!(status.success(), "{command}");
    }

    /// Does something in a node, on a thread of its own.
    fn within<T: Send>(&self, node: usize, what: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(format!("/proc/{}/ns/net", self.keepers[node].id())).unwrap();
        let enter = move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            what()
        };
        thread::scope(|scope| scope.spawn(enter).join().unwrap())
    }

    fn device(&self, node: usize, name: &str) -> u32 {
        self.within(node, || {
            rustix::net::netdevice::name_to_index(UdpSocket::bind("0.0.0.0:0").unwrap(), name)
        })
        .unwrap()
    }

    /// Bytes of TCP and datagrams get from the first to the last.
    fn carries(&self) {
        let listener = self.within(4, || TcpListener::bind((FAR, 7000)).unwrap());
        let receiver = self.within(4, || UdpSocket::bind((FAR, 7000)).unwrap());
        receiver.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let sink = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).map(|_| all)
        });
        let bytes: Vec<u8> = (0..BYTES).map(|byte| (byte % 251) as u8).collect();
        let sender = self.within(0, || UdpSocket::bind("0.0.0.0:0").unwrap());
        for length in [1, 100, 1300] {
            sender.send_to(&bytes[..length], (FAR, 7000)).unwrap();
            let mut datagram = [0; 2000];
            assert_eq!(receiver.recv(&mut datagram).unwrap(), length);
            assert_eq!(datagram[..length], bytes[..length]);
        }
        let mut stream = self
            .within(0, || TcpStream::connect_timeout(&(FAR, 7000).into(), Duration::from_secs(20)).unwrap());
        stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(&bytes).unwrap();
        drop(stream);
        assert!(sink.join().unwrap().unwrap() == bytes, "what arrives is what was sent");
    }
}

fn relay(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, node as u8 - 1, 2)
}

/// Steers the first host's packets by relays; the kernel's drops and ours are looked at behind that.
fn goes_by(row: &Row, relays: &[usize], encapsulation: Encapsulation) {
    let device = row.device(0, "r0");
    let options = Options { selector: Selector::RoundRobin, ..Options::new(SHARED, encapsulation) };
    let mut paths = row.within(0, || Paths::attach(device, options).unwrap());
    let list: Vec<IpAddr> = relays.iter().map(|node| relay(*node).into()).collect();
    let prefix = "10.0.3.0/24".parse().unwrap();
    paths.apply(Operation::Set { prefix, lists: vec![list.clone()] }).unwrap();
    row.carries();
    // The first packets were too long with their stack, until TCP was told what fits.
    assert!(paths.drops().unwrap().keys().all(|reason| *reason == PathDrop::TooBig), "{:?}", paths.drops());
    let counters = paths.counters().unwrap();
    assert_eq!((counters.len(), &counters[0].relays), (1, &list));
    assert!(counters[0].bytes > BYTES as u64);
    let flows = paths.flows().unwrap();
    assert_eq!(flows.iter().map(|flow| flow.packets).sum::<u64>(), counters[0].packets);
    assert!(flows.len() >= 2 && flows.iter().all(|flow| flow.prefix == Some(prefix)));

    paths.apply(Operation::Remove { prefix }).unwrap();
    row.carries();
    assert!(paths.counters().unwrap().is_empty());
    row.within(0, move || drop(paths));
}

#[test]
#[ignore = "for kernels that have tunnels of IPIP and GRE; those of test machines have none"]
fn packets_go_by_the_kernels_tunnels() {
    let Some(row) = Row::new() else { return };
    for (encapsulation, kind) in [(Encapsulation::Ipip, "ipip"), (Encapsulation::Gre, "gre")] {
        assert!(row.has(kind), "this kernel has no tunnels of {kind}");
        for node in 1..4 {
            let make = format!("ip link add tunnel type {kind} local {} remote {SHARED}", relay(node));
            row.sh(node, &format!("{make} && ip link set tunnel up"));
        }
        for relays in [&[2][..], &[1, 2, 3]] {
            goes_by(&row, relays, encapsulation);
        }
        for node in 1..4 {
            row.sh(node, "ip link del tunnel");
        }
    }
}

#[test]
fn packets_go_by_our_relays() {
    let Some(row) = Row::new() else { return };
    let all = [Encapsulation::Ipip, Encapsulation::Gre, Encapsulation::Gue];
    let relays: Vec<_> = (1..4)
        .map(|node| {
            let device = row.device(node, &format!("l{node}"));
            row.within(node, || Relay::attach(&[device], relay(node), SHARED, &all).unwrap())
        })
        .collect();
    for encapsulation in all {
        for list in [&[2][..], &[1, 2, 3]] {
            goes_by(&row, list, encapsulation);
        }
    }
    for relay in &relays {
        assert!(relay.drops().unwrap().is_empty(), "{:?}", relay.drops());
    }
}
