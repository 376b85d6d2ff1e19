//! What control planes of a testbed recorded, replayed: the same decisions, and what was wrong between them.

mod common;

use common::{Person, Pinged, Testbed, eventually};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Faults of a kind between members, in the order in which they began.
fn faults<'a>(replayed: &'a Value, kind: &str, members: &[&str]) -> Vec<&'a Value> {
    let all = replayed["faults"].as_array().unwrap().iter();
    all.filter(|fault| fault["fault"] == kind && fault["members"] == serde_json::json!(members)).collect()
}

fn has_pair(fault: &Value, from: &str, to: &str) -> bool {
    let pairs = fault["pairs"].as_array().unwrap();
    pairs.iter().any(|pair| pair["from"] == from && pair["to"] == to)
}

#[test]
fn a_link_that_failed_in_a_testbed_is_found_in_the_simulator_with_all_that_was_decided() {
    let Some(person) = Person::root() else { return };
    let file = example("overlay-failure.yaml");
    let run = person.plait(&["run", file.to_str().unwrap(), "--output", "there", "--json"]);
    // On a machine that others use packets may be late, which taints a run; what was decided is recorded all the same.
    let verdict: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    assert!(["valid", "tainted"].map(Value::from).contains(&verdict["verdict"]["word"]), "{run:?}");
    let folder = person.work().join("there");
    for node in ["a", "b", "c", "d"] {
        let place = folder.join(format!("control/{node}.jsonl"));
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600, "its owner's alone");
    }

    let ended = person.plait(&["replay", "there", "--json", "--verbose"]);
    assert_eq!(ended.code(), Some(1), "{ended:?}");
    let replayed: Value = serde_json::from_str(&ended.stdout).unwrap();
    for member in replayed["members"].as_array().unwrap() {
        assert!(member["inputs"].as_u64().unwrap() > 50 && member["lives"] == 1, "{replayed:#}");
        assert!(member["operations"].as_u64().unwrap() > 3, "{replayed:#}");
    }
    // From the first message that the line did not carry until three probes had no echo, on a machine that may be busy.
    let lost = faults(&replayed, "lost", &["a", "b"]);
    let fault = lost.first().unwrap_or_else(|| panic!("{replayed:#}"));
    let (from, until) = (fault["from_s"].as_f64().unwrap(), fault["until_s"].as_f64().unwrap());
    assert!((2.9..4.5).contains(&from), "{fault:#}");
    assert!((0.5..4.0).contains(&(until - from)), "{fault:#}");
    assert!(has_pair(fault, "a", "b") && has_pair(fault, "a", "c"), "c is reached by b: {fault:#}");
    assert!(!faults(&replayed, "lost", &["b", "a"]).is_empty());
    // Real packets were lost as long.
    let command = fs::read_dir(folder.join("commands")).unwrap().flatten().next().unwrap().path();
    let ping = Pinged::read(&fs::read_to_string(command.join("stdout")).unwrap());
    let missing = f64::from(ping.sent - ping.received) * 0.05;
    assert!(missing > 0.3 && missing < until - 2.9 + 1.5, "{missing} s without a reply, {fault:#}");
    // What was decided at that moment is told.
    let decided = replayed["decisions"].as_array().unwrap();
    let turned = decided.iter().find(|decision| {
        decision["member"] == "a"
            && decision["at_s"].as_f64().is_some_and(|at| at > from && at <= until + 0.001)
    });
    assert!(turned.is_some(), "{decided:#?}");

    let told = person.plait(&["replay", "there", "--verbose"]);
    assert_eq!(told.code(), Some(1));
    for word in ["4 members of 1 overlay", "are as recorded", "a → b", "to c by d", "*** over: lost a → b"]
    {
        assert!(told.stdout.contains(word), "{word}: {}", told.stdout);
    }

    // A decision that was not taken is refused by its line.
    let place = folder.join("control/a.jsonl");
    let text = fs::read_to_string(&place).unwrap();
    let line = text.lines().position(|line| line.contains("route_add")).unwrap();
    let changed = text.lines().enumerate().map(|(at, known)| match at == line {
        true => known.replacen("\"destination\":\"0.0.0.", "\"destination\":\"0.0.1.", 1) + "\n",
        false => known.to_owned() + "\n",
    });
    fs::write(&place, changed.collect::<String>()).unwrap();
    person
        .plait(&["replay", "there"])
        .fails_saying(2, &[&format!("a:{}:", line + 1), "0.0.0.1", "recorded was"]);
    fs::write(&place, text.replacen("\"heard\"", "\"herd\"", 1)).unwrap();
    person.plait(&["replay", "there"]).fails_saying(2, &["a:", "herd"]);
    person.plait(&["replay", "there/samples"]).fails_saying(2, &["no recordings", "collect"]);
    person.assert_nothing_runs();
}

#[test]
fn the_same_file_records_the_same_fault_in_virtual_time() {
    let folder = tempfile::tempdir().unwrap();
    let plait = |words: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_plait")).current_dir(folder.path()).args(words).output().unwrap()
    };
    let file = example("overlay-failure.yaml");
    let ran =
        plait(&["run", file.to_str().unwrap(), "--world", "simulated", "--leave-out", "--output", "there"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let ended = plait(&["replay", "there", "--json"]);
    assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
    let replayed: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let lost = faults(&replayed, "lost", &["a", "b"]);
    let fault = lost.first().unwrap_or_else(|| panic!("{replayed:#}"));
    let (from, until) = (fault["from_s"].as_f64().unwrap(), fault["until_s"].as_f64().unwrap());
    // Virtual time is never late: three intervals of 0.4 s, less what had passed of the first.
    assert!((3.0..3.41).contains(&from) && (0.79..1.61).contains(&(until - from)), "{fault:#}");
    assert!(has_pair(fault, "a", "c"), "{fault:#}");
}

/// What a node's control planes recorded, brought into a folder.
fn bring(testbed: &Testbed<'_>, folder: &Path, node: &str) -> String {
    let recorded = testbed.exec(node, &["cat", "/run/plait-overlay/control.jsonl"]).fine();
    fs::write(folder.join(format!("{node}.jsonl")), &recorded).unwrap();
    recorded
}

/// The process of a node's agent that was started last, as nodes see it.
fn agent(testbed: &Testbed<'_>, node: &str) -> u64 {
    let log = testbed.person.plait(&["inspect", "--log", &testbed.name]).fine();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut started = lines.filter(|line| line["message"] == "overlay agent started" && line["node"] == node);
    started.next_back().unwrap()["pid"].as_u64().unwrap()
}

#[test]
fn an_agent_that_was_killed_for_good_is_named_and_one_that_started_again_is_a_second_life() {
    let Some(person) = Person::root() else { return };
    let network = |more: &str| {
        format!(
            "plait: 1\nnodes: {{a: host, b: host, c: host, r: router}}\nlinks: [a-r, b-r, c-r]\n\
             overlays:\n  ov0:\n    members: [a, b, c]\n    network: 10.99.0.0/24\n    control: delay\n\
             \x20   interval: 400ms\n{more}collect: {{control: true}}\n"
        )
    };
    let testbed = person.up(&network(""));
    let mode = testbed.shell("a", "stat -c %a /run/plait-overlay/control.jsonl").fine();
    assert_eq!(mode.trim(), "600");
    let key = testbed.exec("a", &["cat", "/run/plait-overlay/ov0.key"]).fine();
    let kill = |node: &str| {
        let pid = agent(&testbed, node);
        testbed.shell(node, &format!("kill -9 {pid}")).fine();
        assert!(eventually(|| testbed.shell(node, &format!("kill -0 {pid}")).code() != Some(0)));
    };
    kill("a");
    testbed.apply(&network("    mtu: 1300B\n")).fine();
    let knows = |node: &str| {
        let shown = testbed.exec(node, &["plait", "overlay", "--json", "node", "show"]).json();
        shown.as_object().map_or(0, serde_json::Map::len)
    };
    // The tables of its first life are left once the second has found the others.
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert!(eventually(|| knows("a") == 2 && knows("c") == 2));
    kill("b");
    assert!(eventually(|| knows("a") == 1 && knows("c") == 1));

    let folder = person.work().join("brought");
    fs::create_dir(&folder).unwrap();
    for node in ["a", "b", "c"] {
        let recorded = bring(&testbed, &folder, node);
        assert!(recorded.lines().count() > 100);
        let key = key.trim();
        let digits: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!recorded.contains(key) && !recorded.contains(&digits), "a key is told nowhere");
    }
    let ended = person.plait(&["replay", "brought", "--json"]);
    assert_eq!(ended.code(), Some(1), "{ended:?}");
    let replayed: Value = serde_json::from_str(&ended.stdout).unwrap();
    let lives: Vec<_> =
        replayed["members"].as_array().unwrap().iter().map(|member| &member["lives"]).collect();
    assert_eq!(lives, [2, 1, 1]);
    let silent = faults(&replayed, "silent", &["b"]);
    let silent = silent.first().unwrap_or_else(|| panic!("{replayed:#}"));
    assert!(has_pair(silent, "a", "b") && has_pair(silent, "c", "b"), "{silent:#}");
    let length = silent["until_s"].as_f64().unwrap() - silent["from_s"].as_f64().unwrap();
    assert!((0.5..4.0).contains(&length), "{silent:#}");
    // The others know no way to it any more, to the end.
    for node in ["a", "c"] {
        let forgotten = faults(&replayed, "no-route", &[node, "b"]);
        assert!(forgotten.last().is_some_and(|fault| fault["until_s"].is_null()), "{replayed:#}");
    }
    testbed.down();
    person.assert_nothing_runs();
}
