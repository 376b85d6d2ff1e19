//! Overlays of the testbed's own control planes and tables in virtual time.
//!
//! ```text
//!   a ── ra ─5ms─ rb ── b
//!         \       /
//!        40ms   5ms
//!           \   /
//!            rc ── c
//! ```

use plait_control_overlay::Plane;
use plait_dataplane_overlay::Encapsulation;
use plait_model_overlay::NodeId;
use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};
use plait_simulator_world::{DataPlane, Options, OverlayIndex, OverlaySpec, Side, World};
use std::time::Duration;

const FILE: &str = "
plait: 1
nodes: {a: host, b: host, c: host, ra: router, rb: router, rc: router}
links:
  - {endpoints: [a, ra], rate: 1Gbit}
  - {endpoints: [b, rb], rate: 1Gbit}
  - {endpoints: [c, rc], rate: 1Gbit}
  - {endpoints: [ra, rb], rate: 1Gbit, delay: 5ms}
  - {endpoints: [rb, rc], rate: 1Gbit, delay: 5ms}
  - {endpoints: [ra, rc], rate: 1Gbit, delay: 40ms}
";

fn network() -> Network {
    let source = Source::new("three.yaml", FILE.to_owned());
    parse_network(&source, &Vocabulary::core(), &|_| Err("no files".into())).unwrap()
}

fn world(plane: Plane, threads: usize) -> (World, OverlayIndex) {
    let mut world = World::build(&network(), Options { threads, multipath: false }).unwrap();
    let data_plane = Some(DataPlane { vni: 1, encapsulation: Encapsulation::Ovstack });
    let spec = OverlaySpec { data_plane, ..OverlaySpec::new(["a", "b", "c"], plane) };
    let overlay = world.add_overlay(&spec).unwrap();
    (world, overlay)
}

/// By whom a member sends to another.
fn next_hop(world: &World, overlay: OverlayIndex, from: usize, to: u32) -> Option<u32> {
    let routes = world.member(overlay, from)?.control().routes();
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
        world
            .member(overlay, place)
            .unwrap()
            .counts()
            .unwrap()
            .tenants
            .values()
            .map(|of| of.received.packets)
            .sum()
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
