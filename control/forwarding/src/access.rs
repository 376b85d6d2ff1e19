//! Access-control lists: the state `access-list`, what it says of a packet, and how switches get it.
//!
//! # How rules, flows and the controller agree
//!
//! A rule of priority p is a flow of priority 0x8000 + 4p: one that denies drops, two more above one that permits, which
//! sends to the controller. The flows that forward lie below all of them, so that a new rule that denies takes effect at
//! once. A packet that a rule permits is forwarded by a flow between that rule and one that denies with the same priority,
//! and that flow is for exactly this flow of packets, so that every packet of it meets the same verdict.
//!
//! Whoever is permitted by no rule and denied by none is permitted.

use crate::Set;
use crate::frame::Parsed;
use crate::outgoing::some;
use crate::waiting::of_switches;
use plait_control_openflow::{
    Action, Actions, Command, Commands, Fields, Flow, Mark, PacketIn, SwitchEvent, SwitchEvents, Switches,
    Version,
};
use plait_control_runtime::{Dag, Failure, Manifest, Perhaps, View, native, wit};
use std::sync::Arc;

/// Rules: the state `access-list`, which somebody outside writes: a driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessList {
    /// In no order but that of their priorities.
    pub rules: Vec<Rule>,
}
wit!(struct AccessList { rules });

impl View for AccessList {
    const NAME: &'static str = "access-list";
}

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The higher one counts; 8191 at most, a higher one is that. Of two with the same, one that denies.
    pub priority: u16,
    /// What becomes of packets.
    pub access: Access,
    /// Of which packets. A port of IP or an address needs its EtherType, as in every match.
    pub fields: Fields,
}
wit!(struct Rule { priority, access, fields });

/// What becomes of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// They go where they would.
    Permit,
    /// They are dropped.
    Deny,
}
wit!(
    enum Access {
        Permit,
        Deny,
    }
);

/// Rules as they are in switches: the state `access-installed`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installed {
    rules: Vec<Rule>,
}
wit!(struct Installed { rules });

impl View for Installed {
    const NAME: &'static str = "access-installed";
}

/// What may be done with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No rule speaks of it: any flow may forward it.
    Free,
    /// A rule permits it: a flow for exactly its flow, of this priority, may forward it.
    Permitted(u16),
    /// It may pass, but the switch has no words for a flow for exactly its flow.
    Once,
    /// It is dropped.
    Denied,
}

impl Verdict {
    pub fn of(list: Option<&AccessList>, packet: &PacketIn<'_>, parsed: &Parsed<'_>) -> Self {
        let Some(list) = list.filter(|list| !list.rules.is_empty()) else { return Self::Free };
        let exactly = parsed.exactly(packet.in_port, Version::V13);
        let found = list.rules.iter().filter(|rule| includes(&rule.fields, &exactly));
        let rule = found.max_by_key(|rule| (rule.priority, rule.access));
        let looks_inside = |rule: &&Rule| rule.fields != said(rule.fields, Version::V10);
        match rule {
            Some(Rule { access: Access::Deny, .. }) => Self::Denied,
            // A flow of 1.0 would hold for more of IPv6 than this packet's flow.
            _ if packet.version == Version::V10
                && parsed.exactly(packet.in_port, Version::V10) != exactly
                && list.rules.iter().any(|rule| looks_inside(&rule)) =>
            {
                Self::Once
            }
            Some(rule) => Self::Permitted(rule.flow_priority() + 1),
            None => Self::Free,
        }
    }
}

impl Rule {
    fn flow_priority(&self) -> u16 {
        0x8000 + self.priority.min(0x1fff) * 4 + if self.access == Access::Deny { 2 } else { 0 }
    }

    /// As a flow. Choice: what 1.0 has no words for goes to the controller, with more that it cannot tell from it.
    fn flow(&self, version: Version, mark: Mark) -> Flow {
        let fields = said(self.fields, version);
        let actions = match self.access {
            Access::Deny if fields == self.fields => Actions::drop(),
            _ => [Action::Controller(0xffff)].into_iter().collect(),
        };
        Flow { cookie: mark.cookie(0), ..Flow::add(self.flow_priority(), fields, actions) }
    }
}

/// What a version can say of fields: 1.0 looks no further into IPv6 than its EtherType.
fn said(fields: Fields, version: Version) -> Fields {
    const IPV6: u16 = plait_model_wire::number::ether_type::IPV6;
    match version {
        Version::V10 if fields.eth_type == Some(IPV6) => Fields {
            ipv6_src: None,
            ipv6_dst: None,
            protocol: None,
            source_port: None,
            destination_port: None,
            ..fields
        },
        _ => fields,
    }
}

/// Whether every packet of `exact`, whose fields are whole, has what `fields` ask for.
fn includes(fields: &Fields, exact: &Fields) -> bool {
    fn same<T: PartialEq>(asked: Option<T>, given: Option<T>) -> bool {
        asked.is_none() || asked == given
    }
    let prefix4 = |asked: Option<(std::net::Ipv4Addr, u8)>, given: Option<(std::net::Ipv4Addr, u8)>| {
        asked.is_none_or(|(network, bits)| {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            given.is_some_and(|(address, _)| (address.to_bits() ^ network.to_bits()) & mask == 0)
        })
    };
    let prefix6 = |asked: Option<(std::net::Ipv6Addr, u8)>, given: Option<(std::net::Ipv6Addr, u8)>| {
        asked.is_none_or(|(network, bits)| {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            given.is_some_and(|(address, _)| (address.to_bits() ^ network.to_bits()) & mask == 0)
        })
    };
    same(fields.in_port, exact.in_port)
        && same(fields.eth_src, exact.eth_src)
        && same(fields.eth_dst, exact.eth_dst)
        && same(fields.eth_type, exact.eth_type)
        && same(fields.vlan, exact.vlan)
        && same(fields.protocol, exact.protocol)
        && prefix4(fields.ipv4_src, exact.ipv4_src)
        && prefix4(fields.ipv4_dst, exact.ipv4_dst)
        && prefix6(fields.ipv6_src, exact.ipv6_src)
        && prefix6(fields.ipv6_dst, exact.ipv6_dst)
        && same(fields.source_port, exact.source_port)
        && same(fields.destination_port, exact.destination_port)
}

/// The applications that put the access list into switches, as flows of this mark: at their connection, and when it changes.
pub fn access_lists(mark: Mark) -> Set {
    Set::default()
        .with(
            Manifest::new("access-on-connect")
                .reads("~switch-events@1")
                .reads("switches@1")
                .reads("access-installed@1?")
                .writes("~commands@1?"),
            native(move |(events, switches, list)| on_connect(mark, events, switches, list)),
        )
        .with(
            Manifest::new("access-on-change")
                .reads("access-list@1")
                .reads("access-installed@1?")
                .reads("switches@1")
                .writes("access-installed@1")
                .writes("~commands@1?"),
            native(move |(list, installed, switches)| on_change(mark, list, installed, switches)),
        )
        .dag(
            Dag::chain("access-on-connect", &["access-on-connect"])
                .on("switch-events@1")
                .policy(of_switches()),
        )
        .dag(Dag::chain("access-on-change", &["access-on-change"]).on("access-list@1"))
}

fn on_connect(
    mark: Mark,
    events: Arc<SwitchEvents>,
    switches: Arc<Switches>,
    list: Option<Arc<Installed>>,
) -> Result<(Perhaps<Commands>,), Failure> {
    let mut commands = Commands::default();
    for (switch, event) in &events.list {
        let version = switches.known.get(switch).and_then(|info| Version::of(info.version));
        if let (SwitchEvent::Connected, Some(version)) = (event, version) {
            for rule in list.iter().flat_map(|list| &list.rules) {
                commands.push(*switch, Command::Flow(rule.flow(version, mark)));
            }
        }
    }
    Ok((some(commands),))
}

/// What a rule that is gone included is deleted, flows that forward among it, and all rules are said again: between the
/// two, what they spoke of goes to the controller, which obeys the new list. A switch that is away is
/// owed the deletions, and is told all rules when it is there again.
fn on_change(
    mark: Mark,
    list: Arc<AccessList>,
    installed: Option<Arc<Installed>>,
    switches: Arc<Switches>,
) -> Result<(Installed, Perhaps<Commands>), Failure> {
    let before = installed.as_ref().map_or(&[][..], |installed| &installed.rules);
    let gone: Vec<&Rule> = before.iter().filter(|rule| !list.rules.contains(rule)).collect();
    let new = list.rules.iter().filter(|rule| !before.contains(rule));
    let said: Vec<&Rule> = if gone.is_empty() { new.collect() } else { list.rules.iter().collect() };
    let mut commands = Commands::default();
    for (switch, info) in switches.in_order() {
        let Some(version) = Version::of(info.version) else { continue };
        for rule in &gone {
            commands.push(switch, Command::Flow(Flow::delete(rule.flow(version, mark).fields)));
        }
        if !info.connected {
            continue;
        }
        if !gone.is_empty() {
            commands.push(switch, Command::Barrier);
            // What was deleted may have been more than rules and flows that forward.
            let deleted = |flow: &Flow| gone.iter().any(|rule| includes(&rule.fields, &flow.fields));
            let again = crate::welcome::flows(version).filter(deleted);
            commands.extend(again.map(|flow| (switch, Command::Flow(flow))));
        }
        commands.extend(said.iter().map(|rule| (switch, Command::Flow(rule.flow(version, mark)))));
    }
    let installed = Installed { rules: list.rules.clone() };
    Ok((installed, some(commands)))
}
