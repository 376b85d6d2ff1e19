//! Answers to who asks for a host's hardware address: ARP, and neighbour discovery of IPv6.

use crate::Set;
use crate::access::{AccessList, Verdict};
use crate::floods::Floods;
use crate::frame::{Parsed, is_station};
use crate::hosts::Hosts;
use crate::outgoing::{release, send_bytes, some};
use crate::routes::Routes;
use crate::sighting::neighbor;
use crate::waiting::for_many;
use plait_control_openflow::{Actions, Commands, PacketIns};
use plait_control_runtime::{Dag, Failure, Manifest, Perhaps, native};
use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::neighbor::Neighbor;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{arp, ipv6, push};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// A question to all: who has an address?
///
/// Choice: a question to one host alone is passed on, since it asks whether that host is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    Arp(arp::Repr),
    Neighbor { target: Ipv6Addr, source: Ipv6Addr },
}

impl Question {
    pub fn of(parsed: &Parsed<'_>) -> Option<Self> {
        if !parsed.destination.is_group() {
            return None;
        }
        if parsed.ether_type == ether_type::ARP {
            return arp::Packet::parse(parsed.payload).ok().map(|packet| Self::Arp(arp::Repr::of(&packet)));
        }
        match (neighbor(parsed), parsed.addresses) {
            (Some(Neighbor::Solicitation { target, .. }), Some((IpAddr::V6(source), _))) => {
                Some(Self::Neighbor { target, source })
            }
            _ => None,
        }
    }

    fn target(&self) -> Option<IpAddr> {
        match self {
            // What tells all of one's own address is no question.
            Self::Arp(said) if said.operation != arp::REQUEST || said.sender.1 == said.target.1 => None,
            Self::Arp(said) => Some(said.target.1.into()),
            Self::Neighbor { target, .. } => Some((*target).into()),
        }
    }

    /// The answer that the host with this hardware address would give to who asks.
    fn answer(&self, mac: Mac, to: Mac, vlan: u16) -> Vec<u8> {
        let mut frame = Vec::new();
        let (ether_type, destination) = match *self {
            Self::Arp(said) => {
                let sender = (mac, said.target.1);
                push(&mut frame, &arp::Repr { operation: arp::REPLY, sender, target: said.sender });
                (ether_type::ARP, to)
            }
            Self::Neighbor { target, source } => {
                // Who has no address yet is told with all others (RFC 4861 section 7.2.4).
                let solicited = !source.is_unspecified();
                let all: Ipv6Addr = [0xff02, 0, 0, 0, 0, 0, 0, 1].into();
                let destination = if solicited { source } else { all };
                let says = Neighbor::Advertisement {
                    target,
                    mac: Some(mac),
                    router: false,
                    solicited,
                    overrides: true,
                };
                push(&mut frame, &says.between(target, destination));
                let repr = ipv6::Repr {
                    source: target,
                    destination,
                    next_header: protocol::ICMPV6,
                    hop_limit: 255,
                    traffic_class: 0,
                    flow_label: 0,
                };
                push(&mut frame, &repr);
                (ether_type::IPV6, if solicited { to } else { Mac([0x33, 0x33, 0, 0, 0, 1]) })
            }
        };
        let mut kind = ether_type;
        if vlan != 0 {
            let [high, low] = vlan.to_be_bytes();
            let [a, b] = ether_type.to_be_bytes();
            frame.splice(0..0, [high, low, a, b]);
            kind = ether_type::VLAN;
        }
        push(&mut frame, &ethernet::Repr { destination, source: mac, ether_type: kind });
        frame
    }
}

/// The application that answers for hosts that are known, and has the others asked.
pub fn proxy(instances: usize) -> Set {
    let many = for_many(instances);
    Set::default()
        .with(
            Manifest::new("proxy")
                .reads("~packet-ins@1")
                .reads("routes@1")
                .reads("hosts@1?")
                .reads("access-list@1?")
                .writes("~commands@1?")
                .writes("~floods@1?")
                .parallel(),
            native(|(batch, routes, hosts, access)| answer(batch, routes, hosts, access)),
        )
        .dag(Dag::chain("proxy", &["proxy"]).on("packet-ins@1").policy(many))
}

fn answer(
    batch: Arc<PacketIns>,
    routes: Arc<Routes>,
    hosts: Option<Arc<Hosts>>,
    access: Option<Arc<AccessList>>,
) -> Result<(Perhaps<Commands>, Perhaps<Floods>), Failure> {
    let (mut commands, mut floods) = (Commands::default(), Floods::default());
    for packet in batch.iter() {
        let Ok(parsed) = Parsed::of(packet.frame) else { continue };
        let Some(question) = Question::of(&parsed) else { continue };
        release(&packet, &mut commands);
        let denied = Verdict::of(access.as_deref(), &packet, &parsed) == Verdict::Denied;
        if denied || !is_station(parsed.source) || !routes.is_edge(packet.switch, packet.in_port) {
            continue;
        }
        let known = question.target().and_then(|target| hosts.as_ref()?.with_address(target));
        match known.filter(|host| host.mac != parsed.source && routes.joined(packet.switch, host.switch)) {
            Some(host) => {
                let answer = question.answer(host.mac, parsed.source, parsed.vlan);
                commands.push(packet.switch, send_bytes(answer, Actions::output(packet.in_port)));
            }
            None => floods.push(&packet),
        }
    }
    Ok((some(commands), floods.some()))
}
