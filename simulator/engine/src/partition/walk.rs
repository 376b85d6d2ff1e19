//! A packet's way through a node.

use super::Partition;
use crate::encapsulation::StackIndex;
use crate::fabric::{DirectionNumber, Fabric, Hop, Kind, Node, ON_LINK, Way};
use crate::hash::{choose, flow_hash};
use crate::packet::{NO_FLOW, Packet, flag};
use crate::reason::Reason;
use crate::selector::{Leaving, Selected};
use crate::source::nanos;
use plait_model_link::Parcel;
use std::time::Duration;

impl Partition {
    /// A node sends a packet of its own.
    #[inline]
    pub fn transmit(&mut self, fabric: &Fabric, now: u64, node: u32, packet: Box<Parcel<Packet>>) {
        let way = &fabric.ways[node as usize];
        self.nodes[way.local as usize].sent += 1;
        self.pass(fabric, now, node, way, packet, false);
    }

    /// A packet comes to a node by a direction.
    #[inline]
    pub fn arrive(
        &mut self,
        fabric: &Fabric,
        now: u64,
        at: u32,
        by: DirectionNumber,
        packet: Box<Parcel<Packet>>,
    ) {
        let way = &fabric.ways[at as usize];
        if fabric.captures {
            self.log.note(fabric, now, by ^ 1, &packet);
        }
        if packet.stack != StackIndex::NONE
            && !fabric.borders.is_empty()
            && fabric.borders.contains(&(by, fabric.stacks[packet.stack.0 as usize].source))
        {
            return self.nodes[way.local as usize].drop(Reason::Forged);
        }
        if way.kind == Kind::Switch {
            return self.bridge(fabric, now, &fabric.nodes[at as usize], packet);
        }
        self.pass(fabric, now, at, way, packet, true);
    }

    /// Whether a packet that comes to a node with one bit wrong is taken. In a header the next one to check it sees that
    /// and drops it; behind the outermost one it goes on, until its receiver checks the rest.
    pub fn survives_damage(&mut self, fabric: &Fabric, at: u32, packet: &mut Packet, bit: u64) -> bool {
        let byte = bit % (u64::from(packet.frame.max(1)) * 8) / 8;
        let outermost = if fabric.addresses.address(outer(fabric, packet)).is_ipv6() { 54 } else { 34 };
        if byte < outermost {
            let place = fabric.nodes[at as usize].place.local as usize;
            self.nodes[place].drop(Reason::Damaged);
            return false;
        }
        packet.flags |= flag::DAMAGED;
        true
    }

    /// Whose is it? ─► own: off with a tunnel header and again, or up; else to a next hop.
    ///
    /// Choice: what only packets of tunnels and those that are where they were to go need stands in calls of its own. Compiled into
    /// this, it would cost each hop what it keeps at hand, a twentieth of all its instructions.
    #[inline]
    fn pass(
        &mut self,
        fabric: &Fabric,
        now: u64,
        at: u32,
        way: &Way,
        mut packet: Box<Parcel<Packet>>,
        mut has_come: bool,
    ) {
        let mut to = fabric.target(outer(fabric, &packet));
        while to.owner == at {
            if packet.stack == StackIndex::NONE {
                return self.deliver(fabric, now, way, packet);
            }
            if !self.unwrap(fabric, at, way, &mut packet) {
                return;
            }
            has_come = true;
            to = fabric.target(outer(fabric, &packet));
        }
        let counters = &mut self.nodes[way.local as usize];
        if has_come {
            if way.kind == Kind::Host {
                return counters.drop(Reason::NotForUs);
            }
            if packet.ttl <= 1 {
                return counters.drop(Reason::Expired);
            }
            packet.ttl -= 1;
            counters.forwarded += 1;
        }
        let hops = fabric.hops(way, to);
        let hop = match hops {
            [] => return counters.drop(Reason::NoRoute),
            [only] => *only,
            several => several[choose(packet.hash, way.hash_seed, several.len() as u32) as usize],
        };
        if packet.frame > hop.largest {
            return counters.drop(Reason::TooBig);
        }
        packet.station = match hop.station {
            ON_LINK => to.station,
            station => station,
        };
        if !has_come && !fabric.selectors.is_empty() {
            match self.select(fabric, now, hop, &mut packet) {
                Ok(at) if at > now => return self.hold(at, hop.out, packet),
                Ok(_) => {}
                Err(reason) => return self.nodes[way.local as usize].drop(reason),
            }
        }
        self.leave(fabric, now, hop.out, packet);
    }

    /// Takes a header off a packet that is for this node, or counts it as dropped.
    #[inline(never)]
    fn unwrap(&mut self, fabric: &Fabric, at: u32, way: &Way, packet: &mut Packet) -> bool {
        let counters = &mut self.nodes[way.local as usize];
        let is_relay = decapsulate(fabric, &fabric.nodes[at as usize], packet);
        if is_relay {
            counters.decapsulated += 1;
        } else {
            counters.drop(Reason::NotDecapsulated);
        }
        is_relay
    }

    /// A packet leaves its node. A part of whoever calls it: a hop has no call to spare.
    #[inline(always)]
    pub(super) fn leave(
        &mut self,
        fabric: &Fabric,
        now: u64,
        out: DirectionNumber,
        packet: Box<Parcel<Packet>>,
    ) {
        if fabric.captures {
            self.log.note(fabric, now, out, &packet);
        }
        self.depart(fabric, now, out, packet);
    }

    /// Gives a packet that is about to leave by a next hop the relays that its interface's selector names. When it leaves.
    fn select(&mut self, fabric: &Fabric, now: u64, hop: Hop, packet: &mut Packet) -> Result<u64, Reason> {
        if packet.stack != StackIndex::NONE || !self.selectors.contains_key(&hop.out) {
            return Ok(now);
        }
        // Those that were held until now go before it.
        self.let_go(fabric, now);
        let Some(selector) = self.selectors.get_mut(&hop.out) else { return Ok(now) };
        let [source, destination] =
            [packet.source, packet.destination].map(|address| fabric.addresses.address(address));
        let (frame, mtu) = (packet.frame, hop.largest - ETHERNET);
        let (protocol, ports) = (packet.protocol(), packet.udp_ports());
        let leaving = Leaving { source, destination, protocol, ports, frame, mtu };
        let Selected { relays, at } = selector.select(Duration::from_nanos(now), &leaving)?;
        wear(fabric, packet, relays).ok_or(Reason::NoRoute)?;
        if packet.frame > hop.largest { Err(Reason::TooBig) } else { Ok(nanos(at)) }
    }

    /// A switch passes a frame on to where its station is.
    fn bridge(&mut self, fabric: &Fabric, now: u64, node: &Node, packet: Box<Parcel<Packet>>) {
        let counters = &mut self.nodes[node.place.local as usize];
        let Some(&out) = node.stations.get(&packet.station) else {
            return counters.drop(Reason::NoStation);
        };
        if packet.frame > fabric.links[(out / 2) as usize].largest {
            return counters.drop(Reason::TooBig);
        }
        counters.forwarded += 1;
        self.leave(fabric, now, out, packet);
    }

    /// A packet is where it was to go.
    #[inline(never)]
    fn deliver(&mut self, fabric: &Fabric, now: u64, way: &Way, packet: Box<Parcel<Packet>>) {
        let counters = &mut self.nodes[way.local as usize];
        if packet.flags & flag::DAMAGED != 0 {
            return counters.drop(Reason::Damaged);
        }
        if packet.flow == NO_FLOW {
            return self.deliver_to_host(fabric, now, way, &packet);
        }
        counters.received += 1;
        let sink = &mut self.sinks[fabric.flows[packet.flow as usize].sink.local as usize];
        let seen = &mut sink.counters;
        seen.arrive(now, packet.sent, u64::from(packet.payload()));
        seen.marked += u64::from(packet.flags & flag::MARKED != 0);
        // Whether one comes late nobody can foretell, so it is no branch.
        seen.reordered += u64::from(packet.number < sink.next);
        sink.next = sink.next.max(packet.number + 1);
        self.spare.keep(packet);
    }
}

/// What the outermost header is for.
#[inline]
fn outer(fabric: &Fabric, packet: &Packet) -> crate::address::AddressIndex {
    if packet.stack == StackIndex::NONE {
        return packet.destination;
    }
    fabric.stacks[packet.stack.0 as usize].level(packet.position).relay
}

/// Takes off a tunnel's header, or sends it on to the next relay of its list, where the node is a relay for its source.
fn decapsulate(fabric: &Fabric, node: &Node, packet: &mut Packet) -> bool {
    let stack = &fabric.stacks[packet.stack.0 as usize];
    if !node.decapsulates.contains(&stack.source) {
        return false;
    }
    let (level, has_list) = (stack.level(packet.position), stack.encapsulation.has_list());
    packet.position += 1;
    let next = stack.levels.get(usize::from(packet.position));
    // Who is here is not on the way to itself.
    if has_list && next.is_some_and(|next| next.relay == level.relay) {
        return false;
    }
    packet.frame -= level.length;
    let inner = inner_hash(fabric, packet);
    if next.is_some() {
        // Each header has hops of its own; those outside it used none of them. One with a list has them for all of the way.
        if !has_list {
            packet.ttl = crate::packet::TTL;
        }
        packet.hash = stack.hash(packet.position, inner);
    } else {
        packet.ttl = packet.inner_ttl;
        packet.stack = StackIndex::NONE;
        packet.position = 0;
        packet.hash = inner;
    }
    true
}

/// Puts the headers of a list of relays before a packet that has none. None if nobody knows the list.
pub(crate) fn wear(fabric: &Fabric, packet: &mut Packet, relays: StackIndex) -> Option<()> {
    if relays != StackIndex::NONE {
        let stack = fabric.stacks.get(relays.0 as usize)?;
        packet.stack = relays;
        packet.ttl = crate::packet::TTL;
        packet.hash = stack.hash(0, packet.hash);
        packet.frame = packet.frame.checked_add(stack.length())?;
    }
    Some(())
}

/// What switches hash of a packet without any stack.
pub(crate) fn inner_hash(fabric: &Fabric, packet: &Packet) -> u32 {
    let [source, destination] =
        [packet.source, packet.destination].map(|address| fabric.addresses.address(address));
    flow_hash(source, destination, packet.protocol(), packet.udp_ports())
}

/// Bytes of an Ethernet header.
const ETHERNET: u32 = 14;
