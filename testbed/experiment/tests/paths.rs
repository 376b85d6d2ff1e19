//! What `paths:` of a file becomes in virtual time.

use plait_model_quantity::Bandwidth;
use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};
use plait_simulator_world::engine::{FlowSpec, NodeIndex, Reason};
use plait_simulator_world::{Options, PathsSpec, World};
use plait_testbed_experiment::simulated::paths_of;
use plait_testbed_runtime::section::register;
use std::time::Duration;

/// Two hosts behind a switch, and one that they send to by two ways.
const FILE: &str = "plait: 1
nodes: {h1: host, h3: host, sw: switch, h2: host, s1: router, up: router, down: router, s2: router}
links: [h1-sw, h3-sw, sw-s1, s1-up, up-s2, {endpoints: [s1, down], cost: 2}, {endpoints: [down, s2], cost: 2}, s2-h2]
";

/// Places of the file's nodes.
const H1: usize = 0;
const S1: usize = 4;

fn network(paths: &str) -> Network {
    let mut vocabulary = Vocabulary::core();
    register(&mut vocabulary);
    let source = Source::new("net.yaml", format!("{FILE}paths: {{k: 2, select: round-robin{paths}}}\n"));
    parse_network(&source, &vocabulary, &|path| Err(format!("no file {path}"))).unwrap()
}

fn paths(network: &Network) -> PathsSpec {
    paths_of(network).unwrap().unwrap()
}

/// What came of two flows from the first host, and what its router dropped, where it has lists though the file may leave it out.
fn carried(of: &str) -> (u64, u64, u64) {
    let network = network(of);
    let mut spec = paths(&network);
    // Whoever has root on a host puts on what headers they like.
    let inside = paths(&self::network(""));
    spec.hosts.insert(H1, inside.hosts[&H1].clone());
    let mut world = World::build_with_paths(&network, &spec, Options::default()).unwrap();
    let [from, to] = ["h1", "h2"].map(|host| world.address(host).unwrap());
    let flow = |port| {
        let rate = Bandwidth::from_bits_per_second(1_000_000);
        let stop = Some(Duration::from_secs(1));
        FlowSpec { stop, ..FlowSpec::constant(from, to, [port, 9], rate) }
    };
    let flows = [1, 2].map(|port| world.simulation().add_flow(&flow(port)).unwrap());
    world.run_until(Duration::from_secs(2));
    let [plain, stacked] = flows.map(|flow| world.flow(flow));
    assert!(plain.sent > 10 && plain.sent == stacked.sent && plain.received == plain.sent);
    let forged = world.simulation().node_counters(NodeIndex(S1 as u32)).dropped_for(Reason::Forged);
    (stacked.sent, stacked.received, forged)
}

#[test]
fn a_host_that_a_file_leaves_out_sends_no_headers_into_the_fabric_unless_it_says_there_are_no_borders() {
    let (sent, received, forged) = carried("");
    assert_eq!((received, forged), (sent, 0), "all hosts choose");
    let (sent, received, forged) = carried(", hosts: [h2]");
    assert_eq!((received, forged), (0, sent), "no host behind the switch does");
    let (sent, received, forged) = carried(", hosts: [h2], borders: []");
    assert_eq!((received, forged), (sent, 0));
    let (sent, received, forged) = carried(", hosts: [h2, h3]");
    assert_eq!((received, forged), (sent, 0), "one host there does");
    let (sent, received, forged) = carried(", borders: ['s1:eth0']");
    assert_eq!((received, forged), (0, sent));
}
