//! How many datagrams a second get to something that lets go of them and counts them.

use crate::measure::{HEADERS, send_for, sockets, stay_on};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_profile::lab::Way;
use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

/// How long each way is measured.
const TIME: Duration = Duration::from_millis(300);

/// Datagrams a second of one thread that get to something at the way's end.
pub fn rate_into<T>(
    way: &Way,
    frame: usize,
    sink: impl FnOnce() -> io::Result<T>,
    swallowed: impl Fn() -> io::Result<u64>,
) -> io::Result<f64> {
    stay_on(0);
    // The receiver is there for who sends to be sure of the way.
    let (sender, _receiver) = sockets(way)?;
    let _sink = sink()?;
    counted(&sender, frame, swallowed)
}

/// Datagrams a second of one thread that get through from one address to another.
pub fn rate_between(
    from: &Namespace,
    ends: [Ipv4Addr; 2],
    frame: usize,
    got_through: impl Fn() -> Result<u64, Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    stay_on(0);
    let sender = from.run(|| UdpSocket::bind((ends[0], 0)))??;
    sender.connect((ends[1], 9))?;
    counted(&sender, frame, got_through)
}

/// What a socket sends for a time, as something beyond counts it.
fn counted<E>(sender: &UdpSocket, frame: usize, count: impl Fn() -> Result<u64, E>) -> Result<f64, E> {
    let payload = vec![0; frame - HEADERS];
    let (before, start) = (count()?, Instant::now());
    send_for(sender, &payload, TIME);
    Ok((count()? - before) as f64 / start.elapsed().as_secs_f64())
}
