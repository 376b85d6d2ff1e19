//! The kernel's Multipath TCP between two throw-away namespaces.

use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_subflows::{Manager, News, Options, SubflowsError};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PORT: u16 = 5201;
const BYTES: usize = 4_000_000;
/// More than anything here takes, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(20);
const TURN: Duration = Duration::from_millis(20);

fn pair() -> Option<(Namespace, Namespace)> {
    let made = Namespace::new().and_then(|client| Ok((client, Namespace::new()?)));
    let (client, server) = match made {
        Ok(pair) => pair,
        Err(error) => {
            println!("skipped: namespaces cannot be made here: {error}");
            return None;
        }
    };
    client.veth("eth0", &server, "eth0").unwrap();
    client.address("eth0", CLIENT, 24).unwrap();
    server.address("eth0", SERVER, 24).unwrap();
    Some((client, server))
}

fn multipath() -> io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP))
}

fn listen() -> Socket {
    let socket = multipath().unwrap();
    socket.bind(&SocketAddr::from((SERVER, PORT)).into()).unwrap();
    socket.listen(1).unwrap();
    socket
}

/// The ports of this namespace's connections to the server that are open.
fn ports() -> Vec<u16> {
    let port = |text: &str| u16::from_str_radix(text.rsplit_once(':')?.1, 16).ok();
    let table = fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    let mut ports: Vec<u16> = table
        .lines()
        .filter_map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let is_open = columns.get(3) == Some(&"01") && port(columns.get(2)?) == Some(PORT);
            if is_open { port(columns[1]) } else { None }
        })
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Lets a manager of this namespace work until something is so.
fn until(manager: &mut Manager, mut is_so: impl FnMut(&[News]) -> bool) -> Vec<News> {
    let begin = Instant::now();
    let mut news = Vec::new();
    while !is_so(&news) {
        assert!(begin.elapsed() < PATIENCE, "it never became so: {news:?}");
        news.extend(manager.step(TURN).unwrap());
    }
    news
}

#[test]
fn a_connection_has_as_many_subflows_as_are_asked_for_each_from_a_port_of_its_own() {
    let Some((client, server)) = pair() else { return };
    let (is_listening, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            server.run(|| {
                let mut manager = Manager::new(Options { count: 1 }).unwrap();
                let socket = listen();
                is_listening.store(true, Ordering::Release);
                thread::scope(|scope| {
                    // Whoever serves goes on accepting subflows while it reads.
                    let reading = scope.spawn(|| {
                        let (mut stream, _) = socket.accept().unwrap();
                        io::copy(&mut stream, &mut io::sink()).unwrap()
                    });
                    until(&mut manager, |_| is_over.load(Ordering::Acquire) && reading.is_finished());
                    reading.join().unwrap()
                })
            })
        });
        while !is_listening.load(Ordering::Acquire) {
            assert!(!serving.is_finished(), "the server ended");
            thread::sleep(TURN);
        }
        let news = client.run(|| {
            let mut manager = Manager::new(Options { count: 4 }).unwrap();
            let mut socket = multipath().unwrap();
            socket.connect(&SocketAddr::from((SERVER, PORT)).into()).unwrap();
            socket.write_all(&[1]).unwrap();
            let mut news = until(&mut manager, |_| ports().len() == 4);
            socket.write_all(&vec![2; BYTES - 1]).unwrap();
            drop(socket);
            is_over.store(true, Ordering::Release);
            news.extend(until(&mut manager, |news| {
                news.iter().any(|news| matches!(news, News::Closed { .. }))
            }));
            news
        });
        let news = news.unwrap();
        assert_eq!(serving.join().unwrap().unwrap(), BYTES as u64);
        let most = news.iter().filter_map(|news| match news {
            News::Subflows { open, .. } => Some(*open),
            _ => None,
        });
        assert_eq!(most.max(), Some(4), "{news:?}");
        assert!(!news.iter().any(|news| matches!(news, News::Refused { .. })), "{news:?}");
    });
}

#[test]
fn the_kernel_manages_again_when_a_manager_is_gone() {
    let Some((client, _server)) = pair() else { return };
    let setting = || {
        ["path_manager", "pm_type"]
            .iter()
            .find_map(|name| fs::read_to_string(format!("/proc/sys/net/mptcp/{name}")).ok())
            .unwrap()
    };
    client
        .run(|| {
            let before = setting();
            let manager = Manager::new(Options { count: 8 }).unwrap();
            assert_eq!(manager.before(), before.trim());
            assert_ne!(setting(), before);
            drop(manager);
            assert_eq!(setting(), before);
        })
        .unwrap();
}

#[test]
fn more_subflows_than_the_kernel_keeps_are_refused() {
    for count in [0, 9] {
        let refused = Manager::new(Options { count });
        assert!(matches!(refused, Err(SubflowsError::Count(of)) if of == count));
    }
}
