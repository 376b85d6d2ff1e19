//! A host, made of a throw-away namespace, with an agent.

use crate::device::route_to;
use crate::lab::{End, Lab};
use crate::{Error, Result};
use netlink_packet_route::route::{RouteAddress, RouteAttribute};
use plait_dataplane_bpf::Sizes;
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_overlay::agent::{Agent, AgentOptions, LAYOUT};
use plait_dataplane_overlay::protocol::Request;
use plait_dataplane_overlay::{ApplicationConfig, Client, DeviceConfig};
use plait_model_overlay::{Application, NodeId, Operation, Weight};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an agent may take to answer, which in an emulated guest is not short.
const PATIENCE: Duration = Duration::from_secs(60);

/// A host with an agent.
pub(crate) struct Host {
    pub(crate) namespace: Arc<Namespace>,
    client: Option<Client>,
    pub(crate) number: u8,
}

impl Host {
    pub(crate) fn new(number: u8) -> Result<Self> {
        Ok(Self { namespace: Arc::new(Namespace::new()?), client: None, number })
    }

    pub(crate) fn id(&self) -> NodeId {
        NodeId(0x0a00_0000 + u32::from(self.number))
    }

    pub(crate) fn end(&self, third: u8, device: &str, below: &str) -> End {
        let (device, below) = (device.to_owned(), below.to_owned());
        End { namespace: self.namespace.clone(), address: address(third, self.number), device, below }
    }

    /// Starts its agent.
    pub(crate) fn start(&mut self, lab: &mut Lab) -> Result<()> {
        self.start_for(lab, Sizes::default().identifiers).map(drop)
    }

    /// Starts its agent, with room for so many identifiers. Where it keeps its tables.
    pub(crate) fn start_for(&mut self, lab: &mut Lab, identifiers: u32) -> Result<PathBuf> {
        let places = lab.place(&self.namespace);
        let (namespace, started) = (self.namespace.clone(), places.clone());
        std::thread::spawn(move || {
            let served = namespace.run(|| {
                Agent::start(AgentOptions { identifiers, ..AgentOptions::new(started) })
                    .and_then(Agent::serve)
                    .map_err(|error| error.to_string())
            });
            if let Ok(Err(error)) = served {
                eprintln!("an agent ended: {error}");
            }
        });
        let start = Instant::now();
        self.client = loop {
            match Client::connect(&places.socket()) {
                Ok(client) => break Some(client),
                Err(error) if start.elapsed() > PATIENCE => return Err(error.into()),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        Ok(places.pins.join(format!("layout-{LAYOUT}")))
    }

    pub(crate) fn ask(&mut self, request: Request) -> Result<()> {
        self.client.as_mut().ok_or(Error::NoAgent)?.ask(request)?;
        Ok(())
    }

    pub(crate) fn operate(&mut self, operation: Operation) -> Result<()> {
        self.ask(Request::Operation(operation))
    }

    /// Says how an application travels, and who this node is in it.
    pub(crate) fn apply(
        &mut self,
        application: Application,
        config: &ApplicationConfig,
        locators: &[Ipv4Addr],
    ) -> Result<()> {
        self.ask(Request::SetApplication { application, config: config.clone() })?;
        self.operate(Operation::NodeIdSet { application, node: self.id() })?;
        for locator in locators {
            let (locator, weight) = (IpAddr::V4(*locator), Weight::default());
            self.operate(Operation::LocatorAdd { application, locator, weight })?;
        }
        Ok(())
    }

    /// Adds another node, and that packets for it go straight to it.
    pub(crate) fn know(
        &mut self,
        application: Application,
        node: NodeId,
        locators: &[Ipv4Addr],
    ) -> Result<()> {
        for locator in locators {
            let (locator, weight) = (IpAddr::V4(*locator), Weight::default());
            self.operate(Operation::NodeAdd { application, node, locator, weight })?;
        }
        self.operate(Operation::RouteAdd { application, destination: node, next_hop: node })
    }

    /// Adds a device with an address.
    pub(crate) fn device(&mut self, name: &str, application: Application, third: u8) -> Result<()> {
        self.device_as(DeviceConfig::new(name, application, 0), third)
    }

    pub(crate) fn device_as(&mut self, device: DeviceConfig, third: u8) -> Result<()> {
        let name = &device.name.clone();
        self.ask(Request::SetDevice(device))?;
        Ok(self.namespace.address(name, address(third, self.number), 24)?)
    }
}

pub(crate) const fn address(third: u8, last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 200, third, last)
}

/// Makes a veth between two hosts, with an address at each end.
pub(crate) fn join(a: &Host, b: &Host, name: &str, third: u8) -> io::Result<()> {
    let there = format!("{name}p");
    a.namespace.veth(name, &b.namespace, &there)?;
    a.namespace.address(name, address(third, a.number), 24)?;
    b.namespace.address(&there, address(third, b.number), 24)
}

/// A route to a network by a gateway.
pub(crate) fn route(namespace: &Namespace, third: u8, gateway: Ipv4Addr) -> io::Result<()> {
    route_to(namespace, (address(third, 0), 24), vec![RouteAttribute::Gateway(RouteAddress::Inet(gateway))])
}
