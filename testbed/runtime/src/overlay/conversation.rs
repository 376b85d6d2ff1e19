//! What a node's agent is told, from what it knows to what it shall know.

use crate::build::messages;
use crate::kernel::netlink::{Batch, Netlink};
use crate::plan::{OverlayControl, OverlayDevice, OverlayState, mac};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use plait_control_overlay::written;
use plait_dataplane_overlay::protocol::{Reply, Request};
use plait_dataplane_overlay::{Client, Control};
use plait_model_overlay::{Answer, Locators, NodeId, Operation};
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::path::Path;

/// A conversation with the agent of the node that the calling thread is in.
pub(super) struct Conversation {
    client: Client,
}

impl Conversation {
    pub fn begin(socket: &Path) -> io::Result<Self> {
        Client::connect(socket).map(|client| Self { client })
    }

    /// Tells all of an overlay but who decides routes.
    pub fn lead(
        &mut self,
        node: &str,
        known: Option<&OverlayState>,
        wanted: &OverlayState,
    ) -> io::Result<()> {
        let before = known.map(told).unwrap_or_default();
        let after = told(wanted);
        for gone in before.iter().rev().filter(|request| !after.contains(request)) {
            // What was taken back by a change that failed farther on is away already.
            if let Some(request) = undone(gone, &after)
                && let Err(error) = self.client.ask(request)
            {
                tracing::debug!(node, %error, "not taken back");
            }
        }
        for new in after.iter().filter(|request| !before.contains(request)) {
            self.client.ask(new.clone())?;
        }
        for device in &wanted.devices {
            let same = |before: &&OverlayDevice| {
                (&before.config.name, before.config.vni) == (&device.config.name, device.config.vni)
            };
            let before = known.and_then(|known| known.devices.iter().find(same));
            name(node, before, device)?;
        }
        Ok(())
    }

    /// Tells who decides routes, or that nobody does; and the key by which nodes know each other in any case.
    pub fn drive(&mut self, wanted: &OverlayState, key: &Path) -> io::Result<()> {
        let control = match wanted.control.clone() {
            Some(OverlayControl { plane, seeds, interval, neighbours }) => {
                Control { plane, seeds, key: key.to_owned(), interval, neighbours }
            }
            None => Control::key(key),
        };
        let application = wanted.application;
        self.client.ask(Request::SetControl { application, control: Some(control) }).map(drop)
    }

    /// Whether the node has ways to others, and to the group if there is one.
    pub fn knows(&mut self, of: &OverlayState, others: &BTreeSet<NodeId>) -> io::Result<bool> {
        let asked = Request::Operation(Operation::RouteGet { application: of.application });
        let Reply::Answer(Answer::Routes(routes)) = self.client.ask(asked)? else { return Ok(false) };
        let all = others.iter().all(|other| routes.contains_key(other));
        Ok(all && of.config.group.is_none_or(|group| others.is_empty() || routes.contains_key(&group)))
    }
}

/// Everything that an agent is told of an overlay, in an order in which it can follow.
fn told(of: &OverlayState) -> Vec<Request> {
    let application = of.application;
    let mut told = vec![Request::SetApplication { application, config: of.config.clone() }];
    let weighted = |node: NodeId, locators: &BTreeSet<IpAddr>| -> Locators {
        let said = of.weights.get(&node);
        let weight = |locator| said.and_then(|said| said.get(locator)).copied().unwrap_or_default();
        locators.iter().map(|locator| (*locator, weight(locator))).collect()
    };
    let others = of.nodes.iter().map(|(node, locators)| (*node, weighted(*node, locators))).collect();
    let tables = written(of.id, weighted(of.id, &of.locators), others, of.config.group, of.routes.clone());
    told.extend(tables.operations(application).map(Request::Operation));
    told.extend(of.devices.iter().map(|device| Request::SetDevice(device.config.clone())));
    told.extend(of.stations.iter().map(|(device, identifier, node)| {
        let (device, identifier, node) = (device.clone(), *identifier, *node);
        Request::FibAdd { device, identifier, node }
    }));
    told.extend(of.evpn.clone().map(|evpn| Request::SetEvpn { application, evpn: Some(evpn) }));
    told
}

/// What takes back what was told, unless something after it does.
fn undone(told: &Request, after: &[Request]) -> Option<Request> {
    let names = |name: &String| {
        after.iter().any(|request| matches!(request, Request::SetDevice(device) if device.name == *name))
    };
    // What has another weight now is told so, and never away.
    let is_kept = |same: &dyn Fn(&Operation) -> bool| {
        after.iter().any(|request| matches!(request, Request::Operation(operation) if same(operation)))
    };
    Some(match told {
        Request::Operation(Operation::LocatorAdd { locator, .. })
            if is_kept(
                &|operation| matches!(operation, Operation::LocatorAdd { locator: other, .. } if other == locator),
            ) =>
        {
            return None;
        }
        Request::Operation(Operation::NodeAdd { node, locator, .. })
            if is_kept(&|operation| {
                matches!(
                    operation,
                    Operation::NodeAdd { node: of, locator: other, .. } if (of, other) == (node, locator)
                )
            }) =>
        {
            return None;
        }
        Request::Operation(Operation::LocatorAdd { application, locator, .. }) => {
            Request::Operation(Operation::LocatorDel { application: *application, locator: *locator })
        }
        Request::Operation(Operation::NodeAdd { application, node, locator, .. }) => {
            let (application, node, locator) = (*application, *node, *locator);
            Request::Operation(Operation::NodeDel { application, node, locator })
        }
        Request::Operation(Operation::RouteAdd { application, destination, next_hop }) => {
            let (application, destination, next_hop) = (*application, *destination, *next_hop);
            Request::Operation(Operation::RouteDel { application, destination, next_hop })
        }
        Request::SetDevice(device) if !names(&device.name) => {
            Request::RemoveDevice { name: device.name.clone() }
        }
        Request::SetEvpn { application, .. }
            if !after.iter().any(|request| matches!(request, Request::SetEvpn { .. })) =>
        {
            Request::SetEvpn { application: *application, evpn: None }
        }
        // With its device an entry goes by itself.
        Request::FibAdd { device, identifier, .. } if names(device) => {
            Request::FibDel { device: device.clone(), identifier: *identifier }
        }
        _ => return None,
    })
}

/// Gives a device its addresses: in hardware the same in every run, and those that the file says.
fn name(node: &str, before: Option<&OverlayDevice>, device: &OverlayDevice) -> io::Result<()> {
    let name = &device.config.name;
    let index = messages::index_of(name);
    if index == 0 {
        return Err(io::Error::other(format!("the agent made no device `{name}`")));
    }
    let netlink = Netlink::open()?;
    let known = before.map(|before| &before.addresses[..]).unwrap_or_default();
    let mut gone = Batch::default();
    for address in known.iter().filter(|address| !device.addresses.contains(address)) {
        gone.push(messages::address(index, *address, false), 0);
    }
    let is_away = |error: &io::Error| error.raw_os_error() == Some(libc::EADDRNOTAVAIL);
    if let Some(refused) = netlink.send(&mut gone)?.into_iter().find(|refused| !is_away(&refused.error)) {
        return Err(refused.error);
    }
    let mut come = Batch::default();
    if before.is_none() {
        come.push(messages::identity(index, mac(&(node.to_owned(), name.clone())), None), 0);
    }
    for address in device.addresses.iter().filter(|address| !known.contains(address)) {
        come.push(messages::address(index, *address, true), NLM_F_CREATE | NLM_F_REPLACE);
    }
    netlink.send_whole(&mut come)
}
