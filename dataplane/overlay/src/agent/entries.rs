//! Identifiers that somebody says are at a node: people, and existing control planes.

use super::identifiers::Key;
use super::{Agent, AgentError, now};
use crate::config::{Carries, DeviceConfig, Evpn};
use crate::protocol::{self, Reply};
use crate::{BitField, Bits, Identifier};
use plait_control_overlay::evpn::{Change, Station};
use plait_dataplane_reference::tables::{FibEntry, FibKey};
use plait_model_overlay::{Application, NodeId};
use plait_model_wire::ethernet::Mac;
use std::collections::{BTreeMap, BTreeSet};

impl Agent {
    pub(super) fn add_entry(
        &mut self,
        device: String,
        identifier: Identifier,
        node: NodeId,
    ) -> Result<Reply, AgentError> {
        let live = self.devices.get(&device).ok_or_else(|| AgentError::NoDevice(device.clone()))?;
        let application = live.config.application;
        let fits = match (identifier, self.application(application)?.carries) {
            (Identifier::Station(_), Carries::Ethernet) => true,
            (Identifier::Network(network), Carries::Ip) => {
                let [four, six] = live.config.prefix;
                let wanted = if network.addr().is_ipv4() { four } else { six };
                network.prefix_len() == wanted && network.trunc() == network
            }
            (Identifier::Bits(bits), Carries::Bits | Carries::Payload) => is_found_by(live.config.bits, bits),
            _ => false,
        };
        if !fits {
            let by = match self.application(application)?.carries {
                Carries::Ethernet => "hardware addresses".to_owned(),
                Carries::Bits | Carries::Payload => match live.config.bits {
                    Some(field) => {
                        format!("{} bits, written as {} hexadecimal digits", field.length, field.digits())
                    }
                    None => "nothing, and sends them all one way: write `all`".to_owned(),
                },
                Carries::Ip => {
                    let [four, six] = live.config.prefix;
                    format!("networks of {four} bits of IPv4 and {six} of IPv6")
                }
            };
            return Err(AgentError::Identifier { device, by, identifier });
        }
        let key = (device, identifier);
        if !self.identifiers.say(application, key.clone(), node) {
            return Ok(Reply::done(false));
        }
        self.place_entry(&key, node)?;
        Ok(Reply::done(true))
    }

    pub(super) fn remove_entry(
        &mut self,
        device: String,
        identifier: Identifier,
    ) -> Result<Reply, AgentError> {
        let live = self.devices.get(&device).ok_or_else(|| AgentError::NoDevice(device.clone()))?;
        let (application, tenant, bits) = (live.config.application, live.tenant, live.config.bits);
        let key = (device, identifier);
        let (was_said, at) = self.identifiers.take_back(application, &key);
        // What a feed told of it meanwhile holds from now on.
        if let Some(node) = at.filter(|_| was_said) {
            self.place_entry(&key, node)?;
            return Ok(Reply::done(true));
        }
        // Other digits could be another's bytes.
        let is_other = matches!(identifier, Identifier::Bits(of) if !is_found_by(bits, of));
        let fib_key = FibKey { tenant, identifier: identifier.bytes(bits) };
        if is_other || (!self.tables.remove_entry(&fib_key)? && !was_said) {
            let (device, identifier) = key;
            return Err(AgentError::Absent { device, identifier });
        }
        Ok(Reply::done(true))
    }

    /// Writes the identifiers that are at a node.
    pub(super) fn place_entries(&mut self, application: Application, node: NodeId) -> Result<(), AgentError> {
        self.identifiers.at(application, node).iter().try_for_each(|key| self.place_entry(key, node))
    }

    /// Writes an identifier, if there is a path to its node; else it waits for one.
    pub(super) fn place_entry(&self, (device, identifier): &Key, node: NodeId) -> Result<(), AgentError> {
        let Some(live) = self.devices.get(device) else { return Ok(()) };
        self.place(&live.config, live.tenant, *identifier, node)
    }

    /// Writes the identifiers that are said to be behind a device which is being made.
    pub(super) fn place_waiting(&self, device: &DeviceConfig, tenant: u32) -> Result<(), AgentError> {
        let mut its = self.identifiers.on(device.application, &device.name);
        its.try_for_each(|(identifier, node)| self.place(device, tenant, identifier, node))
    }

    fn place(
        &self,
        device: &DeviceConfig,
        tenant: u32,
        identifier: Identifier,
        node: NodeId,
    ) -> Result<(), AgentError> {
        let Some(path) = self.compiler.path(device.application, node) else { return Ok(()) };
        let key = FibKey { tenant, identifier: identifier.bytes(device.bits) };
        let before = self.tables.fib.get(&key)?;
        let (packets, bytes) = before.map_or((0, 0), |entry| (entry.packets, entry.bytes));
        let entry = FibEntry { node: node.0, path, heard: 0, reserved: 0, packets, bytes };
        Ok(self.tables.set_entry(&key, &entry)?)
    }

    /// Starts, changes or ends a feed.
    pub(super) fn drive_feed(
        &mut self,
        application: Application,
        evpn: Option<&Evpn>,
    ) -> Result<(), AgentError> {
        let tables = self.overlay.tables(application).cloned().unwrap_or_default();
        let station = |((device, identifier), node): (&Key, NodeId)| {
            let live = self.devices.get(device).filter(|live| live.config.application == application)?;
            let Identifier::Station(mac) = *identifier else { return None };
            Some(((live.config.vni, Mac(mac)), node))
        };
        let stations = self.identifiers.told().filter_map(station).collect();
        for change in self.feeds.set(application, evpn, &tables, stations, now())? {
            self.make(application, change)?;
        }
        Ok(())
    }

    /// What is announced of a feed's application follows its locator.
    pub(super) fn move_vtep(&mut self, application: Application) -> Result<(), AgentError> {
        let Some(evpn) = self.config.evpn.get(&application).cloned() else { return Ok(()) };
        let tables = self.overlay.tables(application);
        let own: Vec<_> = tables.into_iter().flat_map(|tables| tables.locators.keys().copied()).collect();
        let Some(announced) = self.feeds.vtep(application) else {
            // It had none, or several.
            return if own.len() == 1 { self.drive_feed(application, Some(&evpn)) } else { Ok(()) };
        };
        match own[..] {
            [vtep] if vtep == announced => Ok(()),
            [_] => self.drive_feed(application, Some(&evpn)),
            _ => {
                tracing::warn!(%application, "EVPN announces nothing: the application has not one locator");
                self.drive_feed(application, None)
            }
        }
    }

    /// Tells feeds of this node's stations, and does what they say.
    pub(super) fn feed(&mut self) -> Result<(), AgentError> {
        for application in self.config.evpn.keys().copied().collect::<Vec<_>>() {
            let mut local: BTreeMap<u32, BTreeSet<Station>> = BTreeMap::new();
            for live in self.devices.values().filter(|live| live.config.application == application) {
                let stations = local.entry(live.config.vni).or_default();
                if let Some(link) = self.underlay.links.get(&live.interface) {
                    stations.insert(Station { mac: Mac(link.address), is_sticky: false });
                }
            }
            self.feeds.local(application, local, now());
        }
        for (application, change) in self.feeds.run(now()) {
            if let Err(error) = self.make(application, change) {
                tracing::error!(%error, "the data plane does not follow a feed");
            }
        }
        Ok(())
    }

    fn make(&mut self, application: Application, change: Change) -> Result<(), AgentError> {
        match change {
            Change::Operation(operation) => match self.overlay.apply(&operation) {
                Ok((_, Some(event))) => self.follow_control(operation, event),
                Ok((_, None)) => Ok(()),
                Err(error) => {
                    tracing::debug!(%error, "a feed takes away what is away");
                    Ok(())
                }
            },
            Change::Station { vni, mac, node } => self.tell_station(application, vni, mac, node),
        }
    }

    /// Writes where a station is that a feed tells of.
    fn tell_station(
        &mut self,
        application: Application,
        vni: u32,
        Mac(mac): Mac,
        node: Option<NodeId>,
    ) -> Result<(), AgentError> {
        let is_its = |live: &&super::Live| (live.config.application, live.config.vni) == (application, vni);
        let Some(live) = self.devices.values().find(is_its) else { return Ok(()) };
        let tenant = live.tenant;
        let key = (live.config.name.clone(), Identifier::Station(mac));
        // What somebody said by hand stays.
        let Some(before) = self.identifiers.tell(application, &key, node) else { return Ok(()) };
        match node {
            Some(node) => self.place_entry(&key, node)?,
            None => {
                self.tables.remove_entry(&FibKey { tenant, identifier: key.1.bytes(None) })?;
            }
        }
        if before != node {
            let (device, identifier) = key;
            self.untold.add([protocol::Change::Identifier { device, identifier }]);
        }
        Ok(())
    }
}

/// Whether digits are an identifier of a device that finds packets by those bits, or by none.
pub(super) fn is_found_by(field: Option<BitField>, bits: Bits) -> bool {
    field.map_or(bits == Bits::NONE, |field| field.key(bits).is_some())
}
