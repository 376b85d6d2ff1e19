//! Networks are what their files say.

mod common;

use common::{Person, Pinged, Testbed, as_root_and_as_user};
use serde_json::Value;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

#[test]
fn a_packet_over_five_routers_has_lost_five_lives() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nnodes: {a: host, r1: router, r2: router, r3: router, r4: router, r5: router, b: host}\n\
                    links: [a-r1, r1-r2, r2-r3, r3-r4, r4-r5, r5-b]\n";
        let testbed = person.up(text);
        let said = testbed.exec("a", &["ping", "-c", "3", "-i", "0.1", "-W", "10", "b"]).fine();
        Pinged::read(&said).whole();
        assert!(said.contains("ttl=59"), "{said}");
        // One life too few, and the last router says so.
        let late = testbed.exec("a", &["ping", "-c", "1", "-t", "5", "-W", "10", "b"]);
        assert_ne!(late.code(), Some(0));
        assert!(late.stdout.contains("Time to live exceeded"), "{late:?}");
    });
}

#[test]
fn every_node_of_a_torus_reaches_every_other() {
    as_root_and_as_user(|person| {
        let text = person.plait(&["generate", "torus", "--rows", "4", "--columns", "4"]).fine();
        let testbed = person.up(&text);
        reaches_all(&testbed, 16);
        testbed.down();
        person.assert_nothing_runs();
    });
}

#[test]
fn a_fat_tree_of_switches_and_hosts_has_no_loop() {
    let Some(person) = Person::user() else { return };
    // Switches forward without a spanning tree, so a network of them must be a tree.
    let text = "plait: 1\nnodes: {s0: switch, s1: switch, s2: switch, a: host, b: host, c: host, d: host}\n\
                links: [s0-s1, s0-s2, a-s1, b-s1, c-s2, d-s2]\n";
    let testbed = person.up(text);
    let said = testbed.exec("a", &["ping", "-c", "2", "-i", "0.1", "-W", "10", "d"]).fine();
    assert!(said.contains("ttl=64"), "one Ethernet segment: {said}");
    let report = testbed.inspect();
    let addresses = addresses(&report);
    assert_eq!(addresses.len(), 4, "switches have no address: {addresses:?}");
}

/// Every node that has an address pings every other by name, all at once in each node.
fn reaches_all(testbed: &Testbed<'_>, count: usize) {
    let report = testbed.inspect();
    let names: Vec<&str> = report["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|node| node["kind"] != "switch")
        .map(|node| node["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), count);
    let line = format!(
        "for n in {}; do (ping -q -c 1 -W 20 $n >/dev/null || echo $n) & done; wait",
        names.join(" ")
    );
    for name in &names {
        let missed = testbed.shell(name, &line).fine();
        assert_eq!(missed, "", "from {name}");
    }
}

/// Every address of every interface: `a:eth0 10.0.0.1/24`.
fn addresses(report: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for node in report["nodes"].as_array().unwrap() {
        for interface in node["interfaces"].as_array().unwrap() {
            for address in interface[1].as_array().unwrap() {
                found.push(format!(
                    "{}:{} {}",
                    node["name"].as_str().unwrap(),
                    interface[0].as_str().unwrap(),
                    address.as_str().unwrap()
                ));
            }
        }
    }
    found
}

const EVERYTHING: &str = r#"
plait: 1
defaults: {ipv6: on}
nodes:
  a:
    kind: host
    sysctls: {net.ipv4.tcp_ecn: 1, net.ipv4.ip_default_ttl: 99}
    files:
      /etc/motto: "first\n"
      /etc/deep/er/motto: "second\n"
      /run/motto: "third\n"
      /var/motto: "fourth\n"
      /opt/motto: {source: motto.txt}
    commands:
      - cat /etc/motto /run/motto > /run/node/mottos
      - ip -o link show eth0 > /run/node/link
    processors: [0]
  b:
    kind: host
    interfaces: {up0: {addresses: [192.168.7.2/24, 2001:db8:7::2/64]}}
  r: router
  s: switch
  c: host
  d: host
  e: host
  f: host
links:
  - a-r
  - {endpoints: [r:down0, b:up0], mtu: 1400B}
  - c-s
  - d-s
  - s-r
lans:
  office: {members: [e, f, r]}
"#;

#[test]
fn everything_a_file_may_say_of_a_node_is_so() {
    as_root_and_as_user(|person| {
        person.file("motto.txt", "fifth\n");
        let testbed = person.up(EVERYTHING);
        reaches_all(&testbed, 7);
        for node in ["b", "c", "d", "e", "f", "r"] {
            Pinged::read(&testbed.exec("a", &["ping", "-6", "-c", "1", "-W", "20", node]).fine()).whole();
        }
        given_addresses_and_mtu(&testbed);
        files_commands_and_parameters(&testbed);
        let lan = testbed.exec("e", &["ping", "-c", "1", "-W", "10", "f"]).fine();
        assert!(lan.contains("ttl=64"), "a LAN is one hop: {lan}");
        let affinity = testbed.shell("a", "nproc; grep Cpus_allowed_list /proc/self/status").fine();
        assert!(affinity.starts_with("1\n") && affinity.ends_with(":\t0\n"), "{affinity}");
        testbed.down();
        person.assert_nothing_runs();
    });
}

fn given_addresses_and_mtu(testbed: &Testbed<'_>) {
    let report = testbed.inspect();
    let all = addresses(&report);
    for given in ["b:up0 192.168.7.2/24", "b:up0 2001:db8:7::2/64"] {
        assert!(all.iter().any(|address| address == given), "{given} in {all:?}");
    }
    let router =
        all.iter().find(|address| address.starts_with("r:down0 192.168.7.")).expect("the same prefix");
    assert_ne!(router, "r:down0 192.168.7.2/24");
    let mtu = |node: &str, interface: &str| {
        testbed.exec(node, &["cat", &format!("/sys/class/net/{interface}/mtu")])
    };
    assert_eq!(mtu("b", "up0").fine(), "1400\n");
    assert_eq!(mtu("r", "down0").fine(), "1400\n");
    assert_eq!(mtu("a", "eth0").fine(), "1500\n");
    // 1372 bytes and 28 of headers fit; one more does not, and the router says so.
    testbed.exec("a", &["ping", "-4", "-M", "do", "-c", "1", "-W", "10", "-s", "1372", "b"]).fine();
    let large = testbed.exec("a", &["ping", "-4", "-M", "do", "-c", "1", "-W", "2", "-s", "1373", "b"]);
    assert_ne!(large.code(), Some(0));
    assert!(large.stdout.contains("Frag needed") || large.stderr.contains("message too long"), "{large:?}");
}

fn files_commands_and_parameters(testbed: &Testbed<'_>) {
    let mottos =
        testbed.shell("a", "cat /etc/motto /etc/deep/er/motto /run/motto /var/motto /opt/motto").fine();
    assert_eq!(mottos, "first\nsecond\nthird\nfourth\nfifth\n");
    assert_eq!(testbed.exec("a", &["cat", "/run/node/mottos"]).fine(), "first\nthird\n");
    assert!(testbed.exec("a", &["cat", "/run/node/link"]).fine().contains("eth0"));
    testbed.shell("b", "test ! -e /etc/motto -a ! -e /var/motto").fine();
    assert!(
        testbed.exec("a", &["cat", "/etc/hosts"]).fine().contains(" b\n"),
        "a file in /etc hides no other"
    );
    testbed.shell("a", "test -s /etc/passwd").fine();
    assert_ne!(
        testbed.shell("a", "echo x > /etc/motto").code(),
        Some(0),
        "given files are not the node's to change"
    );
    let parameters =
        testbed.shell("a", "cat /proc/sys/net/ipv4/tcp_ecn /proc/sys/net/ipv4/ip_default_ttl").fine();
    assert_eq!(parameters, "1\n99\n");
    let answer = testbed.exec("c", &["ping", "-4", "-c", "1", "-W", "10", "a"]).fine();
    assert!(answer.contains("ttl=98"), "{answer}");
}

#[test]
fn routes_given_by_hand_are_all_there_is_without_routing() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nrouting: none\nnodes:\n\
            \x20 a: {interfaces: {eth0: {addresses: [10.1.0.1/24]}}, routes: [{to: 10.2.0.0/24, via: 10.1.0.9}]}\n\
            \x20 r: {kind: router, interfaces: {eth0: {addresses: [10.1.0.9/24]}, eth1: {addresses: [10.2.0.9/24]}}}\n\
            \x20 b: {interfaces: {eth0: {addresses: [10.2.0.1/24]}}, routes: [{to: default, via: 10.2.0.9}]}\n\
            \x20 c: {interfaces: {eth0: {addresses: [10.3.0.1/24]}}}\n\
            links: [{endpoints: ['a:eth0', 'r:eth0']}, {endpoints: ['r:eth1', 'b:eth0']}, {endpoints: [r, 'c:eth0']}]\n";
        let testbed = person.up(text);
        let said = testbed.exec("a", &["ping", "-c", "2", "-i", "0.1", "-W", "10", "b"]).fine();
        assert!(said.contains("ttl=63"), "{said}");
        assert_ne!(testbed.exec("a", &["ping", "-c", "1", "-W", "1", "10.3.0.1"]).code(), Some(0));
        let routes = testbed.exec("b", &["ip", "route"]).fine();
        assert!(routes.contains("default via 10.2.0.9"), "{routes}");
    });
}

/// A shell that cannot fork ends before it says anything.
const MANY: &str = "for i in $(seq 100); do sleep 1 & done; echo all";

/// What an administrator does for a user: a group in each hierarchy that is theirs, and their session in it. Gone with
/// the value, and so are groups of testbeds that a failed test left in it.
struct Delegated(Vec<PathBuf>);

impl Delegated {
    fn to(owner: u32) -> Option<Self> {
        let top = Path::new("/sys/fs/cgroup");
        let read = |name: &str| std::fs::read_to_string(top.join(name)).unwrap_or_default();
        let names: &[&str] = match read("cgroup.controllers").contains("memory") {
            // What the top does not hand on is not ours to hand on.
            true if !["memory", "pids"].iter().all(|name| read("cgroup.subtree_control").contains(name)) => {
                return None;
            }
            true => &[""],
            false => &["memory", "pids"],
        };
        let mut made = Self(Vec::new());
        for name in names {
            let group = top.join(name).join(format!("delegated-{}", std::process::id()));
            std::fs::create_dir(&group).ok()?;
            made.0.push(group.clone());
            if name.is_empty() {
                std::fs::write(group.join("cgroup.subtree_control"), "+memory +pids").ok()?;
            }
            std::fs::create_dir(group.join("session")).ok()?;
            for folder in [group.clone(), group.join("session")] {
                for file in ["", "cgroup.procs", "cgroup.subtree_control"] {
                    let _ = chown(folder.join(file), Some(owner), Some(owner));
                }
            }
        }
        Some(made)
    }

    /// The shell line that enters the session.
    fn enter(&self) -> String {
        let lines: Vec<String> = self
            .0
            .iter()
            .map(|group| format!("echo $$ > {}/session/cgroup.procs", group.display()))
            .collect();
        lines.join(" && ")
    }

    /// Groups of testbeds.
    fn groups(&self) -> Vec<PathBuf> {
        let entries =
            self.0.iter().flat_map(|group| std::fs::read_dir(group).into_iter().flatten().flatten());
        entries
            .map(|entry| entry.path())
            .filter(|path| path.display().to_string().contains("/plait-"))
            .collect()
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        for group in self.groups() {
            let nodes = std::fs::read_dir(&group).into_iter().flatten().flatten();
            nodes.for_each(|node| drop(std::fs::remove_dir(node.path())));
            let _ = std::fs::remove_dir(group);
        }
        for group in &self.0 {
            let _ = std::fs::remove_dir(group.join("session"));
            let _ = std::fs::remove_dir(group);
        }
    }
}

#[test]
fn what_a_machine_lacks_is_no_fault_of_the_file() {
    let text = "plait: 1\nname: elsewhere\nnodes:\n  a: {processors: [0, 4000]}\n  \
                b: {congestion_control: cubicc}\n  c: {sysctls: {net.ipv4.tcp_congestion_control: vegas9}}\n\
                links: [a-b, b-c]\n";
    as_root_and_as_user(|person| {
        let file = person.file("elsewhere.yaml", text);
        let file = file.to_str().unwrap();
        person.plait(&["validate", file]).fine();
        let planned = person.plait(&["plan", file]).fine();
        assert!(planned.contains("+ node b"), "{planned}");
        let lacks = [
            "elsewhere.yaml:4:19",
            "no processor 4000",
            "elsewhere.yaml:5:27",
            "`cubicc`",
            "elsewhere.yaml:6:17",
            "`vegas9`",
        ];
        person.plait(&["up", file]).fails_saying(3, &lacks);
        person.assert_nothing_runs();
    });
}

#[test]
fn a_user_to_whom_a_control_group_is_delegated_may_ask_for_limits() {
    let Some(user) = Person::user() else { return };
    let Some(delegated) = Delegated::to(std::fs::metadata(user.work()).unwrap().uid()) else {
        return common::skip("no control groups can be delegated here");
    };
    let text = "plait: 1\nname: delegated\nnodes:\n  a: {limits: {memory: 32MiB, processes: 40}}\n  b: host\nlinks: [a-b]\n";
    let file = user.file("delegated.yaml", text);
    user.plait_after(&delegated.enter(), &["up", file.to_str().unwrap()]).fine();
    assert!(!delegated.groups().is_empty());
    let exec = |node: &str| {
        let words = ["exec", "-t", "delegated", node, "--", "sh", "-c", MANY];
        user.plait_after(&delegated.enter(), &words).stdout
    };
    assert_eq!(exec("b").trim(), "all");
    assert_eq!(exec("a").trim(), "", "a fork is refused");
    user.plait_after(&delegated.enter(), &["down", "delegated"]).fine();
    assert!(delegated.groups().is_empty(), "{:?}", delegated.groups());
    user.assert_nothing_runs();
}

#[test]
fn a_node_that_asks_for_limits_gets_them() {
    let text = "plait: 1\nnodes:\n  a: {limits: {memory: 32MiB, processes: 40}}\n  b: host\nlinks: [a-b]\n";
    if let Some(user) = Person::user() {
        let file = user.file("limits.yaml", text);
        let ended = user.plait(&["up", file.to_str().unwrap()]);
        // A delegated subtree would do, but `nobody` has none.
        if ended.code() != Some(0) {
            assert!(ended.stderr.contains("limits"), "{ended:?}");
            assert!(user.testbeds().is_empty());
            user.assert_nothing_runs();
        }
    }
    let Some(root) = Person::root() else { return };
    let file = root.file("limits.yaml", text);
    let up = root.plait(&["up", file.to_str().unwrap(), "--name", "limited"]);
    if up.stderr.contains("this host has no") {
        return common::skip("no control groups for memory here");
    }
    up.fine();
    let exec =
        |node: &str, line: &str| root.plait(&["exec", "--testbed", "limited", node, "--", "sh", "-c", line]);
    // tail keeps what it reads until a line ends.
    let hungry = "head -c 300000000 /dev/zero | tail -n 1 | wc -c";
    assert_ne!(exec("a", hungry).stdout.trim(), "300000000", "the kernel ended it");
    assert_eq!(exec("b", hungry).stdout.trim(), "300000000", "the other node may");
    exec("a", "true").fine();
    assert_eq!(exec("b", MANY).stdout.trim(), "all");
    assert_eq!(exec("a", MANY).stdout.trim(), "", "a fork is refused");
    let groups = || -> Vec<std::path::PathBuf> {
        let pid = |name: &str| name.starts_with("plait-");
        ["", "memory", "pids"]
            .iter()
            .flat_map(|controller| {
                std::fs::read_dir(format!("/sys/fs/cgroup/{controller}")).into_iter().flatten()
            })
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(pid))
            .map(|entry| entry.path())
            .collect()
    };
    let supervisor = root.plait(&["inspect", "limited", "--json"]).json()["pid"].as_i64().unwrap();
    let own = |path: &std::path::PathBuf| path.to_string_lossy().contains(&format!("plait-{supervisor}-"));
    assert!(groups().iter().any(own), "the group carries the supervisor's process ID");
    root.plait(&["down", "limited"]).fine();
    assert!(!groups().iter().any(own), "and goes with it: {:?}", groups());
}
