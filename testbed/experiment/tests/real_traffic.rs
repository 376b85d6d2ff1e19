//! A run with real TCP between two namespaces, from the script to the report.
//!
//! The namespaces are made by `unshare(1)`; without the permission to make them, or without iperf3, the test says so
//! and passes.

#[path = "support/world.rs"]
mod support;

use plait_model_topology::document::Source;
use plait_model_topology::{Vocabulary, parse_network};
use plait_testbed_experiment::results::records::{InterfaceRecord, TcpRecord, read};
use plait_testbed_experiment::runner::{Input, run};
use plait_testbed_experiment::section::{Script, register};
use plait_testbed_experiment::world::Stop;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use support::Machine;

const FILE: &str = "plait: 1
nodes: [a, b]
links: [{endpoints: [a, b], rate: 20Mbit, queue: 50ms}]
run:
  - {at: 0s, on: b, exec: iperf3 -s, name: server, background: true}
  - {at: 300ms, on: a, exec: iperf3 -c 10.9.0.2 -t 3 -C cubic -J, name: cubic, timeout: 20s}
  - {at: 1300ms, on: a, exec: ping -c 5 -i 0.2 10.9.0.2}
  - {at: 2s, link: a-b, set: {delay: 10ms}}
collect: {tcp: 20ms, links: 20ms, interfaces: 20ms}
report: {title: One download through a token bucket, question: Does it fill the line?}
";

/// A namespace that lasts as long as this.
struct Namespace(Child);

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn namespace() -> Option<Namespace> {
    let mut child = Command::new("unshare")
        .args(["--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep 120"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut ready = [0; 6];
    let made = child.stdout.as_mut()?.read_exact(&mut ready).is_ok();
    let namespace = Namespace(child);
    made.then_some(namespace)
}

fn enter(namespace: &Namespace, command: &str) {
    let target = format!("--target={}", namespace.0.id());
    let status = Command::new("nsenter").args([&target, "--net", "sh", "-c", command]).status().unwrap();
    assert!(status.success(), "{command}");
}

#[test]
fn a_download_is_a_flow_in_the_report() {
    let iperf3 = Command::new("iperf3").arg("--version").stdout(Stdio::null()).status();
    let (Ok(_), Some(a), Some(b)) = (iperf3, namespace(), namespace()) else {
        println!("skipped: namespaces cannot be made here, or iperf3 is missing");
        return;
    };
    enter(&a, &format!("ip link add eth0 type veth peer name eth0 netns {}", b.0.id()));
    enter(&a, "ip addr add 10.9.0.1/24 dev eth0 && ip link set eth0 up");
    enter(&b, "ip addr add 10.9.0.2/24 dev eth0 && ip link set eth0 up");
    enter(&a, "tc qdisc add dev eth0 root tbf rate 20mbit burst 15kb latency 50ms");

    let mut vocabulary = Vocabulary::core();
    register(&mut vocabulary);
    let network =
        parse_network(&Source::new("one.yaml", FILE), &vocabulary, &|_| Err(String::new())).unwrap();
    let script = Script::of(&network).unwrap();
    let world = Machine {
        namespaces: vec![("a".into(), a.0.id()), ("b".into(), b.0.id())],
        addresses: vec![("10.9.0.1".parse().unwrap(), "a".into()), ("10.9.0.2".parse().unwrap(), "b".into())],
        ..Machine::new()
    };
    let home = tempfile::tempdir().unwrap();
    let place = std::env::var_os("PLAIT_KEEP_RESULTS").map_or(home.path().join("r"), Into::into);
    let input = Input { network: &network, file: "one.yaml", text: FILE.as_bytes(), named: &[] };
    let run = run(&world, &input, &script, &place, &Stop::default(), &mut ()).unwrap();
    assert!(run.results.passed, "{:?}", run.results.failures);

    let mut greatest = 0;
    read::<TcpRecord>(&place.join("samples/tcp.csv"), |row| {
        if row.node == "a" {
            greatest = greatest.max(row.bytes_acked.unwrap_or(0));
        }
    })
    .unwrap();
    // 3 s of 20 Mbit/s are 7.5 MB; headers take 4.4 %.
    assert!((6_000_000..8_000_000).contains(&greatest), "{greatest} bytes acknowledged");
    let mut interfaces = 0;
    read::<InterfaceRecord>(&place.join("samples/interfaces.csv"), |row| {
        interfaces += 1;
        assert_eq!(row.interface, "eth0");
    })
    .unwrap();
    assert!(interfaces > 100, "{interfaces} rows");
    assert!(place.join("samples/iperf3.csv").exists(), "iperf3's JSON was recognised");
    let html = std::fs::read_to_string(place.join("report.html")).unwrap();
    assert_eq!(
        html.matches("<span class=\"key c0\"></span>a → b (cubic)</td>").count(),
        1,
        "one flow, not its control"
    );
}
