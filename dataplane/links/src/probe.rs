//! Measuring a link from outside: frames of a private kind go in at one end and are timed at the other.
//!
//! A probe frame has EtherType 0x88B5, which IEEE 802 leaves to local experiments, so no protocol of a node answers or
//! forwards it. It is timed by the sender's clock before the send call and by the kernel's stamp on arrival, both on
//! CLOCK_REALTIME, so no program's wake-up is in the figure.
//!
//! [`Stream`] does the same with the datagrams of an application, through whatever lies between two namespaces.
//!
//! Probing takes packet numbers of the link. Call [`Engine::reset`](crate::Engine::reset) afterwards, and a later run
//! meets the fates it would have met without.

use crate::sys::{self, interface_index};
use std::io;
use std::os::fd::BorrowedFd;
use std::thread;

mod delay;
mod endpoint;
mod loss;
mod measured;
mod queue;
mod rate;
mod spread;
mod stream;

pub(crate) use endpoint::Endpoint;
pub use measured::Measured;
pub use spread::Allowance;
pub use stream::{Passage, Stream};

/// One end of a path: a network namespace and a device in it.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The namespace, such as an open `/proc/PID/ns/net`.
    pub namespace: BorrowedFd<'a>,
    /// The device's name there.
    pub ifname: &'a str,
}

/// One direction of a link, between two devices.
#[derive(Debug)]
pub struct Path {
    from: Endpoint,
    to: Endpoint,
}

impl Path {
    /// Opens both ends. The calling thread stays in its namespace.
    pub fn open(from: At, to: At) -> io::Result<Self> {
        Ok(Self { from: open_at(from)?, to: open_at(to)? })
    }

    /// Drops what is left of earlier probes.
    fn clear(&mut self) -> io::Result<()> {
        while self.to.receive()?.is_some() {}
        Ok(())
    }
}

fn open_at(at: At) -> io::Result<Endpoint> {
    inside(at.namespace, || {
        interface_index(at.ifname)?;
        Endpoint::open(at.ifname)
    })
}

/// Makes something in a namespace. A socket belongs to that it was made in, so a thread that goes there and ends is
/// enough.
fn inside<T: Send>(namespace: BorrowedFd, make: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let making = thread::Builder::new().name("plait-probe".to_owned()).spawn_scoped(scope, || {
            sys::enter(namespace)?;
            make()
        })?;
        making.join().unwrap_or_else(|_| Err(io::Error::other("the probing thread failed")))
    })
}

/// Sleeps until a time on CLOCK_MONOTONIC; shorter spans are spun.
fn sleep_until(time: u64) {
    const SPIN: u64 = 60_000;
    let left = time.saturating_sub(sys::monotonic());
    if left > SPIN {
        thread::sleep(std::time::Duration::from_nanos(left - SPIN));
    }
    while sys::monotonic() < time {
        std::hint::spin_loop();
    }
}
