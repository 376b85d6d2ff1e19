//! The distribution of delays that is said is the one that packets meet.

use plait_model_link::{Conditions, ConditionsSpec, Direction, PacketInfo};

fn conditions(json: &str) -> Conditions {
    let spec: ConditionsSpec = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    spec.build(&|_| Ok("0\n5ms\n5ms\n9ms\n".to_owned())).unwrap()
}

/// The delays of packets that are far enough apart, sorted.
fn met(conditions: &Conditions, count: u64) -> Vec<f64> {
    let mut direction = Direction::new(conditions.clone(), 5, 0);
    let gap = 1_000 + conditions.delays().spacing() as u64;
    for number in 0..count {
        direction.arrive(number * gap, PacketInfo::frame(100), number);
    }
    let left = std::iter::from_fn(|| direction.depart(u64::MAX));
    let mut delays: Vec<f64> = left.map(|departure| (departure.at - departure.arrived) as f64).collect();
    delays.sort_unstable_by(f64::total_cmp);
    delays
}

#[test]
fn packets_meet_the_delays_that_are_said() {
    let jitter = |rest: &str| format!(r#"{{"delay": "10ms", "jitter": {{{rest}}}}}"#);
    let written = [
        r#"{"delay": "10ms", "reorder": "20%"}"#.to_owned(),
        r#"{"delay": "10ms", "jitter": "3ms", "reorder": "20%"}"#.to_owned(),
        r#"{"delay": "1ms", "jitter": "3ms"}"#.to_owned(),
        jitter(r#""spread": "3ms", "overtake": true"#),
        jitter(r#""spread": "3ms", "distribution": "normal""#),
        jitter(r#""spread": "20ms", "distribution": "normal", "overtake": true"#),
        jitter(r#""spread": "3ms", "distribution": "pareto""#),
        jitter(r#""spread": "30ms", "distribution": "pareto", "overtake": true"#),
        jitter(r#""distribution": {"trace": "file"}"#),
    ];
    for json in written {
        let conditions = conditions(&json);
        let delays = conditions.delays();
        let seen = met(&conditions, 100_000);
        let count = seen.len() as f64;
        // Dvoretzky, Kiefer and Wolfowitz: 0.8 % is left by one in 100,000 such samples.
        for share in 1..100 {
            let at = seen[seen.len() * share / 100];
            let (below, up_to) =
                (seen.partition_point(|one| *one < at), seen.partition_point(|one| *one <= at));
            let said = delays.cumulative(at);
            let room = (below as f64 / count - 0.008, up_to as f64 / count + 0.008);
            assert!(room.0 <= said && said <= room.1, "{json}: {said} at {at}, seen {room:?}");
        }
        let mean = seen.iter().sum::<f64>() / count;
        let square = seen.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
        assert!((delays.mean() / mean - 1.0).abs() < 0.01, "{json}: {} and {mean}", delays.mean());
        // A Pareto tail of shape 3 has no fourth moment, so its deviation is found slowly.
        let room = if json.contains("pareto") { 0.1 } else { 0.01 };
        let (said, found) = (delays.deviation(), square.sqrt());
        assert!((said / found - 1.0).abs() < room, "{json}: {said} and {found}");
    }
}

#[test]
fn a_packet_is_on_its_way_for_delay_jitter_and_a_full_queue_at_most() {
    let longest = |json: &str| conditions(json).longest().as_nanos() as f64 / 1e6;
    assert_eq!(longest(r#"{"queue": "80ms"}"#), 0.0, "nothing waits where no rate is");
    let written = [
        (r#"{"delay": "5ms", "jitter": "2ms"}"#, 7.0),
        (r#"{"rate": "10Mbit"}"#, 50.0),
        (r#"{"rate": "8Mbit", "queue": "20kB", "delay": "5ms"}"#, 25.0),
        (r#"{"rate": "12112kbit", "queue": "10p", "delay": "5ms", "jitter": "1ms"}"#, 16.0),
        (r#"{"rate": "64kbit", "queue": "50ms"}"#, 378.5),
        (r#"{"delay": "5ms", "jitter": {"distribution": {"trace": "file"}}}"#, 14.0),
    ];
    for (json, said) in written {
        assert_eq!(longest(json), said, "{json}");
        let mut direction = Direction::new(conditions(json), 5, 0);
        for number in 0..1_000 {
            direction.arrive(number, PacketInfo::frame(1_514), number);
        }
        let left = std::iter::from_fn(|| direction.depart(u64::MAX));
        let met = left.map(|departure| departure.at - departure.arrived).max().unwrap() as f64 / 1e6;
        assert!(met <= said + 1e-3 && met > 0.95 * said, "{json}: {met} of {said} ms");
    }
}
