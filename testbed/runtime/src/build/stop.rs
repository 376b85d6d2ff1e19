//! Taking nodes down, gently.
//!
//! When network namespaces die, the kernel's clean-up holds its one network lock for as long as the dying batch has
//! devices to remove, some 0.15 ms each, in which nobody on the host can change an address; packets go on. So nodes
//! are let go in chunks, each waited for: a veth pair with one end in the chunk's last node and the other in the
//! supervisor's namespace tells, by vanishing, that the kernel is done with the chunk.

use super::messages::{self, VethEnd};
use super::{Builder, orphans};
use crate::kernel::netlink::{Batch, Netlink};
use crate::kernel::{namespace, process};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use rustix::process::Signal;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Devices let go at a time, loopbacks not counted.
///
/// Choice: small chunks spare others and large ones the one who waits, because after each chunk the kernel tidies
/// outside the lock, some 60 ms and 0.2 ms a node, before it takes the next. This holds the lock for less than half a
/// second.
const CHUNK: usize = 2048;
/// How long a chunk may take before the next is let go all the same.
const PATIENCE: Duration = Duration::from_secs(5);

impl Builder {
    /// Removes one node and stops its programs; its links are gone already.
    pub(super) fn remove_node(&mut self, name: &str) -> io::Result<()> {
        if let Some(node) = self.nodes.remove(name) {
            kill_inside(&node.network)?;
            if node.view.is_some() {
                end_connections(&[(name.to_owned(), node.network.as_fd())]);
            }
        }
        if let Some(rerouting) = &mut self.rerouting {
            rerouting.forget(name);
        }
        let _ = std::fs::remove_dir_all(crate::sandbox::node_folder(name));
        Ok(())
    }

    /// Lets go of everything, in chunks.
    pub fn stop(&mut self, progress: super::Progress<'_>) {
        // First of all: what gave way to all others has been killed, and dies no sooner than it may run.
        self.groups.remove_spare();
        self.engine = None;
        // Only where a program was can there be connections.
        let inhabited = self.nodes.iter().filter(|(_, node)| node.view.is_some());
        end_connections(
            &inhabited.map(|(name, node)| (name.clone(), node.network.as_fd())).collect::<Vec<_>>(),
        );
        let mut names: Vec<String> = self.state.nodes.keys().cloned().collect();
        names.retain(|name| self.nodes.contains_key(name));
        let total = names.len();
        let mut done = 0;
        for chunk in self.chunks(&names) {
            let canary = chunk.last().and_then(|last| self.canary(last).ok());
            for name in chunk {
                self.nodes.remove(name);
            }
            if let Some(canary) = canary {
                wait_for_death(canary);
            }
            done += chunk.len();
            progress(done, total);
        }
        // Here and not on drop: other threads hold the builder until the process ends, which drops nothing.
        self.groups.remove();
    }

    /// Nodes in chunks that the kernel takes down at once.
    fn chunks<'a>(&self, mut names: &'a [String]) -> Vec<&'a [String]> {
        let mut chunks = Vec::new();
        while !names.is_empty() {
            let mut devices = 0;
            let fits = |name: &&String| {
                devices += self.nodes.get(*name).map_or(0, |node| node.indices.len());
                devices <= CHUNK
            };
            let count = names.iter().take_while(fits).count().max(1);
            let (chunk, rest) = names.split_at(count);
            chunks.push(chunk);
            names = rest;
        }
        chunks
    }

    /// A veth pair between the supervisor's namespace and a node about to die.
    fn canary(&self, node: &str) -> io::Result<u32> {
        const INDEX: u32 = 900_000;
        let own = namespace::current(namespace::Kind::Network)?;
        let here = VethEnd { namespace: own.as_raw_fd(), name: "canary", index: INDEX, mac: None, mtu: None };
        let there = VethEnd {
            namespace: self.known(node)?.network.as_raw_fd(),
            name: "canary",
            index: INDEX,
            mac: None,
            mtu: None,
        };
        let mut batch = Batch::default();
        batch.push(messages::veth(&here, &there), NLM_F_CREATE | NLM_F_EXCL);
        self.netlink.send_whole(&mut batch)?;
        Ok(INDEX)
    }
}

/// Ends what dead programs left half closed, so that it keeps no node alive.
fn end_connections(nodes: &[(String, BorrowedFd<'_>)]) {
    match orphans::end_connections(nodes) {
        Ok(ended) => tracing::debug!(ended, "connections of dead programs"),
        Err(error) => tracing::warn!(%error, "connections of dead programs may keep nodes for minutes"),
    }
}

fn wait_for_death(index: u32) {
    let Ok(netlink) = Netlink::open() else { return };
    let start = Instant::now();
    // Asking costs microseconds and changes nothing, so there is no need to listen for the notification.
    while start.elapsed() < PATIENCE && netlink.request(messages::query(index), 0).is_ok() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills every process in a network namespace.
fn kill_inside(network: &OwnedFd) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let inode = rustix::fs::fstat(network)?.st_ino;
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let inside = std::fs::metadata(entry.path().join("ns/net")).is_ok_and(|there| there.ino() == inode);
        if let (true, Some(pid)) =
            (inside && pid != std::process::id() as i32, rustix::process::Pid::from_raw(pid))
        {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
    Ok(())
}

/// Kills every process of the sandbox but the supervisor, and waits until the kernel has forgotten them, so that
/// none holds a namespace.
pub fn kill_all() {
    let own = std::process::id();
    for _ in 0..200 {
        let others: Vec<i32> = std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|&pid: &i32| pid as u32 != own && process::start_time(pid).is_some())
            .collect();
        if others.is_empty() {
            return;
        }
        for pid in others {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
