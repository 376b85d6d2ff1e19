//! Nodes of the kinds `ovs` and `controller`: a file is all that a network of OpenFlow takes.

mod common;

#[path = "common/component.rs"]
mod component;

use common::{Person, Running, Testbed, eventually, skip};
use serde_json::Value;
use std::path::Path;

const RING: &str = include_str!("../../../examples/openflow.yaml");

fn person() -> Option<Person> {
    if !Path::new("/usr/sbin/ovs-vswitchd").exists() {
        skip("Open vSwitch is not installed");
        return None;
    }
    let person = Person::root();
    if person.is_none() {
        skip("switches in user space are tested as root");
    }
    person
}

fn reaches(testbed: &Testbed, from: &str, to: &str) -> bool {
    testbed.shell(from, &format!("ping -c 1 -W 1 {to}")).code() == Some(0)
}

fn all_reach_all(testbed: &Testbed, hosts: &[&str]) -> bool {
    hosts.iter().all(|from| hosts.iter().filter(|to| *to != from).all(|to| reaches(testbed, from, to)))
}

/// What the controller says of its switches, asked in its node.
fn switches(testbed: &Testbed, controller: &str) -> Vec<Value> {
    let asked = testbed.shell(controller, "plait --json controller switches");
    if asked.code() == Some(0) { asked.json().as_array().cloned().unwrap_or_default() } else { Vec::new() }
}

/// A file in the controller's node.
fn put(person: &Person, testbed: &Testbed, name: &str, bytes: &[u8]) -> String {
    let path = format!("/run/node/{name}");
    let line = format!("cat > {path}");
    let words = testbed.words("c0", &["sh", "-c", &line]);
    person.file(name, bytes);
    let file = std::fs::File::open(person.work().join(name)).unwrap();
    assert!(person.prepare(&words).stdin(file).status().unwrap().success());
    path
}

fn access_lists_are_obeyed(testbed: &Testbed) {
    let access = |rules: &str| {
        let line =
            format!("printf '%b' \"{rules}\" > /run/node/rules && plait controller access /run/node/rules");
        testbed.shell("c0", &line)
    };
    let refused = access("- deny: {ip_proto: icmp}\\n");
    assert!(refused.code() == Some(3) && refused.stderr.contains("eth_type: ipv4"), "{refused:?}");
    assert!(access("- deny: {eth_type: ipv4, ip_proto: icmp}\\n").fine().contains("deny"));
    assert!(eventually(|| !reaches(testbed, "h1", "h2") && !reaches(testbed, "h3", "h1")));
    transfers(testbed, "h1", "h2");
    assert_eq!(access("[]").fine(), "everything is permitted\n");
    assert!(eventually(|| all_reach_all(testbed, &["h1", "h2", "h3"])));
}

/// A view that the component brings, which the operator writes; the component writes what was the operator's.
fn a_component_is_added_obeyed_and_removed(person: &Person, testbed: &Testbed) {
    let (component, manifest) = component::example("quarantine");
    let component = put(person, testbed, "quarantine.wasm", &component);
    let manifest = put(person, testbed, "quarantine.json", manifest.as_bytes());
    let control = |line: &str| testbed.shell("c0", &format!("plait control {line}"));
    let add = format!("add {component} --manifest {manifest} --on banned@1");
    let refused = control(&add);
    assert!(refused.code() == Some(1) && refused.stderr.contains("--allow access-list"), "{refused:?}");
    let add = format!("{add} --allow access-list");
    let refused = control(&add);
    assert!(refused.stderr.contains("plait control write access-list@1 --release"), "{refused:?}");
    assert!(!control("applications").fine().contains("quarantine"), "what was refused is not there");
    control("write access-list@1 --release").fine();
    control(&add).fine();
    // What the component or the switches say is not the operator's to write.
    for (view, remedy) in [("access-list@1", "plait control remove quarantine"), ("switches@1", "a driver")] {
        let refused = control(&format!("write {view} - <<'EOF'\n{{\"rules\": []}}\nEOF"));
        assert!(refused.code() == Some(1) && refused.stderr.contains(remedy), "{refused:?}");
    }

    let address = testbed.shell("h2", "cat /sys/class/net/eth0/address").fine();
    let bytes: Vec<String> =
        address.trim().split(':').map(|pair| u8::from_str_radix(pair, 16).unwrap().to_string()).collect();
    let ban =
        |stations: &str| control(&format!("write banned@1 - <<'EOF'\n{{\"stations\": [{stations}]}}\nEOF"));
    let refused = ban("[1, 2]");
    assert!(refused.code() == Some(1) && refused.stderr.contains(".stations[0]"), "{refused:?}");
    ban(&format!("[{}]", bytes.join(", "))).fine();
    assert!(eventually(|| !reaches(testbed, "h1", "h2")));
    assert!(eventually(|| reaches(testbed, "h1", "h3")));
    let dry = control("dry-run quarantine --json").fine();
    let dry: Value = serde_json::from_str(&dry).unwrap();
    assert_eq!(dry["writes"]["access-list@1"]["rules"].as_array().map(Vec::len), Some(2), "{dry}");
    // In its own place, which keeps its DAG.
    control(&format!("add {component} --manifest {manifest}")).fine();
    assert!(control("graph").fine().contains("set off by banned@1"));

    control("remove quarantine").fine();
    let gone = testbed.shell("c0", "plait controller views banned@1");
    assert!(gone.code() == Some(1), "its view is gone with it: {gone:?}");
    control("write access-list@1 - <<'EOF'\n{\"rules\": []}\nEOF").fine();
    assert!(eventually(|| all_reach_all(testbed, &["h1", "h2", "h3"])));
}

/// What the file gives a controller is there from its start; what is wrong with it is said before anything changes.
fn a_file_gives_a_controller_applications(testbed: &Testbed) {
    let given = |more: &str| {
        let files = "application: quarantine.wasm, manifest: quarantine.json, on: [banned@1]";
        RING.replace("app: routing", &format!("app: routing, applications: [{{{files}, {more}}}]"))
    };
    for (more, said) in [
        ("allow: [Access]", "`Access` is no name"),
        ("allow: [access-list], dags: [quarantine.json]", "quarantine.json is no DAG"),
        ("allow: [access-list], every: [soon]", "soon"),
        ("allow: [access-list], manifset: x", "manifset"),
    ] {
        let refused = testbed.apply(&given(more));
        assert!(refused.code() == Some(3) && refused.stdout.contains(said), "{refused:?}");
    }
    let listed = || testbed.shell("c0", "plait control applications").stdout.contains("quarantine");
    assert!(!listed());
    // The controller is killed for it, and another one takes its place.
    let server = testbed.background("h2", "timeout 40 iperf3 -s -1 -p 5400");
    assert!(eventually(|| testbed.shell("h2", "ss -Hltn sport = :5400 | grep -q .").code() == Some(0)));
    let transfer = testbed.background("h1", "timeout 40 iperf3 -J -c h2 -p 5400 -t 7 -b 2M");
    let established = "ss -Htn state established dport = :5400 | wc -l";
    assert!(eventually(|| testbed.shell("h1", established).stdout.trim() == "2"));
    testbed.apply(&given("allow: [access-list]")).fine();
    let transferred = transfer.wait().json();
    assert!(transferred["end"]["sum_received"]["bytes"].as_u64() > Some(500_000), "{transferred}");
    server.wait();
    assert!(eventually(listed), "{}", testbed.shell("c0", "cat /run/node/log/controller.log").stdout);
    assert!(testbed.shell("c0", "plait control graph").fine().contains("set off by banned@1"));
    // A controller that starts with it leaves the network as it is.
    assert!(eventually(|| all_reach_all(testbed, &["h1", "h2", "h3"])));
    testbed.apply(RING).fine();
    assert!(eventually(|| all_reach_all(testbed, &["h1", "h2", "h3"])));
    assert!(!testbed.shell("c0", "plait control applications").fine().contains("quarantine"));
}

/// A megabyte by TCP, which arrives whole or not at all.
fn transfers(testbed: &Testbed, from: &str, to: &str) {
    let server = testbed.background(to, "timeout 20 iperf3 -s -1 -p 5300");
    assert!(eventually(|| testbed.shell(to, "ss -Hltn sport = :5300 | grep -q .").code() == Some(0)));
    testbed.shell(from, &format!("timeout 20 iperf3 -c {to} -p 5300 -n 1M")).fine();
    server.wait();
}

#[test]
fn a_ring_of_open_vswitch_and_its_controller_are_a_file_and_heal() {
    let Some(person) = person() else { return };
    let hosts = ["h1", "h2", "h3"];
    let testbed = person.up(RING);
    assert!(eventually(|| all_reach_all(&testbed, &hosts)), "{:?}", switches(&testbed, "c0"));
    let known = switches(&testbed, "c0");
    assert_eq!(known.len(), 3, "{known:?}");
    assert!(known.iter().all(|switch| switch["version"] == "1.3"), "{known:?}");
    transfers(&testbed, "h1", "h2");
    access_lists_are_obeyed(&testbed);
    a_component_is_added_obeyed_and_removed(&person, &testbed);
    a_file_gives_a_controller_applications(&testbed);

    let report = testbed.inspect();
    let of = |name: &str| {
        let nodes = report["nodes"].as_array().unwrap();
        nodes.iter().find(|node| node["name"] == name).cloned().unwrap()
    };
    assert_eq!(of("s1")["daemons"], serde_json::json!(["ovsdb-server", "ovs-vswitchd"]));
    assert_eq!(of("c0")["daemons"], serde_json::json!(["controller"]));
    let ports = testbed.shell("s1", "ovs-vsctl list-ports br0").fine();
    assert!(!ports.contains("control"), "the way to the controller is no port: {ports}");

    testbed.link("fail", &["s1-s2"]).fine();
    assert!(eventually(|| all_reach_all(&testbed, &hosts)), "by the other way around");
    testbed.link("recover", &["s1-s2"]).fine();
    assert!(eventually(|| all_reach_all(&testbed, &hosts)));

    // A host more is a port more, numbered after those that were there.
    let more = RING.replace("h3: host}", "h3: host, h4: host}").replace("h3-s3]", "h3-s3, h4-s1]");
    testbed.apply(&more).fine();
    let number = testbed.shell("s1", "ovs-vsctl get interface eth3 ofport").fine();
    assert_eq!(number.trim(), "4");
    assert!(eventually(|| all_reach_all(&testbed, &["h1", "h2", "h3", "h4"])));
    testbed.apply(RING).fine();
    let ports = testbed.shell("s1", "ovs-vsctl list-ports br0").fine();
    assert!(!ports.contains("eth3"), "{ports}");
    testbed.down();
    person.assert_nothing_runs();
}

/// Whether who asks a port of a host gets its answer.
fn is_answered(testbed: &Testbed, from: &str, to: &str, port: u16) -> bool {
    let line = format!("timeout 3 socat -T 2 - TCP:{to}:{port},connect-timeout=2 </dev/null | grep -q here");
    testbed.shell(from, &line).code() == Some(0)
}

/// What the component in the controller has counted.
fn guarded(testbed: &Testbed) -> Option<(u64, u64)> {
    let said = testbed.shell("c0", "plait --json controller views guarded@1");
    let said = (said.code() == Some(0)).then(|| said.json())?;
    Some((said["seen"].as_u64()?, said["refused"].as_u64()?))
}

#[test]
fn a_component_reads_what_switches_ask_and_is_added_replaced_and_removed_while_they_do() {
    let Some(person) = person() else { return };
    let testbed = person.up(RING);
    assert!(eventually(|| all_reach_all(&testbed, &["h1", "h2", "h3"])), "{:?}", switches(&testbed, "c0"));
    let servers = [23, 24].map(|port| {
        testbed.background("h2", &format!("socat TCP-LISTEN:{port},fork,reuseaddr SYSTEM:'echo here'"))
    });
    let answered = || [23, 24].map(|port| is_answered(&testbed, "h1", "h2", port));
    assert!(eventually(|| answered() == [true, true]));
    // Flows that are there, and new ones all the time, go on whatever becomes of the component.
    let ping = testbed.background("h1", "echo $$ > /run/node/ping; exec ping -q -i 0.1 -W 2 h3");
    let asks =
        "port=3000; while true; do echo | socat -t 0 - UDP:h3:$port; port=$((port + 1)); sleep 0.05; done";
    let asking = testbed.background("h1", asks);

    let control = |line: &str| testbed.shell("c0", &format!("plait control {line}"));
    let (component, manifest) = component::example("port-guard");
    let component = put(&person, &testbed, "port-guard.wasm", &component);
    let manifest = put(&person, &testbed, "port-guard.json", manifest.as_bytes());
    let add = format!("add {component} --manifest {manifest} --on packet-ins@1");
    let refused = control(&add);
    assert!(refused.code() == Some(1) && refused.stderr.contains("--allow"), "{refused:?}");
    control(&format!("{add} --allow commands --allow guarded")).fine();
    assert!(eventually(|| answered() == [false, true]), "{:?}", guarded(&testbed));
    let (seen, refused) = guarded(&testbed).unwrap();
    assert!(seen > refused && refused > 0, "{seen} {refused}");
    // The rule is the switch's own: it is there among its flows.
    let dropped = |port: u16| {
        let flows = testbed.shell("s1", "ovs-ofctl -O OpenFlow13 dump-flows br0").fine();
        flows.contains(&format!("priority=9000,tcp,tp_dst={port} actions=drop"))
    };
    assert!(eventually(|| !answered()[0] && dropped(23)));

    // In its own place, which keeps its DAG and what it knows.
    let other =
        put(&person, &testbed, "other.wasm", &component::example_with("port-guard", &["-DPORT=24"]).0);
    control(&format!("add {other} --manifest {manifest}")).fine();
    assert!(eventually(|| answered() == [true, false]));
    assert!(guarded(&testbed).unwrap() > (seen, refused));

    // One that never ends where a connection begins fails, again and again, and the others answer switches all the while.
    let endless =
        component::example_with("port-guard", &["-DPORT=({ for (;;) __asm__ volatile(\"\"); 0; })"]).0;
    let endless = put(&person, &testbed, "endless.wasm", &endless);
    control("remove port-guard").fine();
    assert!(eventually(|| answered() == [true, true]));
    control(&format!("{add} --allow commands --allow guarded").replace(&component, &endless)).fine();
    let failed = || {
        let graph = testbed.shell("c0", "plait --json control graph").json();
        let dags = graph["dags"].as_array().unwrap().clone();
        dags.iter().find(|dag| dag["name"] == "port-guard").and_then(|dag| dag["failed"].as_u64()).unwrap()
    };
    assert!(eventually(|| answered() == [true, true] && failed() > 2), "{} runs failed", failed());

    control("remove port-guard").fine();
    assert!(eventually(|| answered() == [true, true]));
    assert_eq!(guarded(&testbed), None, "its view is gone with it");
    assert!(!control("graph").fine().contains("port-guard"));
    let statistics = testbed.shell("c0", "plait --json controller stats").json();
    assert!(statistics["workers"].as_array().unwrap().iter().all(|worker| worker["malformed"] == 0));
    asking.signal(rustix::process::Signal::KILL);
    asking.wait();
    testbed.shell("h1", "kill -INT $(cat /run/node/ping)").fine();
    let pinged = ping.wait();
    assert!(pinged.stdout.contains(" 0% packet loss"), "{}", pinged.stdout);
    for server in servers {
        server.signal(rustix::process::Signal::KILL);
        server.wait();
    }
    testbed.down();
    person.assert_nothing_runs();
}

#[test]
fn a_tree_of_both_versions_learns_with_a_controller_and_without() {
    let Some(person) = person() else { return };
    let text = |controller: &str| {
        format!(
            "plait: 1\nname: tree\nnodes: {{{controller}s1: ovs, s2: {{kind: ovs, openflow: 1.0}}, s3: ovs, a: host, b: host}}\n\
             links: [s1-s2, s1-s3, a-s2, b-s3]\n"
        )
    };
    let testbed = person.up(&text("c0: controller, "));
    assert!(eventually(|| all_reach_all(&testbed, &["a", "b"])), "{:?}", switches(&testbed, "c0"));
    let mut versions: Vec<String> =
        switches(&testbed, "c0").iter().map(|switch| switch["version"].to_string()).collect();
    versions.sort();
    assert_eq!(versions, ["\"1.0\"", "\"1.3\"", "\"1.3\""]);
    transfers(&testbed, "a", "b");

    // Without a controller each is a learning bridge by itself.
    testbed.apply(&text("")).fine();
    assert_eq!(testbed.shell("s1", "ovs-vsctl get-fail-mode br0").fine().trim(), "standalone");
    assert!(eventually(|| all_reach_all(&testbed, &["a", "b"])));
    testbed.down();
    person.assert_nothing_runs();
}

/// A controller with a list of applications, which is heard.
fn with_applications(person: &Person, list: &str, more: &[&str]) -> Running {
    let words = ["controller", "--name", "listed", "run", "--listen", "127.0.0.1:0", "--applications", list];
    let controller = person.start(&[&words, more].concat());
    assert!(eventually(|| person.plait(&["controller", "--name", "listed", "stats"]).code() == Some(0)));
    controller
}

#[test]
fn a_controller_has_the_applications_of_its_list_whenever_it_starts() {
    let Some(person) = Person::root() else { return skip("the test looks at the sockets of another user's") };
    let (component, manifest) = component::example("port-guard");
    person.file("port-guard.wasm", component);
    person.file("port-guard.json", &manifest);
    // Under the name of an application that is there: it takes that one's place, in a recording too.
    person.file("in-place.json", manifest.replace("\"port-guard\"", "\"switch-packets\""));
    let list = |item: &str| {
        let files = "application: port-guard.wasm, manifest: port-guard.json";
        person.file("applications.yaml", format!("- {{{files}, {item}}}\n")).display().to_string()
    };
    let file = list("on: [packet-ins@1], allow: [commands]");
    let words = ["controller", "--name", "listed", "run", "--listen", "127.0.0.1:0", "--applications", &file];
    person.plait(&words).fails_saying(3, &["applications.yaml", "allow: [guarded]"]);
    list("on: [packet-ins], allow: [commands, guarded]");
    person.plait(&words).fails_saying(3, &["applications.yaml:1", "`packet-ins` is no view"]);
    person.file("applications.yaml", "- {application: gone.wasm, manifest: port-guard.json}\n");
    person.plait(&words).fails_saying(3, &["applications.yaml:1", "gone.wasm"]);
    person.file("applications.yaml", "- {application: port-guard.json, manifest: port-guard.json}\n");
    person.plait(&words).fails_saying(3, &["applications.yaml", "port-guard", "no WebAssembly"]);
    let one = "- {application: port-guard.wasm, manifest: port-guard.json, allow: [commands, guarded]}\n";
    person.file("applications.yaml", format!("{one}{one}"));
    person.plait(&words).fails_saying(3, &["applications.yaml:2", "`port-guard` stands there twice"]);
    list("fuel: 0");
    person.plait(&words).fails_saying(3, &["applications.yaml:1"]);

    list("on: [packet-ins@1], allow: [commands, guarded]");
    let graph = || person.plait(&["control", "--name", "listed", "graph"]).fine();
    for _ in 0..2 {
        let controller = with_applications(&person, &file, &[]);
        assert!(graph().contains("port-guard"), "{}", graph());
        controller.signal(rustix::process::Signal::KILL);
        controller.wait();
    }

    let recording = person.work().join("listed.jsonl").display().to_string();
    let item = "allow: [commands, guarded]";
    let files = "application: port-guard.wasm, manifest: in-place.json";
    person.file("applications.yaml", format!("- {{{files}, {item}}}\n"));
    let controller = with_applications(&person, &file, &["--record", &recording, "--workers", "1"]);
    let applications = person.plait(&["--json", "control", "--name", "listed", "applications"]).json();
    let taken = applications.as_array().unwrap().iter().find(|one| one["name"] == "switch-packets").unwrap();
    assert!(taken["writes"].to_string().contains("guarded"), "{applications}");
    controller.signal(rustix::process::Signal::INT);
    assert_eq!(controller.wait().code(), Some(0));
    let replayed = person.plait(&["--json", "control", "replay", &recording]);
    assert_eq!(replayed.code(), Some(0), "{replayed:?}");
    person.assert_nothing_runs();
}
