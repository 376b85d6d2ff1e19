//! A source of a fabric that is opened again where it failed.

use crate::{Adjacency, ApiLink, FeedError};
use plait_control_paths::ospf::{LinkKind, Lsdb, State};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// From one try to the next.
const AGAIN: Duration = Duration::from_secs(1);

/// Where a fabric is learnt from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// By an adjacency on an interface.
    Adjacency {
        /// Its name.
        interface: String,
        /// What kind of link it is on.
        kind: LinkKind,
        /// This node's router ID; the interface's address without it.
        router: Option<Ipv4Addr>,
        /// The area.
        area: Ipv4Addr,
        /// Seconds between two Hellos, and until a neighbour is dead: as the neighbours have them.
        intervals: (u16, u32),
    },
    /// From the API server of FRR's ospfd.
    Api {
        /// Where it listens.
        server: SocketAddrV4,
        /// The area.
        area: Ipv4Addr,
    },
}

/// A source of a fabric, open or about to be.
#[derive(Debug)]
pub struct Feed {
    source: Source,
    link: Option<Link>,
    /// When it is opened again.
    again: Duration,
    /// What it failed with last, told once.
    told: Option<String>,
}

#[derive(Debug)]
enum Link {
    Adjacency(Adjacency),
    Api(ApiLink),
}

impl Feed {
    /// One that [`run`](Self::run) opens, in the network namespace of the thread that calls that.
    pub fn new(source: Source) -> Self {
        Self { source, link: None, again: Duration::ZERO, told: None }
    }

    /// The advertisements received, while all of them are there. While they are not, what was known before is the better
    /// guess.
    pub fn lsdb(&self) -> Option<&Lsdb> {
        match self.link.as_ref()? {
            Link::Adjacency(adjacency) => adjacency.is_complete().then(|| adjacency.lsdb()),
            Link::Api(api) => api.is_complete().then(|| api.lsdb()),
        }
    }

    /// The router IDs of neighbours that told all they have, where there are any: those that this host is behind.
    pub fn neighbors(&self) -> impl Iterator<Item = Ipv4Addr> {
        let adjacency = match &self.link {
            Some(Link::Adjacency(adjacency)) => Some(adjacency),
            _ => None,
        };
        let all = adjacency.into_iter().flat_map(Adjacency::neighbors);
        all.filter(|(_, state)| *state == State::Full).map(|(neighbor, _)| neighbor)
    }

    /// Opens what is not open, takes what came, and does what is due. What fails is told, and tried again.
    pub fn run(&mut self, now: Duration) {
        let done = match &mut self.link {
            Some(Link::Adjacency(adjacency)) => adjacency.run(now),
            Some(Link::Api(api)) => api.run(now),
            None if now < self.again => Ok(()),
            None => self.open(now),
        };
        match done {
            Err(error) => {
                self.link = None;
                self.again = now + AGAIN;
                let text = error.to_string();
                if self.told.as_ref() != Some(&text) {
                    tracing::warn!(error = text, "the fabric is not learnt from here; it is tried again");
                    self.told = Some(text);
                }
            }
            Ok(()) if self.lsdb().is_some() => self.told = None,
            Ok(()) => {}
        }
    }

    /// When [`run`](Self::run) has something to do at the latest, if nothing comes.
    pub fn timeout(&self) -> Option<Duration> {
        match &self.link {
            None => Some(self.again),
            Some(Link::Adjacency(adjacency)) => Some(adjacency.timeout()),
            Some(Link::Api(api)) => api.timeout(),
        }
    }

    /// The sockets, and what of them is waited for.
    pub fn waited(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        match &self.link {
            None => Vec::new(),
            Some(Link::Adjacency(adjacency)) => vec![adjacency.waited()],
            Some(Link::Api(api)) => api.waited().to_vec(),
        }
    }

    fn open(&mut self, now: Duration) -> Result<(), FeedError> {
        let link = match &self.source {
            Source::Adjacency { interface, kind, router, area, intervals } => {
                let adjacency = Adjacency::open(
                    interface,
                    *kind,
                    |config| {
                        config.router = router.unwrap_or(config.router);
                        config.area = *area;
                        (config.hello, config.dead) = *intervals;
                    },
                    now,
                )?;
                Link::Adjacency(adjacency)
            }
            Source::Api { server, area } => Link::Api(ApiLink::open(*server, *area, now)?),
        };
        self.link = Some(link);
        Ok(())
    }
}

/// Waits until a feed or one of `others` has something to do, or `longest` passed.
///
/// # Errors
/// The kernel's refusal.
pub fn wait(feeds: &[Feed], others: &[BorrowedFd<'_>], longest: Duration, now: Duration) -> io::Result<()> {
    let due = feeds.iter().filter_map(Feed::timeout).map(|due| due.saturating_sub(now)).min();
    let timeout = Timespec::try_from(due.unwrap_or(longest).min(longest)).unwrap_or_default();
    let sockets = feeds.iter().flat_map(Feed::waited);
    let mut waited: Vec<_> = sockets.map(|(socket, flags)| PollFd::from_borrowed_fd(socket, flags)).collect();
    waited.extend(others.iter().map(|other| PollFd::from_borrowed_fd(*other, PollFlags::IN)));
    match poll(&mut waited, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
