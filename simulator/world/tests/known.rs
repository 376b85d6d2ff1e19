//! Lists that are planned by what switches are known to do: by their routes and their hash.
//!
//! ```text
//!               a       c
//!             /   \   /   \
//!  h1 ── s1         m       s2 ── h2
//!             \   /   \   /
//!               b       d
//! ```

use ipnet::IpNet;
use plait_control_paths::{Method, Plan, PlannedPath, Settings, Survey};
use plait_dataplane_paths::Encapsulation;
use plait_dataplane_paths::protocol::{Policy, Static};
use plait_model_quantity::Bandwidth;
use plait_model_topology::address::assign;
use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};
use plait_simulator_world::engine::FlowSpec;
use plait_simulator_world::{Detection, KnownRoutes, LearningSpec, Options, PathsSpec, Side, World};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

const NODES: &str =
    "h1: host, h2: host, s1: router, a: router, b: router, m: router, c: router, d: router, s2: router";
/// The places of routers, by their numbers.
const FIRST: usize = 2;
const S2: usize = 6;
const ROUTERS: usize = 7;

/// That of the drawing, the same with all of the middle meshed, and with two links where there was one.
const LINKS: [&str; 3] = [
    "h1-s1, s1-a, s1-b, a-m, b-m, m-c, m-d, c-s2, d-s2, s2-h2",
    "h1-s1, s1-a, s1-b, s1-m, a-c, a-d, b-c, b-d, m-c, m-d, c-s2, d-s2, s2-h2",
    "h1-s1, s1-a, s1-b, s1-a, a-m, b-m, a-m, m-c, m-d, m-d, c-s2, d-s2, s2-h2",
];

fn network(links: &str, seed: u64) -> Network {
    let text = format!("plait: 1\nseed: {seed}\nrouting: static\nnodes: {{{NODES}}}\nlinks: [{links}]\n");
    let source = Source::new("net.yaml", text);
    parse_network(&source, &Vocabulary::core(), &|_| Err("no files".into())).unwrap()
}

fn relay(router: usize) -> IpAddr {
    [10, 255, 0, router as u8 + 1].into()
}

/// Relays, and nobody who chooses.
fn spec() -> PathsSpec {
    PathsSpec {
        source: [203, 0, 113, 1].into(),
        spread: Duration::from_millis(10),
        idle: None,
        relays: (0..ROUTERS).map(|router| (FIRST + router, relay(router))).collect(),
        hosts: BTreeMap::new(),
        learning: None,
        borders: BTreeMap::new(),
    }
}

/// Paths from the first host's router to the second one's.
fn planned(network: &Network, method: Method) -> Vec<PlannedPath> {
    let survey = Survey::of(network, &assign(network, None).unwrap(), &spec().relays);
    let settings = Settings { k: 6, method, ..Settings::default() };
    Plan::new(settings, survey.fabric, 0).paths(S2).to_vec()
}

fn known(network: &Network, encapsulation: Encapsulation, multipath: bool) -> Method {
    let assignment = assign(network, None).unwrap();
    Method::Known(Arc::new(KnownRoutes::of(network, &assignment, &spec(), encapsulation, multipath)))
}

fn relays(path: &PlannedPath) -> Vec<IpAddr> {
    let relays = path.relays.as_ref().expect("each path of these fabrics has a list");
    relays.iter().map(|router| relay(*router as usize)).collect()
}

/// Packets of eight flows that all go by a list, and how many of them went from which router to which.
fn carried(
    network: &Network,
    list: Vec<IpAddr>,
    encapsulation: Encapsulation,
    multipath: bool,
) -> (u64, BTreeMap<[usize; 2], u64>) {
    let said = Static { lists: vec![(list, 1)], encapsulation, policy: Policy::Hash };
    let all: IpNet = "10.0.0.0/8".parse().unwrap();
    let spec = PathsSpec { hosts: [(0, Arc::new([(all, said)].into()))].into(), ..spec() };
    let options = Options { multipath, ..Options::default() };
    let mut world = World::build_with_paths(network, &spec, options).unwrap();
    let [from, to] = ["h1", "h2"].map(|host| world.address(host).unwrap());
    let rate = Bandwidth::from_bits_per_second(1_000_000);
    for port in 0..8 {
        let stop = Some(Duration::from_millis(100));
        let flow = FlowSpec { stop, ..FlowSpec::constant(from, to, [7000 + 11 * port, 9], rate) };
        world.simulation().add_flow(&flow).unwrap();
    }
    world.run_until(Duration::from_secs(1));
    let mut between = BTreeMap::new();
    for row in world.link_rows().into_iter().filter(|row| row.packets > 0) {
        let link = &network.links[network.link(&row.link).unwrap()];
        let mut ends = link.ends.map(|port| port.node);
        if row.side == Side::Reverse {
            ends.reverse();
        }
        if ends.iter().all(|node| *node >= FIRST) {
            *between.entry(ends.map(|node| node - FIRST)).or_default() += row.packets;
        }
    }
    (world.totals().sent, between)
}

#[test]
fn by_routes_and_hash_that_are_known_lists_are_shorter_and_all_packets_follow_their_paths() {
    let mut differ = BTreeSet::new();
    for (fabric, links) in LINKS.iter().enumerate() {
        for seed in 1..=6 {
            let network = network(links, seed);
            let sure = planned(&network, Method::Sure);
            for (encapsulation, multipath) in
                [(Encapsulation::Gre, true), (Encapsulation::Ipip, true), (Encapsulation::Gue, false)]
            {
                let paths = planned(&network, known(&network, encapsulation, multipath));
                let count =
                    |paths: &[PlannedPath]| paths.iter().map(|path| relays(path).len()).sum::<usize>();
                assert!(count(&paths) < count(&sure), "{links} {seed} {encapsulation}");
                for (path, sure) in paths.iter().zip(&sure) {
                    let list = relays(path);
                    assert!(list.len() <= relays(sure).len());
                    let (sent, between) = carried(&network, list.clone(), encapsulation, multipath);
                    let all = |step: &[usize]| ([step[0], step[1]], sent);
                    let expected: BTreeMap<[usize; 2], u64> = path.switches.windows(2).map(all).collect();
                    assert!(
                        sent > 20 && between == expected,
                        "{links} {seed} {encapsulation} {list:?}: {between:?}"
                    );
                    differ.insert((fabric, encapsulation.to_string(), path.switches.clone(), list));
                }
            }
        }
    }
    // Another seed is another hash.
    let of_one = |(fabric, encapsulation, switches, _): &(usize, String, Vec<usize>, Vec<IpAddr>)| {
        (*fabric, encapsulation.clone(), switches.clone())
    };
    assert!(differ.iter().map(of_one).collect::<BTreeSet<_>>().len() < differ.len());
}

/// What a header with ports takes among several ways depends on the flow.
#[test]
fn where_headers_differ_by_flow_lists_are_those_that_are_sure() {
    let network = network(LINKS[0], 1);
    let paths = planned(&network, known(&network, Encapsulation::Gue, true));
    assert_eq!(paths, planned(&network, Method::Sure));
}

#[test]
fn lists_that_hosts_learn_by_the_hash_are_after_a_failure_those_of_a_network_without_the_link() {
    let lists = |links: &str, seed, fails: Option<&str>| -> Vec<Vec<IpAddr>> {
        let learning = LearningSpec {
            hosts: [0].into(),
            settings: Settings { k: 6, ..Settings::default() },
            knows_routes: true,
            encapsulation: Encapsulation::Gre,
            policy: Policy::RoundRobin,
            policies: BTreeMap::new(),
        };
        let spec = PathsSpec { learning: Some(learning), ..spec() };
        let [hello, dead] = [1, 4].map(Duration::from_secs);
        let detection = Some(Detection::of_ospf(hello, dead));
        let options = Options { multipath: true, detection, ..Options::default() };
        let mut world = World::build_with_paths(&network(links, seed), &spec, options).unwrap();
        if let Some(link) = fails {
            world.set_link_up(link, Side::Both, false).unwrap();
            world.run_until(Duration::from_secs(10));
            assert_eq!(world.follow_report().unwrap().failures, Vec::<String>::new());
        }
        let known = world.steered("h1").unwrap()[0].lists();
        known.into_iter().map(|list| list.relays).collect()
    };
    for seed in 1..=6 {
        let whole = lists(LINKS[1], seed, None);
        let without = lists(&LINKS[1].replace(", b-c", ""), seed, None);
        assert!(whole.len() == 6 && without.len() > 1 && whole != without, "{whole:?} {without:?}");
        assert_eq!(lists(LINKS[1], seed, Some("b-c")), without, "{seed}");
    }
}
