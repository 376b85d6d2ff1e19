//! `plait ip madcap …`: the words of the overlay FIB's author.
//!
//! A device finds where frames go by bits of them. Choice: the thesis's device puts nothing but outer IP and UDP before what
//! a tunnel's driver gives it; here the encapsulation is the application's, and `proto` chooses it. A node's identity is its
//! IPv4 address.

use plait_dataplane_overlay::protocol::{Config, Reply, Request};
use plait_dataplane_overlay::{
    ApplicationConfig, BitField, Carries, Client, DeviceConfig, Encapsulation, Identifier,
};
use plait_model_overlay::{Answer, Application, NodeId, Operation, Weight};
use plait_model_wire::number::protocol;
use rustix::net::{self, AddressFamily, SocketType};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::{fmt, io};

/// The application of devices that no other is said of. Choice: none of those that have a name.
const APPLICATION: Application = Application(8);

/// How it is written.
pub const FORMS: &str = "write `ip madcap set dev D offset BITS length BITS src ADDRESS [proto udp|gre]`, \
    `ip madcap add|del id DIGITS dst ADDRESS dev D`, `ip madcap show config dev D`, or `ip madcap show dev D`";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    Set { device: String, field: BitField, source: Ipv4Addr, encapsulation: Encapsulation },
    Add { device: String, identifier: Identifier, destination: Ipv4Addr },
    Del { device: String, identifier: Identifier },
    ShowConfig { device: String },
    Show { device: String },
}

impl Asked {
    /// Reads the words behind `ip madcap`.
    pub fn read(words: &[&str]) -> Result<Self, String> {
        let (verb, rest) = match words {
            ["show", "config", rest @ ..] => ("show config", rest),
            [verb, rest @ ..] => (*verb, rest),
            [] => return Err(FORMS.to_owned()),
        };
        let keys: &[&str] = match verb {
            "set" => &["dev", "offset", "length", "src", "proto"],
            "add" | "del" | "delete" => &["dev", "id", "dst"],
            "show" | "show config" => &["dev"],
            _ => return Err(format!("`{verb}` is no operation: {FORMS}")),
        };
        let said = super::ip::pairs(rest, keys, FORMS)?;
        let get = |key: &str| said.get(key).copied().ok_or_else(|| format!("`{key}` is missing: {FORMS}"));
        let device = get("dev")?.to_owned();
        let identifier = || match super::ip::read(get("id")?)? {
            bits @ Identifier::Bits(_) => Ok(bits),
            other => Err(format!("`{other}` is no identifier here: write its bits as hexadecimal digits")),
        };
        Ok(match verb {
            "set" => {
                let field = BitField {
                    offset: super::ip::read(get("offset")?)?,
                    length: super::ip::read(get("length")?)?,
                };
                let encapsulation = match said.get("proto").copied().unwrap_or("udp") {
                    "udp" | "17" => Encapsulation::Vxlan,
                    "gre" | "47" => Encapsulation::Gre,
                    other => return Err(format!("`proto {other}` carries no frames: write `udp` or `gre`")),
                };
                Self::Set { device, field, source: super::ip::read(get("src")?)?, encapsulation }
            }
            "add" => {
                Self::Add { device, identifier: identifier()?, destination: super::ip::read(get("dst")?)? }
            }
            "show config" => Self::ShowConfig { device },
            "show" => Self::Show { device },
            _ => Self::Del { device, identifier: identifier()? },
        })
    }

    /// Does it. What is asked in several steps is answered by the last.
    pub fn perform(self, agent: &mut Client) -> io::Result<Reply> {
        match self {
            Self::Set { device, field, source, encapsulation } => {
                let config = agent_config(agent)?;
                let known = config.devices.iter().find(|known| known.name == device);
                if known.is_none() && is_device(&device)? {
                    let text = format!(
                        "there is a device `{device}` that is none of this agent's: choose another name"
                    );
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
                }
                let application = known.map_or(APPLICATION, |known| known.application);
                let beside = |of: &&DeviceConfig| of.application == application && of.name != device;
                let beside: Vec<&DeviceConfig> = config.devices.iter().filter(beside).collect();
                let vni = known.map_or_else(|| free_vni(&beside), |known| known.vni);
                // Devices of an agent are one node's: they have its source and encapsulation, and are told apart by VNI.
                let shared = config.applications.get(&application).filter(|_| !beside.is_empty());
                if let Some(shared) = shared {
                    let sources = locators(agent, application)?;
                    if shared.encapsulation != encapsulation || !sources.contains(&source.into()) {
                        let other = Shown::of(&beside[0].name, agent)?;
                        let text = format!(
                            "`{}` of this agent has {}: give `{device}` the same `proto` and `src`, or another agent",
                            beside[0].name,
                            other.to_string().trim_end()
                        );
                        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
                    }
                    shared
                        .check_vni(vni)
                        .map_err(|fault| io::Error::new(io::ErrorKind::InvalidInput, fault))?;
                }
                let wanted = DeviceConfig::new(device, application, vni);
                let wanted = DeviceConfig { bits: Some(field), ..wanted };
                // Before anything is changed.
                wanted.check().map_err(|fault| io::Error::new(io::ErrorKind::InvalidInput, fault))?;
                if shared.is_some() {
                    return agent.ask(Request::SetDevice(wanted));
                }
                let own = NodeId(source.into());
                let carried = ApplicationConfig {
                    carries: Carries::Bits,
                    encapsulation,
                    to: BTreeMap::new(),
                    accepts: BTreeSet::new(),
                    vni,
                    ..ApplicationConfig::default()
                };
                let (locator, weight) = (source.into(), Weight::default());
                agent.ask(Request::SetApplication { application, config: carried })?;
                agent.ask(Request::Operation(Operation::NodeIdSet { application, node: own }))?;
                agent.ask(Request::Operation(Operation::LocatorAdd { application, locator, weight }))?;
                agent.ask(Request::SetDevice(wanted))
            }
            Self::Add { device, identifier, destination } => {
                let application = device_of(&agent_config(agent)?, &device)?.application;
                let node = NodeId(destination.into());
                let (locator, weight) = (destination.into(), Weight::default());
                agent.ask(Request::Operation(Operation::NodeAdd { application, node, locator, weight }))?;
                let route = Operation::RouteAdd { application, destination: node, next_hop: node };
                agent.ask(Request::Operation(route))?;
                agent.ask(Request::FibAdd { device, identifier, node })
            }
            Self::Del { device, identifier } => agent.ask(Request::FibDel { device, identifier }),
            Self::Show { device } | Self::ShowConfig { device } => {
                agent.ask(Request::FibGet { device: Some(device) })
            }
        }
    }
}

/// What `show config` says.
#[derive(Debug, Serialize)]
pub struct Shown {
    offset: u16,
    length: u8,
    /// The IP protocol.
    proto: u8,
    src: Vec<IpAddr>,
}

impl Shown {
    pub fn of(name: &str, agent: &mut Client) -> io::Result<Self> {
        let config = agent_config(agent)?;
        let device = device_of(&config, name)?;
        let application = device.application;
        let src = locators(agent, application)?;
        let is_gre =
            config.applications.get(&application).is_some_and(|of| of.encapsulation == Encapsulation::Gre);
        let BitField { offset, length } = device.bits.expect("looked for");
        let proto = if is_gre { protocol::GRE } else { protocol::UDP };
        Ok(Self { offset, length, proto, src })
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, length, proto, src } = self;
        write!(f, "offset {offset} length {length} proto {proto}")?;
        src.iter().try_for_each(|address| write!(f, " src {address}"))?;
        writeln!(f)
    }
}

/// A node's own locators.
fn locators(agent: &mut Client, application: Application) -> io::Result<Vec<IpAddr>> {
    match agent.ask(Request::Operation(Operation::LocatorGet { application }))? {
        Reply::Answer(Answer::Locators(locators)) => Ok(locators.into_keys().collect()),
        other => Err(io::Error::other(format!("no locators: {other:?}"))),
    }
}

/// The lowest VNI that none of these devices has.
fn free_vni(devices: &[&DeviceConfig]) -> u32 {
    (1..).find(|vni| devices.iter().all(|device| device.vni != *vni)).unwrap_or(1)
}

/// Whether this host has a device of a name.
fn is_device(name: &str) -> io::Result<bool> {
    let socket = net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    Ok(net::netdevice::name_to_index(socket, name).is_ok())
}

fn agent_config(agent: &mut Client) -> io::Result<Config> {
    match agent.ask(Request::Config)? {
        Reply::Config(config) => Ok(config),
        other => Err(io::Error::other(format!("no configuration: {other:?}"))),
    }
}

fn device_of<'c>(config: &'c Config, name: &str) -> io::Result<&'c DeviceConfig> {
    let found = config.devices.iter().find(|device| device.name == name && device.bits.is_some());
    found.ok_or_else(|| {
        let text = format!(
            "no device `{name}` finds frames by bits: make one with `plait ip madcap set dev {name} …`"
        );
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Asked, String> {
        Asked::read(&line.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn the_thesiss_words_are_understood() {
        let device = || "eth0".to_owned();
        assert_eq!(
            of("set dev eth0 offset 16 length 48 src 172.16.0.1 proto udp"),
            Ok(Asked::Set {
                device: device(),
                field: BitField { offset: 16, length: 48 },
                source: Ipv4Addr::new(172, 16, 0, 1),
                encapsulation: Encapsulation::Vxlan
            })
        );
        assert_eq!(of("show config dev eth0"), Ok(Asked::ShowConfig { device: device() }));
        let identifier: Identifier = "3c15c2c4f588".parse().unwrap();
        assert_eq!(identifier.to_string(), "3c15c2c4f588");
        let destination = Ipv4Addr::new(10, 0, 0, 1);
        assert_eq!(
            of("add id 3c15c2c4f588 dst 10.0.0.1 dev eth0"),
            Ok(Asked::Add { device: device(), identifier, destination })
        );
        assert_eq!(
            of("del id 3c15c2c4f588 dst 10.0.0.1 dev eth0"),
            Ok(Asked::Del { device: device(), identifier })
        );
    }

    #[test]
    fn what_makes_no_sense_is_told_with_what_does() {
        for (line, word) in [
            ("fly dev eth0", "no operation"),
            ("set dev eth0 offset 16 length 48", "`src` is missing"),
            ("set dev eth0 offset 16 length 48 src 10.0.0.1 proto ipip", "carries no frames"),
            ("add id 10.0.0.0/8 dst 10.0.0.1 dev eth0", "hexadecimal"),
            ("add id xyz dst 10.0.0.1 dev eth0", "`xyz`"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
