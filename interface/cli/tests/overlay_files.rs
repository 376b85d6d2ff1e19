//! `overlays:` in network files.

mod common;

use common::{Person, Pinged, Testbed, eventually, installed, steps};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Three members around a router, on links that the engine and the kernel move, and what is said of the overlay.
fn network(members: &str, more: &str) -> String {
    format!(
        "plait: 1\nnodes: {{a: host, b: host, c: host, d: host, r: router}}\n\
         links: [{{endpoints: [a, r], delay: 1ms, dynamic: true}}, r-b, r-c, r-d]\n\
         overlays:\n  ov0:\n    members: {members}\n    network: 10.99.0.0/24\n\
         \x20   interval: 400ms\n{more}"
    )
}

/// What the agent of a node answers.
fn asked(testbed: &Testbed<'_>, node: &str, words: &str) -> Value {
    let words: Vec<&str> = words.split(' ').collect();
    testbed.exec(node, &[&["plait", "overlay", "--json"], &words[..]].concat()).json()
}

#[track_caller]
fn reaches(testbed: &Testbed<'_>, from: &str, to: &str) {
    testbed.exec(from, &["ping", "-c", "1", "-W", "5", to]).fine();
}

/// The processes of agents of a person's testbeds.
fn agents(person: &Person) -> usize {
    let is_agent = |pid: &i32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line == "plait\0overlay\0--agent\0default\0agent\0"
    };
    person.processes().iter().filter(|pid| is_agent(pid)).count()
}

/// The process of a node's agent, as nodes see it.
fn agent(log: &str, node: &str) -> u64 {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut started = lines.filter(|line| line["message"] == "overlay agent started" && line["node"] == node);
    started.next().unwrap()["pid"].as_u64().unwrap()
}

#[test]
fn members_of_a_files_overlay_have_an_agent_that_changes_with_the_file_and_ends_with_the_testbed() {
    let Some(person) = Person::root() else { return };
    let pins = || -> BTreeSet<_> {
        fs::read_dir("/sys/fs/bpf").into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
    };
    let before = pins();
    let testbed = person.up(&network("[a, b, c]", ""));
    for (from, to) in [("a", "b-ov0"), ("b", "c-ov0"), ("c", "10.99.0.1")] {
        reaches(&testbed, from, to);
    }
    // TCP's superpackets are cut where the engine reads them.
    if installed("iperf3") {
        let server = testbed.background("b", "exec iperf3 -s -1");
        assert!(eventually(|| testbed.shell("b", "grep -q ':1451 ' /proc/net/tcp6").code() == Some(0)));
        let said = testbed.exec("a", &["iperf3", "-c", "b-ov0", "-n", "20M", "-J"]).json();
        assert!(said["end"]["sum_received"]["bits_per_second"].as_f64().unwrap() > 20e6, "{said:#}");
        server.wait().fine();
    }
    let stats = asked(&testbed, "a", "stats");
    assert!(stats["devices"]["ov0"]["sent"].as_u64().unwrap() > 0, "{stats:#}");
    assert_eq!(asked(&testbed, "a", "id show"), "0.0.0.1");
    assert_eq!(pins(), before, "what is pinned is seen in the node alone");
    assert!(!testbed.exec("a", &["ls", "/sys/fs/bpf/plait-overlay"]).fine().is_empty());
    testbed.shell("d", "! test -e /run/plait-overlay && ! test -e /sys/class/net/ov0").fine();

    // The agent is one of the node's programs, and says so where they do; its key is told nowhere.
    let report = testbed.inspect();
    let a = report["nodes"].as_array().unwrap().iter().find(|node| node["name"] == "a").unwrap();
    assert_eq!(a["daemons"], serde_json::json!(["overlay"]));
    assert_eq!(a["interfaces"][1], serde_json::json!(["ov0", ["10.99.0.1/24"]]));
    testbed.exec("a", &["test", "-e", "/run/node/log/overlay.log"]).fine();
    let key =
        testbed.shell("a", "stat -c %a /run/plait-overlay/ov0.key; cat /run/plait-overlay/ov0.key").fine();
    let (mode, key) = key.split_once('\n').unwrap();
    assert_eq!((mode, key.len()), ("600", 64));
    let log = person.plait(&["inspect", "--log", &testbed.name]).fine();
    let of_a = agent(&log, "a");
    let told = [report.to_string(), log, asked(&testbed, "a", "config show").to_string()];
    assert!(told.iter().all(|text| !text.contains(key)));
    // A program of the node has no right to eBPF.
    let caps = testbed.shell("a", "grep CapBnd /proc/self/status").fine();
    let caps = u64::from_str_radix(caps.split_whitespace().nth(1).unwrap(), 16).unwrap();
    assert_eq!(caps & (1 << 38 | 1 << 39 | 1 << 21), 0);
    testbed.shell("a", "! touch /run/plait-overlay/bin/plait 2>/dev/null").fine();

    // From mesh to least delay under traffic; then a fourth member, told to nobody but itself.
    let ping = testbed.background("a", "exec ping -i 0.02 -c 150 -W 5 c-ov0");
    let changed = steps(&testbed.apply(&network("[a, b, c]", "    control: delay\n")).json());
    assert_eq!(changed, ["overlays a", "overlays b", "overlays c"]);
    assert_eq!(asked(&testbed, "b", "config show")["controls"]["7"]["plane"], "delay");
    let more = network("[a, b, c, d]", "    control: delay\n    mtu: 1300B\n");
    testbed.apply(&more).fine();
    assert!(steps(&testbed.apply(&more).json()).is_empty());
    // Nothing is lost, but what went in a circle while nodes held different measurements, which a busy machine makes.
    let ping = Pinged::read(&ping.wait().fine());
    let drops = ["a", "b", "c", "d"].map(|node| asked(&testbed, node, "stats")["drops"].clone());
    let expired: u64 = drops.iter().filter_map(|drops| drops["expired"].as_u64()).sum();
    assert!(ping.sent == 150 && u64::from(150 - ping.received) <= expired, "{ping:?} {drops:?}");
    reaches(&testbed, "d", "a-ov0");
    assert_eq!(testbed.exec("a", &["cat", "/sys/class/net/ov0/mtu"]).fine(), "1300\n");

    // An agent that is killed stops no packet, and the next change starts its successor.
    assert_eq!(agents(&person), 4);
    testbed.shell("a", &format!("kill -9 {of_a}")).fine();
    assert!(eventually(|| agents(&person) == 3));
    reaches(&testbed, "a", "b-ov0");
    testbed.apply(&network("[a, b, c, d]", "    control: delay\n    mtu: 1280B\n")).fine();
    assert_eq!(testbed.exec("a", &["cat", "/sys/class/net/ov0/mtu"]).fine(), "1280\n");
    assert_eq!(agents(&person), 4);
    // Others ask a control plane that is new to them who it is before they believe it.
    let answers = || testbed.exec("a", &["ping", "-c", "1", "-W", "1", "b-ov0"]).code() == Some(0);
    assert!(eventually(answers));

    // A member whose link fails is forgotten by the others, and found again.
    let of_b = || asked(&testbed, "b", "node show").as_object().unwrap().len();
    testbed.link("fail", &["a-r"]).fine();
    assert!(eventually(|| of_b() == 2));
    testbed.link("recover", &["a-r"]).fine();
    assert!(eventually(|| of_b() == 3));
    assert!(eventually(answers));

    // Who is no member any more has nothing of it.
    let without = network("[a, b]", "").split("overlays:").next().unwrap().to_owned();
    let left = steps(&testbed.apply(&without).json());
    assert!(left.contains(&"overlays d".to_owned()), "{left:?}");
    testbed.shell("a", "! test -e /sys/class/net/ov0 && ! ls /run/plait-overlay/*.key 2>/dev/null").fine();
    assert!(eventually(|| agents(&person) == 0));
    testbed.exec("a", &["ping", "-c", "1", "-W", "5", "c"]).fine();
    testbed.apply(&network("[c, b]", "")).fine();
    reaches(&testbed, "c", "b-ov0");
    testbed.down();
    person.assert_nothing_runs();
    assert!(eventually(|| pins() == before));
}

#[test]
fn a_file_says_what_overlays_carry_how_and_who_has_their_devices() {
    let Some(person) = Person::root() else { return };
    let testbed = person.up(
        "plait: 1\nnodes: {a: host, b: host, c: host, r: router}\nlinks: [a-r, r-b, r-c]\n\
         collect: {capture: ['a:ov0']}\n\
         overlays:\n\
         \x20 ov0: {members: [a, b, c], network: 10.90.0.0/24, encapsulation: vxlan, control: static}\n\
         \x20 flat:\n    members: {a: , r: {id: 192.0.2.9, addresses: [10.91.0.77/24]}, c: }\n\
         \x20   network: [10.91.0.0/24, 'fd00:91::/64']\n    carries: ip\n    encapsulation: geneve\n    control: static\n    miss: kernel\n\
         \x20 many:\n    members: [a, b, c, r]\n    interval: 200ms\n\
         \x20   devices:\n      red: {vni: 5, network: 10.92.0.0/24, members: [a, b]}\n\
         \x20     blue: {vni: 6, network: 10.93.0.0/24, members: [b, c], mtu: 1200B}\n",
    );
    for (from, to) in [
        ("a", "10.90.0.3"),
        ("b", "10.90.0.1"),
        ("a", "10.91.0.77"),
        ("c", "10.91.0.77"),
        ("c", "fd00:91::1"),
        ("a", "b-red"),
        ("b", "c-blue"),
    ] {
        reaches(&testbed, from, to);
    }
    let config = asked(&testbed, "a", "config show");
    let applications: Vec<_> = config["applications"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(applications, ["7", "8", "9"]);
    let misses = ["7", "8"].map(|number| config["applications"][number].get("miss").cloned());
    assert_eq!(misses, [None, Some("kernel".into())]);
    assert_eq!(asked(&testbed, "r", "id show --app 8"), "192.0.2.9");
    assert_eq!(testbed.exec("c", &["cat", "/sys/class/net/blue/mtu"]).fine(), "1200\n");
    testbed.shell("r", "! test -e /sys/class/net/red && ! test -e /sys/class/net/ov0").fine();
    testbed.shell("a", "! test -e /sys/class/net/blue").fine();
    testbed.down();
}

/// Taken in place, packets are the node's own, though not for a socket that has the overlay's device.
#[test]
fn a_file_has_packets_come_in_place_and_a_change_of_it_is_followed() {
    let Some(person) = Person::root() else { return };
    let file = |more: &str| {
        format!(
            "plait: 1\ndefaults:\n  node:\n    sysctls: {{net.ipv4.conf.all.rp_filter: 2, net.ipv4.conf.default.rp_filter: 2}}\n\
             nodes: [a, b]\nlinks: [a-b]\noverlays:\n\
             \x20 ov0: {{members: [a, b], network: 10.99.0.0/24, carries: ip, control: static{more}}}\n\
             \x20 many:\n    members: [a, b]\n    control: static\n\
             \x20   devices:\n      red: {{vni: 5, network: 10.92.0.0/24, in-place: true}}\n      blue: {{vni: 6, network: 10.93.0.0/24}}\n"
        )
    };
    let testbed = person.up(&file(", in-place: true"));
    for to in ["b-ov0", "b-red", "b-blue"] {
        reaches(&testbed, "a", to);
    }
    let by_device = |device: &str| {
        let to = format!("b-{device}");
        testbed.exec("a", &["ping", "-c", "1", "-W", "1", "-I", device, &to]).code() == Some(0)
    };
    assert_eq!(["ov0", "red", "blue"].map(by_device), [false, false, true]);
    testbed.apply(&file("")).fine();
    assert_eq!(["ov0", "red", "blue"].map(by_device), [true, false, true]);
    reaches(&testbed, "b", "a-ov0");
    testbed.down();
}

#[test]
fn a_file_says_to_whom_packets_go_in_what_and_where_stations_are() {
    let Some(person) = Person::root() else { return };
    let file = "plait: 1\nnodes: {a: host, b: host, c: host, r: router}\nlinks: [a-r, r-b, r-c]\n\
         overlays:\n\
         \x20 row:\n    network: 10.94.0.0/24\n    control: static\n\
         \x20   stations: {'02:00:00:00:00:77': c}\n\
         \x20   members:\n      a: {routes: {c: b, 224.0.0.1: [b]}}\n      b:\n      c: {routes: {a: b, 224.0.0.1: b}}\n\
         \x20 pair: {network: 10.95.0.0/24, control: static, members: {a: {to: {b: geneve}}, b: }}\n";
    let testbed = person.up(file);
    reaches(&testbed, "a", "10.94.0.3");
    reaches(&testbed, "a", "10.95.0.2");
    let routes = asked(&testbed, "a", "route show --app 7");
    assert_eq!(routes["0.0.0.3"], serde_json::json!(["0.0.0.2"]), "{routes:#}");
    assert_eq!(routes["224.0.0.1"], serde_json::json!(["0.0.0.1", "0.0.0.2"]), "{routes:#}");
    // What is for c passes through b, and what it says to all gets to c once.
    let passed = asked(&testbed, "b", "stats");
    let to_c = passed["nodes"].as_array().unwrap().iter().find(|of| of["node"] == "0.0.0.3").unwrap();
    assert!(to_c["packets"].as_u64().unwrap() > 0, "{passed:#}");
    assert_eq!(asked(&testbed, "a", "config show")["applications"]["8"]["to"]["0.0.0.2"], "geneve");
    let stations = asked(&testbed, "a", "fib show row");
    let told = stations.as_array().unwrap().iter().find(|of| of["identifier"] == "02:00:00:00:00:77");
    assert_eq!(told.unwrap()["node"], "0.0.0.3", "{stations:#}");
    // Its members answer traces, though nobody decides routes.
    let traced = asked(&testbed, "a", "trace row 02:00:00:00:00:77 --seconds 0");
    let nodes: Vec<&str> =
        traced["hops"].as_array().unwrap().iter().map(|hop| hop["node"].as_str().unwrap()).collect();
    assert_eq!(nodes, ["0.0.0.1", "0.0.0.2", "0.0.0.3"], "{traced:#}");
    assert_eq!(traced["hops"][2]["delivered"], "row", "{traced:#}");

    // Straight, once the file says so.
    testbed.apply(
        &file.replace("routes: {c: b, 224.0.0.1: [b]}", "").replace("routes: {a: b, 224.0.0.1: b}", ""),
    );
    let routes = asked(&testbed, "a", "route show --app 7");
    assert_eq!(routes["0.0.0.3"], serde_json::json!(["0.0.0.3"]));
    // What is for all goes by one of them, which passes it on.
    assert_eq!(routes["224.0.0.1"], serde_json::json!(["0.0.0.1", "0.0.0.3"]), "{routes:#}");
    reaches(&testbed, "a", "10.94.0.3");
    testbed.down();
}

#[test]
fn a_file_says_what_locators_weigh_and_each_member_is_told() {
    let Some(person) = Person::root() else { return };
    let file = |of_a: &str| {
        let node = |name: &str, last: u8| {
            format!(
                "{name}: {{kind: host, interfaces: {{eth0: {{addresses: [10.0.8.{last}/24]}}, eth1: {{addresses: [10.0.9.{last}/24]}}}}}}"
            )
        };
        format!(
            "plait: 1\nnodes:\n  {}\n  {}\nlinks: [{{endpoints: ['a:eth0', 'b:eth0']}}, {{endpoints: ['a:eth1', 'b:eth1']}}]\n\
             overlays:\n\
             \x20 told: {{network: 10.94.0.0/24, control: static, members: {{a: {{locators: {of_a}}}, b: }}}}\n\
             \x20 meet: {{network: 10.95.0.0/24, interval: 300ms, members: {{a: {{locators: {of_a}}}, b: }}}}\n",
            node("a", 1),
            node("b", 2)
        )
    };
    let testbed = person.up(&file("{10.0.8.1: 200, 10.0.9.1: }"));
    let weights = |first: u8, second: u8| serde_json::json!({"10.0.8.1": first, "10.0.9.1": second});
    // Who is told by the file, and who hears it from the member itself.
    let are = |expected: &Value| {
        ["7", "8"].iter().all(|app| {
            let own = asked(&testbed, "a", &format!("locator show --app {app}"));
            let known = asked(&testbed, "b", &format!("node show --app {app}"));
            own == *expected && known["0.0.0.1"] == *expected
        })
    };
    assert!(eventually(|| are(&weights(200, 50))), "{:#}", asked(&testbed, "b", "node show --app 7"));
    reaches(&testbed, "a", "10.94.0.2");
    reaches(&testbed, "a", "10.95.0.2");
    // A change is followed.
    testbed.apply(&file("{10.0.8.1: 10, 10.0.9.1: 90}"));
    assert!(eventually(|| are(&weights(10, 90))), "{:#}", asked(&testbed, "b", "node show --app 8"));
    testbed.apply(&file("[10.0.8.1, 10.0.9.1]"));
    assert!(eventually(|| are(&weights(50, 50))), "{:#}", asked(&testbed, "b", "node show --app 8"));
    reaches(&testbed, "a", "10.94.0.2");
    testbed.down();
}

/// The first and the last of three hosts reach each other sooner by the one between: least delay goes that way, and mesh does not.
#[test]
fn tcp_goes_on_while_planes_change_and_ways_with_them() {
    let Some(person) = Person::root() else { return };
    if !installed("iperf3") {
        return;
    }
    let file = |plane: &str| {
        format!(
            "plait: 1\nnodes: [a, b, c]\n\
             links: [{{endpoints: [a, b], delay: 1ms}}, {{endpoints: [b, c], delay: 1ms}}, {{endpoints: [a, c], delay: 20ms}}]\n\
             overlays:\n  ov0: {{members: [a, b, c], network: 10.99.0.0/24, interval: 200ms, control: {plane}}}\n"
        )
    };
    let testbed = person.up(&file("mesh"));
    let ways =
        || [("a", "0.0.0.3"), ("c", "0.0.0.1")].map(|(of, to)| asked(&testbed, of, "route show")[to].clone());
    let (straight, relayed) = ([["0.0.0.3"], ["0.0.0.1"]], [["0.0.0.2"], ["0.0.0.2"]]);
    let go = |by: [[&str; 1]; 2]| eventually(|| ways() == by.map(|next_hops| serde_json::json!(next_hops)));
    assert!(go(straight), "{:?}", ways());
    reaches(&testbed, "a", "c-ov0");
    let server = testbed.background("c", "exec iperf3 -s -1");
    assert!(eventually(|| testbed.shell("c", "grep -q ':1451 ' /proc/net/tcp6").code() == Some(0)));
    let line = "echo $$ >/run/node/client; exec iperf3 -c c-ov0 -t 300 -i 0.5 -b 20M -J >/run/node/said";
    let client = testbed.background("a", line);
    for (plane, by) in [("delay", relayed), ("mesh", straight), ("delay", relayed)] {
        testbed.apply(&file(plane)).fine();
        assert!(go(by), "{plane}: {:?}", ways());
        // With some intervals of TCP's on each way.
        std::thread::sleep(std::time::Duration::from_millis(1200));
    }
    testbed.shell("a", "kill -INT $(cat /run/node/client)").fine();
    client.wait();
    server.wait();
    let said: Value = serde_json::from_str(&testbed.exec("a", &["cat", "/run/node/said"]).fine()).unwrap();
    let moved: Vec<u64> =
        said["intervals"].as_array().unwrap().iter().map(|of| of["sum"]["bytes"].as_u64().unwrap()).collect();
    assert!(moved.len() > 7 && moved[..moved.len() - 1].iter().all(|bytes| *bytes > 0), "{moved:?}");
    testbed.down();
}

#[test]
fn overlays_that_cannot_be_are_told_with_their_lines_and_remedies() {
    let Some(person) = Person::user() else { return };
    let fine = network("[a, b, c]", "");
    person.file("fine.yaml", &fine);
    person.plait(&["validate", "fine.yaml"]).fine();
    for verb in ["up", "plan", "run"] {
        let said = ["fine.yaml:4:1", "overlays need eBPF", "testbeds of users get none", "as root"];
        person.plait(&[verb, "fine.yaml"]).fails_saying(3, &said);
    }
    assert!(person.testbeds().is_empty());
    let faulty = "plait: 1\nnodes: {a: host, b: host, s: switch}\nlinks: [a-s, s-b]\n\
        overlays:\n\
        \x20 ov0: [a, bb, s]\n\
        \x20 eth0: {members: [a, b], network: 10.0.0.0/30}\n\
        \x20 ov1: {members: [a, a], encapsulation: ipip, control: static, interval: 1s}\n\
        \x20 ov2: {members: {a: {id: 0.0.0.2}, b: }, application: 9}\n\
        \x20 ov3: {members: [a, b], application: 9, vni: 16777216}\n\
        \x20 a-name-too-long-for-a-device: {members: [a, b]}\n\
        \x20 ov4: {members: [a, b], mtu: 20B, ageing: 1ms}\n\
        \x20 ov5: {members: []}\n\
        \x20 ov6: {members: [a, b], network: 10.9.0.0/24}\n\
        \x20 ov7: {members: [b], network: 10.9.0.128/25}\n";
    person.file("faulty.yaml", faulty);
    person.plait(&["validate", "faulty.yaml"]).fails_saying(
        3,
        &[
            "faulty.yaml:5:12",
            "unknown node `bb`",
            "`s` is a switch",
            "faulty.yaml:6:3",
            "`a` has an interface `eth0` already",
            "`a` is a member twice",
            "ipip carries no frames",
            "belong to `control: mesh`",
            "two members have the identity 0.0.0.2",
            "two overlays are application 9",
            "no virtual network 16777216",
            "no device can be called `a-name-too-long-for-a-device`",
            "an MTU of 20 cannot be",
            "whole seconds",
            "overlay `ov5` has no members",
            "`b` would have two devices in 10.9.0.128/25",
        ],
    );
    let shared = "plait: 1\nnodes: {a: host, b: host}\nlinks: [a-b]\noverlays:\n\
        \x20 ov0: {members: [a, b], encapsulation: geneve}\n\
        \x20 ov1: {members: [a, b], encapsulation: geneve}\n\
        \x20 ov2: [a, b]\n";
    person.file("shared.yaml", shared);
    let said = ["shared.yaml:6", "in geneve could be of overlay `ov0`", "several `devices`"];
    person.plait(&["validate", "shared.yaml"]).fails_saying(3, &said);
    let simulated = ["run", "shared.yaml", "--world", "simulated"];
    person.file("shared.yaml", format!("{shared}duration: 1s\n"));
    person.plait(&simulated).fails_saying(3, &said);
    let circle = "plait: 1\nnodes: [a, b, c, d]\nlinks: [a-b, b-c, c-d]\noverlays:\n\
        \x20 ov0: {control: static, members: {a: {routes: {224.0.0.1: b}}, b: , c: , d: }}\n";
    person.file("circle.yaml", circle);
    let said = ["circle.yaml:5", "goes in a circle", "ways are a tree"];
    person.plait(&["validate", "circle.yaml"]).fails_saying(3, &said);
    let fed = |more: &str| {
        format!(
            "plait: 1\nnodes: {{a: host, s: switch, r: router}}\nlinks: [a-s, s-r]\noverlays:\n  ov0: {{members: [a], {more}}}\n"
        )
    };
    for (more, said) in [
        ("control: {evpn: {neighbor: q, as: 65000}}", "unknown node `q`"),
        ("control: {evpn: {neighbor: s, as: 65000}}", "`s` is a switch"),
        ("control: {evpn: {neighbor: r, as: 0}}", "0 is no AS"),
        ("control: {evpn: {neighbor: r, as: 1, hold: 2s}}", "a hold time is 3s to 65535s"),
        ("control: {evpn: {neighbor: r}}", "`as` is missing"),
        ("encapsulation: geneve, control: {evpn: {neighbor: r, as: 1}}", "`ethernet` in `vxlan`"),
        ("interval: 1s, control: {evpn: {neighbor: r, as: 1}}", "belong to `control: mesh`"),
        ("control: evpn", "unknown value `evpn`"),
        ("control: 7", "or a map with `evpn`"),
        ("stations: {b: a}", "`b` is no hardware address"),
        ("in-place: true, devices: {ov0: {vni: 1}}", "says this of each of them"),
        ("miss: kernel", "no route for a frame"),
        ("miss: nobody", "unknown value `nobody`"),
        ("carries: ip, stations: {10.0.0.0/8: a}", "`10.0.0.0/8` is no address"),
        ("stations: {'02:00:00:00:00:01': r}", "`r` is no member"),
    ] {
        person.file("fed.yaml", fed(more));
        person.plait(&["validate", "fed.yaml"]).fails_saying(3, &["fed.yaml:5:", said]);
    }
    let told = |control: &str, of_a: &str| {
        format!(
            "plait: 1\nnodes: {{a: host, b: host, r: router}}\nlinks: [a-r, r-b]\noverlays:\n  ov0: {{control: {control}, members: {{a: {{{of_a}}}, b: , r: }}}}\n"
        )
    };
    for (control, of_a, said) in [
        ("mesh", "routes: {b: r}", "`routes` belong to `control: static`"),
        ("static", "routes: {q: r}", "unknown node `q`"),
        ("static", "routes: {a: r}", "no way"),
        ("static", "routes: {b: []}", "no way"),
        ("static", "routes: {b: [a, r]}", "no way"),
        ("static", "to: {b: ipip}", "ipip carries no frames"),
        ("mesh", "to: {b: vxlan}", "vxlan names no nodes"),
        ("static", "to: {b: vxlan}", "routes: {224.0.0.1: [b, c]}"),
        ("{evpn: {neighbor: r, as: 1}}", "to: {b: geneve}", "all of VXLAN"),
        ("{evpn: {neighbor: r, as: 1}}", "locators: {192.0.2.1: 9}", "EVPN tells no weights"),
        ("mesh", "locators: {192.0.2.1: 0}", "a weight of 0"),
        ("mesh", "locators: {192.0.2.1: 0}", "a number from 1 to 255, the share of 192.0.2.1"),
        ("mesh", "locators: {192.0.2.1: 50, '2001:db8::1': 256}", "a weight of 256"),
        ("static", "locators: {192.0.2.1: -1}", "a weight of -1"),
        ("static", "locators: {192.0.2.1: most}", "a weight from 1 to 255"),
        ("static", "locators: {'2001:db8::1': 5, '2001:db8:0::1': 9}", "a second weight of 2001:db8::1"),
        ("static", "locators: {b: 7}", "b"),
        ("static", "locators: {}", "leave out `locators`"),
        ("static", "locators: 192.0.2.1", "a map from addresses to their weights"),
    ] {
        person.file("told.yaml", told(control, of_a));
        person.plait(&["validate", "told.yaml"]).fails_saying(3, &["told.yaml:5:", said]);
    }
    let said_of = |more: &str| {
        format!(
            "plait: 1\nnodes: [a, b, c]\nlinks: [a-b, b-c]\noverlays:\n  ov0:\n    control: static\n{more}"
        )
    };
    for (more, said) in [
        (
            "    members: [a, b]\n    stations:\n      '02:00:00:00:00:0a': a\n      '02:00:00:00:00:0A': b\n",
            ["twice.yaml:10:7", "here it is at `a`", "02:00:00:00:00:0a is said to be at `a` and at `b`"],
        ),
        (
            "    carries: ip\n    members:\n      a: {addresses: [10.9.0.1/24]}\n      b: {addresses: [10.9.0.7/24, 10.9.0.1/24]}\n",
            ["twice.yaml:10:36", "here it is at `a`", "10.9.0.1 is said to be at `a` and at `b`"],
        ),
        (
            "    carries: ip\n    network: 10.9.0.0/24\n    members:\n      a:\n      b:\n    stations: {10.9.0.2: a}\n",
            ["twice.yaml:11:7", "here it is at `a`", "10.9.0.2 is said to be at `a` and at `b`"],
        ),
    ] {
        person.file("twice.yaml", said_of(more));
        let wrong = [&said[..], &["say it of one member: packets for it go to one alone"]].concat();
        person.plait(&["validate", "twice.yaml"]).fails_saying(3, &wrong);
    }
    // Of one member twice it is the same; and what devices of frames learn is nobody's to say.
    for more in [
        "    members: [a, b]\n    stations: {'02:00:00:00:00:0a': a, '02:00:00:00:00:0A': a}\n",
        "    carries: ip\n    network: 10.9.0.0/24\n    members: [a, b]\n    stations: {10.9.0.1: a}\n",
        "    members: {a: {addresses: [10.9.0.1/24]}, b: {addresses: [10.9.0.1/24]}}\n",
    ] {
        person.file("twice.yaml", said_of(more));
        person.plait(&["validate", "twice.yaml"]).fine();
    }
    // What only addresses tell.
    let two = fed("control: {evpn: {neighbor: r, as: 1}}").replace("links: [", "links: [a-r, ");
    person.file("two.yaml", two);
    person
        .plait(&["plan", "two.yaml"])
        .fails_saying(3, &["two.yaml:5:", "one address of a member", "`a` has 2"]);
    let meets = network("[a, b, c]", "").replace("10.99.0.0/24", "10.0.0.0/16");
    person.file("meets.yaml", meets);
    person.plait(&["plan", "meets.yaml"]).fails_saying(3, &["meets.yaml:7:14", "of the network below"]);
    let floods = network("[a, b, c]", "    encapsulation: vxlan\n");
    person.file("floods.yaml", floods);
    person.plait(&["validate", "floods.yaml"]).fails_saying(3, &["floods.yaml:9:20", "control: static"]);
    let alone = "plait: 1\nnodes: [a, b, x]\nlinks: [a-b]\noverlays: {ov0: [a, b, x]}\n";
    person.file("alone.yaml", alone);
    person.plait(&["plan", "alone.yaml"]).fails_saying(3, &["`x` has no address to be reached at"]);
}
