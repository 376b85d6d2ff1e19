//! Each encapsulation, the kernel's own tunnel, and a path of several.

use super::*;

/// Has a pair speak in one encapsulation after the other, and sends something in each.
fn each(hosts: &[Host<'_>; 2], configured: &str, encapsulations: &[&str]) {
    let [a, b] = hosts;
    for encapsulation in encapsulations {
        for host in hosts {
            host.overlay(&format!("{configured} --encapsulation {encapsulation}"));
        }
        assert!(eventually(|| a.reaches(b)), "{encapsulation}: {}", stats(hosts));
        let before = received(b);
        transfers(a, b);
        let after = received(b);
        let (packets, bytes) = (after.0 - before.0, after.1 - before.1);
        // Superpackets come as they were sent.
        assert!(!installed("iperf3") || bytes > 1500 * packets, "{encapsulation}: {bytes} in {packets}");
    }
}

/// Taken in by the device below, a host's packets are still its own, though not for a socket that has the other device.
fn takes_in_place(a: &Host<'_>, b: &Host<'_>) {
    let by_device = || a.exec(&["ping", "-c", "1", "-W", "1", "-I", "ov0", &b.inner()]).code() == Some(0);
    assert!(eventually(by_device), "{}", a.overlay("stats"));
    a.overlay("config device ov0 --vni 1 --in-place");
    assert!(a.reaches(b), "{}", a.overlay("stats"));
    assert!(!by_device());
    transfers(b, a);
    datagrams_at_once(b, a, &a.inner(), "in place");
}

/// Packets and bytes that came up.
fn received(host: &Host<'_>) -> (u64, u64) {
    let device = &host.json("stats")["devices"]["ov0"];
    (device["received"].as_u64().unwrap(), device["received_bytes"].as_u64().unwrap())
}

#[test]
fn frames_travel_in_every_encapsulation() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --group 224.0.0.1 --vni 1");
    let [a, b] = &hosts;
    each(
        &hosts,
        "config application ethernet --group 224.0.0.1 --vni 1",
        &["ovstack", "vxlan", "geneve", "nvgre", "gre", "mpls", "vxlan-gpe", "nsh"],
    );
    // The largest packet is what fits with the header of the last.
    let link = a.sh("ip -o link show ov0");
    assert!(link.contains("mtu 1442"), "{link}");
    takes_in_place(a, b);
    // What is no packet of IP comes by the device all the same.
    a.sh("ip neigh flush dev ov0");
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    // Stations were learned, and their packets counted.
    let rows = a.json("fib show ov0");
    assert_eq!(rows[0]["node"], b.id());
    assert!(rows[0]["packets"].as_u64().unwrap() > 100, "{rows:#}");
    assert!(a.overlay("stats --metrics").contains("plait_overlay_sent_packets_total{device=\"ov0\"}"));
    // What cannot carry frames is refused, with what can.
    a.try_overlay("config application ethernet --encapsulation ipip")
        .fails_saying(1, &["ipip", "frames", "gre"]);
    // What a bridge's port takes in is the bridge's, and not the device's below.
    let bridge = "ip link add br0 type bridge && ip link set br0 up && ip link set ov0 master br0 && ip addr flush dev ov0";
    a.sh(&format!("{bridge} && ip addr add {}/24 dev br0", a.inner()));
    let by_bridge = || a.exec(&["ping", "-c", "1", "-W", "1", "-I", "br0", &b.inner()]).code() == Some(0);
    assert!(eventually(by_bridge), "{}", stats(&hosts));
}

#[test]
fn packets_travel_in_every_encapsulation() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --carries ip --vni 1");
    let [a, b] = &hosts;
    for (host, other) in [(a, b), (b, a)] {
        host.overlay(&format!("fib add ov0 {} {}", other.inner(), other.id()));
    }
    each(
        &hosts,
        "config application ethernet --carries ip --vni 1",
        &["ovstack", "geneve", "gre", "ipip", "mpls", "nsh", "vxlan-gpe", "gue"],
    );
    takes_in_place(a, b);
    b.sh("echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter");
    b.try_overlay("config device ov0 --vni 1 --in-place").fails_saying(1, &["net.ipv4.conf.all.rp_filter"]);
    a.try_overlay("fib add ov0 02:00:00:00:00:01 10.0.0.2")
        .fails_saying(1, &["32 bits of IPv4", "02:00:00:00:00:01"]);
    a.try_overlay("config device ov1 --vni 2")
        .fails_saying(1, &["gue does not name virtual network 2", "geneve"]);
    a.try_overlay("fib add ov1 10.1.0.9 10.0.0.2").fails_saying(1, &["no overlay device `ov1`"]);
}

/// Takes datagrams until there are eighty, or nobody sends any for a second, and says how many of each size came.
const TAKE: &str = "
import collections, socket, sys
to = socket.getaddrinfo(sys.argv[1], 5001)[0]
took = socket.socket(to[0], socket.SOCK_DGRAM)
took.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
took.bind(to[4])
took.settimeout(10)
sizes = collections.Counter()
try:
    while sum(sizes.values()) < 80:
        sizes[len(took.recv(65536))] += 1
        took.settimeout(1)
except TimeoutError:
    pass
print(dict(sizes))
";

/// Sends datagrams of a thousand bytes, twenty at a time as one superpacket of UDP.
const GIVE: &str = "
import socket, sys, time
UDP_SEGMENT = 103
to = socket.getaddrinfo(sys.argv[1], 5001)[0]
gives = socket.socket(to[0], socket.SOCK_DGRAM)
gives.setsockopt(socket.SOL_UDP, UDP_SEGMENT, 1000)
for _ in range(4):
    gives.sendto(bytes(20 * 1000), to[4])
    time.sleep(0.02)
";

/// Sends eighty datagrams in four superpackets, which come one by one.
#[track_caller]
fn datagrams_at_once(from: &Host<'_>, to: &Host<'_>, address: &str, way: &str) {
    let takes = to.start(&["python3", "-c", TAKE, address]);
    let listens =
        || to.exec(&["sh", "-c", "grep -q ':1389 ' /proc/net/udp /proc/net/udp6"]).code() == Some(0);
    assert!(eventually(listens));
    from.exec(&["python3", "-c", GIVE, address]).fine();
    assert_eq!(
        takes.wait().fine(),
        "{1000: 80}\n",
        "{way}: {}\n{}",
        from.overlay("stats"),
        to.overlay("stats")
    );
}

#[test]
fn superpackets_of_tcp_and_udp_stay_whole_over_either_family() {
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    hosts.iter_mut().for_each(Host::start_agent);
    let applications = ["ethernet --group 224.0.0.1 --vni 1", "ipv4 --carries ip --vni 2"];
    for (host, other) in [(0, 1), (1, 0)] {
        let (host, other) = (&hosts[host], &hosts[other]);
        host.sh(&format!("ip addr add 2001:db8::{}/64 dev eth0 nodad", host.number));
        for (application, device) in [("ethernet", "ov0 --vni 1"), ("ipv4", "ov1 --vni 2 --app ipv4")] {
            let of = applications.iter().find(|of| of.starts_with(application)).unwrap();
            host.overlay(&format!("config application {of}"));
            host.overlay(&format!("id set {} --app {application}", host.id()));
            host.overlay(&format!("route add {} --via {} --app {application}", other.id(), other.id()));
            host.overlay(&format!("config device {device}"));
        }
        host.overlay(&format!("route add 224.0.0.1 --via {}", other.id()));
        host.overlay(&format!("route add 224.0.0.1 --via {}", host.id()));
        for device in 0..2 {
            let number = host.number;
            host.sh(&format!("ip addr add 10.{device}.7.{number}/24 dev ov{device} && ip addr add fd00:{device}::{number}/64 dev ov{device} nodad"));
        }
        for identifier in [format!("10.1.7.{}", other.number), format!("fd00:1::{}", other.number)] {
            host.overlay(&format!("fib add ov1 {identifier} {}", other.id()));
        }
    }
    let [a, b] = &hosts;
    for (locator, of, device, encapsulations) in [
        ("192.0.2", 0, 0, "ovstack vxlan geneve nvgre gre mpls vxlan-gpe nsh"),
        ("2001:db8:", 0, 0, "ovstack vxlan geneve nvgre gre mpls vxlan-gpe nsh"),
        ("192.0.2", 1, 1, "ovstack geneve gre ipip mpls vxlan-gpe nsh gue"),
        ("2001:db8:", 1, 1, "ovstack geneve gre ipip mpls vxlan-gpe nsh gue"),
    ] {
        let application = ["ethernet", "ipv4"][of];
        let dot = if locator.contains(':') { ':' } else { '.' };
        for (host, other) in [(a, b), (b, a)] {
            host.overlay(&format!("locator add {locator}{dot}{} --app {application}", host.number));
            host.overlay(&format!(
                "node add {} {locator}{dot}{} --app {application}",
                other.id(),
                other.number
            ));
        }
        for encapsulation in encapsulations.split(' ') {
            for host in &hosts {
                host.overlay(&format!(
                    "config application {} --encapsulation {encapsulation}",
                    applications[of]
                ));
            }
            for address in [format!("10.{device}.7.2"), format!("fd00:{device}::2")] {
                let way = format!("{encapsulation} over {locator}: {address}");
                let answers = || a.exec(&["ping", "-c", "1", "-W", "1", &address]).code() == Some(0);
                assert!(eventually(answers), "{way}: {}", stats(&hosts));
                let count = |host: &Host<'_>, what: &str| {
                    host.json("stats")["devices"][format!("ov{device}")][what].as_u64().unwrap()
                };
                let counts = || (count(b, "received"), count(b, "received_bytes"), count(a, "sent"));
                let before = counts();
                if encapsulation.len() % 2 == 0 {
                    transfers_to(a, b, &address);
                    let after = counts();
                    let (packets, bytes) = (after.0 - before.0, after.1 - before.1);
                    assert!(!installed("iperf3") || bytes > 1500 * packets, "{way}: {bytes} in {packets}");
                }
                let before = counts();
                datagrams_at_once(a, b, &address, &way);
                let after = counts();
                let (sent, received) = (after.2 - before.2, after.0 - before.0);
                // What came in a UDP tunnel is cut before it comes up.
                let is_cut = !["nvgre", "gre", "mpls", "ipip"].contains(&encapsulation);
                assert!(sent < 20 && (is_cut || received < 20), "{way}: {sent} sent, {received} received");
            }
        }
        for (host, other) in [(a, b), (b, a)] {
            host.overlay(&format!("locator del {locator}{dot}{} --app {application}", host.number));
            host.overlay(&format!(
                "node del {} {locator}{dot}{} --app {application}",
                other.id(),
                other.number
            ));
        }
    }
}

#[test]
fn packets_shorter_than_a_header_travel_over_ipv6() {
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    hosts.iter_mut().for_each(Host::start_agent);
    for (host, other) in [(0, 1), (1, 0)] {
        let (host, other) = (&hosts[host], &hosts[other]);
        host.sh(&format!("ip addr add 2001:db8::{}/64 dev eth0 nodad", host.number));
        host.overlay("config application ethernet --group 224.0.0.1");
        host.overlay("config application ipv4 --carries ip --encapsulation ipip");
        host.identify(&format!("2001:db8::{}", host.number));
        host.know(other, &format!("2001:db8::{}", other.number));
        host.overlay(&format!("id set {} --app ipv4", host.id()));
        host.overlay(&format!("locator add 2001:db8::{} --app ipv4", host.number));
        host.overlay(&format!("node add {} 2001:db8::{} --app ipv4", other.id(), other.number));
        host.overlay(&format!("route add {} --via {} --app ipv4", other.id(), other.id()));
        host.device("--vni 1");
        host.overlay("config device ov1 --app ipv4");
        host.sh(&format!("ip addr add 10.2.0.{}/24 dev ov1", host.number));
        host.overlay(&format!("fib add ov1 10.2.0.{} {}", other.number, other.id()));
    }
    let [a, b] = &hosts;
    for inner in [b.inner(), "10.2.0.2".to_owned()] {
        let answers = || a.exec(&["ping", "-c", "1", "-W", "1", "-s", "0", &inner]).code() == Some(0);
        assert!(eventually(answers), "{inner}: {}", stats(&hosts));
    }
    // In place, what neighbours of IPv6 say to each other comes by the device all the same.
    for host in &hosts {
        host.overlay("config device ov0 --vni 1 --in-place");
        host.sh(&format!("ip addr add fd00::{}/64 dev ov0 nodad && ip neigh flush dev ov0", host.number));
    }
    let answers = |to: &str| a.exec(&["ping", "-c", "1", "-W", "1", to]).code() == Some(0);
    assert!(eventually(|| answers("fd00::2")), "{}", stats(&hosts));
    transfers_to(a, b, "fd00::2");
    assert!(a.exec(&["ping", "-c", "1", "-W", "20", "-I", "ov0", "fd00::2"]).code() == Some(0));
}

#[test]
fn a_path_changes_its_encapsulation_at_each_hop() {
    let Some(person) = Person::root() else { return };
    // The relay finds the stations by itself, where the header does not say at which node they are. What is in no UDP tunnel before
    // or behind it, or in neither, is another thing to superpackets of UDP.
    for encapsulations in [["vxlan", "ovstack"], ["vxlan", "gre"], ["nvgre", "geneve"]] {
        changes(&person, encapsulations);
    }
}

/// A path of two hops in two encapsulations.
fn changes(person: &Person, encapsulations: [&str; 2]) {
    let hosts = row(person, encapsulations);
    let [a, relay, b] = &hosts;
    for host in [a, relay, b] {
        host.device("--vni 1");
    }
    assert!(eventually(|| a.reaches(relay)), "{}", stats(&hosts));
    assert!(eventually(|| relay.reaches(b)), "{}", stats(&hosts));
    let station = |host: &Host<'_>| host.sh("ip -o link show ov0 | sed 's/.*ether //; s/ .*//'");
    let (of_a, of_b) = (station(a), station(b));
    a.sh(&format!("ip neigh replace {} lladdr {} dev ov0", b.inner(), of_b.trim()));
    b.sh(&format!("ip neigh replace {} lladdr {} dev ov0", a.inner(), of_a.trim()));
    a.overlay(&format!("fib add ov0 {} 10.0.0.2", of_b.trim()));
    // Whom a packet is from is not known behind a hop that does not say it: b knows the relay.
    let behind = if encapsulations[1] == "ovstack" { "10.0.0.1" } else { "10.0.0.2" };
    b.overlay(&format!("fib add ov0 {} {behind}", of_a.trim()));
    relay.overlay(&format!("fib add ov0 {} 10.0.0.1", of_a.trim()));
    relay.overlay(&format!("fib add ov0 {} 10.0.0.3", of_b.trim()));
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    transfers(a, b);
    datagrams_at_once(a, b, &b.inner(), &encapsulations.join(" and "));
}

#[test]
fn the_kernels_vxlan_speaks_with_ours() {
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    hosts[0].start_agent();
    let [a, b] = &hosts;
    a.overlay("config application ethernet --group 224.0.0.1 --encapsulation vxlan");
    a.identify("192.0.2.1");
    a.know(b, "192.0.2.2");
    a.device("--vni 42");
    b.sh("ip link add ov0 type vxlan id 42 dstport 4789 local 192.0.2.2 remote 192.0.2.1 dev eth0 && ip link set ov0 up \
          && ip addr add 10.1.0.2/24 dev ov0");
    assert!(eventually(|| a.reaches(b)), "{}", a.overlay("stats"));
    transfers(a, b);
    transfers(b, a);
    datagrams_at_once(a, b, &b.inner(), "to the kernel's");
    datagrams_at_once(b, a, &a.inner(), "from the kernel's");
}
