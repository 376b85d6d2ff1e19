//! Devices by which the overlay's packets may come in.
//!
//! An outer source locator is what its sender wrote. A device that leads to no node brings none of a node's packets: who is behind
//! it, in a container or a virtual machine of this host, speaks for nobody.
//!
//! Choice: where no devices are named, those by which some route leads through a router, whatever its table and metric, or leads to
//! a locator that is known. Packets may well come by another of them than they would leave by. On what a host keeps for its own
//! containers there are neighbours alone, and nobody's locator. What is refused is counted apart, and naming devices mends it.

use super::{Agent, AgentError, now};
use crate::config::{BadConfig, is_device_name};
use crate::protocol::Reply;
use plait_dataplane_reference::tables::entrance;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Choice: to look at routes takes a twentieth of the agent's time at most, however many there are and however often they change.
const PAUSES: u32 = 20;

/// What is known of devices by which packets may come in.
#[derive(Default)]
pub(super) struct Entrances {
    /// What devices are to packets that come by them, as the table has it.
    open: BTreeMap<u32, u32>,
    /// The devices that lead to nodes, or that were named.
    found: BTreeSet<u32>,
    /// When routes may be looked at again.
    next: Duration,
    /// Whether something may be otherwise since.
    is_stale: bool,
}

impl Agent {
    /// Names the devices by which packets may come in; without names the routes say it.
    pub(super) fn set_underlay(&mut self, devices: Option<BTreeSet<String>>) -> Result<Reply, AgentError> {
        if let Some(name) = devices.iter().flatten().find(|name| !is_device_name(name)) {
            return Err(BadConfig::Name(name.clone()).into());
        }
        if let Some(name) = devices.iter().flatten().find(|name| self.is_own(name)) {
            return Err(AgentError::OwnDevice(name.clone()));
        }
        if devices.as_ref().is_some_and(BTreeSet::is_empty) {
            return Err(AgentError::NoUnderlay);
        }
        let changed = self.config.underlay != devices;
        self.config.underlay = devices;
        self.find_entrances()?;
        Ok(Reply::Done { changed, writes: 0 })
    }

    /// Follows changes of routes, locators and neighbours: soon, and of a device by which packets leave at once.
    pub(super) fn follow_entrances(&mut self) -> Result<(), AgentError> {
        let is_found = |index: u32| self.config.underlay.is_some() || self.entrances.found.contains(&index);
        let are_found = self.compiler.wanted().all(|neighbour| is_found(neighbour.interface));
        if are_found && now() < self.entrances.next {
            self.entrances.is_stale = true;
            return Ok(());
        }
        self.find_entrances()
    }

    /// Looks by which devices packets may come in, and has the programs know.
    pub(super) fn find_entrances(&mut self) -> Result<(), AgentError> {
        let begun = now();
        let links = &self.underlay.links;
        self.entrances.found = match &self.config.underlay {
            Some(names) => {
                let named = links.iter().filter(|(_, link)| names.contains(&link.name));
                named.map(|(index, _)| *index).collect()
            }
            None => {
                let mut found = self.underlay.ways_in(|prefix| self.compiler.has_locator_in(prefix));
                found.extend(self.compiler.wanted().map(|neighbour| neighbour.interface));
                found
            }
        };
        self.entrances.next = now() + (now() - begun) * PAUSES;
        let below_others = self.underlay.below_others();
        let mut open: BTreeMap<u32, u32> = BTreeMap::new();
        for index in self.below() {
            if self.entrances.found.contains(&index) {
                open.insert(index, entrance::OPEN);
            } else if below_others.contains(&index) {
                open.insert(index, entrance::BELOW);
            }
        }
        let before = std::mem::take(&mut self.entrances.open);
        let mut written = Ok(());
        let mut write = |index: u32, is: Option<u32>| {
            let is_written = self.tables.set_entrance(index, is);
            is_written.map_err(|error| written = Err(error)).is_ok()
        };
        for index in before.keys().filter(|index| !open.contains_key(index)) {
            write(*index, None);
        }
        // What the kernel refuses is tried again.
        open.retain(|index, is| before.get(index) == Some(is) || write(*index, Some(*is)));
        self.entrances.open = open;
        self.entrances.is_stale = written.is_err();
        Ok(written?)
    }

    /// Looks once more, where that was put off.
    pub(super) fn find_entrances_again(&mut self) -> Result<(), AgentError> {
        match self.entrances.is_stale && now() >= self.entrances.next {
            true => self.find_entrances(),
            false => Ok(()),
        }
    }

    /// When that is due.
    pub(super) fn entrances_due(&self) -> Option<Duration> {
        self.entrances.is_stale.then_some(self.entrances.next)
    }

    /// The devices by which packets may come in.
    pub(super) fn entrances(&self) -> impl Iterator<Item = u32> + '_ {
        self.entrances.open.iter().filter(|(_, is)| **is == entrance::OPEN).map(|(index, _)| *index)
    }
}
