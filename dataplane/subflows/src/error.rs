//! What can go wrong with a manager.

use std::io;
use thiserror::Error;

/// Why subflows cannot be opened.
#[derive(Debug, Error)]
pub enum SubflowsError {
    /// The kernel was built without Multipath TCP, or older than 5.19.
    #[error("this kernel has no path manager for user space: use Linux 5.19 or later with CONFIG_MPTCP")]
    Missing,
    /// Not the right to do it.
    #[error("only root may manage subflows: CAP_NET_ADMIN is missing")]
    NotPermitted,
    /// Outside of what the kernel keeps for one connection.
    #[error("{0} subflows a connection: the kernel keeps 1 to 8")]
    Count(usize),
    /// A file or socket of the kernel's.
    #[error("{what}: {source}")]
    Kernel {
        /// What was done.
        what: &'static str,
        /// What came of it.
        source: io::Error,
    },
}

impl SubflowsError {
    /// Says what was done when an error came.
    pub(crate) fn of(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotPermitted,
            _ => Self::Kernel { what, source },
        }
    }
}
