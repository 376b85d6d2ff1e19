//! Overlays of the testbed's own control planes and tables in virtual time.

mod support;

use plait_control_overlay::Plane;
use plait_dataplane_overlay::{Carries, Encapsulation, Miss};
use plait_dataplane_reference::tables::Drop;
use plait_model_overlay::NodeId;
use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};
use plait_simulator_world::engine::Reason;
use plait_simulator_world::{DataPlane, Options, OverlayFlowSpec, OverlayIndex, OverlaySpec, Side, World};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::time::Duration;
use support::{FILE, network};

fn world(plane: Plane, threads: usize) -> (World, OverlayIndex) {
    let mut world = World::build(&network(FILE), Options { threads, ..Options::default() }).unwrap();
    let data_plane = Some(DataPlane::new(Carries::Ethernet, 1, Encapsulation::Ovstack));
    let spec = OverlaySpec { data_plane, ..OverlaySpec::new(["a", "b", "c"], plane) };
    let overlay = world.add_overlay(&spec).unwrap();
    (world, overlay)
}

/// By whom a member sends to another.
fn next_hop(world: &World, overlay: OverlayIndex, from: usize, to: u32) -> Option<u32> {
    let routes = world.member(overlay, from)?.control()?.routes();
    routes.iter().find(|(node, _)| **node == NodeId(to))?.1.first().map(|hop| hop.0)
}

/// A frame for all, from a station of the member's.
fn frame(member: u8) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, member]);
    frame.extend([0x88, 0xb5]);
    frame.resize(100, member);
    frame
}

/// Frames that each member's device has received.
fn received(world: &World, overlay: OverlayIndex) -> Vec<u64> {
    let of = |place| {
        let counts = world.member_counts(overlay, place).unwrap();
        counts.tenants.values().map(|of| of.received.packets).sum()
    };
    (0..3).map(of).collect()
}

#[test]
fn a_mesh_goes_straight_and_a_delay_overlay_by_the_shorter_way() {
    let (mut mesh, of_mesh) = world(Plane::Mesh, 1);
    let (mut delay, of_delay) = world(Plane::Delay, 1);
    for world in [&mut mesh, &mut delay] {
        world.run_until(Duration::from_secs(10));
        assert!(world.totals().is_conserved());
    }
    assert_eq!(next_hop(&mesh, of_mesh, 0, 3), Some(3));
    assert_eq!(next_hop(&delay, of_delay, 0, 3), Some(2), "over b it is 10 ms, straight 40 ms");
    assert_eq!(next_hop(&delay, of_delay, 2, 1), Some(2));

    // The plane is changed while it runs, and so are the routes.
    for place in 0..3 {
        delay.with_member(of_delay, place, |member| member.set_plane(Plane::Mesh)).unwrap();
    }
    delay.run_until(Duration::from_secs(20));
    assert_eq!(next_hop(&delay, of_delay, 0, 3), Some(3));
}

#[test]
fn a_delay_overlay_follows_a_link_that_fails_and_one_that_recovers() {
    let (mut world, overlay) = world(Plane::Delay, 1);
    world.run_until(Duration::from_secs(10));
    assert_eq!(next_hop(&world, overlay, 0, 3), Some(2));
    world.set_link_up("ra-rb", Side::Both, false).unwrap();
    world.run_until(Duration::from_secs(60));
    assert_eq!(next_hop(&world, overlay, 0, 3), Some(3), "the one way that is left");
    world.set_link_up("ra-rb", Side::Both, true).unwrap();
    world.run_until(Duration::from_secs(120));
    assert_eq!(next_hop(&world, overlay, 0, 3), Some(2));
    assert!(world.totals().is_conserved());
}

#[test]
fn frames_for_all_reach_every_member_once_on_any_number_of_threads() {
    for plane in [Plane::Mesh, Plane::Delay] {
        let run = |threads| {
            let (mut world, overlay) = world(plane, threads);
            world.run_until(Duration::from_secs(10));
            for place in 0..3 {
                world.with_member(overlay, place, |member| member.send(frame(place as u8))).unwrap();
            }
            world.run_until(Duration::from_secs(11));
            assert_eq!(received(&world, overlay), [2, 2, 2], "{plane:?}");
            let rows: Vec<_> = world.link_rows().iter().map(|row| format!("{row:?}")).collect();
            (rows, world.totals().hops)
        };
        assert_eq!(run(1), run(2), "{plane:?}");
    }
}

/// The same network with one data plane or another, after all members know each other.
fn joined(text: &str, plane: Plane, change: impl FnOnce(&mut DataPlane)) -> (World, OverlayIndex) {
    let network = network(text);
    let mut world = World::build(&network, Options::default()).unwrap();
    let mut data_plane = DataPlane::new(Carries::Ethernet, 1, Encapsulation::Ovstack);
    change(&mut data_plane);
    let spec = OverlaySpec { data_plane: Some(data_plane), ..OverlaySpec::new(["a", "b", "c"], plane) };
    let overlay = world.add_overlay(&spec).unwrap();
    world.run_until(Duration::from_secs(10));
    (world, overlay)
}

/// Sends a frame from a member's device, and gives it a second to arrive.
fn send(world: &mut World, overlay: OverlayIndex, from: usize, frame: Vec<u8>) {
    world.with_member(overlay, from, |member| member.send(frame)).unwrap();
    world.run_until(world.now() + Duration::from_secs(1));
}

fn dropped(world: &World, overlay: OverlayIndex, place: usize, reason: Drop) -> u64 {
    let counts = world.member_counts(overlay, place).unwrap();
    counts.drops.get(&reason).copied().unwrap_or(0)
}

#[test]
fn members_that_have_ipv6_alone_are_reached_as_those_of_ipv4_are() {
    let text = FILE.replace("plait: 1\n", "plait: 1\ndefaults: {ipv4: off, ipv6: on}\n");
    for (text, family) in [(&text[..], "IPv6"), (FILE, "IPv4")] {
        let (mut world, overlay) = joined(text, Plane::Mesh, |_| {});
        assert_eq!(world.address("a").unwrap().is_ipv6(), family == "IPv6");
        for place in 0..3 {
            send(&mut world, overlay, place, frame(place as u8));
        }
        assert_eq!(received(&world, overlay), [2, 2, 2], "{family}");
        assert!(world.totals().is_conserved());
    }
}

#[test]
fn a_frame_ends_where_its_overlay_hops_do() {
    // Each member that a frame for all comes to takes one, as it passes it on.
    for (ttl, expected, ends) in [(3, [0, 1, 1], [0, 0]), (2, [0, 1, 0], [0, 1]), (1, [0, 0, 0], [1, 0])] {
        let (mut world, overlay) = joined(FILE, Plane::Delay, |plane| plane.config.ttl = ttl);
        assert_eq!(next_hop(&world, overlay, 0, 3), Some(2), "c is behind b");
        send(&mut world, overlay, 0, frame(0));
        assert_eq!(received(&world, overlay), expected, "{ttl} hops");
        let dropped = [1, 2].map(|place| dropped(&world, overlay, place, Drop::Expired));
        assert_eq!(dropped, ends, "{ttl} hops");
    }
}

#[test]
fn a_device_takes_no_frame_that_is_longer_than_its_mtu() {
    // A frame of 100 bytes carries 86.
    for (mtu, expected) in [(86, [0, 1, 1]), (85, [0, 0, 0])] {
        let (mut world, overlay) = joined(FILE, Plane::Mesh, |plane| plane.devices[0].mtu = Some(mtu));
        send(&mut world, overlay, 0, frame(0));
        assert_eq!(received(&world, overlay), expected, "an MTU of {mtu}");
        assert_eq!(dropped(&world, overlay, 0, Drop::TooBig), 1 - expected[1]);
    }
}

#[test]
fn a_station_that_was_silent_for_long_is_forgotten_and_nobody_unknown_is_sought_where_that_was_asked() {
    let missed = |world: &World, overlay| {
        let counts = world.member_counts(overlay, 0).unwrap();
        counts.tenants.values().map(|of| of.missed.packets).sum::<u64>()
    };
    // For c's station, from a's.
    let to_c = || [&[2, 0, 0, 0, 0, 2][..], &frame(0)[6..]].concat();
    let (mut world, overlay) = joined(FILE, Plane::Mesh, |plane| plane.devices[0].ageing = 30);
    send(&mut world, overlay, 2, frame(2));
    for (wait, expected) in [(20, 0), (30, 1)] {
        let later = world.now() + Duration::from_secs(wait);
        world.run_until(later);
        send(&mut world, overlay, 0, to_c());
        assert_eq!(missed(&world, overlay), expected, "{wait} s later");
    }
    assert_eq!(received(&world, overlay), [1, 2, 2], "what nobody knew went to all");

    let (mut world, overlay) = joined(FILE, Plane::Mesh, |plane| plane.config.miss = Miss::Drop);
    send(&mut world, overlay, 0, to_c());
    assert_eq!((missed(&world, overlay), received(&world, overlay)), (1, vec![0, 0, 0]));
    assert_eq!(dropped(&world, overlay, 0, Drop::UnknownIdentifier), 1);
    let drops = world.drops();
    assert_eq!(
        (drops.overlays["a"][Drop::UnknownIdentifier.name()], drops.overlays.len()),
        (1, 1),
        "{drops:?}"
    );
}

/// Of datagrams of 1000 bytes at 1 Mbit/s from a to c, two seconds long, once all members have met.
fn flow(world: &World, addresses: [&str; 2]) -> OverlayFlowSpec {
    let start = world.now();
    OverlayFlowSpec {
        vni: 1,
        members: [0, 2],
        addresses: addresses.map(|address| address.parse::<IpAddr>().unwrap()),
        ports: [20_000, 60_009],
        size: 1000,
        rate: plait_model_quantity::Bandwidth::from_bits_per_second(1_000_000),
        start,
        stop: start + Duration::from_secs(2),
    }
}

#[test]
fn a_flow_over_an_overlay_arrives_whole_by_the_way_that_its_plane_chose_on_any_number_of_threads() {
    const ADDRESSES: [[&str; 2]; 2] = [["10.99.0.1", "10.99.0.3"], ["fd99::1", "fd99::3"]];
    for (plane, way) in [(Plane::Mesh, 40_000_000..41_000_000), (Plane::Delay, 10_000_000..11_000_000)] {
        for addresses in ADDRESSES {
            let run = |threads| {
                let (mut world, overlay) = world(plane, threads);
                assert!(world.meet(Duration::from_secs(10)), "{plane:?}");
                // By delay they go straight until they know better.
                world.run_until(world.now() + Duration::from_secs(5));
                let index = world.add_overlay_flow(overlay, &flow(&world, addresses)).unwrap();
                world.run_until(world.now() + Duration::from_secs(3));
                assert!(world.totals().is_conserved());
                (world.overlay_flow(index), received(&world, overlay))
            };
            let (seen, frames) = run(1);
            assert_eq!(run(2), (seen, frames.clone()), "{plane:?} {addresses:?}");
            // Two seconds of a frame each 8.3 ms.
            assert!((235..245).contains(&seen.sent), "{plane:?} {addresses:?}: {seen:?}");
            assert_eq!((seen.received, seen.bytes), (seen.sent, 1000 * seen.sent), "{plane:?} {addresses:?}");
            assert_eq!(seen.reordered, 0);
            assert!(way.contains(&seen.delay_least), "{plane:?} {addresses:?}: {seen:?}");
            // The first one waits until c has said where it is, which takes as long as to go there and back.
            assert!(seen.delay_most >= 3 * way.start, "{plane:?} {addresses:?}: {seen:?}");
            // An answer comes to a; c gets the question and the flow, and b the question alone.
            assert_eq!(frames, [1, 1, seen.received + 1], "{plane:?} {addresses:?}");
        }
    }
}

#[test]
fn what_is_too_long_for_the_network_below_or_finds_nobody_is_sent_and_does_not_arrive() {
    // 1472 bytes fill a packet of 1500, around which nothing else fits.
    for (size, arrives) in [(1400, true), (1472, false)] {
        let (mut world, overlay) = joined(FILE, Plane::Mesh, |_| {});
        let spec = OverlayFlowSpec { size, ..flow(&world, ["10.99.0.1", "10.99.0.3"]) };
        let index = world.add_overlay_flow(overlay, &spec).unwrap();
        world.run_until(world.now() + Duration::from_secs(3));
        let seen = world.overlay_flow(index);
        assert_eq!((seen.sent > 100, seen.received > 100), (true, arrives), "{size}: {seen:?}");
    }
    // While c is away nobody answers for it; when it is back, what was not given up arrives.
    let (mut world, overlay) = joined(FILE, Plane::Mesh, |_| {});
    let index = world.add_overlay_flow(overlay, &flow(&world, ["10.99.0.1", "10.99.0.3"])).unwrap();
    world.set_node_up("c", false).unwrap();
    world.run_until(world.now() + Duration::from_millis(500));
    assert_eq!(world.overlay_flow(index).received, 0);
    world.set_node_up("c", true).unwrap();
    world.run_until(world.now() + Duration::from_secs(3));
    let seen = world.overlay_flow(index);
    assert!(seen.received > seen.sent / 2 && seen.received <= seen.sent, "{seen:?}");
    assert!(world.totals().is_conserved());
}

#[test]
fn flows_that_cannot_be_are_refused() {
    let (mut world, overlay) = joined(FILE, Plane::Mesh, |_| {});
    let good = flow(&world, ["10.99.0.1", "10.99.0.3"]);
    let versions =
        OverlayFlowSpec { addresses: flow(&world, ["10.99.0.1", "fd99::3"]).addresses, ..good.clone() };
    let error = world.add_overlay_flow(overlay, &versions).unwrap_err();
    assert!(error.to_string().contains("different IP versions"), "{error}");
    let nobody = OverlayFlowSpec { members: [0, 3], ..good };
    let error = world.add_overlay_flow(overlay, &nobody).unwrap_err();
    assert!(error.to_string().contains("between members"), "{error}");
}

#[test]
fn what_nobody_knows_leaves_by_the_nodes_own_routes_where_that_was_asked() {
    // To whom, and at which node it ends and why.
    const ROUTED: [(&str, Option<(&str, Reason)>); 3] = [
        // Nobody's address goes to the router that knows everybody, and no further.
        ("10.77.0.1", Some(("ra", Reason::NoRoute))),
        // A host's own address leads to it, where nobody listens.
        ("b", Some(("b", Reason::NoListener))),
        // Of IPv6 there is no route.
        ("fd99::1", None),
    ];
    for miss in [Miss::Kernel, Miss::Drop] {
        for (to, ends) in ROUTED {
            for threads in [1, 2] {
                let (mut world, overlay) = routed(miss, threads);
                let to: IpAddr = to.parse().unwrap_or_else(|_| world.address(to).unwrap());
                let own = if to.is_ipv6() { "fd99::9" } else { "10.99.0.1" };
                let spec = flow(&world, [own, &to.to_string()]);
                let index = world.add_overlay_flow(overlay, &spec).unwrap();
                world.run_until(world.now() + Duration::from_secs(3));
                let case = format!("{miss:?} {to} {threads}");
                let (sent, counts) =
                    (world.overlay_flow(index).sent, world.member_counts(overlay, 0).unwrap());
                let missed: u64 = counts.tenants.values().map(|of| of.missed.packets).sum();
                assert!(sent > 200, "{case}: {sent}");
                assert_eq!(missed, sent, "{case}");
                let ends = ends.filter(|_| miss == Miss::Kernel);
                let unknown = dropped(&world, overlay, 0, Drop::UnknownIdentifier);
                assert_eq!(unknown, if ends.is_some() { 0 } else { sent }, "{case}");
                for (node, reason) in [("ra", Reason::NoRoute), ("b", Reason::NoListener)] {
                    let place = world.node(node).unwrap();
                    let came = world.simulation().node_counters(place).dropped_for(reason);
                    assert_eq!(came, if ends == Some((node, reason)) { sent } else { 0 }, "{case}: {node}");
                }
                assert!(world.totals().is_conserved(), "{case}");
            }
        }
    }
}

/// An overlay of IP packets, of which nobody says where any identifier is.
fn routed(miss: Miss, threads: usize) -> (World, OverlayIndex) {
    let mut world = World::build(&network(FILE), Options { threads, ..Options::default() }).unwrap();
    let mut data_plane = DataPlane::new(Carries::Ip, 1, Encapsulation::Ovstack);
    data_plane.config.miss = miss;
    let spec =
        OverlaySpec { data_plane: Some(data_plane), group: None, ..OverlaySpec::new(["a", "b", "c"], None) };
    let overlay = world.add_overlay(&spec).unwrap();
    (world, overlay)
}

/// A star of routers with hosts behind each, on links that differ in their delays.
fn star(hosts: usize) -> Network {
    let (routers, mut text) = (hosts.div_ceil(10), "plait: 1\nnodes:\n  hub: router\n".to_owned());
    (0..routers).for_each(|router| text += &format!("  r{router}: router\n"));
    (0..hosts).for_each(|host| text += &format!("  h{host}: host\n"));
    text += "links:\n";
    for router in 0..routers {
        text += &format!("  - {{endpoints: [hub, r{router}], rate: 1Gbit, delay: {}ms}}\n", 1 + router % 7);
    }
    for host in 0..hosts {
        text += &format!("  - {{endpoints: [r{}, h{host}], rate: 1Gbit, delay: 1ms}}\n", host / 10);
    }
    let source = Source::new("star.yaml", text);
    parse_network(&source, &Vocabulary::core(), &|_| Err("no files".into())).unwrap()
}

#[test]
fn a_hundred_members_that_probe_eight_others_each_have_a_way_to_all() {
    const MEMBERS: usize = 100;
    let network = star(MEMBERS);
    for plane in [Plane::Mesh, Plane::Delay] {
        let mut world = World::build(&network, Options::default()).unwrap();
        let members = (0..MEMBERS).map(|host| format!("h{host}"));
        let spec = OverlaySpec { neighbours: Some(8), ..OverlaySpec::new(members, plane) };
        let overlay = world.add_overlay(&spec).unwrap();
        world.run_until(Duration::from_secs(12));
        for from in 0..MEMBERS {
            for to in (0..MEMBERS).filter(|to| *to != from) {
                let (mut at, mut hops) = (from, 0);
                while at != to {
                    let next = next_hop(&world, overlay, at, to as u32 + 1);
                    at = next.unwrap_or_else(|| panic!("{plane:?}: {at} has no way to {to}")) as usize - 1;
                    hops += 1;
                    assert!(hops <= MEMBERS, "{plane:?}: from {from} to {to} packets go round");
                }
            }
        }
        assert!(world.totals().is_conserved());
    }
}

/// Every frame that members say to each other, and each instant of it, is what it was where this was written down, through a failure
/// and a change of plane. As of `any_machine_gives_the_same_bytes` of the engine.
#[test]
fn members_speak_in_the_same_bytes_on_any_machine() {
    let (mut world, overlay) = world(Plane::Delay, 2);
    for host in ["a", "b", "c"] {
        world.add_capture(host, "eth0").unwrap();
    }
    world.run_until(Duration::from_secs(10));
    world.set_link_up("ra-rb", Side::Both, false).unwrap();
    world.run_until(Duration::from_secs(40));
    assert_eq!(next_hop(&world, overlay, 0, 3), Some(3));
    for place in 0..3 {
        world.with_member(overlay, place, |member| member.set_plane(Plane::Mesh)).unwrap();
    }
    world.run_until(Duration::from_secs(50));
    let digest = format!("{:x}", Sha256::digest(world.simulation().pcapng()));
    assert_eq!(digest, "f8c410a1b78788548f1973f04f65faa350ce762b92456f1ee7f41c20912ce05c");
}
