//! A stream of UDP datagrams, timed one by one, as an application sends them: for holding whatever lies between two
//! namespaces against whatever else could lie there.

use super::{inside, sleep_until};
use crate::sys::{self, Batch, monotonic, realtime, tighten_timers};
use plait_model_quantity::TimeSpan;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
const LONGEST: usize = 1514;
/// What a datagram carries: its number.
const NUMBER: usize = 8;
/// Of datagrams that only see whether the way is open.
const GREETING: [u8; NUMBER] = [0xff; NUMBER];

/// A sender in one namespace and a receiver in another.
#[derive(Debug)]
pub struct Stream {
    from: UdpSocket,
    to: UdpSocket,
    batch: Batch,
}

/// What became of a datagram, in nanoseconds of CLOCK_REALTIME.
#[derive(Debug, Clone, Copy)]
pub struct Passage {
    /// What the clock showed before the sender's call.
    pub sent: u64,
    /// When the kernel saw it come out of the receiver's device; nothing if it never did.
    pub arrived: Option<u64>,
}

impl Stream {
    /// Opens both sockets, each in its namespace at its address.
    ///
    /// # Errors
    /// No such address there, or no privilege: the buffers must hold what a queue and a slow reader let stand.
    pub fn open(from: (BorrowedFd, IpAddr), to: (BorrowedFd, IpAddr)) -> io::Result<Self> {
        const BUFFER: i32 = 64 << 20;
        let bound = |(namespace, address)| inside(namespace, || UdpSocket::bind((address, 0)));
        let (from, to) = (bound(from)?, bound(to)?);
        from.connect(to.local_addr()?)?;
        sys::set_option(from.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, BUFFER)?;
        sys::set_option(to.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER)?;
        sys::set_option(to.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        Ok(Self { from, to, batch: Batch::new() })
    }

    /// Sends `count` datagrams in frames of `frame` bytes, one each `gap`, and waits until nothing has come for
    /// `silence`. What the kernel refuses to take is as good as lost.
    ///
    /// # Errors
    /// Nothing comes through at all, or somebody set the clock meanwhile.
    pub fn send(
        &mut self,
        count: u64,
        frame: usize,
        gap: TimeSpan,
        silence: TimeSpan,
    ) -> io::Result<Vec<Passage>> {
        tighten_timers();
        self.open_the_way()?;
        self.until_silence(silence, |_, _| {})?;
        self.from.set_nonblocking(true)?;
        let between_clocks = realtime().wrapping_sub(monotonic());
        let mut payload = vec![0; frame.clamp(HEADERS + NUMBER, LONGEST) - HEADERS];
        let mut passages = Vec::with_capacity(count as usize);
        let start = monotonic() + gap.as_nanos();
        for number in 0..count {
            sleep_until(start + number * gap.as_nanos());
            payload[..NUMBER].copy_from_slice(&number.to_be_bytes());
            passages.push(Passage { sent: realtime(), arrived: None });
            let _ = self.from.send(&payload);
        }
        self.from.set_nonblocking(false)?;
        // The buffer holds them all, so that nobody reads beside the sender.
        self.until_silence(silence, |number, at| {
            if let Some(passage) = usize::try_from(number).ok().and_then(|number| passages.get_mut(number)) {
                passage.arrived.get_or_insert(at);
            }
        })?;
        let moved = realtime().wrapping_sub(monotonic()).wrapping_sub(between_clocks) as i64;
        if moved.abs() > 20_000 {
            return Err(io::Error::other(format!("somebody set the clock by {moved} ns meanwhile")));
        }
        Ok(passages)
    }

    /// Sends greetings until one comes: addresses are resolved then, and devices have their carrier.
    fn open_the_way(&self) -> io::Result<()> {
        self.to.set_read_timeout(Some(Duration::from_millis(200)))?;
        for _ in 0..50 {
            self.from.send(&GREETING)?;
            if self.to.recv(&mut [0; NUMBER]).is_ok() {
                return Ok(());
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "nothing comes through"))
    }

    /// Reads number and stamp of all that comes, until nothing has come for some time.
    fn until_silence(&mut self, silence: TimeSpan, mut each: impl FnMut(u64, u64)) -> io::Result<()> {
        let mut quiet_since = monotonic();
        while monotonic() - quiet_since < silence.as_nanos() {
            match self.batch.receive(self.to.as_fd(), sys::PACKETS) {
                Ok(count) => quiet_since = self.read(count, &mut each),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Hands on what was received, and says when.
    fn read(&self, count: usize, each: &mut impl FnMut(u64, u64)) -> u64 {
        for index in 0..count {
            let number = self.batch.packet(index).first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
            if let (Some(number), Some(at)) = (number, self.batch.details(index).0) {
                each(number, at);
            }
        }
        monotonic()
    }
}
