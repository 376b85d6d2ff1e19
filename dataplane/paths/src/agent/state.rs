//! What an agent leaves to the next one.

use super::error::{AgentError, at};
use crate::protocol::{Policies, Static};
use crate::{Lengths, RelayAddresses};
use ipnet::IpNet;
use plait_control_paths::RelayList;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Version of [`State`].
pub const VERSION: u32 = 1;

/// What an agent leaves to the next one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct State {
    plait: u32,
    /// The network namespace that all of this is of.
    pub namespace: u64,
    /// What was said by hand.
    pub statics: BTreeMap<IpNet, Static>,
    /// By which policies flows go by what is learnt, where that was said by hand.
    #[serde(default, skip_serializing_if = "Policies::is_empty")]
    pub policies: Policies,
    /// What was learnt last: the best guess until the fabric is known again.
    pub learnt: BTreeMap<IpNet, Vec<RelayList>>,
    /// The relay's address of IPv4, where the agent put it on the loopback.
    pub address: Option<Ipv4Addr>,
    /// That of IPv6, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_ipv6: Option<Ipv6Addr>,
    /// How many segments the superpackets of devices had before they were forbidden, by the devices' indices.
    pub segments: BTreeMap<u32, u32>,
    /// How long they were before they had to leave room for stacks, likewise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lengths: BTreeMap<u32, Lengths>,
}

impl State {
    /// One of a namespace, of nothing.
    pub fn new(namespace: u64) -> Self {
        Self { plait: VERSION, namespace, ..Self::default() }
    }

    /// The addresses that the agent put on the loopback.
    pub fn addresses(&self) -> RelayAddresses {
        RelayAddresses { ipv4: self.address, ipv6: self.address_ipv6 }
    }

    /// Allows superpackets on some of the devices that they were limited on, as they were before.
    pub(super) fn allow_superpackets(&self, on: impl Fn(&u32) -> bool) {
        let devices: BTreeSet<_> = self.segments.keys().chain(self.lengths.keys()).collect();
        for device in devices.into_iter().filter(|device| on(device)) {
            let (segments, lengths) = (self.segments.get(device), self.lengths.get(device));
            crate::device::allow_superpackets(*device, segments.copied(), lengths.copied());
        }
    }

    /// What a former agent left; none where there was none.
    ///
    /// # Errors
    /// It is of another version, or no such state.
    pub fn read(path: &Path) -> Result<Option<Self>, AgentError> {
        #[derive(Deserialize)]
        struct Version {
            plait: u32,
        }
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(at(path))?,
        };
        let broken = |error: serde_json::Error| at(path)(error.into());
        let Version { plait } = serde_json::from_slice(&text).map_err(broken)?;
        if plait != VERSION {
            return Err(AgentError::Version(path.to_owned(), plait));
        }
        serde_json::from_slice(&text).map(Some).map_err(broken)
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let new = path.with_extension("new");
        fs::write(&new, serde_json::to_vec(self)?)?;
        fs::rename(&new, path)
    }
}
