//! What methods write is what a file says, and comes back from it the same.

use plait::experiment::section::Script;
use plait::runtime::plan::State;
use plait::{Bandwidth, ByteCount, Checked, Network, Probability, Range, TimeSpan, Wishes};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn meaning(network: &Network) -> (State, Script) {
    let checked: Checked = network.check().unwrap_or_else(|error| panic!("{error}\n{}", network.to_yaml()));
    (checked.desired(&Wishes::default(), None).unwrap(), checked.script().unwrap())
}

/// The same network by way of its text.
fn reread(network: &Network) -> Network {
    Network::parse("again.yaml", &network.to_yaml())
}

#[track_caller]
fn assert_same(one: &Network, other: &Network) {
    let (one, other) = (meaning(one), meaning(other));
    assert_eq!(one.0, other.0);
    assert_eq!(one.1, other.1);
}

#[test]
fn what_methods_write_is_what_the_file_says() {
    let text = "\
plait: 1
name: lab
seed: 7
defaults: {link: {mtu: 1400B}, ipv6: on}
routing: {protocol: frr, daemons: [ospf], hello: 1s, dead: 4s}
groups: {slow: {limits: {memory: 64MiB}}}
nodes:
  a:
    kind: host
    sysctls: {net.ipv4.tcp_ecn: 1}
    files: {/etc/motto: \"on\\n\"}
    commands: ['echo $HOME: a, b']
  r: router
  s: switch
  b: {kind: host, groups: [slow], interfaces: {eth0: {addresses: [192.168.7.2/24]}}}
  c: {kind: host, routes: [{to: 10.9.0.0/16, via: 192.168.8.1}], processors: [0]}
links:
  - a-r
  - {endpoints: [r, s], rate: 10Mbit, delay: 20ms, loss: 1%, queue: 64KiB, reverse: {delay: 30ms}, cost: 5}
  - {endpoints: ['s:eth7', 'b:eth0'], name: access, dynamic: true}
lans:
  office: {members: [b, c], prefix: 192.168.8.0/24}
duration: 30s
warmup: 2s
collect: {tcp: 50ms, files: [{node: [a, b], path: /var/log}], capture: ['a:eth0'], ping: [{from: a, to: b}], control: true}
metrics:
  answer: {ping: a to b, take: p99}
  rtt: {tcp: srtt_ms, on: a, take: p95}
assert: ['rtt < 100ms']
report: {title: 'A title', question: 'Why?'}
run:
  - {at: 0s, on: [b, c], exec: 'iperf3 -s', background: true, name: server}
  - {until: 'port 5201 open on b', timeout: 10s}
  - {until: routes stable}
  - {at: 5s, link: access, set: {delay: 50ms}, direction: forward}
  - {at: 6s, link: access, fail: true}
  - {at: 7s, node: r, recover: true}
";
    let methods = Network::new("lab")
        .seed(7)
        .every_link(|link| link.mtu(ByteCount::new(1400)))
        .ipv6("on")
        .routing(serde_json::json!({ "protocol": "frr", "daemons": ["ospf"], "hello": "1s", "dead": "4s" }))
        .group("slow", |node| node.memory("64MiB"))
        .host_with("a", |host| {
            host.sysctl("net.ipv4.tcp_ecn", 1).file("/etc/motto", "on\n").command("echo $HOME: a, b")
        })
        .router("r")
        .switch("s")
        .host_with("b", |host| host.group("slow").address("eth0", "192.168.7.2/24"))
        .host_with("c", |host| host.route("10.9.0.0/16", "192.168.8.1").processors([0]))
        .link("a", "r")
        .link_with("r", "s", |link| {
            link.rate(Bandwidth::from_bits_per_second(10_000_000))
                .delay(Duration::from_millis(20))
                .loss(Probability::new(0.01).unwrap())
                .queue("64KiB")
                .reverse(|back| back.delay(TimeSpan::from_millis(30)))
                .cost(5)
        })
        .link_with(("s", "eth7"), "b:eth0", |link| link.name("access").dynamic())
        .lan_with("office", ["b", "c"], |lan| lan.prefix("192.168.8.0/24"))
        .duration("30s")
        .warmup("2s")
        .collect(|collect| {
            collect.tcp("50ms").file(["a", "b"], "/var/log").capture("a:eth0").ping("a", "b").control()
        })
        .metric("answer", |metric| metric.ping("a to b").take("p99"))
        .metric("rtt", |metric| metric.tcp("srtt_ms").on("a").take("p95"))
        .assert("rtt < 100ms")
        .title("A title")
        .question("Why?")
        .at("0s", |event| event.on(["b", "c"]).exec("iperf3 -s").background().name("server"))
        .until_with("port 5201 open on b", |wait| wait.timeout("10s"))
        .until("routes stable")
        .at("5s", |event| event.link("access").set(|link| link.delay("50ms")).direction("forward"))
        .at(Duration::from_secs(6), |event| event.link("access").fail())
        .at("7s", |event| event.node("r").recover());
    assert_same(&methods, &Network::parse("lab.yaml", text));
    assert_same(&methods, &reread(&methods));
    assert_eq!(reread(&methods).to_yaml(), methods.to_yaml());
}

#[test]
fn factors_written_by_methods_make_the_cells_that_the_file_makes() {
    let methods = Network::new("lab")
        .host("a")
        .host("b")
        .link_with("a", "b", |link| link.rate("$rate").delay("$delay").loss("$loss"))
        .factor(
            "rate",
            [Bandwidth::from_bits_per_second(1_000_000), Bandwidth::from_bits_per_second(2_000_000)],
        )
        .factor("delay", Range::new("1ms", "100ms").levels(3).logarithmic())
        .factor("loss", ["0%", "1%"])
        .repeats(3);
    let text = "\
plait: 1
name: lab
experiment:
  factors: {rate: [1Mbit, 2Mbit], delay: {from: 1ms, to: 100ms, levels: 3, scale: log}, loss: [0%, 1%]}
  repeats: 3
nodes: {a: host, b: host}
links: [{endpoints: [a, b], rate: $rate, delay: $delay, loss: $loss}]
";
    let read = Network::parse("lab.yaml", text).check().unwrap();
    let written = methods.check().unwrap();
    assert_eq!(written.experiment(), read.experiment());
    let state = |checked: &Checked| checked.in_cell(8, 2).unwrap().desired(&Wishes::default(), None).unwrap();
    assert_eq!(state(&written), state(&read));
    let adaptive = methods.repeats_until("5%").space_filling(4);
    assert_eq!(adaptive.check().unwrap().experiment().unwrap().cells.len(), 4);
}

/// All examples of network files.
fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "yaml")).collect()
}

#[test]
fn a_file_that_was_read_and_written_anew_means_the_same() {
    for path in examples() {
        let read = Network::read(&path).unwrap();
        assert_eq!(read.to_yaml(), std::fs::read_to_string(&path).unwrap(), "what was read stays as it is");
        let name = read.check().unwrap().network().name.clone();
        let written = read.clone().set("/name", name);
        assert_ne!(written.to_yaml(), read.to_yaml());
        assert_same(&written, &read);
        let again = reread(&written).folder(path.parent().unwrap());
        assert_same(&again, &read);
        let experiment = |network: &Network| network.check().unwrap().experiment().cloned();
        assert_eq!(experiment(&again), experiment(&read));
    }
}

#[test]
fn any_text_survives_the_way_through_the_file() {
    let texts = [
        "",
        " ",
        "on",
        "1",
        "1.50",
        "~",
        "a: b",
        "- a",
        "'",
        "\"\\",
        "# no",
        "tab\there",
        "two\nlines\n",
        "ä→𝄞\u{7}",
        "$x",
        "{a}",
    ];
    let mut network = Network::new("texts").host("b");
    for (number, text) in texts.iter().enumerate() {
        network = network.host_with(format!("h{number}"), |host| host.file("/run/text", *text));
    }
    let (state, _) = meaning(&network);
    for (number, text) in texts.iter().enumerate() {
        assert_eq!(state.nodes[&format!("h{number}")].files["/run/text"], *text);
    }
}
