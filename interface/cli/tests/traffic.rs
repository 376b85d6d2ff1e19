//! `plait traffic`: flows that are sent, counted and foretold.

mod common;

use common::{Ended, Person, Running, Testbed, as_root_and_as_user, eventually};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

const PAIR: &str = "plait: 1
name: pair
defaults: {ipv6: on}
nodes: {a: host, b: host}
links: [a-b]
";

/// A sink that listens in a node.
struct Listener<'a> {
    testbed: &'a Testbed<'a>,
    node: String,
    running: Running,
}

impl<'a> Listener<'a> {
    fn start(testbed: &'a Testbed<'a>, node: &str, more: &str) -> Self {
        let plait = testbed.person.program().display();
        let running = testbed
            .background(node, &format!("echo $$ > /run/node/listener; exec {plait} traffic listen {more}"));
        // Port 60009, or what is asked for, in the kernel's list of sockets of IPv6, which hear IPv4 as well.
        let port = more.split("--port ").nth(1).map_or(60_009, |rest| rest[..5].parse().unwrap());
        let listens = || {
            let sockets = testbed.exec(node, &["cat", "/proc/net/udp6"]).fine();
            sockets.contains(&format!(":{port:04X} "))
        };
        if !eventually(listens) {
            running.signal(Signal::TERM);
            panic!("nobody listens on {port}: {:?}", running.wait());
        }
        Self { testbed, node: node.to_owned(), running }
    }

    /// What it tells once a signal ends it.
    fn end(self, signal: Signal) -> Ended {
        let number = signal.as_raw();
        self.testbed.shell(&self.node, &format!("kill -{number} $(cat /run/node/listener)")).fine();
        self.running.wait()
    }
}

/// `plait traffic send` in a node.
fn send(testbed: &Testbed<'_>, node: &str, words: &str) -> Ended {
    let plait = testbed.person.program().display();
    testbed.shell(node, &format!("{plait} traffic send {words}"))
}

/// `plait traffic …` on this host.
fn traffic(person: &Person, words: &[&str]) -> Ended {
    person.plait(&[&["traffic"], words].concat())
}

fn rows(told: &Value) -> Vec<Value> {
    told["flows"].as_array().unwrap().clone()
}

fn number(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or_else(|| panic!("no {key} in {row}"))
}

/// What was sent or came, by the ports of its flow.
fn by_ports(rows: &[Value], key: &str) -> BTreeMap<(u64, u64), u64> {
    let ports = |row: &Value| (number(row, "source_port"), number(row, "destination_port"));
    rows.iter().map(|row| (ports(row), number(row, key))).collect()
}

#[test]
fn many_flows_arrive_as_they_were_sent_over_ipv4_and_ipv6_with_their_law_of_rates() {
    as_root_and_as_user(|person| {
        let testbed = person.up(PAIR);
        for family in ["-4", "-6"] {
            let listener = Listener::start(&testbed, "b", "--json");
            let words =
                format!("b {family} --flows 20 --rates power-law --rate 20Mbit --for 1s --size 400B --json");
            let sent = send(&testbed, "a", &words).json();
            let told = listener.end(Signal::TERM).json();
            let (sent, came) = (rows(&sent), rows(&told));
            assert_eq!((sent.len(), came.len()), (20, 20));
            assert_eq!(by_ports(&sent, "sent"), by_ports(&came, "received"));
            assert_eq!(by_ports(&sent, "bytes"), by_ports(&came, "bytes"));
            for row in &came {
                let six = row["from"].as_str().unwrap().contains(':');
                assert_eq!(six, family == "-6", "{row}");
                assert_eq!([number(row, "missing"), number(row, "reordered")], [0, 0], "{row}");
            }
            assert_eq!((number(&told, "strange"), number(&told, "overrun")), (0, 0));
            // Shares of 1/rank: the second of the sink's counts is half of the first, the third a third. The headers
            // that rates count are those of the family.
            let frame = 400 + if family == "-6" { 62 } else { 42 };
            let mut counts: Vec<u64> = came.iter().map(|row| number(row, "received")).collect();
            counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
            let harmonic: f64 = (1..=20).map(|rank| 1.0 / f64::from(rank)).sum();
            for (rank, count) in counts.iter().enumerate() {
                let due = 20e6 / 8.0 / f64::from(frame) / harmonic / (rank + 1) as f64;
                assert!((*count as f64 - due).abs() <= 1.0, "rank {rank}: {count} came, {due} were due");
            }
            // And in the time that they were to take.
            let rates: f64 = came.iter().filter_map(|row| row["bits_per_second"].as_f64()).sum();
            assert!((17e6..22e6).contains(&rates), "{rates} bit/s came");
        }
        testbed.down();
    });
}

#[test]
fn a_listener_tells_what_it_heard_however_it_ends() {
    let Some(person) = Person::root() else { return };
    let testbed = person.up(PAIR);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let listener = Listener::start(&testbed, "b", "");
        let said = send(&testbed, "a", "b --flows 2 --rate 1Mbit --for 200ms").fine();
        assert_eq!(said.lines().count(), 3, "{said}");
        testbed.exec("a", &["bash", "-c", "echo hello > /dev/udp/b/60009"]).fine();
        let told = listener.end(signal).fine();
        assert_eq!(told.matches("> 60009").count(), 2, "{told}");
        assert!(told.starts_with("FROM") && told.contains("1 datagram came of no flow"), "{told}");
    }
    // After its time, with several ports; two runs of one sender are told apart though their ports are the same.
    let listener = Listener::start(&testbed, "b", "--for 15s --json --port 60010,60009");
    for _ in 0..2 {
        send(&testbed, "a", "b --rate 1Mbit --for 200ms --port 60010").fine();
    }
    send(&testbed, "a", "b --rate 1Mbit --for 200ms").fine();
    let told = listener.running.wait().json();
    let flows = rows(&told);
    assert_eq!(
        flows.iter().map(|row| number(row, "destination_port")).collect::<Vec<_>>(),
        [60_009, 60_010, 60_010]
    );
    assert!(flows.iter().all(|row| number(row, "source_port") == 20_000 && number(row, "reordered") == 0));
    assert_ne!(flows[1]["run"], flows[2]["run"]);
    let seconds = told["seconds"].as_f64().unwrap();
    assert!((15.0..25.0).contains(&seconds), "{seconds}");
    testbed.down();
}

#[test]
fn a_sender_that_is_ended_tells_what_it_sent() {
    let Some(person) = Person::root() else { return };
    let testbed = person.up(PAIR);
    let listener = Listener::start(&testbed, "b", "--json");
    let plait = person.program().display();
    let begun = std::time::Instant::now();
    let line = format!("timeout -s INT 5 {plait} traffic send b --rate 1Mbit --for 1h --json; test $? = 124");
    let sent = testbed.shell("a", &line).json();
    assert!(begun.elapsed().as_secs() < 60);
    let came = rows(&listener.end(Signal::TERM).json());
    assert_eq!(by_ports(&rows(&sent), "sent"), by_ports(&came, "received"));
    let seconds = sent["seconds"].as_f64().unwrap();
    let rate = rows(&sent)[0]["bits_per_second"].as_f64().unwrap();
    assert!(seconds > 0.5 && (0.9e6..1.1e6).contains(&rate), "{rate} bit/s in {seconds} s");
    testbed.down();
}

#[test]
fn what_a_link_loses_is_missing_where_it_is_counted() {
    let Some(person) = Person::root() else { return };
    let testbed = person.up("plait: 1
name: lossy
nodes: {a: host, b: host}
links: [{endpoints: [a, b], loss: 10%, via: engine}]
");
    let listener = Listener::start(&testbed, "b", "--json");
    let sent = rows(&send(&testbed, "a", "b --rate 8Mbit --for 1s --size 958B --json").json());
    let came = rows(&listener.end(Signal::TERM).json());
    let (sent, received, missing) =
        (number(&sent[0], "sent"), number(&came[0], "received"), number(&came[0], "missing"));
    // 1000 datagrams, each lost by a chance of 10 %: five standard deviations are 47.
    assert_eq!(sent, 1000);
    assert!((53..=147).contains(&missing), "{missing} are missing");
    // All but those at the end, after which none came.
    assert!((sent - 10..=sent).contains(&(received + missing)), "{received} and {missing} of {sent}");
    testbed.down();
}

#[test]
fn one_sender_shares_its_rate_among_many_hosts_as_its_plan_says() {
    let Some(person) = Person::root() else { return };
    let testbed = person.up("plait: 1
name: star
nodes: {a: host, r: router, b: host, c: host, d: host}
links: [a-r, r-b, r-c, r-d]
");
    let listeners = ["b", "c", "d"].map(|node| {
        let plait = person.program().display();
        testbed.background(node, &format!("exec {plait} traffic listen --json --for 20s"))
    });
    let listens = |node| testbed.exec(node, &["cat", "/proc/net/udp6"]).fine().contains(":EA69 ");
    assert!(eventually(|| ["b", "c", "d"].into_iter().all(listens)));
    let like = "--flows 7 --rates random --rate 8Mbit --seed 5 --size 300B";
    let sent = rows(&send(&testbed, "a", &format!("b c d {like} --for 1s --json")).json());
    let words = format!("plan --pattern one_to_all(0) --hosts a,b,c,d {like} --json");
    let planned = traffic(&person, &words.split(' ').collect::<Vec<_>>()).json();
    let planned = planned.as_array().unwrap();
    assert_eq!(sent.iter().map(|row| &row["host"]).collect::<Vec<_>>(), ["b", "c", "d", "b", "c", "d", "b"]);
    for (row, plan) in sent.iter().zip(planned) {
        assert_eq!(row["host"], plan["to"]);
        for (key, same) in [("source_port", "source_port"), ("asked_bits_per_second", "bits_per_second")] {
            assert_eq!(row[key], plan[same], "{row} {plan}");
        }
    }
    assert_eq!(planned.iter().map(|plan| number(plan, "bits_per_second")).sum::<u64>(), 8_000_000);
    let came: Vec<usize> = listeners.map(|running| rows(&running.wait().json()).len()).into();
    assert_eq!(came, [3, 2, 2]);
    testbed.down();
}

#[test]
fn a_plan_says_what_a_file_sends_in_either_world() {
    let Some(person) = Person::root() else { return };
    let text = "plait: 1
name: planned
nodes: {a: host, r: router, b: host, c: host, d: host}
links: [a-r, r-b, r-c, r-d]
seed: 11
duration: 1s
collect: {links: off, tcp: off, interfaces: off}
traffic:
  - {name: strides, pattern: stride(3), rates: power_law, rate: 1Mbit, start: 200ms, stop: 700ms}
  - {name: lot, pattern: random, flows: 9, rates: random, rate: 2Mbit, stop: 900ms, source_ports: drawn}
";
    let file = person.file("net.yaml", text);
    let planned = traffic(&person, &["plan", file.to_str().unwrap(), "--json"]).json();
    let planned = planned.as_array().unwrap();
    assert_eq!(planned.len(), 13);
    for world in ["testbed", "simulated"] {
        person.plait(&["run", "net.yaml", "--world", world, "--output", world]).fine();
        let flows = fs::read_to_string(person.work().join(world).join("samples/flows.csv")).unwrap();
        assert_eq!(flows.lines().count(), 14);
        for (line, plan) in flows.lines().skip(1).zip(planned) {
            let cells: Vec<&str> = line.split(',').collect();
            for (cell, key) in cells.iter().zip(["traffic", "from", "to", "source_port", "destination_port"])
            {
                assert_eq!(plan[key].to_string().trim_matches('"'), *cell, "{world}: {line}");
            }
            let time = plan["stop"].as_f64().unwrap() - plan["start"].as_f64().unwrap();
            let due =
                number(plan, "bits_per_second") as f64 * time / 8.0 / (number(plan, "size") + 42) as f64;
            let sent: f64 = cells[5].parse().unwrap();
            // The first leaves at once, and so there is one more than whole intervals.
            assert!((due - 1e-6..due + 1.1).contains(&sent), "{world}: {sent} sent, {due} due: {line}");
        }
    }
    let said = traffic(&person, &["plan", file.to_str().unwrap()]).fine();
    assert!(said.contains("TRAFFIC") && said.contains("strides  links  200ms to 700ms"), "{said}");
    let over = text
        .replace("collect:", "overlays: {ov0: {members: [a, b, c, d], network: 10.99.0.0/24}}\ncollect:")
        .replace("stop: 900ms", "stop: 900ms, over: ov0");
    let file = person.file("over.yaml", &over);
    let said = traffic(&person, &["plan", file.to_str().unwrap()]).fine();
    let named = |line: &&str| line.contains("lot") && line.contains("  ov0  ");
    assert_eq!(said.lines().filter(named).count(), 9, "{said}");
    // A pattern alone: all of it is said by its options.
    let said =
        traffic(&person, &["plan", "--pattern", "stride(4)", "--hosts", "16", "--rate", "160Mbit"]).fine();
    assert!(
        said.lines().nth(3).is_some_and(|line| line.starts_with("2     6   20000 > 60009  10Mbit")),
        "{said}"
    );
}

#[test]
fn a_node_sends_thousands_of_flows() {
    let Some(person) = Person::root() else { return };
    let text = format!(
        "{PAIR}duration: 1s
collect: {{links: off, tcp: off, interfaces: off}}
traffic: [{{from: a, to: b, flows: 3000, rate: 8Mbit, size: 64B, stop: 500ms}}]
"
    );
    person.file("net.yaml", text);
    person.plait(&["run", "net.yaml", "--output", "out"]).fine();
    let flows = fs::read_to_string(person.work().join("out/samples/flows.csv")).unwrap();
    // Of each flow the first leaves at once.
    let sent = |line: &str| line.split(',').nth(5).unwrap().parse::<u64>().unwrap();
    assert_eq!(flows.lines().skip(1).filter(|line| sent(line) > 0).count(), 3000);
}

#[test]
fn what_cannot_be_sent_heard_or_planned_is_refused_with_its_remedy() {
    let Some(person) = Person::root() else { return };
    let refused = |words: &[&str], said: &[&str]| traffic(&person, words).fails_saying(2, said);
    let send = |more: &[&str], said: &[&str]| refused(&[&["send", "127.0.0.1"], more].concat(), said);
    send(&[], &["--rate"]);
    send(&["--rate", "0bit"], &["write 1kbit or more"]);
    send(&["--rate", "10"], &["unit"]);
    send(&["--rate", "1Mbit", "--size", "10B"], &["24B or more"]);
    send(&["--rate", "1Mbit", "--size", "66000B"], &["65507B"]);
    send(&["--rate", "1Mbit", "--for", "0s"], &["write 1s or more"]);
    send(&["--rate", "1Mbit", "--flows", "0"], &["a number from 1"]);
    send(&["--rate", "1Mbit", "--flows", "50000"], &["ask for fewer flows"]);
    send(&["--rate", "1Mbit", "--flows", "30000", "--source-port", "60000"], &["lower `--source-port`"]);
    send(&["--rate", "1Mbit", "-6"], &["no address of IPv6"]);
    send(&["--rate", "1Mbit", "--rates", "even"], &["same, random, power-law"]);
    refused(&["send", "nobody..here", "--rate", "1Mbit"], &["`nobody..here` is no host", "/etc/hosts"]);
    let plan = |pattern: &str, hosts: &str, said: &[&str]| {
        refused(&["plan", "--pattern", pattern, "--hosts", hosts, "--rate", "1Mbit"], said);
    };
    plan("strides", "4", &["is no pattern", "`one_to_all(0)`"]);
    plan("stride(8)", "4", &["choose another number"]);
    plan("incast(4)", "a,b,c,d", &["they count from 0"]);
    plan("random", "lonely", &["give at least 2"]);
    refused(&["plan"], &["FILE"]);
    refused(&["plan", "--pattern", "random", "--hosts", "4"], &["--rate"]);
    person.file("quiet.yaml", PAIR);
    refused(&["plan", "quiet.yaml"], &["has no `traffic:`"]);
    refused(&["plan", "quiet.yaml", "--pattern", "random"], &["cannot be used with"]);
    refused(&["share", "{}}"], &["no share"]);

    // What a host lacks is no wrong use.
    let testbed = person.up(PAIR);
    let plait = person.program().display();
    let listener = Listener::start(&testbed, "b", "");
    let taken = testbed.shell("b", &format!("{plait} traffic listen"));
    taken.fails_saying(1, &["UDP port 60009 is taken", "--port"]);
    let held = Listener::start(&testbed, "a", "--port 20003");
    self::send(&testbed, "a", "b --flows 9 --rate 1Mbit")
        .fails_saying(1, &["UDP port 20003 is taken", "--source-port"]);
    self::send(&testbed, "a", "b -4 --rate 1Mbit --size 1473B")
        .fails_saying(2, &["`--size 1473B` does not fit", "1472B or less"]);
    self::send(&testbed, "a", "b -6 --rate 1Mbit --size 1472B").fails_saying(2, &["1452B or less"]);
    self::send(&testbed, "a", "192.0.2.1 --rate 1Mbit").fails_saying(1, &["ip route get 192.0.2.1"]);
    drop((listener, held));
    testbed.down();
}
