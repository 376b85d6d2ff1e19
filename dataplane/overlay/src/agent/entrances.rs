//! Devices by which the overlay's packets may come in.
//!
//! An outer source locator is what its sender wrote. A device that leads to no node brings none of a node's packets: who is behind
//! it, in a container or a virtual machine of this host, speaks for nobody.
//!
//! Choice: where no devices are named, those by which some route, whatever its table and metric, leads to a locator that is known,
//! or a default route of either family to a router. Packets may well come by another of them than they would leave by. What a host
//! keeps for its own containers leads to nobody's locator, and what somebody advertises on a link counts for nothing. What is refused
//! is counted apart, and naming devices mends it. Where the kernel does not say where all routes lead, all devices count: rather
//! none is kept out than a node.

use super::{Agent, AgentError, now};
use crate::config::{BadConfig, is_device_name};
use crate::protocol::Reply;
use plait_dataplane_reference::tables::entrance;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Choice: to look at routes takes a twentieth of the agent's time at most, however many there are and however often they change.
const PAUSES: u32 = 20;
/// How soon what the kernel refused is tried again, and how soon where it was refused again and again.
const AGAIN: Duration = Duration::from_secs(1);
const AGAIN_AT_LAST: Duration = Duration::from_secs(64);

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
    /// How long what was refused waited the last time until it was tried again.
    pause: Duration,
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
        let before = std::mem::replace(&mut self.config.underlay, devices);
        self.look_for_entrances();
        if let Err(error) = self.write_entrances() {
            self.config.underlay = before;
            self.look_for_entrances();
            // As far as it can be, it is as it was.
            let written = self.write_entrances();
            self.said(written);
            return Err(error);
        }
        Ok(Reply::done(self.config.underlay != before))
    }

    /// Follows changes of routes, links, locators and neighbours: of the devices by which packets leave at once, and of others soon.
    pub(super) fn follow_entrances(&mut self) {
        if now() < self.entrances.next && self.config.underlay.is_none() {
            self.entrances.found.extend(self.compiler.wanted().map(|exit| exit.neighbour.interface));
            // What the kernel refuses now is tried again then.
            self.entrances.is_stale = true;
            if let Err(error) = self.write_entrances() {
                tracing::debug!(%error, "a device by which packets may come is not known to the programs yet");
            }
            return;
        }
        self.find_entrances();
    }

    /// Looks by which devices packets may come in, and has the programs know. What the kernel refuses is tried again.
    pub(super) fn find_entrances(&mut self) {
        self.look_for_entrances();
        let written = self.write_entrances();
        self.said(written);
    }

    /// Looks once more, where that was put off.
    pub(super) fn find_entrances_again(&mut self) {
        if self.entrances.is_stale && now() >= self.entrances.next {
            self.find_entrances();
        }
    }

    /// Says of entrances what the kernel refused.
    fn said(&mut self, written: Result<(), AgentError>) {
        let Err(error) = written else {
            self.entrances.pause = Duration::ZERO;
            return;
        };
        let pause = (self.entrances.pause * 2).clamp(AGAIN, AGAIN_AT_LAST);
        tracing::warn!(%error, ?pause, "not all devices by which packets may come are known to the programs: they are told again");
        self.entrances.is_stale = true;
        self.entrances.pause = pause;
        self.entrances.next = now() + pause;
    }

    fn look_for_entrances(&mut self) {
        let begun = now();
        let links = &self.underlay.links;
        self.entrances.found = match &self.config.underlay {
            Some(names) => {
                let named = links.iter().filter(|(_, link)| names.contains(&link.name));
                named.map(|(index, _)| *index).collect()
            }
            None => match self.underlay.ways_in(|prefix| self.compiler.has_locator_in(prefix)) {
                Some(mut found) => {
                    found.extend(self.compiler.wanted().map(|exit| exit.neighbour.interface));
                    found
                }
                None => {
                    let all = self.below();
                    // Not at each look.
                    if self.entrances.found != all {
                        tracing::warn!(
                            "the kernel does not say where all routes lead, so that packets may come by any device: \
                             name those that they may come by with `plait overlay config underlay`"
                        );
                    }
                    all
                }
            },
        };
        self.entrances.next = now() + (now() - begun) * PAUSES;
        self.entrances.is_stale = false;
    }

    fn write_entrances(&mut self) -> Result<(), AgentError> {
        let below_others = self.underlay.below_others();
        let mut open: BTreeMap<u32, u32> = BTreeMap::new();
        for index in self.below() {
            if self.entrances.found.contains(&index) {
                open.insert(index, entrance::OPEN);
            } else if below_others.contains(&index) {
                open.insert(index, entrance::BELOW);
            }
        }
        if open == self.entrances.open {
            return Ok(());
        }
        let mut before = std::mem::take(&mut self.entrances.open);
        let mut written = Ok(());
        let mut write = |index: u32, is: Option<u32>| {
            let is_written = self.tables.set_entrance(index, is);
            is_written.map_err(|error| written = Err(error)).is_ok()
        };
        // What is refused stays as it was known, so that it is tried again.
        before.retain(|index, _| open.contains_key(index) || !write(*index, None));
        let (first, then): (Vec<_>, Vec<_>) = open.into_iter().partition(|(_, is)| *is == entrance::OPEN);
        for (index, is) in first.into_iter().chain(then) {
            if before.get(&index) == Some(&is) || write(index, Some(is)) {
                before.insert(index, is);
            }
        }
        self.entrances.open = before;
        written?;
        self.follow_relays()
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
