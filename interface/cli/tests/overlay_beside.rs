//! What is beside an overlay on a host and stays apart: another application, and programs of others.

mod common;

use common::{Host, Person, Pinged, eventually, installed};
use plait_dataplane_bpf::{Attachment, Program, Programs, Sizes, names};
use plait_dataplane_reference::mapped;
use plait_dataplane_reference::tables::{Device, Drop, EndpointKey, driver};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::{Value, json};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;

/// What a device of a host sent and received.
fn counts(host: &Host<'_>, device: &str) -> (u64, u64) {
    let of = host.json("stats")["devices"][device].clone();
    (of["sent"].as_u64().unwrap(), of["received"].as_u64().unwrap())
}

/// Two applications of the same nodes, locators and virtual network, each with a device, in which the other host has the same
/// station.
#[test]
fn no_packet_crosses_from_one_application_to_another() {
    const APPLICATIONS: [(u8, &str); 2] = [(7, "ov7"), (8, "ov8")];
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    hosts.iter_mut().for_each(Host::start_agent);
    for (host, other) in [(0, 1), (1, 0)] {
        let (host, other) = (&hosts[host], &hosts[other]);
        // What hosts say to all of IPv6 is nobody's packet here.
        host.sh("echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6");
        for (application, device) in APPLICATIONS {
            host.overlay(&format!("config application {application} --group 224.0.0.1"));
            host.overlay(&format!("id set {} --app {application}", host.id()));
            host.overlay(&format!("locator add {} --app {application}", host.locator()));
            host.overlay(&format!("node add {} {} --app {application}", other.id(), other.locator()));
            for via in [host.id(), other.id()] {
                host.overlay(&format!("route add 224.0.0.1 --via {via} --app {application}"));
            }
            host.overlay(&format!("route add {} --via {} --app {application}", other.id(), other.id()));
            host.overlay(&format!("config device {device} --app {application} --vni 1"));
            host.sh(&format!("ip link set {device} address 02:00:00:00:00:0{}", host.number));
            host.sh(&format!("ip addr add 10.{application}.0.{}/24 dev {device}", host.number));
        }
    }
    let [a, b] = &hosts;
    let pings = |application: u8, count: &str| {
        let address = format!("10.{application}.0.2");
        let ended = a.exec(&["ping", "-i", "0.02", "-c", count, "-W", "1", &address]);
        if ended.code() == Some(0) { Pinged::read(&ended.stdout).answered.len() } else { 0 }
    };
    let stats = || format!("{}{}", a.overlay("stats"), b.overlay("stats"));
    for (application, _) in APPLICATIONS {
        assert!(eventually(|| pings(application, "1") == 1), "{}", stats());
    }
    // Nothing that one sends comes out of the other, whoever it is for.
    for ((application, device), (_, other)) in
        [(APPLICATIONS[0], APPLICATIONS[1]), (APPLICATIONS[1], APPLICATIONS[0])]
    {
        let (mine, others) = (counts(b, device).1, counts(b, other));
        assert_eq!(pings(application, "50"), 50, "{}", stats());
        // What is for all, and what is for a station that nobody knows.
        let nobody = format!("ip neigh replace 10.{application}.0.99 lladdr 02:00:00:00:00:99 dev {device}");
        a.sh(&nobody);
        a.exec(&["ping", "-c", "5", "-i", "0.02", "-W", "1", &format!("10.{application}.0.99")]);
        assert!(counts(b, device).1 >= mine + 55, "{}", stats());
        // Now and then hosts ask each other for their hardware addresses.
        let after = counts(b, other);
        assert!(after.0 - others.0 < 5 && after.1 - others.1 < 5, "{}", stats());
    }
    // What one knows the other does not: nodes, ways, stations and own identities.
    a.overlay("node add 10.0.0.3 192.0.2.2 --app 8");
    a.overlay("route add 10.0.0.3 --via 10.0.0.3 --app 8");
    a.overlay("fib add ov8 02:00:00:00:00:03 10.0.0.3");
    let stations = |device: &str| a.json(&format!("fib show {device}")).to_string();
    assert!(stations("ov8").contains("02:00:00:00:00:03") && !stations("ov7").contains("02:00:00:00:00:03"));
    assert!(!a.overlay("node show --app 7").contains("10.0.0.3"));
    a.overlay("route del 10.0.0.2 --via 10.0.0.2 --app 8");
    assert_eq!((pings(7, "3"), pings(8, "1")), (3, 0), "{}", stats());
    a.overlay("route add 10.0.0.2 --via 10.0.0.2 --app 8");
    b.overlay("id set 10.0.0.9 --app 8");
    assert_eq!((pings(7, "3"), pings(8, "1")), (3, 0), "{}", stats());
    b.overlay("id set 10.0.0.2 --app 8");
    assert!(eventually(|| pings(8, "1") == 1), "{}", stats());
    // A locator that is known in one is a stranger's in the other.
    let before = b.dropped("unknown-locator");
    b.overlay(&format!("node del 10.0.0.1 {} --app 7", a.locator()));
    assert_eq!((pings(7, "1"), pings(8, "3")), (0, 3), "{}", stats());
    assert!(b.dropped("unknown-locator") > before, "{}", stats());
}

/// Two overlays of the same three hosts, of which the first and the last reach each other's locators of one by the kernel of the
/// middle one, and of the other not at all.
///
/// ```text
/// a ──192.0.0.0── b ──192.0.1.0── c    application 7, mesh: straight, b's kernel forwards
///   ─198.51.100.0─  ─198.51.101.0─     application 8, delay: by b's overlay
/// ```
#[test]
fn mesh_and_delay_run_side_by_side_and_carry_tcp_both_ways_at_once() {
    let Some(person) = Person::root() else { return };
    if !installed("iperf3") {
        return;
    }
    let hosts = Host::in_a_row(&person, [1, 2, 3]);
    let [a, b, c] = &hosts;
    a.sh("ip addr add 198.51.100.1/24 dev right && ip route add 192.0.1.0/24 via 192.0.0.2");
    b.sh("ip addr add 198.51.100.2/24 dev left && ip addr add 198.51.101.1/24 dev right && echo 1 > /proc/sys/net/ipv4/ip_forward");
    c.sh("ip addr add 198.51.101.2/24 dev left && ip route add 192.0.0.0/24 via 192.0.1.1");
    let locators: [[&[&str]; 2]; 3] = [
        [&["192.0.0.1"], &["198.51.100.1"]],
        [&["192.0.0.2", "192.0.1.1"], &["198.51.100.2", "198.51.101.1"]],
        [&["192.0.1.2"], &["198.51.101.2"]],
    ];
    for (host, locators) in hosts.iter().zip(locators) {
        host.sh("umask 077 && echo a key that all nodes share > /run/key");
        for ((application, plane, seeds), locators) in
            [(7, "mesh", ["192.0.0.2", "192.0.1.1"]), (8, "delay", ["198.51.100.2", "198.51.101.1"])]
                .into_iter()
                .zip(locators)
        {
            host.overlay(&format!("config application {application} --group 224.0.0.1"));
            host.overlay(&format!("id set {} --app {application}", host.id()));
            for locator in locators {
                host.overlay(&format!("locator add {locator} --app {application}"));
            }
            host.overlay(&format!("config device ov{application} --app {application} --vni 1"));
            host.sh(&format!("ip addr add 10.{application}.0.{}/24 dev ov{application}", host.number));
            let seed = seeds[usize::from(host.number == 3)];
            host.overlay(&format!(
                "config control {plane} --app {application} --key /run/key --seed {seed} --interval 200"
            ));
        }
    }
    let way = |host: &Host<'_>, application: u8, to: &Host<'_>| {
        host.json(&format!("route show --app {application}"))[to.id()].clone()
    };
    let is_straight = || way(a, 7, c) == json!([c.id()]) && way(c, 7, a) == json!([a.id()]);
    let is_relayed = || way(a, 8, c) == json!([b.id()]) && way(c, 8, a) == json!([b.id()]);
    let shown = |application: u8| a.overlay(&format!("route show --app {application}"));
    assert!(eventually(is_straight) && eventually(is_relayed), "{}{}", shown(7), shown(8));
    for application in [7, 8] {
        let answers =
            || a.exec(&["ping", "-c", "1", "-W", "1", &format!("10.{application}.0.3")]).code() == Some(0);
        assert!(eventually(answers), "{}", a.overlay("stats"));
    }

    // Four ways at once. What is relayed is counted at the relay, and of the other overlay there is nothing to relay.
    let servers = [7, 8].map(|application| {
        let (address, port) = (format!("10.{application}.0.3"), format!("520{application}"));
        let server = c.start(&["iperf3", "-s", "-1", "-B", &address, "-p", &port]);
        assert!(eventually(|| c.sh("ss -Htln").contains(&format!(":{port} "))));
        server
    });
    let clients = [7, 8].map(|application| {
        let (address, port) = (format!("10.{application}.0.3"), format!("520{application}"));
        a.start(&["iperf3", "-c", &address, "-p", &port, "--bidir", "-t", "2", "-J"])
    });
    for client in clients {
        let report = client.wait().json();
        for sum in ["sum_received", "sum_received_bidir_reverse"] {
            let bytes = report["end"][sum]["bytes"].as_u64().unwrap_or_default();
            assert!(bytes > 1_000_000, "{sum}: {report:#}");
        }
    }
    servers.into_iter().for_each(|server| drop(server.wait().fine()));
    let stats = b.json("stats");
    let passed = |application: u8, to: &Host<'_>| {
        let of = |row: &&Value| row["application"] == application && row["node"] == to.id();
        let row = stats["nodes"].as_array().unwrap().iter().find(of);
        row.map_or((0, 0), |row| (row["bytes"].as_u64().unwrap(), row["packets"].as_u64().unwrap()))
    };
    for to in [a, c] {
        assert!(passed(8, to).0 > 1_000_000 && passed(7, to).0 < 1_000_000, "{stats:#}");
    }
    // A superpacket is one packet, as in the counters of the kernel's devices.
    let (bytes, packets) = passed(8, c);
    assert!(bytes > 1500 * packets, "{stats:#}");

    // Who leaves one stays in the other.
    c.overlay("config control none --app 7");
    assert!(eventually(|| way(a, 7, c).is_null()), "{}", shown(7));
    assert!(is_relayed(), "{}", shown(8));
    assert_eq!(a.exec(&["ping", "-c", "3", "-i", "0.1", "-W", "20", "10.8.0.3"]).code(), Some(0));
}

/// A program of somebody else's on a device: it drops and counts what comes to one UDP port of an address, and leaves the rest to
/// who is behind it.
struct Other {
    programs: Programs,
    _attachment: Attachment,
}

impl Other {
    fn on(interface: u32) -> Self {
        let device = Device { tenant: 1, driver: driver::ETHERNET, prefix: [0; 2], offset: 0, mask: [0; 16] };
        let programs =
            Programs::load(&[Program::Receive], &device, Sizes { identifiers: 1, nodes: 1 }).unwrap();
        let attachment = programs.attach(Program::Receive, interface).unwrap();
        Self { programs, _attachment: attachment }
    }

    fn wait_at(&self, port: u32) {
        let endpoints = self.programs.table(&names::ENDPOINTS).unwrap();
        for key in endpoints.keys().collect::<Vec<_>>() {
            endpoints.remove(&key).unwrap();
        }
        let own = mapped(Ipv4Addr::new(192, 0, 2, 1).into());
        endpoints.set(&EndpointKey { own, protocol_port: 17 << 16 | port }, &0).unwrap();
    }

    fn counted(&self) -> u64 {
        self.programs.drops().unwrap().get(&Drop::UnknownLocator).copied().unwrap_or_default()
    }
}

/// Of a packet only the first of several programs that drop it counts it: so their order shows.
#[test]
fn programs_of_others_stay_on_their_device_in_their_order() {
    // The thread enters a host's network, and ends with the test.
    std::thread::spawn(others_in_their_order).join().unwrap();
}

fn others_in_their_order() {
    const OVERLAYS: u32 = 60002;
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    let network = File::open(format!("/proc/{}/ns/net", hosts[0].pid())).unwrap();
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
    let line = hosts[0].sh("ip -o link show eth0");
    let interface = line.split(':').next().unwrap().trim().parse().unwrap();

    let first = Other::on(interface);
    hosts[0].start_agent();
    hosts[0].overlay("config application ethernet --group 224.0.0.1");
    hosts[0].identify("192.0.2.1");
    hosts[0].know(&hosts[1], "192.0.2.2");
    let last = Other::on(interface);
    hosts[1].sh("ip addr add 192.0.2.66/24 dev eth0");
    // A stranger's packet to a port of the host's, and who counts it: the first, the agent's program, the last.
    let send = |hosts: &[Host<'_>; 2], port: u32| {
        let ours = || match hosts[0].try_overlay("--json stats") {
            ended if ended.code() == Some(0) => hosts[0].dropped("unknown-locator"),
            _ => 0,
        };
        let before = [first.counted(), ours(), last.counted()];
        let line = format!(
            "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('192.0.2.66', 0))\n\
             s.sendto(b'x' * 60, ('192.0.2.1', {port}))\n"
        );
        hosts[1].exec(&["/usr/bin/python3", "-c", &line]).fine();
        let mut counted = [0; 3];
        let any = || {
            let after = [first.counted(), ours(), last.counted()];
            counted = [0, 1, 2].map(|place| after[place] - before[place]);
            counted != [0; 3]
        };
        eventually(any);
        counted
    };
    let in_order = |hosts: &[Host<'_>; 2]| {
        last.wait_at(OVERLAYS);
        first.wait_at(OVERLAYS);
        assert_eq!(send(hosts, OVERLAYS), [1, 0, 0], "the first is before all");
        first.wait_at(9);
        assert_eq!(send(hosts, OVERLAYS), [0, 1, 0], "the agent's is before the last");
        last.wait_at(8);
        assert_eq!(send(hosts, 8), [0, 0, 1], "what is none of the overlay's gets to the last");
    };
    in_order(&hosts);
    // A successor's program takes the place of its predecessor's.
    hosts[0].kill_agent();
    hosts[0].start_agent();
    in_order(&hosts);
    // An agent's own devices and links come and go; those of others stay where they are.
    hosts[0].device("--vni 1");
    hosts[0].overlay("config device ov0 --delete");
    in_order(&hosts);
    hosts[0].kill_agent();
    hosts[0].overlay("agent --remove");
    first.wait_at(OVERLAYS);
    last.wait_at(OVERLAYS);
    assert_eq!(send(&hosts, OVERLAYS), [1, 0, 0]);
    first.wait_at(9);
    assert_eq!(send(&hosts, OVERLAYS), [0, 0, 1], "nothing is between them");
}
