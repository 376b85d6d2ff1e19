//! A run leaves one folder with everything in it.

mod common;

use common::{Person, Running, as_root_and_as_user, eventually, installed};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const TINY: &str = "plait: 1\nname: tiny\nseed: 4\n\
    report: {title: A tiny run, question: Does everything arrive?}\n\
    nodes: {a: host, r: router, b: host}\n\
    links: [{endpoints: [a, r], rate: 20Mbit, delay: 2ms, verify: true}, r-b]\n\
    collect: {tcp: 200ms, links: 200ms, ping: [{from: a, to: b, every: 20ms}], files: [{node: a, path: /run/node/note}], json: [load], capture: ['b:eth0']}\n\
    run:\n\
    - {at: 0s, on: b, name: server, exec: iperf3 -s, background: true}\n\
    - {at: 500ms, on: a, name: flow, exec: iperf3 -J -c b -t 3, timeout: 30s}\n\
    - {at: 500ms, on: a, name: note, exec: 'echo noted > /run/node/note; echo said; echo blamed >&2'}\n\
    - {at: 500ms, on: r, name: load, exec: 'for i in 1 2 3 4 5; do echo \"{\\\"load\\\": {\\\"one\\\": -$i}}\"; sleep 0.3; done'}\n\
    - {at: 1s, link: a-r, set: {delay: 20ms}}\n\
    - {at: 2s, link: a-r, fail: true}\n\
    - {at: 2500ms, link: a-r, recover: true}\n";

#[test]
fn a_run_writes_every_part_of_its_results() {
    if !installed("iperf3") {
        return;
    }
    as_root_and_as_user(|person| {
        person.file("tiny.yaml", TINY);
        let ended = person.plait(&["run", "tiny.yaml", "--json"]);
        assert_eq!(ended.code(), Some(0), "{ended:#?}");
        let said: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((&said["passed"], &said["folder"]), (&true.into(), &"results/tiny-1".into()));
        let folder = person.work().join("results/tiny-1");
        parts(&folder);
        report_is_alone(&folder);
        assert!(person.testbeds().is_empty(), "the testbed goes with its run");
        person.assert_nothing_runs();

        // The report is made anew from the folder alone.
        let before = std::fs::read(folder.join("report.html")).unwrap();
        std::fs::remove_file(folder.join("report.html")).unwrap();
        person.plait(&["report", "results/tiny-1"]).fine();
        assert_eq!(std::fs::read(folder.join("report.html")).unwrap(), before);
        // Results are never written over.
        let again = ["run", "tiny.yaml", "--output", "results/tiny-1"];
        person.plait(&again).fails_saying(2, &["results/tiny-1", "--output"]);
    });
}

fn parts(folder: &Path) {
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let results: Value = serde_json::from_str(&read("results.json")).unwrap();
    assert_eq!(results["passed"], true, "{results:#}");
    assert_eq!(results["events"].as_array().map(Vec::len), Some(7), "{results:#}");
    assert_eq!(read("network.yaml"), TINY);
    for samples in ["tcp", "links", "interfaces", "pings", "iperf3", "json"] {
        let text = read(&format!("samples/{samples}.csv"));
        assert!(text.lines().count() > 3, "{samples}: {text}");
    }
    round_trips(&read("samples/pings.csv"));
    printed(&read("samples/json.csv"));
    let plan: Value = serde_json::from_str(&read("plan.json")).unwrap();
    assert_eq!(plan["nodes"]["r"]["role"], "router");
    let commands: Vec<String> = std::fs::read_dir(folder.join("commands"))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let note = commands.iter().find(|name| name.contains("note")).expect("a folder for each command");
    assert_eq!(read(&format!("commands/{note}/stdout")), "said\n");
    assert_eq!(read(&format!("commands/{note}/stderr")), "blamed\n");
    assert_eq!(read("nodes/a/run/node/note"), "noted\n");
    let capture = std::fs::read_dir(folder.join("captures")).unwrap().flatten().next().expect("a capture");
    assert!(capture.metadata().unwrap().len() > 1000);
}

/// The link waits 2 ms each way, then 20 ms, and then is down for half a second.
fn round_trips(csv: &str) {
    let (mut before, mut after, mut lost) = (Vec::new(), Vec::new(), 0);
    for row in csv.lines().skip(1) {
        let columns: Vec<&str> = row.split(',').collect();
        let [at, "a", "b", _, trip, missing] = columns[..] else { panic!("{row}") };
        match (at.parse::<f64>().unwrap(), trip.parse::<f64>().ok(), missing) {
            (..1.0, Some(trip), "0") => before.push(trip),
            (1.2..1.9, Some(trip), "0") => after.push(trip),
            (2.1..2.4, None, "1") => lost += 1,
            (2.1..2.4, ..) => panic!("a reply over a link that is down: {row}"),
            _ => {}
        }
    }
    let least = |trips: &[f64]| trips.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(before.len() > 20 && least(&before) >= 4.0, "{before:?}");
    assert!(after.len() > 10 && least(&after) >= 40.0, "{after:?}");
    assert!(lost > 5, "requests into a dead link are rows without a reply");
}

/// Each line has the second it was printed.
fn printed(csv: &str) {
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let said: Vec<&[&str]> = rows.iter().map(|row| &row[1..]).collect();
    let wanted = ["-1.0", "-2.0", "-3.0", "-4.0", "-5.0"].map(|value| ["load", "r", "load.one", value]);
    assert_eq!(said, wanted);
    let at: Vec<f64> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
    assert!(at[0] >= 0.5 && at.windows(2).all(|pair| pair[1] - pair[0] > 0.2), "{at:?}");
}

/// A page that opens offline loads nothing from anywhere.
fn report_is_alone(folder: &Path) {
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("A tiny run") && page.contains("Does everything arrive?") && page.contains("<svg"));
    assert!(page.contains("load: load.one"), "a number that a command printed has its picture");
    let lower = page.to_lowercase();
    for loading in
        ["src=\"http", "src='http", "src=\"//", "href=\"http", "url(http", "url(//", "@import", "<script src"]
    {
        let at = lower.find(loading);
        assert!(at.is_none(), "the report loads {:?}", at.map(|at| &page[at..(at + 80).min(page.len())]));
    }
    for (at, _) in lower.match_indices("<link") {
        assert!(!lower[at..].split('>').next().unwrap().contains("stylesheet"), "a style sheet elsewhere");
    }
}

#[test]
fn a_run_with_a_failing_command_fails_and_says_which() {
    let Some(person) = Person::user() else { return };
    let text = "plait: 1\nname: fails\nnodes: [a]\nrun: [{at: 0s, on: a, name: culprit, exec: 'echo why >&2; exit 5'},\n\
                \x20 {at: 0s, on: a, name: expected, exec: exit 5, expect: 5}]\n";
    person.file("fails.yaml", text);
    let ended = person.plait(&["run", "fails.yaml", "--output", "out"]);
    assert_eq!(ended.code(), Some(1), "{ended:#?}");
    assert!(
        ended.stderr.contains("culprit on a FAILED") && !ended.stderr.contains("expected on a FAILED"),
        "{ended:#?}"
    );
    let results = std::fs::read_to_string(person.work().join("out/results.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&results).unwrap()["passed"], false);
    assert!(person.work().join("out/report.html").exists());
    person.assert_nothing_runs();
}

#[test]
fn ctrl_c_ends_a_run_early_and_keeps_what_was_measured() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nname: long\nnodes: [a, b]\nlinks: [{endpoints: [a, b], delay: 1ms}]\n\
                    collect: {interfaces: 100ms}\n\
                    run: [{at: 0s, on: a, exec: ping -i 0.1 b}, {at: 300s, on: a, exec: 'true'}]\n";
        person.file("long.yaml", text);
        let mut command = person.prepare(&["run", "long.yaml", "--output", "out"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(said.any(|line| line.contains("loggers are on")));
        assert!(said.any(|line| line.contains("ping")));
        std::thread::sleep(std::time::Duration::from_millis(700));
        common::send(child.id() as i32, Signal::INT);
        let rest: Vec<String> = said.collect();
        assert!(eventually(|| child.try_wait().unwrap().is_some()));
        assert!(child.wait().unwrap().code().is_some(), "it ended by itself: {rest:?}");
        let out = person.work().join("out");
        let results: Value =
            serde_json::from_str(&std::fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
        assert!(
            results.to_string().contains("interrupted"),
            "the results say that they are not whole: {results:#}"
        );
        assert!(std::fs::read_to_string(out.join("samples/interfaces.csv")).unwrap().lines().count() > 2);
        assert!(out.join("report.html").exists());
        assert!(person.testbeds().is_empty());
        person.assert_nothing_runs();
        let _: Option<Running> = None;
    });
}

/// A server that opens its port a little after it was started, and a client that would not try again.
const PATIENT: &str = "plait: 1\nname: patient\nnodes: {a: host, r: router, b: host}\nlinks: [a-r, r-b]\n\
    collect: {tcp: off, links: off, interfaces: off}\n\
    run:\n\
    - {at: 0s, on: b, name: server, exec: 'sleep 0.3; exec python3 -m http.server 80', background: true}\n\
    - {until: port 80 open on b, timeout: 20s}\n\
    - {until: passes, on: a, exec: 'ping -c 1 -W 1 b', timeout: 20s}\n\
    - {until: routes stable, timeout: 20s}\n\
    - {at: 0s, on: a, name: client, exec: 'python3 -c \"import socket; socket.create_connection((\\\"b\\\", 80))\"'}\n";

#[test]
fn a_run_goes_on_when_what_it_waits_for_is_so() {
    if !installed("python3") {
        return;
    }
    as_root_and_as_user(|person| {
        person.file("patient.yaml", PATIENT);
        person.plait(&["run", "patient.yaml", "--output", "out"]).fine();
        let results = std::fs::read(person.work().join("out/results.json")).unwrap();
        let results: Value = serde_json::from_slice(&results).unwrap();
        let events = results["events"].as_array().unwrap();
        let kinds: Vec<_> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["command", "wait", "wait", "wait", "command"], "{results:#}");
        let seconds = |event: usize, key: &str| events[event][key].as_f64().unwrap();
        assert!(seconds(1, "actual_s") >= 0.3, "the port was not open before: {results:#}");
        assert!(seconds(3, "actual_s") - seconds(3, "asked_s") >= 2.0, "{results:#}");
        // What follows a wait moves on by as much; how late the very first command was is no wait.
        let late = seconds(0, "actual_s") - seconds(0, "asked_s");
        assert!(seconds(4, "asked_s") >= seconds(3, "actual_s") - late - 0.05, "{results:#}");
        let page = std::fs::read_to_string(person.work().join("out/report.html")).unwrap();
        assert!(page.contains("wait for port 80 open on b"));
        person.assert_nothing_runs();
    });
}

#[test]
fn a_wait_in_vain_fails_the_run() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nname: vain\nnodes: [a]\n\
            run: [{at: 0s, on: a, exec: sleep 600, background: true},\n\
            \x20 {until: udp port 53 open on a, timeout: 700ms}, {at: 0s, on: a, name: never, exec: 'true'}]\n";
        person.file("vain.yaml", text);
        let ended = person.plait(&["run", "vain.yaml", "--output", "out"]);
        assert_eq!(ended.code(), Some(1), "{ended:#?}");
        assert!(ended.stderr.contains("waited 0.7 s for udp port 53 open on a"), "{ended:#?}");
        let results = std::fs::read(person.work().join("out/results.json")).unwrap();
        let results: Value = serde_json::from_slice(&results).unwrap();
        let failures = serde_json::json!(["at 0 s, waited 0.7 s for udp port 53 open on a"]);
        assert_eq!(results["failures"], failures, "{results:#}");
        assert_eq!(results["commands"].as_array().map(Vec::len), Some(1), "nothing follows: {results:#}");
        person.assert_nothing_runs();
    });
}

#[test]
fn a_direction_that_fails_and_recovers_loses_what_it_lost_before() {
    let Some(person) = Person::root() else { return };
    let text = "plait: 1\nname: half\nnodes: [a, b]\n\
        links: [{endpoints: [a, b], delay: 1ms, loss: 30%}]\n\
        collect: {tcp: off, links: off, interfaces: off}\nrun:\n\
        - {at: 100ms, link: a-b, direction: forward, fail: true}\n\
        - {at: 200ms, on: a, name: during, exec: ping -c 5 -i 0.02 -W 1 b, expect: 1}\n\
        - {at: 500ms, link: a-b, direction: forward, set: {loss: 40%}}\n\
        - {at: 600ms, on: a, name: still, exec: ping -c 5 -i 0.02 -W 1 b, expect: 1}\n\
        - {at: 5s, link: a-b, direction: forward, recover: true}\n\
        - {at: 5500ms, on: a, name: after, exec: ping -c 10 -i 0.02 -W 1 b, expect: any}\n";
    person.file("half.yaml", text);
    person.plait(&["run", "half.yaml"]).fine();
    let results = std::fs::read(person.work().join("results/half-1/results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let conditions = results["links"].to_string();
    assert!(conditions.contains("1ms loss 40%") && conditions.contains("1ms loss 30%"), "{conditions}");
}

/// What servers and probes say when they are told to end belongs to the run as much as what they said before.
#[test]
fn a_command_that_is_stopped_may_still_speak() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nname: last\nnodes: [a]\n\
            collect: {tcp: off, links: off, interfaces: off, json: [probe]}\n\
            metrics: {total: {output: probe, field: total}}\n\
            run:\n\
            - {at: 0s, on: a, name: probe, background: true, exec: 'trap \"echo whole > /run/node/late; printf %s {\\\\\\\"total\\\\\\\":5}; exit 0\" TERM; while :; do sleep 0.05; done'}\n\
            - {at: 300ms, on: a, name: main, exec: 'true'}\n";
        person.file("last.yaml", text);
        person.plait(&["run", "last.yaml", "--output", "out"]).fine();
        let out = person.work().join("out");
        let results: Value =
            serde_json::from_slice(&std::fs::read(out.join("results.json")).unwrap()).unwrap();
        assert_eq!(results["metrics"]["total"]["value"], 5.0, "{results:#}");
        assert_eq!(results["commands"][0]["ended"], "stopped", "{results:#}");
        assert_eq!(std::fs::read_to_string(out.join("nodes/a/late")).unwrap(), "whole\n");
    });
}

/// Loggers begin before there are routes, and one file that is not there is no reason to leave others behind.
#[test]
fn what_cannot_be_had_takes_nothing_else_along() {
    let Some(person) = Person::root() else { return };
    let text = "plait: 1\nname: gaps\nrouting: none\nnodes: {a: host, r: router, b: host}\nlinks: [{endpoints: [a, r], delay: 1ms}, r-b]\n\
        collect: {tcp: off, links: 50ms, interfaces: 50ms, ping: [{from: a, to: b, every: 20ms}],\n\
        \x20 files: [{node: a, path: /tmp/never}, {node: a, path: /tmp/there}]}\n\
        run: [{at: 0s, on: a, exec: 'echo x > /tmp/there; sleep 0.4'}]\n";
    person.file("gaps.yaml", text);
    let ended = person.plait(&["run", "gaps.yaml", "--output", "out"]);
    assert_eq!(ended.code(), Some(1), "a file that is not there fails the run: {ended:#?}");
    let out = person.work().join("out");
    let rows = |name: &str| std::fs::read_to_string(out.join("samples").join(name)).unwrap().lines().count();
    assert!(rows("links.csv") > 5 && rows("interfaces.csv") > 5);
    assert_eq!(std::fs::read_to_string(out.join("nodes/a/tmp/there")).unwrap(), "x\n");
    let results: Value = serde_json::from_slice(&std::fs::read(out.join("results.json")).unwrap()).unwrap();
    let failures = results["failures"].as_array().unwrap();
    assert!(failures.len() == 1 && failures[0].as_str().unwrap().contains("/tmp/never"), "{results:#}");
}

#[test]
fn a_run_ends_with_its_network() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nname: taken\nnodes: [a, b]\nlinks: [{endpoints: [a, b], delay: 1ms}]\nduration: 300s\n\
            run: [{at: 0s, on: a, exec: sleep 300, background: true}]\n";
        person.file("taken.yaml", text);
        let taken = |output: &str| {
            let mut run = person.start(&["run", "taken.yaml", "--output", output]);
            assert!(eventually(|| person.testbeds().iter().any(|testbed| testbed["status"] == "running")));
            let begun = Instant::now();
            person.plait(&["down", "taken"]).fine();
            let took = begun.elapsed();
            assert!(eventually(|| !run.is_running()), "nothing more can come of it");
            let ended = run.wait();
            assert_eq!(ended.code(), Some(1), "{ended:#?}");
            let results = std::fs::read_to_string(person.work().join(output).join("results.json")).unwrap();
            assert!(results.contains("the network was gone before the run was over"), "{results}");
            took
        };
        // The kernel is waited for, five seconds at most; a socket left open would use them up each time, a machine at work does
        // not.
        let took: Vec<Duration> = ["first", "second", "third"].into_iter().map(taken).collect();
        assert!(took.iter().any(|took| *took < Duration::from_secs(4)), "{took:?}");
    });
}

#[test]
fn what_was_made_twice_before_is_not_made_again() {
    let Some(person) = Person::root() else { return };
    let text = "plait: 1\nname: pair\nnodes: [a]\ncollect: {tcp: off, links: off, interfaces: off}\n\
        run: [{at: 0s, on: a, name: culprit, exec: exit 3}]\n";
    person.file("pair.yaml", text);
    let once = ["run", "pair.yaml", "--twice", "--output", "out", "--junit", "out.xml"];
    let ended = person.plait(&once);
    assert_eq!(ended.code(), Some(1), "alike, and both failed: {ended:#?}");
    assert!(ended.stderr.contains("the second run FAILED: culprit"), "{ended:#?}");
    let junit = std::fs::read_to_string(person.work().join("out.xml")).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"2\""), "{junit}");
    person.plait(&once).fails_saying(2, &["out/first is there already", "--output"]);
}
