//! Links keep their word, and change it while traffic flows.

mod common;

use common::{
    Person, Pinged, Running, Testbed, as_root_and_as_user, converse, eventually, in_tries, installed,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// A round trip may be early by this much, in milliseconds: the engine aims at the middle of what packets saw when it was
/// calibrated, which on a crowded machine is far from the best.
const SLACK: f64 = 2.0;

/// How often a measurement is made before it is believed to be wrong.
const TRIES: usize = 8;

/// One router with a host on each kind of link.
const KINDS: &str = "plait: 1\nseed: 3\n\
    nodes: {hub: router, kernel: host, engine: host, ready: host, plain: host, late: host}\n\
    links:\n\
    - {endpoints: [hub, kernel], rate: 10Mbit}\n\
    - {endpoints: [hub, engine], rate: 8Mbit, delay: 20ms, reverse: {delay: 5ms}}\n\
    - {endpoints: [hub, ready], dynamic: true}\n\
    - {endpoints: [hub, plain]}\n\
    - {endpoints: [hub, late], delay: 10ms}\n";

#[test]
fn a_measured_link_is_what_was_asked() {
    as_root_and_as_user(|person| {
        let testbed = person.up(KINDS);
        rates_are_close(&testbed, "hub-kernel");
        in_tries(TRIES, || {
            let engine = testbed.check("hub-engine");
            for (direction, asked) in [(0, 20e6), (1, 5e6)] {
                close(&measured(&engine, direction, "rate"), 0.10);
                let delay = measured(&engine, direction, "delay");
                let (wanted, got) = (delay["asked"].as_f64().unwrap(), delay["p50"].as_f64().unwrap());
                // A short frame takes its own time to send, so a little more than the delay is asked.
                assert!(wanted >= asked, "{delay}");
                assert!(got >= asked - SLACK * 1e6 && got < wanted + 5e6, "{delay}");
            }
        });
        // By its other name the same link.
        let turned = testbed.check("engine-hub");
        assert_eq!(turned["link"], "hub-engine");
        let all = person.plait(&["link", "show", "--testbed", &testbed.name]).fine();
        for line in ["kernel", "engine [packet, packet]", "veth"] {
            assert!(all.contains(line), "{all}");
        }
        testbed.link("check", &["hub-nowhere"]).fails_saying(1, &["no link `hub-nowhere`"]);
    });
}

fn measured(check: &Value, direction: usize, quantity: &str) -> Value {
    let all = check["directions"][direction]["measured"].as_array();
    all.and_then(|all| all.iter().find(|measured| measured["quantity"] == quantity).cloned())
        .unwrap_or_else(|| panic!("{check:#}"))
}

/// Both directions of a link have the rates they were asked to have.
#[track_caller]
fn rates_are_close(testbed: &Testbed<'_>, link: &str) {
    in_tries(TRIES, || {
        let checked = testbed.check(link);
        (0..2).for_each(|direction| close(&measured(&checked, direction, "rate"), 0.10));
    });
}

/// What was measured misses what was asked by at most this share.
fn close(measured: &Value, share: f64) {
    let (asked, got) = (measured["asked"].as_f64().unwrap(), measured["got"].as_f64().unwrap());
    assert!((got / asked - 1.0).abs() < share, "{measured}");
}

#[test]
fn the_same_seed_loses_the_same_packets() {
    let text = |seed: u64| {
        format!(
            "plait: 1\nseed: {seed}\nnodes: [a, b]\nlinks: [{{endpoints: [a, b], loss: 20%, reverse: {{loss: 0}}}}]\n"
        )
    };
    let people: Vec<Person> = [Person::root(), Person::user()].into_iter().flatten().collect();
    let Some(first) = people.first() else { return };
    let second = people.last().unwrap();
    let one = lost(&first.up(&text(5)), 300);
    assert!((30..=90).contains(&one.len()), "a fifth of 300, within five deviations: {}", one.len());
    // Even where another user, whose engine is of another class, builds it.
    assert_eq!(one, lost(&second.up(&text(5)), 300));
    assert_ne!(one, lost(&second.up(&text(6)), 300));
    let list = "plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], loss: {packets: [2, 7, 8]}, reverse: {loss: 0}}]\n";
    assert_eq!(lost(&second.up(list), 20), BTreeSet::from([2, 7, 8]));
}

/// Which of so many numbered packets from a to b were lost.
fn lost(testbed: &Testbed<'_>, count: u32) -> BTreeSet<u32> {
    // Nobody asks who has an address, so that the numbered packets are all there are.
    for (node, other) in [("a", "b"), ("b", "a")] {
        let address = testbed.exec(other, &["cat", "/sys/class/net/eth0/address"]).fine();
        let ip =
            testbed.shell(node, &format!("getent ahostsv4 {other} | head -n 1 | cut -d ' ' -f 1")).fine();
        let (address, ip) = (address.trim(), ip.trim());
        testbed.exec(node, &["ip", "neigh", "replace", ip, "lladdr", address, "dev", "eth0"]).fine();
    }
    let count_text = count.to_string();
    let said = testbed.exec("a", &["ping", "-n", "-c", &count_text, "-i", "0.002", "-W", "5", "b"]);
    let answered = Pinged::read(&said.stdout).answered;
    (1..=count).filter(|number| !answered.contains(number)).collect()
}

/// Pings a node from another until told to stop; what it says is the truth about what was lost meanwhile.
struct Pinging<'a> {
    testbed: &'a Testbed<'a>,
    running: Running,
}

impl<'a> Pinging<'a> {
    fn start(testbed: &'a Testbed<'a>, from: &str, to: &str) -> Self {
        // The first answer is waited for, so that the way is known when the watch begins.
        testbed.exec(from, &["ping", "-c", "1", "-W", "20", to]).fine();
        let line = format!("exec ping -i 0.01 -W 10 {to}");
        Self { testbed, running: testbed.background(from, &line) }
    }

    /// Stops after the last answer had time to come.
    fn stop(self, from: &str) -> Pinged {
        // SIGINT makes ping say its summary; an answer still on its way would count as lost.
        let held = "pid=$(pgrep -x ping) && kill -INT $pid";
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert!(eventually(|| self.testbed.shell(from, held).code() == Some(0)));
        Pinged::read(&self.running.wait().stdout)
    }
}

impl Pinged {
    /// At most the very last packets, which were still on their way when the watch ended, have no answer.
    #[track_caller]
    fn lost_none(&self) {
        let last = *self.answered.iter().max().expect("some answer");
        let missed: Vec<u32> = (1..=last).filter(|number| !self.answered.contains(number)).collect();
        assert!(missed.is_empty() && self.sent - last <= 20, "lost {missed:?} of {}, last {last}", self.sent);
    }
}

#[test]
fn conditions_change_under_traffic_and_nothing_is_lost() {
    as_root_and_as_user(|person| {
        let testbed = person.up(KINDS);
        under_tcp(&testbed);
        // From the redirect filter in the kernel to the engine, and on.
        let watch = Pinging::start(&testbed, "ready", "plain");
        for settings in ["delay=15ms", "delay=30ms", "delay=none"] {
            std::thread::sleep(std::time::Duration::from_millis(300));
            testbed.link("set", &["hub-ready", settings]).fine();
            if settings == "delay=30ms" {
                assert!(round_trip(&testbed, "ready", "plain") >= 60.0 - SLACK);
            }
        }
        watch.stop("ready").lost_none();

        let one_way = testbed.link("set", &["hub-ready", "--direction", "reverse", "delay=40ms"]).fine();
        assert!(one_way.contains("hub-ready") && one_way.contains("40ms"), "{one_way}");
        in_tries(TRIES, || {
            let slow = round_trip(&testbed, "ready", "plain");
            assert!((40.0 - SLACK..70.0).contains(&slow), "one way is slow, the other is not: {slow}");
        });
        testbed
            .link("set", &["hub-plain", "delay=1ms"])
            .fails_saying(1, &["hub-plain is a bare veth pair", "dynamic: true", "up --live"]);
        testbed
            .link("set", &["hub-kernel", "delay=1ms"])
            .fails_saying(1, &["shaped by the kernel", "dynamic: true"]);
        testbed.link("set", &["hub-ready", "delay=soon"]).fails_saying(2, &["soon"]);
        testbed.link("set", &["hub-ready", "dealy=1ms"]).fails_saying(2, &["dealy", "delay"]);
    });
}

/// Mean round trip in milliseconds.
fn round_trip(testbed: &Testbed<'_>, from: &str, to: &str) -> f64 {
    let said = testbed.exec(from, &["ping", "-c", "5", "-i", "0.05", "-W", "20", to]).fine();
    Pinged::read(&said).whole().mean
}

fn under_tcp(testbed: &Testbed<'_>) {
    if !installed("iperf3") {
        return;
    }
    let before = round_trip(testbed, "plain", "late");
    assert!(before >= 20.0 - SLACK, "{before}");
    let _server = testbed.background("late", "exec iperf3 -s -1");
    let listens = || testbed.shell("late", "grep -q ':1451 ' /proc/net/tcp /proc/net/tcp6").code() == Some(0);
    assert!(eventually(listens), "iperf3 listens on 5201");
    let flow = testbed.background("plain", "exec iperf3 -c late -t 3 -b 20M -J");
    let watch = Pinging::start(testbed, "plain", "late");
    for settings in [&["delay=40ms"][..], &["delay=5ms"], &["delay=25ms", "jitter=1ms"]] {
        std::thread::sleep(std::time::Duration::from_millis(500));
        testbed.link("set", &[&["hub-late"], settings].concat()).fine();
    }
    let report: Value = serde_json::from_str(&flow.wait().fine()).unwrap();
    assert!(report["end"]["sum_received"]["bytes"].as_f64().unwrap() > 1e5, "{report:#}");
    watch.stop("plain").lost_none();
    assert!(round_trip(testbed, "plain", "late") >= 45.0 - SLACK, "the round trip follows");
    let metrics = testbed.person.plait(&["inspect", &testbed.name, "--metrics"]).fine();
    for family in ["plait_link_packets_lost_total", "plait_link_packets_dropped_total"] {
        for line in metrics.lines().filter(|line| line.starts_with(family) && line.contains("hub-late")) {
            assert!(line.ends_with(" 0"), "{line}");
        }
    }
}

#[test]
fn a_link_that_fails_lets_nothing_through_until_it_recovers() {
    as_root_and_as_user(|person| {
        let testbed = person.up(KINDS);
        let ping = |wait, node: &str| testbed.exec(node, &["ping", "-c", "1", "-W", wait, "late"]).code();
        // The first packet comes through, however late a machine at work has it come.
        let passes = |node| ping("20", node) == Some(0);
        let is_cut = |node| ping("1", node) != Some(0);
        // Held by the engine, joined by the kernel's filter, and a bare pair of devices.
        for node in ["engine", "ready", "plain", "kernel"] {
            let link = format!("hub-{node}");
            assert!(passes(node), "{node}");
            testbed.link("fail", &[&link]).fine();
            assert!(is_cut(node), "{link} is cut");
            assert!(
                testbed.person.plait(&["link", "show", "--testbed", &testbed.name]).fine().contains("(cut)")
            );
            testbed.link("fail", &[&link]).fine();
            testbed.link("recover", &[&link]).fine();
            // Every other host is behind the router: without its routes the node would reach nobody.
            assert!(eventually(|| !is_cut(node)), "{link} is whole again");
            testbed.link("heal", &[&link]).fine();
            assert!(passes(node), "a link may recover twice");
        }
        // A cut link may change, and stays cut until it recovers.
        testbed.link("cut", &["hub-ready"]).fine();
        testbed.link("set", &["hub-ready", "delay=5ms"]).fine();
        assert!(is_cut("ready"), "a change does not heal");
        testbed.link("recover", &["hub-ready"]).fine();
        assert!(eventually(|| !is_cut("ready")));
        assert!(round_trip(&testbed, "ready", "plain") >= 10.0 - SLACK);
    });
}

#[test]
fn a_live_testbed_lets_every_link_change() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nnodes: {a: host, r: router, b: host}\nlinks: [a-r, r-b]\n";
        let testbed = person.up_with(text, &["--live"]);
        let watch = Pinging::start(&testbed, "a", "b");
        std::thread::sleep(std::time::Duration::from_millis(300));
        testbed.link("set", &["a-r", "delay=20ms"]).fine();
        std::thread::sleep(std::time::Duration::from_millis(300));
        testbed.link("set", &["r-b", "delay=20ms", "rate=10Mbit"]).fine();
        watch.stop("a").lost_none();
        assert!(round_trip(&testbed, "a", "b") >= 80.0 - SLACK);
        rates_are_close(&testbed, "r-b");
        // The log says it, with the testbed and the link as fields.
        let log = person.plait(&["inspect", &testbed.name, "--log"]).fine();
        let changed = log.lines().find(|line| line.contains("conditions changed")).unwrap();
        let fields: Value = serde_json::from_str(changed).unwrap();
        assert_eq!(
            (&fields["testbed"], &fields["link"]),
            (&testbed.name.as_str().into(), &"a-r".into()),
            "{log}"
        );
    });
}

#[test]
fn links_and_nodes_fail_and_recover_apart_from_each_other() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nnodes: {a: host, r: router, b: host, c: host}\nlinks:\n\
                    - a-r\n- {endpoints: [r, b], dynamic: true}\n- {endpoints: [r, c], delay: 1ms}\n";
        let testbed = person.up(text);
        let ask = |request: &str| {
            let line = format!("{{\"plait\": 1, \"request\": {request}}}\n");
            converse(&person.socket(&testbed.name), line.as_bytes()).unwrap()
        };
        let ping = |wait, to: &str| testbed.exec("a", &["ping", "-c", "1", "-W", wait, to]).code();
        let reaches = |to| ping("20", to) == Some(0);
        let misses = |to| ping("1", to) != Some(0);
        let down = |link: usize| testbed.inspect()["links"][link]["down"].to_string();
        assert!(reaches("b") && reaches("c"));
        testbed.link("fail", &["r-b"]).fine();
        for _ in 0..2 {
            assert!(ask(r#"{"fail_node": {"node": "r"}}"#).contains("done"));
            assert!(misses("c") && misses("b"));
        }
        assert!(ask(r#"{"recover_node": {"node": "r"}}"#).contains("done"));
        assert!(reaches("c") && misses("b"), "the link that failed itself stays down");
        testbed.link("recover", &["r-b"]).fine();
        assert!(reaches("b"));
        // One way alone: of a link that the engine has, of one that it takes over for it, and of none other.
        for link in ["r-c", "r-b"] {
            let fail = format!(r#"{{"fail": {{"link": "{link}", "direction": 1}}}}"#);
            assert!(ask(&fail).contains("done"));
            assert!(misses(&link[2..]));
            assert_eq!(down(if link == "r-b" { 1 } else { 2 }), "[false,true]");
            testbed.link("recover", &[link]).fine();
            assert!(reaches(&link[2..]));
        }
        let refused = ask(r#"{"fail": {"link": "a-r", "direction": 0}}"#);
        assert!(refused.contains("dynamic: true") && down(0) == "[false,false]", "{refused}");
        assert!(ask(r#"{"fail_node": {"node": "rr"}}"#).contains("there is no node `rr`"));
        testbed.down();
    });
}

#[test]
fn a_link_that_follows_a_trace_changes_too() {
    let Some(person) = Person::root() else { return };
    person.file("slow.trace", "0s 2Mbit\n1s 2Mbit\n");
    let fast = person.file("fast.trace", "0s 8Mbit\n1s 8Mbit\n");
    let text = "plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], rate_trace: slow.trace, delay: 5ms}]\n";
    let testbed = person.up(text);
    let rates = || testbed.inspect()["links"][0]["conditions"].to_string();
    // Its trace stays where another quantity changes, and the file need not be there any more.
    std::fs::remove_file(person.work().join("slow.trace")).unwrap();
    testbed.link("set", &["a-b", "delay=9ms"]).fine();
    assert!(rates().contains("9ms") && rates().contains("trace"), "{}", rates());
    testbed.link("set", &["a-b", &format!("rate_trace={}", fast.display())]).fine();
    let sent = testbed.shell("a", "ping -q -c 2 -i 0.2 b").fine();
    assert!(sent.contains(" 0% packet loss"), "{sent}");
    // The same name again is read again.
    let shown = || testbed.inspect()["links"][0].to_string();
    std::fs::write(&fast, "0s 3Mbit\n1s 3Mbit\n").unwrap();
    let before = shown();
    testbed.link("set", &["a-b", &format!("rate_trace={}", fast.display())]).fine();
    assert_ne!(shown(), before);
    testbed.link("set", &["a-b", "rate_trace=gone.trace"]).fails_saying(3, &["gone.trace"]);
    testbed.link("set", &["a-b", "rate=5Mbit"]).fine();
    rates_are_close(&testbed, "a-b");
}

#[test]
fn a_link_into_a_switch_is_measured_too() {
    as_root_and_as_user(|person| {
        let testbed = person.up("plait: 1\nnodes: {a: host, s: switch, b: host}\n\
             links: [{endpoints: [a, s], rate: 8Mbit, delay: 10ms}, {endpoints: [s, b], rate: 10Mbit}]\n");
        for link in ["a-s", "s-b"] {
            rates_are_close(&testbed, link);
        }
        // The kernel's bucket has a burst, and says which: three full frames up to 10 Mbit/s.
        assert_eq!(testbed.check("s-b")["directions"][0]["burst"], "4542B");
        assert!(testbed.check("a-s")["directions"][0]["burst"].is_null());
    });
}

#[test]
fn a_kernel_without_netem_is_found_out_before_anything_is_built() {
    let Some(person) = Person::root() else { return };
    let text = "plait: 1\nname: emulated\nnodes: [a, b]\nlinks:\n\
                - {endpoints: [a, b], delay: 10ms, rate: 10Mbit, via: kernel}\n";
    let file = person.file("emulated.yaml", text);
    let planned = person.plait(&["plan", file.to_str().unwrap()]).fine();
    assert!(planned.contains("+ node aux:a-b"), "{planned}");
    let built = person.plait(&["up", file.to_str().unwrap()]);
    let doctor = person.plait(&["doctor"]).fine();
    let netem = doctor.lines().find(|line| line.contains("netem")).unwrap();
    if netem.starts_with("yes") {
        built.fine();
        person.plait(&["link", "check", "-t", "emulated", "a-b/a:eth0"]).fine();
        person.plait(&["down", "emulated"]).fine();
    } else {
        built.fails_saying(3, &["emulated.yaml:5:", "netem", "remove `via: kernel`"]);
    }
    person.assert_nothing_runs();
}

#[test]
fn a_tap_carries_a_link_too() {
    let text = "plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], via: tap, delay: 10ms}]\n";
    as_root_and_as_user(|person| {
        let open = "exec 3<>/dev/net/tun";
        if !person
            .command("bash")
            .args(["-c", open])
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap()
            .success()
        {
            // Then the file is refused, with the reason and the remedy.
            let file = person.file("tap.yaml", text);
            let words = ["up", file.to_str().unwrap()];
            return person.plait(&words).fails_saying(1, &["/dev/net/tun", "via: engine"]);
        }
        let testbed = person.up(text);
        let slow = round_trip(&testbed, "a", "b");
        assert!(slow >= 20.0 - SLACK, "{slow}");
        testbed.link("set", &["a-b", "delay=none"]).fine();
        assert!(round_trip(&testbed, "a", "b") < slow);
        testbed.link("fail", &["a-b"]).fine();
        assert_ne!(testbed.exec("a", &["ping", "-c", "1", "-W", "1", "b"]).code(), Some(0));
        testbed.link("recover", &["a-b"]).fine();
        testbed.exec("a", &["ping", "-c", "1", "-W", "10", "b"]).fine();
        testbed.down();
        person.assert_nothing_runs();
    });
}

#[test]
fn links_carry_their_largest_frames_however_slow_and_their_least() {
    let text = "plait: 1\nnodes: [a, b, c, d, e]\nlinks:\n\
        - {endpoints: [a, b], mtu: 9000B, rate: 1Mbit, delay: 1ms}\n\
        - {endpoints: [a, c], mtu: 9000B, rate: 10Mbit}\n\
        - {endpoints: [a, d], mtu: 576B}\n\
        - {endpoints: [a, e], mtu: 576B, delay: 1ms}\n";
    as_root_and_as_user(|person| {
        let testbed = person.up(text);
        for (node, size) in [("b", "8900"), ("c", "8900"), ("d", "548"), ("e", "548")] {
            let ping = ["ping", "-c", "2", "-i", "0.3", "-W", "5", "-M", "do", "-s", size, node];
            Pinged::read(&testbed.exec("a", &ping).fine()).whole();
        }
        testbed.down();
    });
}

#[test]
fn losses_in_bursts_and_damaged_probes_are_measured_for_what_they_are() {
    let Some(person) = Person::root() else { return };
    let text = "plait: 1\nseed: 2\nnodes: [a, b, c]\nlinks:\n\
        - {endpoints: [a, b], loss: {gilbert_elliott: {p: 1%, r: 10%}}}\n\
        - {endpoints: [a, c], delay: 10ms, corrupt: 20%, duplicate: 20%}\n";
    let testbed = person.up(text);
    for direction in [0, 1] {
        // How late frames of a link without delay are, is the machine's matter.
        in_tries(TRIES, || {
            let bursts = testbed.check("a-b");
            assert_eq!(measured(&bursts, direction, "loss")["within"], true, "{bursts:#}");
        });
        in_tries(TRIES, || {
            let damage = testbed.check("a-c");
            assert_eq!(damage["directions"][direction]["within"], true, "{damage:#}");
        });
    }
    testbed.down();
}

#[test]
fn delay_that_varies_is_measured_against_its_distribution() {
    let Some(person) = Person::root() else { return };
    person.file("delays.txt", "0\n4ms\n12ms\n");
    let text = "plait: 1\nnodes: [a, b]\nlinks:\n\
        - {name: uniform, endpoints: [a, b], delay: 10ms, jitter: 3ms}\n\
        - {name: normal, endpoints: [a, b], delay: 10ms, jitter: {spread: 2ms, distribution: normal, overtake: true}}\n\
        - {name: pareto, endpoints: [a, b], delay: 10ms, jitter: {spread: 2ms, distribution: pareto, overtake: true}}\n\
        - {name: traced, endpoints: [a, b], delay: 5ms, jitter: {distribution: {trace: delays.txt}}}\n\
        - {name: skipping, endpoints: [a, b], delay: 10ms, reorder: 20%, rate: 20Mbit}\n\
        - {name: plain, endpoints: [a, b]}\n";
    let deviations =
        [("uniform", 1.732e6), ("normal", 2e6), ("pareto", 2e6), ("traced", 4.989e6), ("skipping", 4e6)];
    let testbed = person.up(text);
    for (link, deviation) in deviations {
        in_tries(TRIES, || {
            let checked = testbed.check(link);
            for direction in [0, 1] {
                assert_eq!(checked["directions"][direction]["within"], true, "{checked:#}");
                let jitter = measured(&checked, direction, "jitter");
                assert!((jitter["asked"].as_f64().unwrap() / deviation - 1.0).abs() < 0.001, "{jitter}");
                assert!(jitter["samples"].as_u64().unwrap() >= 100, "{jitter}");
                close(&measured(&checked, direction, "delay"), 0.2);
            }
        });
    }
    // Of a link that only is there, there is nothing to say.
    let checked = testbed.check("plain");
    assert_eq!(checked["directions"][0]["measured"], serde_json::json!([]));
    assert!(checked["directions"][0]["within"].is_null(), "{checked:#}");
    let said = testbed.link("check", &["plain"]).fine();
    assert!(said.contains("nothing to measure"), "{said}");
    testbed.down();
}
