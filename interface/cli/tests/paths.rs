//! `paths:` in network files: hosts choose paths through routers that take headers off.

mod common;

use common::{Host, Person, Testbed, eventually, installed, skip, steps};
use plait_model_wire::number::protocol;
use plait_model_wire::{ipv4, push, udp};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

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

#[test]
fn hosts_learn_paths_from_routers_and_lose_those_that_failed() {
    let Some(person) = Person::root() else { return };
    if !Path::new("/usr/lib/frr/ospfd").exists() {
        skip("FRR is not installed");
        return;
    }
    let text = "plait: 1\nrouting: {protocol: frr, hello: 1s, dead: 3s}\npaths: {select: round-robin}\n\
        nodes: {h1: host, h2: host, s1: router, up: router, down: router, s2: router}\n\
        links: [h1-s1, {endpoints: [s1, up], dynamic: true}, up-s2, s1-down, down-s2, s2-h2]\n";
    let testbed = person.up(text);
    // `up` waits for what is to be learnt: one relay for each of the two ways.
    let both = [["10.255.0.2"], ["10.255.0.3"]];
    assert!(eventually(|| lists(&testbed, "h1") == both), "{}", asked(&testbed, "h1", "status"));
    assert!(eventually(|| lists(&testbed, "h2") == both), "{}", asked(&testbed, "h2", "status"));
    assert_eq!(asked(&testbed, "h1", "show")[0]["origin"], "learnt");
    // What is said by hand counts before what is learnt, and is taken back.
    let prefix = prefix(&testbed);
    testbed.exec("h1", &["plait", "paths", "add", "prefix", &prefix, "relay", "10.255.0.3"]).fine();
    assert_eq!(lists(&testbed, "h1"), [["10.255.0.3"]]);
    testbed.exec("h1", &["plait", "paths", "del", "prefix", &prefix]).fine();
    assert_eq!(lists(&testbed, "h1"), both);
    let policies = || ["h1", "h2"].map(|host| asked(&testbed, host, "show")[0]["policy"].clone());
    choose_by_hand(&testbed, text, &policies);
    assert_eq!(lists(&testbed, "h1"), both);
    let chosen = "paths: {lists: {h1: {10.0.0.0/8: {select: hash}}}, ";
    testbed.apply(&text.replace("paths: {", chosen)).fine();
    assert_eq!(policies(), ["hash", "round-robin"]);
    testbed.apply(text).fine();
    assert_eq!(policies(), ["round-robin", "round-robin"]);

    testbed.link("fail", &["s1-up"]).fine();
    let only_lower = || lists(&testbed, "h1").iter().all(|list| !list.contains(&"10.255.0.2".to_owned()));
    assert!(eventually(only_lower), "{}", asked(&testbed, "h1", "show"));
    assert!(eventually(|| testbed.exec("h1", &["ping", "-c", "1", "-W", "1", "h2"]).code() == Some(0)));
    testbed.link("recover", &["s1-up"]).fine();
    assert!(eventually(|| lists(&testbed, "h1") == both), "{}", asked(&testbed, "h1", "status"));
    let metrics = testbed.exec("h1", &["plait", "paths", "status", "--metrics"]).fine();
    assert!(metrics.contains("plait_paths_feed_complete{feed=\"OSPF on eth0\"} 1"), "{metrics}");
    // Who learns no more does not go by what it learnt.
    testbed.apply(&text.replace("paths: {", "paths: {learn: none, ")).fine();
    assert!(lists(&testbed, "h1").is_empty(), "{}", asked(&testbed, "h1", "show"));
    testbed.down();
}

/// A router of a real network: FRR, with the server of its ospfd's API.
fn start_frr(router: &Host<'_>, costs: &[(&str, u16)]) {
    let interface = |(name, cost): &(&str, u16)| {
        format!(
            "interface {name}\n ip ospf area 0\n ip ospf cost {cost}\n ip ospf network point-to-point\n \
             ip ospf hello-interval 1\n ip ospf dead-interval 4\n!\n"
        )
    };
    let id = router.id();
    let config = costs.iter().map(interface).collect::<String>()
        + &format!(
            "interface hosts\n ip ospf area 0\n ip ospf passive\n!\ninterface lo\n ip ospf area 0\n!\nrouter ospf\n ospf router-id {id}\n \
             capability opaque\n timers throttle spf 10 50 500\n timers throttle lsa all 100\n"
        );
    // FRR's own user reads and writes there.
    let common = "-d -A 127.0.0.1 --vty_socket /run/frr -z /run/frr/zserv";
    router.sh(&format!(
        "mkdir --mode 777 /run/frr && echo '{config}' > /run/frr/ospfd.conf && : > /run/frr/zebra.conf && \
         /usr/lib/frr/zebra {common} -f /run/frr/zebra.conf -i /run/frr/zebra.pid && \
         /usr/lib/frr/ospfd {common} -f /run/frr/ospfd.conf -i /run/frr/ospfd.pid -a"
    ));
}

/// ```text
///   host ── a ─3── b
///            5\   /7
///              c ── its hosts
/// ```
#[test]
fn a_host_learns_paths_from_the_api_of_a_routers_ospfd() {
    let Some(person) = Person::root() else { return };
    if !Path::new("/usr/lib/frr/ospfd").exists() {
        skip("FRR is not installed");
        return;
    }
    let [host, a, b, c] = [1, 2, 3, 4].map(|number| Host::new(&person, number));
    host.link("eth0", &a, "hosts");
    a.link("ab", &b, "ba");
    a.link("ac", &c, "ca");
    b.link("bc", &c, "cb");
    c.sh("ip link add hosts type veth peer name inner && ip link set hosts up && ip link set inner up");
    b.sh("ip link add hosts type veth peer name inner && ip link set hosts up && ip link set inner up");
    for (router, device, address) in [
        (&host, "eth0", "172.16.1.2/24"),
        (&a, "hosts", "172.16.1.1/24"),
        (&b, "hosts", "172.16.2.1/24"),
        (&c, "hosts", "172.16.3.1/24"),
        (&a, "ab", "10.1.0.0/31"),
        (&b, "ba", "10.1.0.1/31"),
        (&a, "ac", "10.1.0.2/31"),
        (&c, "ca", "10.1.0.3/31"),
        (&b, "bc", "10.1.0.4/31"),
        (&c, "cb", "10.1.0.5/31"),
    ] {
        router.sh(&format!("ip addr add {address} dev {device}"));
    }
    start_frr(&a, &[("ab", 3), ("ac", 5)]);
    start_frr(&b, &[("ba", 3), ("bc", 7)]);
    start_frr(&c, &[("ca", 5), ("cb", 7)]);
    let plait = person.program().display().to_string();
    let words = ["paths", "agent", "--device", "eth0", "--ospf-api", "172.16.1.1:2607", "--access"];
    let access = a.id();
    let agent = host.start(&[&[&*plait], &words[..], &[&access]].concat());
    // Relays of each list towards c's hosts; none before the agent answers.
    let lists = || -> Vec<Vec<String>> {
        let shown = host.plait("paths --json show");
        let rows = if shown.code() == Some(0) { shown.json() } else { Value::Null };
        let row = rows.as_array().and_then(|rows| rows.iter().find(|row| row["prefix"] == "172.16.3.0/24"));
        let lists = row.map_or(Value::Null, |row| row["lists"].clone());
        let relays = |list: &Value| serde_json::from_value(list["relays"].clone()).unwrap();
        lists.as_array().into_iter().flatten().map(relays).collect()
    };
    // Straight, and by b.
    let both = [vec![], vec![b.id()]];
    let status = || {
        let said = host.plait("paths status");
        if said.code() == Some(0) { said.fine() } else { String::new() }
    };
    // Without addresses of their own, that no other tells of, headers can name none of them.
    let says = |words: &str| eventually(|| status().contains(words));
    assert!(says("0 of them: none tells of a host route"), "{}", status());
    assert!(lists().is_empty(), "{:?}", lists());
    for router in [&a, &b, &c] {
        router.sh(&format!("ip addr add {}/32 dev lo", router.id()));
    }
    assert!(eventually(|| lists() == both), "{:?} {}", lists(), status());
    assert!(says("3 of them"), "{}", status());
    let metrics = host.plait("paths status --metrics").fine();
    assert!(metrics.contains("plait_paths_feed_complete"), "{metrics}");
    // What fails is heard from the router, and what comes back.
    a.sh("ip link set ac down");
    assert!(eventually(|| lists().is_empty()), "one way is left, the routers' own: {:?}", lists());
    a.sh("ip link set ac up");
    assert!(eventually(|| lists() == both), "{:?} {}", lists(), status());
    // Who tells is gone: what was learnt stays, and is said to be old.
    a.sh("kill -KILL $(cat /run/frr/ospfd.pid)");
    assert!(eventually(|| host.plait("paths status --metrics").fine().contains("} 0")), "{}", status());
    agent.signal(rustix::process::Signal::TERM);
    agent.wait();
    host.plait("paths agent --remove").fine();
}

/// ```text
///  host eth0 ── left relay right ── left far
/// ```
struct Chain<'a> {
    host: Host<'a>,
    relay: Host<'a>,
    far: Host<'a>,
}

impl<'a> Chain<'a> {
    fn new(person: &'a Person) -> Self {
        let [host, relay, far] = [1, 2, 3].map(|number| Host::new(person, number));
        let chain = Self { host, relay, far };
        chain.relay.sh(
            "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0",
        );
        chain.relay.link("right", &chain.far, "left");
        chain.relay.sh("ip addr add 10.2.0.2/24 dev right");
        chain.far.sh("ip addr add 10.2.0.3/24 dev left && ip route add default via 10.2.0.2");
        chain.connect();
        chain
    }

    /// Makes the link between the host and the relay, which may have been there before.
    fn connect(&self) {
        self.host.link("eth0", &self.relay, "left");
        self.relay.sh("ip addr add 10.1.0.2/24 dev left");
        self.host.sh("ip addr add 10.1.0.1/24 dev eth0 && ip route add default via 10.1.0.2");
    }

    /// Whether an echo comes back that went by the relay.
    fn goes_by_relay(&self) -> bool {
        let shown = || self.host.plait("paths --json show").json();
        let count = || shown()[0]["lists"][0]["packets"].as_u64().unwrap();
        let before = count();
        self.host.exec(&["ping", "-c", "1", "-W", "1", "10.2.0.3"]).code() == Some(0) && count() > before
    }
}

#[test]
fn devices_that_come_anew_are_steered_and_relayed_and_a_start_that_fails_leaves_nothing() {
    let Some(person) = Person::root() else { return };
    let chain = Chain::new(&person);
    let Chain { host, relay, .. } = &chain;
    let plait = person.program().display().to_string();
    let agent = |host: &Host<'_>, words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let agent = host.start(&[&[&*plait, "paths", "agent"], &words[..]].concat());
        assert!(eventually(|| host.plait("paths status").code() == Some(0)));
        agent
    };
    // A name that is wrong is told before anything is done.
    let refused = relay.plait("paths agent --relay 10.255.0.2 --border typo");
    assert!(refused.code() == Some(1) && refused.stderr.contains("`typo`"), "{refused:?}");
    assert!(!relay.sh("ip addr show lo").contains("10.255.0.2"));
    for words in ["paths --agent ../other show", "overlay --agent .. id show", "ip --agent a/b lb show"] {
        host.plait(words).fails_saying(2, &["letters, digits"]);
    }

    let relays = agent(relay, "--relay 10.255.0.2");
    let steers = agent(host, "--device eth0 --device eth0");
    host.plait("paths add prefix 10.2.0.0/24 relay 10.255.0.2 type gre").fine();
    assert!(eventually(|| chain.goes_by_relay()));
    let other = host.exec(&["env", "PLAIT_PATHS_AGENT=other", &plait, "ip", "lb", "show"]);
    assert!(other.code() == Some(1) && other.stderr.contains("plait-paths/other"), "{other:?}");

    // Both ends are made anew, under the names that they had.
    host.sh("ip link del eth0");
    let steered = || host.plait("paths --json status").json()["devices"].as_array().unwrap().len();
    assert!(eventually(|| steered() == 0));
    host.plait("paths add prefix 10.3.0.0/24 relay 10.255.0.2 type gre").fine();
    chain.connect();
    assert!(eventually(|| chain.goes_by_relay()), "{}", host.plait("paths status").fine());
    assert_eq!(steered(), 1);
    assert_eq!(host.plait("paths --json show").json().as_array().unwrap().len(), 2);

    // What a device has no room for is said, and tried when there may be.
    host.plait("paths add prefix 2001:db8::/64 relay 10.255.0.2 type gre").fine();
    let fault = || host.plait("paths show").fine();
    assert!(!fault().contains("goes by plain routing"));
    steers.signal(rustix::process::Signal::KILL);
    steers.wait();
    let steers = agent(host, "--device eth0 --mtu 1290");
    assert!(fault().contains("2001:db8::/64 goes by plain routing: "), "{}", fault());
    let again = host.plait("paths add prefix 2001:db8::/64 relay 10.255.0.2 type gre");
    assert!(again.code() == Some(1) && again.stderr.contains("no room for IPv6"), "{again:?}");
    assert!(chain.goes_by_relay());
    steers.signal(rustix::process::Signal::KILL);
    steers.wait();
    host.sh("ip link set eth0 mtu 1290");
    let steers = agent(host, "--device eth0");
    assert!(fault().contains("goes by plain routing"), "{}", fault());
    host.sh("ip link set eth0 mtu 1500");
    assert!(eventually(|| !fault().contains("goes by plain routing")), "{}", fault());
    for (agent, host) in [(relays, relay), (steers, host)] {
        agent.signal(rustix::process::Signal::KILL);
        agent.wait();
        host.plait("paths agent --remove").fine();
    }
    assert!(!relay.sh("ip addr show lo").contains("10.255.0.2"));
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

/// Datagrams that came to the second host. Nobody listens there, so that the kernel counts what comes.
fn came(testbed: &Testbed<'_>) -> u64 {
    let counted = "awk '/^Udp:/ {print $3}' /proc/net/snmp | tail -n 1";
    testbed.shell("h2", counted).fine().trim().parse().unwrap()
}

/// What a router dropped that came by a border.
fn forged(testbed: &Testbed<'_>, router: &str) -> u64 {
    asked(testbed, router, "status")["drops"]["forged"].as_u64().unwrap_or_default()
}

#[test]
fn a_border_of_a_file_keeps_out_who_chooses_paths_from_outside() {
    let Some(person) = Person::root() else { return };
    // The first host is outside, and has the headers' source nevertheless.
    let testbed = person.up(&diamond("paths: {k: 2, select: round-robin, borders: ['s1:eth0']}\n"));
    let before = came(&testbed);
    (1..=8).for_each(|port| send(&testbed, port));
    assert!(
        eventually(|| forged(&testbed, "s1") == 4),
        "each other flow wears headers: {}",
        asked(&testbed, "s1", "status")
    );
    assert!(eventually(|| came(&testbed) == before + 4), "{} of {before} and 4", came(&testbed));
    testbed.apply(&diamond("paths: {k: 2, select: round-robin}\n")).fine();
    (1..=8).for_each(|port| send(&testbed, 100 + port));
    assert!(eventually(|| came(&testbed) == before + 12), "{} of {before} and 12", came(&testbed));
    testbed.down();
}

/// The first host sends a datagram under a header with the shared source, for the relay that is the file's first: whoever has root in
/// a node can.
fn send_under_a_header(testbed: &Testbed<'_>, port: u16) {
    let address = |host: &str| -> Ipv4Addr {
        let told = testbed.exec("h1", &["getent", "ahostsv4", host]).fine();
        told.split_whitespace().next().unwrap().parse().unwrap()
    };
    let mut packet = b"hello".to_vec();
    push(&mut packet, &udp::Repr { source: port, destination: port, checked: None });
    let inner = ipv4::Repr {
        source: address("h1"),
        destination: address("h2"),
        protocol: protocol::UDP,
        ttl: 64,
        tos: 0,
        dont_fragment: false,
        identification: port,
    };
    push(&mut packet, &inner);
    let octal: String = packet.iter().map(|byte| format!("\\{byte:03o}")).collect();
    let to = format!("IP4-SENDTO:10.255.0.1:{},bind=203.0.113.1", protocol::IPV4);
    testbed.shell("h1", &format!("printf '{octal}' | socat -u - {to}")).fine();
}

#[test]
fn a_host_that_a_file_leaves_out_sends_no_headers_into_the_fabric_unless_it_says_there_are_no_borders() {
    let Some(person) = Person::root() else { return };
    if !installed("socat") {
        return;
    }
    // Even where the router at the edge takes no headers off.
    let file =
        |more: &str| diamond(&format!("paths: {{hosts: [h2], relays: [down, s2], type: ipip{more}}}\n"));
    let testbed = person.up(&file(""));
    testbed.exec("h1", &["ip", "addr", "add", "203.0.113.1/32", "dev", "lo"]).fine();
    let before = came(&testbed);
    (1..=8).for_each(|port| send_under_a_header(&testbed, port));
    let told = || asked(&testbed, "s1", "status");
    assert!(eventually(|| forged(&testbed, "s1") == 8), "{}", told());
    // What comes as it should is nobody's business.
    (1..=8).for_each(|port| send(&testbed, 100 + port));
    assert!(eventually(|| came(&testbed) == before + 8), "{} of {before} and 8", came(&testbed));
    assert_eq!(forged(&testbed, "s1"), 8, "{}", told());
    testbed.apply(&file(", borders: []")).fine();
    (1..=8).for_each(|port| send_under_a_header(&testbed, 200 + port));
    assert!(eventually(|| came(&testbed) == before + 16), "{} of {before} and 16", came(&testbed));
    testbed.down();
}

#[test]
fn what_is_wrong_with_paths_is_told_with_its_line_and_remedy() {
    let Some(person) = Person::root() else { return };
    for (paths, words) in [
        ("paths: {hosts: [h3]}\n", &["unknown node `h3`", "did you mean", ":4:"][..]),
        ("paths: {hosts: [s1]}\n", &["`s1` is not a host"]),
        ("paths: {relays: [h1]}\n", &["`h1` is not a router"]),
        ("paths: {type: vxlan}\n", &["expected `gre`, `ipip`, `gue`, `srv6` or `ovstack`"]),
        ("paths: {select: weighted}\n", &["have no weights"]),
        ("paths: {k: 65}\n", &["write a number from 1 to 64"]),
        ("paths: {learn: ospf}\n", &["no router speaks OSPF", "routing: frr"]),
        ("paths: {network: 10.0.1.0/24}\n", &["meets 10.0.1.", "choose a `network`"]),
        (
            "paths: {source: 10.0.1.1}\n",
            &["10.0.1.1, the source of headers, is of 10.0.1.", ":4:", "choose a `source`"],
        ),
        ("paths: {network: 10.255.0.0/31}\n", &["no addresses for 4 relays"]),
        ("paths: {borders: [s1:eth9]}\n", &["no interface `eth9`"]),
        ("paths: {relays: [up], lists: {h1: {10.0.1.0/24: [[down]]}}}\n", &["`down` takes no headers off"]),
        ("paths: {lists: {h1: {nowhere: [[down]]}}}\n", &["`nowhere` is no prefix"]),
        (
            "paths: {lists: {h1: {10.0.1.0/24: [{relays: [down], weight: 2}]}}}\n",
            &["no weight by `hash`", ":4:", "select: weighted"],
        ),
        (
            "paths: {lists: {h1: {10.0.1.0/24: {select: weighted, lists: [{relays: [up], weight: 0}]}}}}\n",
            &["a weight of 0", "from 1 to"],
        ),
        ("paths: {lists: {h1: {10.0.1.0/24: {select: weighted}}}}\n", &["have no weights", "write `lists`"]),
        (
            "paths: {lists: {h1: {10.9.0.0/16: {select: hash}}}}\n",
            &["no path of this host leads to 10.9.0.0/16", "write one of"],
        ),
        (
            "paths: {learn: none, lists: {h1: {10.0.1.0/24: {select: hash}}}}\n",
            &["knows no lists of 10.0.1.0/24", "write `lists`"],
        ),
        ("paths: {lists: {h1: {10.0.1.0/24: 7}}}\n", &["a list of relay lists, or a map"]),
        ("paths: {idle: 10ms}\n", &["not over after 10ms", "1s or more"]),
        ("paths: {idle: 2s, spread: 1s}\n", &["may be silent for 2250 ms", "a smaller `spread`"]),
        ("paths: {speed: 1}\n", &["unknown key `speed`"]),
        ("paths: {method: known}\n", &["which way kernels send headers", ":4:", "`--world simulated`"]),
        ("routing: frr\npaths: {method: known, type: gue}\n", &["header of `gue`", ":5:", "`type: ipip`"]),
        ("paths: {type: srv6}\n", &["addresses of IPv6", "ipv6: on", ":4:"]),
        ("paths: {type: srv6, network: 10.9.0.0/24}\n", &["10.9.0.0/24 has no segments", "fd00:255::/64"]),
        ("paths: {source: 100::1}\n", &["100::1 is the source of no header", "same family"]),
        (
            "paths: {network: fd00:255::/64, learn: ospf}\nrouting: frr\n",
            &["of relays of IPv4 alone", "learn: none"],
        ),
    ] {
        let file = person.file("wrong.yaml", diamond(paths));
        person.plait(&["plan", file.to_str().unwrap()]).fails_saying(3, words);
    }
    let agent = |words: &[&str]| person.plait(&[&["paths", "--agent", "test", "agent"], words].concat());
    agent(&[]).fails_saying(1, &["there is nothing to do", "--device"]);
    agent(&["--ospf-api", "127.0.0.1:2607"]).fails_saying(2, &["--access"]);
    person
        .plait(&["paths", "--agent", "nobody", "show"])
        .fails_saying(1, &["start one with `plait paths agent`"]);
    person.plait(&["paths", "add", "prefix", "10.0.0.0/8"]).fails_saying(2, &["`relay` is missing"]);
}

#[test]
fn a_user_is_told_that_paths_need_root() {
    let Some(person) = Person::user() else { return };
    let file = person.file("paths.yaml", diamond("paths: {}\n"));
    person.plait(&["up", file.to_str().unwrap()]).fails_saying(3, &["paths need eBPF", "remove `paths`"]);
    // Not so in virtual time.
    let run = "duration: 1s\ntraffic: [{name: load, from: h1, to: h2, rate: 1Mbit, stop: 900ms}]\n";
    person.file("paths.yaml", diamond(&format!("paths: {{}}\n{run}")));
    person.plait(&["run", "paths.yaml", "--world", "simulated", "--output", "results"]).fine();
}
