//! What a routed network does, packet by packet.

mod support;

use plait_control_forwarding::access::{Access, AccessList, Rule};
use plait_control_forwarding::links::Links;
use plait_control_forwarding::{Hosts, Routes, Routing, Topology, routing};
use plait_control_openflow::*;
use plait_control_runtime::{Action as Do, Content, Task, View, Wit};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::{arp, push};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use support::{DRIVER, End, Net, fat_tree, frame, name, ring};

const KEY: [u8; 32] = [7; 32];
const SETTLED: Duration = Duration::from_secs(4);

fn config() -> Routing {
    Routing::new(KEY)
}

/// A network whose links are known.
fn settled(mut net: Net) -> Net {
    net.connect();
    net.pass(SETTLED);
    net
}

fn tree() -> Net {
    settled(fat_tree(routing(&config())))
}

fn circle() -> Net {
    settled(ring(routing(&config()), 5))
}

fn links(net: &Net) -> BTreeSet<(End, End)> {
    let found = net.view::<Links>().map_or_else(Vec::new, |links| links.list.clone());
    found.iter().map(|link| ((link.from, link.from_port.0), (link.to, link.to_port.0))).collect()
}

fn real(net: &Net) -> BTreeSet<(End, End)> {
    net.links.iter().map(|(a, b)| (*a, *b)).collect()
}

#[test]
fn every_link_is_found_and_nothing_else() {
    for net in [tree(), circle()] {
        assert_eq!(links(&net), real(&net));
    }
}

#[test]
fn all_hosts_of_a_fat_tree_and_of_a_ring_reach_each_other() {
    for mut net in [tree(), circle()] {
        net.all_reach_all();
        let before = net.packet_ins;
        net.all_reach_all();
        assert_eq!(net.packet_ins, before, "every flow has its way");
        for (from, to) in [(0, 3), (3, 0), (2, 4)] {
            assert!(net.ping6(from, to), "{from} reaches {to} by IPv6");
        }
    }
}

#[test]
fn a_broadcast_meets_every_host_once_whatever_loops_there_are() {
    for mut net in [tree(), circle()] {
        let mut once = vec![1; net.hosts.len()];
        once[0] = 0;
        assert_eq!(net.broadcast(0), once);
    }
}

#[test]
fn nothing_goes_round_before_links_are_known() {
    let mut net = ring(routing(&config()), 5);
    net.connect();
    assert_eq!(net.broadcast(0), [0; 5], "no port is known to have hosts behind it");
    net.pass(SETTLED);
    assert_eq!(net.broadcast(0), [0, 1, 1, 1, 1]);
}

#[test]
fn a_link_dies_and_traffic_recovers_at_once_and_again_when_it_comes_back() {
    for mut net in [tree(), circle()] {
        net.all_reach_all();
        let end = *net.links.keys().next().unwrap();
        net.set_link(end, false);
        assert!(!links(&net).iter().any(|(from, _)| *from == end));
        net.all_reach_all();
        net.set_link(end, true);
        assert_eq!(links(&net), real(&net), "it is found before the next round");
        net.pass(SETTLED);
        net.all_reach_all();
    }
}

#[test]
fn a_link_that_dies_without_a_word_is_missed_after_some_rounds() {
    let mut net = circle();
    net.all_reach_all();
    let end = *net.links.keys().next().unwrap();
    let other = net.links.remove(&end).unwrap();
    net.links.remove(&other);
    net.pass(Duration::from_secs(2));
    assert!(links(&net).contains(&(end, other)), "it may miss some");
    net.pass(Duration::from_secs(3));
    assert_eq!(links(&net), real(&net));
    net.all_reach_all();
}

#[test]
fn a_switch_dies_and_all_others_hosts_reach_each_other() {
    let mut net = tree();
    net.all_reach_all();
    // A core switch, and one in the middle.
    for number in [1, 101] {
        net.kill(number);
        net.all_reach_all();
    }
}

#[test]
fn a_switch_that_connects_again_soon_loses_nothing() {
    let mut net = tree();
    net.all_reach_all();
    let hosts = net.hosts.len();
    // A core switch, one in the middle, and one with hosts.
    for number in [1, 101, 208] {
        let flows = |net: &Net| net.switches.values().map(|switch| switch.flows.len()).collect::<Vec<_>>();
        let (before, asked) = (flows(&net), net.packet_ins);
        net.lose(number);
        net.pass(Duration::from_secs(2));
        assert_eq!(links(&net), real(&net), "{number}");
        net.all_reach_all();
        net.regain(number);
        net.all_reach_all();
        assert_eq!(flows(&net), before, "nobody lost a flow for {number}");
        assert_eq!(net.packet_ins, asked, "and nobody had to ask");
        net.pass(SETTLED);
        assert_eq!(links(&net), real(&net), "{number}");
    }
    // One that is away for longer than switches may be is as dead as links that say nothing.
    net.lose(101);
    net.pass(Duration::from_secs(14));
    assert_eq!(links(&net), real(&net).into_iter().filter(|(a, b)| ![a.0, b.0].contains(&101)).collect());
    net.all_reach_all();
    net.regain(101);
    net.pass(SETTLED);
    assert_eq!(links(&net), real(&net));
    net.all_reach_all();
    assert_eq!(net.hosts.len(), hosts);
}

#[test]
fn a_switch_keeps_its_place_for_as_long_as_it_may_be_away_and_gets_it_back_whole() {
    for seconds in [5, 12, 30] {
        let mut config = config();
        config.discovery.away = Duration::from_secs(seconds);
        let mut net = settled(fat_tree(routing(&config)));
        net.all_reach_all();
        let flows = |net: &Net| net.switches.values().map(|switch| switch.flows.len()).collect::<Vec<_>>();
        let before = flows(&net);
        // Two at once, with a link between them, that are there again a second before it is too late.
        let pair = [101, 201];
        for number in pair {
            net.lose(number);
        }
        net.pass(Duration::from_secs(seconds - 1));
        assert_eq!(links(&net), real(&net), "{seconds}");
        for number in pair {
            net.regain(number);
        }
        // Whatever is heard of them in the rounds that follow.
        for _ in 0..60 {
            net.pass(Duration::from_millis(100));
            assert_eq!((links(&net), flows(&net)), (real(&net), before.clone()), "{seconds}");
        }
        net.all_reach_all();
        // What is said meanwhile counts: one whose neighbours lose their ports is gone at once.
        net.kill(1);
        assert!(!links(&net).iter().any(|(a, b)| [a.0, b.0].contains(&1)));
        net.lose(102);
        net.pass(Duration::from_secs(seconds + 4));
        assert!(!links(&net).iter().any(|(a, b)| [a.0, b.0].contains(&102)), "{seconds}");
    }
}

#[test]
fn a_host_that_moves_is_reached_where_it_is() {
    let mut net = tree();
    net.all_reach_all();
    let place = net.host(208);
    let at = net.hosts[place].at;
    net.hosts.truncate(place);
    net.set_port(at, true);
    net.pass(SETTLED);
    net.hosts[0].at = at;
    let hello = net.hosts[0].ask(net.hosts[1].ip);
    net.send(0, hello);
    net.run();
    let known = net.view::<Hosts>().unwrap();
    assert_eq!(known.host(net.hosts[0].mac).map(|host| (host.switch, host.port.0)), Some(at));
    for other in 1..16 {
        assert!(net.ping(other, 0) && net.ping(0, other), "{other} and the one that moved");
    }
}

#[test]
fn a_host_that_is_in_two_places_moves_once_a_round() {
    let mut net = circle();
    net.all_reach_all();
    let twin = frame(Mac::BROADCAST, net.hosts[0].mac, 0x9000, b"here");
    let place = |net: &Net| net.view::<Hosts>().unwrap().host(net.hosts[0].mac).map(|host| host.switch);
    let mut moves = 0;
    for round in 0..5 {
        let mut before = place(&net);
        for turn in 0..20 {
            net.send(2 * (turn % 2), twin.clone());
            net.run();
            moves += u32::from(before != place(&net));
            before = place(&net);
        }
        assert!(moves <= round + 1, "{moves} moves in round {round}");
        net.pass(Duration::from_secs(1));
    }
    assert!(moves >= 3, "{moves} moves in all");
}

#[test]
fn flows_take_all_of_the_equally_short_ways() {
    let mut net = tree();
    net.all_reach_all();
    let (from, to) = (net.hosts[0].clone_ends(), net.hosts[15].clone_ends());
    for port in 0..64 {
        let packet = net.hosts[0].udp(to.0, to.1, (1000 + port, 7));
        net.send(0, packet);
        net.run();
    }
    assert_eq!(net.hosts[15].heard.iter().filter(|frame| frame.len() == 242).count(), 64);
    let udp = |entry: &&support::Entry| {
        entry.flow.fields.eth_src == Some(from.0.0) && entry.flow.fields.protocol == Some(17)
    };
    let by_core: Vec<usize> =
        (1..=4).map(|core| net.switches[&core].flows.iter().filter(udp).count()).collect();
    assert_eq!(by_core.iter().sum::<usize>(), 64);
    assert!(by_core.iter().all(|count| *count >= 6), "{by_core:?}");
}

#[test]
fn questions_for_known_hosts_are_answered_without_them() {
    let mut net = circle();
    net.all_reach_all();
    assert!(net.ping6(1, 3), "the third host's IPv6 address is known now");
    let before: Vec<usize> = net.hosts.iter().map(|host| host.heard.len()).collect();
    let ask = net.hosts[0].ask(net.hosts[3].ip);
    net.send(0, ask);
    let ask = net.hosts[0].solicit(net.hosts[3].ip6);
    net.send(0, ask);
    net.run();
    let heard: Vec<usize> =
        net.hosts.iter().zip(before).map(|(host, before)| host.heard.len() - before).collect();
    assert_eq!(heard, [2, 0, 0, 0, 0]);
    assert_eq!(net.hosts[0].neighbours6[&net.hosts[3].ip6], net.hosts[3].mac);
    // Of an unknown one all are asked.
    let ask = net.hosts[0].ask([10, 9, 9, 9].into());
    let before: Vec<usize> = net.hosts.iter().map(|host| host.heard.len()).collect();
    net.send(0, ask);
    net.run();
    let heard: Vec<usize> =
        net.hosts.iter().zip(before).map(|(host, before)| host.heard.len() - before).collect();
    assert_eq!(heard, [0, 1, 1, 1, 1]);
}

#[test]
fn a_flood_of_hosts_and_of_broadcasts_is_bounded() {
    let mut limits = config();
    limits.hosts.port = 20;
    limits.floods = 30;
    let mut net = settled(ring(routing(&limits), 3));
    net.all_reach_all();
    net.pass(Duration::from_secs(1));
    let before = net.hosts[1].heard.len();
    for station in 0u16..500 {
        let [high, low] = station.to_be_bytes();
        let mac = Mac([2, 1, 0, 0, high, low]);
        let mut says = Vec::new();
        let address = [10, 1, high, low].into();
        push(&mut says, &arp::Repr { operation: 1, sender: (mac, address), target: (mac, address) });
        net.send(0, frame(Mac::BROADCAST, mac, 0x0806, &says));
        net.run();
    }
    let hosts = net.view::<Hosts>().unwrap();
    assert_eq!(hosts.count(), 20 + 2);
    assert_eq!(net.hosts[1].heard.len() - before, 30);
    assert!(net.ping(1, 2), "the others are still there");
    net.pass(Duration::from_secs(1));
    assert_eq!(net.broadcast(0), [0, 1, 1], "each round has its own");
}

#[test]
fn a_probe_that_is_forged_or_old_makes_no_link() {
    let mut strange = settled(ring(routing(&Routing::new([8; 32])), 3));
    // Probes of a controller with another key, as its switches send them.
    let forged = overheard(&mut strange);
    let mut net = circle();
    let genuine = overheard(&mut net);
    assert!(!forged.is_empty() && !genuine.is_empty());
    let before = links(&net);
    for probe in &forged {
        net.send(0, probe.clone());
    }
    net.run();
    assert_eq!(links(&net), before);
    // Genuine ones of which one bit is another, but for the time to live, which says nothing.
    assert_eq!(genuine[0].len(), 68);
    for place in (14..68).filter(|place| !(34..36).contains(place)) {
        let mut probe = genuine[0].clone();
        probe[place] ^= 1;
        net.send(0, probe);
    }
    net.run();
    assert_eq!(links(&net), before);
    // A recording of long ago.
    let mut net = circle();
    let old = overheard(&mut net);
    net.pass(Duration::from_secs(5));
    old.iter().for_each(|probe| net.send(0, probe.clone()));
    net.run();
    assert_eq!(links(&net), real(&net));
}

/// What the second host hears of probes.
fn overheard(net: &mut Net) -> Vec<Vec<u8>> {
    net.hosts[1].heard.clear();
    net.pass(Duration::from_secs(2));
    net.hosts[1].heard.iter().filter(|frame| frame[12..14] == [0x88, 0xcc]).cloned().collect()
}

#[test]
fn an_access_list_is_obeyed_on_all_ways() {
    let mut net = tree();
    net.all_reach_all();
    let from_0 = Fields { eth_type: Some(0x0800), ipv4_src: Some((net.hosts[0].ip, 32)), ..Fields::ANY };
    let to_5 = Fields { ipv4_dst: Some((net.hosts[5].ip, 32)), ..from_0 };
    let deny = Rule { priority: 1, access: Access::Deny, fields: from_0 };
    let permit = Rule { priority: 2, access: Access::Permit, fields: to_5 };
    net.set_access(AccessList { rules: vec![deny, permit] });
    for other in 1..16 {
        assert_eq!(net.ping(0, other), other == 5, "{other}");
    }
    net.set_access(AccessList { rules: vec![deny] });
    assert!(!net.ping(0, 5));
    net.set_access(AccessList::default());
    net.all_reach_all();
}

#[test]
fn routes_that_change_stall_flows_until_they_have() {
    let mut net = circle();
    net.all_reach_all();
    let end = *net.links.keys().next().unwrap();
    let other = net.links[&end];
    for (switch, port) in [end, other] {
        net.switches.get_mut(&switch).unwrap().ports.insert(port, false);
    }
    let mut known = (*net.view::<Switches>().unwrap()).clone();
    for (switch, _) in [end, other] {
        known.known.insert_mut(switch, Arc::new(net.switches[&switch].info()));
    }
    let list = [end, other].map(|(switch, port)| (switch, SwitchEvent::Port(Port(port)))).to_vec();
    let driver = name(DRIVER);
    let runtime = &mut net.runtime;
    let changes = vec![
        (Switches::id(), Content::new(known)),
        (SwitchEvents::id(), Content::new(SwitchEvents { list })),
    ];
    runtime.handle_views(net.now, &driver, changes).unwrap();
    // Everything but the new routes is done.
    let mut routes: Option<Task> = None;
    let mut tasks: VecDeque<Task> = VecDeque::new();
    let take = |runtime: &mut plait_control_runtime::Runtime, tasks: &mut VecDeque<Task>| {
        while let Some(action) = runtime.poll_action() {
            if let Do::Start(task) = action {
                tasks.push_back(task);
            }
        }
    };
    take(runtime, &mut tasks);
    while let Some(task) = tasks.pop_front() {
        if task.dag().as_str() == "routes" {
            routes = Some(task);
        } else {
            runtime.handle_finished(net.now, task.run());
        }
        take(runtime, &mut tasks);
    }
    let routes = routes.expect("a link that is gone changes routes");
    // A flow's first packet comes, twice.
    let packet = net.hosts[0].udp(net.hosts[2].mac, net.hosts[2].ip, (1, 2));
    let at = net.hosts[0].at;
    for _ in 0..2 {
        let mut batch = PacketIns::default();
        batch.push(&PacketIn {
            switch: at.0,
            version: net.switches[&at.0].version,
            in_port: Port(at.1),
            buffer: None,
            reason: 0,
            table: 0,
            cookie: u64::MAX,
            total_length: packet.len() as u16,
            frame: &packet,
        });
        runtime.handle_views(net.now, &driver, vec![(PacketIns::id(), Content::new(batch))]).unwrap();
    }
    take(runtime, &mut tasks);
    let flows =
        |tasks: &VecDeque<Task>| tasks.iter().filter(|task| task.dag().as_str() == "route-flow").count();
    assert_eq!(flows(&tasks), 0, "both wait for the routes");
    runtime.handle_finished(net.now, routes.run());
    take(runtime, &mut tasks);
    // What else the routes set off changes hosts, for which flows wait, too.
    while let Some(place) = tasks.iter().position(|task| task.dag().as_str() != "route-flow") {
        let task = tasks.remove(place).unwrap();
        runtime.handle_finished(net.now, task.run());
        take(runtime, &mut tasks);
    }
    assert_eq!(flows(&tasks), 2, "and then run beside each other");
}

/// A line of five switches, of which the last but one is slow, and a flow's first packet from end to end: how long until it arrives,
/// and how often the controller was asked.
fn first_packet(barriers: Option<Duration>, prepare: impl FnOnce(&mut Net)) -> (Option<Duration>, u64) {
    let config = Routing { barriers, ..config() };
    let mut net = Net::new(routing(&config));
    net.add_switches(1..=5, false);
    for number in 1..5 {
        net.link(number, number + 1);
    }
    for number in [1, 5] {
        net.host(number);
    }
    let mut net = settled(net);
    net.all_reach_all();
    prepare(&mut net);
    let packet = net.hosts[0].udp(net.hosts[1].mac, net.hosts[1].ip, (1, 2));
    let (asked, began) = (net.packet_ins, net.now);
    net.send(0, packet.clone());
    net.run();
    for _ in 0..50 {
        if net.hosts[1].heard.contains(&packet) {
            return (Some(net.now - began), net.packet_ins - asked);
        }
        net.pass(Duration::from_millis(100));
    }
    (None, net.packet_ins - asked)
}

#[test]
fn with_barriers_a_packet_comes_nowhere_before_its_flow() {
    let (late, patience) = (Duration::from_millis(300), Duration::from_secs(1));
    let slow = |net: &mut Net| net.slow = [(4, late)].into();
    // Without, it overtakes, and is asked about once more.
    assert_eq!(first_packet(None, |_| {}), (Some(Duration::ZERO), 1));
    let (_, asked) = first_packet(None, slow);
    assert!(asked > 1, "{asked}");
    // With them it waits for the slowest, and no longer.
    assert_eq!(first_packet(Some(patience), |_| {}), (Some(Duration::ZERO), 1));
    assert_eq!(first_packet(Some(patience), slow), (Some(late), 1));
    // An answer that is lost is waited for as long as it is said; the flows are there by then.
    let mute = |net: &mut Net| net.mute = [4].into();
    assert_eq!(first_packet(Some(patience), mute), (Some(patience), 1));
    // One that is not connected is told nothing and waited for by nobody: the packet goes as far as it can.
    let gone = |net: &mut Net| net.lose(4);
    assert_eq!(first_packet(Some(patience), gone), first_packet(None, gone));
}

#[test]
fn what_waits_for_barriers_when_its_way_ends_adds_no_flow_to_it() {
    let config = Routing { barriers: Some(Duration::from_secs(1)), ..config() };
    let mut net = settled(ring(routing(&config), 5));
    net.all_reach_all();
    net.mute.insert(3);
    let packet = net.hosts[0].udp(net.hosts[2].mac, net.hosts[2].ip, (1, 2));
    let flows = |net: &Net| net.switches[&1].flows.len();
    let before = flows(&net);
    net.send(0, packet.clone());
    net.run();
    assert_eq!((net.gate.passed().held, flows(&net)), (1, before));
    // Its first hop dies meanwhile.
    let end = *net.links.iter().find(|(from, to)| from.0 == 1 && to.0 == 2).unwrap().0;
    net.set_link(end, false);
    let passed = net.gate.passed();
    assert_eq!((passed.held, passed.superseded), (0, 1));
    net.pass(Duration::from_secs(2));
    let dead = Actions::output(Port(end.1));
    assert!(
        net.switches[&1].flows.iter().all(|entry| entry.flow.actions != dead),
        "a flow leads into a dead link"
    );
    // Whoever sends it again is served by the other way around.
    assert!(!net.hosts[2].heard.contains(&packet));
    net.send(0, packet.clone());
    net.pass(Duration::from_secs(2));
    assert!(net.hosts[2].heard.contains(&packet));
}

#[test]
fn the_topology_is_there_to_be_read() {
    let mut net = circle();
    net.all_reach_all();
    net.pass(Duration::from_secs(1));
    let state = net.view::<Topology>().unwrap();
    let topology = state.written();
    assert_eq!((topology.switches.len(), topology.links.len(), topology.hosts.len()), (5, 10, 5));
    let json = serde_json::to_value(&topology).unwrap();
    assert_eq!(json["switches"][0]["datapath"], "0000000000000001");
    assert_eq!(json["hosts"][1]["addresses"][0], "10.0.0.2");
    assert_eq!(json["hosts"][1]["switch"], "0000000000000002");
    let from: BTreeSet<&str> =
        json["links"].as_array().unwrap().iter().map(|link| link["from"].as_str().unwrap()).collect();
    assert_eq!(from.len(), 5);
    assert_eq!(Topology::from_value(&state.to_value()).unwrap().written(), topology);
}

#[test]
fn views_survive_their_translation() {
    let mut net = tree();
    net.all_reach_all();
    let routes = net.view::<Routes>().unwrap();
    let back = Routes::from_value(&routes.to_value()).unwrap();
    let numbers: Vec<u64> = net.switches.keys().copied().collect();
    for (from, to) in numbers.iter().flat_map(|from| numbers.iter().map(move |to| (*from, *to))) {
        let hops = |routes: &Routes| routes.hops(from, to).collect::<Vec<_>>();
        assert_eq!(hops(&back), hops(&routes));
        assert!(routes.joined(from, to));
    }
    let hosts = net.view::<Hosts>().unwrap();
    let back = Hosts::from_value(&hosts.to_value()).unwrap();
    for host in &net.hosts {
        let at =
            |hosts: &Hosts| hosts.host(host.mac).map(|host| (host.switch, host.port, host.addresses.clone()));
        assert_eq!(at(&back), at(&hosts));
        assert_eq!(back.with_address(host.ip.into()).map(|host| host.mac), Some(host.mac));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_frame_makes_it_fail_or_finds_a_link(
        frames in proptest::collection::vec((0usize..3, proptest::collection::vec(0u8.., 14..120), 0usize..5), 1..20),
    ) {
        let mut net = settled(ring(routing(&config()), 3));
        let before = links(&net);
        let ends: Vec<End> = net.hosts.drain(..).map(|host| host.at).collect();
        for (host, mut bytes, kind) in frames {
            let first: &[u8] = [
                &[][..], &[0x08, 0x00, 0x45, 0], &[0x86, 0xdd, 0x60, 0], &[0x88, 0xcc, 0x02, 0x09, 0x07],
                &[0x08, 0x06, 0, 1, 8, 0, 6, 4],
            ][kind];
            let room = bytes.len().min(12 + first.len());
            bytes[12..room].copy_from_slice(&first[..room - 12]);
            net.wire.push_back((ends[host], bytes));
        }
        net.run();
        net.pass(Duration::from_secs(1));
        prop_assert_eq!(links(&net), before);
    }
}
