//! Seeing hosts: the stream `sightings`, and the applications that make it and fold it.

use crate::Set;
use crate::frame::{Parsed, is_station};
use crate::hosts::{HostBounds, Hosts, Known, Seen};
use crate::links::Probing;
use crate::outgoing::{delete_leaving, some, superseding};
use crate::routes::Routes;
use crate::together::look_up;
use crate::waiting::for_many;
use foldhash::HashSet;
use plait_control_openflow::{Commands, Fields, PacketIns, Port, Staged, Switches, Version};
use plait_control_runtime::{Dag, Failure, Kind, Manifest, Perhaps, View, native, wit};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::neighbor::Neighbor;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{arp, ipv6};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Hosts that are new, that moved or that have another address: the stream `sightings`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sightings {
    /// Each once.
    pub list: Vec<Sighting>,
}
wit!(struct Sightings { list });

impl View for Sightings {
    const NAME: &'static str = "sightings";
    const KIND: Kind = Kind::Stream;
}

/// A host was seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sighting {
    /// Its hardware address.
    pub mac: [u8; 6],
    /// At this switch,
    pub switch: u64,
    /// behind this port.
    pub port: Port,
    /// An IPv4 address that it has.
    pub ipv4: Option<Ipv4Addr>,
    /// An IPv6 address that it has.
    pub ipv6: Option<Ipv6Addr>,
}
wit!(struct Sighting { mac, switch, port, ipv4, ipv6 });

/// The applications that know where hosts are.
pub fn hosts(bounds: HostBounds, instances: usize) -> Set {
    let many = for_many(instances);
    Set::default()
        .with(
            Manifest::new("sight")
                .reads("~packet-ins@1")
                .reads("routes@1")
                .reads("hosts@1?")
                .writes("~sightings@1?")
                .parallel(),
            native(|(batch, routes, hosts)| sight(batch, routes, hosts)),
        )
        .with(
            Manifest::new("hosts")
                .reads("~sightings@1")
                .reads("hosts@1?")
                .reads("routes@1")
                .reads("switches@1")
                .reads("probing@1")
                .writes("hosts@1")
                .writes("~commands@1?")
                .writes("~staged-commands@1?"),
            native(move |(sightings, hosts, routes, switches, probing): (_, _, _, _, Arc<Probing>)| {
                fold(bounds, sightings, hosts, routes, (switches, probing.round))
            }),
        )
        .with(
            Manifest::new("hosts-gone").reads("routes@1").reads("hosts@1").writes("hosts@1?"),
            native(|(routes, hosts)| prune(routes, hosts)),
        )
        .dag(Dag::chain("sight", &["sight"]).on("packet-ins@1").policy(many))
        // Choice: as many batches wait as of any stream, a hundred megabytes at most. With 64, or 256 sightings of a batch, hosts that
        // come up by the thousand are lost, and their flows have no way until each was seen again.
        .dag(Dag::chain("hosts", &["hosts"]).on("sightings@1"))
        .dag(Dag::chain("hosts-gone", &["hosts-gone"]).on("routes@1"))
}

/// Hosts are seen where packets enter the network, and nowhere else: behind the end of a link are switches.
fn sight(
    batch: Arc<PacketIns>,
    routes: Arc<Routes>,
    hosts: Option<Arc<Hosts>>,
) -> Result<(Perhaps<Sightings>,), Failure> {
    let (mut sightings, mut known) = (Sightings::default(), HashSet::default());
    let hosts = hosts.as_deref();
    look_up(
        &batch,
        hosts,
        |parsed| parsed.source,
        |_, packet, parsed, host| {
            let at = (packet.switch, packet.in_port);
            let Some(parsed) = parsed.filter(|parsed| is_station(parsed.source) && !parsed.is_for_bridges())
            else {
                return;
            };
            if !routes.is_edge(at.0, at.1) {
                return;
            }
            let address = claimed(&parsed, host, hosts);
            let is_known =
                host.is_some_and(|host| host.at() == at && address.is_none_or(|own| host.has(own)));
            if is_known {
                return;
            }
            let (ipv4, ipv6) = match address {
                Some(IpAddr::V4(address)) => (Some(address), None),
                Some(IpAddr::V6(address)) => (None, Some(address)),
                None => (None, None),
            };
            let sighting = Sighting { mac: parsed.source.0, switch: at.0, port: at.1, ipv4, ipv6 };
            if known.insert(sighting.clone()) {
                sightings.list.push(sighting);
            }
        },
    );
    Ok((Perhaps((!sightings.list.is_empty()).then_some(sightings)),))
}

/// The address that a packet says its sender has.
///
/// Choice: ARP and neighbour discovery count always. The source of another packet counts if nobody has that address and
/// the sender none of the family, since routers send packets of many others.
fn claimed(parsed: &Parsed<'_>, host: Option<&Known>, hosts: Option<&Hosts>) -> Option<IpAddr> {
    let usable =
        |address: &IpAddr| !address.is_unspecified() && !address.is_multicast() && !address.is_loopback();
    if parsed.ether_type == ether_type::ARP {
        let (mac, address) = arp::Packet::parse(parsed.payload).ok()?.sender();
        return Some(IpAddr::from(address)).filter(|address| mac == parsed.source && usable(address));
    }
    let (source, _) = parsed.addresses?;
    match neighbor(parsed) {
        Some(Neighbor::Solicitation { source: Some(mac), .. }) if mac == parsed.source => {
            return Some(source).filter(usable);
        }
        Some(Neighbor::Advertisement { target, mac: Some(mac), .. }) if mac == parsed.source => {
            return Some(IpAddr::from(target)).filter(usable);
        }
        _ => {}
    }
    // Whoever has an address is asked for last: of a host that is known, nobody need be.
    let has_one = || host.is_some_and(|host| host.has_one_like(source));
    let taken = || hosts.is_some_and(|hosts| hosts.with_address(source).is_some());
    (usable(&source) && !has_one() && !taken()).then_some(source)
}

/// What a packet says about neighbours of IPv6, if it is whole and does.
pub(crate) fn neighbor(parsed: &Parsed<'_>) -> Option<Neighbor> {
    if parsed.ether_type != ether_type::IPV6 || parsed.protocol != Some(protocol::ICMPV6) {
        return None;
    }
    let packet = ipv6::Packet::parse(parsed.payload).ok()?;
    Neighbor::of(packet.payload(), packet.source(), packet.destination(), packet.hop_limit()).ok()
}

/// Folds sightings into the state. Where a host moved, the flows that lead to where it was are deleted.
///
/// Choice: at the switch that it was at and at all that have a way there, since a flow that is in use never ends of
/// itself, and its packets would go by the old place for ever. A switch that is away is told, too: its driver keeps that.
fn fold(
    bounds: HostBounds,
    sightings: Arc<Sightings>,
    hosts: Option<Arc<Hosts>>,
    routes: Arc<Routes>,
    (switches, round): (Arc<Switches>, u64),
) -> Result<(Hosts, Perhaps<Commands>, Perhaps<Staged>), Failure> {
    let mut hosts = hosts.as_deref().cloned().unwrap_or_default();
    let mut commands = Commands::default();
    for Sighting { mac, switch, port, ipv4, ipv6 } in &sightings.list {
        // The port may have become something else since.
        if !routes.is_edge(*switch, *port) {
            continue;
        }
        let address = ipv4.map(IpAddr::from).or(ipv6.map(IpAddr::from));
        let seen = Seen { mac: Mac(*mac), at: (*switch, *port), address };
        let Some(before) = hosts.see(seen, round, bounds) else { continue };
        let to = Fields { eth_dst: Some(*mac), ..Fields::ANY };
        for (number, info) in switches.in_order() {
            let Some(version) = Version::of(info.version) else { continue };
            let here = (number == before.0).then_some(before.1);
            let ports = routes.hops(number, before.0).map(|hop| hop.out).chain(here);
            let deletes = ports.filter_map(|port| delete_leaving(version, to, port));
            commands.extend(deletes.map(|command| (number, command)));
        }
    }
    let steps = superseding(&commands);
    Ok((hosts, some(commands), steps))
}

/// Forgets hosts behind ports that are no edge any more: down, gone, or the end of a link.
///
/// Cost: of a port with hosts a look-up, whenever a route changes; of a host nothing unless it is forgotten.
fn prune(routes: Arc<Routes>, hosts: Arc<Hosts>) -> Result<(Perhaps<Hosts>,), Failure> {
    let gone: Vec<Mac> = hosts.behind(|switch, port| !routes.is_edge(switch, port)).collect();
    let mut left = (*hosts).clone();
    gone.iter().for_each(|mac| left.forget(*mac));
    Ok((Perhaps((!gone.is_empty()).then_some(left)),))
}
