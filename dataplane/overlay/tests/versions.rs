//! What outlives a process or leaves it has a version, and is read as it was written.

use plait_dataplane_overlay::agent::LAYOUT;
use plait_dataplane_overlay::protocol::{Envelope, PROTOCOL_VERSION, Reply, Request};
use plait_dataplane_reference::tables::tables_in_c;
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

/// What a successor reads of its predecessor's tables has one layout for each version: what a name, a type or a number of these is
/// changes with the version, and its sample with it. What is new beside them changes nothing.
#[test]
fn a_successor_reads_the_tables_of_its_version_as_they_were_written() {
    let maps = format!("{}/../bpf/programs/include/maps.h", env!("CARGO_MANIFEST_DIR"));
    let declared =
        fs::read_to_string(&maps).unwrap_or_else(|error| panic!("{maps}: {error}")) + &tables_in_c();
    let lines = sample(&format!("layout-{LAYOUT}.h")).join("\n");
    let parts: Vec<&str> = lines.split("\n\n").collect();
    assert!(parts.len() >= 13, "{}", parts.len());
    for part in parts {
        // Of a structure all fields, of tables and numbers each line.
        let wanted = if part.starts_with("struct") { vec![part] } else { part.lines().collect() };
        for wanted in wanted {
            assert!(
                declared.contains(wanted),
                "{wanted}\nis no more in layout {LAYOUT}: is it another version?"
            );
        }
    }
}
