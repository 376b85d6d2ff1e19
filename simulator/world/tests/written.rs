//! Overlays whose tables a file writes once, in virtual time: the way of each packet is that of the walk through them.

mod support;

use plait_control_overlay::mesh;
use plait_dataplane_overlay::{Carries, Encapsulation, Identifier};
use plait_dataplane_reference::Counts;
use plait_dataplane_reference::tables::Drop;
use plait_model_overlay::NodeId;
use plait_model_quantity::Bandwidth;
use plait_model_wire::number::ether_type;
use plait_model_wire::{ethernet, ipv4, ipv6};
use plait_simulator_world::engine::{FlowCounters, Reason, headers};
use plait_simulator_world::{DataPlane, Options, OverlayFlowSpec, OverlayIndex, OverlaySpec, Side, World};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;
use support::{FILE, network};

/// Bytes of UDP payload of a datagram of [`flow`].
const SIZE: u16 = 1000;

/// Hardware address of the station above a member's device.
fn station(member: u8) -> [u8; 6] {
    [2, 1, 0, 0, 0, member]
}

/// Addresses of the hosts above members' devices, of both IP versions.
fn addresses(member: u8) -> [IpAddr; 2] {
    [format!("10.99.0.{member}"), format!("fd99::{member}")].map(|text| text.parse().unwrap())
}

/// An overlay of a, b and c in which what a sends to c goes by b, of one device of VNI 5. Each knows the addresses behind the
/// others; the stations of frames are learned, but b is told where that of c is, as relays have to be that are no ends. What is for
/// all goes as in a file.
fn spec(carries: Carries, encapsulation: Encapsulation) -> OverlaySpec {
    let mut spec = OverlaySpec::new(["a", "b", "c"], None);
    for (own, member) in (1..).zip(&mut spec.members) {
        let mut data_plane = DataPlane::new(carries, 5, encapsulation);
        for other in [1, 2, 3].into_iter().filter(|other| *other != own) {
            let known = match carries {
                Carries::Ip => addresses(other).map(|address| Identifier::Network(address.into())).to_vec(),
                _ if (own, other) == (2, 3) => vec![Identifier::Station(station(3))],
                _ => Vec::new(),
            };
            let node = NodeId(other.into());
            data_plane.entries.extend(known.into_iter().map(|identifier| (0, identifier, node)));
        }
        member.data_plane = Some(data_plane);
    }
    for (own, member) in (1..).zip(&mut spec.members).filter(|_| encapsulation.names_nodes()) {
        member.routes = mesh(NodeId(own), &[1, 2, 3].map(NodeId).into(), spec.group);
    }
    spec.members[0].routes.insert(NodeId(3), BTreeSet::from([NodeId(2)]));
    spec
}

fn data_plane(spec: &mut OverlaySpec, place: usize) -> &mut DataPlane {
    spec.members[place].data_plane.as_mut().unwrap()
}

fn world(text: &str, threads: usize) -> World {
    let network = network(text);
    World::build(&network, Options { threads, ..Options::default() }).unwrap()
}

/// From a to c, a datagram each 8 ms or so for two seconds, between addresses of an IP version.
fn flow(version: usize) -> OverlayFlowSpec {
    OverlayFlowSpec {
        vni: 5,
        members: [0, 2],
        addresses: [1, 3].map(|member| addresses(member)[version]),
        ports: [20_000, 60_009],
        size: SIZE,
        rate: Bandwidth::from_bits_per_second(1_000_000),
        start: Duration::ZERO,
        stop: Duration::from_secs(2),
    }
}

fn dropped(world: &World, overlay: OverlayIndex, place: usize) -> BTreeMap<Drop, u64> {
    world.member_counts(overlay, place).unwrap().drops.clone()
}

/// A packet at an interface: its bytes, and the hops that its outer header has left.
type Seen = (u32, u8);

/// What became of [`flow`] in an overlay, what the nodes counted, and the packets at b's interface.
fn run(
    text: &str,
    spec: &OverlaySpec,
    version: usize,
    threads: usize,
) -> (FlowCounters, Vec<Counts>, Vec<Seen>) {
    let mut world = world(text, threads);
    let overlay = world.add_overlay(spec).unwrap();
    world.add_capture("b", "eth0").unwrap();
    let flow = world.add_overlay_flow(overlay, &flow(version)).unwrap();
    world.run_until(Duration::from_secs(3));
    assert!(world.totals().is_conserved());
    let seen = world.simulation().captured().into_iter().map(|packet| {
        assert_eq!(packet.length as usize, packet.bytes.len());
        let frame = ethernet::Frame::parse(&packet.bytes).unwrap();
        let ttl = match frame.ether_type() {
            ether_type::IPV4 => ipv4::Packet::parse(frame.payload()).unwrap().ttl(),
            _ => ipv6::Packet::parse(frame.payload()).unwrap().hop_limit(),
        };
        (packet.length, ttl)
    });
    let seen = seen.collect();
    let counts = (0..3).map(|place| world.member_counts(overlay, place).unwrap().clone()).collect();
    (world.overlay_flow(flow), counts, seen)
}

#[test]
fn what_goes_by_a_relay_arrives_with_every_encapsulations_headers_and_hops_on_any_number_of_threads() {
    let six = FILE.replace("plait: 1\n", "plait: 1\ndefaults: {ipv4: off, ipv6: on}\n");
    for carries in [Carries::Ethernet, Carries::Ip] {
        let frames = carries.are_frames();
        for encapsulation in Encapsulation::ALL.iter().copied().filter(|kind| kind.carries(frames)) {
            for (text, outer, version) in [(FILE, 20, 0), (FILE, 20, 1), (&six, 40, 0), (&six, 40, 1)] {
                let what =
                    format!("{carries:?} in {encapsulation} and {outer} bytes of IP, version {version}");
                let spec = spec(carries, encapsulation);
                let (got, counts, seen) = run(text, &spec, version, 1);
                // Threads have nothing to do with headers; one kind over UDP and one that is not are enough.
                if version == 0 && [Encapsulation::Ovstack, Encapsulation::Gre].contains(&encapsulation) {
                    assert_eq!(run(text, &spec, version, 2), (got, counts.clone(), seen.clone()), "{what}");
                }
                // Two seconds of a frame each 8.3 ms, none of which came by the link of 40 ms.
                assert!((235..245).contains(&got.sent), "{what}: {got:?}");
                assert_eq!((got.received, got.reordered), (got.sent, 0), "{what}");
                assert!((10_000_000..11_000_000).contains(&got.delay_least), "{what}: {got:?}");
                assert!(counts.iter().all(|of| of.drops.is_empty()), "{what}: {counts:?}");
                let to_c = counts[1].hops.values().map(|of| of.packets).sum::<u64>();
                assert!((got.sent..got.sent + 2).contains(&to_c), "{what}: {to_c} from b to c");

                // Between b and a, and between b and c, two routers each take a hop.
                let inner = headers(version == 1) + u32::from(SIZE) - if frames { 0 } else { 14 };
                let length = 14 + outer + u32::from(encapsulation.shim_bytes()) + inner;
                let hops = if encapsulation == Encapsulation::Ovstack { [62, 64] } else { [58, 57] };
                for ttl in hops {
                    let count = seen.iter().filter(|of| **of == (length, ttl)).count() as u64;
                    assert_eq!(count, got.sent, "{what}: {length} bytes with {ttl} hops left");
                }
                assert_eq!(seen.iter().filter(|of| of.0 == length).count() as u64, 2 * got.sent, "{what}");
            }
        }
    }
}

#[test]
fn what_the_walk_drops_is_counted_where_and_as_it_says() {
    type Change = fn(&mut OverlaySpec, &mut OverlayFlowSpec);
    let cases: [(&str, usize, Drop, Change); 5] = [
        ("one overlay hop leads to b and no farther", 1, Drop::Expired, |spec, _| {
            data_plane(spec, 0).config.ttl = 1;
        }),
        ("nobody is said to have an address", 0, Drop::UnknownIdentifier, |_, flow| {
            flow.addresses[1] = "10.99.0.77".parse().unwrap();
        }),
        ("c has no device", 2, Drop::UnknownTenant, |spec, flow| {
            data_plane(spec, 2).devices.clear();
            flow.members = [0, 1];
            flow.addresses[1] = addresses(3)[0];
        }),
        ("b would send to c by itself", 1, Drop::NoRoute, |spec, _| {
            spec.members[1].routes = BTreeMap::from([(NodeId(3), BTreeSet::from([NodeId(99)]))]);
        }),
        ("a packet of 1500 bytes has no room for headers", 0, Drop::TooBig, |_, flow| flow.size = 1472),
    ];
    for (what, place, reason, change) in cases {
        let (mut spec, mut flow) = (spec(Carries::Ip, Encapsulation::Ovstack), flow(0));
        change(&mut spec, &mut flow);
        let mut world = world(FILE, 1);
        let overlay = world.add_overlay(&spec).unwrap();
        let flow = world.add_overlay_flow(overlay, &flow).unwrap();
        world.run_until(Duration::from_secs(3));
        let got = world.overlay_flow(flow);
        assert!(got.sent > 100 && got.received == 0, "{what}: {got:?}");
        for member in 0..3 {
            let expected =
                if member == place { BTreeMap::from([(reason, got.sent)]) } else { BTreeMap::new() };
            assert_eq!(dropped(&world, overlay, member), expected, "{what}: member {member}");
        }
        assert!(world.totals().is_conserved(), "{what}");
    }
    // Of headers without hops of their own those of IP end below, at the first router.
    let mut spec = spec(Carries::Ip, Encapsulation::Geneve);
    data_plane(&mut spec, 0).config.ttl = 1;
    let mut world = world(FILE, 1);
    let overlay = world.add_overlay(&spec).unwrap();
    let flow = world.add_overlay_flow(overlay, &flow(0)).unwrap();
    world.run_until(Duration::from_secs(3));
    let ra = world.node("ra").unwrap();
    let expired = world.simulation().node_counters(ra).dropped_for(Reason::Expired);
    assert_eq!((world.overlay_flow(flow).received, expired), (0, world.overlay_flow(flow).sent));
}

#[test]
fn what_fits_a_members_links_is_what_fits_its_overlay() {
    // IPv4, UDP, ovstack's 20 bytes, and the packet of 28 bytes more than its payload.
    for (mtu, size, arrives) in
        [(1600, 1500, true), (1600, 1525, false), (1400, 1324, true), (1400, 1325, false)]
    {
        let text = FILE.replace("rate: 1Gbit", &format!("rate: 1Gbit, mtu: {mtu}B"));
        let mut world = world(&text, 1);
        let overlay = world.add_overlay(&spec(Carries::Ip, Encapsulation::Ovstack)).unwrap();
        let flow = world.add_overlay_flow(overlay, &OverlayFlowSpec { size, ..flow(0) }).unwrap();
        world.run_until(Duration::from_secs(3));
        let got = world.overlay_flow(flow);
        assert_eq!(got.received, if arrives { got.sent } else { 0 }, "{size} bytes over {mtu}: {got:?}");
        let too_big = dropped(&world, overlay, 0).get(&Drop::TooBig).copied().unwrap_or(0);
        assert_eq!(too_big, got.sent - got.received, "{size} bytes over {mtu}");
    }
}

#[test]
fn a_link_that_fails_or_loses_takes_what_goes_by_it_and_nothing_else() {
    for (carries, encapsulation) in
        [(Carries::Ethernet, Encapsulation::Ovstack), (Carries::Ip, Encapsulation::Gre)]
    {
        let lost = |text: &str, link: &str, fails: bool| {
            let mut world = world(text, 1);
            let overlay = world.add_overlay(&spec(carries, encapsulation)).unwrap();
            let flow = world.add_overlay_flow(overlay, &flow(0)).unwrap();
            for (at, up) in [(700, false), (1200, true)] {
                world.run_until(Duration::from_millis(at));
                world.set_link_up(link, Side::Both, up || !fails).unwrap();
            }
            world.run_until(Duration::from_secs(3));
            let got = world.overlay_flow(flow);
            let of_link: u64 = (world.link_rows().iter())
                .filter(|row| row.link == link && row.side == Side::Forward)
                .map(|row| row.lost)
                .sum();
            (got.sent - got.received, of_link)
        };
        let (missing, of_link) = lost(FILE, "rb-rc", true);
        // Half a second of a datagram each 8.3 ms.
        assert!((57..63).contains(&missing), "{carries:?}: {missing}");
        assert_eq!(missing, of_link, "{carries:?}");
        let (missing, _) = lost(FILE, "ra-rc", true);
        assert_eq!(missing, 0, "{carries:?}: nothing to c goes by the slow link");
        let text = FILE.replace("[rb, rc], rate: 1Gbit", "[rb, rc], rate: 1Gbit, loss: 10%");
        let (missing, of_link) = lost(&text, "rb-rc", false);
        assert!(missing > 5 && missing <= of_link, "{carries:?}: {missing} of {of_link}");
    }
}

#[test]
fn labels_go_as_what_frames_carry() {
    for encapsulation in [Encapsulation::Geneve, Encapsulation::Gre, Encapsulation::Nsh] {
        let mut spec = OverlaySpec::new(["a", "b"], None);
        let mut plane = DataPlane::new(Carries::Payload, 5, encapsulation);
        plane.entries.push((0, "all".parse().unwrap(), NodeId(2)));
        spec.data_plane = Some(plane);
        let mut world = world(FILE, 1);
        let overlay = world.add_overlay(&spec).unwrap();
        // The label 77, which is the last, with 64 hops, and 60 bytes under it.
        let header = [&[2; 12][..], &[0x88, 0x47], &[0, 4, 0xd1, 64]].concat();
        let frame = [&header[..], &[7; 60]].concat();
        world.with_member(overlay, 0, |member| member.send(frame)).unwrap();
        world.run_until(Duration::from_secs(1));
        let tenants = &world.member_counts(overlay, 1).unwrap().tenants;
        let got: Vec<_> = tenants.values().map(|of| (of.received.packets, of.received.bytes)).collect();
        assert_eq!(got, [(1, 64)], "{encapsulation}");
    }
}
