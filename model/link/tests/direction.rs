//! Facts about one direction of a link, seen from outside: packets in, packets and times out.

use plait_model_link::{Conditions, ConditionsSpec, Counters, Departure, Direction, PacketInfo};
use plait_model_quantity::ByteCount;
use proptest::prelude::*;
use std::collections::HashSet;

const MS: u64 = 1_000_000;

fn conditions(json: &str) -> Conditions {
    let spec: ConditionsSpec = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    spec.build(&|path| match path {
        "steps" => Ok("0s 8Mbit\n10ms 0\n20ms 4Mbit\n".to_owned()),
        "samples" => Ok("0\n5ms\n".to_owned()),
        _ => Err("no such file".to_owned()),
    })
    .unwrap()
}

/// Sends `count` frames of `len` bytes, one each `gap`, and returns all that leaves.
fn send(json: &str, seed: u64, count: u64, gap: u64, len: u32) -> (Vec<Departure<u64>>, Counters) {
    let mut direction = Direction::new(conditions(json), seed, 0);
    let mut left = Vec::new();
    for number in 0..count {
        let now = number * gap;
        left.extend(std::iter::from_fn(|| direction.depart(now)));
        direction.arrive(now, PacketInfo::frame(len), number);
    }
    left.extend(std::iter::from_fn(|| direction.depart(u64::MAX)));
    assert_eq!(direction.counters().under_way(), 0);
    (left, direction.counters())
}

fn survivors(json: &str, seed: u64, count: u64) -> Vec<u64> {
    send(json, seed, count, 1000, 100).0.iter().map(|departure| departure.payload).collect()
}

#[test]
fn a_wire_delivers_at_once() {
    let (left, counters) = send("{}", 1, 10, MS, 1500);
    assert!(left.iter().all(|departure| departure.at == departure.arrived));
    assert_eq!((counters.arrived, counters.departed, counters.departed_bytes), (10, 10, 15_000));
}

#[test]
fn a_delay_is_exact() {
    let (left, _) = send(r#"{"delay": "20ms"}"#, 1, 100, 777, 100);
    assert!(left.iter().all(|departure| departure.at == departure.arrived + 20 * MS));
}

#[test]
fn the_same_seed_gives_the_same_fates() {
    let json = r#"{"delay": "5ms", "jitter": {"spread": "1ms", "distribution": "normal", "overtake": true},
        "loss": "5%", "duplicate": "2%", "corrupt": "2%", "reorder": "3%"}"#;
    assert_eq!(send(json, 7, 5000, 1000, 100), send(json, 7, 5000, 1000, 100));
    assert_ne!(survivors(json, 7, 5000), survivors(json, 8, 5000));
}

#[test]
fn runs_that_meet_the_same_chance_keep_the_same_journal() {
    let journal = |json: &str, seed: u64, count: u64, gap: u64| {
        let mut direction = Direction::new(conditions(json), seed, 0);
        for number in 0..count {
            direction.arrive(number * gap, PacketInfo::frame(100), number);
        }
        direction.journal().clone()
    };
    let json = r#"{"delay": "5ms", "jitter": "1ms", "loss": "5%", "duplicate": "2%"}"#;
    let first = journal(json, 7, 5000, 1000);
    assert_eq!(first.compare(&journal(json, 7, 3000, 70_000)), (2048, true), "however packets were timed");
    assert_eq!(first.compare(&journal(json, 8, 5000, 1000)), (4096, false));
    let other = r#"{"delay": "5ms", "jitter": "1ms", "loss": "6%", "duplicate": "2%"}"#;
    assert!(!first.compare(&journal(other, 7, 5000, 1000)).1);
    assert_eq!(journal(r#"{"delay": "5ms"}"#, 7, 5000, 1000).digests, [0; 0], "chance decides nothing here");

    let mut changed = Direction::new(conditions(json), 7, 0);
    for number in 0..1000 {
        if number == 100 {
            changed.set(conditions(other), number * 1000);
        }
        changed.arrive(number * 1000, PacketInfo::frame(100), number);
    }
    assert_eq!(first.compare(changed.journal()), (64, true), "it ends where conditions change");
}

#[test]
fn jitter_never_changes_which_packets_are_lost() {
    let still = survivors(r#"{"loss": "5%", "delay": "5ms"}"#, 7, 5000);
    let mut shaken = survivors(
        r#"{"loss": "5%", "delay": "5ms", "jitter": {"spread": "2ms", "overtake": true}}"#,
        7,
        5000,
    );
    assert_ne!(still, shaken);
    shaken.sort_unstable();
    assert_eq!(still, shaken);
}

#[test]
fn housekeeping_never_changes_which_packets_are_lost() {
    let mut direction =
        Direction::new(conditions(r#"{"loss": {"gilbert_elliott": {"p": "5%", "r": "20%"}}}"#), 7, 0);
    let mut left = Vec::new();
    for number in 0..5000 {
        if number % 3 == 0 {
            direction.arrive(number, PacketInfo { housekeeping: true, ..PacketInfo::frame(60) }, u64::MAX);
        }
        direction.arrive(number, PacketInfo::frame(100), number);
        left.extend(std::iter::from_fn(|| direction.depart(number)).map(|departure| departure.payload));
    }
    left.retain(|payload| *payload != u64::MAX);
    assert_eq!(left, survivors(r#"{"loss": {"gilbert_elliott": {"p": "5%", "r": "20%"}}}"#, 7, 5000));
}

#[test]
fn independent_loss_stays_inside_the_99_percent_interval() {
    let count = 200_000;
    for (share, text) in [(0.001, "0.1%"), (0.01, "1%"), (0.3, "30%")] {
        let (_, counters) = send(&format!(r#"{{"loss": "{text}"}}"#), 42, count, 1000, 100);
        let expected = count as f64 * share;
        let deviation = 2.576 * (expected * (1.0 - share)).sqrt();
        assert!((counters.lost as f64 - expected).abs() <= deviation, "{text}: {} of {count}", counters.lost);
    }
}

#[test]
fn the_gilbert_elliott_chain_has_its_stationary_rate_and_burst_length() {
    let count = 400_000;
    let left = survivors(r#"{"loss": {"gilbert_elliott": {"p": "1%", "r": "25%"}}}"#, 3, count);
    let left: HashSet<u64> = left.into_iter().collect();
    let lost: Vec<bool> = (0..count).map(|number| !left.contains(&number)).collect();
    let losses = lost.iter().filter(|lost| **lost).count() as f64;
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    // p / (p + r) = 3.85 %, mean burst 1 / r = 4; the estimates' deviations here are below 1.5 %.
    let (rate, burst) = (losses / count as f64, losses / bursts);
    assert!((rate / (0.01 / 0.26) - 1.0).abs() < 0.05, "{rate}");
    assert!((burst / 4.0 - 1.0).abs() < 0.05, "{burst}");
}

#[test]
fn a_list_loses_exactly_those_packets() {
    let left = survivors(r#"{"loss": {"packets": [3, 10, 42]}}"#, 1, 100);
    let lost: Vec<u64> = (0..100).filter(|number| !left.contains(number)).map(|number| number + 1).collect();
    assert_eq!(lost, [3, 10, 42]);
}

#[test]
fn duplicates_and_damage_come_in_the_share_asked() {
    let (left, counters) = send(r#"{"duplicate": "10%", "corrupt": "5%"}"#, 5, 100_000, 1000, 100);
    assert_eq!(left.len() as u64, 100_000 + counters.duplicated);
    assert!((9_750..10_250).contains(&counters.duplicated), "{}", counters.duplicated);
    assert!((5_300..5_700).contains(&counters.corrupted), "{}", counters.corrupted);
    assert_eq!(
        left.iter().filter(|departure| departure.corrupt.is_some()).count() as u64,
        counters.corrupted
    );
}

#[test]
fn nothing_overtakes_unless_asked() {
    for distribution in [r#""uniform""#, r#""normal""#, r#""pareto""#] {
        let json =
            format!(r#"{{"delay": "5ms", "jitter": {{"spread": "4ms", "distribution": {distribution}}}}}"#);
        let left = survivors(&json, 9, 10_000);
        assert!(left.is_sorted(), "{distribution}");
        let json = json.replace("}}", r#", "overtake": true}}"#);
        assert!(!survivors(&json, 9, 10_000).is_sorted(), "{distribution}");
    }
    assert!(!survivors(r#"{"delay": "5ms", "reorder": "1%"}"#, 9, 10_000).is_sorted());
}

#[test]
fn jitter_has_the_mean_and_spread_asked() {
    for (distribution, spread, deviation) in [
        (r#""distribution": "uniform", "spread": "2ms""#, 2.0, 2.0 / 3f64.sqrt()),
        (r#""distribution": "normal", "spread": "2ms""#, 20.0, 2.0),
        (r#""distribution": "pareto", "spread": "2ms""#, 1000.0, 2.0),
    ] {
        let json = format!(r#"{{"delay": "20ms", "jitter": {{{distribution}, "overtake": true}}}}"#);
        let (left, _) = send(&json, 11, 100_000, 1000, 100);
        let delays: Vec<f64> = left.iter().map(|d| (d.at - d.arrived) as f64 / 1e6).collect();
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let variance = delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / delays.len() as f64;
        assert!((mean - 20.0).abs() < 0.03, "{distribution}: mean {mean}");
        // Pareto's fourth moment is infinite, so its sample deviation converges slowly.
        assert!((variance.sqrt() / deviation - 1.0).abs() < 0.15, "{distribution}: {}", variance.sqrt());
        assert!(delays.iter().all(|d| (d - 20.0).abs() <= spread), "{distribution}");
    }
    let (left, _) =
        send(r#"{"delay": "1ms", "jitter": {"distribution": {"trace": "samples"}}}"#, 1, 1000, 10 * MS, 100);
    assert!(left.iter().all(|d| [MS, 6 * MS].contains(&(d.at - d.arrived))));
}

#[test]
fn a_busy_link_carries_exactly_its_rate() {
    for rate in [64_000u64, 1_000_000, 9_999_999, 100_000_000, 1_000_000_000, 2_999_999_999] {
        let json = format!(r#"{{"rate": "{rate}bit", "queue": "1000000p"}}"#);
        let (left, _) = send(&json, 1, 10_000, 0, 1000);
        let exact = (10_000u128 * 8000 * 1_000_000_000).div_ceil(u128::from(rate)) as u64;
        assert_eq!(left.last().unwrap().at, exact, "{rate}");
    }
}

#[test]
fn what_leaves_never_exceeds_the_rate_whatever_the_jitter() {
    let json = r#"{"rate": "10Mbit", "delay": "10ms", "queue": "20ms",
        "jitter": {"spread": "5ms", "overtake": true}, "duplicate": "5%", "reorder": "5%"}"#;
    let (left, counters) = send(json, 3, 20_000, 500_000, 1000);
    assert!(counters.queue_dropped > 0);
    // 1000 bytes need 800 us at 10 Mbit/s.
    assert!(left.windows(2).all(|pair| pair[1].at - pair[0].at >= 800_000));
}

#[test]
fn with_a_constant_delay_it_does_not_matter_whether_the_rate_comes_first() {
    let gaps = [0, 100_000, 2 * MS, 50_000, 700_000];
    let mut delayed =
        Direction::new(conditions(r#"{"rate": "10Mbit", "delay": "7ms", "queue": "5ms"}"#), 1, 0);
    let mut limited = Direction::new(conditions(r#"{"rate": "10Mbit", "queue": "5ms"}"#), 1, 0);
    let mut now = 0;
    for number in 0..2000u64 {
        now += gaps[number as usize % gaps.len()];
        let frame = PacketInfo::frame(200 + number as u32 * 37 % 1300);
        delayed.arrive(now, frame, number);
        limited.arrive(now, frame, number);
    }
    let after: Vec<_> = std::iter::from_fn(|| delayed.depart(u64::MAX)).map(|d| (d.payload, d.at)).collect();
    let before: Vec<_> =
        std::iter::from_fn(|| limited.depart(u64::MAX)).map(|d| (d.payload, d.at + 7 * MS)).collect();
    assert_eq!(after, before);
    assert!(after.len() < 2000);
}

#[test]
fn the_queue_holds_exactly_its_limit() {
    let held = |queue: &str, len: u32| {
        let json = format!(r#"{{"rate": "8Mbit", "queue": "{queue}"}}"#);
        send(&json, 1, 1000, 0, len).0.len()
    };
    assert_eq!(held("100p", 1000), 100);
    assert_eq!(held("50000B", 1000), 50);
    // 50 ms at 8 Mbit/s are 50,000 bytes.
    assert_eq!(held("50ms", 1000), 50);
    assert_eq!(held("50ms", 1001), 49);
}

#[test]
fn a_queue_shorter_than_two_frames_is_raised_and_says_so() {
    let short = conditions(r#"{"rate": "64kbit", "queue": "50ms"}"#);
    assert!(matches!(short.queue_bytes(), Some((bytes, true)) if bytes.bytes() == 3028));
    let (left, _) = send(r#"{"rate": "64kbit", "queue": "50ms"}"#, 1, 10, 0, 1514);
    assert_eq!(left.len(), 2);
    assert!(matches!(conditions(r#"{"rate": "1Mbit", "queue": "50ms"}"#).queue_bytes(), Some((_, false))));
}

#[test]
fn a_train_pays_for_the_headers_of_its_segments() {
    let mut direction = Direction::new(conditions(r#"{"rate": "8Mbit", "queue": "1s"}"#), 1, 0);
    let train = PacketInfo { segments: 10, segment_header: 66, ..PacketInfo::frame(14_546) };
    direction.arrive(0, train, 0u64);
    assert_eq!(direction.depart(u64::MAX).unwrap().at, (14_546 + 9 * 66) * 1000);
    assert_eq!(direction.counters().departed, 10);
}

#[test]
fn a_rate_trace_is_replayed_over_and_over() {
    // 8 Mbit/s for 10 ms, nothing for 10 ms, 4 Mbit/s for 10 ms: 10,000 + 5,000 bytes each 30 ms.
    let (left, _) = send(r#"{"rate_trace": "steps", "queue": "10000p"}"#, 1, 150, 0, 1000);
    assert_eq!(left[0].at, MS);
    assert_eq!(left[9].at, 10 * MS);
    assert_eq!(left[10].at, 22 * MS);
    assert_eq!(left[149].at, 300 * MS);
}

#[test]
fn a_change_of_rate_reaches_the_packet_that_is_half_sent() {
    let mut direction = Direction::new(conditions(r#"{"rate": "8Mbit"}"#), 1, 0);
    direction.arrive(0, PacketInfo::frame(1000), 0u64);
    direction.arrive(0, PacketInfo::frame(1000), 1u64);
    assert_eq!(direction.depart(MS / 2), None);
    direction.set(conditions(r#"{"rate": "80Mbit"}"#), MS / 2);
    direction.set(conditions(r#"{"rate": "4Mbit"}"#), MS / 2 + 25_000);
    // 500 bytes went at 8 Mbit/s, 250 at 80, the other 250 at 4.
    assert_eq!(direction.depart(u64::MAX).unwrap().at, MS / 2 + 25_000 + MS / 2);
    assert_eq!(direction.depart(u64::MAX).unwrap().at, MS / 2 + 25_000 + MS / 2 + 2 * MS);
}

#[test]
fn a_shorter_delay_overtakes_nobody() {
    let mut direction = Direction::new(conditions(r#"{"delay": "50ms"}"#), 1, 0);
    direction.arrive(0, PacketInfo::frame(100), 0u64);
    direction.set(conditions(r#"{"delay": "10ms"}"#), MS);
    direction.arrive(MS, PacketInfo::frame(100), 1u64);
    direction.arrive(45 * MS, PacketInfo::frame(100), 2u64);
    let times: Vec<_> =
        std::iter::from_fn(|| direction.depart(u64::MAX)).map(|d| (d.payload, d.at)).collect();
    assert_eq!(times, [(0, 50 * MS), (1, 50 * MS), (2, 55 * MS)]);
}

#[test]
fn a_failed_link_drops_what_it_holds_and_says_so() {
    let mut direction = Direction::new(conditions(r#"{"delay": "10ms", "rate": "1Mbit"}"#), 1, 0);
    (0..5u64).for_each(|number| direction.arrive(0, PacketInfo::frame(100), number));
    direction.fail();
    direction.arrive(MS, PacketInfo::frame(100), 5);
    assert_eq!(direction.next_event(), None);
    direction.recover();
    direction.arrive(2 * MS, PacketInfo::frame(100), 6);
    assert_eq!(direction.depart(u64::MAX).unwrap().payload, 6);
    assert_eq!((direction.counters().failed, direction.counters().departed), (6, 1));
}

#[test]
fn a_reset_link_repeats_itself() {
    let mut direction = Direction::new(conditions(r#"{"loss": "10%"}"#), 7, 0);
    let mut run = |start: u64| -> Vec<u64> {
        (0..1000u64).for_each(|number| direction.arrive(start + number, PacketInfo::frame(100), number));
        let left =
            std::iter::from_fn(|| direction.depart(u64::MAX)).map(|departure| departure.payload).collect();
        direction.reset(7, start + 1000);
        left
    };
    assert_eq!(run(0), run(5000));
}

#[test]
fn red_drops_between_its_thresholds_as_likely_as_the_paper_says() {
    // At twice the rate the queue settles between the thresholds and half of the packets go.
    let json = r#"{"rate": "8Mbit", "queue": {"limit": "1000p",
        "discipline": {"red": {"min": "20p", "max": "60p", "probability": "100%", "weight": "1%"}}}}"#;
    let (left, counters) = send(json, 3, 40_000, MS / 2, 1000);
    assert_eq!(counters.queue_dropped, 0);
    assert!((19_000..21_000).contains(&counters.aqm_dropped), "{}", counters.aqm_dropped);
    let delays: Vec<u64> = left[10_000..].iter().map(|d| (d.at - d.arrived) / MS).collect();
    assert!(delays.iter().all(|delay| (20..=70).contains(delay)));
    // Below the lower threshold nothing is touched.
    let (_, counters) = send(json, 3, 10_000, 2 * MS, 1000);
    assert_eq!(counters.departed, 10_000);
}

#[test]
fn codel_brings_a_standing_queue_down_to_its_target() {
    let json = r#"{"rate": "8Mbit", "queue": {"limit": "1000p", "discipline": "codel"}}"#;
    // 5 % too much: drop-tail would stand at a second of delay.
    let (left, counters) = send(json, 1, 100_000, 952_381, 1000);
    assert_eq!(counters.queue_dropped, 0);
    let settled = &left[left.len() / 2..];
    let mean = settled.iter().map(|d| (d.at - d.arrived) as f64 / 1e6).sum::<f64>() / settled.len() as f64;
    assert!(mean < 40.0, "mean delay {mean} ms");
    // Bursts shorter than an interval are left alone.
    let mut direction = Direction::new(conditions(json), 1, 0);
    (0..50u64).for_each(|number| direction.arrive(0, PacketInfo::frame(1000), number));
    assert_eq!(std::iter::from_fn(|| direction.depart(u64::MAX)).count(), 50);
}

#[test]
fn codel_drops_first_after_an_interval_and_then_by_the_control_law() {
    let json = r#"{"rate": "8Mbit", "queue": {"limit": "10000p", "discipline": "codel"}}"#;
    let mut direction = Direction::new(conditions(json), 1, 0);
    (0..1000u64).for_each(|number| direction.arrive(0, PacketInfo::frame(1000), number));
    let left: Vec<u64> = std::iter::from_fn(|| direction.depart(u64::MAX)).map(|d| d.payload).collect();
    let dropped: Vec<u64> = (0..1000).filter(|number| !left.contains(number)).collect();
    // Packet n begins to be sent at n ms. Its delay is above 5 ms from packet 5 on, so the first drop comes at 105 ms,
    // and the next 100 ms, 100/sqrt(2) ms, 100/sqrt(3) ms later (each drop moves the others up by one).
    assert_eq!(dropped[..4], [105, 206, 278, 337]);
}

#[test]
fn codel_leaves_a_backlog_of_one_frame_of_the_link_alone() {
    let json = r#"{"rate": "8Mbit", "queue": {"limit": "100p", "discipline": "codel"}}"#;
    let dropped = |frame: u64| {
        let mut asked = conditions(json);
        asked.queue.frame = ByteCount::new(frame);
        let mut direction = Direction::new(asked, 1, 0);
        // A packet a millisecond goes, one comes, and eight stand for longer than the target.
        (0..1000u64).for_each(|number| {
            let now = number.saturating_sub(8) * MS;
            while direction.depart(now).is_some() {}
            direction.arrive(now, PacketInfo::frame(1000), number);
        });
        direction.counters().aqm_dropped
    };
    assert!(dropped(1514) > 0);
    assert_eq!(dropped(9014), 0, "eight kilobytes are less than one jumbo frame");
}

#[test]
fn marks_replace_drops_on_packets_that_can_carry_them() {
    for discipline in [r#""codel": {"ecn": true}"#, r#""red": {"min": "5ms", "max": "500ms", "ecn": true}"#] {
        let json =
            format!(r#"{{"rate": "8Mbit", "queue": {{"limit": "1s", "discipline": {{{discipline}}}}}}}"#);
        for ecn_capable in [true, false] {
            let mut direction = Direction::new(conditions(&json), 1, 0);
            assert!(direction.marks());
            for number in 0..5000u64 {
                let frame = PacketInfo { ecn_capable, ..PacketInfo::frame(1000) };
                direction.arrive(number * 990_000, frame, number);
            }
            let marked = std::iter::from_fn(|| direction.depart(u64::MAX)).filter(|d| d.mark).count() as u64;
            let counters = direction.counters();
            assert_eq!(marked, counters.marked);
            assert_eq!(
                (counters.marked > 0, counters.aqm_dropped > 0),
                (ecn_capable, !ecn_capable),
                "{json}"
            );
        }
    }
}

#[test]
fn a_wire_passes_packets_without_a_detour() {
    let mut wire = Direction::<u64>::new(conditions("{}"), 1, 0);
    assert!(wire.passes(PacketInfo::frame(100)));
    assert_eq!(wire.counters().departed, 1);
    wire.set(conditions(r#"{"delay": "1ms"}"#), 0);
    assert!(!wire.passes(PacketInfo::frame(100)));
    wire.arrive(0, PacketInfo::frame(100), 1);
    // What is still under way keeps its place.
    wire.set(conditions("{}"), 0);
    assert!(!wire.passes(PacketInfo::frame(100)));
}

/// Conditions of every kind, drawn at random.
fn any_conditions() -> impl Strategy<Value = Conditions> {
    let delay = prop_oneof![Just("none"), Just("1ms"), Just("30ms")];
    let jitter = prop_oneof![
        Just(r#""0ns""#),
        Just(r#""2ms""#),
        Just(r#"{"spread": "3ms", "distribution": "normal", "overtake": true}"#),
        Just(r#"{"spread": "1ms", "distribution": "pareto"}"#),
    ];
    let rate = prop_oneof![
        Just(r#""rate": "none""#),
        Just(r#""rate": "1Mbit""#),
        Just(r#""rate": "77Mbit""#),
        Just(r#""rate_trace": "steps""#)
    ];
    let loss = prop_oneof![
        Just(r#""none""#),
        Just(r#""20%""#),
        Just(r#"{"gilbert_elliott": {"p": "10%", "r": "30%", "good_loss": "1%"}}"#),
        Just(r#"{"packets": [1, 5, 17]}"#)
    ];
    let queue = prop_oneof![
        Just(r#""20ms""#),
        Just(r#""5p""#),
        Just(r#"{"limit": "64KiB", "discipline": "codel"}"#),
        Just(r#"{"discipline": {"red": {"min": "2ms", "max": "10ms", "ecn": true}}}"#)
    ];
    (delay, jitter, rate, loss, queue, prop::bool::ANY).prop_map(|(delay, jitter, rate, loss, queue, more)| {
        let more = if more { r#", "duplicate": "10%", "corrupt": "10%""# } else { "" };
        conditions(&format!(
            r#"{{"delay": "{delay}", "jitter": {jitter}, {rate}, "loss": {loss}, "queue": {queue}{more}}}"#
        ))
    })
}

#[derive(Debug, Clone)]
enum Step {
    Arrive { gap: u64, len: u32, segments: u16, ecn_capable: bool },
    Set(Box<Conditions>),
    Fail,
    Recover,
    Wait(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0..2 * MS, 60u32..1514, 1u16..4, prop::bool::ANY)
            .prop_map(|(gap, len, segments, ecn_capable)| Step::Arrive { gap, len, segments, ecn_capable }),
        2 => any_conditions().prop_map(|conditions| Step::Set(Box::new(conditions))),
        1 => Just(Step::Fail),
        2 => Just(Step::Recover),
        2 => (0..20 * MS).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_packet_is_accounted_for(
        first in any_conditions(), steps in prop::collection::vec(any_step(), 1..300), seed: u64,
    ) {
        let mut direction = Direction::new(first, seed, 0);
        let mut now = 0;
        let mut seen = 0u64;
        let mut last = 0;
        let mut drain = |direction: &mut Direction<u16>, now: u64| {
            while let Some(departure) = direction.depart(now) {
                assert!(departure.at <= now && departure.at >= departure.arrived && departure.at >= last);
                last = departure.at;
                seen += u64::from(departure.payload);
            }
            assert!(direction.next_event().is_none_or(|next| next > now));
        };
        for step in steps {
            drain(&mut direction, now);
            match step {
                Step::Arrive { gap, len, segments, ecn_capable } => {
                    now += gap;
                    drain(&mut direction, now);
                    let info = PacketInfo { segments, segment_header: 54, ecn_capable, ..PacketInfo::frame(len) };
                    direction.arrive(now, info, segments);
                }
                Step::Set(conditions) => direction.set(*conditions, now),
                Step::Fail => direction.fail(),
                Step::Recover => direction.recover(),
                Step::Wait(span) => now += span,
            }
        }
        drain(&mut direction, u64::MAX);
        let counters = direction.counters();
        prop_assert_eq!(counters.under_way(), 0);
        prop_assert_eq!(counters.departed, seen);
        prop_assert_eq!(direction.backlog_bytes(), 0);
    }

    #[test]
    fn no_conditions_are_too_extreme(
        rate in prop_oneof![Just("none"), Just("1bit"), Just("9000000Tbit")],
        delay in prop_oneof![Just("none"), Just("1ns"), Just("2500000h")],
        jitter in prop_oneof![
            Just(r#""2500000h""#),
            Just(r#"{"spread": "2500000h", "distribution": "normal", "overtake": true}"#),
            Just(r#"{"spread": "2500000h", "distribution": "pareto"}"#),
        ],
        queue in prop_oneof![
            Just(r#""2500000h""#),
            Just(r#""0B""#),
            Just(r#""9000000000000000000p""#),
            Just(r#"{"limit": "8000000000GB", "discipline": {"codel": {"target": "0", "interval": "2500000h"}}}"#),
            Just(r#"{"discipline": {"red": {"min": "0B", "max": "8000000000GB", "weight": "100%"}}}"#),
        ],
        lengths in prop::collection::vec(any::<u32>(), 1..50),
        changes: bool,
    ) {
        let rate = if rate == "9000000Tbit" && changes { r#""rate_trace": "steps""# } else { &format!(r#""rate": "{rate}""#) };
        let json = format!(r#"{{{rate}, "delay": "{delay}", "jitter": {jitter}, "queue": {queue}}}"#);
        let mut direction = Direction::new(conditions(&json), 1, 0);
        for (number, len) in lengths.iter().enumerate() {
            let info = PacketInfo { segments: u16::MAX, segment_header: u16::MAX, ..PacketInfo::frame(*len) };
            direction.arrive(number as u64 * MS, info, ());
            let _ = direction.depart(number as u64 * MS * 2);
            if changes && number % 7 == 0 {
                direction.set(conditions(r#"{"rate": "3bit", "queue": "2500000h"}"#), number as u64 * MS * 2);
            }
        }
        while direction.depart(u64::MAX).is_some() {}
        prop_assert_eq!(direction.counters().under_way(), 0);
    }

    #[test]
    fn who_wakes_at_departures_alone_sees_the_same(
        conditions in any_conditions(), gaps in prop::collection::vec(0u64..3 * MS, 1..300), seed: u64,
    ) {
        let at_each = |next: fn(&Direction<u16>) -> Option<u64>| {
            let mut direction = Direction::new(conditions.clone(), seed, 0);
            let mut left = Vec::new();
            let mut now = 0;
            for (number, gap) in gaps.iter().enumerate() {
                let until = now + gap;
                while let Some(at) = next(&direction).filter(|at| *at <= until) {
                    // Nothing left before its time came.
                    now = now.max(at);
                    let departed = std::iter::from_fn(|| direction.depart(now));
                    left.extend(departed.inspect(|departure| assert_eq!(departure.at, now)));
                }
                now = until;
                direction.arrive(now, PacketInfo::frame(500 + number as u32), number as u16);
            }
            left.extend(std::iter::from_fn(|| direction.depart(u64::MAX)));
            (left, direction.counters())
        };
        prop_assert_eq!(at_each(Direction::next_event), at_each(Direction::next_departure));
    }
}
