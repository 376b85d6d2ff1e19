//! Queues against theory, and a link against the link itself.

mod support;

use plait_model_link::{Direction, PacketInfo, direction_seed};
use plait_model_quantity::{Bandwidth, TimeSpan};
use plait_simulator_engine::*;
use std::time::Duration;
use support::{address, conditions, node};

const RATE: u64 = 100_000_000;
const MEAN: u32 = 10_000;

/// The mean delay of a queue at 80 % of its rate, in seconds, with half its 99 % interval: batch means of one long run.
fn mean_delay(size: Size, seed: u64) -> (f64, f64) {
    let mut builder = Builder::new(seed);
    let [a, b] = ["a", "b"].map(|name| node(&mut builder, name, Kind::Host));
    let link = conditions(&[("rate", "100Mbit"), ("queue", "8GB")]);
    builder.link(LinkSpec { mtu: 16_000_000, ..LinkSpec::symmetric("a-b", [a, b], link) });
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    let rate = Bandwidth::from_bits_per_second(RATE * 8 / 10);
    let spec = FlowSpec {
        arrivals: Arrivals::Poisson(rate),
        size,
        ..FlowSpec::constant(address(a), address(b), [1, 2], rate)
    };
    let flow = simulation.add_flow(&spec).unwrap();
    // The queue fills from empty; what it does at first is not its mean.
    let batch = Duration::from_secs(40);
    simulation.run_until(batch);
    let mut means = Vec::new();
    for number in 2..32 {
        let before = simulation.flow_counters(flow);
        simulation.run_until(batch * number);
        let after = simulation.flow_counters(flow);
        let sum = after.delay_sum - before.delay_sum;
        means.push(sum as f64 / (after.received - before.received) as f64 / 1e9);
    }
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let variance = means.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // Student's t with 29 degrees of freedom at 99 %.
    (mean, 2.756 * (variance / count).sqrt())
}

/// Pollaczek and Khinchine's mean delay of an M/G/1 queue, in seconds: `first` and `second` moments of service.
fn pollaczek_khinchine(first: f64, second: f64) -> f64 {
    let arrivals = 0.8 / first;
    first + arrivals * second / (2.0 * (1.0 - arrivals * first))
}

/// Seconds that bytes take.
fn service(bytes: f64) -> f64 {
    bytes * 8.0 / RATE as f64
}

#[test]
fn an_m_d_1_queue_has_its_mean_delay() {
    let time = service(f64::from(MEAN + headers(false)));
    let theory = pollaczek_khinchine(time, time * time);
    let (mean, half) = mean_delay(Size::Constant(MEAN), 11);
    assert!((mean - theory).abs() < half, "{mean} ± {half}, theory {theory}");
    assert!(half < 0.05 * theory, "an interval of {half} around {mean} says little");
}

#[test]
fn an_m_m_1_queue_has_its_mean_delay() {
    // Exponential payloads, rounded down, behind headers of one size: nearly M/M/1, and exactly this M/G/1.
    let (payload, headers) = (f64::from(MEAN) - 0.5, f64::from(headers(false)));
    let first = service(payload + headers);
    let second =
        service(1.0).powi(2) * (2.0 * payload * payload + 2.0 * payload * headers + headers * headers);
    let theory = pollaczek_khinchine(first, second);
    let pure = 1.0 / (1.0 / first - 0.8 / first);
    assert!((theory / pure - 1.0).abs() < 0.02, "{theory} is no M/M/1, which has {pure}");
    let (mean, half) = mean_delay(Size::Exponential(MEAN), 12);
    assert!((mean - theory).abs() < half, "{mean} ± {half}, theory {theory}");
    assert!(half < 0.05 * theory, "an interval of {half} around {mean} says little");
}

#[test]
fn a_link_does_what_the_link_engine_does() {
    let settings =
        [("rate", "10Mbit"), ("delay", "3ms"), ("jitter", "1ms"), ("loss", "3%"), ("queue", "20KB")];
    let mut builder = Builder::new(77);
    let [a, b] = ["a", "b"].map(|name| node(&mut builder, name, Kind::Host));
    builder.link(LinkSpec::symmetric("a-b", [a, b], conditions(&settings)));
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    let rate = Bandwidth::from_bits_per_second(12_000_000);
    let spec = FlowSpec { limit: Some(5000), ..FlowSpec::constant(address(a), address(b), [1, 2], rate) };
    let flow = simulation.add_flow(&spec).unwrap();
    simulation.run_until(Duration::from_secs(60));
    let seen = simulation.flow_counters(flow);

    let mut direction = Direction::new(conditions(&settings), direction_seed(77, "a-b", 0), 0);
    let (mut delays, mut left, mut now, mut carry) = (0u64, 0u64, 0u64, 0u64);
    for number in 0..5000u64 {
        let frame = 1000 + headers(false);
        while let Some(departure) = direction.depart(now) {
            (delays, left) = (delays + departure.at - departure.arrived, left + 1);
        }
        direction.arrive(now, PacketInfo::frame(frame), number);
        let work = u64::from(frame) * 8 * 1_000_000_000 + carry;
        (now, carry) = (now + work / rate.bits_per_second(), work % rate.bits_per_second());
    }
    while let Some(departure) = direction.depart(u64::MAX) {
        (delays, left) = (delays + departure.at - departure.arrived, left + 1);
    }
    assert_eq!((seen.received, seen.delay_sum), (left, delays));
    assert_eq!(simulation.link_state(LinkIndex(0), 0).counters, direction.counters());
    assert_eq!(simulation.journal(LinkIndex(0), 0).unwrap(), direction.journal());
    assert!(direction.counters().lost > 0 && direction.counters().queue_dropped > 0);
}

#[test]
fn a_change_of_rate_meets_what_is_in_the_queue() {
    let mut builder = Builder::new(1);
    let [a, b] = ["a", "b"].map(|name| node(&mut builder, name, Kind::Host));
    builder.link(LinkSpec::symmetric("a-b", [a, b], conditions(&[("rate", "8Mbit"), ("queue", "1s")])));
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    // 100 packets of 1000 bytes at once: 1 ms each, then 0.5 ms each.
    let rate = Bandwidth::from_bits_per_second(1_000_000_000_000);
    let size = Size::Constant(1000 - headers(false));
    let spec =
        FlowSpec { limit: Some(100), size, ..FlowSpec::constant(address(a), address(b), [1, 2], rate) };
    let flow = simulation.add_flow(&spec).unwrap();
    // What happens at 50 ms is not yet: the fiftieth has its last bit on the wire.
    simulation.run_until(Duration::from_millis(50));
    assert_eq!(simulation.flow_counters(flow).received, 49);
    simulation.set_conditions(LinkIndex(0), 0, conditions(&[("rate", "16Mbit"), ("queue", "1s")]));
    assert_eq!(simulation.conditions(LinkIndex(0), 0).delay, TimeSpan::ZERO);
    simulation.run_until(Duration::from_millis(74));
    assert_eq!(simulation.flow_counters(flow).received, 97);
    simulation.run_until(Duration::from_nanos(75_000_001));
    assert_eq!(simulation.flow_counters(flow).received, 100);
    assert_eq!(simulation.flow_counters(flow).last, 75_000_000);
}

#[test]
fn an_even_source_sends_exactly_its_rate_and_the_others_their_share() {
    let mut builder = Builder::new(5);
    let [a, b] = ["a", "b"].map(|name| node(&mut builder, name, Kind::Host));
    builder.link(LinkSpec::symmetric("a-b", [a, b], conditions(&[])));
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    let rate = Bandwidth::from_bits_per_second(9_999_991);
    let flow =
        |arrivals, port| FlowSpec { arrivals, ..FlowSpec::constant(address(a), address(b), [port, 2], rate) };
    let on_off = Arrivals::OnOff { rate, on: Duration::from_millis(30), off: Duration::from_millis(60) };
    let flows = [(Arrivals::Constant(rate), 1), (Arrivals::Poisson(rate), 2), (on_off, 3)]
        .map(|(arrivals, port)| simulation.add_flow(&flow(arrivals, port)).unwrap());
    simulation.run_until(Duration::from_secs(1000));
    let [even, poisson, on_off] = flows.map(|flow| simulation.flow_counters(flow).received);
    let exact = 1000 * rate.bits_per_second() / (1042 * 8);
    // The first leaves at once; the last one's instant is after the end.
    assert_eq!(even, exact + 1);
    // A Poisson count's deviation is its root; three of them.
    assert!(poisson.abs_diff(exact) < 3 * exact.isqrt(), "{poisson} of {exact}");
    // A third of the time, 11,000 times: the share's deviation is below 1 %.
    assert!(on_off.abs_diff(exact / 3) < exact / 3 / 30, "{on_off} of {}", exact / 3);
}
