//! What a request costs a learning switch: `cargo run --release --package plait-control-forwarding --example learning_cost`.

use plait_control_forwarding::{LearningSwitch, Stations, Switching};
use plait_control_openflow::{Order, PacketIn, PacketIns, Port, Version};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::openflow::chop;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SWITCHES: u64 = 16;
const STATIONS: u64 = 1000;
const BATCH: u64 = 500;
const PORTS: u64 = 24;
/// Requests that a switch has in a read.
const READ: u64 = 20;

fn mac(station: u64) -> Mac {
    let [.., c, d, e, f] = station.to_be_bytes();
    Mac([2, 0, c, d, e, f])
}

fn port(station: u64) -> Port {
    Port(1 + (station % PORTS) as u32)
}

/// How many flows an order is.
fn messages(order: Order<'_>) -> usize {
    let Order::Written(_, mut rest) = order else { return 0 };
    let mut count = 0;
    while let Ok(Some((_, after))) = chop(rest) {
        (rest, count) = (after, count + 1);
    }
    count
}

fn main() {
    let config = LearningSwitch::default();
    let switching = Switching::new(&config);
    let mut stations = Stations::default();
    for switch in 0..SWITCHES {
        for station in 0..STATIONS {
            stations.learn(switch, mac(station), port(station), config.stations);
        }
    }
    // The order in which switches and stations come is that of a linear congruence: far apart, and the same each time.
    let mut state = 1u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let (mut flows, mut took) = (0, Duration::ZERO);
        for _ in 0..200 {
            // As a worker's batch, it was read just before.
            let mut batch = PacketIns::default();
            let mut switch = 0;
            while (batch.len() as u64) < BATCH {
                // As they were read: some of one switch, then some of another.
                if (batch.len() as u64).is_multiple_of(READ) {
                    switch = draw(SWITCHES);
                }
                let (from, to) = (draw(STATIONS), draw(STATIONS));
                if from % PORTS == to % PORTS {
                    continue;
                }
                let mut frame = [0; 60];
                frame[..6].copy_from_slice(&mac(to).0);
                frame[6..12].copy_from_slice(&mac(from).0);
                batch.push(&PacketIn {
                    switch,
                    version: Version::V10,
                    in_port: port(from),
                    buffer: Some(1),
                    reason: 0,
                    table: 0,
                    cookie: u64::MAX,
                    total_length: 60,
                    frame: &frame,
                });
            }
            let batch = Arc::new(batch);
            let start = Instant::now();
            let (commands, learned) = switching.packets(&batch, Some(&stations), None);
            assert!(learned.list.is_empty());
            flows += commands.iter().map(|(_, order)| messages(order)).sum::<usize>();
            drop(commands);
            took += start.elapsed();
        }
        assert_eq!(flows as u64, 200 * BATCH);
        best = best.min(took.as_nanos() as f64 / flows as f64);
    }
    println!(
        "bar learning-switch-request {best:.1} ns <= 150 {}",
        if best <= 150.0 { "ok" } else { "short" }
    );
    // A flood: addresses that nobody has, into a table that is full.
    let mut flooded = Stations::default();
    let full = config.stations as u64;
    for station in 0..full {
        flooded.learn(0, mac(station), port(station), config.stations);
    }
    let mut best = f64::INFINITY;
    for round in 1..20 {
        // As each run begins: with a copy of what others read.
        let mut next = flooded.clone();
        let start = Instant::now();
        for station in 0..BATCH {
            next.learn(0, mac(full + round * BATCH + station), port(station), config.stations);
        }
        best = best.min(start.elapsed().as_nanos() as f64 / BATCH as f64);
        flooded = next;
    }
    println!(
        "bar learning-switch-flood {best:.0} ns <= 5000 {}",
        if best <= 5000.0 { "ok" } else { "short" }
    );
}
