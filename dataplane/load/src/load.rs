//! What a load is, and why there is none.

use crate::pace::Schedule;
use crate::security::Security;
use crate::source::Offer;
use plait_control_openflow::Version;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

/// A load.
#[derive(Debug, Clone)]
pub struct Load {
    /// The controller.
    pub controller: SocketAddr,
    /// What switches show it, for TLS.
    pub security: Option<Security>,
    /// How each switch offers; their number is the number of switches.
    pub offers: Vec<Offer>,
    /// Versions, which switches have in turn.
    pub versions: Vec<Version>,
    /// Requests a second of a switch more that probes, if one is wanted; the thesis has 5.
    pub probe: Option<f64>,
    /// What rates are multiplied by, and when.
    pub schedule: Schedule,
    /// How long requests are due.
    pub duration: Duration,
    /// Whole seconds at the beginning that shares leave out: until buffers are full, some get more than others.
    pub settle: u64,
    /// How long the last answers are waited for.
    pub linger: Duration,
    /// How long connecting, the handshake and telling stations may take together.
    pub warm_up: Duration,
    /// After what time a closed loop gives a request up.
    pub patience: Duration,
    /// Stations of each switch, an even number: cbench's `-M`.
    pub stations: u16,
    /// Ports of each switch, an even number.
    pub ports: u16,
    /// Whether switches keep packets, so that requests have buffers.
    pub buffered: bool,
    /// Threads.
    pub threads: usize,
    /// Which of several processes this is: their switches and stations differ by it.
    pub process: u8,
    /// When requests begin, for several processes to begin together; without it, when all switches are ready.
    pub start: Option<SystemTime>,
}

impl Load {
    /// A load of some switches; 1.0, a thousand stations and ten seconds, one thread. Choice: cbench's own.
    pub fn new(controller: SocketAddr, offers: Vec<Offer>) -> Self {
        Self {
            controller,
            security: None,
            offers,
            versions: vec![Version::V10],
            probe: None,
            schedule: Vec::new(),
            duration: Duration::from_secs(10),
            settle: 0,
            linger: Duration::from_secs(1),
            warm_up: Duration::from_secs(10),
            patience: Duration::from_secs(1),
            stations: 1000,
            ports: 4,
            buffered: true,
            threads: 1,
            process: 0,
            start: None,
        }
    }
}

/// A load that could not begin.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// What was asked for cannot be.
    #[error("{0}")]
    Asked(&'static str),
    /// A switch could not connect.
    #[error("switch {switch} cannot connect to {controller}: {error}")]
    Connect {
        /// Which.
        switch: usize,
        /// Where to.
        controller: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// No switch was answered before the time for it was up.
    #[error("no switch was answered by {controller} within {limit:?}; the first one {why}")]
    NotReady {
        /// By whom.
        controller: SocketAddr,
        /// Within what.
        limit: Duration,
        /// What it lacked.
        why: String,
    },
    /// The kernel refuses.
    #[error("epoll: {0}")]
    Kernel(#[from] io::Error),
}
