//! What is beside an overlay on a host and stays apart: another application, and programs of others.

mod common;

use common::{Host, Person, Pinged, eventually};
use plait_dataplane_bpf::{Attachment, Program, Programs, Sizes, names};
use plait_dataplane_reference::mapped;
use plait_dataplane_reference::tables::{Device, Drop, EndpointKey, driver};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
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

/// A program of somebody else's on a device: it drops and counts what comes to one UDP port of an address, and leaves the rest to
/// who is behind it.
struct Other {
    programs: Programs,
    _attachment: Attachment,
}

impl Other {
    fn on(interface: u32) -> Self {
        let device = Device { tenant: 1, driver: driver::ETHERNET, prefix: [0; 2], offset: 0, mask: [0; 16] };
        let programs = Programs::load(&device, Sizes { identifiers: 1, nodes: 1 }).unwrap();
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
