//! Control applications decide routes in virtual time.
//!
//! ```text
//!             up
//!           /    \
//!  h1 ── s1        s2 ── h2
//!           \    /
//!            down
//! ```

use plait_control_routing::{Applications, native_application};
use plait_model_link::ConditionsSpec;
use plait_model_quantity::Bandwidth;
use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};
use plait_simulator_world::engine::{FlowCounters, FlowSpec};
use plait_simulator_world::{Options, Side, World};
use std::time::Duration;

const FILE: &str = "
plait: 1
routing: none
nodes: {h1: host, h2: host, s1: router, up: router, down: router, s2: router}
links:
  - {endpoints: [h1, s1], delay: 1ms}
  - {endpoints: [s1, up], delay: 1ms}
  - {endpoints: [up, s2], delay: 1ms}
  - {endpoints: [s1, down], delay: 3ms}
  - {endpoints: [down, s2], delay: 3ms}
  - {endpoints: [s2, h2], delay: 1ms}
";

const MS: Duration = Duration::from_millis(1);

fn network(text: &str) -> Network {
    let source = Source::new("diamond.yaml", text.to_owned());
    parse_network(&source, &Vocabulary::core(), &|_| Err("no files".into())).unwrap()
}

fn least_delay() -> Applications {
    vec![native_application("least-delay").unwrap()]
}

/// What a second's flow from the first host to the second meets, while things happen to the network each 100 ms.
fn run(threads: usize, events: &[&dyn Fn(&mut World)]) -> (FlowCounters, World) {
    let mut world = World::build(&network(FILE), Options { threads, ..Options::default() }).unwrap();
    world.decide_by(least_delay()).unwrap();
    let [source, destination] = ["h1", "h2"].map(|host| world.address(host).unwrap());
    let rate = Bandwidth::from_bits_per_second(8_000_000);
    let spec = FlowSpec { stop: Some(1000 * MS), ..FlowSpec::constant(source, destination, [1, 2], rate) };
    let flow = world.simulation().add_flow(&spec).unwrap();
    for (at, event) in events.iter().enumerate() {
        world.run_until(100 * MS * (at as u32 + 1));
        event(&mut world);
    }
    world.run_until(2000 * MS);
    assert!(world.totals().is_conserved());
    (world.flow(flow), world)
}

fn forwarded(world: &mut World, node: &str) -> u64 {
    let index = world.node(node).unwrap();
    world.simulation().node_counters(index).forwarded
}

#[test]
fn a_link_that_fails_costs_what_is_on_it_and_all_else_goes_the_other_way_at_once() {
    let fail = |world: &mut World| world.set_link_up("up-s2", Side::Both, false).unwrap();
    let heal = |world: &mut World| world.set_link_up("up-s2", Side::Both, true).unwrap();
    let (flow, mut world) = run(1, &[&fail, &heal]);
    // About a packet a millisecond: one or two were on the link that failed, or on their way to it by the node before.
    let lost = flow.sent - flow.received;
    assert!((1..=3).contains(&lost), "{lost} of {} lost", flow.sent);
    let (up, down) = (forwarded(&mut world, "up"), forwarded(&mut world, "down"));
    let in_a_tenth = flow.sent / 10;
    assert!(down.abs_diff(in_a_tenth) <= 5, "{down} of {} went by the other way in 100 ms", flow.sent);
    assert!(up.abs_diff(9 * in_a_tenth) <= 8, "{up} of {}", flow.sent);
    // The longest way is the one that was taken meanwhile.
    assert!(flow.delay_most >= 8_000_000 && flow.delay_least < 5_000_000, "{flow:?}");
    assert_eq!(world.control_report().unwrap().runs, 3);
    assert!(world.control_report().unwrap().failures.is_empty());
}

#[test]
fn a_node_that_fails_is_gone_round_and_a_delay_that_grows_turns_the_way() {
    let down = |world: &mut World| world.set_node_up("up", false).unwrap();
    let up = |world: &mut World| world.set_node_up("up", true).unwrap();
    let slow = |world: &mut World| {
        let change = ConditionsSpec::from_settings(&[("delay", "20ms")]).unwrap();
        world.set_link("s1-up", Side::Forward, &change, &|_| Err("no traces".into())).unwrap();
    };
    let (flow, mut world) = run(1, &[&down, &up, &slow]);
    // What was on the two links of the node, and nothing else.
    assert!((1..=4).contains(&(flow.sent - flow.received)), "{flow:?}");
    let by = (forwarded(&mut world, "up"), forwarded(&mut world, "down"));
    let in_a_tenth = flow.sent / 10;
    let expected = (2 * in_a_tenth, 8 * in_a_tenth);
    assert!(by.0.abs_diff(expected.0) <= 8 && by.1.abs_diff(expected.1) <= 8, "{by:?} and not {expected:?}");
}

#[test]
fn the_same_on_any_number_of_threads() {
    let fail = |world: &mut World| world.set_link_up("up-s2", Side::Forward, false).unwrap();
    let gone = |world: &mut World| world.set_node_up("down", false).unwrap();
    let back = |world: &mut World| world.set_node_up("down", true).unwrap();
    let seen = |threads| {
        let (flow, mut world) = run(threads, &[&fail, &gone, &back]);
        let nodes = ["s1", "up", "down", "s2"].map(|name| {
            let node = world.node(name).unwrap();
            world.simulation().node_counters(node)
        });
        format!("{flow:?} {nodes:?} {:?}", world.totals())
    };
    let one = seen(1);
    assert_eq!(seen(2), one);
    assert_eq!(seen(3), one);
}

#[test]
fn a_network_whose_routes_are_decided_already_is_refused() {
    let text = FILE.replace("routing: none", "routing: static");
    let mut world = World::build(&network(&text), Options::default()).unwrap();
    let refused = world.decide_by(least_delay()).unwrap_err();
    assert!(refused.message.contains("write `routing: none`"), "{refused}");
}
