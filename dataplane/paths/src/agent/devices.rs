//! The devices that an agent's programs are on, which come and go.

use super::error::AgentError;
use super::places::Role;
use super::{Agent, Sender};
use crate::{Border, Encapsulation, Options, Paths, Relay};
use plait_control_paths::select::Rearranger;
use plait_dataplane_netlink::Netlink;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, UdpSocket};

/// What is on which device, by the devices' indices.
pub(super) type Placed = BTreeSet<(Role, u32)>;

impl Agent {
    /// Puts a program that knows all on a device, in the place of the one that is there.
    pub(super) fn steer_device(&mut self, name: &str, index: u32) -> Result<(), AgentError> {
        let options = &self.options;
        let places = options.places.clone();
        let wanted = Options {
            superpackets: options.superpackets,
            spread: options.spread,
            idle: options.idle,
            mtu: options.mtu,
            ..Options::new(options.sources, options.encapsulation)
        };
        let mut paths = Paths::load(index, wanted, Some(&places.program(Role::Flows, index)))?;
        let (segments, lengths) = (self.state.segments.get(&index), self.state.lengths.get(&index));
        paths.recall(segments.copied(), lengths.copied());
        let all: Vec<_> = self.all().collect();
        for (prefix, ways) in all {
            if let Err(error) = paths.set(prefix, ways) {
                self.fail(prefix, &error);
            }
        }
        match paths.cut(Some(&places.program(Role::Cut, index))) {
            Ok(()) => self.placed.extend([(Role::Cut, index)]),
            Err(error) => tracing::warn!(device = name, %error, "superpackets of others are dropped"),
        }
        paths.succeed(&places.program(Role::Steer, index))?;
        self.placed.extend([(Role::Flows, index), (Role::Steer, index)]);
        let holder = paths.hold();
        if let Err(error) = &holder {
            tracing::warn!(device = name, %error, "flows that have no gaps do not move");
        }
        // How those were before that a former life limited is still to be known: this one has not come to all of them yet.
        self.state.segments.extend(paths.segments_before().map(|segments| (index, segments)));
        self.state.lengths.extend(paths.lengths_before().map(|lengths| (index, lengths)));
        self.is_changed = true;
        let sender = Sender { paths, rearranger: Rearranger::default(), _holder: holder.ok() };
        self.senders.insert(name.to_owned(), sender);
        self.save()
    }

    /// Puts a relay on all devices that have none.
    pub(super) fn relay_everywhere(&mut self) -> Result<(), AgentError> {
        if self.options.relay.is_empty() {
            return Ok(());
        }
        let there = all_devices()?;
        if self.relay.is_none() {
            let options = &self.options;
            self.relay = Some(Relay::load(options.relay, options.sources, &Encapsulation::ALL)?);
        }
        let Some(relay) = &mut self.relay else { return Ok(()) };
        relay.keep(|device| there.contains(&device));
        for index in there {
            if self.placed.contains(&(Role::Relay, index)) {
                continue;
            }
            match relay.succeed(index, &self.options.places.program(Role::Relay, index)) {
                Ok(()) => self.placed.extend([(Role::Relay, index)]),
                // It went while it was looked at.
                Err(_) if !all_devices()?.contains(&index) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Puts a border on a device that leads outside, where there is none yet.
    pub(super) fn guard_device(&mut self, index: u32) -> Result<(), AgentError> {
        if self.placed.contains(&(Role::Border, index)) {
            return Ok(());
        }
        if self.border.is_none() {
            self.border = Some(Border::load(self.options.sources)?);
        }
        let Some(border) = &mut self.border else { return Ok(()) };
        border.succeed(index, &self.options.places.program(Role::Border, index))?;
        self.placed.insert((Role::Border, index));
        Ok(())
    }

    /// Hears of devices, and follows those that came or went.
    pub(super) fn watch_devices(&mut self) {
        let followed = match self.watch.heard() {
            Ok(heard) if heard.is_empty() => return,
            Ok(_) => self.follow_devices(),
            Err(error) => Err(AgentError::Kernel("netlink", error)),
        };
        if let Err(error) = followed {
            tracing::error!(%error, "not all devices are followed");
        }
    }

    fn follow_devices(&mut self) -> Result<(), AgentError> {
        for name in self.options.devices.clone() {
            let there = find(&name)?;
            let known = self.senders.get(&name).map(|sender| sender.paths.device());
            if there == known {
                continue;
            }
            if self.senders.remove(&name).is_some() {
                tracing::warn!(device = name, "the device is gone, and nothing is steered there");
                let index = known.unwrap_or_default();
                self.state.segments.remove(&index);
                self.state.lengths.remove(&index);
                self.is_changed = true;
            }
            let Some(index) = there else { continue };
            match self.steer_device(&name, index) {
                Ok(()) => tracing::info!(device = name, index, "a device that came is steered"),
                Err(error) => tracing::error!(device = name, %error, "a device that came is not steered"),
            }
        }
        self.relay_everywhere()?;
        for name in self.options.borders.clone() {
            if let Some(index) = find(&name)? {
                self.guard_device(index)?;
            }
        }
        let there: BTreeSet<u32> = every_device()?.into_iter().collect();
        if let Some(border) = &mut self.border {
            border.keep(|device| there.contains(&device));
        }
        if self.placed.iter().any(|(_, device)| !there.contains(device)) {
            self.placed.retain(|(_, device)| there.contains(device));
            self.options.places.release(|role, device| self.placed.contains(&(role, device)))?;
        }
        self.retry();
        Ok(())
    }

    /// What a device took too little for, it may take more for by now.
    fn retry(&mut self) {
        for prefix in self.faults.keys().copied().collect::<Vec<_>>() {
            let ways = self.ways(prefix);
            if let Err(error) = self.steer(prefix, ways.clone(), ways) {
                tracing::debug!(%prefix, %error, "still by plain routing");
            }
        }
    }
}

fn socket() -> Result<UdpSocket, AgentError> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(|error| AgentError::Kernel("socket", error))
}

/// A device's index, if it is there.
pub(super) fn find(name: &str) -> Result<Option<u32>, AgentError> {
    Ok(rustix::net::netdevice::name_to_index(socket()?, name).ok())
}

/// The same of one that must be there.
pub(super) fn index(name: &str) -> Result<u32, AgentError> {
    find(name)?.ok_or_else(|| AgentError::NoDevice(name.to_owned()))
}

/// All devices of the namespace but the loopback.
fn all_devices() -> Result<Vec<u32>, AgentError> {
    let mut all = every_device()?;
    all.retain(|index| *index != LOOPBACK);
    Ok(all)
}

/// The index of every namespace's loopback.
const LOOPBACK: u32 = 1;

fn every_device() -> Result<Vec<u32>, AgentError> {
    use netlink_packet_route::RouteNetlinkMessage;
    use netlink_packet_route::link::LinkMessage;
    let ask = RouteNetlinkMessage::GetLink(LinkMessage::default());
    let answer = Netlink::open().and_then(|netlink| netlink.dump(ask));
    let links = answer.map_err(|error| AgentError::Kernel("netlink", error))?.into_iter();
    let index = |message| match message {
        RouteNetlinkMessage::NewLink(link) => Some(link.header.index),
        _ => None,
    };
    Ok(links.filter_map(index).collect())
}
