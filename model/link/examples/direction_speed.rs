//! How fast one core decides: packets a second through one direction, for the kinds of conditions that cost most.
#![allow(clippy::print_stdout)]

use plait_model_link::{Conditions, ConditionsSpec, Direction, PacketInfo};
use std::time::Instant;

fn main() {
    const PACKETS: u64 = 5_000_000;
    for (name, settings) in [
        ("delay 20ms", &[("delay", "20ms")] as &[_]),
        ("rate drop-tail", &[("rate", "1Gbit"), ("queue", "10ms")]),
        ("rate and delay", &[("rate", "1Gbit"), ("delay", "20ms")]),
        ("all, in order", &[("rate", "1Gbit"), ("delay", "20ms"), ("jitter", "1ms"), ("loss", "1%")]),
    ] {
        let spec = ConditionsSpec::from_settings(settings).expect("settings are well written");
        let conditions: Conditions = spec.build(&|_| Err(String::new())).expect("conditions make sense");
        let mut direction = Direction::new(conditions, 7, 0);
        let start = Instant::now();
        let mut left = 0u64;
        for number in 0..PACKETS {
            let now = number * 12_112;
            while let Some(departure) = direction.depart(now) {
                left += departure.payload & 1;
            }
            direction.arrive(now, PacketInfo::frame(1514), number);
        }
        let rate = PACKETS as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{name:16} {rate:6.1} M packets/s, {:6.1} M events/s ({left} odd)", 2.0 * rate);
    }
}
