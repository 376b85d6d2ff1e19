//! How fast a way is.

use crate::ratio::median;
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_profile::lab::Way;
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of Ethernet, IPv4 and UDP before a datagram's payload.
const HEADERS: usize = 14 + 20 + 8;

/// Keeps the calling thread on one processor: two are never equally fast, and a thread that wanders measures both.
pub fn stay_on(processor: usize) {
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

/// Packets of a way before the next one has its turn: some hundred microseconds, in which a processor keeps its speed.
const TURN: usize = 60;
/// The first of a turn, which find the caches as another way left them and count for nothing.
const COLD: usize = 10;

/// What a datagram takes by one thread that sends it and receives it.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// Microseconds from before the call that sends to after the one that receives: the median.
    pub one_way: f64,
    /// Microseconds that one differs by from the one before it: the median.
    pub jitter: f64,
    /// Microseconds of processor: the median of turns.
    pub cpu: f64,
}

/// Some packets by each way, and again, until each way has had so many: a processor of a virtual machine may have another speed
/// from one second to the next, which meets all ways alike then.
pub fn in_turn<'a>(
    ways: impl IntoIterator<Item = &'a Way>,
    frame: usize,
    count: usize,
) -> io::Result<Vec<Taken>> {
    stay_on(0);
    let payload = vec![0; frame - HEADERS];
    let mut buffer = [0; 2048];
    let ends: Vec<_> = ways.into_iter().map(sockets).collect::<io::Result<_>>()?;
    let mut told = vec![(Vec::new(), Vec::new(), Vec::new()); ends.len()];
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    };
    for _ in 0..count.div_ceil(TURN) {
        for ((sender, receiver), (delays, steps, costs)) in ends.iter().zip(&mut told) {
            let mut before = None;
            for packet in 0..TURN + COLD {
                let start = Instant::now();
                sender.send(&payload)?;
                receiver.recv(&mut buffer)?;
                if packet >= COLD {
                    let delay = start.elapsed().as_nanos() as f64 / 1000.0;
                    steps.extend(before.replace(delay).map(|before: f64| (delay - before).abs()));
                    delays.push(delay);
                }
            }
            // Once more without a look at the clock for each.
            let before = used();
            for _ in 0..TURN {
                sender.send(&payload)?;
                receiver.recv(&mut buffer)?;
            }
            costs.push((used() - before) / TURN as f64);
        }
    }
    let taken = |(delays, steps, costs): &(Vec<_>, Vec<_>, Vec<_>)| Taken {
        one_way: median(delays),
        jitter: median(steps),
        cpu: median(costs),
    };
    Ok(told.iter().map(taken).collect())
}

/// A turn of a way by which one thread sends what it can, what comes before it counts, and what is left behind it.
const SENT: Duration = Duration::from_millis(6);
const WARM: Duration = Duration::from_millis(1);
const REST: Duration = Duration::from_micros(500);

/// Datagrams a second that arrive by each way when one thread sends what it can and another reads: the medians of so many turns.
pub fn rates<'a>(
    ways: impl IntoIterator<Item = &'a Way>,
    frame: usize,
    turns: usize,
) -> io::Result<Vec<f64>> {
    let ends: Vec<_> = ways.into_iter().map(sockets).collect::<io::Result<_>>()?;
    let arrived: Vec<AtomicU64> = ends.iter().map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    let payload = vec![0; frame - HEADERS];
    let mut rates = vec![Vec::new(); ends.len()];
    thread::scope(|scope| {
        for ((_, receiver), arrived) in ends.iter().zip(&arrived) {
            scope.spawn(|| {
                stay_on(1);
                let mut buffer = vec![0; frame.max(2048)];
                while !done.load(Ordering::Relaxed) {
                    if receiver.recv(&mut buffer).is_ok() {
                        arrived.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        stay_on(0);
        for _ in 0..turns {
            for (((sender, _), arrived), rates) in ends.iter().zip(&arrived).zip(&mut rates) {
                let send_for = |time: Duration| {
                    let start = Instant::now();
                    while start.elapsed() < time {
                        for _ in 0..16 {
                            // A full queue at the other end is no error here.
                            let _ = sender.send(&payload);
                        }
                    }
                };
                send_for(WARM);
                let (before, start) = (arrived.load(Ordering::Relaxed), Instant::now());
                send_for(SENT);
                let (after, took) = (arrived.load(Ordering::Relaxed), start.elapsed());
                rates.push((after - before) as f64 / took.as_secs_f64());
                thread::sleep(REST);
            }
        }
        done.store(true, Ordering::Relaxed);
        // Whoever waits for one more gets it.
        for (sender, _) in &ends {
            let _ = sender.send(&payload);
        }
    });
    Ok(rates.iter().map(|rates| median(rates)).collect())
}

/// Datagrams a second of one thread that get to something at the way's end that lets go of them and says how many those were.
pub fn rate_into<T>(
    way: &Way,
    frame: usize,
    sink: impl FnOnce() -> io::Result<T>,
    swallowed: impl Fn() -> io::Result<u64>,
) -> io::Result<f64> {
    const TIME: Duration = Duration::from_millis(300);
    stay_on(0);
    // The receiver is there for who sends to be sure of the way.
    let (sender, _receiver) = sockets(way)?;
    let _sink = sink()?;
    let payload = vec![0; frame - HEADERS];
    let (before, start) = (swallowed()?, Instant::now());
    while start.elapsed() < TIME {
        for _ in 0..64 {
            // What is lost on the way is not counted.
            let _ = sender.send(&payload);
        }
    }
    Ok((swallowed()? - before) as f64 / start.elapsed().as_secs_f64())
}

/// Datagrams a second of one thread that get through from one address to another, as something beyond counts them.
pub fn rate_between(
    from: &Namespace,
    ends: [Ipv4Addr; 2],
    frame: usize,
    got_through: impl Fn() -> Result<u64, Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    const TIME: Duration = Duration::from_millis(300);
    stay_on(0);
    let sender = from.run(|| UdpSocket::bind((ends[0], 0)))??;
    sender.connect((ends[1], 9))?;
    let payload = vec![0; frame - HEADERS];
    let (before, start) = (got_through()?, Instant::now());
    while start.elapsed() < TIME {
        for _ in 0..64 {
            // What finds no room at the other processor is lost, and not counted.
            let _ = sender.send(&payload);
        }
    }
    Ok((got_through()? - before) as f64 / start.elapsed().as_secs_f64())
}

/// Gigabits a second of one TCP connection for a time, after another to get warm, by this congestion control or the one that the machine
/// is set to.
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
