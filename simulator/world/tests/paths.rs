//! Paths that hosts choose, in virtual time: by which links packets go, how long they are there, what moves and what is
//! dropped.
//!
//! ```text
//!             up
//!           /    \
//!  h1 ── s1        s2 ── h2
//!           \    /
//!            down
//! ```

use ipnet::IpNet;
use plait_dataplane_paths::protocol::{Policy, Static};
use plait_dataplane_paths::{Encapsulation, FlowKey, PathDrop};
use plait_dataplane_reference::paths::{hash_of, mapped};
use plait_model_quantity::Bandwidth;
use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};
use plait_simulator_world::engine::{FlowCounters, FlowIndex, FlowSpec, NodeIndex, Reason, Size};
use plait_simulator_world::{Options, PathsSpec, Side, World};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

const FILE: &str = "
plait: 1
nodes: {h1: host, h2: host, s1: router, up: router, down: router, s2: router}
links:
  - {endpoints: [h1, s1], delay: 1ms, rate: 100Mbit}
  - {endpoints: [s1, up], delay: 1ms, rate: 100Mbit}
  - {endpoints: [up, s2], delay: 1ms, rate: 100Mbit}
  - {endpoints: [s1, down], delay: 3ms, rate: 100Mbit, cost: 2}
  - {endpoints: [down, s2], delay: 3ms, rate: 100Mbit, cost: 2}
  - {endpoints: [s2, h2], delay: 1ms, rate: 100Mbit}
";

/// Places of the file's routers.
const UP: usize = 3;
const DOWN: usize = 4;
const S2: usize = 5;

fn network() -> Network {
    let source = Source::new("diamond.yaml", FILE.to_owned());
    parse_network(&source, &Vocabulary::core(), &|_| Err("no files".into())).unwrap()
}

fn relay(place: usize) -> IpAddr {
    [10, 255, 0, place as u8 - 1].into()
}

/// The first host goes to wherever the second is by lists of routers' places.
fn spec(lists: &[&[usize]], encapsulation: Encapsulation, policy: Policy) -> PathsSpec {
    let list = |list: &&[usize]| (list.iter().map(|place| relay(*place)).collect(), 1);
    let said = Static { lists: lists.iter().map(list).collect(), encapsulation, policy };
    PathsSpec {
        source: [203, 0, 113, 1].into(),
        spread: Duration::from_millis(10),
        relays: (2..=S2).map(|place| (place, relay(place))).collect(),
        hosts: [(0, Arc::new([("10.0.0.0/8".parse::<IpNet>().unwrap(), said)].into()))].into(),
        idle: None,
        borders: BTreeMap::new(),
    }
}

fn world(spec: &PathsSpec) -> World {
    World::build_with_paths(&network(), spec, Options::default()).unwrap()
}

/// A flow from the first host to the second, until `stop` milliseconds.
fn flow(world: &mut World, port: u16, kilobits: u64, payload: u32, stop: u64) -> FlowIndex {
    let [source, destination] = ["h1", "h2"].map(|host| world.address(host).unwrap());
    let rate = Bandwidth::from_bits_per_second(kilobits * 1000);
    let spec = FlowSpec {
        size: Size::Constant(payload),
        stop: Some(Duration::from_millis(stop)),
        ..FlowSpec::constant(source, destination, [port, 9], rate)
    };
    world.simulation().add_flow(&spec).unwrap()
}

/// Packets and bytes that came over each link in the file's order.
fn carried(world: &mut World) -> Vec<(u64, u64)> {
    let forward =
        |row: plait_simulator_world::LinkRow| (row.side == Side::Forward).then_some((row.packets, row.bytes));
    world.link_rows().into_iter().filter_map(forward).collect()
}

/// Packets by each list of the first host.
fn by_list(world: &World) -> Vec<u64> {
    let steered = world.steered("h1").unwrap();
    steered[0].lists().iter().map(|list| list.packets).collect()
}

fn counters(world: &World, flows: &[FlowIndex]) -> FlowCounters {
    let sum = |sum: FlowCounters, flow: &FlowIndex| {
        let of = world.flow(*flow);
        FlowCounters {
            sent: sum.sent + of.sent,
            received: sum.received + of.received,
            reordered: sum.reordered + of.reordered,
            ..sum
        }
    };
    flows.iter().fold(FlowCounters::default(), sum)
}

/// Nine flows that hash to the first of two lists and three that hash to the second.
fn uneven(world: &mut World, stop: u64) -> Vec<FlowIndex> {
    let [source, destination] = ["h1", "h2"].map(|name| mapped(world.address(name).unwrap()));
    let list = |port: &u16| {
        let [a, b] = port.to_be_bytes();
        hash_of(&FlowKey { source, destination, ports: [a, b, 0, 9], protocol: 17 }) >> 31
    };
    let of = |wanted: u32, count| (7000..).filter(move |port| list(port) == wanted).take(count);
    let ports: Vec<u16> = of(0, 9).chain(of(1, 3)).collect();
    ports.into_iter().map(|port| flow(world, port, 300, 1000, stop)).collect()
}

#[test]
fn each_relay_of_a_list_takes_off_what_its_type_puts_on() {
    for (encapsulation, header) in
        [(Encapsulation::Gre, 24), (Encapsulation::Ipip, 20), (Encapsulation::Gue, 32)]
    {
        let mut world = world(&spec(&[&[DOWN, S2]], encapsulation, Policy::Hash));
        let flow = flow(&mut world, 5000, 1000, 1000, 1000);
        world.run_until(Duration::from_secs(2));
        let sent = world.flow(flow).sent;
        assert!(sent > 100);
        let bytes = |headers: u64| (sent, sent * (1042 + headers));
        // Two headers until `down`, one until `s2`, and none to the host.
        assert_eq!(
            carried(&mut world),
            [bytes(2 * header), (0, 0), (0, 0), bytes(2 * header), bytes(header), bytes(0)],
            "{encapsulation}"
        );
        assert_eq!(world.flow(flow).received, sent);
        // A list's own bytes are without the stack, as a testbed counts them.
        let lists = world.steered("h1").unwrap()[0].lists();
        assert_eq!((lists[0].packets, lists[0].bytes), (sent, sent * 1042));
        assert!(world.totals().is_conserved());
    }
}

#[test]
fn flows_go_by_the_lists_that_the_testbeds_hash_names_or_take_turns() {
    let lists: [&[usize]; 4] = [&[], &[DOWN], &[UP], &[DOWN, S2]];
    let mut hashed = world(&spec(&lists, Encapsulation::Gre, Policy::Hash));
    let mut turns = world(&spec(&lists, Encapsulation::Gre, Policy::RoundRobin));
    for world in [&mut hashed, &mut turns] {
        for port in 0..32 {
            flow(world, 6000 + port, 100, 1000, 500);
        }
        world.run_until(Duration::from_secs(1));
        let steered = world.steered("h1").unwrap();
        assert_eq!(steered[0].flows().len(), 32);
    }
    for flow in hashed.steered("h1").unwrap()[0].flows() {
        // Four lists of one weight: the two highest bits of the hash that the program takes.
        assert_eq!(flow.list, hash_of(&flow.key) >> 30, "{:?}", flow.key);
    }
    for (turn, flow) in (0..).zip(turns.steered("h1").unwrap()[0].flows()) {
        assert_eq!(flow.list, turn % 4, "{:?}", flow.key);
    }
    let each = by_list(&turns);
    assert!(each.iter().all(|packets| *packets == each[0] && *packets > 0), "{each:?}");
}

#[test]
fn flows_move_from_the_fullest_list_to_the_emptiest_in_their_gaps_and_never_reorder() {
    let mut world = world(&spec(&[&[UP], &[DOWN]], Encapsulation::Gre, Policy::FlowBased));
    let busy = uneven(&mut world, 20_000);
    world.run_until(Duration::from_secs(1));
    let count = |world: &World| {
        let flows = world.steered("h1").unwrap()[0].flows();
        let by = |list: u32| flows.iter().filter(|flow| flow.list == list).count();
        (by(0), by(1))
    };
    assert_eq!(count(&world), (9, 3));
    world.run_until(Duration::from_secs(21));
    let after = count(&world);
    // A move of a flow makes two lists of equal flows alike by two; the last one may be odd.
    assert!(after.0.abs_diff(after.1) <= 1, "{after:?}");
    assert!(world.steered("h1").unwrap()[0].moved() >= 3);
    let all = counters(&world, &busy);
    assert_eq!((all.received, all.reordered), (all.sent, 0));
}

#[test]
fn a_flow_without_gaps_moves_while_its_packets_are_held_and_none_is_lost_or_overtaken() {
    let mut spec = spec(&[&[UP], &[DOWN]], Encapsulation::Gre, Policy::FlowBased);
    spec.spread = Duration::from_millis(100);
    let mut world = world(&spec);
    // A datagram each 28 ms or less.
    let flows = uneven(&mut world, 5000);
    world.run_until(Duration::from_millis(900));
    let lists = |world: &World| -> Vec<u32> {
        world.steered("h1").unwrap()[0].flows().iter().map(|flow| flow.list).collect()
    };
    let before = lists(&world);
    world.run_until(Duration::from_secs(6));
    assert_ne!(lists(&world), before);
    let steered = world.steered("h1").unwrap();
    assert!(steered[0].moved() > 0);
    let counted = counters(&world, &flows);
    // What was sent in the last tenth of a second may be held or under way.
    assert!(counted.reordered == 0 && counted.received * 100 > counted.sent * 97, "{counted:?}");
    let totals = world.totals();
    assert!(totals.is_conserved() && totals.at_nodes == 0 && totals.at_links == 0, "{totals:?}");
}

#[test]
fn what_is_too_long_with_its_stack_is_dropped_where_it_begins() {
    let mut world = world(&spec(&[&[DOWN, S2]], Encapsulation::Gre, Policy::Hash));
    let fits = flow(&mut world, 1, 1000, 1500 - 28 - 48, 1000);
    let does_not = flow(&mut world, 2, 1000, 1500 - 28 - 47, 1000);
    world.run_until(Duration::from_secs(2));
    assert_eq!(world.flow(fits).received, world.flow(fits).sent);
    let (sent, received) = (world.flow(does_not).sent, world.flow(does_not).received);
    assert!(sent > 0 && received == 0);
    let node = NodeIndex(0);
    assert_eq!(world.simulation().node_counters(node).dropped_for(Reason::TooBig), sent);
    assert_eq!(*world.steered("h1").unwrap()[0].drops(), [(PathDrop::TooBig, sent)].into());
    assert_eq!(by_list(&world), [world.flow(fits).sent], "and is not counted");
    assert!(world.totals().is_conserved());
}

#[test]
fn a_border_keeps_out_what_comes_with_the_headers_source() {
    let mut spec = spec(&[&[], &[DOWN]], Encapsulation::Ipip, Policy::RoundRobin);
    spec.borders = [(2, vec!["eth0".to_owned()])].into();
    let mut world = world(&spec);
    let [plain, stacked] = [1, 2].map(|port| flow(&mut world, port, 1000, 1000, 1000));
    world.run_until(Duration::from_secs(2));
    assert_eq!(world.flow(plain).received, world.flow(plain).sent);
    assert_eq!(world.flow(stacked).received, 0);
    let forged = world.simulation().node_counters(NodeIndex(2)).dropped_for(Reason::Forged);
    assert_eq!(forged, world.flow(stacked).sent);
    assert!(world.totals().is_conserved());
}

#[test]
fn lists_do_not_follow_failures_and_results_do_not_depend_on_threads() {
    let spec = spec(&[&[], &[DOWN]], Encapsulation::Gue, Policy::FlowBased);
    let run = |threads| {
        let options = Options { threads, multipath: false };
        let mut world = World::build_with_paths(&network(), &spec, options).unwrap();
        assert_eq!(world.simulation().threads(), threads);
        let flows: Vec<_> = (0..16).map(|port| flow(&mut world, 8000 + port, 200, 700, 9000)).collect();
        world.run_until(Duration::from_secs(3));
        world.set_link_up("s1-down", Side::Both, false).unwrap();
        let before = by_list(&world);
        world.run_until(Duration::from_secs(5));
        assert!(by_list(&world).iter().zip(&before).all(|(after, before)| after > before), "both are used");
        world.set_link_up("s1-down", Side::Both, true).unwrap();
        world.run_until(Duration::from_secs(10));
        let all = counters(&world, &flows);
        assert!(all.received < all.sent && all.reordered == 0, "{all:?}");
        assert!(world.totals().is_conserved());
        let rows: Vec<_> = world.link_rows().iter().map(|row| format!("{row:?}")).collect();
        (rows, format!("{:?}", world.steered("h1").unwrap()[0].flows()), all)
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn a_relays_address_that_somebody_has_is_refused() {
    let mut spec = spec(&[&[DOWN]], Encapsulation::Gre, Policy::Hash);
    let taken = world(&spec).address("h2").unwrap();
    spec.relays.insert(DOWN, taken);
    let Err(faults) = World::build_with_paths(&network(), &spec, Options::default()) else {
        panic!("{taken} has two owners")
    };
    assert!(faults[0].message.contains("is the address of both h2 and down"), "{faults:?}");
}

#[test]
fn headers_that_are_not_simulated_are_refused_by_name() {
    let spec = spec(&[&[DOWN]], Encapsulation::Ovstack, Policy::Hash);
    let Err(faults) = World::build_with_paths(&network(), &spec, Options::default()) else {
        panic!("they are")
    };
    assert!(faults[0].message.contains("`ovstack` are not simulated"), "{faults:?}");
}
