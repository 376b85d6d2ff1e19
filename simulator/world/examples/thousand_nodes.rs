//! The overlays of a testbed on a thousand simulated nodes: members join by two of them, measure each other and decide
//! routes, by mesh and then by delay; then each sends to another one. Prints how long each took, what arrived, and whether that is
//! within its bar. A thousand take 8 GB of memory. With a third number it is one plane alone: mesh is 0, delay 1.
//!
//!     cargo run --release -p plait-simulator-world --example thousand_nodes [NODES] [THREADS] [PLANE]
//!
//! With `file` before it, it is the network file of the same nodes, links and overlay that is printed, with traffic that is the
//! same for each member, for `plait run --world simulated`. Its plane is delay, or mesh if 0 is said.
//!
//!     cargo run --release -p plait-simulator-world --example thousand_nodes file [NODES] [PLANE]
#![allow(clippy::print_stdout)]

use plait_control_overlay::Plane;
use plait_dataplane_overlay::{Carries, Encapsulation};
use plait_model_overlay::NodeId;
use plait_model_topology::document::Source;
use plait_model_topology::generate::{Generator, Shape};
use plait_model_topology::vocabulary::Role;
use plait_model_topology::{Network, Vocabulary, parse_network};
use plait_simulator_world::{DataPlane, Options, OverlayFlowSpec, OverlayIndex, OverlaySpec, World};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

/// From one probe to the next.
const INTERVAL: Duration = Duration::from_secs(5);
/// Simulated seconds until all are to reach each other. Choice: eight intervals, as a member gives itself at most to settle.
const MOST: u64 = 40;
/// The share of what they send each other then that is to arrive.
const LEAST: f64 = 0.99;

/// Overlay hops that a packet has. The tree of least delay has ways of more than the 60 that it has where nothing else is said.
const TTL: u8 = 255;
/// Others that each member probes.
const NEIGHBOURS: usize = 8;

/// Hosts on a random graph of routers whose links differ in their delays, as a file.
fn written(hosts: usize) -> String {
    let routers = (hosts / 10).max(8);
    let shape = Shape::RandomRegular { nodes: routers, degree: 4 };
    let generator = Generator { hosts: hosts.div_ceil(routers), ..Generator::from(shape) };
    let network = parsed(generator.generate(7).expect("there is such a graph"));
    let mut text = "plait: 1\nname: members\ndefaults: {link: {rate: 1Gbit}}\nnodes:\n".to_owned();
    for node in &network.nodes {
        text += &format!("  {}: {}\n", node.name, if node.role == Role::Host { "host" } else { "router" });
    }
    text += "links:\n";
    for (at, link) in network.links.iter().enumerate() {
        let [a, b] = link.ends.map(|end| &network.nodes[end.node].name);
        let delay = 1000 + at * 7919 % 9000;
        text += &format!("  - {{endpoints: [{a}, {b}], delay: {delay}us}}\n");
    }
    text
}

fn parsed(text: String) -> Network {
    let source = Source::new("generated.yaml", text);
    parse_network(&source, &Vocabulary::core(), &|_| Err("no files".into())).expect("it was generated")
}

/// So many hosts of a network.
fn members(network: &Network, asked: usize) -> Vec<String> {
    let hosts = network.nodes.iter().filter(|node| node.role == Role::Host);
    hosts.map(|node| node.name.clone()).take(asked).collect()
}

/// What a file says beside nodes and links: the overlay, and that each of its members sends ten datagrams to the one that is half of
/// all places on.
fn sections(members: &[String], plane: Plane) -> String {
    // Members meet for ten seconds before a run begins, and have ways to each other after 15. Fifty of them begin every half
    // second, so that questions for hardware addresses, which go to all, leave room on the links.
    const FIRST: usize = 15_000;
    const STEP: usize = 500;
    let half = members.len() / 2;
    let groups: Vec<(usize, usize)> =
        (0..half).step_by(25).enumerate().map(|(number, at)| (at, FIRST + STEP * number)).collect();
    let last = groups.last().map_or(FIRST, |(_, start)| *start);
    let mut text = format!(
        "duration: {}ms\ncollect: {{links: off, tcp: off, interfaces: off}}\noverlays:\n  ov0:\n    members: [{}]\n    network: 10.99.0.0/16\n    \
         control: {}\n    interval: {}s\n    neighbours: {NEIGHBOURS}\n    ttl: {TTL}\ntraffic:\n",
        last + 2 * STEP + 1000,
        members.join(", "),
        name_of(plane),
        INTERVAL.as_secs(),
    );
    for (at, start) in groups {
        let first = &members[at..half.min(at + 25)];
        let hosts = [first, &members[half + at..half + at + first.len()]].concat().join(", ");
        text += &format!(
            "  - {{over: ov0, pattern: stride({}), hosts: [{hosts}], rate: {}bit, size: 1000B, start: {start}ms, stop: {}ms}}\n",
            first.len(),
            2 * first.len() * 8 * 1042 * 10,
            start + 1000,
        );
    }
    text
}

fn name_of(plane: Plane) -> String {
    format!("{plane:?}").to_lowercase()
}

/// From each member to each other the next one on the way.
fn next_hops(world: &World, overlay: OverlayIndex, members: usize) -> Vec<Vec<usize>> {
    let member = |place| world.member(overlay, place).expect("it was added");
    let of = |at| {
        let mut next = vec![usize::MAX; members];
        for (destination, hops) in member(at).control().expect("they decide").routes() {
            if let (Some(to), Some(hop)) = (place(*destination, members), hops.first()) {
                next[to] = place(*hop, members).unwrap_or(usize::MAX);
            }
        }
        next
    };
    (0..members).map(of).collect()
}

/// How many members have a way to how many others, and how many hops the longest has.
fn ways(next: &[Vec<usize>]) -> (usize, usize) {
    let members = next.len();
    let (mut reached, mut longest) = (0, 0);
    for from in 0..members {
        for to in (0..members).filter(|to| *to != from) {
            let (mut at, mut hops) = (from, 0);
            while at != to && at != usize::MAX && hops <= members {
                at = next[at][to];
                hops += 1;
            }
            if at == to {
                reached += 1;
                longest = longest.max(hops);
            }
        }
    }
    (reached, longest)
}

fn place(node: NodeId, members: usize) -> Option<usize> {
    (node.0 as usize).checked_sub(1).filter(|place| *place < members)
}

/// Each member sends ten datagrams to the one that is half of all places on, one member every 5 ms, so that questions for
/// hardware addresses, which go to all, are a fifth of what a link carries. The share of them that arrives.
fn send(world: &mut World, overlay: OverlayIndex, members: usize) -> f64 {
    let address = |place: usize| IpAddr::V4(Ipv4Addr::from_bits(0x0a63_0001 + place as u32));
    let begin = world.now();
    let flows: Vec<_> = (0..members)
        .map(|from| {
            let to = (from + members / 2) % members;
            let start = begin + Duration::from_millis(5) * from as u32;
            let spec = OverlayFlowSpec {
                vni: 1,
                members: [from, to],
                addresses: [from, to].map(address),
                ports: [20_000, 60_009],
                size: 1000,
                rate: plait_model_quantity::Bandwidth::from_bits_per_second(8 * 1042 * 10),
                start,
                stop: start + Duration::from_secs(1),
            };
            world.add_overlay_flow(overlay, &spec).expect("both are members")
        })
        .collect();
    world.run_until(begin + Duration::from_millis(5) * members as u32 + Duration::from_secs(5));
    let all: Vec<_> = flows.iter().map(|flow| world.overlay_flow(*flow)).collect();
    let sent: u64 = all.iter().map(|flow| flow.sent).sum();
    let received: u64 = all.iter().map(|flow| flow.received).sum();
    let silent = all.iter().filter(|flow| flow.received == 0).count();
    let mut drops = BTreeMap::new();
    for counts in (0..members).filter_map(|place| world.member_counts(overlay, place)) {
        counts.drops.iter().for_each(|(reason, count)| *drops.entry(reason.name()).or_insert(0) += count);
    }
    println!(
        "# {sent} datagrams sent, {received} received, of {silent} flows none; dropped by members: {drops:?}"
    );
    received as f64 / sent as f64
}

/// Runs an overlay until every member has a way to every other, and says what that took: simulated seconds, if it came to that,
/// and the share of what they sent each other then that arrived.
fn join(network: &Network, hosts: &[String], plane: Plane, threads: usize) -> Option<(u64, f64)> {
    let start = Instant::now();
    let mut world =
        World::build(network, Options { threads, ..Options::default() }).expect("it can be built");
    let mut data_plane = DataPlane::new(Carries::Ethernet, 1, Encapsulation::Ovstack);
    data_plane.config.ttl = TTL;
    let spec = OverlaySpec {
        neighbours: Some(NEIGHBOURS),
        interval: INTERVAL,
        data_plane: Some(data_plane),
        ..OverlaySpec::new(hosts.to_vec(), plane)
    };
    let overlay = world.add_overlay(&spec).expect("members are hosts of the network");
    let pairs = hosts.len() * (hosts.len() - 1);
    let mut whole = None;
    let mut before = Vec::new();
    for interval in 1..=24 {
        let now = INTERVAL * interval;
        world.run_until(now);
        let next = next_hops(&world, overlay, hosts.len());
        let (reached, longest) = ways(&next);
        let both = before.iter().flatten().zip(next.iter().flatten());
        let changed = both.filter(|(before, now)| before != now).count();
        println!(
            "# {plane:?} after {} s: {reached} of {pairs} pairs, {changed} routes changed, in {:.0} s",
            now.as_secs(),
            start.elapsed().as_secs_f64()
        );
        let is_stable = next == before;
        before = next;
        if reached == pairs {
            let (first, _) = *whole.get_or_insert((now.as_secs(), longest));
            // What is sent on the way is not yet of an overlay that has settled.
            if is_stable || now.as_secs() >= first + MOST {
                break;
            }
        }
    }
    let members = (0..hosts.len()).filter_map(|place| world.member(overlay, place));
    let (messages, bytes) = members.fold((0, 0), |(messages, bytes), member| {
        let counters = member.counters();
        (messages + counters.messages, bytes + counters.message_bytes)
    });
    let totals = world.totals();
    assert!(totals.is_conserved(), "{totals:?}");
    let (second, longest) = whole?;
    println!(
        "# {plane:?}: {} members on {} nodes, each reaches each after {second} s by {longest} hops at most; \
         {messages} messages, {:.1} GB, {:.1} M link hops",
        hosts.len(),
        network.nodes.len(),
        bytes as f64 / 1e9,
        totals.hops as f64 / 1e6,
    );
    let share = send(&mut world, overlay, hosts.len());
    println!("# {plane:?}: in {:.0} s", start.elapsed().as_secs_f64());
    Some((second, share))
}

fn main() {
    let mut words = std::env::args().skip(1).peekable();
    let is_file = words.next_if(|word| word == "file").is_some();
    let mut numbers = words.map(|word| word.parse().expect("all but `file` are numbers"));
    let asked = numbers.next().unwrap_or(1000);
    let text = written(asked);
    let planes = [Plane::Mesh, Plane::Delay];
    if is_file {
        let plane = planes[numbers.next().unwrap_or(1)];
        let members = members(&parsed(text.clone()), asked);
        print!("{text}{}", sections(&members, plane));
        return;
    }
    let threads = numbers.next().unwrap_or(2);
    let network = parsed(text);
    let hosts = members(&network, asked);
    let only = numbers.next();
    for (number, plane) in planes.into_iter().enumerate() {
        if only.is_some_and(|only| only != number) {
            continue;
        }
        let joined = join(&network, &hosts, plane, threads);
        let name = name_of(plane);
        let (second, share) = joined.map_or((f64::INFINITY, 0.0), |(second, share)| (second as f64, share));
        let word = if second <= MOST as f64 { "ok" } else { "short" };
        println!("bar simulator.members_{name} {second} s <= {MOST} {word}");
        let word = if share >= LEAST { "ok" } else { "short" };
        println!("bar simulator.members_{name}_received {share:.3} share >= {LEAST} {word}");
    }
}
