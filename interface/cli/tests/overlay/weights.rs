//! Locators' weights that change while packets go by them.

use super::*;

/// Takes datagrams of numbered flows until it is told that no more come, and sees by which device each came: how many came, how
/// many came twice, how many were overtaken by one of their flow that came by the same device, how many were not seen, and how many
/// flows came by both.
const TAKES: &str = "
import json, os, select, socket, struct, sys
RCVBUFFORCE = 33
def large(s):
    s.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 64 << 20)
    s.setblocking(False)
    return s
took = large(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
taps = {}
for device in sys.argv[2:]:
    tap = large(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
    tap.bind((device, 0))
    taps[tap] = device
took.bind((sys.argv[1], 5001))
came, by = [], {}
def all_of(s):
    while True:
        try:
            yield s.recv(65536)
        except BlockingIOError:
            return
is_over = False
while True:
    # What is there when it is over has come.
    is_over = os.path.exists('/run/over')
    select.select([took, *taps], [], [], 0.1)
    for tap, device in taps.items():
        for frame in all_of(tap):
            at = frame.find(b'a flow ')
            if at >= 0:
                by[struct.unpack_from('!II', frame, at + 7)] = device
    came += [struct.unpack_from('!II', packet, 7) for packet in all_of(took)]
    if is_over:
        break
last, overtaken, unseen, devices = {}, 0, 0, {}
for flow, number in came:
    device = by.get((flow, number))
    unseen += device is None
    overtaken += number < last.get((flow, device), -1)
    last[flow, device] = max(number, last.get((flow, device), -1))
    devices.setdefault(flow, set()).add(device)
both = sum(len(ways) > 1 for ways in devices.values())
print(json.dumps(dict(came=len(came), twice=len(came) - len(set(came)), overtaken=overtaken, unseen=unseen, both=both)))
";

/// Sends datagrams of sixteen flows in turn, each numbered, until it is told to stop, and says how many. On one processor, which takes
/// them in the order in which they are sent.
const GIVES: &str = "
import os, socket, struct, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
flows = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(16)]
for flow in flows:
    flow.connect((sys.argv[1], 5001))
number = 0
while not os.path.exists('/run/stop'):
    for which, flow in enumerate(flows):
        flow.send(b'a flow ' + struct.pack('!II', which, number) + bytes(100))
    number += 1
    time.sleep(0.003)
print(number * len(flows))
";

#[test]
fn weights_of_locators_change_under_traffic_and_no_packet_is_lost_or_overtaken_on_its_way() {
    let Some(person) = Person::root() else { return };
    let hosts = Host::two_on_two_networks(&person);
    let [a, b] = &hosts;
    for (host, other) in [(a, b), (b, a)] {
        host.overlay("config application ipv4 --carries ip --vni 2");
        host.overlay(&format!("id set {} --app ipv4", host.id()));
        for network in ["192.0.2", "198.51.100"] {
            host.overlay(&format!("locator add {network}.{} --app ipv4", host.number));
            host.overlay(&format!("node add {} {network}.{} --app ipv4", other.id(), other.number));
        }
        host.overlay(&format!("route add {} --via {} --app ipv4", other.id(), other.id()));
        host.overlay("config device ov0 --vni 2 --app ipv4");
        host.sh(&format!("ip addr add {}/24 dev ov0", host.inner()));
        host.overlay(&format!("fib add ov0 {} {}", other.inner(), other.id()));
    }
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    let takes = b.start(&["python3", "-c", TAKES, &b.inner(), "eth0", "eth1"]);
    // Its port, taking.
    assert!(eventually(|| b.sh("cat /proc/net/udp").contains(":1389 ")));
    let gives = a.start(&["python3", "-c", GIVES, &b.inner()]);
    for round in 0..12 {
        // Nearly all by one, then by the other; as they are, in other numbers; by halves.
        let [first, second] = [[255, 1], [1, 255], [2, 200], [1, 100], [50, 50], [200, 200]][round % 6];
        // Which of this node's own they leave from, and to which of the other's they go.
        for (network, weight) in [("192.0.2", first), ("198.51.100", second)] {
            a.overlay(&format!("node add {} {network}.{} --weight {weight} --app ipv4", b.id(), b.number));
            a.overlay(&format!("locator add {network}.{} --weight {weight} --app ipv4", a.number));
        }
    }
    a.sh("touch /run/stop");
    let given: u64 = gives.wait().fine().trim().parse().unwrap();
    b.sh("touch /run/over");
    let said: Value = serde_json::from_str(&takes.wait().fine()).unwrap();
    let of = |what: &str| said[what].as_u64().unwrap();
    assert!(given > 0 && of("came") == given, "{given} were sent, and of them {said}: {}", stats(&hosts));
    assert_eq!(["twice", "overtaken", "unseen"].map(of), [0; 3], "{said}");
    assert!(of("both") >= 8, "weights move flows: {said}");

    // Each pair of locators has counters, which are those of the node when added up.
    let counted = a.json("stats");
    let node = &counted["nodes"][0];
    let pairs = node["pairs"].as_array().unwrap();
    let number = |of: &Value| of.as_u64().unwrap();
    assert_eq!(pairs.iter().map(|pair| number(&pair["packets"])).sum::<u64>(), number(&node["sent"]));
    assert_eq!(pairs.iter().map(|pair| number(&pair["bytes"])).sum::<u64>(), number(&node["sent_bytes"]));
    for network in ["192.0.2", "198.51.100"] {
        let [own, its] = [a, b].map(|host| format!("{network}.{}", host.number));
        let pair =
            pairs.iter().find(|pair| pair["from"] == own && pair["to"] == its).expect("by each network");
        assert!(number(&pair["packets"]) * 8 > given, "{counted}");
        let (packets, text) = (&pair["packets"], a.overlay("stats"));
        assert!(text.contains("OWN LOCATOR") && text.contains(&packets.to_string()), "{text}");
        let labels = format!("node=\"{}\",own=\"{own}\",locator=\"{its}\"", b.id());
        let metric =
            format!("plait_overlay_locator_pair_packets_total{{application=\"4\",{labels}}} {packets}\n");
        let metrics = a.overlay("stats --metrics");
        assert!(metrics.contains(&metric), "{metric}{metrics}");
    }
}

#[test]
fn who_leaves_a_pair_of_locators_without_packets_is_told_and_so_are_stats_metrics_and_log() {
    let Some(person) = Person::root() else { return };
    let [mut host, _other] = Host::two(&person);
    host.sh("ip addr add 192.0.2.11/24 dev eth0 && ip addr add 192.0.2.12/24 dev eth0");
    host.start_agent();
    host.overlay("config application ethernet");
    host.overlay("id set 10.0.0.1");
    for last in [1, 11, 12] {
        host.overlay(&format!("locator add 192.0.2.{last}"));
    }
    const REMARK: &str = "1 pair of locators gets no packets";
    let told = |words: &str| {
        let ended = host.try_overlay(words);
        assert_eq!(ended.code(), Some(0), "it is done: {ended:?}");
        ended.stderr.contains(REMARK)
    };
    assert!(!told("node add 10.0.0.2 192.0.2.2") && !told("node add 10.0.0.2 192.0.2.3"));
    let left_out = || host.json("stats").get("left_out").cloned();
    assert_eq!(left_out(), None);
    // Three of its own and three of the node's are nine pairs.
    assert!(told("node add 10.0.0.2 192.0.2.4"));
    assert_eq!(left_out(), Some(serde_json::json!([{"application": 7, "node": "10.0.0.2", "pairs": 1}])));
    assert!(host.overlay("stats").contains(&format!("To 10.0.0.2 of application 7 {REMARK}")));
    let gauge = "plait_overlay_locator_pairs_without_packets{application=\"7\",node=\"10.0.0.2\"} 1\n";
    assert!(host.overlay("stats --metrics").contains(gauge), "{}", host.overlay("stats --metrics"));
    // What was so before is nobody's doing.
    assert!(!told("node add 10.0.0.3 192.0.2.5"));
    assert!(!told("locator del 192.0.2.12"));
    assert_eq!(left_out(), None);
    let ended = host.kill_agent();
    assert!(ended.stderr.contains("some get no packets"), "{ended:?}");
}
