//! How fast a way is.

use crate::ratio::median;
use plait_dataplane_profile::lab::Way;
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of Ethernet, IPv4 and UDP before a datagram's payload.
const HEADERS: usize = 14 + 20 + 8;

/// Keeps the calling thread on one processor: two are never equally fast, and a thread that wanders measures both.
fn stay_on(processor: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(processor);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// A socket at each end, the first connected to the second.
fn sockets(way: &Way) -> io::Result<(UdpSocket, UdpSocket)> {
    let receiver = way.to.namespace.run(|| UdpSocket::bind((way.to.address, 0)))??;
    let sender = way.from.namespace.run(|| UdpSocket::bind((way.from.address, 0)))??;
    sender.connect(receiver.local_addr()?)?;
    receiver.set_read_timeout(Some(Duration::from_secs(2)))?;
    // Neighbours are found, stations learned, caches warm.
    let mut buffer = [0; 2048];
    for _ in 0..200 {
        sender.send(&[0; 22])?;
        receiver.recv(&mut buffer)?;
    }
    Ok((sender, receiver))
}

/// Microseconds from before a send to after its receipt, by one thread: the median.
pub fn one_way(way: &Way, frame: usize, count: usize) -> io::Result<f64> {
    stay_on(0);
    let (sender, receiver) = sockets(way)?;
    let payload = vec![0; frame - HEADERS];
    let mut buffer = [0; 2048];
    let mut delays = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        sender.send(&payload)?;
        receiver.recv(&mut buffer)?;
        delays.push(start.elapsed().as_nanos() as f64 / 1000.0);
    }
    Ok(median(&delays))
}

/// Microseconds of processor for a datagram sent and received, all of it in one thread.
pub fn cpu(way: &Way, frame: usize, count: usize) -> io::Result<f64> {
    stay_on(0);
    let (sender, receiver) = sockets(way)?;
    let payload = vec![0; frame - HEADERS];
    let mut buffer = [0; 2048];
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    };
    let before = used();
    for _ in 0..count {
        sender.send(&payload)?;
        receiver.recv(&mut buffer)?;
    }
    Ok((used() - before) / count as f64)
}

/// Datagrams a second that arrive when one thread sends what it can and another reads.
pub fn rate(way: &Way, frame: usize) -> io::Result<f64> {
    const TIME: Duration = Duration::from_millis(300);
    let (sender, receiver) = sockets(way)?;
    receiver.set_read_timeout(Some(Duration::from_millis(50)))?;
    let (done, arrived) = (AtomicBool::new(false), AtomicU64::new(0));
    let payload = vec![0; frame - HEADERS];
    let took = thread::scope(|scope| {
        scope.spawn(|| {
            stay_on(1);
            let mut buffer = [0; 2048];
            while !done.load(Ordering::Relaxed) {
                if receiver.recv(&mut buffer).is_ok() {
                    arrived.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        stay_on(0);
        let start = Instant::now();
        while start.elapsed() < TIME {
            for _ in 0..64 {
                // A full queue at the other end is no error here.
                let _ = sender.send(&payload);
            }
        }
        let took = start.elapsed();
        thread::sleep(Duration::from_millis(20));
        done.store(true, Ordering::Relaxed);
        took
    });
    Ok(arrived.load(Ordering::Relaxed) as f64 / took.as_secs_f64())
}

/// Gigabits a second of one TCP connection.
pub fn tcp(way: &Way) -> io::Result<f64> {
    tcp_for(way, Duration::from_millis(100), Duration::from_millis(400), None)
}

/// The same for a time of its own, after another to get warm, and with another congestion control than the kernel's usual.
pub fn tcp_for(way: &Way, warm: Duration, time: Duration, congestion: Option<&str>) -> io::Result<f64> {
    let listener = way.to.namespace.run(|| TcpListener::bind((way.to.address, 0)))??;
    let target = listener.local_addr()?;
    let (received, done) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let reading = scope.spawn(|| -> io::Result<()> {
            stay_on(1);
            let (mut stream, _) = listener.accept()?;
            let mut buffer = vec![0; 1 << 17];
            loop {
                match stream.read(&mut buffer)? {
                    0 => return Ok(()),
                    length => drop(received.fetch_add(length as u64, Ordering::Relaxed)),
                }
            }
        });
        let mut stream = way.from.namespace.run(|| TcpStream::connect(target))??;
        if let Some(congestion) = congestion {
            rustix::net::sockopt::set_tcp_congestion(&stream, congestion)?;
        }
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        let stop = &done;
        let writing = scope.spawn(move || -> io::Result<()> {
            stay_on(0);
            let buffer = vec![0; 1 << 17];
            while !stop.load(Ordering::Relaxed) {
                stream.write_all(&buffer)?;
            }
            stream.shutdown(std::net::Shutdown::Both)
        });
        thread::sleep(warm);
        let (before, start) = (received.load(Ordering::Relaxed), Instant::now());
        thread::sleep(time);
        let (after, took) = (received.load(Ordering::Relaxed), start.elapsed());
        done.store(true, Ordering::Relaxed);
        writing.join().expect("a thread that writes")?;
        // The other end may be reset by what was not read yet.
        let _ = reading.join().expect("a thread that reads");
        Ok((after - before) as f64 * 8.0 / took.as_secs_f64() / 1e9)
    })
}
