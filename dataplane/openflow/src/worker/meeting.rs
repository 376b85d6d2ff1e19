//! What a worker does with a switch that has said who it is: whether it is believed, and what it is told first.
//!
//! Whoever connects may say any datapath. Choice: the connection that is there stays, as long as it answers, since the switch that
//! it belongs to would otherwise lose it to whoever names its datapath. One that has ended, or does not answer an echo request in
//! time, makes way; and so does one whose switch showed the certificate that the newer one shows, too.

use super::Worker;
use crate::link::Link;
use crate::shared::Shared;
use crate::statistics::Counters;
use plait_control_openflow::{Command, Debt, News, NotTold, Probes, Role, Switchboard, Waiting};
use std::sync::atomic::Ordering;

impl Worker<'_> {
    /// Has applications meet a switch, of which `news` says that it is connected, unless another of its datapath is.
    pub(super) fn meet(&mut self, slot: u32, datapath: u64, news: News) {
        let shared = self.shared;
        let mut refused = false;
        shared.brain.news_if(shared.now(), datapath, news, &mut self.outcome, |switchboard| {
            let before = shared.routes().get(&datapath).copied().filter(|before| *before != slot);
            let left =
                before.map_or(Some(Debt::default()), |before| makes_way(shared, datapath, before, slot));
            refused = left.is_none();
            if let Some(left) = left {
                settle(shared, switchboard, datapath, slot, left);
                // Only now can anybody tell it anything.
                shared.found(datapath, slot);
            }
            !refused
        });
        let mut held = shared.slots[slot as usize].hold();
        let Some(link) = held.as_mut() else { return };
        if !refused {
            self.take_packets(slot, link);
        }
        let address = link.session.address();
        let number = format_args!("{datapath:016x}");
        if !refused {
            tracing::info!(datapath = %number, address, "a switch");
            return;
        }
        shared.claims.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            datapath = %number, address,
            "a connection was refused: a switch of this datapath is connected, and has not ended"
        );
        link.session.refuse_datapath();
        link.ending = Some(shared.now());
        shared.set_ready(slot, true);
    }
}

impl Worker<'_> {
    /// Takes packets that a switch sent before applications met it.
    fn take_packets(&mut self, slot: u32, link: &mut Link) {
        let before = self.requests.len() + self.probes.len();
        let (requests, probes) = (&mut self.requests, &mut self.probes);
        let lost = link.session.take_packets(|packet| match Probes::includes(&packet) {
            true => probes.push(&packet),
            false => requests.push(&packet),
        });
        let taken = (self.requests.len() + self.probes.len() - before) as u64;
        Counters::add(&self.counters.requests, taken);
        Counters::add(&self.counters.early, lost);
        if let Some(bound) = self.bound.as_mut().filter(|_| taken > 0) {
            bound.joined(Waiting { came: self.shared.now(), bytes: 0 });
        }
        self.shared.slots[slot as usize].requests.fetch_add(taken, Ordering::Relaxed);
    }
}

/// Whether the connection of this datapath in one slot makes way for that in the other: what its switch may not have done.
fn makes_way(shared: &Shared, datapath: u64, before: u32, slot: u32) -> Option<Debt> {
    let certificate = shared.slots[slot as usize]
        .hold()
        .as_ref()
        .and_then(|link| link.stream.certificate().map(<[u8]>::to_vec));
    let mut held = shared.slots[before as usize].hold();
    let Some(link) = held.as_mut().filter(|link| link.is_of(datapath)) else { return Some(Debt::default()) };
    let has_ended = link.ending.is_some() || link.session.connection.is_closed() || link.stream.has_ended();
    let is_same = certificate.is_some_and(|certificate| link.stream.certificate() == Some(&certificate));
    if !has_ended && !is_same {
        // If it does not live, whoever connects next is believed.
        link.session.connection.challenge(shared.now());
        link.flush();
        return None;
    }
    link.session.connection.close();
    link.ending = Some(shared.now());
    shared.set_ready(before, true);
    Some(link.session.take_owed())
}

/// Tells a switch what it is owed, before anybody else can tell it anything. Of whom we are slave another has the flows: what it was
/// owed is forgotten, lest it deletes what that one has set up.
fn settle(shared: &Shared, switchboard: &mut Switchboard, datapath: u64, slot: u32, left: Debt) {
    let mut owed = switchboard.take_owed(datapath);
    let mut held = shared.slots[slot as usize].hold();
    let Some(link) = held.as_mut().filter(|link| link.session.role() != Role::Slave) else { return };
    owed.join(left);
    if owed.is_empty() {
        return;
    }
    let version = link.session.version();
    let commands = owed.commands(version);
    tracing::info!(
        datapath = %format_args!("{datapath:016x}"), deletions = commands.len(),
        "a switch is there again, and is told what it missed"
    );
    for command in commands {
        // What is not sent is owed as before. Of what it was to delete when it spoke another version this one may have no words.
        if let Err(NotTold::Unsaid(_)) = link.session.tell(&command) {
            let _ = link.session.tell(&Command::delete_own(version));
        }
    }
    link.session.settle();
    link.flush();
}
