//! Samplers against real namespaces, with real connections over a veth pair.
//!
//! The namespaces are made by `unshare(1)` and wired by `ip(8)`, so that the code under test shares nothing with what
//! sets its stage. Without the permission to make them, the tests say so and pass.

use plait_testbed_runtime::sample::{InterfaceSampler, TcpSampler, TcpState};
use rustix::fd::AsFd;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Two namespaces joined by a veth pair, 10.9.0.1 and 10.9.0.2; they go with their keepers.
struct Pair {
    keepers: [Child; 2],
    namespaces: [File; 2],
}

impl Drop for Pair {
    fn drop(&mut self) {
        for keeper in &mut self.keepers {
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
    }
}

fn pair() -> Option<Pair> {
    let keeper = || {
        let mut child = Command::new("unshare")
            .args(["--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep 60"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut ready = [0; 6];
        let made = child.stdout.as_mut()?.read_exact(&mut ready).is_ok();
        if !made {
            let _ = child.wait();
        }
        made.then_some(child)
    };
    let (Some(a), Some(b)) = (keeper(), keeper()) else {
        println!("skipped: namespaces cannot be made here");
        return None;
    };
    let ids = [a.id(), b.id()];
    let enter = |id: u32, command: &str| {
        let target = format!("--target={id}");
        let status = Command::new("nsenter").args([&target, "--net", "sh", "-c", command]).status().unwrap();
        assert!(status.success(), "{command}");
    };
    let namespaces = ids.map(|id| File::open(format!("/proc/{id}/ns/net")).unwrap());
    let pair = Pair { keepers: [a, b], namespaces };
    enter(ids[0], &format!("ip link add eth0 type veth peer name eth0 netns {}", ids[1]));
    enter(ids[0], "ip addr add 10.9.0.1/24 dev eth0 && ip link set eth0 up");
    enter(ids[1], "ip addr add 10.9.0.2/24 dev eth0 && ip link set eth0 up");
    Some(pair)
}

/// Runs something in a namespace, on a thread of its own.
fn inside<T: Send + 'static>(
    namespace: &File,
    work: impl FnOnce() -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let namespace = namespace.try_clone().unwrap();
    thread::spawn(move || {
        let network = Some(rustix::thread::LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(namespace.as_fd(), network).unwrap();
        work()
    })
}

#[test]
fn a_connection_between_two_nodes_is_seen_from_both_ends() {
    let Some(pair) = pair() else { return };
    let (bound, listening) = mpsc::channel();
    let (sent, all_sent) = mpsc::channel();
    let (finish, finished) = mpsc::channel::<()>();
    const BYTES: usize = 3_000_000;
    let server = inside(&pair.namespaces[1], move || {
        // An IPv6 socket that takes IPv4 peers too, as most servers have.
        let listener = TcpListener::bind("[::]:5201").or_else(|_| TcpListener::bind("0.0.0.0:5201")).unwrap();
        bound.send(()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut read = 0;
        let mut buffer = vec![0; 65536];
        while read < BYTES {
            read += stream.read(&mut buffer).unwrap();
        }
        sent.send(()).unwrap();
        finished.recv().ok();
    });
    listening.recv_timeout(Duration::from_secs(60)).unwrap();
    let (ready, connected) = mpsc::channel();
    let client = inside(&pair.namespaces[0], move || {
        let mut stream = TcpStream::connect("10.9.0.2:5201").unwrap();
        stream.write_all(&vec![7; BYTES]).unwrap();
        ready.send(stream).unwrap();
    });
    let stream = connected.recv_timeout(Duration::from_secs(60)).unwrap();
    all_sent.recv_timeout(Duration::from_secs(60)).unwrap();
    client.join().unwrap();

    let nodes = [("a".to_owned(), pair.namespaces[0].as_fd()), ("b".to_owned(), pair.namespaces[1].as_fd())];
    let mut sampler = TcpSampler::open(&nodes).unwrap();
    // The last acknowledgement may still be on its way.
    let deadline = Instant::now() + Duration::from_secs(60);
    let rows = loop {
        let rows = sampler.sample();
        if Instant::now() > deadline || rows.iter().any(|row| row.bytes_acked >= Some(BYTES as u64)) {
            break rows;
        }
        thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(rows.len(), 2, "one connection, two ends, no listener: {rows:#?}");
    let (a, b) = (&rows[0], &rows[1]);
    assert_eq!((a.node.as_str(), b.node.as_str()), ("a", "b"));
    assert_eq!((a.remote.to_string(), a.local), ("10.9.0.2:5201".to_owned(), b.remote));
    assert_eq!(b.local, a.remote, "an IPv4 peer of an IPv6 socket is shown as what it is");
    assert_eq!(a.state, TcpState::Established);
    assert!(!a.congestion_control.is_empty());
    // The kernel counts the SYN's sequence number as an acknowledged byte.
    assert!((BYTES as u64..=BYTES as u64 + 1).contains(&a.bytes_acked.unwrap()), "{a:?}");
    assert_eq!(b.bytes_received, Some(BYTES as u64));
    assert!(a.bytes_sent >= Some(BYTES as u64) && a.cwnd >= 2 && a.mss > 500);
    assert!(a.srtt > Duration::ZERO && a.srtt < Duration::from_secs(1), "{:?}", a.srtt);
    assert!(a.min_rtt.is_some() && a.delivery_rate > Some(1_000_000), "{a:?}");
    assert!(a.rto >= Duration::from_millis(100));
    assert_eq!(sampler.missed(), 0);

    drop(finish);
    drop(stream);
    server.join().unwrap();
    let gone = Instant::now() + Duration::from_secs(60);
    while !sampler.sample().is_empty() {
        assert!(Instant::now() < gone, "closed connections leave the samples");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_one_node_sends_the_other_receives() {
    let Some(pair) = pair() else { return };
    let nodes = [("a".to_owned(), pair.namespaces[0].as_fd()), ("b".to_owned(), pair.namespaces[1].as_fd())];
    let mut sampler = InterfaceSampler::open(&nodes).unwrap();
    let socket =
        inside(&pair.namespaces[0], || std::net::UdpSocket::bind("10.9.0.1:0").unwrap()).join().unwrap();
    let before = sampler.sample();
    // The first datagrams wait for the neighbour's address, and the kernel keeps only a few that do: on a crowded
    // machine it takes another hundred, or two. More than a hundred, so that requests for the address do not count.
    let patience = Instant::now() + Duration::from_secs(60);
    let mut after = before.clone();
    while after[1].rx_packets - before[1].rx_packets < 110 && Instant::now() < patience {
        for _ in 0..100 {
            // Nobody listens there, and the kernel may say so.
            let _ = socket.send_to(&[0; 1000], "10.9.0.2:9");
        }
        thread::sleep(Duration::from_millis(50));
        after = sampler.sample();
    }
    let names: Vec<_> = after.iter().map(|row| format!("{}:{}", row.node, row.interface)).collect();
    assert_eq!(names, ["a:eth0", "b:eth0"], "loopback is left out");
    let sent = after[0].tx_bytes - before[0].tx_bytes;
    assert!(sent >= 100 * 1042, "100 frames of 1042 bytes are among the {sent} bytes sent");
    assert!(after[1].rx_packets - before[1].rx_packets >= 100);
    assert!(after[1].at >= before[1].at);
    assert_eq!(sampler.missed(), 0);
}

#[test]
fn a_namespace_that_is_none_is_refused_by_name() {
    let not_a_namespace = File::open("/proc/self/status").unwrap();
    let error = TcpSampler::open(&[("a".to_owned(), not_a_namespace.as_fd())]).unwrap_err();
    assert!(error.to_string().starts_with("cannot sample a: "), "{error}");
}
