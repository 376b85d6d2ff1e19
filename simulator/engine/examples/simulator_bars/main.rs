//! How fast one core simulates, against its bars, its own bare event loop and ns-3.
//!
//! ```text
//! simulator_bars [--ns3 PROGRAM]
//! ```
//!
//! The program is `rival.cc`, compiled; without it nothing is said of ns-3.
#![allow(clippy::print_stdout)]

mod loops;
mod rival;
#[path = "../../tests/support/mod.rs"]
mod support;

use loops::{Plain, bare, by_hand};
use plait_model_quantity::Bandwidth;
use plait_model_topology::random::SplitMix64;
use plait_simulator_engine::{Builder, FlowSpec, Kind, NodeIndex};
use std::time::{Duration, Instant};
use support::{address, conditions, fat_tree, link, node};

/// Seconds that this thread has had of a processor: what others do on the machine does not count.
fn processor_time() -> f64 {
    let text =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux says how long a thread ran");
    let nanos: f64 = text.split(' ').next().and_then(|nanos| nanos.parse().ok()).expect("a number");
    nanos / 1e9
}

/// What hosts send, 600 Mbit/s each, and over which links.
#[derive(Clone, Copy)]
struct Load {
    /// Flows of a host.
    flows: usize,
    /// Of each link.
    delay: &'static str,
}

/// From few events that wait at once to many.
const LOADS: [Load; 4] = [
    Load { flows: 4, delay: "10us" },
    Load { flows: 16, delay: "50us" },
    Load { flows: 32, delay: "200us" },
    Load { flows: 64, delay: "1ms" },
];

impl Load {
    /// Of each flow.
    fn rate_kbit(self) -> u64 {
        600_000 / self.flows as u64
    }

    /// Flows from each host: from, to and source port.
    fn pairs(self, hosts: &[NodeIndex]) -> impl Iterator<Item = (NodeIndex, NodeIndex, u16)> + '_ {
        let mut order = hosts.to_vec();
        SplitMix64::new(3).shuffle(&mut order);
        (0..hosts.len() * self.flows).filter_map(move |number| {
            let (host, flow) = (number / self.flows, number % self.flows);
            let (from, to) = (hosts[host], order[(host + flow * 31 + 1) % order.len()]);
            (from != to).then_some((from, to, 1000 + flow as u16))
        })
    }
}

/// Link-hop events a second.
#[derive(Clone, Copy)]
struct Rate {
    /// Of a processor of this thread's.
    of_processor: f64,
    /// Of the clock on the wall.
    of_wall: f64,
}

/// Hops a second on a k=8 fat-tree, and how many packets are under way in the end.
fn hops(load: Load, threads: usize, simulated: Duration) -> (Rate, u64) {
    let links =
        conditions(&[("rate", "1Gbit"), ("delay", load.delay), ("loss", "0.01%"), ("queue", "100KB")]);
    let (builder, hosts) = fat_tree(1, 8, &links);
    let mut simulation = builder.build_parallel(threads).expect("a fat-tree can be built");
    for (from, to, port) in load.pairs(&hosts) {
        let rate = Bandwidth::from_bits_per_second(load.rate_kbit() * 1000);
        let spec = FlowSpec::constant(address(from), address(to), [port, 9], rate);
        simulation.add_flow(&spec).expect("every host has its address");
    }
    // Until as many packets are under way as will be.
    const BEGIN: Duration = Duration::from_millis(10);
    simulation.run_until(BEGIN);
    let before = simulation.totals().hops;
    let (start, wall) = (processor_time(), Instant::now());
    simulation.run_until(BEGIN + simulated);
    let (of_processor, of_wall) = (processor_time() - start, wall.elapsed().as_secs_f64());
    let totals = simulation.totals();
    assert!(totals.is_conserved(), "{totals:?}");
    let hops = (totals.hops - before) as f64;
    (Rate { of_processor: hops / of_processor, of_wall: hops / of_wall }, totals.under_way)
}

/// Least that two threads do of what one does. Choice: they meet at each 10 µs of the first load's links, after some six hundred
/// hops, and none goes on before both are there; what that and the packets that cross take is more than a third of what the second
/// could do. Less than a fifth more would be worth no second processor.
const TWO_THREADS: f64 = 1.2;

/// Holds two threads against one by the clock on the wall, which alone says what they do together: the best of five turns of each.
fn in_parallel(simulated: Duration) {
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() < 2) {
        return println!("# no bar of two threads: there is one processor, which they would share");
    }
    let mut best = [0.0f64; 2];
    for _ in 0..5 {
        for (best, threads) in best.iter_mut().zip([1, 2]) {
            *best = best.max(hops(LOADS[0], threads, simulated).0.of_wall / 1e6);
        }
    }
    let [one, two] = best;
    println!("# by the clock on the wall one thread {one:.1} M hops/s, two {two:.1}");
    bar("simulator.two_threads", two / one, "of one", true, TWO_THREADS);
}

/// Bytes of memory that this process has in use.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux says how much memory a process has");
    let pages: f64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("pages are a number");
    pages * 4096.0
}

/// Bytes of an idle node: 50,000 hosts, each with its link, on routers without routes.
fn idle_node() -> f64 {
    const HOSTS: usize = 50_000;
    let before = resident();
    let wire = conditions(&[("rate", "1Gbit"), ("delay", "10us")]);
    let mut builder = Builder::new(1);
    let mut router = node(&mut builder, "r", Kind::Router);
    for number in 0..HOSTS {
        if number % 100 == 99 {
            router = node(&mut builder, "r", Kind::Router);
        }
        let host = node(&mut builder, format!("h{number}"), Kind::Host);
        link(&mut builder, host, router, &wire);
    }
    let mut simulation = builder.build().expect("nothing is wrong with it");
    simulation.run_until(Duration::from_secs(1));
    let bytes = (resident() - before) / simulation.nodes() as f64;
    drop(simulation);
    bytes
}

/// Bytes of a packet that waits: a million of them in one queue, just after it grew.
fn queued_packet() -> f64 {
    const PACKETS: u32 = (1 << 20) + 1;
    let mut builder = Builder::new(1);
    let [a, b] = ["a", "b"].map(|name| node(&mut builder, name, Kind::Host));
    let slow = conditions(&[("rate", "1kbit"), ("queue", "2000000p")]);
    link(&mut builder, a, b, &slow);
    builder.shortest_path_routes();
    let mut simulation = builder.build().expect("nothing is wrong with it");
    let rate = Bandwidth::from_bits_per_second(1_000_000_000_000);
    let spec = FlowSpec { limit: Some(PACKETS), ..FlowSpec::constant(address(a), address(b), [1, 2], rate) };
    simulation.add_flow(&spec).expect("both are there");
    let before = resident();
    simulation.run_until(Duration::from_secs(1));
    let waiting = simulation.totals().under_way;
    assert_eq!(waiting, u64::from(PACKETS));
    (resident() - before) / waiting as f64
}

/// How often each loop runs, in turn. Of rates the fastest counts. Choice: as often as it takes for each to have some seconds in which
/// nobody else is at work on a shared machine.
const ROUNDS: usize = 7;

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a loop does by what another one does, in the middle of all rounds. Choice: of each round by itself, since loops that run one
/// behind the other are left alike by the machine's neighbours; the fastest round of one may be of a minute that the other had not.
fn share(of: &[f64], by: &[f64]) -> f64 {
    middle(of.iter().zip(by).map(|(of, by)| of / by).collect())
}

/// Microseconds that a hop takes under a load, in the middle of rounds.
#[derive(Default)]
struct HopTimes {
    ours: f64,
    bare: f64,
}

impl HopTimes {
    fn of(ours: &[f64], bares: &[f64]) -> Self {
        let time = |rates: &[f64]| middle(rates.iter().map(|rate| 1e6 / rate).collect());
        Self { ours: time(ours), bare: time(bares) }
    }

    fn and(self, other: Self) -> Self {
        Self { ours: self.ours + other.ours, bare: self.bare + other.bare }
    }
}

fn main() {
    let simulated = Duration::from_millis(300);
    let best = |runs: &[f64]| runs.iter().copied().fold(0.0, f64::max) / 1e6;
    let idle = idle_node();
    let packet = queued_packet();
    let (mut all, mut fastest, mut of_the_first) = (HopTimes::default(), 0.0, None);
    for load in LOADS {
        let plain = Plain::of(load);
        let (mut bares, mut hands, mut ours, mut under_way) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for _ in 0..ROUNDS {
            bares.push(bare(&plain, simulated));
            hands.push(by_hand(&plain, simulated));
            let (rate, packets) = hops(load, 1, simulated);
            ours.push(rate.of_processor);
            under_way = packets;
        }
        let of_bare = share(&ours, &bares);
        println!(
            "# fat-tree k=8, {} flows a host, links of {}: {under_way} packets under way; here {:.1} M hops/s, {of_bare:.2} of the \
             bare event loop, {:.1}; by hand {:.1}, {:.2} of it",
            load.flows,
            load.delay,
            best(&ours),
            best(&bares),
            best(&hands),
            share(&hands, &bares)
        );
        all = all.and(HopTimes::of(&ours, &bares));
        fastest += 1.0 / best(&ours);
        of_the_first.get_or_insert(of_bare);
    }
    // Choice: bars are of as many hops under each load. Few events that wait are the bare loop's best case, many are its worst, and
    // what the machine's neighbours leave of its cache decides how much; no one load stands for all.
    let rate = LOADS.len() as f64 / fastest;
    bar("simulator.hops_per_second", rate, "M/s", true, 5.0);
    goal("simulator.hops_per_second", rate, "M/s", 10.0);
    bar("simulator.share_of_bare_loop", all.bare / all.ours, "of bare", true, 0.5);
    goal("simulator.share_of_bare_loop_first_load", of_the_first.unwrap_or_default(), "of bare", 0.5);
    in_parallel(simulated);
    bar("simulator.idle_node", idle, "B", false, 1024.0);
    bar("simulator.queued_packet", packet, "B", false, 200.0);
    let mut words = std::env::args().skip_while(|word| word != "--ns3").skip(1);
    match words.next() {
        Some(program) => beside_ns3(&program),
        None => println!("# no ns-3 beside: give --ns3 PROGRAM"),
    }
}

/// The least of three runs each, in turn.
fn beside_ns3(program: &str) {
    let runs: Vec<rival::Compared> = (0..3).map(|_| rival::compare(program, 1000)).collect();
    let [ours, theirs] = [0, 1].map(|which| runs.iter().map(|run| run.took[which]).fold(f64::MAX, f64::min));
    let rival::Compared { received, hops, events, alike, farthest, .. } = runs[0];
    println!(
        "# {received} datagrams arrive in both worlds over {hops} hops; the last of {alike} flows at the same nanosecond, \
         of others at most {farthest} ns apart"
    );
    println!("# {ours:.3} s of a processor here, {theirs:.3} s in ns-3, which handles {events} events");
    bar("simulator.ns3_ratio", ours / theirs, "x", false, 0.1);
}

fn bar(name: &str, value: f64, unit: &str, at_least: bool, bound: f64) {
    let (sign, holds) = if at_least { (">=", value >= bound) } else { ("<=", value <= bound) };
    println!("bar {name} {value:.3} {unit} {sign} {bound} {}", held(holds));
}

fn goal(name: &str, value: f64, unit: &str, bound: f64) {
    println!("goal {name} {value:.3} {unit} >= {bound} {}", held(value >= bound));
}

fn held(holds: bool) -> &'static str {
    if holds { "ok" } else { "short" }
}
