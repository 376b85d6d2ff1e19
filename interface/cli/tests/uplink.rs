//! The way out: for the nodes that have one, and for nobody behind them.

mod common;

use common::{Person, installed, skip};

/// A host of its own for the test: a network namespace with an address that is not the loopback's, a server on it, and
/// a testbed whose first two nodes have an uplink. The last line says what the router's uplink has carried.
const SCRIPT: &str = r"
set -e
ip link set lo up
ip link add outside type veth peer name inside
ip address add 198.51.100.1/24 dev outside
ip link set outside up; ip link set inside up
iperf3 -s -D -B 198.51.100.1
$PLAIT up net.yaml
$PLAIT exec a -- iperf3 -c 198.51.100.1 -n 1M > /dev/null && echo 'a is out'
$PLAIT exec a -- ping -c 1 -W 2 b > /dev/null && echo 'a reaches b'
$PLAIT exec b -- ping -c 3 -i 0.2 -W 1 198.51.100.1 > said || echo 'b is fenced'
grep -i -m 1 unreachable said
$PLAIT exec r -- ip -s -j link show uplink
$PLAIT down
";

#[test]
fn an_uplink_serves_its_node_and_carries_nothing_of_others() {
    let Some(person) = Person::root() else { return };
    for program in ["slirp4netns", "iperf3", "ip"] {
        if !installed(program) {
            return skip(&format!("{program} is not installed"));
        }
    }
    person.file(
        "net.yaml",
        "plait: 1\nnodes: {a: {uplink: true}, r: {kind: router, uplink: true}, b: host}\nlinks: [a-r, r-b]\n",
    );
    let mut command = person.command("unshare");
    command.args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SCRIPT]);
    command.env("PLAIT", env!("CARGO_BIN_EXE_plait"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    for expected in ["a is out", "a reaches b", "b is fenced", "nreachable"] {
        assert!(said.contains(expected), "{expected:?} is missing in {said}");
    }
    // Not one packet of `b` met the router's uplink: it was answered with "unreachable" before.
    let line = said.lines().find(|line| line.starts_with('[')).expect("counters");
    let counters: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(counters[0]["stats64"]["tx"]["packets"], 0, "{counters}");
}
