//! What measurements have in common: a thread that stays where it is, the ends of a way, and turns.

use plait_dataplane_profile::lab::Way;
use std::io;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Bytes of Ethernet, IPv4 and UDP before a datagram's payload.
pub const HEADERS: usize = 14 + 20 + 8;

/// Turns of each way in a round.
pub const TURNS: usize = 15;

/// Datagrams that go by a way before it is measured, and how many of them may be late.
const WARM: usize = 200;
const LATE: usize = 5;
/// How long one is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keeps the calling thread on one processor, where it may: two are never equally fast.
pub fn stay_on(processor: usize) {
    let _ = plait_dataplane_processors::stay_on(processor);
}

/// A socket at each end, the first connected to the second.
pub fn sockets(way: &Way) -> io::Result<(UdpSocket, UdpSocket)> {
    let receiver = way.to.namespace.run(|| UdpSocket::bind((way.to.address, 0)))??;
    let sender = way.from.namespace.run(|| UdpSocket::bind((way.from.address, 0)))??;
    sender.connect(receiver.local_addr()?)?;
    receiver.set_read_timeout(Some(PATIENCE))?;
    // Neighbours are found, stations learned, caches warm. An emulated guest may stand still for longer than that.
    let mut buffer = [0; 2048];
    let (mut came, mut late) = (0, 0);
    while came < WARM {
        sender.send(&[0; 22])?;
        match receiver.recv(&mut buffer) {
            Ok(_) => came += 1,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && late < LATE => late += 1,
            Err(error) => return Err(error),
        }
    }
    // None of those that are late is taken for one that is measured.
    while late > 0 && receiver.recv(&mut buffer).is_ok() {}
    Ok((sender, receiver))
}

/// Has a socket send what it can for so long. What finds no room on the way is no error here.
pub fn send_for(sender: &UdpSocket, payload: &[u8], time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        for _ in 0..16 {
            let _ = sender.send(payload);
        }
    }
}
