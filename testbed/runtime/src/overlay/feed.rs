//! An overlay whose tables a control plane fills that is there already: what `control: {evpn: …}` means.

use super::resolve::Member;
use crate::section::OverlayEvpn;
use plait_dataplane_overlay::{ApplicationConfig, Carries, Encapsulation, Evpn};
use plait_model_quantity::TimeSpan;
use plait_model_topology::Network;
use plait_model_topology::address::Assignment;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::{Span, Spanned};
use plait_model_topology::network::NodeIndex;
use plait_model_topology::vocabulary::Role;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Whom the members of an overlay have sessions with.
pub struct Feed {
    neighbor: Neighbor,
    span: Span,
    as_number: u32,
    remote_as: Option<u32>,
    hold: Option<u16>,
}

enum Neighbor {
    Address(IpAddr),
    Node(NodeIndex),
}

impl Feed {
    /// What is written, with its names resolved.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn resolve(
        written: &OverlayEvpn,
        config: &ApplicationConfig,
        network: &Network,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut faults = Vec::new();
        let name = &written.neighbor;
        let neighbor = neighbor(name, network).map_err(|fault| faults.push(fault));
        for number in [Some(written.as_number), written.remote_as].into_iter().flatten() {
            if number.value == 0 {
                let fault = Diagnostic::new(number.span, "0 is no AS");
                faults.push(fault.help("write a number from 1 to 4294967295, such as `65000`"));
            }
        }
        let hold = written.hold.map(|hold| (seconds(hold.value), hold.span));
        if let Some((None, span)) = hold {
            let fault = Diagnostic::new(span, "a hold time is 3s to 65535s, in whole seconds");
            faults.push(fault.help("write a time such as `9s`"));
        }
        if (config.carries, config.encapsulation) != (Carries::Ethernet, Encapsulation::Vxlan) {
            let fault = Diagnostic::new(name.span, "EVPN fills overlays that carry `ethernet` in `vxlan`");
            faults.push(fault.help("leave out `carries` and `encapsulation`, or write `control: mesh`"));
        }
        match neighbor {
            Ok(neighbor) if faults.is_empty() => Ok(Self {
                neighbor,
                span: name.span,
                as_number: written.as_number.value,
                remote_as: written.remote_as.map(|number| number.value),
                hold: hold.and_then(|(hold, _)| hold),
            }),
            _ => Err(faults),
        }
    }

    /// What each member is told, in their order.
    ///
    /// # Errors
    /// Members that EVPN cannot announce, and those for whom the neighbour has no address.
    pub fn members(
        &self,
        members: &[Member],
        locators: &[BTreeSet<IpAddr>],
        network: &Network,
        assignment: &Assignment,
    ) -> Result<Vec<Option<Evpn>>, Vec<Diagnostic>> {
        let mut faults = Vec::new();
        let mut told = Vec::new();
        for (member, own) in members.iter().zip(locators) {
            let name = &network.nodes[member.node].name;
            if own.len() > 1 {
                let text = format!("EVPN announces one address of a member, and `{name}` has {}", own.len());
                let help = "name one in the member's `locators`";
                faults.push(Diagnostic::new(member.span, text).help(help));
            }
            match self.address(member.node, own, assignment) {
                Some(neighbor) => {
                    let usual = Evpn::new(neighbor, self.as_number);
                    let hold = self.hold.unwrap_or(usual.hold);
                    told.push(Some(Evpn { remote_as: self.remote_as, hold, ..usual }));
                }
                None => {
                    let text = format!("the neighbour has no address that `{name}` could connect to");
                    faults.push(Diagnostic::new(self.span, text).help("name another node, or an address"));
                }
            }
        }
        if faults.is_empty() { Ok(told) } else { Err(faults) }
    }

    /// The neighbour's address for a member. Choice: of a node the one on a link that both have, since an eBGP neighbour is
    /// a hop away; else the first one of a family that the member is reached by.
    fn address(
        &self,
        member: NodeIndex,
        locators: &BTreeSet<IpAddr>,
        assignment: &Assignment,
    ) -> Option<IpAddr> {
        let node = match self.neighbor {
            Neighbor::Address(address) => return Some(address),
            Neighbor::Node(node) => node,
        };
        let own: Vec<_> = assignment.all(member).collect();
        let is_near = |address: &IpAddr| own.iter().any(|net| net.contains(address));
        let is_of_family = |address: &IpAddr| locators.iter().any(|own| own.is_ipv4() == address.is_ipv4());
        let all = || assignment.all(node).map(|net| net.addr()).filter(is_of_family);
        all().find(is_near).or_else(|| all().next())
    }
}

fn neighbor(name: &Spanned<String>, network: &Network) -> Result<Neighbor, Diagnostic> {
    if let Ok(address) = name.value.parse() {
        return Ok(Neighbor::Address(address));
    }
    let Some(index) = network.nodes.iter().position(|node| node.name == name.value) else {
        let known = network.nodes.iter().map(|node| node.name.as_str());
        let help = suggest(&name.value, known);
        return Err(Diagnostic::new(name.span, format!("unknown node `{}`", name.value)).help(help));
    };
    if network.nodes[index].role == Role::Switch {
        let text = format!("`{}` is a switch, which speaks no BGP", name.value);
        return Err(Diagnostic::new(name.span, text).help("name a router, or an address"));
    }
    Ok(Neighbor::Node(index))
}

/// Whole seconds that a hold time can be (RFC 4271 section 4.2).
fn seconds(time: TimeSpan) -> Option<u16> {
    const SECOND: u64 = 1_000_000_000;
    let nanos = time.as_nanos();
    let whole = nanos.is_multiple_of(SECOND).then(|| u16::try_from(nanos / SECOND).ok())??;
    (whole >= 3).then_some(whole)
}
