//! Routes that change between two instants.
//!
//! ```text
//!             up
//!           /    \
//!  a ─── r         s ─── b
//!           \    /
//!            down
//! ```

mod support;

use ipnet::IpNet;
use plait_model_quantity::Bandwidth;
use plait_simulator_engine::*;
use std::time::Duration;
use support::{address, conditions, link, node};

const MS: Duration = Duration::from_millis(1);

struct Diamond {
    builder: Builder,
    a: NodeIndex,
    b: NodeIndex,
    r: NodeIndex,
    up: NodeIndex,
    down: NodeIndex,
}

/// All links take a millisecond; both routers at the ends go by the upper one.
fn diamond() -> Diamond {
    let mut builder = Builder::new(1);
    let wire = conditions(&[("delay", "1ms"), ("rate", "80Mbit")]);
    let [a, b] = ["a", "b"].map(|name| node(&mut builder, name, Kind::Host));
    let [r, up, down, s] = ["r", "up", "down", "s"].map(|name| node(&mut builder, name, Kind::Router));
    for (from, to) in [(a, r), (r, up), (up, s), (r, down), (down, s), (s, b)] {
        link(&mut builder, from, to, &wire);
    }
    let everywhere: IpNet = "0.0.0.0/0".parse().unwrap();
    for (from, to, interface) in [
        (a, None, 0),
        (b, None, 0),
        (r, None, 1),
        (r, Some(a), 0),
        (up, None, 1),
        (up, Some(a), 0),
        (down, None, 1),
        (down, Some(a), 0),
        (s, None, 0),
        (s, Some(b), 2),
    ] {
        let prefix = to.map_or(everywhere, |to| address(to).into());
        builder.route(from, prefix, vec![by(interface)]);
    }
    Diamond { builder, a, b, r, up, down }
}

fn by(interface: usize) -> Via {
    Via { interface, neighbour: Neighbour::OnLink }
}

fn flow(from: NodeIndex, to: NodeIndex) -> FlowSpec {
    let rate = Bandwidth::from_bits_per_second(8_000_000);
    FlowSpec { stop: Some(100 * MS), ..FlowSpec::constant(address(from), address(to), [1000, 2000], rate) }
}

/// A run in which the router turns to the other way after 50 ms and, for 10 ms, to none; everything that there is to see.
fn run(threads: usize) -> String {
    let Diamond { mut builder, a, b, r, up, down } = diamond();
    builder.keep_routes();
    let mut simulation = builder.build_parallel(threads).unwrap();
    let flows = [flow(a, b), flow(b, a)].map(|spec| simulation.add_flow(&spec).unwrap());
    simulation.run_until(50 * MS);
    let before = simulation.node_counters(up).forwarded;
    let to_b: IpNet = address(b).into();
    simulation.set_routes([(r, to_b, vec![by(2)])]).unwrap();
    assert_eq!(simulation.next_hops(r, address(b)), [LinkIndex(3)]);
    simulation.run_until(70 * MS);
    // No packet of the flow is on the old way any more but those that were beyond the router, half a millisecond's each.
    assert!(simulation.node_counters(down).forwarded > 15);
    simulation.set_routes([(r, to_b, Vec::new()), (r, "0.0.0.0/0".parse().unwrap(), Vec::new())]).unwrap();
    simulation.run_until(80 * MS);
    let dropped = simulation.node_counters(r).dropped_for(Reason::NoRoute);
    assert!((9..=11).contains(&dropped), "{dropped} dropped in ten milliseconds");
    simulation.set_routes([(r, to_b, vec![by(1)])]).unwrap();
    simulation.run_until(200 * MS);
    assert_eq!(simulation.node_counters(r).dropped_for(Reason::NoRoute), dropped);
    assert!(simulation.node_counters(up).forwarded > before + 20);
    assert!(simulation.totals().is_conserved());
    let nodes: Vec<_> = (0..6).map(|node| simulation.node_counters(NodeIndex(node))).collect();
    format!("{nodes:?} {:?} {:?}", simulation.totals(), flows.map(|flow| simulation.flow_counters(flow)))
}

#[test]
fn routes_that_change_hold_for_all_that_happens_at_their_instant_on_any_number_of_threads() {
    let one = run(1);
    for threads in [2, 3] {
        assert_eq!(run(threads), one, "{threads} threads");
    }
}

#[test]
fn routes_that_cannot_be_change_nothing() {
    let Diamond { builder, a, b, r, .. } = diamond();
    let to_b: IpNet = address(b).into();
    let mut fixed = builder.clone().build().unwrap();
    assert_eq!(fixed.set_routes([(r, to_b, vec![by(2)])]), Err(RouteError::NotKept));
    let mut builder = builder;
    builder.keep_routes();
    let mut simulation = builder.build().unwrap();
    let wrong = simulation.set_routes([(r, to_b, vec![by(2)]), (a, to_b, vec![by(7)])]);
    assert!(matches!(wrong, Err(RouteError::NoInterface { interface: 7, count: 1, .. })), "{wrong:?}");
    assert_eq!(simulation.next_hops(r, address(b)), [LinkIndex(1)]);
}
