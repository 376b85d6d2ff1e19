//! Hosts and the ways between them.

use crate::device::{index, make, neighbour, set, station, vxlan};
use crate::host::{Host, address, join, route};
use crate::tunnel::{Tunnel, VNI};
use crate::{Error, Result, nsh};
use netlink_packet_route::link::{InfoBridge, InfoData, InfoKind, LinkAttribute, LinkInfo};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_overlay::agent::Places;
use plait_dataplane_overlay::protocol::Request;
use plait_dataplane_overlay::{ApplicationConfig, Carries, DeviceConfig, Encapsulation, Identifier};
use plait_model_overlay::{Application, NodeId, Operation};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

/// An end of a way.
#[derive(Clone)]
pub struct End {
    /// Where it is.
    pub namespace: Arc<Namespace>,
    /// Its address.
    pub address: Ipv4Addr,
    /// The device that has the address.
    pub device: String,
    /// The device that packets leave and come by at last.
    pub below: String,
}

/// What a way is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but the devices below.
    Bare,
    /// A tunnel of the kernel's.
    Kernel,
    /// An overlay of ours.
    Overlay,
}

/// A way from one host to another.
pub struct Way {
    /// As tables have it.
    pub name: String,
    /// What it is made of.
    pub kind: Kind,
    /// Where packets begin.
    pub from: End,
    /// Where they end.
    pub to: End,
}

/// Hosts and the ways between them.
#[derive(Default)]
pub struct Lab {
    /// The ways.
    pub ways: Vec<Way>,
    /// Tunnels that this kernel does not have.
    pub absent: Vec<Tunnel>,
    /// The links' MTU, where it is not the usual one.
    mtu: Option<u32>,
    /// What agents leave is removed with this.
    places: Vec<(Arc<Namespace>, Places)>,
}

/// Two hosts, as they are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Endpoints<'a> {
    /// The kernel's tunnels between them.
    pub tunnels: &'a [Tunnel],
    /// The links' MTU, where it is not to be the usual one.
    pub mtu: Option<u32>,
    /// Whether there is an overlay, too, whose packets come in by the devices below.
    pub in_place: bool,
}

/// The most that a device of the kernel's puts before a packet, VXLAN: IPv4, UDP, its own header, and the frame's.
const TUNNEL: u32 = 50;
/// What a veth has that nobody said anything of.
const USUAL_MTU: u32 = 1500;

/// Which networks are whose, by their third byte: of each tunnel of the kernel's two, one below it and its own; of ours; and of the
/// devices below ours.
const TUNNELS: u8 = 1;
const OURS: u8 = 50;
const BELOW: u8 = 100;
const _: () = assert!(TUNNELS + 2 * Tunnel::ALL.len() as u8 <= OURS);

/// What is tried beside the ovstack header.
const OTHERS: [Encapsulation; 7] = [
    Encapsulation::Vxlan,
    Encapsulation::Geneve,
    Encapsulation::Nvgre,
    Encapsulation::Gre,
    Encapsulation::Mpls,
    Encapsulation::Nsh,
    Encapsulation::Gpe,
];
/// And of packets.
const OTHERS_IP: [Encapsulation; 7] = [
    Encapsulation::Ipip,
    Encapsulation::Gre,
    Encapsulation::Gue,
    Encapsulation::Geneve,
    Encapsulation::Mpls,
    Encapsulation::Nsh,
    Encapsulation::Gpe,
];

impl Lab {
    /// Two hosts with a bare veth, tunnels of the kernel's, and each of ours, on veths of their own.
    ///
    /// # Errors
    /// No permission; an agent that does not start.
    pub fn endpoints(asked: Endpoints<'_>) -> Result<Self> {
        let Endpoints { tunnels, mtu, in_place } = asked;
        let (mut lab, [mut a, mut b]) = Self::without_ours(tunnels, mtu)?;
        a.start(&mut lab)?;
        b.start(&mut lab)?;
        let ours = Encapsulation::Ovstack;
        let frames = [ours].into_iter().chain(OTHERS).map(|kind| (kind, Carries::Ethernet, false));
        let packets = [ours].into_iter().chain(OTHERS_IP).map(|kind| (kind, Carries::Ip, false));
        let in_place = in_place.then_some([Carries::Ethernet, Carries::Ip]).into_iter().flatten();
        let in_place = in_place.map(|carries| (ours, carries, true));
        for (step, (encapsulation, carries, in_place)) in frames.chain(packets).chain(in_place).enumerate() {
            let (application, third) = (Application(10 + step as u8), OURS + step as u8);
            // Some arrive alike: so each has locators of its own.
            let below = BELOW + step as u8;
            lab.join(&a, &b, &format!("u{step}"), below)?;
            let config = ApplicationConfig { carries, encapsulation, ..ApplicationConfig::default() };
            let name = format!("ov{step}");
            for (host, other) in [(&mut a, 2), (&mut b, 1)] {
                host.apply(application, &config, &[address(below, host.number)])?;
                host.know(application, NodeId(0x0a00_0000 + u32::from(other)), &[address(below, other)])?;
                host.device_as(DeviceConfig { in_place, ..DeviceConfig::new(&name, application, 0) }, third)?;
            }
            settle(&mut a, &mut b, &name, carries, third)?;
            let label = match (carries, in_place) {
                (Carries::Ip, true) => format!("{encapsulation}, IP in place"),
                (Carries::Ip, false) => format!("{encapsulation}, IP"),
                (_, true) => format!("{encapsulation} in place"),
                (_, false) => encapsulation.to_string(),
            };
            let (under, there) = (format!("u{step}"), format!("u{step}p"));
            lab.add(label, Kind::Overlay, a.end(third, &name, &under), b.end(third, &name, &there));
        }
        Ok(lab)
    }

    /// Two hosts with a bare veth and tunnels of the kernel's, each on a veth of its own.
    ///
    /// # Errors
    /// No permission.
    pub fn tunnels(asked: &[Tunnel]) -> Result<Self> {
        Self::without_ours(asked, None).map(|(lab, _)| lab)
    }

    fn without_ours(tunnels: &[Tunnel], mtu: Option<u32>) -> Result<(Self, [Host; 2])> {
        let mut lab = Self::default();
        lab.mtu = mtu;
        let (a, b) = (Host::new(1)?, Host::new(2)?);
        lab.join(&a, &b, "bare", 0)?;
        lab.add("bare", Kind::Bare, a.end(0, "bare", "bare"), b.end(0, "barep", "barep"));
        for (step, tunnel) in tunnels.iter().enumerate() {
            lab.tunnel(&a, &b, *tunnel, TUNNELS + 2 * step as u8)?;
        }
        Ok((lab, [a, b]))
    }

    /// Adds a tunnel of the kernel's, if it has that, between two hosts.
    pub(crate) fn tunnel(&mut self, a: &Host, b: &Host, tunnel: Tunnel, below: u8) -> Result<()> {
        let (name, third) = (format!("k{}", tunnel.name()), below + 1);
        let (under, there) = (format!("t{below}"), format!("t{below}p"));
        self.join(a, b, &under, below)?;
        for (host, other) in [(a, b), (b, a)] {
            let ends = (address(below, host.number), address(below, other.number));
            match self.end_tunnel(host, &name, tunnel, ends) {
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    self.absent.push(tunnel);
                    return Ok(());
                }
                made => made?,
            }
            host.namespace.address(&name, address(third, host.number), 24)?;
        }
        if tunnel.has_frames() {
            for (host, other) in [(a, b), (b, a)] {
                let mac = station(&other.namespace, &name)?;
                neighbour(&host.namespace, &name, address(third, other.number), mac)?;
            }
        }
        let label = format!("{} (kernel)", tunnel.name());
        self.add(label, Kind::Kernel, a.end(third, &name, &under), b.end(third, &name, &there));
        Ok(())
    }

    /// Makes a host's end of a tunnel of the kernel's.
    fn end_tunnel(&self, host: &Host, name: &str, tunnel: Tunnel, ends: (Ipv4Addr, Ipv4Addr)) -> Result<()> {
        let Some(info) = tunnel.info(ends) else {
            let (ends, mtu) = ((ends.0.into(), ends.1.into()), self.mtu.unwrap_or(USUAL_MTU));
            return Ok(host.namespace.run(|| nsh::make(name, VNI, ends, mtu))??);
        };
        make(&host.namespace, name, vec![LinkAttribute::LinkInfo(info)])?;
        self.widen(host, name)
    }

    /// Makes a veth between two hosts, with an address at each end.
    fn join(&self, a: &Host, b: &Host, name: &str, third: u8) -> Result<()> {
        join(a, b, name, third)?;
        for (host, end) in [(a, name.to_owned()), (b, format!("{name}p"))] {
            if let Some(mtu) = self.mtu {
                set(&host.namespace, &end, LinkAttribute::Mtu(mtu))?;
            }
        }
        Ok(())
    }

    /// Has a tunnel of the kernel's carry as much as its link has room for.
    fn widen(&self, host: &Host, name: &str) -> Result<()> {
        self.mtu.map_or(Ok(()), |mtu| set(&host.namespace, name, LinkAttribute::Mtu(mtu - TUNNEL)))
    }

    /// Where an agent of a host is to keep what it keeps.
    pub(crate) fn place(&mut self, namespace: &Arc<Namespace>) -> Places {
        let name = format!("plait-lab-{}-{}", std::process::id(), self.places.len());
        let places =
            Places { run: Path::new("/run").join(&name), pins: Path::new("/sys/fs/bpf").join(&name) };
        self.places.push((namespace.clone(), places.clone()));
        places
    }

    fn add(&mut self, name: impl Into<String>, kind: Kind, from: End, to: End) {
        self.ways.push(Way { name: name.into(), kind, from, to });
    }

    /// Three hosts in a row: forwarded by the kernel, bridged between two VXLANs, and relayed; each beside the same
    /// between hosts that are linked. With an MTU of the links, where it is not to be the usual one.
    ///
    /// # Errors
    /// No permission; an agent that does not start.
    pub fn relays(mtu: Option<u32>) -> Result<Self> {
        let mut lab = Self::default();
        lab.mtu = mtu;
        let (mut a, mut relay, mut b) = (Host::new(1)?, Host::new(2)?, Host::new(3)?);

        lab.join(&a, &b, "bare", 0)?;
        lab.add("forwarding, direct", Kind::Bare, a.end(0, "bare", "bare"), b.end(0, "barep", "barep"));
        lab.join(&a, &relay, "left", 1)?;
        lab.join(&relay, &b, "right", 2)?;
        relay.namespace.run(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"))??;
        route(&a.namespace, 2, address(1, 2))?;
        route(&b.namespace, 1, address(2, 2))?;
        lab.add("forwarding", Kind::Bare, a.end(1, "left", "left"), b.end(2, "rightp", "rightp"));

        lab.join(&a, &relay, "vleft", 3)?;
        lab.join(&relay, &b, "vright", 4)?;
        make(
            &relay.namespace,
            "bridge",
            vec![LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Bridge),
                LinkInfo::Data(InfoData::Bridge(vec![InfoBridge::StpState(0.into())])),
            ])],
        )?;
        let bridge = Some(index(&relay.namespace, "bridge")?);
        vxlan(&a.namespace, "vx", VNI, address(3, 1), address(3, 2), None)?;
        vxlan(&relay.namespace, "vxa", VNI, address(3, 2), address(3, 1), bridge)?;
        vxlan(&relay.namespace, "vxb", VNI + 1, address(4, 2), address(4, 3), bridge)?;
        vxlan(&b.namespace, "vx", VNI + 1, address(4, 3), address(4, 2), None)?;
        a.namespace.address("vx", address(5, 1), 24)?;
        b.namespace.address("vx", address(5, 3), 24)?;
        for (host, name) in [(&a, "vx"), (&relay, "vxa"), (&relay, "vxb"), (&b, "vx")] {
            lab.widen(host, name)?;
        }
        lab.add("vxlan bridge", Kind::Kernel, a.end(5, "vx", "vleft"), b.end(5, "vx", "vrightp"));

        for host in [&mut a, &mut relay, &mut b] {
            host.start(&mut lab)?;
        }
        let config = ApplicationConfig::default();
        // Direct.
        let direct = Application(10);
        lab.join(&a, &b, "odirect", 6)?;
        for (host, other) in [(&mut a, 3), (&mut b, 1)] {
            host.apply(direct, &config, &[address(6, host.number)])?;
            host.know(direct, NodeId(0x0a00_0000 + other), &[address(6, other as u8)])?;
            host.device("ov0", direct, 7)?;
        }
        settle(&mut a, &mut b, "ov0", Carries::Ethernet, 7)?;
        lab.add("relay, direct", Kind::Overlay, a.end(7, "ov0", "odirect"), b.end(7, "ov0", "odirectp"));
        // Relayed.
        let relayed = Application(11);
        lab.join(&a, &relay, "oleft", 8)?;
        lab.join(&relay, &b, "oright", 9)?;
        a.apply(relayed, &config, &[address(8, 1)])?;
        relay.apply(relayed, &config, &[address(8, 2), address(9, 2)])?;
        b.apply(relayed, &config, &[address(9, 3)])?;
        relay.know(relayed, a.id(), &[address(8, 1)])?;
        relay.know(relayed, b.id(), &[address(9, 3)])?;
        for (host, far) in [(&mut a, NodeId(0x0a00_0003)), (&mut b, NodeId(0x0a00_0001))] {
            host.know(relayed, NodeId(0x0a00_0002), &[address(8, 2), address(9, 2)])?;
            let next_hop = NodeId(0x0a00_0002);
            host.operate(Operation::RouteAdd { application: relayed, destination: far, next_hop })?;
            host.device("ov1", relayed, 10)?;
        }
        settle(&mut a, &mut b, "ov1", Carries::Ethernet, 10)?;
        lab.add("relay", Kind::Overlay, a.end(10, "ov1", "oleft"), b.end(10, "ov1", "orightp"));
        Ok(lab)
    }
}

/// Tells two hosts where each other's stations are, so that no packet is a copy for all.
fn settle(a: &mut Host, b: &mut Host, device: &str, carries: Carries, third: u8) -> Result<()> {
    let stations = [&*a, &*b].map(|host| station(&host.namespace, device));
    let [of_a, of_b] = stations;
    let (of_a, of_b) = (of_a?, of_b?);
    let numbers = (a.number, b.number);
    for (host, other, mac) in [(a, numbers.1, of_b), (b, numbers.0, of_a)] {
        let identifier = match carries {
            Carries::Ip => Identifier::Network(IpAddr::V4(address(third, other)).into()),
            _ => Identifier::Station(mac),
        };
        let node = NodeId(0x0a00_0000 + u32::from(other));
        host.ask(Request::FibAdd { device: device.to_owned(), identifier, node })?;
        if carries == Carries::Ethernet {
            neighbour(&host.namespace, device, address(third, other), mac)?;
        }
    }
    Ok(())
}

impl Drop for Lab {
    fn drop(&mut self) {
        for (_, places) in &self.places {
            // The namespaces are gone with the process, and with them devices and programs; names are not.
            for layout in std::fs::read_dir(&places.pins).into_iter().flatten().flatten() {
                for name in std::fs::read_dir(layout.path()).into_iter().flatten().flatten() {
                    let _ = std::fs::remove_file(name.path());
                }
                let _ = std::fs::remove_dir(layout.path());
            }
            let _ = std::fs::remove_dir(&places.pins);
            let _ = std::fs::remove_dir_all(&places.run);
        }
    }
}
