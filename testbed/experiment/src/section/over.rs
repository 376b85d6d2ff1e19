//! `over`: the device of an overlay that traffic goes over, and the addresses that hosts have on it.

use super::names::Name;
use plait_model_topology::Network;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::Spanned;
use plait_testbed_runtime::overlay::{Device, Resolved};
use std::net::IpAddr;

/// The device of an overlay that traffic goes over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// Its name, which no other overlay's device has.
    pub device: String,
    /// The address on it of each of the traffic's hosts.
    pub addresses: Vec<IpAddr>,
}

/// A device that was named.
pub(super) struct Named<'a> {
    device: &'a Device,
    written: &'a Spanned<Name>,
}

impl<'a> Named<'a> {
    /// Looks it up among the devices of all overlays.
    pub fn find(written: &'a Spanned<Name>, overlays: &'a [Resolved]) -> Result<Self, Diagnostic> {
        let all = || overlays.iter().flat_map(|overlay| &overlay.devices);
        let name = written.value.0.as_str();
        let mut found = all().filter(|device| device.config.name == name);
        match (found.next(), found.next()) {
            (Some(device), None) => Ok(Self { device, written }),
            (Some(_), Some(_)) => {
                let text = format!("two overlays have a device `{name}`");
                Err(Diagnostic::new(written.span, text).help("give one of them another name"))
            }
            (None, _) => {
                let text = format!("no overlay has a device `{name}`");
                let known: Vec<&str> = all().map(|device| device.config.name.as_str()).collect();
                let help = match known[..] {
                    [] => "the file has no `overlays:`: add one, or leave `over` out".to_owned(),
                    _ => suggest(name, known.iter().copied()),
                };
                Err(Diagnostic::new(written.span, text).help(help))
            }
        }
    }

    /// The nodes that have it, in the order of the file.
    pub fn nodes(&self, network: &Network) -> Vec<String> {
        self.device.addresses.keys().map(|node| network.nodes[*node].name.clone()).collect()
    }

    /// The addresses that hosts have on it, all of the first one's IP version.
    pub fn between(&self, hosts: &[String], network: &Network) -> Result<Over, Vec<Diagnostic>> {
        let of = |host: &String| {
            let node = network.node(host)?;
            self.device.addresses.get(&node).map(Vec::as_slice)
        };
        let is_ipv6 =
            hosts.first().and_then(of).and_then(<[_]>::first).is_some_and(|net| net.addr().is_ipv6());
        let (mut addresses, mut faults) = (Vec::new(), Vec::new());
        for host in hosts {
            let mut own = of(host).into_iter().flatten().map(|net| net.addr());
            match own.find(|address| address.is_ipv6() == is_ipv6) {
                Some(address) => addresses.push(address),
                None => {
                    let device = &self.device.config.name;
                    let version = if is_ipv6 { "IPv6" } else { "IPv4" };
                    let text = format!("`{host}` has no address of {version} on `{device}`");
                    faults.push(
                        Diagnostic::new(self.written.span, text).help(
                            "name members in `hosts`, `from` and `to`, and give the device a `network`",
                        ),
                    );
                }
            }
        }
        let device = self.device.config.name.clone();
        if faults.is_empty() { Ok(Over { device, addresses }) } else { Err(faults) }
    }
}
