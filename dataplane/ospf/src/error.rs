//! Why a fabric cannot be learnt.

use plait_control_paths::ospf::ApiError;
use std::io;
use std::net::SocketAddrV4;
use thiserror::Error;

/// Why a feed broke off. It is tried again.
#[derive(Debug, Error)]
pub enum FeedError {
    /// An interface that is not there.
    #[error("there is no interface `{0}`: `ip link` shows those that there are")]
    NoInterface(String),
    /// An interface without an address to speak from.
    #[error("interface `{0}` has no IPv4 address: give it one of its link's prefix")]
    NoAddress(String),
    /// No right to sockets of IP's own protocols.
    #[error("OSPF is a protocol of IP's own, whose sockets are root's: run as root, or with CAP_NET_RAW")]
    NoRight,
    /// An interface that failed.
    #[error("interface `{0}`: {1}")]
    Interface(String, #[source] io::Error),
    /// A server that does not answer.
    #[error(
        "ospfd's API server at {0}: {1}; ospfd serves it when it is started with `-a` and its configuration says `capability \
         opaque`"
    )]
    Server(SocketAddrV4, #[source] io::Error),
    /// A server that says what cannot be.
    #[error("ospfd's API server at {0}: {1}")]
    Protocol(SocketAddrV4, #[source] ApiError),
}
