//! A node with a peer, someone farther away, and a tenant; and the packets between them.

#![allow(dead_code, reason = "each file of tests uses some of it")]

pub mod line;
pub mod shelf;

use plait_dataplane_bpf::{Program, Programs, Sizes, TableName, names};
pub use plait_dataplane_reference::OVERLAYS as ENCAPSULATIONS;
use plait_dataplane_reference::tables::*;
use plait_dataplane_reference::{Counts, Table, Walk, arrivals, mapped, udp_port};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::number::{ether_type, port, protocol};
use plait_model_wire::ovstack::NodeId;
use plait_model_wire::{
    ethernet, geneve, gre, gue, ipv4, ipv6, mpls, nsh, nvgre, ovstack, push, udp, vxlan, vxlan_gpe,
};
use shelf::{Lent, Shelf};
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use zerocopy::{FromBytes, Immutable, IntoBytes};

pub const APPLICATION: u8 = 7;
pub const TENANT: u32 = 3;
/// One that fits into a label.
pub const VNI: u32 = 0x1_2345;

pub const OWN: NodeId = NodeId(0x0a00_0001);
pub const PEER: NodeId = NodeId(0x0a00_0002);
pub const FAR: NodeId = NodeId(0x0a00_0003);
pub const GROUP: NodeId = NodeId(0xe000_0001);

pub const OWN_LOCATOR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const PEER_LOCATOR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub const FAR_LOCATOR: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 3);

pub const UNDERLAY: Mac = Mac([2, 0, 0, 0, 1, 1]);
pub const GATEWAY: Mac = Mac([2, 0, 0, 0, 1, 2]);
pub const STATION_A: Mac = Mac([2, 0, 0, 0, 0, 0xaa]);
pub const STATION_B: Mac = Mac([2, 0, 0, 0, 0, 0xbb]);
pub const STATION_C: Mac = Mac([2, 0, 0, 0, 0, 0xcc]);
/// At the node that is far.
pub const STATION_F: Mac = Mac([2, 0, 0, 0, 0, 0xff]);

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    Frame,
    /// By its first bits of IPv4 or IPv6.
    Packet,
    Labels,
    Service,
}

pub const PEER_PATH: u32 = 1;
pub const FAR_PATH: u32 = 2;
pub const GROUP_PATH: u32 = 3;
/// All of them.
pub const PATHS: std::ops::Range<u32> = 1..4;
pub const PEER_HOP: u32 = 1;
pub const FAR_HOP: u32 = 2;
pub const ADJACENCY: u32 = 5;
/// A device by which packets may come in, and one of which the device above it says.
pub const ENTRANCE: u32 = 17;
pub const PORT: u32 = 18;
/// One that leads to no node.
pub const INSIDE: u32 = 19;

/// By which bits packets are found, where nothing is said.
const BITS: (u32, [u8; 16]) = (18, [0xf0; 16]);

/// What tells programs from others: where they are compiled, those that are wanted, and the device's constants.
type Kind = (&'static [u8], Vec<Program>, Vec<u8>);

static SHELF: Shelf<Kind, Programs> = Shelf::new();

/// Programs whose tables know a peer, a node behind it, and station B at the peer.
pub struct Node {
    pub programs: Lent<Kind, Programs>,
    pub device: Device,
}

/// Whether programs may be loaded, with the reason printed if not. To load them takes seconds in an emulated guest.
pub fn may_load() -> bool {
    let may = rustix::process::geteuid().is_root();
    if !may {
        println!("skipped: eBPF programs are loaded by root only");
    }
    may
}

impl Node {
    /// One that speaks ovstack over IPv4. None, with the reason printed, where programs may not be loaded.
    pub fn new<const N: usize>(wanted: [Program; N], driver: u32) -> Option<Self> {
        Self::with(wanted, driver, encapsulation::OVSTACK, false)
    }

    /// One that sends in an encapsulation, and takes all.
    pub fn with<const N: usize>(
        wanted: [Program; N],
        driver: u32,
        encapsulation: u32,
        is_ipv6: bool,
    ) -> Option<Self> {
        Self::made(None, &wanted, driver, BITS, encapsulation, is_ipv6)
    }

    /// One that finds packets by bits from a byte on that a mask leaves.
    pub fn by_bits<const N: usize>(
        wanted: [Program; N],
        driver: u32,
        bits: (u32, [u8; 16]),
        is_ipv6: bool,
    ) -> Option<Self> {
        Self::made(None, &wanted, driver, bits, encapsulation::OVSTACK, is_ipv6)
    }

    /// One of other compiled programs.
    pub fn of<const N: usize>(
        compiled: &'static [u8],
        wanted: [Program; N],
        driver: u32,
        encapsulation: u32,
        is_ipv6: bool,
    ) -> Option<Self> {
        Self::made(Some(compiled), &wanted, driver, BITS, encapsulation, is_ipv6)
    }

    fn made(
        compiled: Option<&'static [u8]>,
        wanted: &[Program],
        driver: u32,
        (offset, mask): (u32, [u8; 16]),
        encapsulation: u32,
        is_ipv6: bool,
    ) -> Option<Self> {
        if !may_load() {
            return None;
        }
        let device = Device { tenant: TENANT, driver, prefix: [24, 64], offset, mask };
        let sizes = Sizes { identifiers: 65_536, nodes: 64 };
        let kind = (compiled.unwrap_or_default(), wanted.to_vec(), device.as_bytes().to_vec());
        let programs = SHELF.lend(
            kind,
            |programs| programs.clear().unwrap(),
            || match compiled {
                Some(compiled) => Programs::load_from(compiled, wanted, &device, sizes).unwrap(),
                None => Programs::load(wanted, &device, sizes).unwrap(),
            },
        );
        let node = Self { programs, device };
        node.fill(driver, encapsulation, is_ipv6);
        Some(node)
    }

    /// A reference walk with the same tables.
    pub fn walk(&self) -> Walk {
        fn all<K, V>(programs: &Programs, name: &TableName<K, V>) -> Table<K, V>
        where
            K: Hash + Eq + Copy + FromBytes + IntoBytes + Immutable,
            V: Copy + FromBytes + IntoBytes + Immutable,
        {
            let table = programs.table(name).unwrap();
            table.keys().map(|key| (key, table.get(&key).unwrap().unwrap())).collect()
        }
        let from = &self.programs;
        Walk {
            fib: all(from, &names::FIB),
            nodes: all(from, &names::NODES),
            paths: all(from, &names::PATHS),
            limits: all(from, &names::LIMITS),
            hops: all(from, &names::HOPS),
            groups: all(from, &names::GROUPS),
            wires: all(from, &names::WIRES),
            adjacencies: all(from, &names::ADJACENCIES),
            adjacency_slots: all(from, &names::ADJACENCY_SLOTS),
            applications: all(from, &names::APPLICATIONS),
            tenants: all(from, &names::TENANTS),
            vnis: all(from, &names::VNIS),
            peers: all(from, &names::PEERS),
            endpoints: all(from, &names::ENDPOINTS),
            locators: all(from, &names::LOCATORS),
            entrances: all(from, &names::ENTRANCES),
            ways_out: all(from, &names::WAYS_OUT),
            drivers: Default::default(),
            counts: Counts::default(),
        }
    }

    /// Fills the tables.
    pub fn fill(&self, driver: u32, encapsulation: u32, is_ipv6: bool) {
        let application = u32::from(APPLICATION);
        let put = &self.programs;
        let own = Application { own: OWN.0, ttl: u32::from(ovstack::DEFAULT_TTL), driver };
        put.table(&names::APPLICATIONS).unwrap().set(&application, &own).unwrap();
        let tenant = Tenant {
            application,
            vni: VNI,
            interface: 1,
            driver,
            address: STATION_A.0,
            prefix: [24, 64],
            offset: self.device.offset,
            mask: self.device.mask,
            ..Tenant::default()
        };
        put.table(&names::TENANTS).unwrap().set(&TENANT, &tenant).unwrap();
        put.table(&names::VNIS).unwrap().set(&VniKey { application, vni: VNI }, &TENANT).unwrap();

        // What is tried comes by no device, unless another one is named.
        for (by, is) in [(0, entrance::OPEN), (ENTRANCE, entrance::OPEN), (PORT, entrance::BELOW)] {
            put.table(&names::ENTRANCES).unwrap().set(&by, &is).unwrap();
        }
        let adjacency = Adjacency { interface: 1, mtu: 1500, destination: GATEWAY.0, source: UNDERLAY.0 };
        put.table(&names::ADJACENCY_SLOTS).unwrap().set(&9, &adjacency).unwrap();
        put.table(&names::ADJACENCIES).unwrap().set(&ADJACENCY, &9).unwrap();
        for (node, locator, path, hop) in
            [(PEER, PEER_LOCATOR, PEER_PATH, PEER_HOP), (FAR, FAR_LOCATOR, FAR_PATH, FAR_HOP)]
        {
            let (theirs, own) = (of_family(locator, is_ipv6), of_family(OWN_LOCATOR, is_ipv6));
            let wire = Wire::new(own, theirs, encapsulation, ADJACENCY).unwrap();
            put.table(&names::WIRES).unwrap().set(&hop, &wire).unwrap();
            let mut choices = [Choice { below: 0, wire: 0 }; size::CHOICES as usize];
            choices[0] = Choice { below: 50, wire: hop };
            let whole = Hop { node: node.0, weights: 50, count: 1, path, choices };
            put.table(&names::HOPS).unwrap().set(&hop, &whole).unwrap();
            self.path(path, path::HOP, hop);
            put.table(&names::NODES).unwrap().set(&NodeKey { application, node: node.0 }, &path).unwrap();
        }
        self.accept(is_ipv6);
        for (identifier, node, path) in [
            (station(STATION_B), PEER, PEER_PATH),
            (station(STATION_F), FAR, FAR_PATH),
            (mapped(Ipv4Addr::new(10, 1, 0, 0).into()), PEER, PEER_PATH),
            (mapped(Ipv4Addr::new(10, 2, 0, 0).into()), FAR, FAR_PATH),
            (mapped("2001:db8:1::".parse().unwrap()), PEER, PEER_PATH),
            (mapped("2001:db8:2::".parse().unwrap()), FAR, FAR_PATH),
            // What a device of bits finds in a packet of small numbers.
            ([0; 16], PEER, PEER_PATH),
        ] {
            let entry = FibEntry { node: node.0, path, heard: 0, reserved: 0, packets: 0, bytes: 0 };
            put.table(&names::FIB).unwrap().set(&FibKey { tenant: TENANT, identifier }, &entry).unwrap();
        }
    }

    /// Takes what comes from the others by a family, in all encapsulations; of VXLAN-GPE that with a service header, and of labels in
    /// GRE one that says the VNI.
    pub fn accept(&self, is_ipv6: bool) {
        ENCAPSULATIONS
            .iter()
            .filter(|kind| **kind != encapsulation::GPE)
            .for_each(|kind| self.take(*kind, is_ipv6));
    }

    /// Takes what comes from the others by a family for an encapsulation, in the place of any other that arrives so.
    pub fn take(&self, kind: u32, is_ipv6: bool) {
        let application = u32::from(APPLICATION);
        let put = &self.programs;
        let own = mapped(of_family(OWN_LOCATOR, is_ipv6));
        let mut applications = [0; 8];
        applications[usize::from(APPLICATION / 32)] |= 1 << (APPLICATION % 32);
        for (node, locator) in [(PEER, PEER_LOCATOR), (FAR, FAR_LOCATOR)] {
            let address = mapped(of_family(locator, is_ipv6));
            put.table(&names::LOCATORS).unwrap().set(&LocatorKey { application, address }, &node.0).unwrap();
            let peer = Peer { encapsulation: kind, application, vni: VNI, applications };
            for protocol_port in arrivals(kind, self.device.driver) {
                let key = PeerKey { locator: address, own, protocol_port };
                put.table(&names::PEERS).unwrap().set(&key, &peer).unwrap();
                let anywhere = (kind == encapsulation::OVSTACK).then_some([0; 16]);
                for own in [Some(own), anywhere].into_iter().flatten() {
                    let key = EndpointKey { own, protocol_port };
                    put.table(&names::ENDPOINTS).unwrap().set(&key, &0).unwrap();
                }
            }
        }
    }

    pub fn path(&self, path: u32, kind: u32, index: u32) {
        let word = u64::from(kind) << 32 | u64::from(index);
        self.programs.table(&names::PATHS).unwrap().set(&path, &word).unwrap();
    }

    /// Unknown stations are sought at the group, whose only next hop is the peer.
    pub fn flood(&self) {
        let mut hops = [0; size::GROUP as usize];
        hops[0] = PEER_HOP;
        let group = Group { count: 1, includes_own: 1, hops };
        self.programs.table(&names::GROUPS).unwrap().set(&0, &group).unwrap();
        self.path(GROUP_PATH, path::GROUP, 0);
        let tenants = self.programs.table(&names::TENANTS).unwrap();
        let known = tenants.get(&TENANT).unwrap().unwrap();
        let tenant = Tenant { unknown_node: GROUP.0, unknown_path: GROUP_PATH, ..known };
        tenants.set(&TENANT, &tenant).unwrap();
    }

    /// Has the kernel find ways for what nobody knows, on these devices.
    pub fn fall_back(&self, interfaces: [u32; 2]) {
        let way = WayOut { interfaces, gateway: [0; 16] };
        self.programs.table(&names::WAYS_OUT).unwrap().set(&1, &way).unwrap();
        let tenants = self.programs.table(&names::TENANTS).unwrap();
        let known = tenants.get(&TENANT).unwrap().unwrap();
        tenants.set(&TENANT, &Tenant { way_out: 1, ..known }).unwrap();
    }

    /// Has packets come in by the device below.
    pub fn take_in_place(&self) {
        let tenants = self.programs.table(&names::TENANTS).unwrap();
        let known = tenants.get(&TENANT).unwrap().unwrap();
        tenants.set(&TENANT, &Tenant { in_place: 1, ..known }).unwrap();
    }

    pub fn drops(&self, reason: Drop) -> u64 {
        self.programs.drops().unwrap().get(&reason).copied().unwrap_or_default()
    }
}

/// A locator's number in a family.
pub fn of_family(locator: Ipv4Addr, is_ipv6: bool) -> IpAddr {
    let [.., c, d] = locator.octets();
    match is_ipv6 {
        false => locator.into(),
        true => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, c.into(), d.into()).into(),
    }
}

fn station(mac: Mac) -> [u8; 16] {
    let mut identifier = [0; size::IDENTIFIER as usize];
    identifier[..6].copy_from_slice(&mac.0);
    identifier
}

pub fn identifier(mac: Mac) -> FibKey {
    FibKey { tenant: TENANT, identifier: station(mac) }
}

pub fn frame(destination: Mac, source: Mac, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = payload.to_vec();
    push(&mut packet, &ethernet::Repr { destination, source, ether_type });
    packet
}

/// A packet of IPv6 with so many bytes in it, for a host of the peer or of who is far.
pub fn inner_ipv6(bytes: usize, class: u8, is_far: bool) -> Vec<u8> {
    let mut packet = vec![0x66; bytes];
    let source = "2001:db8:9::1".parse().unwrap();
    let destination = if is_far { "2001:db8:2::7" } else { "2001:db8:1::7" }.parse().unwrap();
    let ends = Some((IpAddr::V6(source), IpAddr::V6(destination)));
    push(&mut packet, &udp::Repr { source: 5000, destination: 6000, checked: ends });
    let ip = ipv6::Repr {
        source,
        destination,
        next_header: protocol::UDP,
        hop_limit: 64,
        traffic_class: class,
        flow_label: 0x12345,
    };
    push(&mut packet, &ip);
    packet
}

/// A packet of UDP with so many bytes in it.
pub fn inner_ipv4(bytes: usize, tos: u8) -> Vec<u8> {
    inner_ipv4_for(Ipv4Addr::new(10, 1, 0, 2), bytes, tos)
}

pub fn inner_ipv4_for(destination: Ipv4Addr, bytes: usize, tos: u8) -> Vec<u8> {
    let mut packet = vec![0x55; bytes];
    let source = Ipv4Addr::new(10, 9, 0, 1);
    push(&mut packet, &udp::Repr { source: 5000, destination: 6000, checked: None });
    let ip = ipv4::Repr {
        source,
        destination,
        protocol: protocol::UDP,
        ttl: 64,
        tos,
        dont_fragment: true,
        identification: 7,
    };
    push(&mut packet, &ip);
    packet
}

/// What the peer says of a packet for this node.
pub fn overlay_header() -> ovstack::Repr {
    ovstack::Repr {
        ttl: 60,
        application: APPLICATION,
        is_control: false,
        vni: VNI,
        hash: 0x8765_4321,
        destination: OWN,
        source: PEER,
    }
}

/// A packet as the peer sends it in some encapsulation: what is carried, and whether that is a frame.
pub fn arriving_in(encapsulation: u32, is_ipv6: bool, carried: &[u8], is_frame: bool, tos: u8) -> Vec<u8> {
    arriving_with(encapsulation, is_ipv6, carried, if is_frame { Inside::Frame } else { Inside::Packet }, tos)
}

/// The same of anything that may be carried.
pub fn arriving_with(encapsulation: u32, is_ipv6: bool, carried: &[u8], inside: Inside, tos: u8) -> Vec<u8> {
    let inner_is_ipv6 = carried.first().is_some_and(|first| first >> 4 == 6);
    let (kind, next, inner) = match inside {
        Inside::Frame => (ether_type::ETHERNET, nsh::next::ETHERNET, 0),
        Inside::Packet if inner_is_ipv6 => (ether_type::IPV6, nsh::next::IPV6, protocol::IPV6),
        Inside::Packet => (ether_type::IPV4, nsh::next::IPV4, protocol::IPV4),
        Inside::Labels => (ether_type::MPLS, nsh::next::MPLS, 0),
        Inside::Service => (ether_type::NSH, nsh::next::NSH, 0),
    };
    let mut packet = carried.to_vec();
    let mut carrier = protocol::GRE;
    match encapsulation {
        encapsulation::OVSTACK => push(&mut packet, &overlay_header()),
        encapsulation::VXLAN => push(&mut packet, &vxlan::Repr { vni: VNI }),
        encapsulation::GENEVE => {
            let option = [0x12, 0x34, 0x05, 0x01, 1, 2, 3, 4];
            push(&mut packet, &geneve::Repr { vni: VNI, protocol: kind, options: &option });
        }
        encapsulation::NVGRE => push(&mut packet, &nvgre::Repr { subnet: VNI, flow: 3 }),
        encapsulation::GRE => push(&mut packet, &gre::Repr { protocol: kind, ..Default::default() }),
        encapsulation::IPIP => carrier = inner,
        encapsulation::MPLS => {
            // A label has twenty bits: the tenant has no other number in them.
            push(&mut packet, &mpls::Repr { label: VNI, traffic_class: 0, is_bottom: true, ttl: 9 });
            push(&mut packet, &gre::Repr { protocol: ether_type::MPLS, ..Default::default() });
        }
        encapsulation::NSH => {
            let metadata = nsh::Metadata::Fixed(&[7; 16]);
            let header =
                nsh::Repr { service_path: VNI, service_index: 200, ttl: 63, next_protocol: next, metadata };
            push(&mut packet, &header);
            push(&mut packet, &vxlan_gpe::Repr { vni: VNI, next_protocol: vxlan_gpe::next::NSH });
        }
        encapsulation::GUE => push(&mut packet, &gue::Repr::Header { protocol: inner }),
        encapsulation::GPE => push(&mut packet, &vxlan_gpe::Repr { vni: VNI, next_protocol: next }),
        other => panic!("{other}"),
    }
    if let Some(destination) = udp_port(encapsulation) {
        push(&mut packet, &udp::Repr { source: 50_123, destination, checked: None });
        carrier = protocol::UDP;
    }
    from_peer(packet, carrier, is_ipv6, tos)
}

/// An IP packet as the peer sends it without a header of GUE (its variant 1).
pub fn arriving_bare(is_ipv6: bool, carried: &[u8]) -> Vec<u8> {
    let mut packet = carried.to_vec();
    push(&mut packet, &gue::Repr::Bare);
    push(&mut packet, &udp::Repr { source: 50_123, destination: port::GUE, checked: None });
    from_peer(packet, protocol::UDP, is_ipv6, 0)
}

/// What the peer sends in an IP packet, in a frame.
fn from_peer(mut packet: Vec<u8>, carrier: u8, is_ipv6: bool, tos: u8) -> Vec<u8> {
    let kind = match (of_family(PEER_LOCATOR, is_ipv6), of_family(OWN_LOCATOR, is_ipv6)) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let (protocol, ttl) = (carrier, 61);
            let ip = ipv4::Repr {
                source,
                destination,
                protocol,
                ttl,
                tos,
                dont_fragment: true,
                identification: 0,
            };
            push(&mut packet, &ip);
            ether_type::IPV4
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let (next_header, hop_limit, traffic_class) = (carrier, 61, tos);
            push(
                &mut packet,
                &ipv6::Repr { source, destination, next_header, hop_limit, traffic_class, flow_label: 0 },
            );
            ether_type::IPV6
        }
        _ => unreachable!("one family"),
    };
    push(&mut packet, &ethernet::Repr { destination: UNDERLAY, source: GATEWAY, ether_type: kind });
    packet
}

/// Whether a frame ends within the header that its type promises: of such the kernel makes no packet to try, though
/// devices may deliver them.
pub fn is_stunted(packet: &[u8]) -> bool {
    match u16::from_be_bytes([packet[12], packet[13]]) {
        ether_type::IPV4 => packet.len() < 34,
        ether_type::IPV6 => packet.len() < 54,
        _ => packet.len() < 15,
    }
}

/// A packet as the peer sends it.
pub fn arriving(overlay: &ovstack::Repr, payload: &[u8]) -> Vec<u8> {
    let mut packet = payload.to_vec();
    push(&mut packet, overlay);
    push(&mut packet, &udp::Repr { source: 50_123, destination: port::OVSTACK, checked: None });
    let ip = ipv4::Repr {
        source: PEER_LOCATOR,
        destination: OWN_LOCATOR,
        protocol: protocol::UDP,
        ttl: 61,
        tos: 0,
        dont_fragment: true,
        identification: 0,
    };
    push(&mut packet, &ip);
    push(
        &mut packet,
        &ethernet::Repr { destination: UNDERLAY, source: GATEWAY, ether_type: ether_type::IPV4 },
    );
    packet
}

pub fn change_source(packet: &mut [u8], source: [u8; 4]) {
    packet[26..30].copy_from_slice(&source);
}

/// The overlay's header of a packet on the underlay, and what it carries.
pub fn inside(packet: &[u8]) -> ovstack::Packet<'_> {
    let outer = ethernet::Frame::parse(packet).unwrap();
    let ip = ipv4::Packet::parse(outer.payload()).unwrap();
    assert!(ip.checksum_fits());
    ovstack::Packet::parse(udp::Datagram::parse(ip.payload()).unwrap().payload()).unwrap()
}

/// The locator that a packet on the underlay is for.
pub fn destination(packet: &[u8]) -> Ipv4Addr {
    ipv4::Packet::parse(&packet[14..]).unwrap().destination()
}

/// Where the UDP header of the outer packet begins.
pub fn behind_ip(is_ipv6: bool) -> usize {
    if is_ipv6 { 54 } else { 34 }
}

/// What is behind the outer IP header of a frame: where it begins, and of which protocol it is.
pub fn behind_outer(frame: &[u8]) -> Option<(usize, u8)> {
    match frame.get(12..14)? {
        [0x08, 0] => Some((behind_ip(false), *frame.get(23)?)),
        [0x86, 0xdd] => Some((behind_ip(true), *frame.get(20)?)),
        _ => None,
    }
}

/// The kernel's own hash tells flows of packets and bits apart; where what was sent shows it, the walk gets the same.
pub fn flow_in(sent: &[u8]) -> u32 {
    let Some((at, carrier)) = behind_outer(sent) else { return 0 };
    match (carrier, sent.get(at..)) {
        (protocol::UDP, Some([_, _, high, low, _, _, _, _, rest @ ..]))
            if [*high, *low] == port::OVSTACK.to_be_bytes() =>
        {
            rest.get(8..12).map_or(0, |hash| u32::from_be_bytes(hash.try_into().expect("four bytes")))
        }
        // Eight bits of it are in the key of NVGRE.
        (protocol::GRE, Some([0x20, _, _, _, _, _, _, flow, ..])) => u32::from(*flow),
        _ => 0,
    }
}

/// Elsewhere its port is taken over from what the kernel sent.
pub fn with_port_of(mut frame: Vec<u8>, sent: &[u8]) -> Vec<u8> {
    if let Some((at, protocol::UDP)) = behind_outer(&frame)
        && frame.len() == sent.len()
        && frame.len() > at + 2
    {
        frame[at..at + 2].copy_from_slice(&sent[at..at + 2]);
    }
    frame
}
