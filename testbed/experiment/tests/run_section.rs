//! What the keys of a run mean, and how their faults are reported.

use plait_model_topology::diagnostic::Report;
use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, json_schema, parse_network};
use plait_testbed_experiment::section::{Action, Collect, Condition, Expect, Script, register};
use plait_testbed_experiment::world::Direction;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

const NETWORK: &str = "plait: 1
nodes: {a: {}, r: {kind: router}, b: {}}
links: [{endpoints: [a, r], delay: 5ms}, r-b]
lans: {office: [a, b]}
";

fn vocabulary() -> Vocabulary {
    let mut vocabulary = Vocabulary::core();
    register(&mut vocabulary);
    vocabulary
}

fn read(sections: &str) -> Result<Network, Report> {
    let source = Source::new("net.yaml", format!("{NETWORK}{sections}"));
    parse_network(&source, &vocabulary(), &|path| Err(format!("no file {path}")))
}

fn script(sections: &str) -> Script {
    Script::of(&read(sections).unwrap_or_else(|report| panic!("{report}"))).unwrap()
}

fn faults(sections: &str) -> String {
    read(sections).expect_err("the file is faulty").to_string()
}

#[test]
fn events_fire_in_the_order_of_their_instants_and_then_of_the_file() {
    let script = script(
        "run:
  - {at: 5s, link: a-r, set: {delay: 50ms}}
  - {at: 2s, on: b, exec: 'iperf3 -s', timeout: 30s, background: true}
  - {at: 5s, link: r-b, fail: true}
  - {at: 0s, on: [a, b], exec: 'TZ=UTC /bin/date', name: clock, expect: any}
",
    );
    let instants: Vec<String> = script.events.iter().map(|event| event.at.to_string()).collect();
    assert_eq!(instants, ["0ns", "0ns", "2s", "5s", "5s"]);
    let Action::Start(server) = &script.events[2].action else { panic!("a command") };
    assert_eq!((server.name.as_str(), server.node.as_str(), server.background), ("iperf3", "b", true));
    assert_eq!(server.expect, Expect::Code(0));
    let Action::Start(clock) = &script.events[1].action else { panic!("a command") };
    assert_eq!((clock.name.as_str(), clock.node.as_str(), clock.expect), ("clock", "b", Expect::Any));
    assert!(matches!(&script.events[3].action, Action::Set { link, .. } if link == "a-r"));
    assert!(matches!(&script.events[4].action, Action::Link { up: false, .. }));
    assert_eq!(script.last_event().to_string(), "5s");
}

#[test]
fn a_wait_without_an_instant_follows_the_event_before_it() {
    let script = script(
        "run:
  - {until: routes stable, timeout: 60s}
  - {at: 5s, on: a, exec: ls}
  - {until: udp port 53 open on b}
  - {at: 1s, on: a, exec: date}
  - {until: passes, on: [a, b], exec: ping -c 1 r}
  - {at: 5s, until: port 80 open on b}
",
    );
    let events = script.events.iter().map(|event| match &event.action {
        Action::Wait(wait) => format!("{} {} at most {}", event.at, wait.condition, wait.timeout),
        Action::Start(command) => format!("{} {}", event.at, command.name),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        events.collect::<Vec<_>>(),
        [
            "0ns routes stable at most 1min",
            "1s date",
            "1s `ping -c 1 r` to pass on a at most 30s",
            "1s `ping -c 1 r` to pass on b at most 30s",
            "5s ls",
            "5s udp port 53 open on b at most 30s",
            "5s port 80 open on b at most 30s",
        ]
    );
    let Action::Wait(wait) = &script.events[0].action else { panic!("a wait") };
    let Condition::Routes { routers, quiet } = &wait.condition else { panic!("{:?}", wait.condition) };
    assert_eq!((routers.as_slice(), quiet.to_string()), (&["r".to_owned()][..], "2s".to_owned()), "no hosts");
}

#[test]
fn only_a_network_with_routers_waits_for_routes() {
    let text = "plait: 1\nnodes: [a]\nrun: [{until: routes stable}]\n";
    let report = parse_network(&Source::new("net.yaml", text), &vocabulary(), &|_| Err(String::new()));
    let report = report.expect_err("there is nothing to wait for").to_string();
    assert!(report.contains("no router") && report.contains("net.yaml:3:15"), "{report}");
}

#[test]
fn a_link_named_backwards_has_its_directions_turned() {
    let script = script("run: [{at: 1s, link: r-a, direction: forward, set: {loss: 1%}}]\n");
    assert!(matches!(&script.events[0].action,
        Action::Set { link, direction: Direction::Reverse, .. } if link == "a-r"));
}

#[test]
fn without_a_word_tcp_links_and_interfaces_are_sampled() {
    assert_eq!(script("").collect, Collect::default());
    let script = script(
        "collect: {tcp: 10ms, links: off, files: [{node: [a, b], path: /var/log}], capture: ['a:eth0']}\n",
    );
    assert_eq!(script.collect.tcp, Some(Duration::from_millis(10)));
    assert_eq!(script.collect.links, None);
    assert_eq!(script.collect.interfaces, Some(Duration::from_secs(1)));
    assert_eq!(script.collect.files.len(), 2);
    assert_eq!(script.collect.captures[0].interface, "eth0");
}

#[test]
fn a_fault_in_a_run_names_its_place_and_the_remedy() {
    for (sections, expected) in [
        (
            "run: [{at: 2s, on: bb, exec: x}]\n",
            vec!["unknown node `bb`", "did you mean `b`?", "net.yaml:5:20"],
        ),
        ("run: [{at: 2s, on: [a, q], exec: x}]\n", vec!["unknown node `q`", "net.yaml:5:24"]),
        ("run: [{at: 2s, link: a-rr, fail: true}]\n", vec!["unknown link `a-rr`", "did you mean `a-r`?"]),
        ("run: [{at: 2s, link: office, fail: true}]\n", vec!["`office` is a LAN"]),
        ("run: [{at: 2s, exec: x}]\n", vec!["`on` is missing"]),
        ("run: [{at: 2s}]\n", vec!["does nothing", "`on` and `exec`"]),
        ("run: [{at: 2s, on: a, exec: x, link: a-r}]\n", vec!["one of `exec`, `link` and `node`"]),
        ("run: [{at: 2s, on: a, exec: x, fail: true}]\n", vec!["`fail` has no meaning for a command"]),
        ("run: [{at: 2s, link: a-r, fail: true, recover: true}]\n", vec!["one of `set`"]),
        ("run: [{at: 2s, link: a-r, fail: false}]\n", vec!["one of `set`"]),
        (
            "run: [{at: 2s, node: r, set: {delay: 1ms}, fail: true}]\n",
            vec!["`set` has no meaning for a node"],
        ),
        ("run: [{at: 2, on: a, exec: x}]\n", vec!["`2` has no unit"]),
        ("run: [{at: 2s, on: a, exec: ''}]\n", vec!["`exec` is empty"]),
        ("run: [{at: 2s, link: r-b, set: {reorder: 1%}}]\n", vec!["needs a `delay`"]),
        (
            "run: [{at: 2s, link: r-b, set: {dely: 1ms}}]\n",
            vec!["unknown key `dely`", "did you mean `delay`?"],
        ),
        ("run: [{at: 2s, on: a, exec: x, expect: many}]\n", vec!["`any`"]),
        (
            "run: [{at: 9s, on: a, exec: x}]\nduration: 5s\n",
            vec!["after the run's end at 5s", "net.yaml:5:12"],
        ),
        ("run: [{on: a, exec: x}]\n", vec!["`at` is missing", "only a wait", "net.yaml:5:7"]),
        (
            "run: [{until: tea}]\n",
            vec!["`tea` is nothing to wait for", "`port 80 open on NODE`", "`udp port 53 open on NODE`"],
        ),
        ("run: [{until: port 80 on b}]\n", vec!["`routes stable`, or `passes` with `on` and `exec`"]),
        ("run: [{until: port 0 open on b}]\n", vec!["`0` is no port", "1 to 65535", "net.yaml:5:15"]),
        ("run: [{until: udp port 65536 open on b}]\n", vec!["`65536` is no port"]),
        (
            "run: [{until: port 0 open on bb}]\n",
            vec!["`0` is no port", "unknown node `bb`", "did you mean `b`?", "net.yaml:5:15"],
        ),
        ("run: [{until: passes, on: a}]\n", vec!["`exec` is missing"]),
        ("run: [{until: passes, exec: x}]\n", vec!["`on` is missing"]),
        ("run: [{until: passes, on: q, exec: ''}]\n", vec!["unknown node `q`", "`exec` is empty"]),
        ("run: [{until: routes stable, on: a}]\n", vec!["`on` has no meaning for this wait"]),
        ("run: [{until: passes, on: a, exec: x, expect: 1}]\n", vec!["`expect` has no meaning for a wait"]),
        ("run: [{until: port 80 open on b, link: a-r}]\n", vec!["`link` has no meaning for a wait"]),
        ("run: [{until: routes stable, timeout: 2s}]\n", vec!["stable after 2s", "a longer timeout"]),
        (
            "run: [{until: routes stable, timeout: 6s}]\nrouting: {protocol: frr}\n",
            vec!["stable after 6s", "a longer timeout", "net.yaml:5:39"],
        ),
        ("run: [{until: port 80 open on b, timeout: 0s}]\n", vec!["a wait of no time", "net.yaml:5:43"]),
        ("run: [{at: 9s, until: routes stable}]\nduration: 5s\n", vec!["after the run's end at 5s"]),
        ("collect: {tcp: 100}\n", vec!["no unit"]),
        ("collect: {tcp: 1us}\n", vec!["shorter than samplers can keep"]),
        ("collect: {capture: ['a:eth9']}\n", vec!["`a` has no interface `eth9`"]),
        ("collect: {capture: [a]}\n", vec!["names no interface", "`a:eth0`"]),
        ("collect: {files: [{node: a, path: ../x}]}\n", vec!["not an absolute path"]),
        ("collect: {ping: [{from: a, to: bb}]}\n", vec!["unknown node `bb`", "did you mean `b`?"]),
        ("collect: {ping: [{from: a, to: a}]}\n", vec!["to itself", "name another"]),
        ("collect: {ping: [{from: a, to: b, every: 1us}]}\n", vec!["shorter than samplers can keep"]),
        ("collect: {ping: [{from: a, to: b}, {from: a, to: b}]}\n", vec!["collected already"]),
        ("metrics: {x: {ping: a b}}\n", vec!["not a pair of nodes", "`a to b`"]),
        ("metrics: {x: {ping: a to b}}\n", vec!["not collected", "`collect: {ping: [{from: a, to: b}]}`"]),
        (
            "collect: {ping: [{from: a, to: b}]}\nmetrics: {x: {ping: a to b, column: srtt}}\n",
            vec!["no column `srtt`", "net.yaml:6:37"],
        ),
        ("report: {titel: x}\n", vec!["unknown key `titel`", "did you mean `title`?"]),
    ] {
        let text = faults(sections);
        for part in expected {
            assert!(text.contains(part), "`{part}` is missing for {sections}\n{text}");
        }
    }
}

#[test]
fn traffic_is_drawn_from_the_seed_and_ends_with_the_run() {
    let written = "duration: 3s
traffic:
  - {from: b, to: a, rate: 2Mbit, start: 1s}
  - {name: load, pattern: stride(1), flows: 6, rate: 9Mbit, rates: power_law, size: 200B, stop: 2s}
  - {pattern: permutation, hosts: [r, a, b], rate: 3Mbit, port: 7000}
";
    let traffic = script(written).traffic;
    assert_eq!(traffic, script(written).traffic);
    let names: Vec<_> = traffic.iter().map(|traffic| (traffic.name.as_str(), traffic.flows.len())).collect();
    assert_eq!(names, [("traffic1", 1), ("load", 6), ("traffic3", 3)]);
    assert_eq!(traffic[0].hosts, ["b", "a"]);
    assert_eq!((traffic[0].flows[0].from, traffic[0].flows[0].to), (0, 1));
    let times: Vec<_> = traffic.iter().map(|traffic| format!("{} {}", traffic.start, traffic.stop)).collect();
    assert_eq!(times, ["1s 3s", "0ns 2s", "0ns 3s"]);
    assert_eq!(traffic[1].hosts, ["a", "b"], "routers are in patterns only by name");
    let total: u64 = traffic[1].flows.iter().map(|flow| flow.rate.bits_per_second()).sum();
    assert_eq!(total, 9_000_000);
    let ports: Vec<_> = traffic.iter().map(|traffic| traffic.flows[0].destination_port).collect();
    assert_eq!(ports, [60_009, 60_010, 7000]);
    let other = script(&format!("seed: 2\n{written}")).traffic;
    assert_ne!(traffic[1].flows, other[1].flows);
}

/// A flow's hash is of its addresses and ports, so that ports are what can make it another one in another run.
#[test]
fn ports_of_senders_are_drawn_from_the_seed_and_no_two_flows_of_a_node_have_the_same() {
    let written = "duration: 1s
traffic:
  - {from: a, to: b, flows: 15000, rate: 9Mbit}
  - {from: a, to: b, flows: 15000, rate: 9Mbit, source_ports: drawn}
  - {from: a, to: r, flows: 10000, rate: 9Mbit, source_ports: drawn}
";
    let ports = |seed: u32| {
        let all = script(&format!("seed: {seed}\n{written}")).traffic;
        all.iter().map(|traffic| traffic.flows.iter().map(|flow| flow.source_port).collect()).collect()
    };
    let first: Vec<Vec<u16>> = ports(1);
    assert_eq!(first, ports(1));
    // All that there are.
    assert_eq!(first.concat().into_iter().collect::<BTreeSet<_>>().len(), 40_000);
    let second: Vec<Vec<u16>> = ports(2);
    assert_eq!(first[0], second[0], "in order they are the same in every run");
    assert_eq!(first[0], (20_000..35_000).collect::<Vec<_>>());
    assert_ne!(first[1], second[1]);
    let one_more = faults(&format!("{written}  - {{from: a, to: b, rate: 1Mbit}}\n"));
    assert!(one_more.contains("ask for 40000 flows of a node at most"), "{one_more}");
}

#[test]
fn faults_of_traffic_name_their_lines() {
    for (written, words) in [
        ("{from: a, rate: 1Mbit}", "who sends to whom"),
        ("{from: a, to: a, rate: 1Mbit}", "nobody sends to itself"),
        ("{from: a, to: c, rate: 1Mbit}", "unknown node `c`"),
        ("{pattern: strife(1), rate: 1Mbit}", "is no pattern"),
        ("{pattern: stride(2), rate: 1Mbit}", "send to themselves"),
        ("{pattern: random, rate: 1Mbit, size: 1B}", "too short"),
        ("{pattern: random, rate: 1Mbit, size: 1MB}", "at most 65507 bytes"),
        ("{pattern: random, rate: 1Mbit, start: 2s}", "after the run's end"),
        ("{pattern: random, rate: 1Mbit, stop: 0s}", "before it begins"),
        ("{pattern: random, rate: 1Mbit, flows: 2000000}", "ask for fewer"),
        ("{pattern: random, rate: 1Mbit, source_ports: any}", "unknown value `any`"),
        ("{pattern: random}", "rate"),
    ] {
        let text = faults(&format!("duration: 1s\ntraffic:\n  - {written}\n"));
        assert!(text.contains(words) && text.contains("net.yaml:7"), "{written}: {text}");
    }
    assert!(faults("traffic: [{pattern: random, rate: 1Mbit}]\n").contains("`stop` is missing"));
    let twice = "duration: 1s\ntraffic: [{pattern: random, rate: 1Mbit, port: 9}, {pattern: random, rate: 1Mbit, port: 9}]\n";
    assert!(faults(twice).contains("same port"));
}

/// An overlay of two, of which a device has two addresses, and another overlay.
const OVERLAYS: &str = "duration: 1s
overlays:
  ov0: {members: [a, b], devices: {ov0: {vni: 1, network: [10.99.0.0/24, 'fd99::/64']}, bare: {vni: 2}}}
  two: {members: [a], network: 10.98.0.0/24}
";

#[test]
fn traffic_over_an_overlay_goes_between_the_addresses_of_its_members() {
    let of = |written: &str| {
        let mut vocabulary = vocabulary();
        plait_testbed_runtime::section::register(&mut vocabulary);
        let source = Source::new("net.yaml", format!("{NETWORK}{OVERLAYS}traffic:\n  - {written}\n"));
        parse_network(&source, &vocabulary, &|path| Err(format!("no file {path}")))
    };
    let network =
        of("{pattern: stride(1), over: ov0, rate: 1Mbit}").unwrap_or_else(|report| panic!("{report}"));
    let [traffic] = &Script::of(&network).unwrap().traffic[..] else { panic!("there is one") };
    let over = traffic.over.as_ref().unwrap();
    assert_eq!((&traffic.hosts[..], &over.device[..]), (&["a".to_owned(), "b".to_owned()][..], "ov0"));
    assert_eq!(over.addresses, ["10.99.0.1", "10.99.0.2"].map(|address| address.parse::<IpAddr>().unwrap()));
    for (written, words) in [
        ("{from: a, to: b, over: ov1, rate: 1Mbit}", "no overlay has a device `ov1`"),
        ("{from: a, to: r, over: ov0, rate: 1Mbit}", "`r` has no address of IPv4 on `ov0`"),
        ("{from: a, to: b, over: two, rate: 1Mbit}", "`b` has no address of IPv4 on `two`"),
        ("{from: a, to: b, over: bare, rate: 1Mbit}", "has no address of IPv4 on `bare`"),
    ] {
        let text = of(written).expect_err("the file is faulty").to_string();
        assert!(text.contains(words) && text.contains("net.yaml:10"), "{written}: {text}");
    }
    let none = faults("duration: 1s\ntraffic: [{from: a, to: b, over: ov0, rate: 1Mbit}]\n");
    assert!(none.contains("the file has no `overlays:`"), "{none}");
}

#[test]
fn all_faults_of_a_run_are_reported_at_once() {
    let text = faults(
        "run: [{at: 1s, on: x1, exec: a}, {at: 1s, link: x2, fail: true}]\ncollect: {capture: [x3]}\n",
    );
    for name in ["x1", "x2", "x3"] {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn the_published_schema_holds_the_keys_of_a_run() {
    let schema = json_schema(&vocabulary());
    for key in ["run", "traffic", "collect", "duration", "report"] {
        assert!(!schema["properties"][key].is_null(), "{key}");
    }
    assert!(schema["$defs"]["Event"]["properties"]["exec"].is_object(), "{schema:#}");
}
