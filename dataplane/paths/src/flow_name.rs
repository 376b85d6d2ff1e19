//! Flows as people write them.

use plait_dataplane_reference::paths::tables::FlowKey;
use plait_dataplane_reference::paths::{mapped, unmapped};
use plait_model_wire::number::protocol;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// A flow, as people write it: `udp 10.0.0.1:5000 > 10.0.1.1:9`, `tcp [2001:db8::1]:5000 > [2001:db8:1::1]:80`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FlowName {
    /// The IP protocol.
    pub protocol: u8,
    /// Who sends; port 0 where there is none.
    pub source: SocketAddr,
    /// Who receives, likewise.
    pub destination: SocketAddr,
}

/// Protocols that have a name here.
const NAMED: [(u8, &str); 5] = [
    (protocol::ICMP, "icmp"),
    (protocol::ICMPV6, "icmpv6"),
    (protocol::TCP, "tcp"),
    (protocol::UDP, "udp"),
    (protocol::SCTP, "sctp"),
];

impl fmt::Display for FlowName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMED.iter().find(|(number, _)| *number == self.protocol) {
            Some((_, name)) => write!(to, "{name}")?,
            None => write!(to, "{}", self.protocol)?,
        }
        write!(to, " {} > {}", self.source, self.destination)
    }
}

impl From<FlowName> for String {
    fn from(name: FlowName) -> Self {
        name.to_string()
    }
}

impl TryFrom<String> for FlowName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for FlowName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no flow: write one like `udp 10.0.0.1:5000 > 10.0.1.1:9`");
        let words: Vec<&str> = text.split_whitespace().filter(|word| *word != ">").collect();
        let [kind, source, destination] = words[..] else { return Err(wrong()) };
        let named = NAMED.iter().find(|(_, name)| *name == kind).map(|(number, _)| *number);
        Ok(Self {
            protocol: named.or_else(|| kind.parse().ok()).ok_or_else(wrong)?,
            source: source.parse().map_err(|_| wrong())?,
            destination: destination.parse().map_err(|_| wrong())?,
        })
    }
}

impl From<FlowKey> for FlowName {
    fn from(key: FlowKey) -> Self {
        let [a, b, c, d] = key.ports;
        Self {
            protocol: key.protocol as u8,
            source: SocketAddr::new(unmapped(key.source), u16::from_be_bytes([a, b])),
            destination: SocketAddr::new(unmapped(key.destination), u16::from_be_bytes([c, d])),
        }
    }
}

impl From<FlowName> for FlowKey {
    fn from(name: FlowName) -> Self {
        let ([a, b], [c, d]) = (name.source.port().to_be_bytes(), name.destination.port().to_be_bytes());
        Self {
            source: mapped(name.source.ip()),
            destination: mapped(name.destination.ip()),
            ports: [a, b, c, d],
            protocol: name.protocol.into(),
        }
    }
}
