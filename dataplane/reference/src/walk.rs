//! A packet's way through a node, by the tables alone.

mod arrive;
mod congestion;
mod forward;
mod parcel;
mod place;
mod too_big;

use crate::Table;
use crate::drivers::{Drivers, Payload};
use crate::tables::*;
use parcel::Parcel;
use plait_model_wire::ethernet::Frame;
use plait_model_wire::number::ether_type;
use plait_model_wire::ovstack;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The tables of a node, and what it counted.
#[derive(Debug, Clone, Default)]
pub struct Walk {
    /// From identifiers to where they are.
    pub fib: Table<FibKey, FibEntry>,
    /// From nodes and groups to paths.
    pub nodes: Table<NodeKey, u32>,
    /// A kind in the upper half, an index in the lower.
    pub paths: Table<u32, u64>,
    /// What fits each path, as relays said: a second in the upper half, bytes in the lower.
    pub limits: Table<u32, u64>,
    /// Next hops.
    pub hops: Table<u32, Hop>,
    /// Next hops that all get a copy.
    pub groups: Table<u32, Group>,
    /// Outer headers.
    pub wires: Table<u32, Wire>,
    /// Indices of slots.
    pub adjacencies: Table<u32, u64>,
    /// Neighbours.
    pub adjacency_slots: Table<u32, Adjacency>,
    /// Applications by their numbers.
    pub applications: Table<u32, Application>,
    /// Tenants by their numbers on this node.
    pub tenants: Table<u32, Tenant>,
    /// From VNIs to tenants.
    pub vnis: Table<VniKey, u32>,
    /// Pairs of another's locator and an own one.
    pub peers: Table<PeerKey, Peer>,
    /// Own locators.
    pub endpoints: Table<EndpointKey, u32>,
    /// What devices are to packets that come by them: [`entrance`].
    pub entrances: Table<u32, u32>,
    /// Where the kernel finds ways for what nobody knows.
    pub ways_out: Table<u32, WayOut>,
    /// Whose a locator is.
    pub locators: Table<LocatorKey, u32>,
    /// What devices carry, and what of it names where it goes.
    pub drivers: Drivers,
    /// What was counted.
    pub counts: Counts,
}

/// What a node counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that went no further, by reason.
    pub drops: BTreeMap<Drop, u64>,
    /// What tenants' devices sent and received, and did not know.
    pub tenants: BTreeMap<u32, TenantCount>,
    /// What took each path.
    pub paths: BTreeMap<u32, Count>,
    /// What was sent to each next hop, by its path.
    pub hops: BTreeMap<u32, Count>,
    /// What was sent by each wire.
    pub wires: BTreeMap<u32, Count>,
}

/// A packet that leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The interface that it leaves by, or comes up by; nought of what comes up by the one that it came by.
    pub interface: u32,
    /// Whether it comes up, to this node's own stack.
    pub is_up: bool,
    /// The frame.
    pub frame: Vec<u8>,
    /// To whom it leaves; none of what comes up, of what leaves by the kernel's own route, for which the kernel finds the
    /// neighbour: its frame is as it came; and of what leaves by a tenant's device, where it is [transmitted](Walk::transmit) anew.
    pub via: Option<Via>,
}

/// A next hop, and how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Via {
    /// Its identity.
    pub node: u32,
    /// The weight of the pair of locators that the flow keeps to.
    pub weight: u32,
    /// The sum of all pairs' weights.
    pub weights: u32,
}

/// What became of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is none of the overlay's.
    Next,
    /// It, and copies of it, in the order they leave; none if it was dropped.
    Sent(Vec<Sent>),
}

/// An address as tables have it.
pub fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// What becomes of a packet that nobody knows: it leaves by the kernel's own route, on the device that its tenant names.
fn fallen_back(way: Option<WayOut>, bytes: &[u8]) -> Result<Sent, Drop> {
    let [four, six] = way.ok_or(Drop::UnknownIdentifier)?.interfaces;
    let interface = match Frame::parse(bytes).map(|frame| frame.ether_type()) {
        Ok(ether_type::IPV4) => four,
        Ok(ether_type::IPV6) => six,
        _ => 0,
    };
    match interface {
        0 => Err(Drop::UnknownIdentifier),
        _ => Ok(Sent { interface, is_up: false, frame: bytes.to_vec(), via: None }),
    }
}

/// What left of a packet; and of copies that were too big, how many bytes of payload would have fitted all of them.
struct Left {
    sent: Vec<Sent>,
    room: Option<u32>,
}

impl From<Sent> for Left {
    fn from(sent: Sent) -> Self {
        Self { sent: vec![sent], room: None }
    }
}

/// Why a packet does not leave; of one that is too big, how many bytes of payload would fit.
struct Refusal {
    reason: Drop,
    room: Option<u32>,
}

impl From<Drop> for Refusal {
    fn from(reason: Drop) -> Self {
        Self { reason, room: None }
    }
}

impl Walk {
    /// A frame leaves a tenant's device, at a second of the clock that [`FibEntry::heard`] tells. `flow` is the kernel's
    /// hash of the packet, by which flows are told apart.
    pub fn transmit(&mut self, device: &Device, frame: &[u8], flow: u32, second: u32) -> Outcome {
        let sent = self.begin(device, frame, flow, second);
        self.done(sent)
    }

    /// A frame comes in by the underlay, at a second of the clock that [`FibEntry::heard`] tells. Of the device nothing is asked, as
    /// where nobody knows by which it will come.
    pub fn receive(&mut self, frame: &[u8], second: u32) -> Outcome {
        self.come(frame, Some(entrance::OPEN), second)
    }

    /// The same of one that comes by a device.
    pub fn receive_by(&mut self, interface: u32, frame: &[u8], second: u32) -> Outcome {
        let entrance = self.entrances.get(&interface);
        self.come(frame, entrance, second)
    }

    fn come(&mut self, frame: &[u8], entrance: Option<u32>, second: u32) -> Outcome {
        match self.arrive(frame, entrance) {
            Ok(Some(parcel)) => {
                let sent = self.pass(parcel, second);
                self.done(sent)
            }
            Ok(None) => Outcome::Next,
            Err(reason) => self.done(Err(reason)),
        }
    }

    /// A frame leaves by the underlay that none of these programs sent: one of this host's own, or one that it forwards.
    pub fn guard(&mut self, frame: &[u8], is_own: bool) -> Outcome {
        if self.is_forged(frame, is_own) { self.done(Err(Drop::Forged)) } else { Outcome::Next }
    }

    fn done(&mut self, sent: Result<Vec<Sent>, Drop>) -> Outcome {
        Outcome::Sent(sent.unwrap_or_else(|reason| {
            self.drop(reason);
            Vec::new()
        }))
    }

    fn drop(&mut self, reason: Drop) {
        *self.counts.drops.entry(reason).or_default() += 1;
    }

    /// identify ─► FIB ─► path.
    fn begin(&mut self, device: &Device, frame: &[u8], flow: u32, second: u32) -> Result<Vec<Sent>, Drop> {
        let tenant = self.tenants.get(&device.tenant).ok_or(Drop::UnknownTenant)?;
        let application = self.applications.get(&tenant.application).ok_or(Drop::Malformed)?;
        let driver = self.drivers.get(device.driver).ok_or(Drop::Malformed)?;
        let (identifier, mut parcel) =
            Parcel::identify(driver, device, frame, flow).ok_or(Drop::Malformed)?;
        parcel.overlay = ovstack::Repr {
            application: tenant.application as u8,
            vni: tenant.vni,
            source: ovstack::NodeId(application.own),
            ttl: application.ttl as u8,
            ..parcel.overlay
        };
        let (node, path) = match self.fib.get_mut(&FibKey { tenant: device.tenant, identifier }) {
            Some(entry) => {
                entry.packets += 1;
                entry.bytes += frame.len() as u64;
                (entry.node, entry.path)
            }
            None => {
                self.counts.tenants.entry(device.tenant).or_default().missed.add(frame.len());
                if tenant.unknown_node == 0 {
                    return fallen_back(self.ways_out.get(&tenant.way_out), frame).map(|sent| vec![sent]);
                }
                (tenant.unknown_node, tenant.unknown_path)
            }
        };
        parcel.overlay.destination = ovstack::NodeId(node);
        let (payload, bytes) = (parcel.payload, parcel.carried.len());
        let limit = self.exceeded(path, bytes, second);
        // Copies for those of a group whom it fits leave all the same.
        let left = if limit.is_some() && !self.leads_to_many(path) {
            Err(Refusal { reason: Drop::TooBig, room: limit })
        } else {
            self.counts.tenants.entry(device.tenant).or_default().sent.add(frame.len());
            self.follow(path, &parcel, &application, second)
        };
        let Left { mut sent, room } = self.refused(left)?;
        let room = limit.into_iter().chain(room).min();
        sent.extend(room.and_then(|room| too_big::tell_host(&tenant, payload, frame, room)));
        Ok(sent)
    }

    /// What is too big is counted, and something is said about it: nothing of it left, and there is room for less.
    fn refused(&mut self, left: Result<Left, Refusal>) -> Result<Left, Drop> {
        left.or_else(|Refusal { reason, room }| match room {
            None => Err(reason),
            Some(_) => {
                self.drop(reason);
                Ok(Left { sent: Vec::new(), room })
            }
        })
    }

    /// known peer? ─► own: deliver; else path.
    fn pass(&mut self, mut parcel: Parcel, second: u32) -> Result<Vec<Sent>, Drop> {
        let application = self.applications.get(&u32::from(parcel.overlay.application));
        let application =
            application.filter(|application| application.own != 0).ok_or(Drop::UnknownTenant)?;
        if parcel.payload == Payload::Unsaid {
            let are_frames =
                self.drivers.get(application.driver).is_some_and(|of| of.takes(Payload::Ethernet));
            parcel.payload = if are_frames { Payload::Ethernet } else { Payload::of_ip(&parcel.carried) };
        }
        let elsewhere = if parcel.placed { None } else { Some(self.place(&mut parcel, &application)?) };
        if parcel.overlay.source.0 == application.own {
            return Err(Drop::UnknownSource);
        }
        if parcel.overlay.destination.0 == application.own {
            return match parcel.payload {
                Payload::Control => self.heed(&parcel, second).map(|()| Vec::new()),
                _ => self.deliver(&parcel, false, second).map(|sent| vec![sent]),
            };
        }
        if parcel.overlay.ttl <= 1 {
            return Err(Drop::Expired);
        }
        parcel.overlay.ttl -= 1;
        let path = match elsewhere {
            Some(path) => path,
            None => self.path(&parcel).ok_or(Drop::NoRoute)?,
        };
        if parcel.payload == Payload::Control && !self.is_told(path, &parcel) {
            return self.heed(&parcel, second).map(|()| Vec::new());
        }
        let exceeded = if parcel.placed { None } else { self.exceeded(path, parcel.carried.len(), second) };
        let left = match exceeded {
            Some(_) => Err(Refusal { reason: Drop::TooBig, room: exceeded }),
            None => self.follow(path, &parcel, &application, second),
        };
        let Left { mut sent, room } = self.refused(left)?;
        let Some(room) = room else { return Ok(sent) };
        if !parcel.placed {
            sent.extend(self.answer_host(&parcel, room));
            return Ok(sent);
        }
        let answer = parcel.answer(room, &application);
        if let Some(answer) = answer
            && let Some(path) = self.path(&answer)
        {
            match self.follow(path, &answer, &application, second) {
                Ok(left) => sent.extend(left.sent),
                Err(refusal) => self.drop(refusal.reason),
            }
        }
        Ok(sent)
    }

    /// Where a packet's destination is reached.
    fn path(&self, parcel: &Parcel) -> Option<u32> {
        let application = parcel.overlay.application.into();
        self.nodes.get(&NodeKey { application, node: parcel.overlay.destination.0 })
    }

    /// Off with the outer header, and up through the tenant's device; a copy never by another.
    fn deliver(&mut self, parcel: &Parcel, is_copy: bool, second: u32) -> Result<Sent, Drop> {
        // What is said to a group is nobody's.
        if parcel.payload == Payload::Control {
            return Err(Drop::Malformed);
        }
        let key = VniKey { application: parcel.overlay.application.into(), vni: parcel.overlay.vni };
        let number = self.vnis.get(&key).ok_or(Drop::UnknownTenant)?;
        let tenant = self.tenants.get(&number).ok_or(Drop::UnknownTenant)?;
        let driver = self.drivers.get(tenant.driver).filter(|driver| driver.takes(parcel.payload));
        let driver = driver.ok_or(Drop::UnknownTenant)?;
        if parcel.carried.len() < parcel.payload.least() {
            return Err(Drop::Malformed);
        }
        if driver.learns() {
            self.learn(number, parcel, second)?;
        }
        let mut parcel = parcel.clone();
        if !parcel.tell_congestion() {
            return Err(Drop::Congestion);
        }
        let frame = parcel.stripped(tenant.address);
        self.counts.tenants.entry(number).or_default().received.add(parcel.carried.len());
        let stays = !is_copy && tenant.in_place != 0 && parcel.may_stay(tenant.address);
        let interface = if stays { 0 } else { tenant.interface };
        Ok(Sent { interface, is_up: true, frame, via: None })
    }

    /// Whether what is for it comes up here, as is so of groups that this node is in, and of no other node.
    fn comes_up(&self, path: u32) -> bool {
        let word = self.paths.get(&path).unwrap_or(0);
        match (word >> 32) as u32 {
            path::OWN => true,
            path::GROUP => self.groups.get(&(word as u32)).is_some_and(|group| group.includes_own != 0),
            _ => false,
        }
    }

    /// Whether a path leads to a group.
    fn leads_to_many(&self, path: u32) -> bool {
        self.paths.get(&path).is_some_and(|word| (word >> 32) as u32 == path::GROUP)
    }

    /// Where a station is, from what it sends.
    fn learn(&mut self, tenant: u32, parcel: &Parcel, second: u32) -> Result<(), Drop> {
        let station = match Frame::parse(&parcel.carried) {
            Ok(frame) if !frame.source().is_group() => frame.source(),
            _ => return Err(Drop::Malformed),
        };
        let mut identifier = [0; size::IDENTIFIER as usize];
        identifier[..6].copy_from_slice(&station.0);
        let key = FibKey { tenant, identifier };
        let source = parcel.overlay.source.0;
        if let Some(known) = self.fib.get_mut(&key) {
            if known.node == source {
                if known.heard != 0 {
                    known.heard = second;
                }
                return Ok(());
            }
            // What was configured does not move.
            if known.heard == 0 {
                return Err(Drop::UnknownSource);
            }
        }
        let node = NodeKey { application: parcel.overlay.application.into(), node: source };
        // A group sends nothing: stations that were there would be everybody's.
        let path = self.nodes.get(&node).filter(|path| !self.comes_up(*path)).ok_or(Drop::UnknownSource)?;
        let entry = FibEntry { node: source, path, heard: second.max(1), reserved: 0, packets: 0, bytes: 0 };
        self.fib.insert(key, entry);
        Ok(())
    }
}
