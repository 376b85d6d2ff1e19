//! Namespaces as file descriptors.

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// What a namespace isolates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Mount points.
    Mount,
    /// Devices, addresses, routes, sockets.
    Network,
    /// The hostname.
    Uts,
}

/// The calling thread's namespace of a kind, kept alive by the descriptor.
pub fn current(kind: Kind) -> io::Result<OwnedFd> {
    let name = match kind {
        Kind::Mount => "mnt",
        Kind::Network => "net",
        Kind::Uts => "uts",
    };
    Ok(File::open(format!("/proc/thread-self/ns/{name}"))?.into())
}

/// Moves the calling thread into a namespace. A mount namespace wants [`own_files`] first.
pub fn enter(namespace: impl AsFd, kind: Kind) -> io::Result<()> {
    let kind = match kind {
        Kind::Mount => LinkNameSpaceType::Mount,
        Kind::Network => LinkNameSpaceType::Network,
        Kind::Uts => LinkNameSpaceType::HostNameAndNISDomainName,
    };
    Ok(move_into_link_name_space(namespace.as_fd(), Some(kind))?)
}

/// Gives the calling thread new namespaces.
pub fn renew(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the flags used in this crate never include FILES, so no descriptor another thread relies on changes
    // meaning; the other kinds only affect names looked up from here on by this thread.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Gives the calling thread its own working directory, root and umask, which a thread needs before it may change
/// its mount namespace.
pub fn own_files() -> io::Result<()> {
    renew(UnshareFlags::FS)
}

/// Runs a closure on a thread of its own, so that the namespaces it enters are left with the thread.
pub fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("plait-namespace".into())
            .spawn_scoped(scope, work)?
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a namespace thread panicked")))
    })
}

/// Runs a closure inside a network namespace.
pub fn in_network<T: Send>(
    namespace: impl AsFd + Send,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    on_thread(move || {
        enter(namespace, Kind::Network)?;
        work()
    })
}
