//! What VITO's experiments become.

mod imports_common;

use imports_common::{HYBRID, import, loses, names, rate, read};
use plait_model_link::Conditions;
use plait_model_topology::Network;

fn example(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/vito");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn link<'a>(network: &'a Network, name: &str) -> &'a [Conditions; 2] {
    &network.links[network.link(name).unwrap_or_else(|| panic!("no link {name}"))].conditions
}

#[test]
fn evms_become_nodes_and_bridges_become_links() {
    let imported = import("hybrid.vito.xml", HYBRID).unwrap();
    let network = read(&imported);
    assert_eq!((network.name.as_str(), network.seed), ("hybrid", 7));
    assert_eq!(names(&network), ["client", "server", "relay", "eb2-avm", "lan"]);
    let kinds: Vec<_> = network.nodes.iter().map(|node| node.kind.as_str()).collect();
    assert_eq!(kinds, ["host", "host", "router", "switch", "switch"]);
    let ports: Vec<_> = network.links.iter().map(|link| network.port_name(link.ends[0])).collect();
    assert_eq!(
        ports,
        ["client:wan0", "client:wan1", "server:wan1", "client:lan0", "server:lan0", "relay:lan0"]
    );
    let client = &network.nodes[0].interfaces;
    assert_eq!(client[0].addresses[0].to_string(), "10.1.0.1/24");
}

#[test]
fn egress_is_one_direction_and_the_other_stays_free() {
    let network = read(&import("hybrid.vito.xml", HYBRID).unwrap());
    let [there, back] = link(&network, "client-server");
    assert_eq!((rate(there).as_str(), rate(back).as_str()), ("10Mbit", "unlimited"));
    assert_eq!((there.delay.to_string(), back.delay.as_nanos()), ("10ms".to_owned(), 0));
    let jitter = there.jitter.as_ref().expect("it has jitter");
    assert!(jitter.overtake, "netem's jitter lets packets overtake");
    assert!(back.jitter.is_none());
    let [there, back] = link(&network, "client-lan");
    assert_eq!((there.delay.to_string(), back.delay.as_nanos()), ("1ms".to_owned(), 0));
}

#[test]
fn rate_before_delay_becomes_two_links() {
    let imported = import("hybrid.vito.xml", HYBRID).unwrap();
    let network = read(&imported);
    let [first, _] = link(&network, "client-eb2-avm");
    assert_eq!((rate(first).as_str(), first.delay.as_nanos()), ("5Mbit", 0));
    let [back, second] = link(&network, "server-eb2-avm");
    assert_eq!((rate(second).as_str(), second.delay.to_string()), ("unlimited", "10ms".to_owned()));
    assert_eq!((rate(back).as_str(), back.delay.as_nanos()), ("unlimited", 0));
    loses(&imported, "order of bridge eb2", "`eb2-avm`", Some(8));
}

#[test]
fn commands_logs_and_factors_stay() {
    let yaml = import("hybrid.vito.xml", HYBRID).unwrap().yaml;
    for line in [
        "experiment: {factors: {far: [10ms, 100ms]}, repeats: 5}",
        "processors: [2]",
        "  - {at: 0s, on: server, background: true, exec: 'iperf3 -s'}",
        "  - {at: 1s, on: client, name: up, timeout: 30s, expect: any, exec: 'iperf3 -c server && echo \"$HOME: done\"'}",
        "tcp: 50ms",
        "{node: client, path: /var/log/app.log}",
        "capture: ['server:wan0', 'server:wan1', 'server:lan0', 'relay:lan0']",
        "duration: 40s",
        "report: {question: 'Two paths.'}",
    ] {
        assert!(yaml.contains(line), "{line} is not in\n{yaml}");
    }
}

#[test]
fn what_plait_has_otherwise_is_told() {
    let imported = import("hybrid.vito.xml", HYBRID).unwrap();
    for (what, why, line) in [
        ("evm manager", "Plait itself", Some(11)),
        ("template debian", "this machine's", Some(12)),
        ("interface client:wan0", "burst", Some(13)),
        ("interface client:fast0", "network card", Some(21)),
        ("bridge unused", "no interface", Some(10)),
        ("tc in a command of client", "`set:`", Some(35)),
        ("command of manager", "no node", Some(36)),
        ("factor burst", "changes nothing", None),
    ] {
        loses(&imported, what, why, line);
    }
}

#[test]
fn the_experiments_of_the_dissertation_are_read() {
    for (name, nodes, links) in [
        ("e1-netem-tbf.xml", 2, 1),
        ("e1-tbf-netem.xml", 3, 2),
        ("e2-netem-tbf.xml", 3, 2),
        ("e2-tbf-netem.xml", 3, 2),
        ("e3-direct.xml", 2, 1),
        ("e3-avm.xml", 3, 2),
        ("e4-burst.xml", 2, 1),
    ] {
        let imported = import(name, &example(name)).unwrap();
        let network = read(&imported);
        assert_eq!((network.nodes.len(), network.links.len()), (nodes, links), "{name}");
        assert_eq!(imported.parts, 1, "{name}");
    }
    let e1 = read(&import("e1-netem-tbf.xml", &example("e1-netem-tbf.xml")).unwrap());
    for direction in &e1.links[0].conditions {
        assert_eq!((rate(direction).as_str(), direction.delay.to_string()), ("50Mbit", "100ms".to_owned()));
    }
}

#[test]
fn malformed_experiments_are_refused_with_line_and_remedy() {
    for (from, to, expected, line) in [
        (" name=\"hybrid\"", "", "`experiment` has no `name`", 2),
        ("repeats=\"5\"", "repeats=\"0\"", "too few", 2),
        ("duration=\"40s\"", "duration=\"40\"", "no unit", 2),
        ("<bridge name=\"eb1\"/>", "<brigde name=\"eb1\"/>", "did you mean `bridge`?", 7),
        ("<bridge name=\"eb1\"/>", "<bridge nam=\"eb1\"/>", "did you mean `name`?", 7),
        ("bridge=\"eb1\" ip=\"10.1.0.1/24\"", "ip=\"10.1.0.1/24\"", "one of `bridge`", 13),
        ("bridge=\"eb1\" ip=\"10.1.0.1/24\"", "bridge=\"eb3\"", "unknown bridge `eb3`", 13),
        ("ip=\"10.1.0.1/24\"", "ip=\"10.1.0.1\"", "`ip` is not", 13),
        ("ip=\"10.2.0.1/24\"", "ip=\"10.1.0.1/24\"", "given twice", 17),
        (
            "name=\"wan1\" bridge=\"eb2\" ip=\"10.2.0.1/24\"",
            "name=\"wan0\" bridge=\"eb2\"",
            "given twice",
            17,
        ),
        ("delay=\"10ms\" jitter", "delay=\"10\" jitter", "`delay` is not `10`", 14),
        ("delay=\"10ms\" jitter", "jitter", "add a `delay`", 14),
        ("rate=\"10Mbit\" ", "", "belong to a `rate`", 14),
        ("latency=\"10ms\"", "latency=\"10ms\" limit=\"1MB\"", "exclude each other", 14),
        ("delay=\"$far\"", "delay=\"$fr\"", "did you mean `far`?", 18),
        ("delay=\"$far\"", "delay=\"20ms\"", "nothing depends on the factor `far`", 5),
        ("levels=\"10ms 100ms\"", "levels=\"10ms cubic\"", "delay: ", 18),
        ("order=\"tbf netem\"", "order=\"tbf\"", "is no order", 18),
        ("role=\"avm\"", "role=\"evm\"", "is no role", 29),
        ("hostname=\"relay\"", "hostname=\"Client\"", "two EVMs", 29),
        ("hostname=\"relay\"", "hostname=\"a b\"", "cannot be a hostname", 29),
        ("<command evm=\"server\"", "<command evm=\"sever\"", "did you mean `server`?", 33),
        ("files=\"/var", "files=\"var", "absolute path", 22),
        ("tcp=\"50ms\"", "tcp=\"50us\"", "too short", 22),
    ] {
        let text = HYBRID.replacen(from, to, 1);
        assert_ne!(text, HYBRID, "{from}");
        let report = import("bad.vito.xml", &text).expect_err("it is malformed");
        assert!(report.contains(expected), "{expected}\n{report}");
        assert!(report.contains(&format!("bad.vito.xml:{line}:")), "line {line}\n{report}");
        assert!(report.contains("help"), "{report}");
    }
}
