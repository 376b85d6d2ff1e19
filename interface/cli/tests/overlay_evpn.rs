//! An overlay whose tables the distribution's FRR fills by BGP EVPN, beside a VTEP of the kernel's.
//!
//! ```text
//!                 r  FRR: route reflector, and a bridge between all
//!        ┌────────┼────────┐
//!        a        b        k  FRR and a VXLAN device of the kernel
//!     overlay  overlay     │
//!                          h  a host behind it
//! ```

mod common;

use common::{Host, Person, Running, Testbed, eventually, installed, skip};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;

const VNI: u32 = 42;
/// The host behind the kernel's VTEP.
const HOST: u8 = 5;

/// A router's daemons, which end with it.
struct Daemons {
    bgpd: Option<Running>,
    _zebra: Running,
}

fn daemon(host: &Host<'_>, name: &str) -> Running {
    let line = format!(
        "exec /usr/lib/frr/{name} -u root -g root -f /run/frr.conf -i /run/{name}.pid -z /run/zserv.api --vty_socket /run \
         -A 127.0.0.1"
    );
    host.start(&["sh", "-c", &line])
}

impl Daemons {
    fn start(host: &Host<'_>, config: &str) -> Self {
        host.sh(&format!("cat > /run/frr.conf <<'END'\n{config}\nEND"));
        // As root they run only where root is of their group.
        host.sh("sed -E 's/^(frrvty|frr):.*[^:]$/&,root/; s/^(frrvty|frr):.*:$/&root/' /etc/group > /run/group && \
                 mount --bind /run/group /etc/group");
        let zebra = daemon(host, "zebra");
        assert!(eventually(|| host.exec(&["test", "-e", "/run/zserv.api"]).code() == Some(0)));
        let mut daemons = Self { bgpd: None, _zebra: zebra };
        daemons.start_bgpd(host);
        daemons
    }

    fn start_bgpd(&mut self, host: &Host<'_>) {
        self.bgpd = Some(daemon(host, "bgpd"));
    }

    /// As nothing else ends it.
    fn kill_bgpd(&mut self) {
        let bgpd = self.bgpd.take().expect("bgpd runs");
        bgpd.signal(Signal::KILL);
        bgpd.wait();
    }
}

/// Whom a station is at, as a host's overlay knows it.
fn place(host: &Host<'_>, mac: &str) -> Option<String> {
    let fib = host.json("fib show ov0");
    let row = fib.as_array().unwrap().iter().find(|row| row["identifier"] == mac)?;
    assert!(row["heard"].is_null(), "nothing is learned from frames: {row}");
    Some(row["node"].as_str().unwrap().to_owned())
}

/// What FRR says of a station.
fn said(host: &Host<'_>, mac: &str) -> String {
    host.exec(&["vtysh", "--vty_socket", "/run", "-c", &format!("show evpn mac vni {VNI} mac {mac}")]).stdout
}

fn mac(host: &Host<'_>, device: &str) -> String {
    let shown: Value = serde_json::from_str(&host.sh(&format!("ip -json link show dev {device}"))).unwrap();
    shown[0]["address"].as_str().unwrap().to_owned()
}

fn answers(from: &Host<'_>, number: u8) -> bool {
    from.exec(&["ping", "-c", "1", "-W", "1", &format!("10.1.0.{number}")]).code() == Some(0)
}

fn state(host: &Host<'_>) -> String {
    host.json("evpn")[0]["state"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn frrs_evpn_drives_the_overlay_beside_a_vtep_of_the_kernels() {
    let Some(person) = Person::root() else { return };
    if !Path::new("/usr/lib/frr/bgpd").exists() {
        return skip("FRR is not installed");
    }
    let [mut a, b, r, k, h] = [1, 2, 3, 4, HOST].map(|number| Host::new(&person, number));
    r.sh("ip link add lan type bridge && ip link set lan up && ip addr add 192.0.2.3/24 dev lan");
    for (host, port) in [(&a, "to-a"), (&b, "to-b"), (&k, "to-k")] {
        host.link("eth0", &r, port);
        r.sh(&format!("ip link set {port} master lan"));
        host.sh(&format!("ip addr add {}/24 dev eth0", host.locator()));
    }
    // The kernel's VTEP, as FRR's documentation has it.
    k.sh(&format!(
        "ip link add stations type bridge && ip link add vx type vxlan id {VNI} local 192.0.2.4 dstport 4789 nolearning && \
         ip link set vx master stations && ip link set stations up && ip link set vx up && bridge link set dev vx learning off"
    ));
    h.link("eth0", &k, "to-h");
    k.sh("ip link set to-h master stations");
    h.sh(&format!("ip addr add 10.1.0.{HOST}/24 dev eth0 && ip link set eth0 mtu 1450"));
    let mut reflector = Daemons::start(
        &r,
        "router bgp 65000\n bgp router-id 192.0.2.3\n no bgp default ipv4-unicast\n neighbor F peer-group\n \
         neighbor F remote-as 65000\n neighbor F timers 1 3\n bgp listen range 192.0.2.0/24 peer-group F\n \
         address-family l2vpn evpn\n  neighbor F activate\n  neighbor F route-reflector-client\n exit-address-family",
    );
    let _vtep = Daemons::start(
        &k,
        "router bgp 65000\n bgp router-id 192.0.2.4\n no bgp default ipv4-unicast\n neighbor 192.0.2.3 remote-as 65000\n \
         neighbor 192.0.2.3 timers 1 3\n neighbor 192.0.2.3 timers connect 1\n address-family l2vpn evpn\n  \
         neighbor 192.0.2.3 activate\n  advertise-all-vni\n exit-address-family",
    );
    let mut b = b;
    for host in [&mut a, &mut b] {
        host.start_agent();
        host.overlay("config application ethernet --encapsulation vxlan");
        // Under an identity that no other node hears of.
        host.identify(&host.locator());
        host.device(&format!("--vni {VNI}"));
        host.overlay("config evpn --neighbor 192.0.2.3 --as 65000 --hold 3");
    }

    // Who wants what is for all: ARP's questions arrive, and with them all else.
    assert!(eventually(|| state(&a) == "Established" && state(&b) == "Established"), "{}", a.overlay("evpn"));
    let both_ways = |one: &Host<'_>, other: &Host<'_>| {
        eventually(|| answers(one, other.number)) && eventually(|| answers(other, one.number))
    };
    let shown = || format!("{}{}{}", a.overlay("evpn"), a.overlay("route show"), a.overlay("fib show"));
    assert!(both_ways(&a, &b), "{}", shown());
    assert!(both_ways(&a, &h), "{}\n{}", shown(), k.sh("bridge fdb show dev vx"));
    assert!(both_ways(&b, &h));
    if installed("iperf3") {
        for (server, client) in [(&a, &h), (&h, &a)] {
            let listening = server.start(&["iperf3", "-s", "-1"]);
            assert!(
                eventually(|| server.exec(&["grep", "-q", ":1451 ", "/proc/net/tcp6"]).code() == Some(0))
            );
            let to = format!("10.1.0.{}", server.number);
            client.exec(&["iperf3", "-c", &to, "-n", "20M"]).fine();
            listening.wait().fine();
        }
    }

    // Where stations are: each side knows the other's by routes, not by what it heard.
    let (of_a, of_b, of_h) = (mac(&a, "ov0"), mac(&b, "ov0"), mac(&h, "eth0"));
    assert!(eventually(|| place(&a, &of_h).as_deref() == Some("192.0.2.4")), "{}", shown());
    assert!(eventually(|| place(&a, &of_b).as_deref() == Some("192.0.2.2")));
    assert!(eventually(|| said(&k, &of_a).contains("192.0.2.1")), "{}", said(&k, &of_a));

    // A trace goes along what the feed told: to ours, who answers, and to the kernel's VTEP, which has nobody to do so.
    for host in [&a, &b] {
        host.sh("umask 077 && echo a key that both agents share > /run/key");
        host.overlay("config control static --key /run/key");
    }
    let traced = |to: &str| -> Value {
        let ended = a.try_overlay(&format!("--json trace ov0 {to} --seconds 0"));
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
    };
    let way = traced(&of_b);
    assert_eq!([&way["hops"][0]["node"], &way["hops"][1]["node"]], ["192.0.2.1", "192.0.2.2"], "{way:#}");
    assert!(way["delivered"] == true && way["hops"][1]["delivered"] == "ov0", "{way:#}");
    let way = traced(&of_h);
    assert_eq!(way["hops"][0]["sent"][0]["outer"]["locators"][1], "192.0.2.4", "{way:#}");
    assert!(way["delivered"] == false && way["hops"][1]["ends"] == "no answer", "{way:#}");
    a.try_overlay("config control mesh --key /run/key").fails_saying(1, &["config evpn --delete"]);

    // What is withdrawn is no more: a station, and who wants what is for all.
    b.overlay("config device ov0 --delete");
    assert!(eventually(|| place(&a, &of_b).is_none()));
    assert!(eventually(|| a.json("route show").get("192.0.2.2").is_none()), "{}", shown());
    assert!(eventually(|| !said(&k, &of_b).contains("192.0.2.2")));
    b.device(&format!("--vni {VNI}"));

    // What somebody says by hand holds before what a feed tells, though that goes and comes again; what the feed tells holds without it.
    let of_b = mac(&b, "ov0");
    let is_at = |locator: &str| eventually(|| place(&a, &of_b).as_deref() == Some(locator));
    assert!(is_at("192.0.2.2"), "{}", shown());
    a.overlay(&format!("fib add ov0 {of_b} 192.0.2.4"));
    b.overlay("config device ov0 --delete");
    assert!(eventually(|| a.json("route show").get("192.0.2.2").is_none()), "{}", shown());
    b.device(&format!("--vni {VNI}"));
    b.sh(&format!("ip link set ov0 address {of_b}"));
    assert!(eventually(|| a.json("route show").get("192.0.2.2").is_some()), "{}", shown());
    assert_eq!(place(&a, &of_b).as_deref(), Some("192.0.2.4"), "{}", shown());
    a.overlay(&format!("fib del ov0 {of_b}"));
    assert!(is_at("192.0.2.2"), "{}", shown());

    // A station moves from the kernel's VTEP to ours, and back, which takes it with a higher number each time.
    h.sh("ip link set eth0 address 02:00:00:00:00:99");
    b.sh(&format!("ip link set ov0 address {of_h}"));
    assert!(eventually(|| place(&a, &of_h).as_deref() == Some("192.0.2.2")), "{}", shown());
    assert!(eventually(|| said(&k, &of_h).contains("192.0.2.2")), "{}", said(&k, &of_h));
    h.sh(&format!("ip link set eth0 address {of_h}"));
    let back = || {
        answers(&h, a.number);
        place(&a, &of_h).as_deref() == Some("192.0.2.4")
    };
    assert!(eventually(back), "{}\n{}", shown(), said(&k, &of_h));
    assert!(eventually(|| place(&b, &of_h).as_deref() == Some("192.0.2.4")), "ours yields");
    b.sh("ip link set ov0 address 02:00:00:00:00:02");
    // Hosts forget the address that they had of it.
    for host in [&a, &h] {
        host.sh("ip neigh flush all");
    }
    assert!(both_ways(&a, &h) && both_ways(&a, &b), "{}", shown());

    // A reflector that is killed and started again takes no packet along; one that is gone for longer than the hold time
    // takes what it told, and what is told anew counts.
    reflector.kill_bgpd();
    assert!(eventually(|| state(&a) != "Established"));
    assert!(answers(&a, b.number), "{}", shown());
    reflector.start_bgpd(&r);
    assert!(eventually(|| state(&a) == "Established"), "{}", shown());
    assert!(both_ways(&a, &b));
    reflector.kill_bgpd();
    assert!(
        eventually(|| place(&a, &of_h).is_none() && a.json("route show") == serde_json::json!({})),
        "{}",
        shown()
    );
    reflector.start_bgpd(&r);
    assert!(eventually(|| place(&a, &of_h).as_deref() == Some("192.0.2.4")), "{}", shown());

    assert!(both_ways(&a, &b) && both_ways(&a, &h));

    // An agent's successor holds what it held. FRR, which keeps no routes of EVPN for who is gone, tells the others of
    // this node anew.
    a.kill_agent();
    a.start_agent();
    assert_eq!(place(&a, &of_h).as_deref(), Some("192.0.2.4"));
    assert!(eventually(|| state(&a) == "Established"));
    assert!(both_ways(&a, &h) && both_ways(&a, &b));

    // Without it nothing of it is left, and stations are learned again.
    a.overlay("config evpn --delete");
    assert_eq!(a.json("node show"), serde_json::json!({}));
    assert!(eventually(|| said(&k, &of_a).is_empty() || !said(&k, &of_a).contains("192.0.2.1")));
}

#[test]
fn the_examples_file_builds_both_kinds_of_vteps_and_their_hosts_reach_each_other() {
    let Some(person) = Person::root() else { return };
    if !Path::new("/usr/lib/frr/bgpd").exists() {
        return skip("FRR is not installed");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/overlay-evpn.yaml");
    person.plait(&["up", file.to_str().unwrap(), "--name", "evpn"]).fine();
    let testbed = Testbed { person: &person, name: "evpn".to_owned(), file };
    for (from, to) in [("a", "10.99.0.100"), ("h", "10.99.0.1"), ("h", "10.99.0.2"), ("b", "a-ov0")] {
        let answers = || testbed.exec(from, &["ping", "-c", "1", "-W", "1", to]).code() == Some(0);
        assert!(
            eventually(answers),
            "{from} to {to}: {:?}",
            testbed.exec("a", &["plait", "overlay", "evpn"])
        );
    }
    testbed.down();
}
