//! What a learning switch does, packet by packet.

mod support;

use plait_control_forwarding::access::{Access, AccessList, Rule};
use plait_control_forwarding::{LearningSwitch, Stations, learning_switch};
use plait_control_openflow::{Action, Fields, Port};
use plait_control_runtime::Wit;
use plait_model_wire::ethernet::Mac;
use proptest::prelude::*;
use std::collections::BTreeSet;
use support::{Host, Net, frame};

/// Three switches in a row with two hosts each, of both versions; those that may keep packets.
fn row(keep: bool) -> Net {
    let mut net = Net::new(learning_switch(&LearningSwitch::default()));
    net.add_switches(1..=3, keep);
    net.link(1, 2);
    net.link(2, 3);
    for switch in [1, 1, 2, 2, 3, 3] {
        net.host(switch);
    }
    net.connect();
    net
}

#[test]
fn all_hosts_of_a_row_reach_each_other_whether_switches_keep_packets_or_not() {
    for keep in [false, true] {
        let mut net = row(keep);
        net.all_reach_all();
        assert!(net.switches.values().all(|switch| switch.kept.is_empty()), "no packet is kept for ever");
        // From now on the switches do it alone.
        let before = net.packet_ins;
        net.all_reach_all();
        assert_eq!(net.packet_ins, before);
    }
}

#[test]
fn of_two_thousand_switches_that_come_at_once_each_is_welcomed() {
    let mut net = Net::new(learning_switch(&LearningSwitch::default()));
    net.add_switches(1..=2000, false);
    net.connect_at_once();
    assert!(net.switches.values().all(|switch| !switch.flows.is_empty()));
}

#[test]
fn a_broadcast_meets_every_host_once() {
    let mut net = row(true);
    assert_eq!(net.broadcast(2), [1, 1, 0, 1, 1, 1]);
}

#[test]
fn a_station_that_moves_is_reached_where_it_is() {
    let mut net = row(false);
    net.all_reach_all();
    let old = net.hosts[0].at;
    // To another switch, by a port that was another host's and at once by a new one.
    let place = net.host(3);
    let at = net.hosts[place].at;
    net.hosts.truncate(place);
    net.set_port(at, true);
    net.hosts[0].at = at;
    // It says where it is, as hosts do.
    let ask = net.hosts[0].ask(net.hosts[3].ip);
    net.send(0, ask);
    net.run();
    for other in 1..6 {
        assert!(net.ping(other, 0) && net.ping(0, other), "{other} and the one that moved");
    }
    let leaving = |entry: &support::Entry| {
        entry.flow.fields.eth_dst == Some(net.hosts[0].mac.0)
            && entry.flow.actions.as_slice() == [Action::Output(Port(old.1))]
    };
    assert!(!net.switches[&old.0].flows.iter().any(leaving), "flows to where it was are gone");
}

#[test]
fn a_flood_of_addresses_keeps_the_table_bounded_and_costs_only_its_own_port() {
    let config = LearningSwitch { stations: 50, ..LearningSwitch::default() };
    let mut net = Net::new(learning_switch(&config));
    net.add_switches([1], false);
    for _ in 0..3 {
        net.host(1);
    }
    net.connect();
    net.all_reach_all();
    for station in 0u16..1000 {
        let [high, low] = station.to_be_bytes();
        net.send(2, frame(Mac::BROADCAST, Mac([2, 1, 0, 0, high, low]), 0x9000, b"flood"));
        if station % 7 == 0 {
            net.run();
        }
    }
    net.run();
    let stations = net.view::<Stations>().unwrap();
    assert_eq!(stations.count(1), 50);
    for host in &net.hosts[..2] {
        assert_eq!(stations.of(1).unwrap().port(host.mac), Some(Port(host.at.1)));
    }
}

#[test]
fn stations_of_dead_ports_are_forgotten_and_a_switch_that_is_away_keeps_its_own() {
    let mut net = row(false);
    net.all_reach_all();
    let (first, at) = (net.hosts[0].mac, net.hosts[0].at);
    net.set_port(at, false);
    let stations = net.view::<Stations>().unwrap();
    assert_eq!(stations.of(1).unwrap().port(first), None);
    assert!(stations.of(2).unwrap().port(first).is_some(), "the next switch hears nothing of it");
    // What it hears of its ports when it is there again it was not told of meanwhile.
    let (last, at) = (net.hosts[4].mac, net.hosts[4].at);
    assert_eq!(at.0, 3);
    net.lose(3);
    let before = net.view::<Stations>().unwrap().count(3);
    net.switches.get_mut(&3).unwrap().ports.insert(at.1, false);
    net.regain(3);
    let stations = net.view::<Stations>().unwrap();
    assert_eq!((stations.count(3), stations.of(3).unwrap().port(last)), (before - 1, None));
    net.kill(3);
    let stations = net.view::<Stations>().unwrap();
    assert!(stations.of(2).unwrap().port(net.hosts[5].mac).is_none());
}

#[test]
fn groups_are_no_stations_and_what_is_for_bridges_goes_no_further() {
    let mut net = row(true);
    let station = net.hosts[0].mac;
    net.send(0, frame(Mac::BROADCAST, Mac([3, 0, 0, 0, 0, 1]), 0x9000, b"from a group"));
    net.send(0, frame(Mac([0x01, 0x80, 0xc2, 0, 0, 0]), station, 0x0026, b"to bridges"));
    net.send(0, frame(Mac::BROADCAST, Mac::default(), 0x9000, b"from nobody"));
    net.run();
    assert!(net.view::<Stations>().is_none());
    assert!(net.hosts.iter().all(|host| host.heard.is_empty()));
    assert!(net.switches.values().all(|switch| switch.kept.is_empty()));
}

#[test]
fn a_packet_whose_station_is_where_it_came_from_is_dropped_for_a_while() {
    let mut net = row(true);
    net.all_reach_all();
    // Both behind the first port, as if that led to a hub.
    let (near, far) = (Mac([2, 9, 0, 0, 0, 1]), Mac([2, 9, 0, 0, 0, 2]));
    net.send(0, frame(Mac::BROADCAST, near, 0x9000, b"near"));
    net.run();
    let before: usize = net.hosts.iter().map(|host| host.heard.len()).sum();
    net.send(0, frame(near, far, 0x9000, b"hello"));
    net.run();
    net.send(0, frame(near, far, 0x9000, b"hello"));
    net.run();
    assert_eq!(net.hosts.iter().map(|host| host.heard.len()).sum::<usize>(), before);
    let drops = net.switches[&1].flows.iter().filter(|entry| entry.flow.actions.as_slice().is_empty());
    let drops: Vec<_> = drops.map(|entry| (entry.packets, entry.flow.hard_timeout)).collect();
    assert_eq!(drops, [(1, 10)]);
}

fn rule(priority: u16, access: Access, fields: Fields) -> Rule {
    Rule { priority, access, fields }
}

#[test]
fn an_access_list_is_obeyed_at_once_by_switches_and_controller_and_so_is_its_end() {
    let mut net = row(false);
    net.all_reach_all();
    let icmp = Fields { eth_type: Some(0x0800), protocol: Some(1), ..Fields::ANY };
    let from_0 = Fields { ipv4_src: Some((net.hosts[0].ip, 32)), ..icmp };
    let to_5 = Fields { ipv4_dst: Some((net.hosts[5].ip, 32)), ..from_0 };
    net.set_access(AccessList { rules: vec![rule(1, Access::Deny, from_0)] });
    for other in 1..6 {
        assert!(!net.ping(0, other) && !net.ping(other, 0), "no echo of the first host passes");
        assert!(net.ping(other, other % 5 + 1), "all others' do");
    }
    // An exception, above it.
    let rules = vec![rule(1, Access::Deny, from_0), rule(2, Access::Permit, to_5)];
    net.set_access(AccessList { rules });
    assert!(net.ping(0, 5) && net.ping(5, 0) && !net.ping(0, 4));
    let before = net.packet_ins;
    assert!(net.ping(0, 5));
    assert_eq!(net.packet_ins, before, "what is permitted has flows, too");
    // The exception ends, and what it permitted with it.
    net.set_access(AccessList { rules: vec![rule(1, Access::Deny, from_0)] });
    assert!(!net.ping(0, 5));
    net.set_access(AccessList::default());
    net.all_reach_all();
    let strict = |entry: &support::Entry| entry.flow.priority >= 0x8000 && entry.flow.priority < 0xffff;
    assert!(!net.switches.values().any(|switch| switch.flows.iter().any(strict)));
}

#[test]
fn a_switch_that_connects_later_has_the_access_list() {
    let mut net = Net::new(learning_switch(&LearningSwitch::default()));
    net.add_switches([1, 2], false);
    net.link(1, 2);
    for switch in 1..=2 {
        net.host(switch);
    }
    let all = Fields { eth_type: Some(0x0800), ..Fields::ANY };
    net.connect();
    net.set_access(AccessList { rules: vec![rule(9, Access::Deny, all)] });
    net.switches.values_mut().for_each(|switch| switch.flows.clear());
    net.connect();
    assert!(!net.ping(0, 1));
    assert!(
        net.switches.values().all(|switch| switch.flows.iter().any(|entry| entry.flow.priority == 0x8026))
    );
}

#[test]
fn what_1_0_has_no_words_for_is_decided_by_the_controller() {
    let mut net = row(true);
    let echo = Fields { eth_type: Some(0x86dd), protocol: Some(58), source_port: Some(128), ..Fields::ANY };
    // Of hosts of all three switches, of which that in the middle speaks 1.0.
    let denied = [0, 2, 4].map(|host| Fields { ipv6_src: Some((net.hosts[host].ip6, 128)), ..echo });
    net.set_access(AccessList { rules: denied.map(|fields| rule(1, Access::Deny, fields)).to_vec() });
    for (from, to) in (0..6).flat_map(|from| (0..6).map(move |to| (from, to))).filter(|(from, to)| from != to)
    {
        for _ in 0..2 {
            assert_eq!(net.ping6(from, to), from % 2 == 1, "{from} to {to}");
        }
    }
    assert!(net.switches.values().all(|switch| switch.kept.is_empty()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_frame_makes_it_fail(frames in proptest::collection::vec((0usize..6, proptest::collection::vec(0u8.., 14..90), any::<bool>()), 1..20)) {
        let mut net = row(true);
        // Tests' hosts are not hardened: they hear nothing.
        let hosts: Vec<Host> = net.hosts.drain(..).collect();
        let rules = vec![rule(3, Access::Deny, Fields { eth_type: Some(0x86dd), protocol: Some(58), ..Fields::ANY })];
        net.set_access(AccessList { rules });
        for (host, mut bytes, ip) in frames {
            if ip {
                let kind: [u8; 4] = if bytes[0] & 1 == 0 { [0x08, 0x00, 0x45, 0] } else { [0x86, 0xdd, 0x60, 0] };
                let room = bytes.len().min(16);
                bytes[12..room].copy_from_slice(&kind[..room - 12]);
            }
            if bytes[12..14] != [0x88, 0xcc] {
                net.wire.push_back((hosts[host].at, bytes));
            }
        }
        net.run();
        prop_assert!(net.switches.values().all(|switch| switch.kept.is_empty()));
    }

    #[test]
    fn stations_survive_their_translation(seen in proptest::collection::vec((0u64..4, 0u8..40, 1u32..5), 0..200)) {
        let mut stations = Stations::default();
        let mut all = BTreeSet::new();
        for (switch, station, port) in seen {
            stations.learn(switch, Mac([2, 0, 0, 0, 0, station]), Port(port), 16);
            all.insert((switch, station));
        }
        let back = Stations::from_value(&stations.to_value()).unwrap();
        for (switch, station) in all {
            let port = |stations: &Stations| stations.of(switch).and_then(|own| own.port(Mac([2, 0, 0, 0, 0, station])));
            prop_assert_eq!(port(&back), port(&stations));
            prop_assert!(stations.count(switch) <= 16);
        }
    }
}
