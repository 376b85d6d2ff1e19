//! Hosts in a line with a relay between them, and what stands before packets on the way: nothing, a tunnel of the kernel's,
//! or the stack of a relay list.
//!
//! ```text
//! host ──► (a router that shapes) ──► relay ──► host
//! ```
//!
//! Each line has hosts of its own, so that settings of a device are no other line's. Of a stack of two headers the relay takes
//! the first and the receiving host the second, so that all lines have as many hops.

use crate::Result;
use crate::device::{index, set};
use crate::host::{Host, address, join, route};
use crate::lab::{Kind, Lab, Way};
use crate::tunnel::Tunnel;
use ipnet::Ipv4Net;
use netlink_packet_route::link::LinkAttribute;
use plait_dataplane_links::offload::{self, Policy};
use plait_dataplane_links::tbf;
use plait_dataplane_paths::{Encapsulation, Options, Paths, Relay, Selector, Superpackets, Ways};
use plait_model_quantity::{Bandwidth, ByteCount};
use std::net::Ipv4Addr;

/// The source of all stacks: of a network that is for documents alone.
const SHARED: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

/// What stands before packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headers {
    /// Nothing.
    None,
    /// Nothing, and the sender makes no superpackets.
    Segments,
    /// A tunnel of the kernel's to the relay.
    Kernel(Tunnel),
    /// A stack of one or two headers.
    Stack(Encapsulation, usize, Superpackets),
}

/// What a line's devices do.
#[derive(Debug, Clone, Copy)]
pub struct Devices {
    /// The longest packets they take.
    pub mtu: u32,
    /// Whether the sender's kernel cuts superpackets for its device, behind the program that puts stacks before them.
    pub are_cut_for: bool,
    /// What a router before the relay hands over at most, headers counted.
    pub rate: Option<Bandwidth>,
}

/// Two hosts and a relay between them.
pub struct Line {
    /// From the first to the last.
    pub way: Way,
    paths: Option<Paths>,
    relays: Vec<Relay>,
    /// Namespaces go with their last holder.
    #[allow(dead_code, reason = "they are held")]
    hosts: Vec<Host>,
}

impl Line {
    /// A line; none where the kernel has no such tunnel.
    ///
    /// # Errors
    /// No permission; the kernel's refusal.
    pub fn new(name: &str, headers: Headers, devices: Devices) -> Result<Option<Self>> {
        let count = if devices.rate.is_some() { 4 } else { 3 };
        let hosts = (1..=count).map(Host::new).collect::<Result<Vec<_>>>()?;
        for (link, pair) in (0..).zip(hosts.windows(2)) {
            let device = format!("d{link}");
            join(&pair[0], &pair[1], &device, link)?;
            set(&pair[0].namespace, &device, LinkAttribute::Mtu(devices.mtu))?;
            set(&pair[1].namespace, &format!("{device}p"), LinkAttribute::Mtu(devices.mtu))?;
        }
        for (at, host) in (0..).zip(&hosts) {
            host.namespace.run(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"))??;
            for network in (0..count - 1).filter(|network| *network != at && *network + 1 != at) {
                let is_right = network > at;
                let (link, next) = if is_right { (at, at + 2) } else { (at - 1, at) };
                route(&host.namespace, network, address(link, next))?;
            }
        }
        let [first, .., relay, last] = &hosts[..] else { unreachable!("three or four") };
        if let Some(rate) = devices.rate {
            // What leaves in a millisecond, and a queue of twenty that a connection fills.
            let burst = ByteCount::new(rate.bits_per_second() / 8 / 1000);
            let limit = ByteCount::new(burst.bytes() * 20);
            hosts[1].namespace.run(|| tbf::attach("d1", rate, burst, limit))??;
        }
        if devices.are_cut_for {
            first.namespace.run(|| offload::set("d0", Policy::WholePackets))??;
        }
        let last_device = format!("d{}p", count - 2);
        let (from, to) = (first.end(0, "d0", "d0"), last.end(count - 2, &last_device, &last_device));
        let kind = match headers {
            Headers::None | Headers::Segments => Kind::Bare,
            Headers::Kernel(_) => Kind::Kernel,
            Headers::Stack(..) => Kind::Overlay,
        };
        let mut line = Self {
            way: Way { name: name.into(), kind, from, to },
            paths: None,
            relays: Vec::new(),
            hosts: Vec::new(),
        };
        match headers {
            Headers::None => {}
            Headers::Segments => set(&first.namespace, "d0", LinkAttribute::GsoMaxSegs(1))?,
            Headers::Kernel(tunnel) => {
                if !line.by_kernel(tunnel, first, relay, last)? {
                    return Ok(None);
                }
            }
            Headers::Stack(encapsulation, height, superpackets) => {
                let places = [(relay, address(count - 3, relay.number)), (last, line.way.to.address)];
                line.by_stack(encapsulation, superpackets, first, &places[..height])?;
            }
        }
        line.hosts = hosts;
        Ok(Some(line))
    }

    /// Leads packets through a tunnel of the kernel's, and back plainly. Whether the kernel has it.
    fn by_kernel(&mut self, tunnel: Tunnel, first: &Host, relay: &Host, last: &Host) -> Result<bool> {
        const BELOW: u8 = 100;
        let mut lab = Lab::default();
        lab.tunnel(first, relay, tunnel, BELOW)?;
        let Some(Way { from, .. }) = lab.ways.pop() else { return Ok(false) };
        for host in [first, relay] {
            host.namespace.run(|| std::fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "0"))??;
        }
        route(&first.namespace, last.number - 2, address(BELOW + 1, relay.number))?;
        route(&last.namespace, BELOW + 1, address(last.number - 2, relay.number))?;
        self.way.from = from;
        Ok(true)
    }

    fn by_stack(
        &mut self,
        encapsulation: Encapsulation,
        superpackets: Superpackets,
        first: &Host,
        places: &[(&Host, Ipv4Addr)],
    ) -> Result<()> {
        for (host, own) in places {
            let device = format!("d{}p", host.number - 2);
            let device = index(&host.namespace, &device)?;
            let attach = || Relay::attach(&[device], *own, SHARED, &[encapsulation]);
            self.relays.push(host.namespace.run(attach)??);
        }
        let options = Options { superpackets, ..Options::new(SHARED, encapsulation) };
        let device = index(&first.namespace, "d0")?;
        let mut paths = first.namespace.run(|| Paths::attach(device, options))??;
        let list = places.iter().map(|(_, own)| (*own).into()).collect();
        let ways = Ways { lists: vec![list], encapsulation, selector: Selector::Hash };
        paths.set(Ipv4Net::from(self.way.to.address).into(), ways)?;
        self.paths = Some(paths);
        Ok(())
    }

    /// How many packets were given a stack, and how many a relay refused.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn counts(&self) -> Result<(u64, u64)> {
        let mut refused = 0;
        for relay in &self.relays {
            refused += relay.drops()?.values().sum::<u64>();
        }
        let counters = self.paths.as_ref().map(Paths::counters).transpose()?.unwrap_or_default();
        Ok((counters.iter().map(|list| list.packets).sum(), refused))
    }
}
