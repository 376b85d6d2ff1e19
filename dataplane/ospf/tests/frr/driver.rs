//! A feed on a thread in a node's network.

use crate::lab::Node;
use plait_control_paths::Fabric;
use plait_dataplane_ospf::{Feed, Source, wait};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A thread that learns a fabric, and what it has seen last.
pub struct Learner {
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What a feed has seen.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// The fabric, while it is complete.
    pub fabric: Option<Fabric>,
    /// The neighbours that told all they have.
    pub neighbors: Vec<Ipv4Addr>,
}

impl Learner {
    pub fn new(node: &Node, source: Source) -> Self {
        let space = File::open(format!("/proc/{}/ns/net", node.pid())).unwrap();
        let (seen, stop) = <(Arc<Mutex<Seen>>, Arc<AtomicBool>)>::default();
        let (of, until) = (seen.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            let started = Instant::now();
            let mut feeds = [Feed::new(source)];
            while !until.load(Ordering::Relaxed) {
                feeds[0].run(started.elapsed());
                *of.lock().unwrap() = Seen {
                    fabric: feeds[0].lsdb().map(|lsdb| lsdb.fabric()),
                    neighbors: feeds[0].neighbors().collect(),
                };
                wait(&feeds, &[], Duration::from_millis(20), started.elapsed()).unwrap();
            }
        });
        Self { seen, stop, thread: Some(thread) }
    }

    pub fn seen(&self) -> Seen {
        assert!(self.thread.as_ref().is_some_and(|thread| !thread.is_finished()), "the feed's thread ended");
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Learner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.transpose().unwrap();
        }
    }
}
