//! Samples of links, sockets, interfaces and round trips, as rows until the asker has enough.

use super::Supervisor;
use super::names::unknown;
use crate::control::{Line, PingRequest, Reply, SampleRequest};
use crate::kernel::socket::{MOST, wait_readable};
use crate::kernel::time::monotonic_nanos;
use crate::sample::{InterfaceRow, InterfaceSampler, PingRow, Pinger, TcpRow, TcpSampler};
use serde::Serialize;
use serde_json::{Value, json};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// A [`Reply::Row`](crate::control::Reply::Row) that is written as it is, without a tree of values between: there may
/// be thousands of rows a second.
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
    Pings(&'a [PingRow]),
}

/// How long the end of the testbed may wait for samplers.
const LOOK: Duration = Duration::from_millis(50);

/// One kind of sample: when the next is due, and how often.
struct Timer {
    next: u64,
    every: u64,
}

impl Timer {
    fn new(now: u64, every_ms: f64) -> Self {
        Self { next: now, every: (every_ms.max(1.0) * 1e6) as u64 }
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
    /// Sends `{"tcp": […]}`, `{"links": […]}`, `{"interfaces": […]}` and `{"pings": […]}`, each at its interval on a
    /// fixed grid, until the asker closes the connection.
    pub(super) fn sample(&self, line: &Line, request: SampleRequest) -> io::Result<()> {
        let nodes = self.networks();
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
        let pingers = request.pings.iter().map(|ping| self.pinger(ping)).collect::<io::Result<Vec<_>>>()?;
        let now = monotonic_nanos();
        let beats = request.pings.iter().map(|ping| Timer::new(now, ping.every_ms));
        let mut pingers: Vec<(Pinger, Timer)> = pingers.into_iter().zip(beats).collect();
        let mut timers = [request.tcp_ms, request.links_ms, request.interfaces_ms]
            .map(|every_ms| Some(Timer::new(now, every_ms?)));
        loop {
            let due = timers.iter().flatten().chain(pingers.iter().map(|(_, timer)| timer));
            let Some(next) = due.map(|timer| timer.next).min() else { break };
            let rest = Duration::from_nanos(next.saturating_sub(monotonic_nanos()));
            if wait_readable(&line.socket, Some(rest.min(LOOK)))? || self.status() == "stopping" {
                break;
            }
            let now = monotonic_nanos();
            let [tcp, links, interfaces] =
                timers.each_mut().map(|timer| timer.as_mut().is_some_and(|timer| timer.due(now)));
            if let (true, Some(sampler)) = (tcp, &mut tcp_sampler) {
                line.send(&Sent::Row(Rows::Tcp(&sampler.sample())), &[])?;
            }
            if links {
                line.send(&Sent::Row(Rows::Links(&self.link_rows())), &[])?;
            }
            if let (true, Some(sampler)) = (interfaces, &mut interface_sampler) {
                line.send(&Sent::Row(Rows::Interfaces(&sampler.sample())), &[])?;
            }
            for (pinger, timer) in &mut pingers {
                if timer.due(now) {
                    send_pings(line, &pinger.beat())?;
                }
            }
        }
        // The asker reads on until our side is closed too.
        pingers.into_iter().try_for_each(|(pinger, _)| send_pings(line, &pinger.end()))
    }

    /// Gives the asker a socket in each node to read TCP's state from, and stays until one of both ends: a socket keeps
    /// its node's network alive, so the asker closes all when the line is closed.
    pub(super) fn tcp_sockets(&self, line: &Line) -> io::Result<()> {
        self.send_tcp_sockets(line)?;
        while self.status() != "stopping" && !wait_readable(&line.socket, Some(LOOK))? {}
        Ok(())
    }

    fn send_tcp_sockets(&self, line: &Line) -> io::Result<()> {
        let nodes = self.networks();
        let opened: Vec<_> = nodes.iter().map(|(name, network)| (name.clone(), network.as_fd())).collect();
        let sampler = TcpSampler::open(&opened).map_err(io::Error::other)?;
        let sockets: Vec<_> = sampler.sockets().collect();
        for some in sockets.chunks(MOST) {
            let names: Vec<&str> = some.iter().map(|(name, _)| *name).collect();
            let descriptors: Vec<_> = some.iter().map(|(_, socket)| *socket).collect();
            line.send(&Reply::Row(json!(names)), &descriptors)?;
        }
        line.send(&Reply::Row(json!([])), &[])
    }

    /// The network namespaces of the nodes that users know.
    fn networks(&self) -> Vec<(String, Arc<OwnedFd>)> {
        let builder = self.builder();
        let shown = builder.state.nodes.iter().filter(|(_, node)| !node.hidden);
        shown.filter_map(|(name, _)| Some((name.clone(), builder.node(name)?.network.clone()))).collect()
    }

    fn pinger(&self, ping: &PingRequest) -> io::Result<Pinger> {
        let (network, address) = {
            let builder = self.builder();
            let network = builder.known(&ping.from)?.network.clone();
            let named = builder.state.hosts.iter().find(|(_, name)| *name == ping.to);
            let address = ping.to.parse().ok().or(named.map(|(address, _)| *address));
            (network, address.ok_or_else(|| unknown("node", &ping.to, builder.state.nodes.keys()))?)
        };
        Pinger::open(&ping.from, network.as_fd(), &ping.to, address).map_err(io::Error::other)
    }

    /// Counters of every link in the engine, each as of its own instant.
    fn link_rows(&self) -> Vec<Value> {
        let (engine, links): (_, Vec<_>) = {
            let builder = self.builder();
            let Some(engine) = builder.engine().cloned() else { return Vec::new() };
            let links = builder.state.links.keys();
            (engine, links.filter_map(|name| Some((name.clone(), builder.engine_link(name)?))).collect())
        };
        let row = |(name, id): (String, u64)| {
            let stats = engine.stats(id).ok()?;
            Some(
                json!({ "at_ns": stats.at, "link": name, "down": stats.down, "directions": stats.directions }),
            )
        };
        links.into_iter().filter_map(row).collect()
    }
}

fn send_pings(line: &Line, rows: &[PingRow]) -> io::Result<()> {
    if rows.is_empty() { Ok(()) } else { line.send(&Sent::Row(Rows::Pings(rows)), &[]) }
}
