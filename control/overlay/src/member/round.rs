//! What is due every interval, and what nodes tell each other of who is there.

use super::known::Known;
use super::{MISSED, Member};
use crate::message::{Introduced, LARGEST, MOST_DELAYS, Message, Report};
use plait_model_overlay::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// A report says something new when a delay differs by this part of it, and by this much at least: what is measured
/// always trembles, and every new report makes all nodes compute.
const HYSTERESIS: (u32, Duration) = (10, Duration::from_micros(500));
/// The token of a probe whose echo is no measurement.
const UNMEASURED: u64 = 0;

impl Member {
    /// What is due every interval: who is gone, a probe to each, and this node's report.
    pub(super) fn round(&mut self, now: Duration) {
        let silence = self.config.interval * MISSED;
        for (node, known) in &mut self.known {
            if known.lose(now, silence) {
                self.near.remove(node);
                self.stale = true;
            }
            if known.is_silent(now, silence) {
                self.matrix.forget(*node);
                self.stale = true;
            }
        }
        let long = silence * 20;
        self.gone.retain(|_, (_, until)| now < *until);
        self.known.retain(|node, known| {
            let is_forgotten = known.is_forgotten(now, long);
            if let Some(introduced) = known.introduced.as_ref().filter(|_| is_forgotten) {
                self.gone.insert(*node, (introduced.incarnation, now + 2 * long));
            }
            !is_forgotten
        });
        for node in self.probed() {
            self.probe(now, node);
        }
        self.compare_with_anyone();
        let seeds: Vec<IpAddr> = self.config.seeds.clone();
        for seed in seeds {
            // One that is a member is probed as such.
            if !self.known.values().any(|known| known.address() == Some(seed)) {
                let digest = self.digest();
                self.send(seed, Message::Probe { token: UNMEASURED, digest });
            }
        }
        self.tell_delays(now);
    }

    /// Where few are measured, tells one of all others by lot what this node knows: it answers when it knows something else.
    /// Choice: anti-entropy (Demers et al., PODC 1987), so that news reaches N nodes after about log N intervals; along those
    /// that are measured it would take N over their number.
    fn compare_with_anyone(&mut self) {
        if self.config.neighbours.is_none_or(|most| most >= self.known.len()) {
            return;
        }
        let place = self.draws.next() % self.known.len() as u64;
        if let Some(to) = self.known.values().nth(place as usize).and_then(Known::address) {
            let digest = self.digest();
            self.send(to, Message::Probe { token: UNMEASURED, digest });
        }
    }

    /// Those that this node measures its way to.
    pub(super) fn probed(&self) -> Vec<NodeId> {
        let all: Vec<NodeId> = self.known.keys().copied().collect();
        let Some(most) = self.config.neighbours.filter(|most| *most < all.len()) else { return all };
        let place = all.partition_point(|node| *node < self.config.own);
        let distances = distances(all.len() + 1, most.div_ceil(2));
        // Who probes is probed by, since before and after are the same distances.
        let after = distances.iter().map(|step| all[(place + step - 1) % all.len()]);
        let before = distances.iter().take(most / 2).map(|step| all[(place + all.len() - step) % all.len()]);
        after.chain(before).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn probe(&mut self, now: Duration, node: NodeId) {
        let digest = self.digest();
        let Some(known) = self.known.get_mut(&node) else { return };
        let token = self.draws.next();
        if let Some(to) = known.probed(now, token) {
            self.send(to, Message::Probe { token, digest });
        }
    }

    /// This node's delays, as everyone is told.
    fn tell_delays(&mut self, now: Duration) {
        let interval = self.config.interval;
        let mut delays = BTreeMap::new();
        for node in &self.near {
            if let Some(known) = self.known.get_mut(node)
                && known.is_near(now, interval)
                && let Some(delay) = known.told(HYSTERESIS)
            {
                delays.insert(*node, delay);
            }
        }
        // A number each round, so that others hear that this node is there, and pass each report on once.
        self.report += 1;
        if self.matrix.of(self.config.own) != Some(&delays) {
            self.matrix.report(self.config.own, delays.clone());
            self.stale = true;
        }
        let delays: Vec<(NodeId, Duration)> = delays.into_iter().collect();
        let parts: Vec<&[(NodeId, Duration)]> = match delays.is_empty() {
            true => vec![&[]],
            false => delays.chunks(MOST_DELAYS).collect(),
        };
        let to: Vec<IpAddr> = self
            .near
            .iter()
            .filter_map(|node| self.known.get(node))
            .filter(|known| known.is_near(now, interval))
            .filter_map(Known::address)
            .collect();
        for to in to {
            for (part, delays) in parts.iter().enumerate() {
                let report = Report {
                    node: self.config.own,
                    incarnation: self.incarnation,
                    number: self.report,
                    part: (part as u8, parts.len() as u8),
                    delays: delays.to_vec(),
                };
                self.send(to, Message::Report(report));
            }
        }
    }

    /// This node, and everyone it knows, to an address.
    pub(super) fn introduce_all(&mut self, to: IpAddr) {
        let others: Vec<Introduced> =
            self.known.values().filter_map(|known| known.introduced.clone()).collect();
        self.introduce(to, [self.introduction()].into_iter().chain(others));
    }

    /// Who this node is.
    pub(super) fn introduction(&self) -> Introduced {
        Introduced {
            node: self.config.own,
            incarnation: self.incarnation,
            revision: self.revision,
            locators: self.config.locators.clone(),
        }
    }

    pub(super) fn introduce(&mut self, to: IpAddr, nodes: impl IntoIterator<Item = Introduced>) {
        let mut messages: Vec<Vec<Introduced>> = vec![Vec::new()];
        let mut room = LARGEST - 40;
        for introduced in nodes {
            if introduced.length() > room {
                messages.push(Vec::new());
                room = LARGEST - 40;
            }
            room = room.saturating_sub(introduced.length());
            messages.last_mut().expect("one at least").push(introduced);
        }
        for members in messages {
            self.send(to, Message::Members(members));
        }
    }

    /// The same for two nodes that know the same lives and locators of the same nodes.
    pub(super) fn digest(&self) -> u64 {
        let own = (self.config.own.0, self.incarnation, self.revision);
        let others = self.known.iter().filter_map(|(node, known)| {
            let introduced = known.introduced.as_ref()?;
            Some((node.0, introduced.incarnation, introduced.revision))
        });
        // The sum does not depend on the order; the seal keeps those who would forge one out.
        [own].into_iter().chain(others).fold(0u64, |sum, (node, incarnation, revision)| {
            let mixed = (u64::from(node) << 32 | u64::from(revision)) ^ incarnation.rotate_left(17);
            sum.wrapping_add(mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
        })
    }
}

/// So many distances on a ring of so many nodes, three at least: 1 and, ever longer, the powers of two about n^(1/k), n^(2/k), …, n^((k−1)/k), so
/// that k on either side make ways of about k·n^(1/k)/2 hops at most. Choice: powers of two, since another distance is another
/// neighbour for every node, and so it changes when the nodes are twice as many, and not with each that joins.
fn distances(nodes: usize, count: usize) -> Vec<usize> {
    let bits = nodes.ilog2() as usize;
    let mut distances = Vec::with_capacity(count);
    let mut longest = 0;
    for place in 0..count {
        let exponent = (2 * bits * place + count) / (2 * count);
        // None is longer than half of the ring, where those that are as near are not too many.
        longest = (longest + 1).max(1 << exponent.min(bits - 1));
        distances.push(longest);
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_grow_by_the_same_factor() {
        assert_eq!(distances(1000, 4), [1, 4, 32, 128]);
        assert_eq!(distances(24, 2), [1, 4]);
        assert_eq!(distances(10, 4), [1, 2, 4, 5]);
        assert_eq!(distances(3, 1), [1]);
    }

    #[test]
    fn any_number_of_neighbours_has_distances_on_any_ring() {
        for nodes in 3..200 {
            for most in 1..nodes - 1 {
                let distances = distances(nodes, usize::div_ceil(most, 2));
                assert!(
                    distances.is_sorted() && distances.iter().all(|distance| (1..nodes).contains(distance))
                );
            }
        }
    }
}
