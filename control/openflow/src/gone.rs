//! Switches that are gone and still remembered.

use std::collections::{BTreeMap, HashMap};

/// Switches that are gone, longest first, with how many ports of each are remembered.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    /// By when they went.
    order: BTreeMap<u64, u64>,
    /// When each went, and its ports.
    known: HashMap<u64, (u64, usize)>,
    next: u64,
    ports: usize,
}

impl Gone {
    /// One went just now.
    pub fn add(&mut self, datapath: u64, ports: usize) {
        self.remove(datapath);
        self.order.insert(self.next, datapath);
        self.known.insert(datapath, (self.next, ports));
        self.next += 1;
        self.ports += ports;
    }

    /// One is there again, or forgotten.
    pub fn remove(&mut self, datapath: u64) {
        if let Some((when, ports)) = self.known.remove(&datapath) {
            self.order.remove(&when);
            self.ports -= ports;
        }
    }

    /// Forgets the one that is gone longest.
    pub fn pop(&mut self) -> Option<u64> {
        let (_, datapath) = self.order.pop_first()?;
        let (_, ports) = self.known.remove(&datapath)?;
        self.ports -= ports;
        Some(datapath)
    }

    /// How many ports of all of them are remembered.
    pub fn ports(&self) -> usize {
        self.ports
    }
}
