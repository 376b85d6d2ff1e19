//! What outlives a process or leaves it has a version, and is read as it was written.

use plait_dataplane_paths::agent::{STATE_VERSION, State};
use plait_dataplane_paths::protocol::{Envelope, FlowName, PROTOCOL_VERSION, Reply};
use std::fs;
use std::path::PathBuf;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR")))
}

#[test]
fn a_conversation_of_version_1_is_read_and_written_as_it_was() {
    assert_eq!(PROTOCOL_VERSION, 1);
    let text = fs::read_to_string(golden("conversation-1.jsonl")).unwrap();
    for line in text.lines() {
        let again = match line.contains("\"plait\"") {
            true => serde_json::to_string(&serde_json::from_str::<Envelope>(line).unwrap()).unwrap(),
            false => serde_json::to_string(&serde_json::from_str::<Reply>(line).unwrap()).unwrap(),
        };
        assert_eq!(again, line);
    }
}

#[test]
fn state_of_version_1_is_read_and_written_as_it_was_and_a_newer_one_refused_by_name() {
    assert_eq!(STATE_VERSION, 1);
    let text = fs::read_to_string(golden("state-1.json")).unwrap();
    let state = State::read(&golden("state-1.json")).unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    assert!(State::read(&path).unwrap().is_none());
    state.write(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text.trim_end());
    fs::write(&path, text.replace("\"plait\":1", "\"plait\":2")).unwrap();
    let error = State::read(&path).unwrap_err().to_string();
    assert!(error.contains("version 2") && error.contains("plait paths agent --remove"), "{error}");
    // Half of it, or none at all, is an error and no panic.
    for length in 0..text.len() - 1 {
        fs::write(&path, &text[..length]).unwrap();
        assert!(State::read(&path).is_err());
    }
}

/// What version 1 said nothing of, and may be there now.
#[test]
fn what_was_added_for_ipv6_is_read_and_written_as_it_was() {
    let text = fs::read_to_string(golden("state-1-ipv6.json")).unwrap();
    let state = State::read(&golden("state-1-ipv6.json")).unwrap().unwrap();
    assert_eq!(state.addresses().iter().count(), 2);
    assert_eq!(serde_json::to_string(&state).unwrap(), text.trim_end());
}

/// Likewise.
#[test]
fn a_flow_that_was_moved_by_hand_is_told_so_and_others_as_they_were() {
    let text = fs::read_to_string(golden("conversation-1.jsonl")).unwrap();
    let flows = text.lines().find(|line| line.starts_with("{\"flows\"")).unwrap();
    let by_hand = flows.replacen("\"moves\":1,", "\"moves\":1,\"by_hand\":true,", 1);
    assert_ne!(by_hand, flows);
    let reply: Reply = serde_json::from_str(&by_hand).unwrap();
    assert_eq!(serde_json::to_string(&reply).unwrap(), by_hand);
}

#[test]
fn a_flow_is_read_as_it_is_written() {
    for text in [
        "udp 10.0.0.1:5000 > 10.0.1.1:9",
        "icmp 10.0.0.1:0 > 10.0.1.1:0",
        "47 10.0.0.1:0 > 10.0.1.1:0",
        "tcp [2001:db8::1]:5000 > [2001:db8:1::1]:80",
        "icmpv6 [2001:db8::1]:0 > [2001:db8:1::1]:0",
    ] {
        assert_eq!(text.parse::<FlowName>().unwrap().to_string(), text);
    }
    for text in ["", "udp", "udp 10.0.0.1 > 10.0.0.2", "fly 10.0.0.1:1 > 10.0.0.2:2", "udp a > b > c > d"] {
        assert!(text.parse::<FlowName>().is_err(), "{text}");
    }
}
