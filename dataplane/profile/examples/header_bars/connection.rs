//! What one TCP connection carries on a line of a rate of its own.

use crate::measure::stay_on;
use plait_dataplane_profile::lab::Way;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Gigabits a second of one TCP connection by CUBIC for a time, after another to get warm.
pub fn tcp_for(way: &Way, warm: Duration, time: Duration) -> io::Result<f64> {
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
        rustix::net::sockopt::set_tcp_congestion(&stream, "cubic")?;
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
