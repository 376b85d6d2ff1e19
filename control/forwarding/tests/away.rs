//! What goes wrong of a switch's flows while it is away is mended when it is there again, and no more than that.

mod support;

use plait_control_forwarding::access::{Access, AccessList, Rule};
use plait_control_forwarding::{Routing, routing};
use plait_control_openflow::{Action, Actions, Command, Fields, Flow, Port};
use std::time::Duration;
use support::{Entry, Net, ring};

const SETTLED: Duration = Duration::from_secs(4);
/// For longer than a switch keeps its place.
const LONG: Duration = Duration::from_secs(14);

/// A ring of five switches, those of even numbers of 1.0, whose hosts have all spoken.
fn circle() -> Net {
    let mut net = ring(routing(&Routing::new([7; 32])), 5);
    net.connect();
    net.pass(SETTLED);
    net.all_reach_all();
    net
}

/// The flows of a switch that forward, as what they match and where to.
fn flows(net: &Net, number: u64) -> Vec<(Fields, Actions)> {
    let forwards = |Entry { flow, .. }: &Entry| {
        let leaves = flow.actions.as_slice().iter().any(|action| matches!(action, Action::Output(_)));
        leaves.then(|| (flow.fields, flow.actions.clone()))
    };
    net.switches[&number].flows.iter().filter_map(forwards).collect()
}

#[test]
fn a_link_that_dies_while_a_switch_is_away_costs_it_the_flows_that_it_would_have_cost_it() {
    // Of either version: from 2 to 5 the way is by 1, and from 3 to 1 by 2.
    for (away, gone) in [(2, (1, 5)), (3, (1, 2))] {
        let [mut there, mut back] = [circle(), circle()];
        let all = flows(&back, away).len();
        back.lose(away);
        for net in [&mut there, &mut back] {
            let (end, _) = net.links.iter().find(|(a, b)| (a.0, b.0) == gone).map(|(a, b)| (*a, *b)).unwrap();
            net.set_link(end, false);
            net.pass(Duration::from_secs(1));
        }
        assert_eq!(flows(&back, away).len(), all, "nobody can tell it");
        back.regain(away);
        assert_eq!(flows(&back, away), flows(&there, away), "{away}");
        assert!((1..all).contains(&flows(&back, away).len()), "it loses some, and keeps the others");
        back.all_reach_all();
    }
}

/// Moves the first switch's host to the fourth, which it tells everybody.
fn moves(net: &mut Net, port: u32) {
    net.hosts[0].at = (4, port);
    let hello = net.hosts[0].ask(net.hosts[3].ip);
    net.send(0, hello);
    net.run();
}

#[test]
fn a_host_that_moves_while_its_switch_is_away_is_reached_where_it_is() {
    {
        let time = Duration::from_secs(1);
        let mut net = ring(routing(&Routing::new([7; 32])), 5);
        // A neighbour at the switch that is left, and a place to go to.
        let neighbour = net.host(1);
        let place = net.host(4);
        let (_, port) = net.hosts[place].at;
        net.hosts.truncate(place);
        net.connect();
        net.pass(SETTLED);
        net.all_reach_all();
        net.lose(1);
        net.pass(time);
        moves(&mut net, port);
        net.regain(1);
        net.pass(SETTLED);
        for other in 1..net.hosts.len() {
            assert!(
                net.ping(other, 0) && net.ping(0, other),
                "{other}, {neighbour} among them, after {time:?}"
            );
        }
    }
}

#[test]
fn a_switch_that_is_away_for_longer_than_its_place_is_kept_keeps_what_others_have_set_up() {
    let mut net = circle();
    let others = Flow {
        cookie: 7,
        ..Flow::add(77, Fields { vlan: Some(9), ..Fields::ANY }, Actions::output(Port(99)))
    };
    for number in [2, 3] {
        let out = net.switches.get_mut(&number).unwrap().obey(&Command::Flow(others.clone()));
        assert!(out.is_empty());
        net.lose(number);
        net.pass(LONG);
        net.regain(number);
        let is_there = |net: &Net| flows(net, number).contains(&(others.fields, others.actions.clone()));
        assert!(is_there(&net), "{number}");
        net.pass(SETTLED);
        net.all_reach_all();
        assert!(is_there(&net), "{number}");
    }
}

/// It knows of nothing that was owed, and finds one switch after the other.
#[test]
fn a_controller_that_starts_again_deletes_nothing_whoever_was_away() {
    let mut before = circle();
    let all = |net: &Net| (1..=5).map(|number| flows(net, number)).collect::<Vec<_>>();
    let known = all(&before);
    before.lose(2);
    before.pass(LONG);
    let mut net = ring(routing(&Routing::new([8; 32])), 5);
    for (number, switch) in std::mem::take(&mut before.switches) {
        net.switches.get_mut(&number).unwrap().flows = switch.flows;
    }
    let kept = all(&net);
    assert_eq!(kept[1], known[1], "the one that was away has all");
    net.connect();
    net.pass(LONG);
    assert_eq!(all(&net), kept);
    net.all_reach_all();
}

/// One that is told of a dead link when its switches connect, and one that is told before it could know that there was a link.
#[test]
fn a_controller_that_starts_again_ends_what_leads_to_where_nothing_is() {
    for dies_before in [true, false] {
        let mut before = circle();
        let mut net = ring(routing(&Routing::new([8; 32])), 5);
        for (number, switch) in std::mem::take(&mut before.switches) {
            net.switches.get_mut(&number).unwrap().flows = switch.flows;
        }
        let (end, other) =
            net.links.iter().find(|(a, b)| (a.0, b.0) == (1, 2)).map(|(a, b)| (*a, *b)).unwrap();
        if dies_before {
            for (switch, port) in [end, other] {
                net.switches.get_mut(&switch).unwrap().ports.insert(port, false);
            }
            net.connect();
        } else {
            // Probes are on their way, and none is heard.
            let (there, back) = (net.links.remove(&end).unwrap(), net.links.remove(&other).unwrap());
            net.connect();
            net.links.extend([(end, there), (other, back)]);
            net.set_link(end, false);
        }
        net.pass(SETTLED);
        net.all_reach_all();
    }
}

#[test]
fn a_rule_that_ends_while_a_switch_is_away_does_not_hold_there_when_it_is_back() {
    for away in [2, 3] {
        let mut net = circle();
        let from = net.hosts[away as usize - 1].ip;
        let fields = Fields { eth_type: Some(0x0800), ipv4_src: Some((from, 32)), ..Fields::ANY };
        let deny = Rule { priority: 1, access: Access::Deny, fields };
        let host = away as usize - 1;
        net.set_access(AccessList { rules: vec![deny] });
        assert!(!net.ping(host, 0));
        net.lose(away);
        net.set_access(AccessList::default());
        net.pass(Duration::from_secs(1));
        net.regain(away);
        net.all_reach_all();
        // And the other way round.
        net.lose(away);
        net.set_access(AccessList { rules: vec![deny] });
        net.regain(away);
        assert!(!net.ping(host, 0) && net.ping(4, 0));
    }
}
