//! MTUs that are too small for what a link shall carry.

use super::Resolver;
use crate::address::segments;
use crate::diagnostic::Diagnostic;
use crate::document::{Span, Spanned};
use crate::file::Mtu;
use crate::network::{Network, Port};
use crate::vocabulary::Role;
use ipnet::IpNet;

/// RFC 8200, section 5. The kernel turns IPv6 off on a device with less.
const IPV6_LEAST: u32 = 1280;

/// An MTU below that of IPv6, of a link or LAN.
pub(super) struct SmallMtu {
    ports: Vec<Port>,
    mtu: u32,
    span: Span,
}

impl Resolver<'_> {
    /// The MTU of a link or LAN with its ends.
    pub(super) fn mtu(&mut self, mtu: Option<Spanned<Mtu>>, ports: &[Port]) -> Option<u32> {
        let Spanned { value: Mtu(mtu), span } = mtu?;
        if mtu < IPV6_LEAST {
            self.small_mtus.push(SmallMtu { ports: ports.to_vec(), mtu, span });
        }
        Some(mtu)
    }

    /// No interface with an IPv6 address may have a small MTU, wherever the address comes from.
    pub(super) fn ipv6_fits(&mut self, network: &Network) {
        let small = std::mem::take(&mut self.small_mtus);
        if small.is_empty() || self.incomplete {
            return;
        }
        let segments = segments(network);
        let given = |port: Port| &network.nodes[port.node].interfaces[port.interface].addresses;
        let is_ipv6 = |net: &IpNet| matches!(net, IpNet::V6(_));
        for SmallMtu { ports, mtu, span } in small {
            let has_ipv6 = |port: Port| {
                let segment = segments.iter().find(|segment| segment.ports.contains(&port));
                // An address with its network around it numbers the whole segment, a /128 only its interface.
                let numbers = |net: &IpNet| is_ipv6(net) && net.prefix_len() < 128;
                given(port).iter().any(is_ipv6)
                    || segment.is_some_and(|segment| {
                        segment.given.iter().any(|(prefix, _)| is_ipv6(prefix))
                            || segment.ports.iter().any(|port| given(*port).iter().any(numbers))
                    })
            };
            let mut ends = ports.into_iter().filter(|port| network.nodes[port.node].role != Role::Switch);
            let remedy = match network.pools.ipv6 {
                Some(_) if ends.next().is_some() => "`defaults: {ipv6: off}`",
                None if ends.any(has_ipv6) => "no IPv6 prefix or address for this segment",
                _ => continue,
            };
            let message = format!("IPv6 needs an MTU of {IPV6_LEAST}B (RFC 8200, section 5), this is {mtu}B");
            self.fault(
                Diagnostic::new(span, message)
                    .help(format!("write `mtu: {IPV6_LEAST}B` or more; or for IPv4 only, {remedy}")),
            );
        }
    }
}
