//! Where something waits: one epoll for all sockets, asked by one worker at a time.

use crate::shared::Shared;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::time::Timespec;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

const LISTENER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;
/// How long nobody is taken in after the system had nothing left for it, unless a connection ends meanwhile. Choice: as long
/// as nobody who connects minds, and long enough to cost nothing. Who connects waits in the kernel's queue.
const CLOSED: Duration = Duration::from_millis(100);
/// [`Poller::closed`] of a listener that is open.
const OPEN: u64 = u64::MAX;

/// The epoll, the listener, and a bell that ends a wait.
///
/// Sockets are edge-triggered: each arrival is told once, however long nobody reads.
pub struct Poller {
    epoll: OwnedFd,
    bell: OwnedFd,
    listener: TcpListener,
    /// Until when nobody is taken in, in nanoseconds since the beginning.
    closed: AtomicU64,
    /// Whether it was said that nobody can be taken in, and nobody was since.
    told: AtomicBool,
    /// Whoever holds it polls. Since when what a poll tells has come: the poll before would have told it.
    turn: Mutex<Duration>,
    /// Whether whoever holds it waits for something to come, and does not only look.
    is_waited: AtomicBool,
}

impl Poller {
    /// # Errors
    /// The system's.
    pub fn new(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &bell, EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(Self {
            epoll,
            bell,
            listener,
            closed: AtomicU64::new(OPEN),
            told: AtomicBool::new(false),
            turn: Mutex::new(Duration::ZERO),
            is_waited: AtomicBool::new(false),
        })
    }

    /// Where switches connect to.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> io::Result<std::net::SocketAddr> {
        self.listener.local_addr()
    }

    /// Watches a socket.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&self, stream: &impl AsFd, slot: u32) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, stream, EventData::new_u64(slot.into()), flags)?)
    }

    /// Ends a wait.
    pub fn ring(&self) {
        // The bell's count cannot be full: whoever hears it takes all of it.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Marks slots in which something waits, and takes new connections in. Waits for the first for so long at most. How
    /// many slots there were; nothing if another worker polls. `events` is room for as many as are told at once.
    pub fn poll(&self, shared: &Shared, wait: Duration, events: &mut Vec<Event>) -> Option<usize> {
        let mut turn = self.take_turn(!wait.is_zero())?;
        if self.closed.load(Ordering::Acquire) <= shared.now().as_nanos() as u64 {
            self.open();
        }
        events.clear();
        let began = shared.now();
        // Nobody asks when something came but who keeps a bound.
        let (is_asked, mut since) = (shared.config.latency_bound.is_some(), *turn);
        let is_told = !wait.is_zero() && is_asked && {
            self.look(Duration::ZERO, events);
            !events.is_empty()
        };
        if !is_told {
            self.is_waited.store(!wait.is_zero(), Ordering::Relaxed);
            self.look(wait, events);
            self.is_waited.store(false, Ordering::Relaxed);
            if !wait.is_zero() {
                // Nothing was there before: it has just come. For how long the system had this thread wait is not known.
                since = shared.now();
            }
        }
        let mut found = 0;
        if events.len() < events.capacity() {
            // Whatever came before this poll it has told. Of one that waited, its end is what is known.
            *turn = if wait.is_zero() || is_told { began } else { shared.now() };
        }
        for event in events.iter() {
            let Event { flags, data } = *event;
            match data.u64() {
                LISTENER => self.accept(shared),
                BELL => {
                    let _ = rustix::io::read(&self.bell, &mut [0u8; 8]);
                }
                slot => {
                    if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
                        shared.slots[slot as usize].ended.store(true, Ordering::Release);
                    }
                    let slot = slot as u32;
                    if is_asked && !shared.is_ready(slot) {
                        shared.slots[slot as usize]
                            .since
                            .fetch_max(since.as_nanos() as u64, Ordering::Relaxed);
                    }
                    shared.set_ready(slot, true);
                    found += 1;
                }
            }
        }
        Some(found)
    }

    /// The turn, unless somebody else has it. Who is to wait gets it behind one that only looks: the one that has nothing to do is
    /// to be told what comes, and not one that is busy and looks now and then.
    fn take_turn(&self, waits: bool) -> Option<MutexGuard<'_, Duration>> {
        loop {
            match self.turn.try_lock() {
                Err(TryLockError::WouldBlock) if waits && !self.is_waited.load(Ordering::Relaxed) => {
                    std::thread::yield_now();
                }
                taken => return taken.ok(),
            }
        }
    }

    /// Waits in the place of a worker, until it is dropped.
    #[cfg(test)]
    pub fn hold(&self) -> MutexGuard<'_, Duration> {
        let turn = self.turn.lock().unwrap();
        self.is_waited.store(true, Ordering::Relaxed);
        turn
    }

    fn look(&self, wait: Duration, events: &mut Vec<Event>) {
        let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        // Whatever goes wrong, an interrupting signal most likely, the next poll tells.
        let _ = epoll::wait(&self.epoll, spare_capacity(events), Some(&timeout));
    }

    /// A connection has ended: there may be room for another one.
    pub fn made_room(&self) {
        if self.closed.load(Ordering::Acquire) != OPEN {
            self.open();
        }
    }

    /// Takes nobody in for a while: the system has nothing left for it, file descriptors most likely. The listener would tell at
    /// once again that somebody waits.
    fn close(&self, shared: &Shared, fault: &io::Error) {
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(%fault, "no switch can be taken in until there is room: let it have more files (ulimit -n)");
        }
        let _ = epoll::modify(&self.epoll, &self.listener, EventData::new_u64(LISTENER), EventFlags::empty());
        // After the listener is closed, and before it is opened: it is never closed without a time.
        self.closed.store((shared.now() + CLOSED).as_nanos() as u64, Ordering::Release);
    }

    fn open(&self) {
        self.closed.store(OPEN, Ordering::Release);
        let _ = epoll::modify(&self.epoll, &self.listener, EventData::new_u64(LISTENER), EventFlags::IN);
    }

    fn accept(&self, shared: &Shared) {
        // A bounded number, since others wait; the listener is level-triggered and tells again.
        for _ in 0..64 {
            let (stream, address) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => return,
                // Whoever it was is gone.
                Err(fault) if is_of_the_connection(&fault) => continue,
                Err(fault) => return self.close(shared, &fault),
            };
            self.told.store(false, Ordering::Relaxed);
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_ok()
                && !shared.admit(stream, address.to_string())
            {
                tracing::warn!(%address, "a switch was refused: there is no room for more connections");
            }
        }
    }
}

/// Whether a connection could not be taken for a reason of its own (`accept(2)`).
fn is_of_the_connection(fault: &io::Error) -> bool {
    use rustix::io::Errno;
    let errors =
        [Errno::CONNABORTED, Errno::INTR, Errno::PROTO, Errno::PERM, Errno::NETDOWN, Errno::NETUNREACH];
    errors.into_iter().any(|error| fault.raw_os_error() == Some(error.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_to_wait_gets_the_turn_behind_one_that_only_looks() {
        let poller = Poller::new(TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
        let looks = poller.turn.lock().unwrap();
        assert!(poller.take_turn(false).is_none(), "one that only looks goes on with its work");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| poller.take_turn(true).is_some());
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waits.is_finished());
            drop(looks);
            assert!(waits.join().unwrap());
        });
        // Where one waits already, nobody else needs to.
        let _waits = poller.hold();
        assert!(poller.take_turn(true).is_none());
    }
}
