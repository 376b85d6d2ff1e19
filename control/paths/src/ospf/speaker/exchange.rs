//! How a neighbour's database and ours come into line, and stay so: RFC 2328 sections 10.6 to 10.10 and 13.

use super::Speaker;
use crate::ospf::neighbor::{Neighbor, State};
use crate::ospf::{Lsdb, Offer};
use plait_model_wire::ospf::{Body, Description, Lsa, LsaHeader, LsaKey, Request, description_flags as flag};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Of what fits in a packet of 1,500 bytes: requests of 12 and headers of 20 bytes.
const REQUESTS: usize = 100;
const HEADERS: usize = 70;

impl Speaker {
    /// Begins to bring databases into line, or begins again.
    pub(super) fn start(&mut self, id: Ipv4Addr, now: Duration) {
        if self.neighbors.values().all(|other| other.id == id || other.state < State::Exchange) {
            // Nobody vouches for what is known. A neighbour that was set up anew starts its numbers again, too, and would
            // be older than itself.
            self.lsdb.clear();
        }
        let description = Description {
            mtu: self.config.mtu,
            options: self.config.options(),
            flags: flag::INITIAL | flag::MORE | flag::MASTER,
            sequence: 0,
            headers: Vec::new(),
        };
        let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
        neighbor.forget();
        neighbor.is_master = true;
        // The first number is one that was not lately: time; the next one is another even within a millisecond.
        neighbor.sequence = (now.as_millis() as u32).max(neighbor.sequence.wrapping_add(1));
        neighbor.sent = Some((Description { sequence: neighbor.sequence, ..description }, now));
        self.set(id, State::ExStart);
        self.repeat_description(id, now);
    }

    pub(super) fn take_description(&mut self, id: Ipv4Addr, description: Description, now: Duration) {
        let own = self.config.router;
        let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
        let Description { options, flags, sequence, .. } = description;
        let this = (options, flags, sequence);
        match neighbor.state {
            // The Hello that hears us is still under way.
            State::Init | State::TwoWay => {}
            State::ExStart => {
                let begins = flags & (flag::INITIAL | flag::MORE | flag::MASTER);
                if begins == flag::INITIAL | flag::MORE | flag::MASTER
                    && description.headers.is_empty()
                    && id > own
                {
                    neighbor.is_master = false;
                    neighbor.sequence = sequence;
                } else if begins & (flag::INITIAL | flag::MASTER) == 0
                    && sequence == neighbor.sequence
                    && id < own
                {
                    neighbor.is_master = true;
                } else {
                    return;
                }
                neighbor.last = Some(this);
                self.set(id, State::Exchange);
                self.compare(id, description, now);
            }
            state => {
                if neighbor.last == Some(this) {
                    // A slave says again what it said to it.
                    if !neighbor.is_master {
                        self.repeat_description(id, now);
                    }
                    return;
                }
                let due = neighbor.sequence.wrapping_add(u32::from(!neighbor.is_master));
                let in_order = state == State::Exchange
                    && (flags & flag::MASTER == 0) == neighbor.is_master
                    && flags & flag::INITIAL == 0
                    && neighbor.last.is_none_or(|(before, ..)| before == options)
                    && sequence == due;
                if !in_order {
                    return self.start(id, now);
                }
                neighbor.last = Some(this);
                neighbor.sequence = sequence;
                self.compare(id, description, now);
            }
        }
    }

    /// Notes what of a description is wanted, and goes on with the exchange.
    fn compare(&mut self, id: Ipv4Addr, description: Description, now: Duration) {
        let is_possible = |header: &LsaHeader| match header.key.kind {
            // Such there are none of in a stub area.
            5 | 11 => !self.config.is_stub,
            1..=4 | 7 | 9 | 10 => true,
            _ => false,
        };
        if !description.headers.iter().all(is_possible) {
            return self.start(id, now);
        }
        let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
        for header in description.headers {
            if self.lsdb.compare(&header, now) == Ordering::Greater && neighbor.wanted.len() < Lsdb::MOST {
                neighbor.wanted.insert(header.key, header);
            }
        }
        let has_more = description.flags & flag::MORE != 0;
        // We have nothing to tell: as a slave the answer is the last thing we say, as a master another question if it has more.
        let is_last = !has_more
            && (!neighbor.is_master
                || neighbor.sent.as_ref().is_some_and(|(sent, _)| sent.flags & flag::MORE == 0));
        if neighbor.is_master && !is_last {
            neighbor.sequence = neighbor.sequence.wrapping_add(1);
        }
        if !(neighbor.is_master && is_last) {
            let flags = if neighbor.is_master { flag::MASTER } else { 0 };
            let sent = Description {
                mtu: self.config.mtu,
                options: self.config.options(),
                flags,
                sequence: neighbor.sequence,
                headers: Vec::new(),
            };
            neighbor.sent = Some((sent, now));
            self.repeat_description(id, now);
        }
        if is_last {
            self.set(id, State::Loading);
        }
        self.ask_on(id, now);
    }

    pub(super) fn repeat_description(&mut self, id: Ipv4Addr, now: Duration) {
        let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
        let Some((description, at)) = &mut neighbor.sent else { return };
        *at = now;
        let body = Body::Description(description.clone());
        self.send(id, body);
    }

    /// Asks for what is wanted next, if nothing is asked for. With nothing wanted any more, we have all.
    fn ask_on(&mut self, id: Ipv4Addr, now: Duration) {
        let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
        let Neighbor { wanted, asked, .. } = neighbor;
        asked.retain(|key| wanted.contains_key(key));
        if !asked.is_empty() {
            return;
        }
        if wanted.is_empty() {
            if neighbor.state == State::Loading {
                self.set(id, State::Full);
            }
            return;
        }
        neighbor.asked = neighbor.wanted.keys().take(REQUESTS).copied().collect();
        self.ask_again(id, now);
    }

    pub(super) fn ask_again(&mut self, id: Ipv4Addr, now: Duration) {
        let Some(neighbor) = self.neighbors.get_mut(&id).filter(|of| !of.asked.is_empty()) else { return };
        neighbor.asked_at = now;
        let body = Body::Request(neighbor.asked.iter().map(|key| Request(*key)).collect());
        self.send(id, body);
    }

    /// Section 13.
    ///
    /// Choice: an instance is taken however soon it follows the last (step 5a has routers wait a second, to spare the others that
    /// they pass it on to; nothing is passed on here).
    pub(super) fn take_update(&mut self, id: Ipv4Addr, lsas: Vec<Lsa>, now: Duration) {
        let (mut heard, mut back) = (Vec::new(), Vec::new());
        for lsa in lsas {
            let header = lsa.header;
            if header.key.kind == 5 && self.config.is_stub {
                continue;
            }
            let offer = self.lsdb.offer(lsa, now);
            let Some(neighbor) = self.neighbors.get_mut(&id) else { return };
            let fits = |wanted: &LsaHeader| header.newer(wanted) != Ordering::Less;
            match offer {
                Offer::Refused => continue,
                // There will be no room for it later either, and all else is to be asked for.
                Offer::NoRoom => drop(neighbor.wanted.remove(&header.key)),
                Offer::Taken | Offer::Known => {
                    if neighbor.wanted.get(&header.key).is_some_and(fits) {
                        neighbor.wanted.remove(&header.key);
                    }
                    heard.push(header);
                }
                Offer::Older(newer) => {
                    if neighbor.wanted.contains_key(&header.key) && neighbor.state < State::Full {
                        // Asked for something newer than is known, it gave something older.
                        return self.start(id, now);
                    }
                    back.push(*newer);
                }
            }
        }
        for headers in heard.chunks(HEADERS) {
            self.send(id, Body::Acknowledgment(headers.to_vec()));
        }
        for lsa in back {
            self.update(id, lsa);
        }
        self.ask_on(id, now);
    }

    /// It asks for what was never described to it: what is known is given, as it may have been sent back to it.
    pub(super) fn answer(&mut self, id: Ipv4Addr, wanted: &[Request], now: Duration) {
        let keys: BTreeSet<LsaKey> = wanted.iter().map(|Request(key)| *key).collect();
        if !keys.iter().all(|key| self.lsdb.contains(key)) {
            return self.start(id, now);
        }
        for key in keys {
            // Nothing that we have is so long that several of them fit in a packet for sure.
            let Some(lsa) = self.lsdb.get(&key, now) else { continue };
            self.update(id, lsa);
        }
    }
}
