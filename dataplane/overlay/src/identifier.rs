//! What names where a packet goes, as people write it.

use ipnet::IpNet;
use plait_dataplane_reference::mapped;
use plait_dataplane_reference::tables::size;
use plait_model_wire::ethernet::Mac;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// What names where a packet goes: a station of a device that carries frames, a network of one that carries packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Identifier {
    /// A hardware address.
    Station([u8; 6]),
    /// A network; of a single address the whole of it.
    Network(IpNet),
}

/// Words that are no identifier.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no identifier: write a hardware address, or a network such as 10.1.0.0/24")]
pub struct BadIdentifier(String);

impl Identifier {
    /// Its bytes in the tables.
    pub fn bytes(self) -> [u8; size::IDENTIFIER as usize] {
        match self {
            Self::Station(station) => {
                let mut bytes = [0; size::IDENTIFIER as usize];
                bytes[..6].copy_from_slice(&station);
                bytes
            }
            Self::Network(network) => mapped(network.network()),
        }
    }
}

impl FromStr for Identifier {
    type Err = BadIdentifier;

    fn from_str(text: &str) -> Result<Self, BadIdentifier> {
        if let Ok(Mac(station)) = text.parse() {
            return Ok(Self::Station(station));
        }
        let network = text.parse().or_else(|_| text.parse().map(|address: std::net::IpAddr| address.into()));
        network.map(Self::Network).map_err(|_| BadIdentifier(text.to_owned()))
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Station(station) => Mac(*station).fmt(f),
            Self::Network(network) if network.prefix_len() == network.max_prefix_len() => {
                network.addr().fmt(f)
            }
            Self::Network(network) => network.fmt(f),
        }
    }
}

impl TryFrom<String> for Identifier {
    type Error = BadIdentifier;

    fn try_from(text: String) -> Result<Self, BadIdentifier> {
        text.parse()
    }
}

impl From<Identifier> for String {
    fn from(identifier: Identifier) -> Self {
        identifier.to_string()
    }
}
