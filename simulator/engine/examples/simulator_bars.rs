//! How fast one core simulates, against its bars and its own bare event loop.
#![allow(clippy::print_stdout)]

#[path = "../tests/support/mod.rs"]
mod support;

use plait_model_quantity::Bandwidth;
use plait_model_topology::random::SplitMix64;
use plait_simulator_engine::{EventQueue, FlowSpec};
use std::time::{Duration, Instant};
use support::{address, conditions, fat_tree};

/// Events a second of the queue alone: each event is taken and followed by another, as many at once as the network has.
fn bare(pending: usize, events: u64) -> f64 {
    let mut queue = EventQueue::default();
    let mut random = SplitMix64::new(7);
    for number in 0..pending {
        queue.push(random.draw() >> 48, number as u32);
    }
    let start = Instant::now();
    let mut sum = 0u64;
    for _ in 0..events {
        let Some((at, number)) = queue.first() else { break };
        sum ^= at;
        queue.replace_first(at + 1 + (random.draw() >> 48), number);
    }
    std::hint::black_box(sum);
    events as f64 / start.elapsed().as_secs_f64()
}

/// Link-hop events a second on a k=8 fat-tree, and how many events wait at once.
fn hops(threads: usize, simulated: Duration) -> (f64, u64, usize) {
    let links = conditions(&[("rate", "1Gbit"), ("delay", "10us"), ("loss", "0.01%"), ("queue", "100KB")]);
    let (builder, hosts) = fat_tree(1, 8, &links);
    let mut simulation = builder.build_parallel(threads).expect("a fat-tree can be built");
    let mut order = hosts.clone();
    SplitMix64::new(3).shuffle(&mut order);
    for (at, from) in hosts.iter().enumerate() {
        for other in 0..4 {
            let to = order[(at + other * 31 + 1) % order.len()];
            if to != *from {
                let rate = Bandwidth::from_bits_per_second(150_000_000);
                let ports = [1000 + other as u16, 9];
                simulation
                    .add_flow(&FlowSpec::constant(address(*from), address(to), ports, rate))
                    .expect("every host has its address");
            }
        }
    }
    simulation.run_until(Duration::from_millis(2));
    let before = simulation.totals().hops;
    let start = Instant::now();
    simulation.run_until(Duration::from_millis(2) + simulated);
    let took = start.elapsed().as_secs_f64();
    let totals = simulation.totals();
    assert!(totals.is_conserved(), "{totals:?}");
    ((totals.hops - before) as f64 / took, totals.hops, simulation.pending_events())
}

fn main() {
    let simulated = Duration::from_millis(500);
    let best = |runs: Vec<f64>| runs.into_iter().fold(0.0, f64::max) / 1e6;
    let (_, events, pending) = hops(1, Duration::from_millis(20));
    println!("# fat-tree k=8, {pending} events wait at once, {events} hops in the first 22 ms");
    let bare = best((0..5).map(|_| bare(pending, 5_000_000)).collect());
    let one = best((0..3).map(|_| hops(1, simulated).0).collect());
    let two = best((0..3).map(|_| hops(2, simulated).0).collect());
    println!("# bare event loop {bare:.1} M events/s, two threads {two:.1} M hops/s");
    bar("simulator.hops_per_second", one, "M/s", 5.0);
    bar("simulator.share_of_bare_loop", one / bare, "of bare", 0.5);
}

fn bar(name: &str, value: f64, unit: &str, bound: f64) {
    let word = if value >= bound { "ok" } else { "short" };
    println!("bar {name} {value:.2} {unit} >= {bound} {word}");
}
