//! What outlives a process or leaves it has a version, and is read as it was written.

use plait_dataplane_overlay::protocol::{Envelope, PROTOCOL_VERSION, Reply, Request};
use std::fs;

/// The lines of a sample, which nobody changes but with the version.
fn sample(name: &str) -> Vec<String> {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{path}: {error}"))
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_conversation_of_version_1_is_read_and_written_as_it_was() {
    assert_eq!(PROTOCOL_VERSION, 1);
    let lines = sample("conversation-1.jsonl");
    assert!(lines.len() >= 20);
    for line in lines {
        let again = match line.contains("\"plait\"") {
            true => serde_json::to_string(&serde_json::from_str::<Envelope>(&line).unwrap()).unwrap(),
            false => serde_json::to_string(&serde_json::from_str::<Reply>(&line).unwrap()).unwrap(),
        };
        assert_eq!(again, line);
    }
}

#[test]
fn every_request_stands_in_the_sample() {
    let lines = sample("conversation-1.jsonl").join("\n");
    let kinds = [
        "operation",
        "set_application",
        "set_device",
        "remove_device",
        "set_control",
        "set_evpn",
        "set_underlay",
        "fib_add",
        "fib_del",
        "fib_get",
        "config",
        "evpn",
        "stats",
        "metrics",
        "trace",
        "watch",
    ];
    for kind in kinds {
        assert!(
            lines.contains(&format!("\"request\":{{\"{kind}\""))
                || lines.contains(&format!("\"request\":\"{kind}\"")),
            "{kind}"
        );
    }
    let _: fn(Request) = |request| match request {
        // A new one is a new line of the sample.
        Request::Operation(_)
        | Request::SetApplication { .. }
        | Request::SetDevice(_)
        | Request::RemoveDevice { .. }
        | Request::SetControl { .. }
        | Request::SetEvpn { .. }
        | Request::SetUnderlay { .. }
        | Request::FibAdd { .. }
        | Request::FibDel { .. }
        | Request::FibGet { .. }
        | Request::Config
        | Request::Evpn
        | Request::Stats
        | Request::Metrics
        | Request::Trace(_)
        | Request::Watch => {}
    };
}
