//! `control:` of a file: applications decide routes, in both worlds.
//!
//! ```text
//!             up
//!           /    \
//!  h1 ── s1        s2 ── h2
//!           \    /
//!            down
//! ```

mod common;

#[path = "common/component.rs"]
mod component;

use common::{Person, as_root_and_as_user, eventually};
use std::fs;
use std::path::Path;

/// By the upper way two hosts are four milliseconds apart, by the lower one eight.
fn diamond(more: &str) -> String {
    format!(
        "plait: 1
name: decided
routing: none
nodes: {{h1: host, h2: host, s1: router, up: router, down: router, s2: router}}
links:
  - {{endpoints: [h1, s1], delay: 1ms}}
  - {{endpoints: [s1, up], delay: 1ms, dynamic: true}}
  - {{endpoints: [up, s2], delay: 1ms, dynamic: true}}
  - {{endpoints: [s1, down], delay: 3ms}}
  - {{endpoints: [down, s2], delay: 3ms}}
  - {{endpoints: [s2, h2], delay: 1ms}}
{more}"
    )
}

const RUN: &str = "duration: 6s
collect: {links: 100ms, tcp: off, interfaces: off}
traffic:
  - {name: there, from: h1, to: h2, rate: 2Mbit, stop: 5900ms}
  - {name: back, from: h2, to: h1, rate: 1Mbit, stop: 5900ms}
run:
  - {at: 2s, link: up-s2, fail: true}
  - {at: 4s, link: up-s2, recover: true}
";

/// The example in C as a component, and its manifest, for who types `plait`.
fn component(person: &Person) {
    let (component, manifest) = component::example("least-delay");
    person.file("least-delay.wasm", component);
    person.file("manifest.json", manifest);
}

/// Of a link's way from its first end: how many packets had passed at an instant.
fn passed(folder: &Path, link: &str, at: f64) -> i64 {
    let text = fs::read_to_string(folder.join("samples/links.csv")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let own = cells[1] == link && cells[2] == "forward";
        own.then(|| (cells[0].parse::<f64>().unwrap(), cells[3].parse::<i64>().unwrap()))
    };
    text.lines()
        .skip(1)
        .filter_map(row)
        .filter(|(instant, _)| *instant <= at)
        .last()
        .map_or(0, |(_, packets)| packets)
}

/// Flow by flow: its name, datagrams sent, datagrams received.
fn flows(folder: &Path) -> Vec<(String, i64, i64)> {
    let text = fs::read_to_string(folder.join("samples/flows.csv")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].to_owned(), cells[5].parse().unwrap(), cells[6].parse().unwrap())
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn traffic_goes_the_other_way_after_a_link_failed_and_back_in_both_worlds() {
    as_root_and_as_user(|person| {
        component(person);
        for control in [
            "control: [least-delay]\n",
            "control:\n  - {application: least-delay.wasm, manifest: manifest.json}\n",
        ] {
            person.file("net.yaml", diamond(&format!("{control}{RUN}")));
            let run = |world: &str| {
                person.plait(&["run", "net.yaml", "--world", world, "--output", world]).fine();
                let folder = person.work().join(world);
                let of = |link, from, to| passed(&folder, link, to) - passed(&folder, link, from);
                let seen: Vec<[i64; 2]> = [(0.5, 1.9), (3.4, 3.9), (5.3, 5.8)]
                    .map(|(from, to)| [of("s1-up", from, to), of("s1-down", from, to)])
                    .into();
                // Some 250 datagrams a second, and what kernels ask their neighbours.
                for (at, [up, down]) in seen.iter().enumerate() {
                    let (used, idle) = if at == 1 { (down, up) } else { (up, down) };
                    assert!(*used > 60 && *idle < 10, "{control} in {world}: {seen:?}");
                }
                flows(&folder)
            };
            let (real, simulated) = (run("testbed"), run("simulated"));
            for ((name, sent, received), (same, asked, came)) in real.iter().zip(&simulated) {
                assert_eq!(name, same);
                assert!((sent - asked).abs() <= 1, "{name}: {sent} and {asked} sent");
                // Virtual time loses what is on the link that fails; a testbed what comes until its nodes have other routes,
                // which the kernel may keep waiting for a second while it takes somebody else's namespaces down.
                assert!((0..=2).contains(&(asked - came)), "{name}: {came} of {asked} came");
                assert!((0..=sent / 4).contains(&(sent - received)), "{name}: {received} of {sent} came");
            }
            person.plait(&["compare", "testbed", "simulated"]).fine();
            for world in ["testbed", "simulated"] {
                fs::remove_dir_all(person.work().join(world)).unwrap();
            }
        }
    });
}

#[test]
fn routes_follow_links_by_hand_nodes_that_fail_and_the_file_and_end_with_the_section() {
    as_root_and_as_user(|person| {
        let file = diamond("control: [least-delay]\n");
        let testbed = person.up(&file);
        // Through one router on the way less, the time to live is one less: the lower way is as long, so ask for the route.
        let goes_by = |gateway: &str| {
            let told = testbed.exec("s1", &["ip", "route", "get", &address(person, "h2")]).fine();
            told.contains(&format!("dev {gateway} "))
        };
        assert!(goes_by("eth1"), "by the upper way when it is up");
        testbed.exec("h1", &["ping", "-c", "1", "-W", "2", "h2"]).fine();
        testbed.link("set", &["s1-up", "delay=20ms"]).fine();
        assert!(eventually(|| goes_by("eth2")));
        testbed.link("set", &["s1-up", "delay=1ms"]).fine();
        assert!(eventually(|| goes_by("eth1")));
        // Both ends of a link that failed still reach all addresses of each other.
        testbed.link("fail", &["up-s2"]).fine();
        assert!(eventually(|| goes_by("eth2")));
        assert!(eventually(|| testbed.exec("s2", &["ping", "-c", "1", "-W", "1", "up"]).status.success()));
        testbed.link("recover", &["up-s2"]).fine();
        assert!(eventually(|| goes_by("eth1")));
        // Costs are others than delays, and a node that is made anew has routes again.
        let cheap = file
            .replace("least-delay", "least-cost")
            .replace("delay: 1ms, dynamic", "delay: 1ms, cost: 9, dynamic");
        testbed.apply(&cheap).fine();
        assert!(goes_by("eth2"));
        testbed.apply(&cheap.replace("s1: router", "s1: {kind: router, processors: [0]}")).fine();
        assert!(goes_by("eth2"));
        testbed.exec("h1", &["ping", "-c", "1", "-W", "2", "h2"]).fine();
        // Without applications there are no routes, and a shortest path where Plait decides.
        testbed.apply(&cheap.replace("control: [least-cost]\n", "")).fine();
        assert_ne!(testbed.exec("h1", &["ping", "-c", "1", "-W", "1", "h2"]).code(), Some(0));
        let routes = testbed.exec("s1", &["ip", "route"]).fine();
        assert!(!routes.contains("via"), "{routes}");
        testbed.down();
    });
}

#[test]
fn a_route_by_hand_that_is_the_one_that_was_decided_stays_and_so_do_routes_of_a_link_that_fails_for_a_moment()
{
    as_root_and_as_user(|person| {
        // The last link is a bare one, whose devices go off when it fails.
        let file = diamond("control: [least-delay]\n").replace("[s2, h2], delay: 1ms", "[s2, h2]");
        let testbed = person.up(&file);
        let host = address(person, "h2");
        let route = || {
            let told = testbed.exec("s1", &["ip", "route"]).fine();
            let own = told.lines().find(|line| line.starts_with(&format!("{host} via ")));
            own.map(|line| line.split_whitespace().nth(2).unwrap().to_owned())
        };
        let gateway = route().expect("it was decided");
        let by_hand = format!("s1: {{kind: router, routes: [{{to: {host}/32, via: {gateway}}}]}}");
        testbed.apply(&file.replace("s1: router", &by_hand)).fine();
        assert_eq!(route().as_ref(), Some(&gateway), "by hand now");
        testbed.apply(&file).fine();
        assert_eq!(route().as_ref(), Some(&gateway), "decided again");
        // Whether or not anybody looked in between.
        for _ in 0..10 {
            testbed.link("fail", &["s2-h2"]).fine();
            testbed.link("recover", &["s2-h2"]).fine();
        }
        let reaches = || testbed.exec("h1", &["ping", "-c", "1", "-W", "1", "h2"]).status.success();
        assert!(eventually(reaches));
        testbed.down();
    });
}

#[test]
fn a_node_that_was_made_anew_has_its_routes_though_what_came_after_it_failed() {
    as_root_and_as_user(|person| {
        let file = diamond("control: [least-delay]\n");
        let testbed = person.up(&file);
        let anew =
            |more: &str| file.replace("s1: router", &format!("s1: {{kind: router, processors: [0]{more}}}"));
        let reaches = || testbed.exec("h1", &["ping", "-c", "1", "-W", "2", "h2"]).status.success();
        assert!(eventually(reaches));
        // A gateway on no link of the node, which the kernel refuses.
        let failed = testbed.apply(&anew(", routes: [{to: 192.0.2.0/24, via: 198.51.100.1}]"));
        assert!(failed.code() == Some(1) && failed.stdout.contains("apply again"), "{failed:?}");
        assert!(eventually(reaches), "at once");
        testbed.apply(&anew("")).fine();
        assert!(eventually(reaches), "and when the cause is corrected");
        testbed.down();
    });
}

#[test]
fn what_is_wrong_with_control_is_told_with_its_line_and_remedy() {
    let Some(person) = Person::user() else { return };
    component(&person);
    person.file("broken.json", "{\"name\": 1}");
    person.file(
        "other.json",
        "{\"name\": \"other\", \"inputs\": [{\"view\": \"links@1\"}], \"outputs\": [{\"view\": \"best@1\"}]}",
    );
    person.file("text.wasm", "no component");
    for (control, words) in [
        ("control: [fastest]\n", &["no control application is called `fastest`", ":12:"][..]),
        ("control: [least-dela]\n", &["did you mean `least-delay`?"]),
        ("control: [least-delay.wasm]\n", &["{application: least-delay.wasm, manifest: manifest.json}"]),
        ("control: [least-delay, least-delay]\n", &["stands in `control` twice", "remove one"]),
        ("control: []\n", &["names no application", "leave `control` out"]),
        ("control: [{application: least-delay.wasm}]\n", &["missing", "manifest"]),
        (
            "control: [{application: least-delay.wasm, manifest: gone.json}]\n",
            &["gone.json", "beside this file"],
        ),
        (
            "control: [{application: gone.wasm, manifest: manifest.json}]\n",
            &["gone.wasm", "beside this file"],
        ),
        (
            "control: [{application: least-delay.wasm, manifest: broken.json}]\n",
            &["broken.json is no manifest"],
        ),
        ("control: [{application: text.wasm, manifest: manifest.json}]\n", &["it is no component"]),
        (
            "control: [{application: least-delay.wasm, manifest: other.json}]\n",
            &["writes best@1, which its code does not"],
        ),
    ] {
        let file = person.file("wrong.yaml", diamond(control));
        for verb in ["plan", "validate"] {
            person.plait(&[verb, file.to_str().unwrap()]).fails_saying(3, words);
        }
    }
    let both = diamond("control: [least-delay]\n").replace("routing: none\n", "");
    let file = person.file("wrong.yaml", both);
    person.plait(&["validate", file.to_str().unwrap()]).fails_saying(
        3,
        &["`control` and `routing: static` would both decide routes", "write `routing: none`"],
    );
    person
        .plait(&["run", file.to_str().unwrap(), "--world", "simulated"])
        .fails_saying(3, &["`routing: none`"]);
}

/// A node's address, as others resolve its name.
fn address(person: &Person, node: &str) -> String {
    let told = person.plait(&["exec", "h1", "--", "getent", "hosts", node]).fine();
    told.split_whitespace().next().unwrap().to_owned()
}
