//! Prefixes that segments have before any is taken from a pool: from the file, and from the previous assignment.

use super::assignment::Assignment;
use super::block::{Family, block_bits, number, overlaps, prefix_length, usable};
use super::segment::Segment;
use crate::diagnostic::Diagnostic;
use crate::network::{Interface, Network, Port};
use crate::vocabulary::Role;
use ipnet::IpNet;

fn interface(network: &Network, port: Port) -> &Interface {
    &network.nodes[port.node].interfaces[port.interface]
}

/// A /32 or /128 is an address without a network around it.
pub(super) fn is_alone(net: &IpNet) -> bool {
    net.prefix_len() == net.max_prefix_len()
}

/// What the file gives.
pub(super) struct Given {
    /// The prefixes of each segment: those of its links and LANs first, then those of given addresses.
    pub prefixes: Vec<Vec<IpNet>>,
    /// Addresses without a network around them, with the segment of their interface.
    pub alone: Vec<(IpNet, usize)>,
}

/// Collects prefixes and addresses from the file, and checks that no two are at odds.
pub(super) fn collect(network: &Network, segments: &[Segment]) -> Result<Given, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut all = Vec::with_capacity(segments.len());
    let mut alone = Vec::new();
    for switch in network.nodes.iter().filter(|node| node.role == Role::Switch) {
        if let Some(port) = switch.interfaces.iter().find(|port| !port.addresses.is_empty()) {
            faults.push(
                Diagnostic::new(
                    switch.span,
                    format!("`{}:{}` is a port of a switch", switch.name, port.name),
                )
                .help("a switch has no addresses; remove them, or make it a router"),
            );
        }
    }
    for (at, segment) in segments.iter().enumerate() {
        let mut prefixes: Vec<IpNet> = Vec::new();
        for &(prefix, span) in &segment.given {
            match prefixes.iter().find(|known| Family::of(known) == Family::of(&prefix)) {
                Some(known) if *known != prefix => faults.push(
                    Diagnostic::new(span, format!("one segment has the prefixes {known} and {prefix}"))
                        .note(segment.span, "joined with this one by switches")
                        .help("remove one of them"),
                ),
                Some(_) => (),
                None => prefixes.push(prefix),
            }
        }
        for &port in &segment.ports {
            let span = network.nodes[port.node].span;
            for address in &interface(network, port).addresses {
                if is_alone(address) {
                    alone.push((*address, at));
                    continue;
                }
                if !usable(address).contains(&number(address.addr())) {
                    faults.push(
                        Diagnostic::new(
                            span,
                            format!(
                                "{address} of `{}` is not the address of a host",
                                network.port_name(port)
                            ),
                        )
                        .help(format!(
                            "the first one in {} is {}",
                            address.trunc(),
                            { Family::of(address).address(*usable(address).start()) }
                        )),
                    );
                    continue;
                }
                let prefix = address.trunc();
                match prefixes.iter().find(|known| overlaps(known, &prefix)) {
                    Some(known) if *known != prefix => faults.push(
                        Diagnostic::new(
                            span,
                            format!(
                                "{address} of `{}` does not fit {known} of the same segment",
                                network.port_name(port)
                            ),
                        )
                        .help(format!(
                            "write `{}/{}`",
                            address.addr(),
                            known.prefix_len()
                        )),
                    ),
                    Some(_) => (),
                    None => prefixes.push(prefix),
                }
            }
        }
        all.push(prefixes);
    }
    faults.extend(clashes(segments, &all, &alone));
    if faults.is_empty() { Ok(Given { prefixes: all, alone }) } else { Err(faults) }
}

/// No address may belong to two segments: routes could only lead to one.
fn clashes(segments: &[Segment], prefixes: &[Vec<IpNet>], alone: &[(IpNet, usize)]) -> Vec<Diagnostic> {
    let of_segments =
        prefixes.iter().enumerate().flat_map(|(at, nets)| nets.iter().map(move |net| (*net, at)));
    let mut all: Vec<(IpNet, usize)> = of_segments.chain(alone.iter().copied()).collect();
    all.sort_by_key(|(net, at)| (Family::of(net), number(net.network()), net.prefix_len(), *at));
    let mut faults = Vec::new();
    let mut widest: Option<(IpNet, usize)> = None;
    for (net, at) in all {
        match widest {
            // Sorted by where they begin, a prefix overlaps an earlier one only by lying inside it.
            Some((over, other)) if overlaps(&over, &net) => {
                let (earlier, later) = (at.min(other), at.max(other));
                faults.push(
                    Diagnostic::new(
                        segments[later].span,
                        format!(
                            "`{}` and `{}` would share addresses: {over} and {net}",
                            segments[earlier].key, segments[later].key
                        ),
                    )
                    .note(segments[earlier].span, "the other segment")
                    .help("give one of them another prefix"),
                );
            }
            _ => widest = Some((net, at)),
        }
    }
    faults
}

/// The prefixes that segments keep from before: of a version the file gives none for, still in the pool, still large
/// enough, and not given to another segment.
pub(super) fn kept(
    network: &Network,
    segments: &[Segment],
    taken: &[IpNet],
    given: &[Vec<IpNet>],
    previous: Option<&Assignment>,
) -> Vec<(usize, IpNet)> {
    let Some(previous) = previous else { return Vec::new() };
    let mut kept: Vec<(usize, IpNet)> = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        for family in Family::BOTH {
            let pool = match family {
                Family::V4 => network.pools.ipv4.map(IpNet::V4),
                Family::V6 => network.pools.ipv6.map(IpNet::V6),
            };
            let Some(pool) = pool else { continue };
            if segment.ports.is_empty() || given[at].iter().any(|net| Family::of(net) == family) {
                continue;
            }
            let before = previous.prefixes(&segment.key).iter().find(|net| Family::of(net) == family);
            let Some(&before) = before else { continue };
            let usual = prefix_length(
                family,
                segment.point_to_point,
                block_bits(family, segment.point_to_point, segment.ports.len()),
            );
            let fits = match segment.point_to_point {
                true => before.prefix_len() == usual,
                false => {
                    let usable = usable(&before);
                    usable.end() - usable.start() >= segment.ports.len() as u128 - 1
                }
            };
            let free = !taken.iter().any(|net| overlaps(net, &before));
            if pool.contains(&before) && fits && free {
                kept.push((at, before));
            }
        }
    }
    kept
}
