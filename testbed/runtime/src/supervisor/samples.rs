//! Samples of links, sockets and interfaces, as rows until the asker has enough.

use super::Supervisor;
use crate::control::{Line, SampleRequest};
use crate::kernel::socket::wait_readable;
use crate::kernel::time::monotonic_nanos;
use crate::sample::{InterfaceRow, InterfaceSampler, TcpRow, TcpSampler};
use serde::Serialize;
use serde_json::{Value, json};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// A [`Reply::Row`](crate::control::Reply::Row) that is written as it is, without a tree of values between: there may be
/// thousands of rows a second.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Sent<'a> {
    Row(Rows<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Rows<'a> {
    Tcp(&'a [TcpRow]),
    Links(&'a [Value]),
    Interfaces(&'a [InterfaceRow]),
}

/// One kind of sample: when the next is due, and how often.
struct Timer {
    next: u64,
    every: u64,
}

impl Timer {
    fn new(now: u64, every_ms: Option<u64>) -> Option<Self> {
        Some(Self { next: now, every: every_ms?.max(1) * 1_000_000 })
    }

    /// Whether a sample is due; instants that were missed are not made up for.
    fn due(&mut self, now: u64) -> bool {
        if now < self.next {
            return false;
        }
        self.next += self.every * ((now - self.next) / self.every + 1);
        true
    }
}

impl Supervisor {
    /// Sends `{"tcp": […]}`, `{"links": […]}` and `{"interfaces": […]}`, each at its interval on a fixed grid, until
    /// the asker closes the connection.
    pub(super) fn sample(&self, line: &Line, request: SampleRequest) -> io::Result<()> {
        let nodes: Vec<(String, Arc<OwnedFd>)> = {
            let builder = self.builder();
            let shown = builder.state.nodes.iter().filter(|(_, node)| !node.hidden);
            shown.filter_map(|(name, _)| Some((name.clone(), builder.node(name)?.network.clone()))).collect()
        };
        let opened: Vec<_> = nodes.iter().map(|(name, network)| (name.clone(), network.as_fd())).collect();
        let mut tcp_sampler =
            request.tcp_ms.map(|_| TcpSampler::open(&opened)).transpose().map_err(io::Error::other)?;
        let mut interface_sampler = request
            .interfaces_ms
            .map(|_| InterfaceSampler::open(&opened))
            .transpose()
            .map_err(io::Error::other)?;
        drop(opened);
        drop(nodes);
        let now = monotonic_nanos();
        let mut timers = [request.tcp_ms, request.links_ms, request.interfaces_ms]
            .map(|every_ms| Timer::new(now, every_ms));
        while let Some(next) = timers.iter().flatten().map(|timer| timer.next).min() {
            let rest = Duration::from_nanos(next.saturating_sub(monotonic_nanos()));
            if wait_readable(&line.socket, Some(rest))? {
                return Ok(());
            }
            let now = monotonic_nanos();
            let [tcp, links, interfaces] =
                timers.each_mut().map(|timer| timer.as_mut().is_some_and(|timer| timer.due(now)));
            if let (true, Some(sampler)) = (tcp, &mut tcp_sampler) {
                line.send(&Sent::Row(Rows::Tcp(&sampler.sample())), &[])?;
            }
            if links {
                line.send(&Sent::Row(Rows::Links(&self.link_rows(now))), &[])?;
            }
            if let (true, Some(sampler)) = (interfaces, &mut interface_sampler) {
                line.send(&Sent::Row(Rows::Interfaces(&sampler.sample())), &[])?;
            }
        }
        Ok(())
    }

    /// Counters of every link in the engine.
    fn link_rows(&self, at: u64) -> Vec<Value> {
        let (engine, links): (_, Vec<_>) = {
            let builder = self.builder();
            let Some(engine) = builder.engine().cloned() else { return Vec::new() };
            let links = builder.state.links.keys();
            (engine, links.filter_map(|name| Some((name.clone(), builder.engine_link(name)?))).collect())
        };
        let row = |(name, id): (String, u64)| {
            let stats = engine.stats(id).ok()?;
            Some(json!({ "at_ns": at, "link": name, "down": stats.down, "directions": stats.directions }))
        };
        links.into_iter().filter_map(row).collect()
    }
}
