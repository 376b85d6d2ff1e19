//! The neighbours that the kernel knows, and those that it is asked to look for.

use crate::Neighbour;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourExtFlags, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use plait_dataplane_netlink::Netlink;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::IpAddr;

/// What is known of neighbours.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    known: HashMap<Neighbour, [u8; 6]>,
    /// Those that the kernel was asked to keep.
    kept: BTreeSet<Neighbour>,
    /// Those whose hardware address somebody wrote for good (`nud permanent`): nobody looks for them, and they stay as they are.
    fixed: BTreeSet<Neighbour>,
    /// Whether the kernel refused to look for one.
    is_refused: bool,
}

impl Neighbours {
    /// Forgets what the kernel said of them, which it is asked for once more. Who was known.
    pub fn forget(&mut self) -> impl Iterator<Item = Neighbour> + use<> {
        self.fixed.clear();
        std::mem::take(&mut self.known).into_keys()
    }

    /// The kernel says of one how it is. Which, and whether it was written for good and is not any more, or the other way round.
    pub fn hear(&mut self, message: NeighbourMessage) -> (Option<Neighbour>, bool) {
        let is_fixed = message.header.state == NeighbourState::Permanent;
        let Some((neighbour, address)) = neighbour_of(message) else { return (None, false) };
        let is_otherwise_fixed = if is_fixed {
            // The kernel is asked to keep it no more, by whoever wrote it.
            self.kept.remove(&neighbour);
            self.fixed.insert(neighbour)
        } else {
            self.fixed.remove(&neighbour)
        };
        match address {
            Some(address) => self.known.insert(neighbour, address),
            None => self.known.remove(&neighbour),
        };
        (Some(neighbour), is_otherwise_fixed)
    }

    /// The kernel says that one is no more. Which, and whether it was written for good.
    pub fn lose(&mut self, message: NeighbourMessage) -> (Option<Neighbour>, bool) {
        let Some((neighbour, _)) = neighbour_of(message) else { return (None, false) };
        self.known.remove(&neighbour);
        // Somebody flushed them: what is kept is asked for again.
        self.kept.remove(&neighbour);
        (Some(neighbour), self.fixed.remove(&neighbour))
    }

    /// Those that are known on a device.
    pub fn on(&self, interface: u32) -> impl Iterator<Item = Neighbour> {
        self.known.keys().copied().filter(move |known| known.interface == interface)
    }

    /// A neighbour's hardware address, as the kernel knows it.
    pub fn hardware_address(&self, neighbour: Neighbour) -> Option<[u8; 6]> {
        self.known.get(&neighbour).copied()
    }

    /// Has the kernel look for these neighbours, and look again before what it knows is old; of others no more. It is not asked for
    /// those that somebody wrote for good, since it would forget that, and for one that it refuses once more the next time. Whether they are
    /// others than before.
    pub fn keep(&mut self, netlink: &Netlink, wanted: &BTreeSet<Neighbour>) -> bool {
        let mut wanted: BTreeSet<Neighbour> = wanted.difference(&self.fixed).copied().collect();
        if wanted == self.kept {
            return false;
        }
        let mut refused = Vec::new();
        for neighbour in wanted.difference(&self.kept) {
            let mut message = neighbour_message(*neighbour);
            message.attributes.push(NeighbourAttribute::ExtFlags(NeighbourExtFlags::Managed));
            let managed = RouteNetlinkMessage::NewNeighbour(message.clone());
            if netlink.request(managed, NLM_F_CREATE | NLM_F_REPLACE).is_err() {
                // It may be no way to keep one that the kernel knows by other means; then it looks for it once.
                message.attributes.pop();
                message.header.flags = NeighbourFlags::Use;
                let once = RouteNetlinkMessage::NewNeighbour(message);
                if let Err(error) = netlink.request(once, NLM_F_CREATE | NLM_F_REPLACE) {
                    tracing::warn!(neighbour = %neighbour.address, %error, "the kernel does not look for a neighbour");
                    refused.push(*neighbour);
                }
            }
        }
        for neighbour in self.kept.difference(&wanted) {
            let_go(netlink, *neighbour);
        }
        self.is_refused = !refused.is_empty();
        wanted.retain(|neighbour| !refused.contains(neighbour));
        std::mem::replace(&mut self.kept, wanted) != self.kept
    }

    /// Whether the kernel is to be asked again for one.
    pub fn is_behind(&self) -> bool {
        self.is_refused
    }

    /// Those that the kernel was asked to keep.
    pub fn kept(&self) -> &BTreeSet<Neighbour> {
        &self.kept
    }
}

/// All neighbours, as the kernel says them.
pub(super) fn dump(netlink: &Netlink) -> io::Result<Vec<RouteNetlinkMessage>> {
    let mut all = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut ask = NeighbourMessage::default();
        ask.header.family = family;
        all.extend(netlink.dump(RouteNetlinkMessage::GetNeighbour(ask))?);
    }
    Ok(all)
}

/// Has the kernel treat a neighbour as any other. It was perhaps known for other reasons: so it is not deleted.
fn let_go(netlink: &Netlink, neighbour: Neighbour) {
    let mut message = neighbour_message(neighbour);
    message.header.state = NeighbourState::Stale;
    // One whose address was never found cannot be stale.
    if netlink.request(RouteNetlinkMessage::NewNeighbour(message.clone()), NLM_F_REPLACE).is_err() {
        let _ = netlink.request(RouteNetlinkMessage::DelNeighbour(message), 0);
    }
}

/// The same of those that an agent kept which is gone, but for what somebody wrote for good meanwhile.
pub(super) fn let_go_of(netlink: &Netlink, kept: impl IntoIterator<Item = Neighbour>) -> io::Result<()> {
    let mut now = Neighbours::default();
    for message in dump(netlink)? {
        if let RouteNetlinkMessage::NewNeighbour(message) = message {
            now.hear(message);
        }
    }
    let kept = kept.into_iter().filter(|kept| !now.fixed.contains(kept));
    kept.for_each(|neighbour| let_go(netlink, neighbour));
    Ok(())
}

/// A neighbour, and its hardware address as far as that can be used.
fn neighbour_of(message: NeighbourMessage) -> Option<(Neighbour, Option<[u8; 6]>)> {
    let (mut address, mut hardware) = (None, None);
    for attribute in message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(inet)) => address = Some(IpAddr::V4(inet)),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(inet6)) => {
                address = Some(IpAddr::V6(inet6))
            }
            NeighbourAttribute::LinkLayerAddress(bytes) => hardware = bytes.try_into().ok(),
            _ => {}
        }
    }
    let is_usable = matches!(
        message.header.state,
        NeighbourState::Reachable
            | NeighbourState::Stale
            | NeighbourState::Delay
            | NeighbourState::Probe
            | NeighbourState::Permanent
            | NeighbourState::Noarp
    );
    let neighbour = Neighbour { interface: message.header.ifindex, address: address? };
    Some((neighbour, hardware.filter(|_| is_usable)))
}

fn neighbour_message(neighbour: Neighbour) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.ifindex = neighbour.interface;
    let address = match neighbour.address {
        IpAddr::V4(address) => {
            message.header.family = AddressFamily::Inet;
            NeighbourAddress::Inet(address)
        }
        IpAddr::V6(address) => {
            message.header.family = AddressFamily::Inet6;
            NeighbourAddress::Inet6(address)
        }
    };
    message.attributes.push(NeighbourAttribute::Destination(address));
    message
}
