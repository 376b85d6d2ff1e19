//! madcap's operations: the words of the overlay FIB's author, said to an agent.
//!
//! A device finds where packets go by bits of them. The thesis's device gets packets from a tunnel's driver, puts outer IP and UDP
//! before them, and counts bits from behind the outer IP header. Here the device puts the tunnel's header before them, too: [`Row`]
//! says which, by the [`Protocol`] and by where the bits are. A node's identity is its IPv4 address.
//!
//! | of `struct madcap_ops` | here |
//! |---|---|
//! | offset and length; UDP | [`Madcap::set`]: what bits there may be is a matter of the protocol |
//! | insert an entry, delete one | [`Madcap::insert`], [`Madcap::delete`] |
//! | dump the configuration | [`Madcap::configuration`] |
//! | dump the entries | [`Madcap::entries`] |

mod row;

pub use row::{Place, Protocol, Row};

use crate::protocol::{Config, FibRow, Reply, Request};
use crate::{ApplicationConfig, Bits, Carries, Client, DeviceConfig, Encapsulation, Identifier};
use plait_model_overlay::{Answer, Application, NodeId, Operation, Weight};
use plait_model_wire::number::protocol;
use rustix::net::{self, AddressFamily, SocketType};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::{fmt, io};

/// The application of devices that no other is said of. Choice: none of those that have a name.
const APPLICATION: Application = Application(8);

/// An agent, spoken to in madcap's operations.
#[derive(Debug)]
pub struct Madcap<'a> {
    agent: &'a mut Client,
}

impl<'a> Madcap<'a> {
    /// One that speaks to an agent.
    pub fn new(agent: &'a mut Client) -> Self {
        Self { agent }
    }

    /// Makes a device that finds packets so, or changes one. A device of the host keeps its packets, and gets another one beside it.
    ///
    /// # Errors
    /// What the agent refuses; what would differ from other devices of this agent, which are one node's and are told apart by VNI.
    /// Nothing is changed then.
    pub fn set(&mut self, device: &str, row: Row, source: Ipv4Addr) -> io::Result<Reply> {
        let config = self.config()?;
        let name = own_name(&config, device)?;
        let known = config.devices.iter().find(|known| known.name == name);
        let application = known.map_or(APPLICATION, |known| known.application);
        let beside = |of: &&DeviceConfig| of.application == application && of.name != name;
        let beside: Vec<&DeviceConfig> = config.devices.iter().filter(beside).collect();
        let vni = known.map_or_else(|| free_vni(&beside), |known| known.vni);
        let wanted = DeviceConfig { bits: row.field, ..DeviceConfig::new(name, application, vni) };
        // All before anything is changed.
        let shared = config.applications.get(&application).zip(beside.first());
        if let Some((shared, other)) = shared {
            self.check_alike(&wanted, shared, &other.name, row, source)?;
            shared.check_vni(vni).map_err(refuse)?;
        }
        wanted.check().map_err(refuse)?;
        if shared.is_none() {
            self.set_application(&config, &wanted, row, source)?;
        }
        self.agent.ask(Request::SetDevice(wanted))
    }

    /// Says that packets with an identifier, or all without one, go to a node by its locator.
    ///
    /// # Errors
    /// A device that finds nothing by bits; what the agent refuses.
    pub fn insert(
        &mut self,
        device: &str,
        identifier: Option<Identifier>,
        destination: Ipv4Addr,
    ) -> io::Result<Reply> {
        let DeviceConfig { name: device, application, .. } = device_of(&self.config()?, device)?.clone();
        let node = NodeId(destination.into());
        let (locator, weight) = (destination.into(), Weight::default());
        self.operate(Operation::NodeAdd { application, node, locator, weight })?;
        self.operate(Operation::RouteAdd { application, destination: node, next_hop: node })?;
        self.agent.ask(Request::FibAdd { device, identifier: identifier.unwrap_or_else(no_bits), node })
    }

    /// Forgets where packets with an identifier go, or those without any; and the node that they went to, its locator and way as
    /// [`insert`](Self::insert) says them, where nothing else goes there: its packets are no longer expected then.
    ///
    /// # Errors
    /// As of [`insert`](Self::insert).
    pub fn delete(&mut self, device: &str, identifier: Option<Identifier>) -> io::Result<Reply> {
        let config = self.config()?;
        let DeviceConfig { name: device, application, .. } = device_of(&config, device)?.clone();
        let identifier = identifier.unwrap_or_else(no_bits);
        let leads = |row: &FibRow| row.device == device && row.identifier == identifier;
        let before = self.fib(None)?;
        let reply = self.agent.ask(Request::FibDel { device: device.clone(), identifier })?;
        if let Some(node) = before.iter().find(|row| leads(row)).map(|row| row.node) {
            let of_it = |row: &&FibRow| {
                let is_of =
                    |known: &DeviceConfig| known.name == row.device && known.application == application;
                row.node == node && !leads(row) && config.devices.iter().any(is_of)
            };
            if !before.iter().any(|row| of_it(&row)) {
                self.forget(application, node)?;
            }
        }
        Ok(reply)
    }

    /// Takes away what [`insert`](Self::insert) says of a node.
    fn forget(&mut self, application: Application, node: NodeId) -> io::Result<()> {
        let has = |answer| match answer {
            Reply::Answer(Answer::Routes(routes)) => {
                routes.get(&node).is_some_and(|hops: &BTreeSet<NodeId>| hops.contains(&node))
            }
            Reply::Answer(Answer::Nodes(nodes)) => {
                nodes.get(&node).is_some_and(|locators| locators.contains_key(&Ipv4Addr::from(node.0).into()))
            }
            _ => false,
        };
        // Somebody may have taken either away before, by other words.
        if has(self.agent.ask(Request::Operation(Operation::RouteGet { application }))?) {
            self.operate(Operation::RouteDel { application, destination: node, next_hop: node })?;
        }
        if has(self.agent.ask(Request::Operation(Operation::NodeGet { application }))?) {
            let locator = Ipv4Addr::from(node.0).into();
            self.operate(Operation::NodeDel { application, node, locator })?;
        }
        Ok(())
    }

    /// How a device finds packets, and where it sends them from.
    ///
    /// # Errors
    /// A device that finds nothing by bits.
    pub fn configuration(&mut self, device: &str) -> io::Result<Configuration> {
        let config = self.config()?;
        let device = device_of(&config, device)?;
        let application = device.application;
        let src = self.locators(application)?;
        let encapsulation =
            config.applications.get(&application).map_or(Encapsulation::Vxlan, |config| config.encapsulation);
        let proto = match encapsulation {
            Encapsulation::Gre | Encapsulation::Nvgre | Encapsulation::Mpls => protocol::GRE,
            Encapsulation::Ipip => protocol::IPV4,
            _ => protocol::UDP,
        };
        let offset = device.bits.map(|field| encapsulation.shim_bytes() + field.byte());
        let bit = device.bits.map_or(0, |field| field.bit());
        Ok(Configuration { offset, bit, length: device.bits.map(|field| field.length), proto, src })
    }

    /// A device's entries, with their counters.
    ///
    /// # Errors
    /// A device that finds nothing by bits.
    pub fn entries(&mut self, device: &str) -> io::Result<Vec<FibRow>> {
        let device = device_of(&self.config()?, device)?.name.clone();
        self.fib(Some(device))
    }

    /// Entries of a device, or of all.
    fn fib(&mut self, device: Option<String>) -> io::Result<Vec<FibRow>> {
        match self.agent.ask(Request::FibGet { device })? {
            Reply::Fib(rows) => Ok(rows),
            other => Err(io::Error::other(format!("no entries: {other:?}"))),
        }
    }

    /// Devices of an agent are one node's: they have its source and encapsulation.
    fn check_alike(
        &mut self,
        wanted: &DeviceConfig,
        shared: &ApplicationConfig,
        other: &str,
        row: Row,
        source: Ipv4Addr,
    ) -> io::Result<()> {
        let is_alike = (shared.encapsulation, shared.carries) == (row.encapsulation, row.carries);
        if is_alike && self.locators(wanted.application)?.contains(&source.into()) {
            return Ok(());
        }
        let has = self.configuration(other)?.to_string();
        Err(refuse(format!(
            "`{other}` of this agent has {}: give `{}` the same tunnel and `src`, or another agent",
            has.trim_end(),
            wanted.name
        )))
    }

    /// Makes the application of a device, with its node and locator.
    fn set_application(
        &mut self,
        config: &Config,
        wanted: &DeviceConfig,
        row: Row,
        source: Ipv4Addr,
    ) -> io::Result<()> {
        let DeviceConfig { application, vni, ref name, .. } = *wanted;
        let carried = ApplicationConfig {
            carries: row.carries,
            encapsulation: row.encapsulation,
            to: BTreeMap::new(),
            accepts: BTreeSet::new(),
            vni,
            ..ApplicationConfig::default()
        };
        let (locator, weight) = (source.into(), Weight::default());
        for (other, theirs) in config.applications.iter().filter(|(other, _)| **other != application) {
            if let Some(taken) = carried.takes_as(theirs)
                && self.locators(*other)?.contains(&locator)
            {
                return Err(refuse(format!(
                    "application {other} takes {taken} at {locator} already: give `{name}` another `src`, or another agent"
                )));
            }
        }
        self.agent.ask(Request::SetApplication { application, config: carried })?;
        self.operate(Operation::NodeIdSet { application, node: NodeId(source.into()) })?;
        self.operate(Operation::LocatorAdd { application, locator, weight })
    }

    fn operate(&mut self, operation: Operation) -> io::Result<()> {
        self.agent.ask(Request::Operation(operation)).map(|_| ())
    }

    fn config(&mut self) -> io::Result<Config> {
        match self.agent.ask(Request::Config)? {
            Reply::Config(config) => Ok(config),
            other => Err(io::Error::other(format!("no configuration: {other:?}"))),
        }
    }

    /// A node's own locators.
    fn locators(&mut self, application: Application) -> io::Result<Vec<IpAddr>> {
        match self.agent.ask(Request::Operation(Operation::LocatorGet { application }))? {
            Reply::Answer(Answer::Locators(locators)) => Ok(locators.into_keys().collect()),
            other => Err(io::Error::other(format!("no locators: {other:?}"))),
        }
    }
}

/// How a device finds packets. Shown, it is a line in the thesis's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Configuration {
    /// Bytes behind the outer IP header; none where packets all go one way.
    pub offset: Option<u16>,
    /// Bits of that byte before them.
    #[serde(skip_serializing_if = "is_nought")]
    pub bit: u8,
    /// How many bits they are found by.
    pub length: Option<u8>,
    /// The IP protocol.
    pub proto: u8,
    /// Outer source addresses.
    pub src: Vec<IpAddr>,
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, bit, length, proto, src } = self;
        match (offset, length) {
            (Some(offset), Some(length)) if *bit > 0 => {
                write!(f, "offset {offset}.{bit} length {length} proto {proto}")?
            }
            (Some(offset), Some(length)) => write!(f, "offset {offset} length {length} proto {proto}")?,
            _ => write!(f, "offset none length none proto {proto}")?,
        }
        src.iter().try_for_each(|address| write!(f, " src {address}"))?;
        writeln!(f)
    }
}

fn is_nought(bit: &u8) -> bool {
    *bit == 0
}

/// The identifier of what is found by no bits.
fn no_bits() -> Identifier {
    Identifier::Bits(Bits::NONE)
}

/// The device of this agent by which a device of the host gets its packets out: the thesis's words name the latter.
fn beside(device: &str) -> String {
    format!("mc-{device}")
}

/// Its longest name: the kernel's, without those three letters.
const LONGEST: usize = 15 - 3;

/// What a device that is asked for is called here.
fn own_name(config: &Config, device: &str) -> io::Result<String> {
    if config.devices.iter().any(|known| known.name == device) || !is_device(device)? {
        return Ok(device.to_owned());
    }
    if device.len() > LONGEST {
        return Err(refuse(format!(
            "the device beside `{device}` would be called `{}`, which is too long: choose a `dev` that this host has not",
            beside(device)
        )));
    }
    Ok(beside(device))
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

fn device_of<'c>(config: &'c Config, name: &str) -> io::Result<&'c DeviceConfig> {
    let is_it = |device: &&DeviceConfig| {
        let carries = config.applications.get(&device.application).map(|config| config.carries);
        carries.is_some_and(Carries::are_found_by_bits)
            && (device.name == name || device.name == beside(name))
    };
    let unknown =
        || format!("no device `{name}` finds packets by bits: make one with `ip madcap set dev {name} …`");
    config.devices.iter().find(is_it).ok_or_else(|| refuse(unknown()))
}

fn refuse(fault: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, fault.to_string())
}
