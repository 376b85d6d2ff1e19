//! By which devices a node's packets come: by those that lead to nodes, and by no others.

use super::*;
use std::collections::BTreeSet;

/// What a host takes a container for: a namespace behind a link of its own, with an address that nobody but the host needs.
fn container<'a>(person: &'a Person, host: &Host<'_>) -> Host<'a> {
    let inside = Host::new(person, 9);
    host.link("inside", &inside, "eth0");
    host.sh("ip addr add 10.88.0.1/24 dev inside");
    inside.sh("ip addr add 10.88.0.9/24 dev eth0 && ip route add default via 10.88.0.1");
    inside
}

/// The devices by which packets come in.
fn entrances(host: &Host<'_>) -> BTreeSet<String> {
    let said = host.json("stats");
    let names = said["underlay"].as_array().into_iter().flatten();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn are(host: &Host<'_>, expected: &[&str]) -> bool {
    entrances(host).iter().eq(expected)
}

/// Sends a datagram of ovstack from node 2 to node 1, as node 2's locator, with a frame that nobody answers.
fn speak_as_peer(from: &Host<'_>) {
    let header = [1, 9, 7, 0, 0, 0, 1, 0, 0, 0, 0, 1, 10, 0, 0, 1, 10, 0, 0, 2];
    let frame = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x99, 0x88, 0xb5, 1, 2, 3, 4, 5, 6, 7, 8];
    let octal: String = header.iter().chain(&frame).map(|byte| format!("\\{byte:03o}")).collect();
    let line = format!("printf '{octal}' | socat -u - UDP:192.0.2.1:60002,bind=192.0.2.2");
    from.exec(&["sh", "-c", &line]).fine();
}

/// Whether the station of that frame was learned.
fn is_learned(host: &Host<'_>) -> bool {
    let rows = host.json("fib show ov0");
    rows.as_array().unwrap().iter().any(|row| row["identifier"] == "02:00:00:00:00:99")
}

#[test]
fn nobody_inside_a_host_speaks_as_another_node() {
    let Some(person) = Person::root() else { return };
    if !installed("socat") {
        return;
    }
    let mut hosts = pair(&person, "ethernet --group 224.0.0.1");
    let inside = container(&person, &hosts[0]);
    inside.sh("ip addr add 192.0.2.2/32 dev eth0");
    assert!(eventually(|| hosts[0].reaches(&hosts[1])));
    let refused = |host: &Host<'_>| {
        let before = host.dropped("wrong-device");
        speak_as_peer(&inside);
        eventually(|| host.dropped("wrong-device") > before)
    };
    let [a, b] = &hosts;
    assert!(are(a, &["eth0"]), "{}", a.overlay("stats"));
    for _ in 0..3 {
        assert!(refused(a), "{}", a.overlay("stats"));
        assert!(!is_learned(a), "{}", a.overlay("fib show"));
        assert!(eventually(|| a.reaches(b) && b.reaches(a)), "the true one goes on: {}", stats(&hosts));
    }
    let metrics = a.overlay("stats --metrics");
    assert!(metrics.contains("plait_overlay_dropped_packets_total{reason=\"wrong-device\"}"), "{metrics}");
    // What somebody advertises on his link opens it to nobody; what the host itself says does.
    a.sh("ip route add 192.0.2.2/32 dev inside proto ra table 78");
    for _ in 0..2 {
        assert!(refused(a) && are(a, &["eth0"]), "{}", a.overlay("stats"));
    }
    a.sh("ip route replace 192.0.2.2/32 dev inside proto static table 78");
    assert!(eventually(|| are(a, &["eth0", "inside"])), "{}", a.overlay("stats"));
    a.sh("ip route flush table 78");
    assert!(eventually(|| are(a, &["eth0"])), "{}", a.overlay("stats"));
    // Behind a bridge of its own, as many containers are: the port says nothing, and the bridge refuses.
    a.sh(
        "ip link add br1 type bridge && ip link set br1 up && ip addr flush dev inside && ip link set inside master br1 \
         && ip addr add 10.88.0.1/24 dev br1",
    );
    assert!(eventually(|| refused(a)), "{}", a.overlay("stats"));
    assert!(!is_learned(a) && are(a, &["eth0"]), "{}", a.overlay("stats"));
    // It is a node now, too, and may speak: as whom, nobody can tell but who names the devices.
    a.overlay("node add 10.0.0.9 10.88.0.9");
    assert!(eventually(|| are(a, &["br1", "eth0"])), "{}", a.overlay("stats"));
    a.overlay("node del 10.0.0.9 10.88.0.9");
    assert!(eventually(|| are(a, &["eth0"])), "{}", a.overlay("stats"));
    // Whoever names devices means those, and an agent that starts again knows them.
    a.try_overlay("config underlay ov0").fails_saying(1, &["ov0", "of the overlay itself"]);
    a.try_overlay("config underlay eth/0").fails_saying(1, &["eth/0"]);
    a.overlay("config underlay br1 later0");
    assert_eq!(a.json("config show")["underlay"], serde_json::json!(["br1", "later0"]));
    let before = a.dropped("wrong-device");
    assert!(!b.reaches(a));
    assert!(a.dropped("wrong-device") > before, "{}", a.overlay("stats"));
    hosts[0].kill_agent();
    hosts[0].start_agent();
    let [a, b] = &hosts;
    assert!(are(a, &["br1"]) && !b.reaches(a), "{}", a.overlay("stats"));
    a.overlay("config underlay eth0");
    assert!(eventually(|| b.reaches(a)) && refused(a), "{}", stats(&hosts));
    a.overlay("config underlay --by-routes");
    assert!(eventually(|| b.reaches(a)) && refused(a) && are(a, &["eth0"]), "{}", stats(&hosts));
    assert!(a.json("config show").get("underlay").is_none());
}

#[test]
fn a_nodes_packets_come_by_whatever_device_may_lead_to_it() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --group 224.0.0.1");
    let [a, b] = &hosts;
    assert!(eventually(|| a.reaches(b)));
    // They leave by one device and come by another, to which another's route leads, however bad it is.
    a.link("eth1", b, "eth1");
    a.sh("ip addr add 198.51.100.1/24 dev eth1");
    b.sh("ip addr add 198.51.100.2/24 dev eth1 && ip route add 192.0.2.1/32 via 198.51.100.1");
    let is_lost = || {
        let before = a.dropped("wrong-device");
        !b.reaches(a) && a.dropped("wrong-device") > before
    };
    assert!(eventually(is_lost), "nothing leads there: {}", stats(&hosts));
    a.sh("ip route add 192.0.2.2/32 via 198.51.100.2 metric 1000 table 77");
    assert!(eventually(|| b.reaches(a)), "{}", stats(&hosts));
    assert!(are(a, &["eth0", "eth1"]), "{}", a.overlay("stats"));
    a.sh("ip route flush table 77");
    assert!(eventually(is_lost) && are(a, &["eth0"]), "{}", stats(&hosts));
    b.sh("ip route del 192.0.2.1/32 via 198.51.100.1");
    assert!(eventually(|| b.reaches(a)), "{}", stats(&hosts));
    // The device below becomes a port of a bridge, on which a VLAN is; then that VLAN is on the device itself.
    a.sh(
        "ip addr flush dev eth0 && ip link add br0 type bridge && ip link set br0 up && ip link set eth0 master br0 && ip addr \
         add 192.0.2.1/24 dev br0",
    );
    assert!(eventually(|| b.reaches(a)), "{}", stats(&hosts));
    assert!(are(a, &["br0"]), "{}", a.overlay("stats"));
    if b.exec(&["sh", "-c", "ip link add link eth0 name eth0.10 type vlan id 10"]).code() != Some(0) {
        println!("this kernel has no VLANs: the rest is for those that do, as distributions' have");
        return;
    }
    b.sh("ip addr flush dev eth0 && ip link set eth0.10 up && ip addr add 192.0.2.2/24 dev eth0.10");
    a.sh(
        "ip addr flush dev br0 && ip link add link br0 name br0.10 type vlan id 10 && ip link set br0.10 up && ip addr add \
         192.0.2.1/24 dev br0.10",
    );
    assert!(eventually(|| b.reaches(a)), "{}", stats(&hosts));
    assert!(are(a, &["br0.10"]) && are(b, &["eth0.10"]), "{}", stats(&hosts));
    a.sh(
        "ip link del br0.10 && ip link del br0 && ip link add link eth0 name eth0.10 type vlan id 10 && ip link set eth0.10 up \
         && ip addr add 192.0.2.1/24 dev eth0.10",
    );
    assert!(eventually(|| b.reaches(a)), "{}", stats(&hosts));
    assert!(are(a, &["eth0.10"]), "{}", a.overlay("stats"));
}
