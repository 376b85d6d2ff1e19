//! Hosts in a row, made of throw-away namespaces and wired by `ip(8)`: the first sends, the last receives, and those
//! between them are routers and relays. Without the permission to make them, tests say so and pass.
//!
//! Node `n` has `l<n>` on its left and `r<n>` on its right; between nodes `n` and `n + 1` are the networks `10.0.n.0/24` and
//! `2001:db8:0:n::/64`. Of which family packets and their headers are is the row's to say: [`Row::of`].
#![allow(dead_code, reason = "each test uses its own part")]

pub mod capture;
pub mod frame;

use plait_dataplane_links::offload::{self, Policy};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_paths::{
    Encapsulation, Family, Options, Paths, Relay, RelayAddresses, SHARED_SOURCE_IPV6, Sources, Superpackets,
};
use rustix::net::sockopt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The source of all stacks of IPv4; that of IPv6 is the usual one.
pub const SHARED: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// Those of both.
pub const SOURCES: Sources = Sources { ipv4: SHARED, ipv6: SHARED_SOURCE_IPV6 };
/// Families of headers and of packets: each over each.
pub const PAIRS: [(Family, Family); 4] = [
    (Family::Ipv4, Family::Ipv4),
    (Family::Ipv6, Family::Ipv6),
    (Family::Ipv6, Family::Ipv4),
    (Family::Ipv4, Family::Ipv6),
];
/// Those that have a header for each relay.
pub const KINDS: [Encapsulation; 3] = [Encapsulation::Ipip, Encapsulation::Gre, Encapsulation::Gue];
/// Each family over each, by each encapsulation that it has.
pub fn cases() -> impl Iterator<Item = ((Family, Family), Encapsulation)> {
    let has = |pair: (Family, Family)| {
        move |kind: &Encapsulation| pair.0 == Family::Ipv6 || *kind != Encapsulation::Srv6
    };
    PAIRS
        .into_iter()
        .flat_map(move |pair| Encapsulation::ALL.into_iter().filter(has(pair)).map(move |kind| (pair, kind)))
}

/// What a transfer takes.
pub const BYTES: usize = 2_000_000;
/// More than anything here takes, on a machine that is busy.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Row {
    nodes: Arc<Vec<Namespace>>,
    /// The family of headers.
    pub outer: Family,
    /// The family of packets.
    pub inner: Family,
}

impl Row {
    pub fn new(count: usize) -> Option<Self> {
        let nodes = match (0..count).map(|_| Namespace::new()).collect::<Result<Vec<_>, _>>() {
            Ok(nodes) => nodes,
            Err(error) => {
                println!("skipped: namespaces cannot be made here: {error}");
                return None;
            }
        };
        let row = Self { nodes: Arc::new(nodes), outer: Family::Ipv4, inner: Family::Ipv4 };
        for node in 0..count {
            // Stacks come from nobody's address, and lists may lead back the way that packets came.
            row.sh(
                node,
                "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 \
                 net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.all.send_redirects=0 \
                 net.ipv4.conf.default.send_redirects=0 net.ipv6.conf.all.forwarding=1 \
                 net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.accept_dad=0",
            );
        }
        for left in 0..count - 1 {
            let (a, b) = (format!("r{left}"), format!("l{}", left + 1));
            row.nodes[left].veth(&a, &row.nodes[left + 1], &b).unwrap();
            row.sh(left, &format!("ip link set {a} address {}", text(right_station(left))));
            row.sh(left + 1, &format!("ip link set {b} address {}", text(left_station(left + 1))));
            row.sh(left, &format!("ip addr add 10.0.{left}.1/24 dev {a}"));
            row.sh(left + 1, &format!("ip addr add 10.0.{left}.2/24 dev {b}"));
            row.sh(left, &format!("ip route add default via 10.0.{left}.2"));
            // Routers ask for their neighbours from addresses of the link.
            row.sh(left, &format!("ip addr add fe80::1/64 dev {a} nodad"));
            row.sh(left + 1, &format!("ip addr add fe80::2/64 dev {b} nodad"));
            row.sh(left, &format!("ip addr add 2001:db8:0:{left}::1/64 dev {a} nodad"));
            row.sh(left + 1, &format!("ip addr add 2001:db8:0:{left}::2/64 dev {b} nodad"));
            row.sh(left, &format!("ip route add default via 2001:db8:0:{left}::2"));
            for far in 0..left {
                row.sh(left + 1, &format!("ip route add 10.0.{far}.0/24 via 10.0.{left}.1"));
                row.sh(left + 1, &format!("ip route add 2001:db8:0:{far}::/64 via 2001:db8:0:{left}::1"));
            }
        }
        Some(row)
    }

    /// The same row, for packets of a family under headers of another.
    pub fn of(&self, (outer, inner): (Family, Family)) -> Self {
        Self { nodes: self.nodes.clone(), outer, inner }
    }

    /// The last node's address.
    pub fn far(&self) -> IpAddr {
        left_address(self.inner, self.last())
    }

    /// The network that the last node is in.
    pub fn prefix(&self) -> ipnet::IpNet {
        let bits = if self.inner == Family::Ipv4 { 24 } else { 64 };
        ipnet::IpNet::new(self.far(), bits).unwrap().trunc()
    }

    /// The address that a router has as a relay.
    pub fn relay(&self, node: usize) -> IpAddr {
        left_address(self.outer, node)
    }

    /// A list of routers.
    pub fn list(&self, nodes: &[usize]) -> Vec<IpAddr> {
        nodes.iter().map(|node| self.relay(*node)).collect()
    }

    /// Bytes of the headers of so many relays, one at least.
    pub fn headers(&self, encapsulation: Encapsulation, relays: usize) -> usize {
        let (header, address) = if self.outer == Family::Ipv4 { (20, 4) } else { (40, 16) };
        match encapsulation {
            Encapsulation::Ipip => relays * header,
            Encapsulation::Gre => relays * (header + 4),
            Encapsulation::Gue => relays * (header + 12),
            Encapsulation::Srv6 if relays == 1 => header,
            Encapsulation::Srv6 => header + 8 + (relays - 1) * address,
            Encapsulation::Ovstack => header + 32 + (relays - 1) * address,
        }
    }

    /// Bytes of the headers of a datagram of the packets' family.
    pub fn datagram_headers(&self) -> usize {
        if self.inner == Family::Ipv4 { 28 } else { 48 }
    }

    /// The unspecified address with a port.
    pub fn any(&self, port: u16) -> SocketAddr {
        match self.inner {
            Family::Ipv4 => (Ipv4Addr::UNSPECIFIED, port).into(),
            Family::Ipv6 => (Ipv6Addr::UNSPECIFIED, port).into(),
        }
    }

    /// Has all devices take packets of this length.
    pub fn sets_mtu(&self, mtu: usize) {
        for node in 0..self.last() {
            self.sh(node, &format!("ip link set r{node} mtu {mtu}"));
            self.sh(node + 1, &format!("ip link set l{} mtu {mtu}", node + 1));
        }
    }

    /// Has the first node forget what it was told of paths.
    pub fn forget(&self) {
        self.sh(0, "ip route flush cache; ip -6 route flush cache");
    }

    pub fn last(&self) -> usize {
        self.nodes.len() - 1
    }

    pub fn sh(&self, node: usize, command: &str) {
        let (ok, said) = self.try_sh(node, command);
        assert!(ok, "{command}: {said}");
    }

    /// Whether a command did well, and what it said.
    pub fn try_sh(&self, node: usize, command: &str) -> (bool, String) {
        let output = self.within(node, || Command::new("sh").args(["-c", command]).output().unwrap());
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    /// What a script says in a node, of what has no safe name in Rust.
    pub fn python(&self, node: usize, script: &str) -> String {
        let run = || Command::new("python3").args(["-c", script]).output().unwrap();
        let output = self.within(node, run);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Does something in a node, on a thread of its own.
    pub fn within<T: Send>(&self, node: usize, what: impl FnOnce() -> T + Send) -> T {
        self.nodes[node].run(what).unwrap()
    }

    pub fn device(&self, node: usize, name: &str) -> u32 {
        self.within(node, || {
            rustix::net::netdevice::name_to_index(UdpSocket::bind("0.0.0.0:0").unwrap(), name)
        })
        .unwrap()
    }

    /// From now on a device hands over packets as they would be on a wire: none is cut, and no checksum computed, behind it.
    pub fn finishes(&self, node: usize, device: &str) {
        self.within(node, || offload::set(device, Policy::FinishedPackets)).unwrap();
    }

    /// How many segments a device's superpackets may have.
    pub fn segments(&self, node: usize, device: &str) -> u32 {
        self.setting(node, device, "gso_max_segs")
    }

    /// How long a device's superpackets may be.
    pub fn longest_superpacket(&self, node: usize, device: &str) -> u32 {
        self.setting(node, device, "gso_max_size")
    }

    fn setting(&self, node: usize, device: &str, name: &str) -> u32 {
        let (_, said) = self.try_sh(node, &format!("ip -d link show {device}"));
        let mut words = said.split_whitespace();
        words.find(|word| *word == name).expect("ip says it");
        words.next().unwrap().parse().unwrap()
    }

    /// Steers what leaves the first node.
    pub fn steers(&self, options: Options) -> Paths {
        let device = self.device(0, "r0");
        self.within(0, || Paths::attach(device, options).unwrap())
    }

    /// A relay of every router, at both its sides.
    pub fn relays(&self) -> Vec<Relay> {
        (1..self.last())
            .map(|node| {
                let sides = [format!("l{node}"), format!("r{node}")].map(|name| self.device(node, &name));
                let own = RelayAddresses::from(left_address(Family::Ipv4, node));
                let own = own.with(left_address(Family::Ipv6, node));
                self.within(node, || Relay::attach(&sides, own, SOURCES, &Encapsulation::ALL).unwrap())
            })
            .collect()
    }

    /// A receiver of datagrams in the last node, and a sender in the first.
    pub fn datagrams(&self) -> (UdpSocket, UdpSocket) {
        let far = self.far();
        let receiver = self.within(self.last(), || bound(|| UdpSocket::bind((far, 7000))));
        receiver.set_read_timeout(Some(PATIENCE)).unwrap();
        sockopt::set_socket_recv_buffer_size_force(&receiver, 64 << 20).unwrap();
        let any = self.any(5000);
        let sender = self.within(0, || bound(|| UdpSocket::bind(any)));
        sender.connect((far, 7000)).unwrap();
        (receiver, sender)
    }

    /// Bytes of TCP get from the first to the last.
    pub fn carries_a_stream(&self) {
        let far = self.far();
        let listener = self.within(self.last(), || bound(|| TcpListener::bind((far, 7000))));
        let sink = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).map(|_| all)
        });
        let mut stream = self.connects();
        let bytes = pattern(BYTES);
        stream.write_all(&bytes).unwrap();
        drop(stream);
        assert!(sink.join().unwrap().unwrap() == bytes, "what arrives is what was sent");
    }

    /// A connection from the first to the last.
    pub fn connects(&self) -> TcpStream {
        let far = (self.far(), 7000).into();
        let stream = self.within(0, || TcpStream::connect_timeout(&far, PATIENCE).unwrap());
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Datagrams of some lengths get from the first to the last.
    pub fn carries_datagrams(&self, lengths: &[usize]) {
        let (receiver, sender) = self.datagrams();
        for &length in lengths {
            sender.send(&pattern(length)).unwrap();
            let mut datagram = vec![0; 65_536];
            assert_eq!(receiver.recv(&mut datagram).unwrap(), length);
            assert_eq!(datagram[..length], pattern(length));
        }
    }
}

/// A socket on a port that may be free in a moment: what was closed is still held by a process that another test is about
/// to start, until that is another program.
pub fn bound<S>(bind: impl Fn() -> io::Result<S>) -> S {
    let start = Instant::now();
    loop {
        match bind() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && start.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(5));
            }
            socket => return socket.unwrap(),
        }
    }
}

/// Options that let superpackets be.
pub fn whole(encapsulation: Encapsulation) -> Options {
    Options { superpackets: Superpackets::Whole, ..Options::new(SHARED, encapsulation) }
}

/// The address of the device on a node's left.
pub fn left_address(family: Family, node: usize) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::new(10, 0, node as u8 - 1, 2).into(),
        Family::Ipv6 => Ipv6Addr::new(0x2001, 0xdb8, 0, node as u16 - 1, 0, 0, 0, 2).into(),
    }
}

/// The station of the device on a node's left.
pub fn left_station(node: usize) -> [u8; 6] {
    [2, 0, 0, 0, node as u8, 1]
}

/// The station of the device on a node's right.
pub fn right_station(node: usize) -> [u8; 6] {
    [2, 0, 0, 0, node as u8, 2]
}

fn text(station: [u8; 6]) -> String {
    station.map(|byte| format!("{byte:02x}")).join(":")
}

/// Bytes of which a shift is seen.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|byte| (byte % 251) as u8).collect()
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}
