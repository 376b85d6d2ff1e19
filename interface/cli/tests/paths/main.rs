//! `paths:` in network files: hosts choose paths through routers that take headers off.

mod borders;
#[path = "../common/mod.rs"]
mod common;
mod faults;
mod learning;

use common::{Person, Testbed, eventually, installed, steps};
use serde_json::Value;
use std::collections::BTreeMap;

/// Two hosts, and two ways between their routers: the lower one is longer.
fn diamond(paths: &str) -> String {
    format!(
        "plait: 1\nnodes: {{h1: host, h2: host, s1: router, up: router, down: router, s2: router}}\n\
         links: [h1-s1, s1-up, up-s2, {{endpoints: [s1, down], cost: 2}}, {{endpoints: [down, s2], cost: 2}}, s2-h2]\n\
         {paths}"
    )
}

/// What the agent of a node answers.
fn asked(testbed: &Testbed<'_>, node: &str, words: &str) -> Value {
    let words: Vec<&str> = words.split(' ').collect();
    testbed.exec(node, &[&["plait", "paths", "--json"], &words[..]].concat()).json()
}

/// The lists of a host's only prefix.
fn lists(testbed: &Testbed<'_>, node: &str) -> Vec<Vec<String>> {
    let shown = asked(testbed, node, "show");
    let lists = shown[0]["lists"].as_array().cloned().unwrap_or_default();
    let relays = |list: &Value| serde_json::from_value(list["relays"].clone()).unwrap();
    lists.iter().map(relays).collect()
}

/// Packets that came to an interface with the headers' source.
fn received(testbed: &Testbed<'_>, node: &str, interface: &str) -> u64 {
    let file = format!("/sys/class/net/{interface}/statistics/rx_packets");
    testbed.exec(node, &["cat", &file]).fine().trim().parse().unwrap()
}

/// Sends a datagram from a port, which is a flow of its own.
fn send(testbed: &Testbed<'_>, port: u16) {
    testbed.exec("h1", &["bash", "-c", &format!("echo hello > /dev/udp/h2/{port}")]).fine();
}

/// A host's prefix as the file's addresses have it.
fn prefix(testbed: &Testbed<'_>) -> String {
    asked(testbed, "h1", "show")[0]["prefix"].as_str().unwrap().to_owned()
}

#[test]
fn hosts_of_a_file_choose_paths_that_change_with_the_file_and_end_with_the_testbed() {
    let Some(person) = Person::root() else { return };
    let testbed = person.up(&diamond("paths: {k: 2, select: round-robin}\n"));
    // The shortest path needs no relay; the longer one is named by the router on it.
    assert_eq!(lists(&testbed, "h1"), [vec![], vec!["10.255.0.3".to_owned()]]);
    let before = received(&testbed, "down", "eth0");
    for port in 1..=8 {
        send(&testbed, port);
    }
    assert!(eventually(|| received(&testbed, "down", "eth0") >= before + 4), "each other flow goes by it");
    let shown = asked(&testbed, "h1", "show");
    let packets = |list: usize| shown[0]["lists"][list]["packets"].as_u64().unwrap();
    assert_eq!((packets(0), packets(1)), (4, 4), "{shown}");

    // By hand, in the words of iplb's author, on top of what the file says.
    let prefix = prefix(&testbed);
    let lb = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        testbed.exec("h1", &[&["plait", "ip", "lb"], &words[..]].concat())
    };
    lb(&format!("add prefix {prefix} relay 10.255.0.2,10.255.0.4 type gre select flow-based")).fine();
    assert_eq!(lists(&testbed, "h1")[2], ["10.255.0.2", "10.255.0.4"]);
    lb(&format!("add prefix {prefix} relay 10.255.0.2 type gue"))
        .fails_saying(1, &["are of type gre", "plait paths del prefix"]);
    lb("del prefix 10.9.0.0/16").fails_saying(1, &["nobody added that"]);

    // A flow around a hot link.
    send(&testbed, 99);
    let flows = asked(&testbed, "h1", "flows");
    let flow =
        flows.as_array().unwrap().iter().find(|row| row["flow"].as_str().unwrap().ends_with(":99")).unwrap();
    let name: Vec<&str> =
        flow["flow"].as_str().unwrap().split([' ', '>']).filter(|word| !word.is_empty()).collect();
    testbed.exec("h1", &["plait", "paths", "move", name[0], name[1], name[2], "--to", "1"]).fine();
    testbed
        .exec("h1", &["plait", "paths", "move", name[0], name[1], name[2], "--to", "7"])
        .fails_saying(1, &["no list 7"]);
    testbed
        .exec("h1", &["plait", "paths", "move", "tcp", "10.9.9.9:1", "10.9.9.9:2", "--to", "0"])
        .fails_saying(1, &["no flow `tcp 10.9.9.9:1 > 10.9.9.9:2`"]);
    let flows = asked(&testbed, "h1", "flows");
    let is_it = |row: &&Value| row["flow"] == flow["flow"] && row["by_hand"] == true;
    assert!(flows.as_array().unwrap().iter().any(|row| is_it(&row)), "{flows}");
    let port = name[1].rsplit_once(':').unwrap().1;
    if installed("socat") {
        let before = received(&testbed, "down", "eth0");
        testbed
            .shell("h1", &format!("sleep 0.05; echo again | socat -u - UDP:h2:99,sourceport={port}"))
            .fine();
        assert!(
            eventually(|| received(&testbed, "down", "eth0") > before),
            "{}",
            asked(&testbed, "h1", "flows")
        );
    }

    // Its Multipath TCP connections get subflows for as long as somebody sees to that.
    let manages = || testbed.shell("h1", "cat /proc/sys/net/mptcp/path_manager").fine().trim().to_owned();
    let before = manages();
    testbed.exec("h1", &["plait", "subflows", "--count", "9"]).fails_saying(1, &["the kernel keeps 1 to 8"]);
    let manager = testbed.background("h1", "exec plait subflows --count 8");
    assert!(eventually(|| manages() == "userspace"), "{}", manages());
    testbed.exec("h1", &["pkill", "-TERM", "-f", "plait subflows"]);
    manager.wait().fine();
    assert_eq!(manages(), before);

    // Nothing stops while the agent is dead, and its successor knows what was said.
    let known = lists(&testbed, "h1");
    let flows = || {
        let flows = asked(&testbed, "h1", "flows --most 0");
        let row = |row: &Value| (row["flow"].to_string(), row["relays"].to_string());
        let known = flows.as_array().unwrap().iter().filter(|row| !row["prefix"].is_null());
        known.map(row).collect::<BTreeMap<_, _>>()
    };
    let went = flows();
    testbed.exec("h1", &["pkill", "-KILL", "-f", "paths --agent default agent"]);
    assert!(eventually(|| testbed.exec("h1", &["plait", "paths", "show"]).code() == Some(1)));
    let before = received(&testbed, "down", "eth0");
    (1..=16).for_each(|port| send(&testbed, 1000 + port));
    assert!(eventually(|| received(&testbed, "down", "eth0") > before), "by its hash, one of sixteen does");
    let text = diamond("paths: {k: 2, select: round-robin, spread: 20ms}\n");
    let changed = steps(&testbed.apply(&text).json());
    assert!(changed.iter().any(|step| step.contains("paths h1")), "{changed:?}");
    assert_eq!(lists(&testbed, "h1"), known);
    let go = flows();
    assert!(
        !went.is_empty() && went.iter().all(|(flow, relays)| go.get(flow) == Some(relays)),
        "{went:?}\n{go:?}"
    );
    assert!(steps(&testbed.apply(&text).json()).is_empty());

    // Who does nothing about paths any more has nothing of them.
    let outside = "hosts: [h2], relays: [up, down, s2]";
    testbed.apply(&diamond(&format!("paths: {{{outside}, borders: []}}\n"))).fine();
    for node in ["h1", "s1"] {
        let left = testbed.shell(node, "ls /sys/fs/bpf /run").fine();
        assert!(!left.contains("plait-paths"), "{node}: {left}");
    }
    testbed.exec("h1", &["ping", "-c", "1", "-W", "5", "h2"]).fine();
    // Without the section all is as if it had never been.
    testbed.apply(&diamond("")).fine();
    assert!(!testbed.exec("s1", &["ip", "-4", "addr", "show", "lo"]).fine().contains("10.255."));
    testbed.exec("h1", &["ping", "-c", "1", "-W", "5", "h2"]).fine();
    testbed.down();
}

/// Algorithm 1 would have all ways alike.
#[test]
fn a_flow_that_somebody_moved_stays_while_others_are_rearranged() {
    let Some(person) = Person::root() else { return };
    let testbed = person.up(&diamond("paths: {k: 2, select: flow-based}\n"));
    let flows = || asked(&testbed, "h1", "flows --most 0").as_array().unwrap().clone();
    let of = |row: &Value| (row["list"].as_u64().unwrap(), row["by_hand"] == true);
    let ports = "for port in {1..16}; do";
    let sends = testbed.background(
        "h1",
        &format!(
            "exec bash -c '{ports} eval \"exec $((port + 10))>/dev/udp/h2/$port\"; done
            while sleep 0.05; do {ports} echo hello >&$((port + 10)); done; done 2>/dev/null'"
        ),
    );
    assert!(eventually(|| flows().len() >= 16), "{:?}", flows());
    let (name, all) = (|row: &Value| row["flow"].as_str().unwrap().to_owned(), flows());
    let free = name(all.iter().find(|row| of(row).0 == 1).expect("one of sixteen hashes leads there"));
    for flow in all.iter().map(name).filter(|flow| *flow != free) {
        let words: Vec<&str> = flow.split([' ', '>']).filter(|word| !word.is_empty()).collect();
        testbed.exec("h1", &[&["plait", "paths", "move"], &words[..], &["--to", "1"]].concat()).fine();
    }
    let are_there = || {
        let all = flows();
        all.len() == 16
            && all.iter().all(|row| of(row) == if name(row) == free { (0, false) } else { (1, true) })
    };
    assert!(eventually(are_there), "{:?}", flows());
    // A look in each half of a second, until nobody reads, of which the first knows no rates.
    let looks = testbed.shell("h1", "plait --json paths flows --every 500ms --most 3 | head -n 6").fine();
    let looks: Vec<Value> = looks.lines().map(|look| serde_json::from_str(look).unwrap()).collect();
    let rates = |look: &Value| -> Vec<Option<f64>> {
        look.as_array().unwrap().iter().map(|row| row["bits_per_second"].as_f64()).collect()
    };
    assert!(looks.len() == 6 && rates(&looks[0]) == [None; 3], "{looks:?}");
    let are_rates = |look: &Value| {
        let rates = rates(look);
        rates.len() == 3 && rates.is_sorted_by(|a, b| a >= b) && rates[2] > Some(100.0)
    };
    assert!(looks[1..].iter().any(are_rates), "{looks:?}");
    testbed.exec("h1", &["plait", "paths", "flows", "--every", "0s"]).fails_saying(2, &["10ms or more"]);
    // In three periods.
    for _ in 0..15 {
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(are_there(), "{:?}", flows());
    }
    drop(sends);
    testbed.down();
}

#[test]
fn an_open_connection_bears_higher_stacks_and_lower_ones() {
    let Some(person) = Person::root() else { return };
    if !installed("iperf3") {
        return;
    }
    let testbed = person.up(&diamond("paths: {learn: none, lists: {h1: {10.0.0.0/8: [[down]]}}}\n"));
    let server = testbed.background("h2", "exec iperf3 -s -1");
    assert!(eventually(|| testbed.shell("h2", "ss -Hltn 'sport = 5201' | grep -q .").code() == Some(0)));
    let client = testbed.background("h1", "exec iperf3 -c h2 -t 4 -J");
    let change = |verb: &str, relays: &str| {
        let words = ["plait", "paths", verb, "prefix", "10.0.0.0/8", "relay", relays];
        testbed.exec("h1", &words).fine();
    };
    assert!(eventually(|| testbed.shell("h1", "ss -Htn 'dport = 5201' | grep -q .").code() == Some(0)));
    // Superpackets would have wrong lengths in the middle of the second stack: they are no longer made, and made again.
    for (verb, relays) in [
        ("add", "10.255.0.3,10.255.0.4,10.255.0.2"),
        ("del", "10.255.0.3"),
        ("add", "10.255.0.2"),
        ("del", "10.255.0.3,10.255.0.4,10.255.0.2"),
    ] {
        std::thread::sleep(std::time::Duration::from_millis(600));
        change(verb, relays);
    }
    let report: Value = serde_json::from_str(&client.wait().fine()).unwrap();
    server.wait().fine();
    let intervals = report["intervals"].as_array().unwrap();
    let bytes: Vec<u64> = intervals.iter().map(|of| of["sum"]["bytes"].as_u64().unwrap()).collect();
    assert!(bytes.iter().all(|bytes| *bytes > 1_000_000), "it never stalls: {bytes:?}");
    let relays_drop = asked(&testbed, "down", "status")["drops"].clone();
    assert_eq!(relays_drop, serde_json::json!({}), "lengths were right at every level");
}

/// A policy for what the first host learns is said by hand, outlives the agent, and is taken back.
fn choose_by_hand(testbed: &Testbed<'_>, text: &str, policies: &impl Fn() -> [Value; 2]) {
    let select = |policy: &str| {
        testbed.exec("h1", &["plait", "paths", "add", "prefix", "10.0.0.0/8", "select", policy])
    };
    select("flow-based").fine();
    assert_eq!(policies(), ["flow-based", "round-robin"]);
    assert_eq!(asked(testbed, "h1", "show")[0]["origin"], "learnt");
    assert_eq!(asked(testbed, "h1", "status")["policies"]["10.0.0.0/8"], "flow-based");
    assert!(
        testbed.exec("h1", &["plait", "paths", "status"]).fine().contains("flow-based in what is learnt of")
    );
    select("weighted").fails_saying(1, &["what is learnt of 10.0.0.0/8 has no weights", "select hash"]);
    testbed.exec("h1", &["pkill", "-KILL", "-f", "paths --agent default agent"]);
    testbed.apply(&text.replace("paths: {", "paths: {spread: 20ms, ")).fine();
    assert_eq!(policies(), ["flow-based", "round-robin"]);
    let del = || testbed.exec("h1", &["plait", "paths", "del", "prefix", "10.0.0.0/8"]);
    del().fine();
    assert_eq!(policies(), ["round-robin", "round-robin"]);
    del().fails_saying(1, &["nobody added that"]);
}

/// One header with all relays in it, before packets of both families; and a header for each of IPv6.
#[test]
fn hosts_of_a_file_choose_paths_of_ipv6() {
    let Some(person) = Person::root() else { return };
    let file = |kind: &str| {
        diamond(&format!("defaults: {{ipv6: on}}\npaths: {{k: 2, select: round-robin, {kind}}}\n"))
    };
    let testbed = person.up(&file("type: srv6"));
    let of = |testbed: &Testbed<'_>| {
        let shown = asked(testbed, "h1", "show");
        let rows = shown.as_array().unwrap().iter();
        rows.map(|row| (row["prefix"].as_str().unwrap().to_owned(), row["lists"][1]["relays"][0].clone()))
            .collect::<Vec<_>>()
    };
    let by = "fd00:255::3";
    let all = of(&testbed);
    assert!(all.len() == 2 && all.iter().all(|(_, relay)| relay == by), "{all:?}");
    assert!(all.iter().any(|(prefix, _)| prefix.starts_with("fd00:")), "{all:?}");
    for (kind, number) in
        [("type: srv6", 0u16), ("type: ovstack", 1), ("network: 'fd00:255::/64'", 2), ("type: gue", 3)]
    {
        testbed.apply(&file(kind)).fine();
        for family in ["-4", "-6"] {
            let before = received(&testbed, "down", "eth0");
            for flow in 0..8 {
                let port = 100 + number * 20 + flow;
                let to = testbed
                    .exec("h1", &["getent", if family == "-4" { "ahostsv4" } else { "ahostsv6" }, "h2"])
                    .fine();
                let to = to.split_whitespace().next().unwrap().to_owned();
                testbed.exec("h1", &["bash", "-c", &format!("echo hello > /dev/udp/{to}/{port}")]).fine();
            }
            let came = || received(&testbed, "down", "eth0") >= before + 4;
            assert!(eventually(came), "each other flow of {family} goes by it with {kind}");
        }
        testbed.exec("h1", &["ping", "-c", "2", "-W", "5", "h2"]).fine();
    }
    testbed.down();
}

#[test]
fn prefixes_of_a_file_have_weights_and_selectors_of_their_own() {
    let Some(person) = Person::root() else { return };
    let testbed = person.up(&diamond("paths: {k: 2}\n"));
    let there = prefix(&testbed);
    let back = asked(&testbed, "h2", "show")[0]["prefix"].as_str().unwrap().to_owned();
    let weighted = "{select: weighted, lists: [{relays: [down], weight: 3}, []]}";
    let said = format!("h1: {{{there}: {weighted}}}, h2: {{{back}: {{select: round-robin}}}}");
    testbed.apply(&diamond(&format!("paths: {{k: 2, idle: 2s, lists: {{{said}}}}}\n"))).fine();
    let shown = asked(&testbed, "h1", "show");
    assert_eq!((&shown[0]["policy"], &shown[0]["prefix"]), (&"weighted".into(), &there.into()), "{shown}");
    let of = |list: &Value| (list["relays"][0].as_str().map(str::to_owned), list["weight"].as_u64().unwrap());
    let lists: Vec<_> = shown[0]["lists"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(lists, [(Some("10.255.0.3".to_owned()), 3), (None, 1)]);
    // Three of four flows go by the first list: of 64, 48 with a deviation of 3.5.
    (1..=64).for_each(|port| send(&testbed, port));
    let shown = asked(&testbed, "h1", "show");
    let packets = |list: usize| shown[0]["lists"][list]["packets"].as_u64().unwrap();
    assert_eq!(packets(0) + packets(1), 64);
    assert!((34..=60).contains(&packets(0)), "{shown}");
    // The other host keeps its planned lists, by turns.
    let shown = asked(&testbed, "h2", "show");
    assert_eq!(
        (&shown[0]["policy"], shown[0]["lists"].as_array().unwrap().len()),
        (&"round-robin".into(), 2)
    );
    // Flows that were silent for longer are no longer known.
    assert_eq!(asked(&testbed, "h1", "status")["idle_ms"], 2000);
    let known = || asked(&testbed, "h1", "flows --most 0").as_array().unwrap().len();
    assert!(eventually(|| known() == 0), "{}", asked(&testbed, "h1", "flows"));
    testbed.down();
}
