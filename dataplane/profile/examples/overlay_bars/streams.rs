//! One TCP connection by each way, all of them at once, of which one has its turn.

use crate::measure::stay_on;
use crate::speeds::{Figures, Machine};
use plait_dataplane_profile::lab::Way;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Before a turn counts: a connection that had to wait starts slowly again, for some of its round trips of microseconds.
const WARM: Duration = Duration::from_millis(3);
/// A turn. Choice: short, so that the cycle of all is shorter than what a processor and its memory keep their speed.
const TURN: Duration = Duration::from_millis(8);
/// Bytes of a call that writes. Choice: many. What of a call is no whole superpacket leaves by itself if it is longer than a segment,
/// and waits for the next call if it is shorter: of short calls of one length some ways have luck with that, and some have not.
const CALL: usize = 1 << 20;
/// What is under way arrives in microseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// Whose turn it is when it is nobody's any more.
const OVER: usize = usize::MAX;
/// Whose it is when it is nobody's for a moment, and how long who reads sleeps then before it looks again.
const NOBODY: usize = OVER - 1;
const NAP: Duration = Duration::from_micros(200);

/// A way's connection.
struct Stream {
    sends: TcpStream,
    receives: TcpStream,
    received: AtomicU64,
}

/// Gigabits a second by each way, by a congestion control or the one that the machine is set to, in each cycle of turns.
///
/// Choice: who reads never sleeps. To wake it costs more than a superpacket does, on a virtual machine most of all, and whether
/// it sleeps is luck: of two runs by one way one had half of what the other had.
pub fn streams<'a>(
    machine: Machine,
    ways: impl IntoIterator<Item = &'a Way>,
    congestion: Option<&str>,
) -> io::Result<Figures> {
    let streams: Vec<Stream> =
        ways.into_iter().map(|way| open(way, congestion)).collect::<io::Result<_>>()?;
    let turn = AtomicUsize::new(NOBODY);
    thread::scope(|scope| {
        let reading = scope.spawn(|| read(&streams, &turn));
        stay_on(0);
        let mut written = vec![0; streams.len()];
        let cycles = machine.cycles(|first| write(&streams, &turn, &mut written, first));
        turn.store(OVER, Ordering::Release);
        // Why nothing was read is why nothing more was written.
        reading.join().expect("a thread that reads")?;
        cycles
    })
}

fn open(way: &Way, congestion: Option<&str>) -> io::Result<Stream> {
    let listener = way.to.namespace.run(|| TcpListener::bind((way.to.address, 0)))??;
    let target = listener.local_addr()?;
    let sends = way.from.namespace.run(|| TcpStream::connect(target))??;
    if let Some(congestion) = congestion {
        rustix::net::sockopt::set_tcp_congestion(&sends, congestion)?;
    }
    sends.set_write_timeout(Some(PATIENCE))?;
    let (receives, _) = listener.accept()?;
    receives.set_nonblocking(true)?;
    Ok(Stream { sends, receives, received: AtomicU64::new(0) })
}

/// Reads of whose turn it is until it is over.
fn read(streams: &[Stream], turn: &AtomicUsize) -> io::Result<()> {
    stay_on(1);
    let mut buffer = vec![0; 1 << 17];
    loop {
        let stream = match turn.load(Ordering::Acquire) {
            OVER => return Ok(()),
            NOBODY => {
                thread::sleep(NAP);
                continue;
            }
            number => &streams[number],
        };
        match (&stream.receives).read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => drop(stream.received.fetch_add(length as u64, Ordering::Release)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(error) => return Err(error),
        }
    }
}

/// Writes by each in turn, once, from one of them on. What arrived in each turn, in gigabits a second.
fn write(streams: &[Stream], turn: &AtomicUsize, written: &mut [u64], first: usize) -> io::Result<Vec<f64>> {
    let call = vec![0; CALL];
    let mut rates = vec![0.0; streams.len()];
    for number in (0..streams.len()).map(|turn| (turn + first) % streams.len()) {
        let (stream, written) = (&streams[number], &mut written[number]);
        turn.store(number, Ordering::Release);
        let arrived = || (stream.received.load(Ordering::Acquire), Instant::now());
        let mut for_so_long = |time: Duration| -> io::Result<()> {
            let start = Instant::now();
            while start.elapsed() < time {
                (&stream.sends).write_all(&call)?;
                *written += CALL as u64;
            }
            Ok(())
        };
        for_so_long(WARM)?;
        let (before, start) = arrived();
        for_so_long(TURN)?;
        let (after, end) = arrived();
        rates[number] = (after - before) as f64 * 8.0 / (end - start).as_secs_f64() / 1e9;
        // Nothing of it is left for another's turn.
        let end = Instant::now();
        while stream.received.load(Ordering::Acquire) < *written {
            if end.elapsed() > PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::hint::spin_loop();
        }
    }
    turn.store(NOBODY, Ordering::Release);
    Ok(rates)
}
