//! Hosts learn the fabric from routing daemons, and lists of it.

use super::common::{Host, Person, eventually, skip};
use super::{asked, choose_by_hand, lists, prefix};
use serde_json::Value;
use std::path::Path;

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
