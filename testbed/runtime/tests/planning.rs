//! A plan leads from any testbed to any other, and touches nothing that stays.

use indexmap::IndexMap;
use plait_model_topology::address::{Assignment, assign};
use plait_model_topology::document::Source;
use plait_model_topology::{Vocabulary, parse_network};
use plait_testbed_runtime::plan::{RouteState, State, Step, Wishes, desired, plan};
use plait_testbed_runtime::section::register;
use proptest::prelude::*;
use std::collections::BTreeSet;

const NAMES: [&str; 7] = ["a", "b", "c", "d", "r", "s", "t"];

/// A network as people write them: few names, so that two of them have much in common.
fn network() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(
        &["host", "host", "host", "router", "router", "router", "switch", "ovs", "controller"][..],
    );
    let extra = prop_oneof![
        4 => Just(""),
        1 => Just(", sysctls: {net.ipv4.tcp_ecn: 1}"),
        1 => Just(", sysctls: {net.ipv4.tcp_ecn: 0, net.ipv4.ip_default_ttl: 9}"),
        1 => Just(", files: {/etc/motto: first, /run/motto: second}"),
        1 => Just(", files: {/etc/motto: other}"),
        1 => Just(", commands: ['true']"),
        1 => Just(", commands: ['true', 'false', 'true']"),
        1 => Just(", limits: {memory: 64MiB}"),
        1 => Just(", processors: [0]"),
    ];
    let nodes = prop::collection::btree_map(prop::sample::select(&NAMES[..]), (kind, extra), 2..=NAMES.len());
    let condition = prop_oneof![
        4 => Just(""),
        1 => Just(", delay: 5ms"),
        1 => Just(", delay: 9ms, loss: 1%, reverse: {rate: 1Mbit}"),
        1 => Just(", rate: 10Mbit"),
        1 => Just(", rate: 10Mbit, delay: 5ms, via: kernel"),
        1 => Just(", dynamic: true"),
        1 => Just(", mtu: 1400B"),
        1 => Just(", via: tap"),
        1 => Just(", verify: true"),
        1 => Just(", cost: 7"),
    ];
    let at = prop::sample::select(&NAMES[..]);
    let links = prop::collection::vec((at.clone(), at.clone(), condition), 0..8);
    let lan = prop::option::of(prop::collection::btree_set(at, 2..5));
    let head = prop_oneof![
        3 => Just(""),
        1 => Just("routing: none\n"),
        1 => Just("routing: frr\n"),
        1 => Just("defaults: {ipv6: on}\n"),
        1 => Just("defaults: {ipv4: 172.16.0.0/12}\n"),
        1 => Just("seed: 9\n"),
    ];
    let overlay = prop::option::of(prop::sample::select(&["mesh", "delay", "static"][..]));
    (nodes, links, lan, head, overlay).prop_map(|(nodes, links, lan, head, overlay)| {
        let mut text = format!("plait: 1\n{head}nodes:\n");
        for (name, (kind, extra)) in &nodes {
            text.push_str(&format!("  {name}: {{kind: {kind}{extra}}}\n"));
        }
        let known = |name: &str| nodes.contains_key(name);
        let links: Vec<_> = links.iter().filter(|(a, b, _)| a != b && known(a) && known(b)).collect();
        if !links.is_empty() {
            text.push_str("links:\n");
        }
        for (a, b, condition) in &links {
            text.push_str(&format!("  - {{endpoints: [{a}, {b}]{condition}}}\n"));
        }
        let members: Vec<&str> = lan.into_iter().flatten().filter(|name| known(name)).collect();
        if members.len() > 1 {
            text.push_str(&format!("lans: {{office: [{}]}}\n", members.join(", ")));
        }
        let linked: BTreeSet<&str> = links.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        let members: Vec<&str> =
            linked.into_iter().filter(|name| !["switch", "ovs"].contains(&nodes[name].0)).collect();
        if let (Some(control), false) = (overlay, members.is_empty()) {
            let members = members.join(", ");
            let more = format!("members: [{members}], network: 10.250.0.0/24, control: {control}");
            text.push_str(&format!("overlays: {{ov0: {{{more}}}}}\n"));
        }
        text
    })
}

/// The state of a network; none where the combination is refused, such as too few addresses.
fn state(text: &str, live: bool, previous: Option<&State>) -> Option<State> {
    let mut vocabulary = Vocabulary::core();
    register(&mut vocabulary);
    let source = Source::new("net.yaml", text.to_owned());
    let network = parse_network(&source, &vocabulary, &|_| Err("no files here".to_owned())).ok()?;
    let previous: Option<Assignment> =
        previous.and_then(|state| serde_json::from_value(state.assignment.clone()?).ok());
    let assignment = assign(&network, previous.as_ref()).ok()?;
    let wishes = Wishes { live, ..Wishes::default() };
    desired(&network, &assignment, &wishes, &|_| Err("no files here".to_owned())).ok()
}

/// A change that no file needs to have caused: routes and addresses of anybody, nodes and links gone.
#[derive(Debug, Clone)]
enum Mutation {
    TurnAddresses(usize),
    DropAddresses(usize),
    DropRoutes(usize),
    StrayRoute(usize, u8),
    DropLink(usize),
    DropNode(usize),
    ForgetParameters(usize),
    ForgetHosts,
    OtherCommands(usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        (0..9usize).prop_map(Mutation::TurnAddresses),
        (0..9usize).prop_map(Mutation::DropAddresses),
        (0..9usize).prop_map(Mutation::DropRoutes),
        (0..9usize, any::<u8>()).prop_map(|(node, prefix)| Mutation::StrayRoute(node, prefix)),
        (0..9usize).prop_map(Mutation::DropLink),
        (0..9usize).prop_map(Mutation::DropNode),
        (0..9usize).prop_map(Mutation::ForgetParameters),
        Just(Mutation::ForgetHosts),
        (0..9usize).prop_map(Mutation::OtherCommands),
    ]
}

fn mutate(state: &mut State, mutation: &Mutation) {
    fn pick<V>(map: &mut IndexMap<String, V>, at: usize) -> Option<(String, &mut V)> {
        let count = map.len().max(1);
        map.get_index_mut(at % count).map(|(name, value)| (name.clone(), value))
    }
    match mutation {
        Mutation::TurnAddresses(at) => {
            if let Some((_, node)) = pick(&mut state.nodes, *at) {
                node.interfaces.values_mut().for_each(|interface| interface.addresses.reverse());
            }
        }
        Mutation::DropAddresses(at) => {
            if let Some((_, node)) = pick(&mut state.nodes, *at) {
                for interface in node.interfaces.values_mut() {
                    interface.addresses.pop();
                }
            }
        }
        Mutation::DropRoutes(at) => {
            if let Some((_, node)) = pick(&mut state.nodes, *at) {
                node.routes.clear();
            }
        }
        Mutation::StrayRoute(at, prefix) => {
            if let Some((_, node)) = pick(&mut state.nodes, *at) {
                let interface = node.interfaces.keys().next().cloned();
                let to = format!("10.{prefix}.0.0/16").parse().unwrap();
                let via = "10.255.255.1".parse().unwrap();
                node.routes.insert(RouteState { to, via, interface, congestion_control: None });
            }
        }
        Mutation::DropLink(at) => {
            if let Some((name, _)) = pick(&mut state.links, *at) {
                Step::RemoveLink { name }.effect(state);
            }
        }
        Mutation::DropNode(at) => {
            let Some((name, _)) = pick(&mut state.nodes, *at) else { return };
            let links: Vec<String> = state
                .links
                .iter()
                .filter(|(_, link)| link.ends.iter().any(|end| end.0 == name))
                .map(|(name, _)| name.clone())
                .collect();
            links.into_iter().for_each(|name| Step::RemoveLink { name }.effect(state));
            Step::RemoveNode { name }.effect(state);
        }
        Mutation::ForgetParameters(at) => {
            if let Some((_, node)) = pick(&mut state.nodes, *at) {
                node.sysctls.clear();
                node.files.clear();
            }
        }
        Mutation::ForgetHosts => state.hosts.clear(),
        Mutation::OtherCommands(at) => {
            if let Some((_, node)) = pick(&mut state.nodes, *at) {
                node.commands.push("something else".to_owned());
            }
        }
    }
}

/// What carrying out a plan would lead to, by the word of its steps.
fn carried_out(steps: &[Step], from: &State) -> State {
    let mut state = from.clone();
    steps.iter().for_each(|step| step.effect(&mut state));
    state
}

/// The nodes that a step changes.
fn touches(step: &Step) -> Vec<&str> {
    match step {
        Step::AddLink { link, .. } => link.ends.iter().map(|end| end.0.as_str()).collect(),
        Step::AddNode { name, .. } | Step::RemoveNode { name } => vec![name],
        Step::Addresses { node, .. }
        | Step::Commands { node, .. }
        | Step::Daemons { node, .. }
        | Step::Files { node, .. }
        | Step::OpenFlow { node, .. }
        | Step::Overlays { node, .. }
        | Step::Paths { node, .. }
        | Step::Routes { node, .. }
        | Step::Sysctls { node, .. } => vec![node],
        Step::Condition { .. } | Step::Control(..) | Step::Hosts(..) | Step::RemoveLink { .. } => Vec::new(),
    }
}

fn assert_leads(from: &State, to: &State) -> Result<(), TestCaseError> {
    let steps = plan(to, from);
    let reached = carried_out(&steps, from);
    prop_assert_eq!(&reached, to);
    prop_assert!(plan(to, &reached).is_empty(), "there, nothing is left to do");

    // A node that is the same before and after, with the same links at its interfaces, is left alone.
    let changed_links: BTreeSet<&str> = from
        .links
        .iter()
        .chain(&to.links)
        .filter(|(name, _)| from.links.get(*name) != to.links.get(*name))
        .flat_map(|(_, link)| link.ends.iter().map(|end| end.0.as_str()))
        .collect();
    let rebuilt: BTreeSet<&str> = steps
        .iter()
        .filter_map(|step| match step {
            Step::RemoveNode { name } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    for step in &steps {
        for node in touches(step) {
            let same = from.nodes.get(node).is_some() && from.nodes.get(node) == to.nodes.get(node);
            // A neighbour that is made anew takes its links along.
            let beside = to.links.values().any(|link| {
                link.ends.iter().any(|end| end.0 == node)
                    && link.ends.iter().any(|end| rebuilt.contains(end.0.as_str()))
            });
            prop_assert!(
                !same || beside || changed_links.contains(node),
                "{step} touches {node}, which stays"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_leads_from_any_network_to_any_other(
        before in network(),
        after in network(),
        live in any::<(bool, bool)>(),
        mutations in prop::collection::vec(mutation(), 0..4),
    ) {
        let empty = State::default();
        let Some(mut from) = state(&before, live.0, None) else {
            return Err(TestCaseError::reject("these keys do not go together"));
        };
        // Numbered alone, and numbered so that addresses stay.
        let mut goals = vec![from.clone()];
        goals.extend(state(&after, live.1, None));
        goals.extend(state(&after, live.1, Some(&from)));
        prop_assert!(plan(&from, &from).is_empty(), "what is there needs nothing");
        mutations.iter().for_each(|mutation| mutate(&mut from, mutation));
        prop_assert!(plan(&from, &from).is_empty());
        for goal in &goals {
            assert_leads(&from, goal)?;
            assert_leads(&State { version: goal.version, ..empty.clone() }, goal)?;
            assert_leads(goal, &State { version: goal.version, ..empty.clone() })?;
        }
    }
}

#[test]
fn a_changed_delay_is_one_step() {
    let text = |delay: &str| {
        format!(
            "plait: 1\nnodes: {{a: host, r: router, b: host}}\nlinks: [a-r, {{endpoints: [r, b], delay: {delay}}}]\n"
        )
    };
    let before = state(&text("5ms"), false, None).unwrap();
    let after = state(&text("6ms"), false, Some(&before)).unwrap();
    let steps = plan(&after, &before);
    assert!(matches!(&steps[..], [Step::Condition { name, .. }] if name == "r-b"), "{steps:?}");
    // Another seed is another link: what it loses would be other packets.
    let reseeded = state(&format!("{}seed: 2\n", text("5ms")), false, Some(&before)).unwrap();
    let steps = plan(&reseeded, &before);
    assert!(
        steps.iter().any(|step| matches!(step, Step::AddLink { name, .. } if name == "r-b")),
        "{steps:?}"
    );
    assert!(
        !steps.iter().any(|step| matches!(step, Step::AddLink { name, .. } if name == "a-r")),
        "{steps:?}"
    );
}

#[test]
fn a_node_in_the_middle_of_a_chain_goes_without_its_neighbours() {
    let chain =
        state("plait: 1\nnodes: {a: host, r: router, b: host}\nlinks: [a-r, r-b]\n", false, None).unwrap();
    let mut without = chain.clone();
    mutate(&mut without, &Mutation::DropNode(1));
    assert_eq!(without.nodes.keys().collect::<Vec<_>>(), ["a", "b"]);
    let steps: Vec<String> = plan(&without, &chain).iter().map(ToString::to_string).collect();
    assert_eq!(steps[..3], ["- link a-r", "- link r-b", "- node r"]);
    assert!(steps.iter().all(|step| !step.contains("node a") && !step.contains("node b")), "{steps:?}");
}

/// VITO's auxiliary-node split: a device has one queueing discipline, and the emulator comes before the bucket.
#[test]
fn a_link_that_the_kernel_delays_and_shapes_gets_an_auxiliary_node() {
    let text = "plait: 1\nnodes: {a: host, b: host}\nlinks:\n  \
        - {endpoints: [a, b], rate: 10Mbit, delay: 20ms, loss: 1%, queue: 30ms, via: kernel, \
           reverse: {rate: 5Mbit, delay: 0s, loss: 0}}\n";
    let split = state(text, false, None).unwrap();
    assert_eq!(split.nodes.keys().collect::<Vec<_>>(), ["a", "b", "aux:a-b"]);
    assert!(split.nodes["aux:a-b"].hidden);
    assert_eq!(split.links.keys().collect::<Vec<_>>(), ["a-b/a:eth0", "a-b/b:eth0"]);
    let port = |node: &str, interface: &str| (node.to_owned(), interface.to_owned());
    let [near, far] = [&split.links["a-b/a:eth0"], &split.links["a-b/b:eth0"]];
    assert_eq!(near.ends, [port("a", "eth0"), port("aux:a-b", "port0")]);
    assert_eq!(far.ends, [port("b", "eth0"), port("aux:a-b", "port1")]);
    // From a to b: a's own device delays and loses, the auxiliary node's far device queues and shapes.
    assert_eq!(near.conditions[0].to_string(), "20ms loss 1%");
    assert_eq!(far.conditions[1].to_string(), "10Mbit queue 30ms");
    // And back: nothing before the queue, and a rate of its own.
    assert!(far.conditions[0].is_unimpaired());
    assert_eq!(near.conditions[1].to_string(), "5Mbit queue 30ms");
    // The ends keep their addresses: the auxiliary node is a bridge and no hop.
    let direct = state("plait: 1\nnodes: {a: host, b: host}\nlinks: [a-b]\n", false, None).unwrap();
    for node in ["a", "b"] {
        assert_eq!(split.nodes[node].interfaces, direct.nodes[node].interfaces);
    }
    // Delay alone needs no auxiliary node, nor does the engine.
    let delay =
        "plait: 1\nnodes: {a: host, b: host}\nlinks: [{endpoints: [a, b], delay: 20ms, via: kernel}]\n";
    assert_eq!(state(delay, false, None).unwrap().nodes.len(), 2);
    let engine = text.replace(", via: kernel", "");
    assert_eq!(state(&engine, false, None).unwrap().nodes.len(), 2);
    // What netem does otherwise than the model is refused.
    assert!(state(&text.replace("20ms", "20ms, jitter: 2ms"), false, None).is_none());
}
