//! The same network and seed give the same bytes, on any number of threads.

mod support;

use plait_model_link::{
    AqmSpec, CodelSpec, ConditionsSpec, DisciplineSpec, DistributionSpec, GilbertElliottSpec, JitterShape,
    LossModel, QueueShape, RedSpec,
};
use plait_model_quantity::{Bandwidth, Probability};
use plait_model_topology::random::SplitMix64;
use plait_simulator_engine::*;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use support::{address, conditions, fat_tree, link, node};

/// Answers each datagram, and asks the next node of a list every few milliseconds.
struct Chatter {
    others: Vec<SocketAddr>,
    next: Duration,
    asked: usize,
    answers: u64,
    log: u64,
    out: Vec<Transmit>,
}

impl Chatter {
    fn new(others: Vec<SocketAddr>) -> Self {
        Self { others, next: Duration::ZERO, asked: 0, answers: 0, log: 0, out: Vec::new() }
    }

    fn say(&mut self, destination: SocketAddr, payload: Vec<u8>) {
        self.out.push(Transmit::to(destination, payload));
    }
}

impl Host for Chatter {
    fn handle_datagram(&mut self, now: Duration, datagram: &Datagram<'_>) {
        let seen = datagram
            .payload
            .iter()
            .fold(now.as_nanos() as u64, |sum, byte| sum.rotate_left(7) ^ u64::from(*byte));
        self.log = self.log.rotate_left(5) ^ seen;
        match datagram.payload {
            [0, rest @ ..] => self.say(datagram.source, [&[1], rest].concat()),
            _ => self.answers += 1,
        }
    }

    fn handle_timeout(&mut self, now: Duration) {
        if now >= self.next {
            self.next = now + Duration::from_micros(1700);
            let to = self.others[self.asked % self.others.len()];
            self.asked += 1;
            self.say(to, vec![0; 40 + self.asked % 100]);
        }
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.out.pop()
    }

    fn poll_timeout(&self) -> Option<Duration> {
        Some(self.next)
    }
}

/// Everything that there is to see of a run, as text.
fn everything(simulation: &mut Simulation, hosts: &[HostIndex]) -> String {
    let mut text = format!("{:?}\n", simulation.totals());
    for flow in 0..simulation.flows() {
        writeln!(text, "{:?}", simulation.flow_counters(FlowIndex(flow as u32))).unwrap();
    }
    for node in 0..simulation.nodes() {
        writeln!(text, "{:?}", simulation.node_counters(NodeIndex(node as u32))).unwrap();
    }
    for link in 0..simulation.links() {
        for side in [0, 1] {
            let link = LinkIndex(link as u32);
            writeln!(text, "{:?} {:?}", simulation.link_state(link, side), simulation.journal(link, side))
                .unwrap();
        }
    }
    for host in hosts {
        let host = simulation.host::<Chatter>(*host).unwrap();
        writeln!(text, "{} {} {}", host.asked, host.answers, host.log).unwrap();
    }
    writeln!(text, "{:?}", simulation.pcapng()).unwrap();
    text
}

/// A fat-tree with traffic, protocols, captures, failures and changes, until the end: everything that there is to see of it.
fn run(seed: u64, threads: usize) -> String {
    let (mut simulation, hosts) = ran(seed, threads);
    everything(&mut simulation, &hosts)
}

fn ran(seed: u64, threads: usize) -> (Simulation, Vec<HostIndex>) {
    let wires = conditions(&[("rate", "100Mbit"), ("delay", "50us"), ("loss", "0.5%"), ("queue", "30KB")]);
    let (builder, hosts) = fat_tree(seed, 4, &wires);
    let mut simulation = builder.build_parallel(threads).unwrap();
    assert_eq!(simulation.threads(), threads);
    for (at, from) in hosts.iter().enumerate() {
        let to = address(hosts[(at + 5) % hosts.len()]);
        let rate = Bandwidth::from_bits_per_second(60_000_000);
        for (number, arrivals) in [Arrivals::Poisson(rate), Arrivals::Constant(rate)].into_iter().enumerate()
        {
            let ports = [number as u16, 7];
            let spec = FlowSpec { arrivals, ..FlowSpec::constant(address(*from), to, ports, rate) };
            simulation.add_flow(&spec).unwrap();
        }
    }
    let all: Vec<SocketAddr> = hosts.iter().map(|host| SocketAddr::new(address(*host), 99)).collect();
    let indices: Vec<HostIndex> = hosts
        .iter()
        .map(|host| simulation.add_host(*host, 99, Box::new(Chatter::new(all.clone()))).unwrap())
        .collect();
    simulation.add_capture(hosts[3], 0);
    simulation.add_capture(NodeIndex(20), 1);
    let ms = Duration::from_millis;
    simulation.run_until(ms(5));
    simulation.set_link_up(LinkIndex(20), 0, false);
    simulation.run_until(ms(9));
    simulation.set_node_up(NodeIndex(33), false);
    simulation.set_link_up(LinkIndex(20), 0, true);
    let slower = conditions(&[("rate", "40Mbit"), ("delay", "10us"), ("jitter", "10us"), ("queue", "30KB")]);
    simulation.set_conditions(LinkIndex(30), 1, slower);
    simulation.with_host(indices[4], |chatter: &mut Chatter| chatter.others.truncate(3)).unwrap();
    simulation.run_until(ms(14));
    simulation.set_node_up(NodeIndex(33), true);
    // From here on packets cross at once where parts were cut, perhaps.
    simulation.set_conditions(LinkIndex(17), 0, conditions(&[]));
    simulation.run_until(ms(20));
    assert!(simulation.totals().is_conserved());
    assert!(simulation.totals().received > 1000);
    (simulation, indices)
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let one = run(1, 1);
    assert_eq!(one, run(1, 1));
    for threads in [2, 3, 4] {
        assert!(one == run(1, threads), "{threads} threads differ from one");
    }
    assert_ne!(one, run(2, 1));
}

/// What was captured, every instant in it, and what flows and hosts counted are what they were where this digest was written
/// down. Who changes what is drawn, or in which order, changes it, and says so to those who keep results.
#[test]
fn any_machine_gives_the_same_bytes() {
    let (simulation, hosts) = ran(1, 2);
    let mut digest = Sha256::new_with_prefix(simulation.pcapng());
    for flow in 0..simulation.flows() {
        let seen = simulation.flow_counters(FlowIndex(flow as u32));
        digest.update(
            [seen.sent, seen.received, seen.bytes, seen.delay_sum, seen.last].map(u64::to_be_bytes).concat(),
        );
    }
    for host in hosts {
        let host = simulation.host::<Chatter>(host).unwrap();
        digest.update([host.asked as u64, host.answers, host.log].map(u64::to_be_bytes).concat());
    }
    let digest = format!("{:x}", digest.finalize());
    assert_eq!(digest, "4cb0a215dd08cc3b401722b1db3238105bccdb8933b8ec0357a48d843699e80f");
}

/// A row of links, each of which draws and decides by another model.
fn row_of_models(seed: u64) -> (Simulation, Vec<NodeIndex>) {
    let jitter = |distribution, overtake| {
        let spread = Some("300us".parse().unwrap());
        Some(JitterShape { spread, distribution, overtake }.into())
    };
    let queue = |aqm| {
        let discipline = DisciplineSpec::Aqm(aqm);
        Some(QueueShape { limit: Some("60p".parse().unwrap()), discipline }.into())
    };
    let percent = |text: &str| text.parse::<Probability>().unwrap();
    let gilbert = GilbertElliottSpec {
        p: percent("2%"),
        r: percent("30%"),
        good_loss: Some(percent("0.1%")),
        bad_loss: Some(percent("70%")),
    };
    let red = RedSpec {
        min: "5p".parse().unwrap(),
        max: "30p".parse().unwrap(),
        probability: Some(percent("10%")),
        weight: Some(percent("1%")),
        ecn: false,
    };
    let codel = CodelSpec {
        target: Some("1ms".parse().unwrap()),
        interval: Some("10ms".parse().unwrap()),
        ecn: false,
    };
    let plain = |settings: &[(&str, &str)]| ConditionsSpec::from_settings(settings).unwrap();
    let slow = || plain(&[("rate", "8Mbit"), ("delay", "1ms")]);
    let models = [
        ConditionsSpec { jitter: jitter(DistributionSpec::Normal, true), ..plain(&[("delay", "1ms")]) },
        ConditionsSpec { jitter: jitter(DistributionSpec::Pareto, true), ..plain(&[("delay", "1ms")]) },
        ConditionsSpec { jitter: jitter(DistributionSpec::Normal, false), ..plain(&[("delay", "1ms")]) },
        ConditionsSpec { loss: Some(LossModel::GilbertElliott(gilbert).into()), ..plain(&[]) },
        plain(&[("reorder", "5%"), ("delay", "500us"), ("duplicate", "1%"), ("corrupt", "1%")]),
        ConditionsSpec { queue: queue(AqmSpec::Red(red)), ..slow() },
        ConditionsSpec { queue: queue(AqmSpec::Codel(codel)), ..slow() },
    ];
    let mut builder = Builder::new(seed);
    let kind = |place| if place == 0 || place == models.len() { Kind::Host } else { Kind::Router };
    let nodes: Vec<NodeIndex> =
        (0..=models.len()).map(|place| node(&mut builder, format!("n{place}"), kind(place))).collect();
    for (ends, model) in nodes.windows(2).zip(&models) {
        let conditions = Arc::new(model.build(&|_| Err("no traces".into())).unwrap());
        link(&mut builder, ends[0], ends[1], &conditions);
    }
    builder.shortest_path_routes();
    (builder.build().unwrap(), nodes)
}

/// As above, of all that links and sources draw by: normal and Pareto jitter, bursts of loss, RED, CoDel, exponential sizes, sources
/// that are on and off.
#[test]
fn every_model_draws_the_same_on_any_machine() {
    let (mut simulation, nodes) = row_of_models(7);
    let [from, to] = [nodes[0], nodes[nodes.len() - 1]].map(address);
    let rate = Bandwidth::from_bits_per_second(3_500_000);
    let ms = Duration::from_millis;
    let arrivals = [
        Arrivals::OnOff { rate, on: ms(30), off: ms(20) },
        Arrivals::Poisson(rate),
        Arrivals::Constant(rate),
    ];
    for (port, arrivals) in (1..).zip(arrivals) {
        for (size, [from, to]) in [(Size::Exponential(600), [from, to]), (Size::Constant(900), [to, from])] {
            let spec = FlowSpec { arrivals, size, ..FlowSpec::constant(from, to, [port, 7], rate) };
            simulation.add_flow(&spec).unwrap();
        }
    }
    for (place, node) in nodes.iter().take(nodes.len() - 1).enumerate() {
        simulation.add_capture(*node, usize::from(place > 0));
    }
    simulation.run_until(Duration::from_secs(2));
    assert!(simulation.totals().is_conserved());
    assert!(simulation.totals().received > 2000, "{:?}", simulation.totals());
    let mut digest = Sha256::new_with_prefix(simulation.pcapng());
    for flow in 0..simulation.flows() {
        let seen = simulation.flow_counters(FlowIndex(flow as u32));
        assert!(seen.received > 100 && seen.received < seen.sent, "{seen:?}");
        digest.update(
            [seen.sent, seen.received, seen.bytes, seen.delay_sum, seen.last].map(u64::to_be_bytes).concat(),
        );
    }
    let digest = format!("{:x}", digest.finalize());
    assert_eq!(digest, "ea8d787f5e8c2f09e6e760f946e581e9e5c8fdfe4f15df7ae8351fa877194342");
}

#[test]
fn many_cells_at_once_give_what_each_gives_alone() {
    let seeds = [3, 4, 5, 6, 7];
    let alone: Vec<String> = seeds.iter().map(|seed| run(*seed, 1)).collect();
    assert!(sweep(&seeds, 2, |seed| run(*seed, 1)) == alone);
}

fn any_wire() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let one_of = |key: &'static str, values: &'static [&'static str]| {
        prop::sample::select(values).prop_map(move |value| (key, value))
    };
    (
        one_of("rate", &["none", "1Mbit", "33Mbit"]),
        one_of("delay", &["0ms", "1us", "3ms"]),
        one_of("loss", &["0%", "20%"]),
        one_of("duplicate", &["0%", "10%"]),
        one_of("corrupt", &["0%", "10%"]),
        one_of("jitter", &["0ms", "1ms"]),
        one_of("reorder", &["0%", "15%"]),
        one_of("queue", &["5ms", "3p", "20KB"]),
    )
        .prop_map(|(a, b, c, d, e, f, g, h)| {
            // What has no delay cannot skip it.
            let reorder = if b.1 == "0ms" { ("reorder", "0%") } else { g };
            vec![a, b, c, d, e, f, reorder, h]
        })
}

#[derive(Debug, Clone)]
enum Step {
    Run(u64),
    Link(usize, usize, bool),
    Node(usize, bool),
    Change(usize, usize, Vec<(&'static str, &'static str)>),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1u64..8_000_000).prop_map(Step::Run),
        1 => (any::<usize>(), 0..2usize, any::<bool>()).prop_map(|(link, side, up)| Step::Link(link, side, up)),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(node, up)| Step::Node(node, up)),
        1 => (any::<usize>(), 0..2usize, any_wire()).prop_map(|(link, side, wire)| Step::Change(link, side, wire)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Random networks with some switches and hosts, wires of any kind, overload, failures and changes.
    #[test]
    fn every_packet_is_accounted_for_on_any_number_of_threads(
        seed: u64,
        wires in prop::collection::vec(any_wire(), 1..4),
        size in 3usize..12,
        steps in prop::collection::vec(any_step(), 1..12),
        threads in 2usize..5,
    ) {
        let run = |threads: usize| {
            let mut random = SplitMix64::new(seed);
            let mut builder = Builder::new(seed);
            let kinds = [Kind::Router, Kind::Router, Kind::Host, Kind::Switch];
            let nodes: Vec<NodeIndex> = (0..size)
                .map(|at| {
                    let kind = if at < 2 { Kind::Router } else { kinds[random.below(4)] };
                    node(&mut builder, format!("n{at}"), kind)
                })
                .collect();
            for at in 1..size {
                for _ in 0..2 {
                    let wire = &wires[random.below(wires.len())];
                    link(&mut builder, nodes[at], nodes[random.below(at)], &conditions(wire));
                }
            }
            builder.shortest_path_routes();
            let mut simulation = builder.build_parallel(threads).unwrap();
            for port in 0..6 {
                let [from, to] = [random.below(size), random.below(size)].map(|at| address(nodes[at]));
                let rate = Bandwidth::from_bits_per_second(20_000_000);
                let mut spec = FlowSpec::constant(from, to, [port, 1], rate);
                spec.arrivals = if port % 2 == 0 { Arrivals::Poisson(rate) } else { spec.arrivals };
                // Switches have no address, so some flows are refused.
                let _ = simulation.add_flow(&spec);
            }
            for step in &steps {
                match step {
                    Step::Run(nanos) => {
                        simulation.run_until(simulation.now() + Duration::from_nanos(*nanos));
                        assert!(simulation.totals().is_conserved(), "{:?}", simulation.totals());
                    }
                    Step::Link(link, side, up) => {
                        simulation.set_link_up(LinkIndex((link % simulation.links()) as u32), *side, *up);
                    }
                    Step::Node(node, up) => simulation.set_node_up(NodeIndex((node % size) as u32), *up),
                    Step::Change(link, side, wire) => {
                        let link = LinkIndex((link % simulation.links()) as u32);
                        simulation.set_conditions(link, *side, conditions(wire));
                    }
                }
            }
            assert!(simulation.totals().is_conserved());
            everything(&mut simulation, &[])
        };
        prop_assert_eq!(run(1), run(threads));
    }
}
