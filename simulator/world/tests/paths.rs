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
use plait_control_paths::Settings;
use plait_dataplane_paths::protocol::{Policies, Policy, Static};
use plait_dataplane_paths::{Encapsulation, FlowKey, PathDrop};
use plait_dataplane_reference::paths::{hash_of, mapped};
use plait_model_quantity::Bandwidth;
use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};
use plait_simulator_world::engine::{FlowCounters, FlowIndex, FlowSpec, NodeIndex, Reason, Size};
use plait_simulator_world::{Detection, LearningSpec, Options, PathsSpec, Side, World};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
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
    network_of(FILE)
}

fn network_of(text: &str) -> Network {
    let source = Source::new("diamond.yaml", text.to_owned());
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
        learning: None,
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

/// The same with relays of IPv6.
fn over_ipv6(mut spec: PathsSpec) -> PathsSpec {
    let six = |relay: &mut IpAddr| {
        if let IpAddr::V4(four) = *relay {
            *relay = Ipv6Addr::new(0xfd00, 0x255, 0, 0, 0, 0, 0, four.octets()[3].into()).into();
        }
    };
    spec.source = "100::1".parse().unwrap();
    spec.relays.values_mut().for_each(six);
    for said in spec.hosts.values_mut().flat_map(|said| Arc::make_mut(said).values_mut()) {
        said.lists.iter_mut().flat_map(|(list, _)| list).for_each(six);
    }
    spec
}

#[test]
fn relays_of_one_header_send_it_on_and_the_last_one_takes_it_off() {
    let lists: &[&[usize]] = &[&[DOWN, S2]];
    let of = |encapsulation| spec(lists, encapsulation, Policy::Hash);
    for (spec, header) in [
        (of(Encapsulation::Ovstack), 48 + 2 * 4),
        (over_ipv6(of(Encapsulation::Ovstack)), 56 + 2 * 16),
        (over_ipv6(of(Encapsulation::Srv6)), 32 + 2 * 16),
    ] {
        let network = network_of(&format!("{FILE}defaults: {{ipv6: on}}\n"));
        let mut world = World::build_with_paths(&network, &spec, Options::default()).unwrap();
        let flow = flow(&mut world, 5000, 1000, 1000, 1000);
        world.run_until(Duration::from_secs(2));
        let sent = world.flow(flow).sent;
        let bytes = |headers: u64| (sent, sent * (1042 + headers));
        let whole = bytes(header);
        assert_eq!(carried(&mut world), [whole, (0, 0), (0, 0), whole, whole, bytes(0)]);
        assert_eq!(world.flow(flow).received, sent);
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
    let drops = world.drops();
    assert_eq!(
        (drops.nodes["h1"][&Reason::TooBig], drops.paths["h1"][PathDrop::TooBig.name()]),
        (sent, sent)
    );
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
        let options = Options { threads, ..Options::default() };
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

/// The first host learns which paths there are, by OSPF with a hello of a second and a dead interval of four.
fn learning() -> World {
    learning_in(&network(), Policy::RoundRobin, Policies::default())
}

/// The same in a network whose links say more, by another policy than all others where one is said of a prefix.
fn learning_in(network: &Network, policy: Policy, policies: Policies) -> World {
    let learning = LearningSpec {
        hosts: [0].into(),
        settings: Settings { k: 2, ..Settings::default() },
        knows_routes: false,
        encapsulation: Encapsulation::Gre,
        policy,
        policies: [(0, policies)].into(),
    };
    let spec = PathsSpec {
        hosts: BTreeMap::new(),
        learning: Some(learning),
        ..spec(&[], Encapsulation::Gre, Policy::Hash)
    };
    let [hello, dead] = [1, 4].map(Duration::from_secs);
    let options = Options { detection: Some(Detection::of_ospf(hello, dead)), ..Options::default() };
    World::build_with_paths(network, &spec, options).unwrap()
}

/// Packets that arrive, and that leave the first router upwards and downwards, from now until an instant.
fn until(world: &mut World, flows: &[FlowIndex], millis: u64) -> [u64; 3] {
    let all = |world: &mut World| {
        let links = carried(world);
        [counters(world, flows).received, links[1].0, links[3].0]
    };
    let before = all(world);
    world.run_until(Duration::from_millis(millis));
    let after = all(world);
    [0, 1, 2].map(|at| after[at] - before[at])
}

#[test]
fn lists_that_hosts_learn_and_routes_follow_links_when_daemons_would_know_of_them() {
    let mut world = learning();
    // Eight flows of 100 packets a second each, which take turns.
    let flows: Vec<FlowIndex> = (0..8).map(|port| flow(&mut world, 6000 + port, 833, 1000, 30_000)).collect();
    assert_eq!(world.steered("h1").unwrap()[0].lists().len(), 2);
    let [received, up, down] = until(&mut world, &flows, 2000);
    assert!(received > 1500 && up.abs_diff(down) < 20, "{received} {up} {down}");
    // Nobody sees that it fails, and all that goes by it is lost until its silence has lasted.
    world.set_node_up("up", false).unwrap();
    let [received, _, down] = until(&mut world, &flows, 5450);
    assert!(received.abs_diff(down) < 20 && down > 1300, "{received} {down}");
    assert_eq!(world.follow_report().unwrap().changes, 0);
    until(&mut world, &flows, 5700);
    assert_eq!(world.follow_report().unwrap().changes, 1);
    // The one way that is left carries all, and nothing is overtaken.
    let [received, up, down] = until(&mut world, &flows, 8200);
    assert!(received > 1990 && received.abs_diff(down) < 10 && up == 0, "{received} {up} {down}");
    assert_eq!(world.steered("h1").unwrap()[0].lists().len(), 0);
    assert_eq!(counters(&world, &flows).reordered, 0);
    // Back again, for flows that begin then.
    world.set_node_up("up", true).unwrap();
    let [received, _, down] = until(&mut world, &flows, 13_000);
    assert!(received.abs_diff(down) < 10, "{received} {down}");
    until(&mut world, &flows, 13_400);
    assert_eq!(world.steered("h1").unwrap()[0].lists().len(), 2);
    let late: Vec<FlowIndex> = (0..8).map(|port| flow(&mut world, 7000 + port, 833, 1000, 30_000)).collect();
    let [_, up, down] = until(&mut world, &late, 20_000);
    assert!(up > 2000 && down > 2000, "{up} {down}");
    world.run_until(Duration::from_secs(31));
    assert_eq!(counters(&world, &flows).reordered + counters(&world, &late).reordered, 0);
    assert_eq!(world.follow_report().unwrap().failures, Vec::<String>::new());
    assert!(world.totals().is_conserved());
}

#[test]
fn what_is_learnt_goes_by_the_policy_of_the_prefix_around() {
    let lists = |policies: &[(&str, Policy)]| -> Vec<u32> {
        let policies = policies.iter().map(|(prefix, policy)| (prefix.parse().unwrap(), *policy)).collect();
        let mut world = learning_in(&network(), Policy::Hash, policies);
        let flows: Vec<FlowIndex> =
            (0..8).map(|port| flow(&mut world, 6000 + port, 833, 1000, 30_000)).collect();
        until(&mut world, &flows, 2000);
        world.steered("h1").unwrap()[0].flows().iter().map(|flow| flow.list).collect()
    };
    let by_hash = lists(&[]);
    let (around, elsewhere) = (("10.0.0.0/8", Policy::RoundRobin), ("172.16.0.0/12", Policy::RoundRobin));
    let turns = lists(&[around, elsewhere]);
    assert!(turns == [0, 1, 0, 1, 0, 1, 0, 1] || turns == [1, 0, 1, 0, 1, 0, 1, 0], "{turns:?}");
    assert_eq!(lists(&[elsewhere]), by_hash);
    assert_ne!(turns, by_hash);
}

/// OSPF version 2 tells of no prefix of IPv6, on real nodes neither.
#[test]
fn hosts_learn_no_ways_to_prefixes_of_ipv6() {
    let world = learning_in(
        &network_of(&format!("{FILE}defaults: {{ipv6: on}}\n")),
        Policy::RoundRobin,
        Policies::default(),
    );
    assert!(world.assignment().all(1).any(|net| net.addr().is_ipv6()), "the other host has one of each");
    let lists = world.steered("h1").unwrap()[0].lists();
    assert!(lists.len() == 2 && lists.iter().all(|list| list.prefix.addr().is_ipv4()), "{lists:?}");
}

#[test]
fn what_is_over_before_anybody_knows_of_it_changes_nothing() {
    let mut world = learning();
    world.set_link_up("s1-up", Side::Both, false).unwrap();
    world.run_until(Duration::from_secs(3));
    world.set_link_up("s1-up", Side::Both, true).unwrap();
    world.run_until(Duration::from_secs(10));
    // One way is enough: neighbours must hear each other.
    world.set_link_up("s1-up", Side::Forward, false).unwrap();
    world.run_until(Duration::from_secs(13));
    assert_eq!(world.follow_report().unwrap().changes, 0);
    world.run_until(Duration::from_secs(15));
    assert_eq!(world.follow_report().unwrap().changes, 1);
}

/// A network of bare links whose routes follow them, and a thousand packets a second from the first host to the second.
fn bare(text: &str) -> (World, FlowIndex) {
    let network = network_of(&text.replace(", delay: 1ms, rate: 100Mbit", ""));
    let [hello, dead] = [1, 4].map(Duration::from_secs);
    let options = Options { detection: Some(Detection::of_ospf(hello, dead)), ..Options::default() };
    let mut world = World::build(&network, options).unwrap();
    let flow = flow(&mut world, 5000, 8330, 1000, 4000);
    world.run_until(Duration::from_secs(1));
    (world, flow)
}

#[test]
fn ends_of_a_bare_link_see_that_it_fails() {
    let (mut world, flow) = bare(FILE);
    world.set_node_up("up", false).unwrap();
    world.run_until(Duration::from_secs(5));
    let lost = world.flow(flow).sent - world.flow(flow).received;
    // As many as were sent in the hundredth of a second until routes followed.
    assert!((9..=11).contains(&lost), "{lost}");
}

#[test]
fn who_fails_behind_a_switch_is_missed_by_its_silence_alone() {
    let text = FILE.replace("s1: router", "s1: router, sw: switch");
    let text = text.replace("[s1, up], delay", "[s1, sw]}\n  - {endpoints: [sw, up], delay");
    let (mut world, _) = bare(&text);
    world.set_node_up("up", false).unwrap();
    world.run_until(Duration::from_secs(4));
    // The links to what is behind no switch are seen at once.
    let before = world.follow_report().unwrap().changes;
    world.run_until(Duration::from_secs(5));
    assert_eq!((before, world.follow_report().unwrap().changes), (1, 2));
}

/// Every frame at both hosts, and each instant of it, is what it was where this was written down: lists that are learnt, their headers,
/// the moves of flows when a switch fails and comes back. As of `any_machine_gives_the_same_bytes` of the engine.
#[test]
fn any_machine_steers_in_the_same_bytes() {
    let mut world = learning();
    for host in ["h1", "h2"] {
        world.add_capture(host, "eth0").unwrap();
    }
    let flows: Vec<FlowIndex> = (0..8).map(|port| flow(&mut world, 6000 + port, 833, 1000, 15_000)).collect();
    for (millis, is_up) in [(2000, false), (9000, true), (20_000, true)] {
        world.run_until(Duration::from_millis(millis));
        world.set_node_up("up", is_up).unwrap();
    }
    assert!(counters(&world, &flows).received > 8000);
    assert!(world.follow_report().unwrap().changes >= 2);
    let digest = format!("{:x}", Sha256::digest(world.simulation().pcapng()));
    assert_eq!(digest, "7fa0ac7ff7c72e1a26e04afd64717dfa2413a4c9ebc3efd2e46aa8771c2639f2");
}
