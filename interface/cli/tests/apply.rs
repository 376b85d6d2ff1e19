//! A changed file changes only what differs.

mod common;

use common::{Person, Pinged, as_root_and_as_user, eventually, steps};
use rustix::process::Signal;
use serde_json::Value;

fn network(delay: &str) -> String {
    format!(
        "plait: 1\nnodes: {{a: host, r: router, b: host, c: host}}\n\
         links: [a-r, r-b, {{endpoints: [r, c], delay: {delay}}}]\n"
    )
}

#[test]
fn a_changed_delay_is_one_step_and_other_traffic_goes_on() {
    as_root_and_as_user(|person| {
        let testbed = person.up(&network("5ms"));
        testbed.exec("a", &["ping", "-c", "1", "-W", "20", "b"]).fine();
        let elsewhere = testbed.background("a", "exec ping -c 150 -i 0.01 -W 20 b");
        let through = testbed.background("a", "exec ping -c 150 -i 0.01 -W 20 c");
        person.file(testbed.file.file_name().unwrap().to_str().unwrap(), network("30ms"));
        let planned = ["plan", testbed.file.to_str().unwrap(), "--name", &testbed.name, "--json"];
        assert_eq!(
            steps(&person.plait(&planned).json()),
            ["condition r-c"],
            "a plan says it and does nothing"
        );
        assert_eq!(steps(&testbed.apply(&network("30ms")).json()), ["condition r-c"]);
        Pinged::read(&elsewhere.wait().fine()).whole();
        Pinged::read(&through.wait().fine()).whole();
        let said = testbed.exec("a", &["ping", "-c", "3", "-i", "0.1", "-W", "20", "c"]).fine();
        assert!(Pinged::read(&said).mean >= 60.0, "{said}");
        assert!(steps(&testbed.apply(&network("30ms")).json()).is_empty(), "the second time nothing differs");
    });
}

#[test]
fn nodes_and_links_come_and_go_and_the_others_keep_their_addresses() {
    as_root_and_as_user(|person| {
        let before = "plait: 1\nnodes: {a: host, r: router, b: host}\nlinks: [a-r, r-b]\n";
        let more = "plait: 1\nnodes: {z: host, a: host, r: router, q: router, b: host}\n\
                    links: [{endpoints: [z, q], rate: 10Mbit}, a-r, r-b, r-q]\nlans: {office: [z, b]}\n";
        let testbed = person.up(before);
        let watch = testbed.background("a", "ping -c 1 -W 20 b >/dev/null; exec ping -c 200 -i 0.01 -W 20 b");
        let known = addresses(&testbed.inspect());
        testbed.apply(more).fine();
        let now = addresses(&testbed.inspect());
        for address in &known {
            assert!(now.contains(address), "{address} in {now:?}");
        }
        testbed.exec("a", &["ping", "-c", "1", "-W", "20", "z"]).fine();
        testbed.exec("z", &["ping", "-c", "1", "-W", "20", "b"]).fine();
        testbed.shell("z", "grep -q ' a$' /etc/hosts").fine();
        assert!(steps(&testbed.apply(more).json()).is_empty());

        let gone = steps(&testbed.apply(before).json());
        assert!(gone.iter().any(|step| step == "remove_node z"), "{gone:?}");
        assert!(!gone.iter().any(|step| step.contains("a-r") || step.contains("r-b")), "{gone:?}");
        assert_eq!(addresses(&testbed.inspect()), known);
        testbed.exec("z", &["true"]).fails_saying(1, &["no node `z`"]);
        testbed.exec("b", &["ls", "/sys/class/net"]).fine();
        assert_eq!(testbed.exec("b", &["ls", "/sys/class/net"]).fine(), "eth0\nlo\n");
        Pinged::read(&watch.wait().fine()).whole();
    });
}

/// Every address of every interface: `a:eth0 10.0.0.1/24`.
fn addresses(report: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut found: Vec<String> = Vec::new();
    for node in report["nodes"].as_array().unwrap() {
        for interface in node["interfaces"].as_array().unwrap() {
            for address in interface[1].as_array().unwrap() {
                found.push(format!("{}:{} {}", text(&node["name"]), text(&interface[0]), text(address)));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_running_network_gets_ipv6() {
    let text = |on: &str| {
        format!(
            "plait: 1\ndefaults: {{ipv6: {on}}}\nnodes: {{a: host, r: router, b: {{sysctls: {{net.ipv6.conf.default.accept_dad: 1}}}}}}\nlinks: [a-r, r-b]\n"
        )
    };
    as_root_and_as_user(|person| {
        let testbed = person.up(&text("off"));
        testbed.exec("a", &["ping", "-c", "1", "-W", "20", "b"]).fine();
        testbed.shell("r", "echo kept > /tmp/note").fine();
        let done = steps(&testbed.apply(&text("on")).json());
        assert!(done.iter().all(|step| !step.contains("node ") && !step.contains("link ")), "{done:?}");
        testbed.exec("a", &["ping", "-6", "-c", "1", "-W", "20", "b"]).fine();
        testbed.exec("a", &["ping", "-4", "-c", "1", "-W", "20", "b"]).fine();
        let known = testbed.exec("a", &["ip", "-6", "-o", "address", "show", "dev", "eth0"]).fine();
        assert!(known.contains("inet6 fe80::"), "a link-local address, too: {known}");
        assert_eq!(testbed.shell("r", "cat /tmp/note").fine(), "kept\n");
        let own = testbed.exec("b", &["cat", "/proc/sys/net/ipv6/conf/default/accept_dad"]).fine();
        assert_eq!(own, "1\n", "what the file says of parameters stays");
    });
}

#[test]
fn files_parameters_addresses_and_routes_change_in_place() {
    let text = |motto: &str, ecn: u8, length: u8, more: &str| {
        format!(
            "plait: 1\nrouting: none\nnodes:\n\
             \x20 a:\n    interfaces: {{eth0: {{addresses: [10.1.0.1/{length}]}}}}\n\
             \x20   routes: [{{to: 10.2.0.0/24, via: 10.1.0.9}}{more}]\n\
             \x20   sysctls: {{net.ipv4.tcp_ecn: {ecn}}}\n\
             \x20   files: {{/etc/motto: {motto}, /run/motto: {motto}}}\n\
             \x20 r: {{kind: router, interfaces: {{eth0: {{addresses: [10.1.0.9/{length}]}}, eth1: {{addresses: [10.2.0.9/24]}}}}}}\n\
             \x20 b: {{interfaces: {{eth0: {{addresses: [10.2.0.1/24]}}}}, routes: [{{to: default, via: 10.2.0.9}}]}}\n\
             links: [{{endpoints: ['a:eth0', 'r:eth0']}}, {{endpoints: ['r:eth1', 'b:eth0']}}]\n"
        )
    };
    as_root_and_as_user(|person| {
        let testbed = person.up(&text("old", 1, 24, ""));
        testbed.shell("a", "echo kept > /tmp/note").fine();
        testbed.exec("a", &["ping", "-c", "1", "-W", "20", "10.2.0.1"]).fine();
        let done = steps(&testbed.apply(&text("new", 0, 24, ", {to: 10.9.0.0/24, via: 10.1.0.9}")).json());
        assert_eq!(done, ["sysctls a", "files a", "routes a"]);
        let seen =
            testbed.shell("a", "cat /etc/motto /run/motto /proc/sys/net/ipv4/tcp_ecn /tmp/note").fine();
        assert_eq!(seen, "newnew0\nkept\n");
        assert!(testbed.exec("a", &["ip", "route"]).fine().contains("10.9.0.0/24 via 10.1.0.9"));

        // The first of two addresses is exchanged, and the second with it: the first is what packets leave with.
        let two = text("new", 0, 24, "").replace("[10.1.0.1/24]", "[10.1.0.1/24, 10.1.0.2/24]");
        testbed.apply(&two).fine();
        testbed.apply(&two.replace("10.1.0.1/24", "10.1.0.3/24")).fine();
        let addresses = testbed.exec("a", &["ip", "-4", "-o", "address", "show", "eth0"]).fine();
        assert!(addresses.contains("10.1.0.3/24") && addresses.contains("10.1.0.2/24"), "{addresses}");
        assert!(!addresses.contains("10.1.0.1/24"), "{addresses}");

        // The only address of an interface is exchanged, and the kernel forgets its routes meanwhile.
        testbed.apply(&text("new", 0, 25, ", {to: 10.9.0.0/24, via: 10.1.0.9}")).fine();
        assert!(testbed.exec("a", &["ip", "address"]).fine().contains("10.1.0.1/25"));
        let routes = testbed.exec("a", &["ip", "route"]).fine();
        assert!(routes.contains("10.2.0.0/24 via 10.1.0.9"), "routes outlive a change of address: {routes}");
        testbed.exec("a", &["ping", "-c", "1", "-W", "20", "10.2.0.1"]).fine();
    });
}

#[test]
fn a_running_nodes_files_come_and_go() {
    let text =
        |files: &str| format!("plait: 1\nnodes:\n  a:\n    files: {{{files}}}\n  b: host\nlinks: [a-b]\n");
    as_root_and_as_user(|person| {
        let home = person.home();
        let release = std::fs::read_to_string("/etc/debian_version").unwrap();
        let own = home.join(".plait-test/deep/note");
        let testbed =
            person.up(&text("/etc/debian_version: mine, /etc/plait.d/new: '1', /bin/plait-test: x"));
        let see = |path: &str| testbed.shell("a", &format!("cat {path} 2>&1 || true")).fine();
        assert_eq!(see("/etc/debian_version"), "mine");
        testbed.exec("a", &["test", "-e", "/usr/bin/plait-test"]).fine();
        testbed.shell("a", "! touch /etc/nothing 2>/dev/null").fine();
        testbed.shell("a", "! echo 10.0.0.1 everybody >> /etc/hosts").fine();
        // The host's own is seen again, new ones come, and what was the node's alone is gone.
        let changed = format!("/etc/plait.d/other: '2', /var/plait.d/new: '3', {}: '4'", own.display());
        testbed.apply(&text(&changed)).fine();
        assert_eq!(see("/etc/debian_version"), release);
        assert!(see("/etc/plait.d/new").contains("No such file"));
        assert!(see("/bin/plait-test").contains("No such file"));
        assert_eq!(see(&format!("/etc/plait.d/other /var/plait.d/new {}", own.display())), "234");
        testbed.shell("a", "echo more > ~/.plait-test/more").fine();
        testbed.shell("a", "! touch /etc/nothing 2>/dev/null").fine();
        testbed.shell("b", "! test -e /etc/plait.d && ! test -e ~/.plait-test").fine();
        assert!(!own.exists());
        // What only a new node can have is refused with nothing changed.
        for (path, said) in [("/opt/x", "a: /opt/x"), ("/etc/hosts", "a: /etc/hosts")] {
            let file = person.file("fixed.yaml", text(&format!("/etc/plait.d/other: '5', {path}: '6'")));
            let refused = person.plait(&["apply", file.to_str().unwrap(), "--name", &testbed.name]);
            refused.fails_saying(1, &[said, "down and up again"]);
            assert_eq!(see("/etc/plait.d/other"), "2");
        }
        let file =
            person.file("nowhere.yaml", text("/no-such-folder/x: '1', /etc/passwd/x: '2', /sys/x: '3'"));
        let refused = person.plait(&["up", file.to_str().unwrap(), "--name", "nowhere"]);
        refused.fails_saying(
            3,
            &["nowhere.yaml:4:13", "no folder /no-such-folder", "passwd is a file", "kernel's"],
        );
    });
}

#[test]
fn a_command_that_hangs_holds_up_nobody_else() {
    let text = |b: &str| {
        format!("plait: 1\nnodes:\n  a: host\n  b: {b}\nlinks: [{{endpoints: [a, b], dynamic: true}}]\n")
    };
    as_root_and_as_user(|person| {
        let testbed = person.up(&text("host"));
        let hangs = text("{commands: ['echo $$ > /tmp/hangs; exec sleep 600']}");
        let file = person.file("hangs.yaml", &hangs);
        let applying = person.start(&["apply", file.to_str().unwrap(), "--name", &testbed.name]);
        assert!(eventually(|| testbed.shell("b", "test -s /tmp/hangs").code() == Some(0)));
        assert!(person.testbeds().iter().any(|one| one["name"] == testbed.name.as_str()));
        testbed.exec("a", &["ping", "-c", "1", "-W", "20", "b"]).fine();
        testbed.link("set", &["a-b", "delay=1ms"]).fine();
        testbed.inspect();
        // Who asked for it goes, and the command with it; the next one is not run, and the file can be applied again.
        applying.signal(Signal::INT);
        applying.wait();
        assert!(eventually(|| testbed.shell("b", "kill -0 $(cat /tmp/hangs) 2>/dev/null").code() != Some(0)));
        let done = steps(&testbed.apply(&text("{commands: ['test -s /tmp/hangs']}")).json());
        assert!(done.iter().any(|step| step == "commands b"), "{done:?}");
        testbed.down();
    });
}

#[test]
fn a_step_that_fails_says_what_is_left_and_the_next_apply_goes_on() {
    as_root_and_as_user(|person| {
        let before = "plait: 1\nnodes: {a: host, r: router}\nlinks: [a-r]\n";
        let after = "plait: 1\nnodes:\n  a: host\n  r: router\n\
                     \x20 b: {commands: ['echo first >> /run/node/said', 'echo no such luck >&2; test -e /tmp/go']}\n\
                     \x20 c: {commands: ['echo third >> /run/node/said']}\n\
                     links: [a-r, r-b, r-c]\n";
        let testbed = person.up(before);
        let watch = testbed.background("a", "exec ping -c 200 -i 0.01 -W 20 r");
        testbed.apply(after);
        let failed = person.plait(&["apply", testbed.file.to_str().unwrap(), "--name", &testbed.name]);
        failed.fails_saying(1, &["steps were done", "run on b", "no such luck", "apply again"]);
        // What was done stands.
        testbed.exec("a", &["ping", "-c", "1", "-W", "20", "c"]).fine();
        testbed.shell("b", "touch /tmp/go").fine();
        let rest = steps(&testbed.apply(after).json());
        assert_eq!(rest, ["commands b", "commands c"], "only what was not done is done");
        assert_eq!(testbed.exec("c", &["cat", "/run/node/said"]).fine(), "third\n");
        assert!(steps(&testbed.apply(after).json()).is_empty());
        Pinged::read(&watch.wait().fine()).whole();
    });
}

#[test]
fn a_faulty_file_changes_nothing() {
    let Some(person) = Person::user() else { return };
    let testbed = person.up(&network("5ms"));
    let before = testbed.inspect();
    let faulty = testbed.apply(&network("5"));
    assert_eq!(faulty.code(), Some(3), "{faulty:?}");
    let links = |report: &Value| report["links"].clone();
    assert_eq!(links(&testbed.inspect()), links(&before));
    assert_eq!(addresses(&testbed.inspect()), addresses(&before));
    person.plait(&["apply", testbed.file.to_str().unwrap(), "--name", "nobody"]).fails(3);
    person.file("fine.yaml", network("6ms"));
    person.plait(&["apply", "fine.yaml", "--name", "nobody"]).fails_saying(1, &["no testbed `nobody`"]);
}

#[test]
fn a_live_testbed_stays_live() {
    let Some(person) = Person::user() else { return };
    let testbed = person.up_with(&network("5ms"), &["--live"]);
    testbed.exec("a", &["ping", "-c", "1", "-W", "20", "b"]).fine();
    assert!(steps(&testbed.apply(&network("5ms")).json()).is_empty(), "the same file again changes nothing");
    assert_eq!(steps(&testbed.apply(&network("6ms")).json()), ["condition r-c"]);
    testbed.link("set", &["a-r", "delay=5ms"]).fine();
    assert_eq!(
        steps(&testbed.apply(&network("6ms")).json()),
        ["condition a-r"],
        "the file's word is the last"
    );
}

#[test]
fn what_only_a_new_testbed_can_have_is_refused_before_anything_changes() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nnodes: {a: host, r: router}\nlinks: [a-r]\n";
        let testbed = person.up(text);
        let state = || testbed.inspect()["links"].clone();
        let apply = |text: &str| {
            let file = person.file("other.yaml", text);
            person.plait(&["apply", file.to_str().unwrap(), "--name", &testbed.name])
        };
        let before = state();
        let uplink = text.replace("a: host", "a: {kind: host, uplink: true}").replace("[a-r]", "[]");
        apply(&uplink).fails_saying(1, &["first uplink", "down and up again"]);
        if !person.is_root() {
            let daemons = text.replace("plait: 1", "plait: 1\nrouting: frr");
            apply(&daemons).fails_saying(1, &["first routing daemons", "down and up again"]);
        }
        assert_eq!(state(), before);
    });
}
