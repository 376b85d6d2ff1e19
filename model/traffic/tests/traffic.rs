//! Facts about traffic.

use plait_model_quantity::Bandwidth;
use plait_model_traffic::{
    BadPattern, Flow, Pattern, Rates, SOURCE_PORTS, SourcePorts, TrafficError, TrafficSpec,
};
use proptest::prelude::*;
use std::collections::HashSet;

const TOTAL: u64 = 160_000_000;

fn spec(pattern: &str) -> TrafficSpec {
    TrafficSpec::new(pattern.parse().unwrap(), Bandwidth::from_bits_per_second(TOTAL))
}

fn pairs(flows: &[Flow]) -> Vec<(usize, usize)> {
    flows.iter().map(|flow| (flow.from, flow.to)).collect()
}

fn sum(flows: &[Flow]) -> u64 {
    flows.iter().map(|flow| flow.rate.bits_per_second()).sum()
}

#[test]
fn a_stride_goes_round() {
    let flows = spec("stride(4)").flows(16, 1).unwrap();
    assert_eq!(pairs(&flows), (0..16).map(|from| (from, (from + 4) % 16)).collect::<Vec<_>>());
    assert_eq!(spec("stride(20)").flows(16, 1).unwrap(), flows);
}

#[test]
fn a_permutation_gives_each_host_one_sender_and_one_receiver() {
    for seed in 0..50 {
        let flows = spec("permutation").flows(9, seed).unwrap();
        let to: HashSet<usize> = flows.iter().map(|flow| flow.to).collect();
        assert_eq!((flows.len(), to.len()), (9, 9));
        assert!(flows.iter().enumerate().all(|(from, flow)| flow.from == from && flow.to != from));
    }
}

#[test]
fn incast_one_to_all_all_to_all_and_pairs_are_what_they_say() {
    assert_eq!(pairs(&spec("incast(1)").flows(4, 1).unwrap()), [(0, 1), (2, 1), (3, 1)]);
    assert_eq!(pairs(&spec("one_to_all(1)").flows(4, 1).unwrap()), [(1, 0), (1, 2), (1, 3)]);
    let all = spec("all_to_all").flows(5, 1).unwrap();
    assert_eq!(pairs(&all).into_iter().collect::<HashSet<_>>().len(), 20);
    let mut many = spec("pair(0,3)");
    many.flows = Some(20);
    let many = many.flows(4, 1).unwrap();
    assert_eq!(pairs(&many), vec![(0, 3); 20]);
    assert_eq!(many.iter().map(|flow| flow.source_port).collect::<HashSet<_>>().len(), 20);
}

#[test]
fn random_receivers_are_all_as_likely() {
    let mut many = spec("random");
    many.flows = Some(80_000);
    let flows = many.flows(5, 7).unwrap();
    let mut counts = [[0u64; 5]; 5];
    flows.iter().for_each(|flow| counts[flow.from][flow.to] += 1);
    for (from, counts) in counts.iter().enumerate() {
        for (to, count) in counts.iter().enumerate() {
            let expected = if from == to { 0 } else { 4000 };
            // Binomial, n = 16000, p = 1/4: four standard deviations are 219.
            assert!(count.abs_diff(expected) <= if from == to { 0 } else { 219 }, "{from} to {to}: {count}");
        }
    }
}

#[test]
fn rates_add_up_and_are_shared_as_asked() {
    let rates = |rates| {
        let mut spec = spec("pair(0,1)");
        (spec.flows, spec.rates) = (Some(20), rates);
        spec.flows(2, 3).unwrap()
    };
    let [same, random, power] = [Rates::Same, Rates::Random, Rates::PowerLaw].map(rates);
    assert!([&same, &random, &power].iter().all(|flows| sum(flows) == TOTAL));
    assert!(same.iter().all(|flow| flow.rate.bits_per_second() == TOTAL / 20));
    assert_eq!(random.iter().map(|flow| flow.rate).collect::<HashSet<_>>().len(), 20);
    let mut ranked: Vec<u64> = power.iter().map(|flow| flow.rate.bits_per_second()).collect();
    ranked.sort_unstable_by_key(|rate| std::cmp::Reverse(*rate));
    let harmonic: f64 = (1..=20).map(|rank| 1.0 / f64::from(rank)).sum();
    for (rank, rate) in ranked.iter().enumerate() {
        let expected = TOTAL as f64 / harmonic / (rank + 1) as f64;
        assert!((*rate as f64 - expected).abs() < 2.0, "rank {rank}: {rate}, expected {expected}");
    }
    assert_ne!(power[0].rate.bits_per_second(), ranked[0], "which flow is the largest is drawn by lot");
}

#[test]
fn ports_are_drawn_where_that_is_asked_for_and_pairs_and_rates_stay_as_they_are() {
    let flows = |source_ports, seed| {
        let mut spec = spec("random");
        (spec.flows, spec.rates, spec.source_ports) = (Some(400), Rates::Random, source_ports);
        spec.flows(20, seed).unwrap()
    };
    let in_order = flows(SourcePorts::InOrder, 3);
    let first = |flows: &[Flow]| {
        (0..20)
            .filter_map(|host| flows.iter().find(|flow| flow.from == host).map(|flow| flow.source_port))
            .collect::<Vec<_>>()
    };
    assert_eq!(first(&in_order), [20_000; 20]);
    let drawn = flows(SourcePorts::Drawn, 3);
    for (flow, other) in drawn.iter().zip(&in_order) {
        assert_eq!(Flow { source_port: other.source_port, ..*flow }, *other);
    }
    // Each sender draws its own, and another seed draws others; two of forty are alike by chance for one pair of seeds in fifty.
    let all: HashSet<u16> = first(&drawn).into_iter().chain(first(&flows(SourcePorts::Drawn, 4))).collect();
    assert_eq!(all.len(), 40);
    // A sender's flows leave from one port after the other, after the last one from the first.
    let mut many = spec("pair(0,1)");
    (many.flows, many.source_ports) = (Some(SOURCE_PORTS.len()), SourcePorts::Drawn);
    let ports: Vec<u16> = many.flows(2, 1).unwrap().iter().map(|flow| flow.source_port).collect();
    assert_ne!(ports[0], SOURCE_PORTS.start);
    assert!(
        ports
            .windows(2)
            .all(|pair| pair[1] == pair[0] + 1 || pair == [SOURCE_PORTS.end - 1, SOURCE_PORTS.start])
    );
    assert_eq!(ports.into_iter().collect::<HashSet<_>>().len(), SOURCE_PORTS.len());
}

#[test]
fn what_cannot_be_is_refused_with_what_to_write_instead() {
    let refusal = |pattern: &str, hosts| match spec(pattern).flows(hosts, 1) {
        Err(TrafficError::Pattern(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal("random", 1), BadPattern::TooFew(1));
    assert_eq!(refusal("incast(4)", 4), BadPattern::NoHost { host: 4, count: 4 });
    assert_eq!(refusal("one_to_all(4)", 4), BadPattern::NoHost { host: 4, count: 4 });
    assert!(matches!(refusal("stride(8)", 4), BadPattern::Itself { .. }));
    assert!(matches!(refusal("pair(2,2)", 4), BadPattern::Itself { .. }));
    assert!(matches!("strides".parse::<Pattern>(), Err(BadPattern::Unknown(_))));
    assert!(matches!(spec("all_to_all").flows(2000, 1), Err(TrafficError::TooMany(_))));
    let mut many = spec("pair(0,1)");
    many.flows = Some(50_000);
    assert_eq!(many.flows(2, 1), Err(TrafficError::Ports { flows: 40_001 }));
}

#[test]
fn traffic_is_written_and_read() {
    let text = r#"{"pattern":"stride(2)","flows":20,"rate":"10Mbit","rates":"power_law","size":"512B","port":9,"source_ports":"drawn"}"#;
    let spec: TrafficSpec = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::from_str::<TrafficSpec>(&serde_json::to_string(&spec).unwrap()).unwrap(), spec);
    assert_eq!((spec.pattern, spec.source_ports), (Pattern::Stride(2), SourcePorts::Drawn));
    let short: TrafficSpec = serde_json::from_str(r#"{"pattern":"random","rate":"1Gbit"}"#).unwrap();
    assert_eq!((short.rates, short.flows, short.size.bytes()), (Rates::Same, None, 1024));
    assert_eq!(short.source_ports, SourcePorts::InOrder);
}

/// One of many flows has so small a share that it is less than a bit a second.
#[test]
fn a_share_that_rounds_to_nothing_is_taken_from_the_largest() {
    let mut spec = TrafficSpec::new(Pattern::AllToAll, Bandwidth::from_bits_per_second(TOTAL));
    spec.rates = Rates::Random;
    let flows = spec.flows(31, 16_202_311_028_538_002_242).unwrap();
    assert!(flows.iter().any(|flow| flow.rate.bits_per_second() == 1));
    assert_eq!(sum(&flows), TOTAL);
}

proptest! {
    #[test]
    fn no_text_makes_a_pattern_panic(text in ".{0,40}") {
        if let Ok(pattern) = text.parse::<Pattern>() {
            prop_assert_eq!(pattern.to_string().parse::<Pattern>(), Ok(pattern));
        }
    }

    #[test]
    fn nobody_sends_to_itself_and_every_flow_is_told_apart(
        kind in 0usize..7, number: usize, hosts in 2usize..40, count in prop::option::of(1usize..300), seed: u64,
    ) {
        let number = number % hosts;
        let pattern = [
            Pattern::Random,
            Pattern::Stride(number.max(1)),
            Pattern::Permutation,
            Pattern::Incast(number),
            Pattern::OneToAll(number),
            Pattern::AllToAll,
            Pattern::Pair(number, (number + 1) % hosts),
        ][kind];
        let mut spec = TrafficSpec::new(pattern, Bandwidth::from_bits_per_second(TOTAL));
        (spec.flows, spec.rates) = (count, [Rates::Same, Rates::Random, Rates::PowerLaw][seed as usize % 3]);
        spec.source_ports = [SourcePorts::InOrder, SourcePorts::Drawn][seed as usize / 3 % 2];
        let flows = spec.flows(hosts, seed).unwrap();
        prop_assert_eq!(&flows, &spec.flows(hosts, seed).unwrap());
        prop_assert!(flows.iter().all(|flow| flow.from != flow.to && flow.from < hosts && flow.to < hosts));
        let apart: HashSet<(usize, u16)> = flows.iter().map(|flow| (flow.from, flow.source_port)).collect();
        prop_assert_eq!(apart.len(), flows.len());
        prop_assert_eq!(sum(&flows), TOTAL);
        if let Some(count) = count {
            prop_assert_eq!(flows.len(), count);
        }
    }
}
