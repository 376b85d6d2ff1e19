//! Links go in, routes of nodes come out, whoever decides.
//!
//! ```text
//!            up
//!          /    \
//!  a ── r          s ── b
//!          \    /
//!           down
//! ```

use plait_control_routing::*;
use plait_control_runtime::{Application, Failure, Manifest, native};
use plait_model_topology::address::assign;
use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const DIAMOND: &str = "
plait: 1
routing: none
nodes: {a: host, b: host, r: router, up: router, down: router, s: router}
links:
  - {endpoints: [a, r], delay: 1ms}
  - {endpoints: [r, up], delay: 1ms, cost: 5}
  - {endpoints: [up, s], delay: 1ms, cost: 5}
  - {endpoints: [r, down], delay: 3ms}
  - {endpoints: [down, s], delay: 3ms}
  - {endpoints: [s, b], delay: 1ms}
";

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn network(text: &str) -> Network {
    let source = Source::new("network.yaml", text.to_owned());
    parse_network(&source, &Vocabulary::core(), &|_| Err("no files".into())).unwrap()
}

fn ground(network: &Network) -> Ground {
    Ground::of(network, &assign(network, None).unwrap())
}

/// The state of links as the file has it, without those that failed in a direction.
fn state(network: &Network, failed: &[(&str, usize)]) -> BTreeMap<(String, usize), Duration> {
    let links = network
        .links
        .iter()
        .flat_map(|link| [0, 1].map(|side| ((link.name.clone(), side), link.conditions[side].delay.into())));
    let members = network.lans.iter().flat_map(|lan| {
        lan.members.iter().flat_map(move |port| {
            let name = format!("{}/{}", lan.name, network.port_name(*port));
            [0, 1].map(|side| ((name.clone(), side), lan.conditions[side].delay.into()))
        })
    });
    let mut all: BTreeMap<_, _> = links.chain(members).collect();
    all.retain(|(name, side), _| !failed.contains(&(name.as_str(), *side)));
    all
}

fn observe(decider: &mut Decider, network: &Network, failed: &[(&str, usize)]) {
    let state = state(network, failed);
    decider.observe(|crossing| state.get(&(crossing.link.clone(), crossing.side)).copied(), ms(0));
}

fn decider(network: &Network, application: &str) -> Decider {
    Decider::new(ground(network), vec![native_application(application).unwrap()], false).unwrap()
}

/// The neighbour by which a node reaches another one, by their names.
fn via(decider: &Decider, from: &str, to: &str) -> Option<(String, Duration)> {
    let ground = decider.ground();
    let id = |name: &str| ground.nodes.iter().find(|node| node.name == name).unwrap().id;
    let routes = decider.routes()?;
    let route = routes.best.iter().find(|route| (route.source, route.destination) == (id(from), id(to)))?;
    let hop = ground.nodes.iter().find(|node| node.id == route.next_hop).unwrap();
    Some((hop.name.clone(), route.delay))
}

#[test]
fn the_fastest_or_the_cheapest_way_is_taken_as_it_was_asked_for() {
    let network = network(DIAMOND);
    let mut fastest = decider(&network, "least-delay");
    observe(&mut fastest, &network, &[]);
    assert_eq!(via(&fastest, "a", "b"), Some(("r".to_owned(), ms(4))));
    assert_eq!(via(&fastest, "r", "b"), Some(("up".to_owned(), ms(3))));
    let mut cheapest = decider(&network, "least-cost");
    observe(&mut cheapest, &network, &[]);
    assert_eq!(via(&cheapest, "r", "b"), Some(("down".to_owned(), ms(7))));
}

#[test]
fn a_link_that_fails_turns_routes_and_one_that_fails_one_way_turns_those_of_that_way() {
    let network = network(DIAMOND);
    let mut decider = decider(&network, "least-delay");
    observe(&mut decider, &network, &[]);
    let all = std::iter::from_fn(|| decider.poll_change().map(|(place, _)| place)).count();
    assert_eq!(all, 6, "everybody has routes at first");
    // Once more the same is no change, and no application runs.
    observe(&mut decider, &network, &[]);
    assert!(decider.poll_change().is_none());
    assert_eq!(decider.runs(), 1);

    observe(&mut decider, &network, &[("up-s", 0)]);
    assert_eq!(via(&decider, "r", "b"), Some(("down".to_owned(), ms(7))));
    assert_eq!(via(&decider, "s", "a"), Some(("up".to_owned(), ms(3))), "the way back is whole");
    let changed: Vec<usize> = std::iter::from_fn(|| decider.poll_change().map(|(place, _)| place)).collect();
    let ground = ground(&network);
    let names: Vec<&str> = changed.iter().map(|place| ground.nodes[*place].name.as_str()).collect();
    assert!(names.contains(&"r") && names.contains(&"up"), "{names:?}");

    observe(&mut decider, &network, &[("up-s", 0), ("up-s", 1), ("down-s", 0), ("down-s", 1)]);
    assert_eq!(via(&decider, "a", "b"), None);
    assert_eq!(via(&decider, "b", "s"), Some(("s".to_owned(), ms(1))));
}

#[test]
fn every_address_of_a_node_goes_the_way_that_was_decided_for_it() {
    let network = network(DIAMOND);
    let mut decider = decider(&network, "least-delay");
    observe(&mut decider, &network, &[("r-up", 0), ("r-up", 1)]);
    let ground = decider.ground().clone();
    let place = |name: &str| ground.nodes.iter().position(|node| node.name == name).unwrap();
    // The link to it failed, and its address on that link is reached the other way round.
    let up = &ground.nodes[place("up")];
    let ways: BTreeMap<_, _> =
        decider.ways(place("r")).iter().map(|way| (way.to.addr(), way.interface.clone())).collect();
    assert_eq!(up.addresses.len(), 2);
    for address in &up.addresses {
        assert_eq!(ways.get(address).map(String::as_str), Some("eth2"), "{ways:?}");
    }
    // A neighbour's address on the link between is the link's own affair.
    let near = ground.hops.iter().find(|hop| (hop.from, hop.to) == (place("r"), place("down"))).unwrap();
    assert!(!ways.contains_key(&near.gateways[0]));
}

#[test]
fn no_way_leads_through_a_host_and_hosts_of_a_lan_are_neighbours() {
    let network = network(
        "
plait: 1
routing: none
nodes: {h: host, r: router, s: router, w: switch, p: host, q: host}
links:
  - {endpoints: [h, r], delay: 1ms}
  - {endpoints: [h, s], delay: 1ms}
  - {endpoints: [r, s], delay: 9ms}
  - {endpoints: [r, w], delay: 1ms}
  - {endpoints: [w, p], delay: 1ms}
lans:
  office: {members: [s, q], delay: 2ms}
",
    );
    let mut decider = decider(&network, "least-delay");
    observe(&mut decider, &network, &[]);
    assert_eq!(via(&decider, "r", "s"), Some(("s".to_owned(), ms(9))));
    assert_eq!(via(&decider, "r", "p"), Some(("p".to_owned(), ms(2))), "a switch is nobody's neighbour");
    // A member's delay counts where it sends into the LAN and where it hears from it.
    assert_eq!(via(&decider, "s", "q"), Some(("q".to_owned(), ms(4))));
    assert_eq!(via(&decider, "p", "q"), Some(("r".to_owned(), ms(15))));
    observe(&mut decider, &network, &[("office/q:eth0", 1)]);
    assert_eq!(via(&decider, "p", "q"), None);
}

#[test]
fn of_two_links_between_nodes_the_faster_that_is_up_is_taken() {
    let network = network(
        "
plait: 1
routing: none
nodes: {a: host, r: router, s: router, b: host}
links:
  - a-r
  - {endpoints: [r, s], delay: 1ms}
  - {endpoints: [r, s], delay: 2ms}
  - s-b
",
    );
    let mut decider = decider(&network, "least-delay");
    let interface = |decider: &Decider| {
        let ground = decider.ground().clone();
        let place = ground.nodes.iter().position(|node| node.name == "r").unwrap();
        let b = ground.nodes.iter().find(|node| node.name == "b").unwrap().addresses[0];
        decider.ways(place).iter().find(|way| way.to.addr() == b).map(|way| way.interface.clone())
    };
    observe(&mut decider, &network, &[]);
    assert_eq!(interface(&decider).as_deref(), Some("eth1"));
    observe(&mut decider, &network, &[("r-s", 0)]);
    assert_eq!(interface(&decider).as_deref(), Some("eth2"));
    observe(&mut decider, &network, &[("r-s", 0), ("r-s.2", 0)]);
    assert_eq!(interface(&decider), None);
}

#[test]
fn a_route_by_hand_counts_before_what_is_decided() {
    let plain = ground(&network(DIAMOND));
    let place = |name: &str| plain.nodes.iter().position(|node| node.name == name).unwrap();
    let b = plain.nodes[place("b")].addresses[0];
    let down = plain.hops.iter().find(|hop| (hop.from, hop.to) == (place("r"), place("down"))).unwrap();
    // A prefix is where packets go for which nothing was decided.
    for (length, is_decided) in [(32, false), (24, true), (0, true)] {
        let route = format!("r: {{kind: router, routes: [{{to: {b}/{length}, via: {}}}]}}", down.gateways[0]);
        let network = network(&DIAMOND.replace("r: router", &route));
        let mut decider = decider(&network, "least-delay");
        observe(&mut decider, &network, &[]);
        let ground = decider.ground().clone();
        let has = |name: &str| {
            let place = ground.nodes.iter().position(|node| node.name == name).unwrap();
            decider.ways(place).iter().any(|way| way.to.addr() == b)
        };
        assert_eq!((has("r"), has("a")), (is_decided, true), "/{length}");
    }
}

fn odd(routes: impl Fn(&Links) -> Result<Routes, Failure> + Send + Sync + 'static) -> Applications {
    let manifest = Manifest::new("odd").reads("links@1").writes("routes@1");
    let code: Arc<dyn Application> = native(move |(links,): (Arc<Links>,)| Ok((routes(&links)?,)));
    vec![(manifest, code)]
}

#[test]
fn routes_that_mean_nothing_harm_nobody_and_an_application_that_fails_changes_nothing() {
    let network = network(DIAMOND);
    let nonsense = |_: &Links| {
        let route = |source, destination, next_hop| Route { source, destination, next_hop, delay: ms(0) };
        // To a node that is no neighbour, of nobody, to nobody, to itself.
        Ok(Routes {
            best: vec![route(0, 1, 4), route(99, 1, 2), route(0, 99, 2), route(0, 0, 2), route(0, 1, 2)],
        })
    };
    let mut decider = Decider::new(ground(&network), odd(nonsense), false).unwrap();
    observe(&mut decider, &network, &[]);
    assert_eq!(decider.ways(0).len(), 1);
    assert!((1..6).all(|place| decider.ways(place).is_empty()));

    let moody = |links: &Links| match links.up.len() {
        12 => Ok(Routes { best: vec![Route { source: 0, destination: 1, next_hop: 2, delay: ms(0) }] }),
        _ => Err(Failure::Failed("less than twelve links".to_owned())),
    };
    let mut decider = Decider::new(ground(&network), odd(moody), false).unwrap();
    observe(&mut decider, &network, &[]);
    let before = decider.ways(0).clone();
    assert_eq!(before.len(), 1);
    observe(&mut decider, &network, &[("up-s", 0)]);
    assert_eq!(decider.ways(0), &before);
    let (application, failure) = decider.poll_failure().unwrap();
    assert_eq!(application.as_str(), "odd");
    assert!(failure.to_string().contains("less than twelve"), "{failure}");
    // What it does not know: the link that its route leads over is down.
    observe(&mut decider, &network, &[("a-r", 0)]);
    assert!(decider.ways(0).is_empty());
}

#[test]
fn applications_that_cannot_decide_are_refused_and_say_why() {
    let network = network(DIAMOND);
    let count = |writes: &str| {
        let manifest = Manifest::new("count").reads("links@1").writes(writes);
        let code: Arc<dyn Application> = native(|(links,): (Arc<Links>,)| {
            Ok((Routes { best: links.up.iter().map(|_| unreachable!()).collect() },))
        });
        vec![(manifest, code)]
    };
    let why = |applications: Applications| {
        Decider::new(ground(&network), applications, false)
            .err()
            .map(|why| why.to_string())
            .unwrap_or_default()
    };
    assert!(why(Vec::new()).contains("routes@1"));
    assert!(why(count("best@1")).contains("none of count writes routes@1"), "{}", why(count("best@1")));
    let two = [native_application("least-delay").unwrap(), native_application("least-delay").unwrap()];
    assert!(why(two.into()).contains("stands in it twice"));
}
