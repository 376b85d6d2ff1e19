//! The same network in ns-3 (`rival.cc`): flow for flow the same datagrams arrive, and each says how long it took.

use crate::support::{address, conditions, fat_tree};
use plait_model_quantity::Bandwidth;
use plait_simulator_engine::{FlowIndex, FlowSpec, LinkIndex, NodeIndex, Simulation};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What each flow sends: little enough that no link's hashes bring together more than it carries, since two worlds need
/// not drop the same packet.
const GAP: u64 = FRAME as u64 * 8 * 1000 / RATE_MBIT;
const RATE_MBIT: u64 = 80;
const FRAME: u32 = 1042;
/// From one flow's first datagram to the next one's: a whole gap for all.
const APART: u64 = 203;
const LINK_BITS: u64 = 1_000_000_000;
const DELAY: Duration = Duration::from_micros(10);
const QUEUE_PACKETS: u64 = 10_000;

/// Both worlds after the same traffic.
pub struct Compared {
    /// Seconds of a processor, ours and ns-3's, without building the network.
    pub took: [f64; 2],
    /// Datagrams that arrived, in both.
    pub received: u64,
    pub hops: u64,
    /// Events that ns-3 handled.
    pub events: u64,
    /// Flows whose last datagram came at the same nanosecond, and the farthest that others' are apart.
    pub alike: usize,
    pub farthest: u64,
}

/// Sends so many datagrams on each flow of a fat-tree of 8 ports.
pub fn compare(program: &str, packets: u32) -> Compared {
    let queue = format!("{QUEUE_PACKETS}p");
    let wire = conditions(&[("rate", "1Gbit"), ("delay", "10us"), ("queue", &queue)]);
    let (builder, hosts) = fat_tree(1, 8, &wire);
    let mut simulation = builder.build().expect("a fat-tree can be built");
    let network = describe(&simulation, &hosts);
    let mut flows = format!("{}\n", crate::LOADS[0].pairs(&hosts).count());
    for (number, (from, to, port)) in crate::LOADS[0].pairs(&hosts).enumerate() {
        // Each has a port of its own at its receiver, too, so that ns-3 finds its socket by it.
        let ports = [port, 20_000 + number as u16];
        let start = APART * number as u64;
        let spec = FlowSpec {
            start: Duration::from_nanos(start),
            limit: Some(packets),
            ..FlowSpec::constant(
                address(from),
                address(to),
                ports,
                Bandwidth::from_bits_per_second(RATE_MBIT * 1_000_000),
            )
        };
        simulation.add_flow(&spec).expect("every host has its address");
        let [here, there] = ports;
        writeln!(flows, "{} {} {here} {there} {start} {GAP} {packets} {FRAME}", from.0, to.0).expect("text");
    }
    // All has arrived by then.
    let end = Duration::from_nanos(GAP * u64::from(packets)) + Duration::from_secs(1);
    let begin = crate::processor_time();
    simulation.run_until(end);
    let ours = crate::processor_time() - begin;
    let totals = simulation.totals();
    assert_eq!((totals.sent, totals.under_way), (totals.received, 0), "something was lost: {totals:?}");
    let (theirs, events, seen) = ns3(program, &(network + &flows));
    assert_eq!(seen.len(), simulation.flows(), "ns-3 tells of each flow");
    let (mut alike, mut farthest) = (0, 0);
    for (number, (received, last)) in seen.into_iter().enumerate() {
        let flow = simulation.flow_counters(FlowIndex(number as u32));
        assert_eq!(received, flow.received, "datagrams of flow {number} that arrived in ns-3, and here");
        alike += usize::from(last == flow.last);
        farthest = farthest.max(last.abs_diff(flow.last));
    }
    Compared { took: [ours, theirs], received: totals.received, hops: totals.hops, events, alike, farthest }
}

/// Nodes, links and all next hops, as `rival.cc` reads them.
fn describe(simulation: &Simulation, hosts: &[NodeIndex]) -> String {
    let nodes = || (0..simulation.nodes() as u32).map(NodeIndex);
    let first = match address(NodeIndex(0)) {
        std::net::IpAddr::V4(first) => first.to_bits(),
        std::net::IpAddr::V6(_) => unreachable!("nodes have IPv4 addresses"),
    };
    let mut text = format!("{first} {}\n", simulation.nodes());
    for node in nodes() {
        writeln!(text, "{}", simulation.hash_seed(node)).expect("text");
    }
    writeln!(text, "{}", simulation.links()).expect("text");
    for link in 0..simulation.links() as u32 {
        let [a, b] = simulation.ends(LinkIndex(link));
        writeln!(text, "{} {} {LINK_BITS} {} {QUEUE_PACKETS}", a.0, b.0, DELAY.as_nanos()).expect("text");
    }
    let ways: Vec<String> = nodes()
        .flat_map(|node| hosts.iter().filter(move |to| **to != node).map(move |to| (node, to)))
        .map(|(node, to)| {
            let links = simulation.next_hops(node, address(*to));
            let names: Vec<String> = links.iter().map(|link| link.0.to_string()).collect();
            format!("{} {} {} {}\n", node.0, to.0, names.len(), names.join(" "))
        })
        .collect();
    text + &format!("{}\n", ways.len()) + &ways.concat()
}

/// Seconds of a processor and events of ns-3, and of each flow how many datagrams came, and when the last did.
fn ns3(program: &str, network: &str) -> (f64, u64, Vec<(u64, u64)>) {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    // It answers when it has read all.
    child.stdin.take().expect("a pipe").write_all(network.as_bytes()).expect("ns-3 reads the network");
    let output = child.wait_with_output().expect("ns-3 ends");
    assert!(output.status.success(), "{program} failed: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("it writes numbers");
    let mut lines = text.lines().map(|line| line.split_once(' ').expect("two numbers a line"));
    let (took, events) = lines.next().expect("a first line");
    let number = |text: &str| text.parse().expect("a number");
    let flows = lines.map(|(received, last)| (number(received), number(last))).collect();
    (took.parse().expect("seconds"), number(events), flows)
}
