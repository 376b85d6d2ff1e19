//! Flows followed hop by hop, between hosts that are as real as network namespaces are.

mod common;

use common::{Host, Person, eventually};
use serde_json::Value;
use std::collections::BTreeSet;

/// What a trace says, and whether it says that packets arrive.
#[track_caller]
fn trace(host: &Host<'_>, words: &str) -> (Value, bool) {
    let ended = host.try_overlay(&format!("--json trace {words}"));
    let (code, said) = (ended.code(), &ended.stdout);
    let said: Value = serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    assert_eq!(said["delivered"], code == Some(0), "{said:#}");
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    (said, code == Some(0))
}

fn nodes(said: &Value) -> Vec<String> {
    let hops = said["hops"].as_array().unwrap();
    hops.iter().map(|hop| hop["node"].as_str().unwrap().to_owned()).collect()
}

/// Four hosts in a row, which reach their neighbours alone, with a control plane of least delay.
fn chain(person: &Person) -> [Host<'_>; 4] {
    let hosts = Host::in_a_row(person, [1, 2, 3, 4]);
    for (place, host) in hosts.iter().enumerate() {
        // Both addresses of a neighbour are reached, whichever it speaks from; nobody forwards IP.
        host.sh("echo 0 > /proc/sys/net/ipv4/ip_forward");
        if place > 1 {
            host.sh(&format!("ip route add 192.0.{}.0/24 via 192.0.{}.1", place - 2, place - 1));
        }
        if place < 2 {
            host.sh(&format!("ip route add 192.0.{}.0/24 via 192.0.{place}.2", place + 1));
        }
        host.sh("umask 077 && echo a key that all nodes share > /run/key");
        host.overlay("config application ethernet --group 224.0.0.1");
        host.overlay(&format!("id set {}", host.id()));
        if place < 3 {
            host.overlay(&format!("locator add 192.0.{place}.1"));
        }
        if place > 0 {
            host.overlay(&format!("locator add 192.0.{}.2", place - 1));
        }
        host.device("--vni 1");
        host.sh(&format!("ip link set ov0 address 02:00:00:00:00:0{}", host.number));
        let seed = if place == 0 { "192.0.0.2".to_owned() } else { format!("192.0.{}.1", place - 1) };
        host.overlay(&format!("config control delay --key /run/key --interval 200 --seed {seed}"));
    }
    let [a, .., d] = &hosts;
    assert!(eventually(|| a.reaches(d)), "{}", a.overlay("route show"));
    hosts
}

#[test]
fn a_trace_names_each_hop_its_header_and_where_and_why_packets_are_lost() {
    let Some(person) = Person::root() else { return };
    let mut hosts = chain(&person);
    let [a, b, c, d] = &hosts;
    let all: Vec<String> = hosts.iter().map(Host::id).collect();

    // A flow that arrives, and packets of it meanwhile.
    let ping = a.start(&["ping", "-i", "0.05", "-c", "40", &d.inner()]);
    let (said, arrives) = trace(a, &format!("ov0 {}", d.inner()));
    assert!(arrives, "{said:#}");
    assert_eq!(nodes(&said), all, "{said:#}");
    let hops = said["hops"].as_array().unwrap();
    assert_eq!(hops[0]["entry"]["node"], d.id());
    assert_eq!(hops[3]["delivered"], "ov0");
    for (place, hop) in hops[..3].iter().enumerate() {
        let outer = &hop["sent"][0]["outer"];
        assert_eq!(hop["sent"][0]["next_hop"], all[place + 1], "{said:#}");
        assert_eq!((&outer["hops"], &outer["vni"]), (&(60 - place).into(), &1.into()), "{said:#}");
        assert_eq!((hop["sent"][0]["device"].as_str(), &outer["ports"][1]), (Some("right"), &60002.into()));
        // To the next one's own device.
        let there = hosts[place + 1].sh("ip -o link show left | sed 's/.*ether //; s/ .*//'");
        assert_eq!(outer["hardware"][1], there.trim(), "{said:#}");
    }
    for hop in hops {
        assert!(hop["since"]["packets"].as_u64().unwrap() > 0, "the pings: {said:#}");
    }
    ping.wait().fine();
    let text = a.overlay(&format!("trace ov0 {} --seconds 0", d.inner()));
    for word in [
        "10.0.0.4, heard",
        " 4  10.0.0.4",
        ": ovstack, vni 1, 58 hops, ttl 64",
        "comes out by ov0",
        "it arrives",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }

    // A station that nobody knows: to all, each of whom gets one copy.
    let (said, arrives) = trace(a, "ov0 02:00:00:00:00:99 --seconds 0");
    assert!(arrives && said["hops"][0]["entry"]["is_known"] == false, "{said:#}");
    assert_eq!(nodes(&said), all);
    assert!(said["hops"].as_array().unwrap()[1..].iter().all(|hop| hop["delivered"] == "ov0"), "{said:#}");

    // The link behind the second hop narrows: so large a packet goes no further.
    b.sh("ip link set right mtu 1400");
    let large = format!("ov0 {} --size 1400 --seconds 0", d.inner());
    assert!(
        eventually(|| trace(a, &large).0["hops"][1]["dropped"][0] == "too-big"),
        "{:#}",
        trace(a, &large).0
    );
    assert!(trace(a, &format!("ov0 {} --size 1300 --seconds 0", d.inner())).1);
    b.sh("ip link set right mtu 1500");

    // The third hop has no way to the fourth any more: it is named, with the reason that it counts.
    c.overlay("route del 10.0.0.4 --via 10.0.0.4");
    let ping = a.start(&["ping", "-i", "0.05", "-c", "60", "-W", "1", &d.inner()]);
    let (said, arrives) = trace(a, "ov0 02:00:00:00:00:04");
    assert!(!arrives, "{said:#}");
    assert_eq!(nodes(&said), all[..3]);
    assert_eq!(said["hops"][2]["dropped"], serde_json::json!(["no-route"]));
    assert!(said["hops"][2]["since"]["drops"]["no-route"].as_u64().unwrap() > 0, "{said:#}");
    drop(ping);

    // It sends back what came: a loop.
    c.overlay("route add 10.0.0.4 --via 10.0.0.2");
    let (said, arrives) = trace(a, "ov0 02:00:00:00:00:04 --seconds 0");
    assert!(!arrives && nodes(&said).len() == 4, "{said:#}");
    assert!(said["hops"][3]["ends"].as_str().unwrap().contains("a loop"), "{said:#}");
    c.overlay("route del 10.0.0.4 --via 10.0.0.2");
    c.overlay("route add 10.0.0.4 --via 10.0.0.4");

    // Whose agent is dead says nothing, though it sends packets on.
    hosts[2].kill_agent();
    let ended = hosts[0].try_overlay("trace ov0 02:00:00:00:00:04 --seconds 0");
    assert_eq!(ended.code(), Some(1), "{ended:?}");
    for word in [" 3 *  10.0.0.3\n      no answer\n", "it does not arrive"] {
        assert!(ended.stdout.contains(word), "{word}: {ended:?}");
    }
}

/// Entries by hand, at a host, a relay that opens nothing, and a host: no control plane, but a key.
#[test]
fn entries_by_hand_are_traced_where_nodes_share_a_key() {
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::in_a_row(&person, [1, 2, 3]);
    for (place, host) in hosts.iter().enumerate() {
        host.sh("echo 0 > /proc/sys/net/ipv4/ip_forward");
        host.sh("umask 077 && echo a key that all nodes share > /run/key && echo a key of nobody else > /run/other");
        host.overlay("config application ethernet");
        host.overlay(&format!("id set {}", host.id()));
        for (neighbour, own, theirs) in
            [(place.checked_sub(1), 2, 1), (Some(place + 1).filter(|next| *next < 3), 1, 2)]
        {
            let Some(neighbour) = neighbour else { continue };
            let (net, node) = (neighbour.min(place), hosts[neighbour].id());
            host.overlay(&format!("locator add 192.0.{net}.{own}"));
            host.overlay(&format!("node add {node} 192.0.{net}.{theirs}"));
            host.overlay(&format!("route add {node} --via {node}"));
        }
    }
    let [a, b, c] = &hosts;
    for (host, other) in [(a, c), (c, a)] {
        host.overlay(&format!("route add {} --via {}", other.id(), b.id()));
        host.device("--vni 1");
        host.sh(&format!("ip link set ov0 address 02:00:00:00:00:0{}", host.number));
        host.overlay(&format!("fib add ov0 02:00:00:00:00:0{} {}", other.number, other.id()));
        host.sh(&format!(
            "ip neigh replace {0} lladdr 02:00:00:00:00:0{1} dev ov0",
            other.inner(),
            other.number
        ));
    }
    assert!(eventually(|| a.reaches(c)), "{}", b.overlay("stats"));
    a.try_overlay("config control static").fails_saying(2, &["--key"]);
    a.try_overlay("config control static --key /run/key --seed 192.0.0.2").fails_saying(1, &["--seed"]);
    for host in &hosts {
        host.overlay("config control static --key /run/key");
    }
    let line = format!("ov0 {} --seconds 0", c.inner());
    let (said, arrives) = trace(a, &line);
    assert!(arrives, "{said:#}");
    assert_eq!(nodes(&said), hosts.each_ref().map(Host::id), "{said:#}");
    assert_eq!(
        (&said["hops"][2]["delivered"], &said["hops"][1]["sent"][0]["next_hop"]),
        (&"ov0".into(), &c.id().into())
    );
    // The relay's entry is gone, and then the last node has a key of its own, which a successor of its agent keeps.
    b.overlay("route del 10.0.0.3 --via 10.0.0.3");
    let (said, _) = trace(a, &line);
    assert_eq!(said["hops"][1]["dropped"], serde_json::json!(["no-route"]), "{said:#}");
    b.overlay("route add 10.0.0.3 --via 10.0.0.3");
    c.overlay("config control static --key /run/other");
    hosts[2].kill_agent();
    hosts[2].start_agent();
    let [a, _, c] = &hosts;
    let (said, arrives) = trace(a, &line);
    assert!(!arrives && said["hops"][2]["ends"] == "no answer", "{said:#}");
    c.overlay("config control static --key /run/key");
    let (said, arrives) = trace(a, &line);
    assert!(arrives, "{said:#}");
}

/// Of two own locators of one family the one that the kernel sends from is asked for once, and again when a route changes it.
#[test]
fn questions_leave_from_where_the_kernel_sends_also_when_that_changes() {
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    hosts.iter_mut().for_each(Host::start_agent);
    let [a, b] = &hosts;
    a.sh("ip addr add 192.0.2.11/24 dev eth0");
    for (host, other, own, theirs) in
        [(a, b, &["192.0.2.1", "192.0.2.11"][..], "192.0.2.2"), (b, a, &["192.0.2.2"], "192.0.2.11")]
    {
        host.sh("umask 077 && echo a key that all nodes share > /run/key");
        host.overlay("config application ethernet");
        host.overlay(&format!("id set {}", host.id()));
        for own in own {
            host.overlay(&format!("locator add {own}"));
        }
        host.know(other, theirs);
        host.device("--vni 1");
        host.overlay(&format!("fib add ov0 02:00:00:00:00:0{} {}", other.number, other.id()));
        host.overlay("config control static --key /run/key");
    }
    // Of a station whose packets leave from the second, which is what the other node knows.
    let of = |station: u8| {
        format!("ov0 02:00:00:00:00:0{} --from 02:00:00:00:01:{station:02x} --seconds 0", b.number)
    };
    let leaves_from = |line: &String| trace(a, line).0["hops"][0]["sent"][0]["outer"]["locators"][0].clone();
    let line = (0..64)
        .map(of)
        .find(|line| leaves_from(line) == "192.0.2.11")
        .expect("either is half of all stations'");
    let asks = || trace(a, &line).1;
    assert!(eventually(asks), "{:#}", trace(a, &line).0);
    // What is from the first is lost from now on.
    b.sh("echo 1 > /proc/sys/net/ipv4/conf/eth0/rp_filter && ip route add blackhole 192.0.2.1/32");
    assert!(!asks(), "from the first, which the network prefers");
    a.sh("ip route add 192.0.2.2/32 dev eth0 src 192.0.2.11");
    assert!(asks(), "{:#}", trace(a, &line).0);
    a.sh("ip route del 192.0.2.2/32");
    assert!(!asks(), "from the first again");
}

#[test]
fn a_trace_tells_which_locators_a_flow_keeps_to() {
    let Some(person) = Person::root() else { return };
    let hosts = Host::two_on_two_networks(&person);
    let [a, b] = &hosts;
    for (host, other) in [(a, b), (b, a)] {
        host.overlay("config application ethernet --encapsulation vxlan");
        host.overlay("config application ipv4 --carries ip --encapsulation geneve");
        for app in ["ethernet", "ipv4"] {
            host.overlay(&format!("id set {} --app {app}", host.id()));
            for (network, weight) in [("192.0.2", 50), ("198.51.100", 150)] {
                host.overlay(&format!("locator add {network}.{} --app {app}", host.number));
                host.overlay(&format!(
                    "node add {} {network}.{} --weight {weight} --app {app}",
                    other.id(),
                    other.number
                ));
            }
            host.overlay(&format!("route add {} --via {} --app {app}", other.id(), other.id()));
        }
        host.device("--vni 1");
        host.sh(&format!("ip link set ov0 address 02:00:00:00:00:0{}", host.number));
        host.overlay(&format!("fib add ov0 02:00:00:00:00:0{} {}", other.number, other.id()));
        host.sh(&format!(
            "ip neigh replace {} lladdr 02:00:00:00:00:0{} dev ov0",
            other.inner(),
            other.number
        ));
        host.overlay("config device ov1 --app ipv4");
        host.overlay(&format!("fib add ov1 10.2.0.{} {}", other.number, other.id()));
    }
    let sent = |said: &Value| said["hops"][0]["sent"][0].clone();
    // Packets of a station leave to the locator that is named: the counter of the device that leads there says so.
    let mut seen = BTreeSet::new();
    for station in 1..=9 {
        let address = format!("02:00:00:00:01:0{station}");
        let (said, _) = trace(a, &format!("ov0 {} --from {address} --seconds 0", b.inner()));
        let copy = sent(&said);
        assert_eq!(copy["outer"]["encapsulation"], "vxlan", "{said:#}");
        let to = copy["outer"]["locators"][1].as_str().unwrap().to_owned();
        assert_eq!(copy["device"], if to == "192.0.2.2" { "eth0" } else { "eth1" }, "{said:#}");
        if seen.insert(to) {
            let count = || {
                let said = a.sh(&format!("ip -json -stats link show {}", copy["device"].as_str().unwrap()));
                let said: Value = serde_json::from_str(&said).unwrap();
                said[0]["stats64"]["tx"]["packets"].as_u64().unwrap()
            };
            a.sh(&format!("ip link set ov0 address {address}"));
            a.sh(&format!("ip neigh replace {} lladdr 02:00:00:00:00:02 dev ov0", b.inner()));
            let before = count();
            a.exec(&["ping", "-c", "10", "-i", "0.01", "-W", "1", &b.inner()]);
            assert!(count() >= before + 10, "{said:#}");
        }
    }
    assert_eq!(seen, BTreeSet::from(["192.0.2.2".to_owned(), "198.51.100.2".to_owned()]));
    // Of packets the kernel draws a flow's hash; any may be asked for.
    let flows: BTreeSet<(String, u64)> = (0..12)
        .map(|flow| {
            let (said, arrives) = trace(a, &format!("ov1 10.2.0.2 --flow {flow} --seconds 0"));
            assert!(!arrives, "without a control plane nobody is asked: {said:#}");
            assert!(
                said["hops"][1]["ends"].as_str().unwrap().contains("config control static --key"),
                "{said:#}"
            );
            let copy = sent(&said);
            let to = copy["outer"]["locators"][1].as_str().unwrap().to_owned();
            (to, copy["weight"].as_u64().unwrap() * 8 / copy["weights"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(flows, BTreeSet::from([("192.0.2.2".to_owned(), 1), ("198.51.100.2".to_owned(), 3)]));

    // Nothing was sent for all that.
    let entries = a.json("fib show ov1");
    assert_eq!(
        (&entries[0]["identifier"], &entries[0]["packets"]),
        (&"10.2.0.2".into(), &0.into()),
        "{entries:#}"
    );
    let (said, _) = trace(a, "ov1 10.2.0.2 --seconds 0");
    assert_eq!(said["hops"][0]["count"]["packets"], 0, "{said:#}");

    // What cannot be asked is told, with what to do.
    a.try_overlay("trace ov9 10.1.0.2").fails_saying(1, &["no overlay device `ov9`"]);
    a.try_overlay("trace ov0 10.1.0.77").fails_saying(1, &["hardware address of 10.1.0.77", "ping"]);
    a.try_overlay("trace ov1 02:00:00:00:00:02").fails_saying(1, &["ov1", "02:00:00:00:00:02"]);
    a.try_overlay("trace ov0 10.1.0.2 --size 9000").fails_saying(1, &["9000", "MTU"]);
    a.try_overlay("trace ov0").fails_saying(2, &["DESTINATION"]);
    a.try_overlay("trace ov0 nowhere").fails_saying(2, &["nowhere", "hardware address"]);
    let (said, arrives) = trace(a, "ov0 02:00:00:00:00:77 --seconds 0");
    assert!(!arrives && said["hops"][0]["dropped"][0] == "unknown-identifier", "{said:#}");
}
