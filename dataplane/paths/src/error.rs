//! What cannot be done.

use ipnet::IpNet;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// Why paths were not set. Nothing was changed then.
#[derive(Debug, Error)]
pub enum Error {
    /// The kernel does not take a program or a table.
    #[error(transparent)]
    Bpf(#[from] plait_dataplane_bpf::Error),
    /// The device does not tell its setting or does not take one.
    #[error("device {0}: {1}")]
    Device(u32, #[source] io::Error),
    /// A list with relays of both families.
    #[error(
        "{0}: a list has relays of IPv4 and of IPv6; headers of a list are of one, so give it relays of one"
    )]
    Family(IpNet),
    /// A list of SRv6 with relays of IPv4.
    #[error("{0}: segments of SRv6 are addresses of IPv6; give it relays of IPv6, or another type")]
    Segments(IpNet),
    /// Headers that leave less than IPv6 needs.
    #[error(
        "{0}: with {1} bytes of headers a device of {2} has no room for IPv6, which needs 1280 bytes; give it fewer relays, \
         or the device a larger MTU"
    )]
    Narrow(IpNet, u32, u32),
    /// Flows that would be over while they move.
    #[error(
        "flows that are silent for {0:?} cannot be over: while one moves, nothing may be heard of it for {1:?}; say more, or a \
         smaller spread"
    )]
    Idle(Duration, Duration),
    /// More lists than a set holds.
    #[error("{0}: {1} relay lists, of which a prefix may have 64; leave some out")]
    Lists(IpNet, usize),
    /// More relays than a stack holds.
    #[error("{0}: a list of {1} relays, of which it may have 16; leave some out")]
    Relays(IpNet, usize),
    /// All places of a table are taken.
    #[error("{0}: no room for its lists among those that are there; load with larger sizes")]
    Full(IpNet),
    /// A flow that nobody heard of, or a list that its prefix has not.
    #[error("there is no such flow, or no list {0} for it")]
    Flow(u32),
}
