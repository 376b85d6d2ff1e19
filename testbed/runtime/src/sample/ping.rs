//! Round trips between two nodes.

use super::tcp::now;
use super::{PingRow, SampleError};
use crate::kernel::echo::Echo;
use crate::kernel::namespace::in_network;
use rustix::fd::BorrowedFd;
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// Choice: a reply that takes longer is none. No queue of a sane network holds a packet that long, and whoever waits
/// for rows waits as long.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends an echo request at every beat, and makes rows of the replies.
#[derive(Debug)]
pub struct Pinger {
    from: String,
    to: String,
    echo: Echo,
    next: u64,
    /// Requests without a row, by number; the first has number `next - pending.len()`.
    pending: VecDeque<Pending>,
}

#[derive(Debug)]
struct Pending {
    sent: Duration,
    round_trip: Option<Duration>,
}

impl Pinger {
    /// A pinger in a node's network namespace. `to` is what rows call the destination.
    ///
    /// # Errors
    /// A namespace that may not be entered.
    pub fn open(from: &str, network: BorrowedFd<'_>, to: &str, address: IpAddr) -> Result<Self, SampleError> {
        let failed = |source: io::Error| SampleError { node: from.to_owned(), source };
        // Pingers of a testbed are opened one after the other.
        let cookie = now().as_nanos() as u64;
        let echo = in_network(network, || Echo::open(address, cookie)).map_err(failed)?;
        Ok(Self { from: from.to_owned(), to: to.to_owned(), echo, next: 0, pending: VecDeque::new() })
    }

    /// Takes what came since the last beat and sends the next request. Returns rows of requests whose end is known, in
    /// the order they were sent.
    pub fn beat(&mut self) -> Vec<PingRow> {
        self.take_replies();
        let rows = self.settled(now());
        let sent = now();
        // One that cannot be sent counts as lost.
        if let Err(error) = self.echo.send(self.next) {
            tracing::debug!(node = %self.from, to = %self.to, %error, "echo request not sent");
        }
        self.next += 1;
        self.pending.push_back(Pending { sent, round_trip: None });
        rows
    }

    /// Takes what came since the last beat. Returns the rows that are left, but for requests that nothing sent after
    /// them was answered either: those may be under way.
    pub fn end(mut self) -> Vec<PingRow> {
        self.take_replies();
        let known =
            self.pending.iter().rposition(|pending| pending.round_trip.is_some()).map_or(0, |last| last + 1);
        (0..known).map(|_| self.first_row()).collect()
    }

    fn take_replies(&mut self) {
        // Routers' complaints come as errors: each is told once, and the next read goes on.
        let mut complaints = 0;
        while complaints < 8 {
            let reply = match self.echo.receive() {
                Ok(Some(reply)) => reply,
                Ok(None) => break,
                Err(_) => {
                    complaints += 1;
                    continue;
                }
            };
            let first = self.next - self.pending.len() as u64;
            let index = reply.number.checked_sub(first).and_then(|index| usize::try_from(index).ok());
            if let Some(pending) = index.and_then(|index| self.pending.get_mut(index)) {
                // Of a reply that was doubled, the first counts.
                pending
                    .round_trip
                    .get_or_insert(on_monotonic(reply.realtime_nanos).saturating_sub(pending.sent));
            }
        }
    }

    fn settled(&mut self, now: Duration) -> Vec<PingRow> {
        let mut rows = Vec::new();
        while let Some(first) = self.pending.front()
            && (first.round_trip.is_some() || now.saturating_sub(first.sent) > PATIENCE)
        {
            rows.push(self.first_row());
        }
        rows
    }

    fn first_row(&mut self) -> PingRow {
        let sequence = self.next - self.pending.len() as u64;
        let Pending { sent, round_trip } = self.pending.pop_front().expect("callers look first");
        let round_trip = round_trip.filter(|trip| *trip <= PATIENCE);
        PingRow { at: sent, from: self.from.clone(), to: self.to.clone(), sequence, round_trip }
    }
}

/// A stamp of the clock that people set, on the clock that nobody does.
fn on_monotonic(realtime_nanos: u64) -> Duration {
    let real = clock_gettime(ClockId::Realtime);
    let real =
        Duration::new(u64::try_from(real.tv_sec).unwrap_or(0), u32::try_from(real.tv_nsec).unwrap_or(0));
    now().saturating_sub(real.saturating_sub(Duration::from_nanos(realtime_nanos)))
}
