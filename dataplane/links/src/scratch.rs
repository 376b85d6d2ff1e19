//! Namespaces and devices to throw away, for tests, benches and measurements. They vanish with their last descriptor.

use crate::netlink::{self, Message, Route};
use crate::sys::{self, interface_index};
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::thread;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// A new namespace with its loopback up. Errors: no privilege.
    pub fn new() -> io::Result<Self> {
        let making = thread::spawn(|| {
            sys::enter_new()?;
            netlink::prepare("lo")?;
            File::open("/proc/thread-self/ns/net").map(Self)
        });
        making.join().unwrap_or_else(|_| Err(io::Error::other("the thread that makes a namespace failed")))
    }

    /// Does something inside.
    pub fn run<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let running = scope.spawn(|| sys::enter(self.0.as_fd()).map(|()| act()));
            running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Makes a veth from here to another namespace; both ends are up.
    pub fn veth(&self, here: &str, other: &Namespace, there: &str) -> io::Result<()> {
        self.run(|| netlink::create_veth_between(here, there, other.0.as_raw_fd()))??;
        self.run(|| netlink::prepare(here))??;
        other.run(|| netlink::prepare(there))?
    }

    /// Brings a device up.
    pub fn up(&self, ifname: &str) -> io::Result<()> {
        self.run(|| netlink::prepare(ifname))?
    }

    /// Gives a device an address.
    pub fn address(&self, ifname: &str, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        self.run(|| {
            let mut fixed = [0; 8];
            fixed[0] = libc::AF_INET as u8;
            fixed[1] = prefix;
            fixed[4..8].copy_from_slice(&interface_index(ifname)?.to_ne_bytes());
            let message = Message::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE, &fixed)
                .attribute(libc::IFA_LOCAL, &address.octets())
                .attribute(libc::IFA_ADDRESS, &address.octets());
            Route::open()?.request(message)
        })?
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
