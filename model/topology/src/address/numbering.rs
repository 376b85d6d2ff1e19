//! Addresses within prefixes.

use super::assignment::Assignment;
use super::block::{Family, number, usable};
use super::given::is_alone;
use super::segment::Segment;
use crate::diagnostic::Diagnostic;
use crate::network::{Network, Port};
use indexmap::IndexMap;
use ipnet::IpNet;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// Gives each interface an address of its segment's first prefix of each IP version, unless the file gives it one of
/// that version.
pub(super) fn number_all(
    network: &Network,
    segments: &[Segment],
    prefixes: &[Vec<IpNet>],
    previous: Option<&Assignment>,
) -> Result<Assignment, Vec<Diagnostic>> {
    let mut addresses: HashMap<Port, Vec<IpNet>> = HashMap::new();
    let mut faults = Vec::new();
    for (segment, prefixes) in segments.iter().zip(prefixes) {
        for family in Family::BOTH {
            let Some(prefix) = prefixes.iter().find(|net| Family::of(net) == family) else { continue };
            if let Err(fault) = number_segment(network, segment, prefix, previous, &mut addresses) {
                faults.push(fault);
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut nodes = IndexMap::with_capacity(network.nodes.len());
    for (index, node) in network.nodes.iter().enumerate() {
        let interfaces = node.interfaces.iter().enumerate().map(|(at, interface)| {
            let mut nets = interface.addresses.clone();
            nets.extend(addresses.remove(&Port { node: index, interface: at }).unwrap_or_default());
            nets.sort_by_key(Family::of);
            (interface.name.clone(), nets)
        });
        nodes.insert(node.name.clone(), interfaces.collect());
    }
    let keys = segments.iter().zip(prefixes).filter(|(segment, _)| !segment.ports.is_empty());
    let segments = keys.map(|(segment, prefixes)| (segment.key.clone(), prefixes.clone())).collect();
    Ok(Assignment { nodes, segments })
}

fn number_segment(
    network: &Network,
    segment: &Segment,
    prefix: &IpNet,
    previous: Option<&Assignment>,
    addresses: &mut HashMap<Port, Vec<IpNet>>,
) -> Result<(), Diagnostic> {
    let family = Family::of(prefix);
    let given = |port: &Port| &network.nodes[port.node].interfaces[port.interface].addresses;
    let has_own = |port: &Port| given(port).iter().any(|net| Family::of(net) == family && !is_alone(net));
    let mut taken: HashSet<u128> =
        segment.ports.iter().flat_map(|port| given(port).iter().map(|net| number(net.addr()))).collect();
    let open: Vec<Port> = segment.ports.iter().copied().filter(|port| !has_own(port)).collect();

    // A node keeps the addresses it had in this prefix, whatever its interfaces are called now.
    let mut before: HashMap<usize, std::vec::IntoIter<IpAddr>> = HashMap::new();
    let usable = usable(prefix);
    let mut chosen: Vec<(Port, Option<u128>)> = Vec::with_capacity(open.len());
    for port in open {
        let had = previous.and_then(|previous| {
            let name = &network.nodes[port.node].name;
            let list = before
                .entry(port.node)
                .or_insert_with(|| previous.within(name, prefix).collect::<Vec<_>>().into_iter());
            list.find(|address| usable.contains(&number(*address)) && taken.insert(number(*address)))
        });
        chosen.push((port, had.map(number)));
    }
    let mut next = *usable.start();
    for (port, address) in chosen {
        let address = match address {
            Some(address) => address,
            None => {
                let free = (next..=*usable.end()).find(|address| !taken.contains(address));
                let Some(free) = free else {
                    return Err(Diagnostic::new(
                        segment.span,
                        format!(
                            "{prefix} has no address left for `{}`, one of {} interfaces on `{}`",
                            network.port_name(port),
                            segment.ports.len(),
                            segment.key
                        ),
                    )
                    .help("give a shorter prefix"));
                };
                taken.insert(free);
                next = free;
                free
            }
        };
        addresses.entry(port).or_default().push(family.net(address, prefix.prefix_len()));
    }
    Ok(())
}
