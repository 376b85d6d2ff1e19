//! `plait ip madcap …`: the words of the overlay FIB's author.
//!
//! A device finds where packets go by bits of them. The thesis's device gets packets from a tunnel's driver, puts outer IP and UDP
//! before them, and counts bits from behind the outer IP header. Here the device puts the tunnel's header before them, too: [`Row`]
//! says which, by `proto` and by where the bits are. A node's identity is its IPv4 address.

use plait_dataplane_overlay::protocol::{Config, Reply, Request};
use plait_dataplane_overlay::{
    ApplicationConfig, BitField, Bits, Carries, Client, DeviceConfig, Encapsulation, Identifier,
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
pub const FORMS: &str = "write `ip madcap set dev D [offset BYTES length BITS] src ADDRESS [proto udp|gre|ipip]`, \
    `ip madcap add|del [id DIGITS] dst ADDRESS dev D`, `ip madcap show config dev D`, or `ip madcap show dev D`";

/// A row of the thesis's Table 4.1: a tunnel, with what its device finds packets by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    encapsulation: Encapsulation,
    carries: Carries,
    field: Option<BitField>,
}

impl Row {
    /// The row of a protocol and of bits so many bytes behind the outer IP header, if any are named.
    ///
    /// Choice: frames are in VXLAN or NVGRE, since those name virtual networks; what is found by bits that the table has for labels
    /// and service headers, or by none, is what frames carry.
    fn of(proto: Option<&str>, bits: Option<(u16, u8)>) -> Result<Self, String> {
        let row = |encapsulation, carries, field| Self { encapsulation, carries, field };
        let begins = |encapsulation: Encapsulation, carries, (offset, length): (u16, u8)| {
            let header = encapsulation.shim_bytes();
            match offset.checked_sub(header).and_then(|bytes| bytes.checked_mul(8)) {
                Some(offset) => Ok(row(encapsulation, carries, Some(BitField { offset, length }))),
                None => Err(format!(
                    "what begins {offset} bytes behind the outer IP header is in the header of {encapsulation}, which is the same \
                     of all packets: begin at {header}"
                )),
            }
        };
        match (proto.unwrap_or(if bits.is_some() { "udp" } else { "gre" }), bits) {
            ("udp" | "17", Some(bits @ (20, 32))) => begins(Encapsulation::Gpe, Carries::Payload, bits),
            ("udp" | "17", Some(bits)) => begins(Encapsulation::Vxlan, Carries::Bits, bits),
            ("udp" | "17", None) => Ok(row(Encapsulation::Gpe, Carries::Payload, None)),
            ("gre" | "47", Some(bits @ (4, 20))) => begins(Encapsulation::Gre, Carries::Payload, bits),
            ("gre" | "47", Some(bits)) => begins(Encapsulation::Nvgre, Carries::Bits, bits),
            ("gre" | "47", None) => Ok(row(Encapsulation::Gre, Carries::Payload, None)),
            ("ipip" | "4", None) => Ok(row(Encapsulation::Ipip, Carries::Payload, None)),
            ("ipip" | "4", Some(_)) => {
                Err("nothing stands between the headers of IP in IP: leave out `offset` and `length`"
                    .to_owned())
            }
            (other, _) => Err(format!("`proto {other}` is none: write `udp`, `gre` or `ipip`")),
        }
    }
}

/// The device of this agent by which a device of the host gets its packets out: the thesis's words name the latter.
fn beside(device: &str) -> String {
    format!("mc-{device}")
}

/// Its longest name: the kernel's, without those three letters.
const LONGEST: usize = 15 - 3;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    Set { device: String, row: Row, source: Ipv4Addr },
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
        let identifier = || match said.get("id") {
            None => Ok(Identifier::Bits(Bits::new([0; 16], 0))),
            Some(id) => match super::ip::read(id)? {
                bits @ Identifier::Bits(_) => Ok(bits),
                other => {
                    Err(format!("`{other}` is no identifier here: write its bits as hexadecimal digits"))
                }
            },
        };
        Ok(match verb {
            "set" => {
                let bits = match (said.get("offset"), said.get("length")) {
                    (None | Some(&"none"), None | Some(&"none")) => None,
                    (Some(offset), Some(length)) => {
                        Some((super::ip::read(offset)?, super::ip::read(length)?))
                    }
                    _ => return Err(format!("`offset` and `length` go together: {FORMS}")),
                };
                let row = Row::of(said.get("proto").copied(), bits)?;
                Self::Set { device, row, source: super::ip::read(get("src")?)? }
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
            Self::Set { device, row: Row { encapsulation, carries, field }, source } => {
                let config = agent_config(agent)?;
                let is_known = |name: &str| config.devices.iter().any(|known| known.name == name);
                // A device of the host keeps its packets, and gets another one beside it.
                let device = match !is_known(&device) && is_device(&device)? {
                    true if device.len() > LONGEST => {
                        let text = format!(
                            "the device beside `{device}` would be called `{}`, which is too long: choose a `dev` that this host has not",
                            beside(&device)
                        );
                        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
                    }
                    true => beside(&device),
                    false => device,
                };
                let known = config.devices.iter().find(|known| known.name == device);
                let application = known.map_or(APPLICATION, |known| known.application);
                let beside = |of: &&DeviceConfig| of.application == application && of.name != device;
                let beside: Vec<&DeviceConfig> = config.devices.iter().filter(beside).collect();
                let vni = known.map_or_else(|| free_vni(&beside), |known| known.vni);
                // Devices of an agent are one node's: they have its source and encapsulation, and are told apart by VNI.
                let shared = config.applications.get(&application).filter(|_| !beside.is_empty());
                if let Some(shared) = shared {
                    let sources = locators(agent, application)?;
                    let is_alike = (shared.encapsulation, shared.carries) == (encapsulation, carries);
                    if !is_alike || !sources.contains(&source.into()) {
                        let other = Shown::of(&beside[0].name, agent)?;
                        let text = format!(
                            "`{}` of this agent has {}: give `{device}` the same tunnel and `src`, or another agent",
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
                let wanted = DeviceConfig { bits: field, ..wanted };
                // Before anything is changed.
                wanted.check().map_err(|fault| io::Error::new(io::ErrorKind::InvalidInput, fault))?;
                if shared.is_some() {
                    return agent.ask(Request::SetDevice(wanted));
                }
                let own = NodeId(source.into());
                let carried = ApplicationConfig {
                    carries,
                    encapsulation,
                    to: BTreeMap::new(),
                    accepts: BTreeSet::new(),
                    vni,
                    ..ApplicationConfig::default()
                };
                let (locator, weight) = (source.into(), Weight::default());
                for (other, theirs) in config.applications.iter().filter(|(other, _)| **other != application)
                {
                    if let Some(taken) = carried.takes_as(theirs)
                        && locators(agent, *other)?.contains(&locator)
                    {
                        let text = format!(
                            "application {other} takes {taken} at {locator} already: give `{}` another `src`, or another agent",
                            wanted.name
                        );
                        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
                    }
                }
                agent.ask(Request::SetApplication { application, config: carried })?;
                agent.ask(Request::Operation(Operation::NodeIdSet { application, node: own }))?;
                agent.ask(Request::Operation(Operation::LocatorAdd { application, locator, weight }))?;
                agent.ask(Request::SetDevice(wanted))
            }
            Self::Add { device, identifier, destination } => {
                let DeviceConfig { name: device, application, .. } =
                    device_of(&agent_config(agent)?, &device)?.clone();
                let node = NodeId(destination.into());
                let (locator, weight) = (destination.into(), Weight::default());
                agent.ask(Request::Operation(Operation::NodeAdd { application, node, locator, weight }))?;
                let route = Operation::RouteAdd { application, destination: node, next_hop: node };
                agent.ask(Request::Operation(route))?;
                agent.ask(Request::FibAdd { device, identifier, node })
            }
            Self::Del { device, identifier } => {
                let device = device_of(&agent_config(agent)?, &device)?.name.clone();
                agent.ask(Request::FibDel { device, identifier })
            }
            Self::Show { device } | Self::ShowConfig { device } => {
                let device = device_of(&agent_config(agent)?, &device)?.name.clone();
                agent.ask(Request::FibGet { device: Some(device) })
            }
        }
    }
}

/// What `show config` says.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// Bytes behind the outer IP header; none where packets all go one way.
    offset: Option<u16>,
    length: Option<u8>,
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
        let encapsulation =
            config.applications.get(&application).map_or(Encapsulation::Vxlan, |config| config.encapsulation);
        let proto = match encapsulation {
            Encapsulation::Gre | Encapsulation::Nvgre | Encapsulation::Mpls => protocol::GRE,
            Encapsulation::Ipip => protocol::IPV4,
            _ => protocol::UDP,
        };
        let offset = device.bits.map(|field| encapsulation.shim_bytes() + field.offset / 8);
        Ok(Self { offset, length: device.bits.map(|field| field.length), proto, src })
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, length, proto, src } = self;
        match (offset, length) {
            (Some(offset), Some(length)) => write!(f, "offset {offset} length {length} proto {proto}")?,
            _ => write!(f, "offset none length none proto {proto}")?,
        }
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
    let is_it = |device: &&DeviceConfig| {
        let carries = config.applications.get(&device.application).map(|config| config.carries);
        carries.is_some_and(Carries::are_found_by_bits)
            && (device.name == name || device.name == beside(name))
    };
    config.devices.iter().find(is_it).ok_or_else(|| {
        let text = format!(
            "no device `{name}` finds packets by bits: make one with `plait ip madcap set dev {name} …`"
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
        let set = |encapsulation, carries, bits: Option<(u16, u8)>| {
            let field = bits.map(|(offset, length)| BitField { offset, length });
            let row = Row { encapsulation, carries, field };
            Ok(Asked::Set { device: device(), row, source: Ipv4Addr::new(172, 16, 0, 1) })
        };
        // The rows of Table 4.1, and how the thesis writes one of them.
        for (words, row) in [
            (
                "offset 16 length 48 src 172.16.0.1 proto udp",
                set(Encapsulation::Vxlan, Carries::Bits, Some((0, 48))),
            ),
            (
                "offset 8 length 48 src 172.16.0.1 proto gre",
                set(Encapsulation::Nvgre, Carries::Bits, Some((0, 48))),
            ),
            (
                "offset 4 length 20 src 172.16.0.1 proto gre",
                set(Encapsulation::Gre, Carries::Payload, Some((0, 20))),
            ),
            (
                "offset 20 length 32 src 172.16.0.1 proto udp",
                set(Encapsulation::Gpe, Carries::Payload, Some((32, 32))),
            ),
            ("src 172.16.0.1", set(Encapsulation::Gre, Carries::Payload, None)),
            (
                "offset none length none src 172.16.0.1 proto ipip",
                set(Encapsulation::Ipip, Carries::Payload, None),
            ),
        ] {
            assert_eq!(of(&format!("set dev eth0 {words}")), row, "{words}");
        }
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
            ("set dev eth0 offset 16 length 48 src 10.0.0.1 proto ipip", "nothing stands between"),
            ("set dev eth0 offset 16 length 48 src 10.0.0.1 proto icmp", "`udp`, `gre` or `ipip`"),
            ("set dev eth0 offset 12 length 48 src 10.0.0.1 proto udp", "begin at 16"),
            ("set dev eth0 offset 12 src 10.0.0.1", "go together"),
            ("add id 10.0.0.0/8 dst 10.0.0.1 dev eth0", "hexadecimal"),
            ("add id xyz dst 10.0.0.1 dev eth0", "`xyz`"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
