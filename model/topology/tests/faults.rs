//! Independent faults are told together, each at its line, and no fault is told that comes only of another.

use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::Source;
use plait_model_topology::vocabulary::Place;
use plait_model_topology::{Vocabulary, parse_network};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Visit {
    /// Which node.
    #[allow(dead_code)]
    node: String,
    /// How often.
    #[allow(dead_code)]
    times: u8,
}

/// Line and message of every fault.
fn faults(text: &str) -> Vec<(usize, String)> {
    let mut vocabulary = Vocabulary::core();
    vocabulary.checked_key::<Vec<Visit>>(Place::File, "visits", |visits, network| {
        let missing = visits.iter().filter(|visit| network.node(&visit.node).is_none());
        missing
            .map(|visit| {
                let message = format!("nobody is at `{}`", visit.node);
                Diagnostic::new(Default::default(), message)
            })
            .collect()
    });
    let report =
        parse_network(&Source::new("net.yaml", text), &vocabulary, &|_| Err(String::new())).unwrap_err();
    report.entries().map(|(line, _, message, _)| (line, message.to_owned())).collect()
}

/// The file has these faults, at these lines and with these words, and no other.
#[track_caller]
fn has_faults(text: &str, expected: &[(usize, &str)]) {
    let mut found = faults(text);
    found.sort();
    let mut pairs = found.iter().zip(expected);
    let same = found.len() == expected.len()
        && pairs.all(|((line, message), (at, words))| line == at && message.contains(words));
    assert!(same, "{found:#?}");
}

#[test]
fn bad_values_in_two_nodes_are_two_faults() {
    has_faults(
        "plait: 1
nodes:
  a: {sysctls: {net.x: [1]}}
  b:
    interfaces: {eth0: {addresses: [here, 10.0.0.1/24, there]}}
    routes: [{to: default, via: 10.0.0}, {to: 10.0.0.0/33}]
links: [a-b:eth0]
",
        &[(3, "a list"), (5, "IP address"), (5, "IP address"), (6, "expected a prefix"), (6, "IP address")],
    );
}

#[test]
fn bad_values_in_one_link_are_as_many_faults() {
    has_faults(
        "plait: 1
nodes: [a, b]
links:
  - endpoints: [a, b]
    mtu: small
    delay: 20
    loss: 3
    rat: 10Mbit
    dealy: 2ms
    reverse:
      rate: 5
      loss: {gilbert_eliot: {p: 1%}}
",
        &[
            (5, "small"),
            (6, "`20` has no unit"),
            (7, "`3`"),
            (8, "unknown key `rat`"),
            (9, "unknown key `dealy`"),
            (11, "`5` has no unit"),
            (12, "gilbert_eliot"),
        ],
    );
}

#[test]
fn a_bad_top_level_hides_nothing_below_it() {
    has_faults(
        "plait: 1
seed: first
routing: ospf
defaults: {ipv4: 300.0.0.0/8, nodes: {}}
nodes: {a: {kind: hots}, b: {}}
links: [{endpoints: [a, b], cost: cheap}]
",
        &[
            (2, "first"),
            (3, "ospf"),
            (4, "300.0.0.0/8"),
            (4, "unknown key `nodes`"),
            (5, "hots"),
            (6, "cheap"),
        ],
    );
}

#[test]
fn what_comes_of_a_fault_is_no_fault() {
    // Neither the node, nor the ends, nor the interface is missing.
    has_faults(
        "plait: 1
nodes:
  a: {kind: hots, interfaces: {eth7: {}}}
  b: [x]
links:
  - {endpoints: ['a:eth7', c]}
  - {endpoints: [a, [b]], delay: 1}
lans: {office: [a, b, {}]}
visits: [{node: a, times: 1}, {node: c, times: x}]
",
        &[
            (3, "unknown kind `hots`"),
            (4, "a node is a map of keys"),
            (6, "unknown node `c`"),
            (7, "`1` has no unit"),
            (7, "found a list"),
            (8, "found a map"),
            (9, "`x`"),
        ],
    );
}

#[test]
fn what_many_nodes_inherit_is_one_fault() {
    has_faults(
        "plait: 1\ndefaults: {node: {routes: all}}\ngroups: {g: {files: none}}\nnodes: {a: {groups: [g]}, b: {groups: [g]}}\n",
        &[(2, "`all`"), (3, "`none`")],
    );
}

#[test]
fn keys_of_other_rooms_are_read_to_their_end() {
    has_faults(
        "plait: 1
nodes: [a]
visits:
  - {node: a, times: many}
  - {node: a, time: 1}
  - {times: 300, node: a}
",
        &[(4, "many"), (5, "`times` is missing"), (5, "unknown key `time`"), (6, "300")],
    );
}
