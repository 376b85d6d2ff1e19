//! Identifiers that somebody says are at a node.

use super::{Agent, AgentError};
use crate::Identifier;
use crate::config::Carries;
use crate::protocol::Reply;
use plait_dataplane_reference::tables::{FibEntry, FibKey};
use plait_model_overlay::{Application, NodeId};

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
            (Identifier::Bits(bits), Carries::Bits) => {
                live.config.bits.is_some_and(|field| field.length == bits.length())
            }
            _ => false,
        };
        if !fits {
            let by = match self.application(application)?.carries {
                Carries::Ethernet => "hardware addresses".to_owned(),
                Carries::Bits => {
                    let length = live.config.bits.map_or(0, |field| field.length);
                    format!("{length} bits, written as {} hexadecimal digits", length / 4)
                }
                Carries::Ip => {
                    let [four, six] = live.config.prefix;
                    format!("networks of {four} bits of IPv4 and {six} of IPv6")
                }
            };
            return Err(AgentError::Identifier { device, by, identifier });
        }
        let key = (device, identifier);
        let before = self.entries.insert(key.clone(), node);
        if before == Some(node) {
            return Ok(Reply::Done { changed: false, writes: 0 });
        }
        if let Some(before) = before
            && let Some(waiting) = self.waiting.get_mut(&(application, before))
        {
            waiting.remove(&key);
        }
        self.waiting.entry((application, node)).or_default().insert(key.clone());
        let writes = self.place_entry(&key, node)?;
        Ok(Reply::Done { changed: true, writes })
    }

    pub(super) fn remove_entry(
        &mut self,
        device: String,
        identifier: Identifier,
    ) -> Result<Reply, AgentError> {
        let live = self.devices.get(&device).ok_or_else(|| AgentError::NoDevice(device.clone()))?;
        let (application, tenant) = (live.config.application, live.tenant);
        let key = (device, identifier);
        let known = self.entries.remove(&key);
        if let Some(waiting) = known.and_then(|node| self.waiting.get_mut(&(application, node))) {
            waiting.remove(&key);
        }
        let fib_key = FibKey { tenant, identifier: identifier.bytes() };
        if !self.tables.fib.remove(&fib_key)? && known.is_none() {
            let (device, identifier) = key;
            return Err(AgentError::Absent { device, identifier });
        }
        Ok(Reply::Done { changed: true, writes: 1 })
    }

    /// Writes the identifiers that are at a node.
    pub(super) fn place_entries(
        &mut self,
        application: Application,
        node: NodeId,
    ) -> Result<usize, AgentError> {
        let keys = self.waiting.get(&(application, node)).cloned().unwrap_or_default();
        keys.iter().map(|key| self.place_entry(key, node)).sum()
    }

    /// Writes an identifier, if there is a path to its node; else it waits for one.
    pub(super) fn place_entry(
        &self,
        (device, identifier): &(String, Identifier),
        node: NodeId,
    ) -> Result<usize, AgentError> {
        let Some(live) = self.devices.get(device) else { return Ok(0) };
        let Some(path) = self.compiler.path(live.config.application, node) else { return Ok(0) };
        let key = FibKey { tenant: live.tenant, identifier: identifier.bytes() };
        let before = self.tables.fib.get(&key)?;
        let (packets, bytes) = before.map_or((0, 0), |entry| (entry.packets, entry.bytes));
        self.tables.fib.set(&key, &FibEntry { node: node.0, path, heard: 0, reserved: 0, packets, bytes })?;
        Ok(1)
    }
}
