//! What devices do with what they carry: by bits, by routes of the kernel, into another overlay.

use super::*;

/// Says some words of the overlay FIB's author to a host's agent.
fn madcap(host: &Host<'_>, words: &str) -> common::Ended {
    host.plait(&format!("ip madcap {words}"))
}

#[test]
fn madcaps_words_make_a_device_that_finds_frames_by_their_bits() {
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    hosts.iter_mut().for_each(Host::start_agent);
    let [a, b] = &hosts;
    for (host, other) in [(a, b), (b, a)] {
        let (locator, theirs) = (host.locator(), other.locator());
        madcap(host, &format!("set dev mc0 offset 16 length 48 src {locator} proto udp")).fine();
        assert_eq!(
            madcap(host, "show config dev mc0").fine(),
            format!("offset 16 length 48 proto 17 src {locator}\n")
        );
        host.sh(&format!("ip link set mc0 address 02:00:00:00:00:0{}", host.number));
        host.sh(&format!("ip addr add {}/24 dev mc0", host.inner()));
        for id in [format!("02000000000{}", other.number), "ffffffffffff".to_owned()] {
            madcap(host, &format!("add id {id} dst {theirs} dev mc0")).fine();
        }
    }
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    transfers(a, b);
    let shown = a.json("stats --entries");
    let entries = shown["entries"].as_array().unwrap();
    let counts =
        |id: &str| entries.iter().find(|row| row["identifier"] == id).and_then(|row| row["packets"].as_u64());
    assert!(counts("020000000002") > Some(0) && counts("ffffffffffff") > Some(0), "{shown}");
    let looks =
        format!("{} --json overlay stats --entries --every 20ms | head -n 2", person.program().display());
    let looks = a.exec(&["sh", "-c", &looks]).fine();
    let has_entries = |look: &str| {
        let look: Value = serde_json::from_str(look).unwrap();
        look["entries"].as_array().is_some_and(|entries| entries.len() == 2)
    };
    assert!(looks.lines().count() == 2 && looks.lines().all(has_entries), "{looks}");
    a.try_overlay("stats --entries --metrics").fails_saying(2, &["--metrics"]);
    a.try_overlay("stats --every 1ms").fails_saying(2, &["10ms or more"]);
    // A miss is dropped and counted; what was changed of the device is refused, and so are bits of another number.
    madcap(a, &format!("del id 020000000002 dst {} dev mc0", b.locator())).fine();
    assert!(!a.reaches(b));
    assert!(a.dropped("unknown-identifier") > 0, "{}", stats(&hosts));
    madcap(a, "set dev mc0 offset 17 length 48 src 192.0.2.1").fails_saying(1, &["mc0", "--delete"]);
    madcap(a, "set dev mc1 offset 16.1 length 128 src 192.0.2.1")
        .fails_saying(1, &["128 bits from 1", "1 to 128"]);
    madcap(a, "add id 0200 dst 192.0.2.2 dev mc0").fails_saying(1, &["48 bits", "12 hexadecimal digits"]);
    madcap(a, "add id 0200 dst 192.0.2.2 dev eth0").fails_saying(1, &["eth0", "ip madcap set"]);
    assert!(madcap(a, "show dev mc0").fine().contains("ffffffffffff"));
    // The node goes with the last entry that leads to it, in all tables.
    let nodes = || {
        ["node", "route"].map(|of| a.json(&format!("{of} show --app 8")).to_string().contains("192.0.2.2"))
    };
    assert_eq!(nodes(), [true, true]);
    madcap(a, &format!("del id ffffffffffff dst {} dev mc0", b.locator())).fine();
    assert_eq!(nodes(), [false, false]);
    madcap(a, &format!("add id ffffffffffff dst {} dev mc0", b.locator())).fine();
    // A second one is the same node's, and a network of its own.
    let before = a.json("config show")["applications"].clone();
    for (words, of) in [
        ("offset 16 length 48 src 192.0.2.99", "src 192.0.2.1"),
        ("offset 8 length 48 src 192.0.2.1 proto gre", "proto 17"),
        ("src 192.0.2.1 proto udp", "proto 17"),
    ] {
        madcap(a, &format!("set dev mc1 {words}")).fails_saying(1, &["`mc0`", of]);
    }
    for (host, other) in [(a, b), (b, a)] {
        madcap(host, &format!("set dev mc1 offset 16 length 48 src {}", host.locator())).fine();
        host.sh(&format!("ip link set mc1 address 02:00:00:00:01:0{}", host.number));
        host.sh(&format!("ip addr add 10.2.0.{}/24 dev mc1", host.number));
        for id in [format!("02000000010{}", other.number), "ffffffffffff".to_owned()] {
            madcap(host, &format!("add id {id} dst {} dev mc1", other.locator())).fine();
        }
    }
    assert_eq!(a.json("config show")["applications"], before);
    madcap(a, &format!("add id 020000000002 dst {} dev mc0", b.locator())).fine();
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    assert!(
        eventually(|| a.exec(&["ping", "-c", "1", "-W", "1", "10.2.0.2"]).code() == Some(0)),
        "{}",
        stats(&hosts)
    );
}

/// Waits for a packet with a mark on each of some devices, and says its bytes.
const LISTEN: &str = "
import select, socket, sys, time
of = {}
for name in sys.argv[2:]:
    heard = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    heard.bind((name, 0))
    of[heard] = name
end = time.time() + 20
while of and time.time() < end:
    for heard in select.select(list(of), [], [], 0.1)[0]:
        packet = heard.recv(2000)
        if sys.argv[1].encode() in packet:
            print(of.pop(heard), packet.hex())
";

/// Sends a frame by a device, again and again; what is dropped there the kernel tells, and it goes on.
const SEND: &str = "
import socket, sys, time
by = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
by.bind((sys.argv[1], 0))
for _ in range(int(sys.argv[3])):
    try:
        by.send(bytes.fromhex(sys.argv[2]))
    except OSError:
        pass
    time.sleep(0.05)
";

#[test]
fn every_row_of_the_overlay_fibs_table_finds_its_way() {
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    hosts.iter_mut().for_each(Host::start_agent);
    let [a, b] = &hosts;
    let row = |device: &str, words: &str, id: &str| {
        for (host, other) in [(a, b), (b, a)] {
            madcap(host, &format!("set dev {device} {words} src {}", host.locator())).fine();
            madcap(host, &format!("add {id}dst {} dev {device}", other.locator())).fine();
        }
    };
    let give_up = |device: &str| {
        hosts.iter().for_each(|host| drop(host.overlay(&format!("config device {device} --delete"))));
    };
    // IPIP, GRE and VXLAN-GPE: no bits, one entry. The thesis names a device of the host: that keeps what it has.
    for (proto, shown) in [("ipip", 4), ("gre", 47), ("udp", 17)] {
        row("eth0", &format!("proto {proto}"), "");
        let said = madcap(a, "show config dev eth0").fine();
        assert_eq!(said, format!("offset none length none proto {shown} src 192.0.2.1\n"));
        for host in &hosts {
            let number = host.number;
            host.sh(&format!("ip addr add 10.3.0.{number}/24 dev mc-eth0 && ip addr add fd00:3::{number}/64 dev mc-eth0 nodad"));
        }
        for address in ["10.3.0.2", "fd00:3::2"] {
            let answers = || a.exec(&["ping", "-c", "1", "-W", "1", address]).code() == Some(0);
            assert!(eventually(answers), "{proto} {address}: {}", stats(&hosts));
            transfers_to(a, b, address);
        }
        assert_eq!(a.json("fib show mc-eth0")[0]["identifier"], "all");
        a.try_overlay("fib add mc-eth0 2a 192.0.2.2").fails_saying(1, &["write `all`"]);
        give_up("mc-eth0");
    }
    // Labels over GRE, service paths over VXLAN-GPE: what is on the wire, and what comes up.
    let marked = "706c6169742773206f776e".repeat(3);
    for (words, id, other, carried, shim) in [
        ("offset 4 length 20 proto gre", "0002a", "0002b", "8847", "00008847"),
        ("offset 20 length 32 proto udp", "0000070c", "0000070d", "894f", "0c00000400000100"),
    ] {
        row("mc0", words, &format!("id {id} "));
        assert!(madcap(a, "show config dev mc0").fine().starts_with(&words[..words.find(" proto").unwrap()]));
        let packet = |id: &str| match carried {
            "8847" => format!("{id}140{marked}"),
            _ => format!("0fc20201{id}{marked}"),
        };
        let frame = |id: &str| format!("{}{carried}{}", "02".repeat(12), packet(id));
        let listens = b.start(&["python3", "-c", LISTEN, "plait's own", "eth0", "mc0"]);
        a.exec(&["python3", "-c", SEND, "mc0", &frame(id), "40"]).fine();
        let heard = listens.wait().fine();
        let on = |device: &str| heard.lines().find_map(|line| line.strip_prefix(device)).unwrap_or_default();
        assert!(on("eth0 ").ends_with(&format!("{shim}{}", packet(id))), "{words}: {heard}{}", stats(&hosts));
        assert!(on("mc0 ").ends_with(&format!("{carried}{}", packet(id))), "{words}: {heard}");
        let before = a.dropped("unknown-identifier");
        a.exec(&["python3", "-c", SEND, "mc0", &frame(other), "3"]).fine();
        assert_eq!(a.dropped("unknown-identifier"), before + 3, "{}", stats(&hosts));
        let traced = a.try_overlay(&format!("trace mc0 {id} --seconds 0"));
        assert!(
            traced.stdout.contains(if carried == "8847" { "gre" } else { "vxlan-gpe" }),
            "{}",
            traced.stdout
        );
        // What has no bits there, and what no frame carries.
        let count = |what: &str| a.dropped(what);
        let malformed = count("malformed");
        for frame in [format!("{}88b5{marked}", "02".repeat(12)), format!("{}8847aa", "02".repeat(12))] {
            a.exec(&["python3", "-c", SEND, "mc0", &frame, "1"]).fine();
        }
        assert_eq!(count("malformed"), malformed + 2, "{}", stats(&hosts));
        // The entry of the LIB counts what went to that node.
        let nodes = a.json("stats")["nodes"].clone();
        assert!(nodes[0]["sent"].as_u64().is_some_and(|sent| sent >= 40), "{nodes:#}");
        give_up("mc0");
    }
    // Bits that begin and end within bytes: the last four of an address's first byte, eight, and one. Others do not count.
    row("mc0", "offset 16.4 length 13 proto udp", "id 0400 ");
    assert_eq!(madcap(a, "show config dev mc0").fine(), "offset 16.4 length 13 proto 17 src 192.0.2.1\n");
    madcap(a, "add id 2000 dst 192.0.2.2 dev mc0").fails_saying(1, &["13 bits", "4 hexadecimal digits"]);
    let frame = |to: &str| format!("{to}0200000000aa88b5{marked}");
    for to in ["020000000000", "f2007fffffff"] {
        let listens = b.start(&["python3", "-c", LISTEN, "plait's own", "mc0"]);
        a.exec(&["python3", "-c", SEND, "mc0", &frame(to), "40"]).fine();
        let heard = listens.wait().fine();
        assert!(heard.contains(&frame(to)), "{to}: {heard}{}", stats(&hosts));
    }
    let before = a.dropped("unknown-identifier");
    for to in ["060000000000", "020080000000", "020100000000"] {
        a.exec(&["python3", "-c", SEND, "mc0", &frame(to), "1"]).fine();
    }
    assert_eq!(a.dropped("unknown-identifier"), before + 3, "{}", stats(&hosts));
    assert_eq!(a.json("fib show mc0")[0]["identifier"], "0400");
    let traced = a.try_overlay("--json trace mc0 0400 --seconds 0").stdout;
    let traced: Value = serde_json::from_str(&traced).unwrap();
    assert_eq!(traced["hops"][0]["sent"][0]["outer"]["locators"][1], "192.0.2.2", "{traced:#}");
    give_up("mc0");
}

#[test]
fn what_nobody_knows_leaves_by_the_kernels_own_route_or_is_dropped_as_configured() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --carries ip");
    let [a, b] = &hosts;
    for (host, other) in [(a, b), (b, a)] {
        let (own, theirs) = (host.number, other.number);
        host.overlay(&format!("fib add ov0 {} {}", other.inner(), other.id()));
        host.overlay(&format!("fib add ov0 fd00::{theirs} {}", other.id()));
        host.sh(&format!("ip addr add fd00::{own}/64 dev ov0 nodad"));
        host.sh(&format!("ip addr add 2001:db8::{own}/64 dev eth0 nodad"));
    }
    // Addresses of the overlay's network that are at the other host, and that no table of the overlay has.
    b.sh("ip addr add 10.1.0.77/32 dev lo && ip addr add fd00::77/128 dev lo");
    let missing = ["10.1.0.77", "fd00::77"];
    let pings = |address: &str, count: &str| {
        a.exec(&["ping", "-i", "0.05", "-c", count, "-W", "1", "-s", "1200", address]).code() == Some(0)
    };
    let counts = || {
        let stats = a.json("stats");
        let of = &stats["devices"]["ov0"];
        let count = |name: &str| of[name].as_u64().unwrap_or(0);
        (count("sent"), count("missed"), stats["drops"]["unknown-identifier"].as_u64().unwrap_or(0))
    };
    assert!(eventually(|| pings(&b.inner(), "1") && pings("fd00::2", "1")), "{}", stats(&hosts));
    let configure =
        |miss: &str| a.overlay(&format!("config application ethernet --carries ip --miss {miss}"));
    let routes = |verb: &str| {
        a.sh(&format!("ip route {verb} default via 192.0.2.2 && ip -6 route {verb} default via 2001:db8::2"));
    };
    routes("add");
    for (miss, leaves) in [("group", false), ("kernel", true), ("drop", false), ("kernel", true)] {
        configure(miss);
        for address in missing {
            let before = counts();
            assert_eq!(pings(address, "3"), leaves, "{address} with {miss}: {}", stats(&hosts));
            let after = counts();
            assert_eq!(after.0, before.0, "none of it goes by the overlay");
            assert!(after.1 >= before.1 + 3, "{}", stats(&hosts));
            // Of a neighbour that is looked for IPv6 says more.
            assert_eq!(after.2 - before.2, if leaves { 0 } else { after.1 - before.1 });
        }
        let before = counts();
        assert!(pings(&b.inner(), "3") && pings("fd00::2", "3"));
        assert!(counts().0 >= before.0 + 6, "what is known goes by the overlay: {}", stats(&hosts));
    }
    let said = a.try_overlay("trace ov0 10.1.0.77 --seconds 0");
    assert!(said.stdout.contains("the host's kernel has it"), "{} {}", said.stdout, said.stderr);
    // The host's routes are followed: other devices have them, or none.
    let other = "ip link add eth1 type veth peer name eth2 && ip link set eth1 up && ip link set eth2 up && ip addr add \
                 198.51.100.1/24 dev eth1 && ip route replace default via 198.51.100.2";
    a.sh(other);
    assert!(eventually(|| !pings(missing[0], "1")));
    a.sh("ip link del eth1 && ip route add default via 192.0.2.2");
    assert!(eventually(|| pings(missing[0], "1")), "{}", stats(&hosts));
    a.sh("ip route flush dev eth0");
    let drops = || {
        let before = counts().2;
        !pings(missing[0], "1") && counts().2 > before
    };
    assert!(eventually(drops), "{}", stats(&hosts));
    assert!(pings(missing[1], "1"), "{}", stats(&hosts));
    assert!(a.overlay("stats").contains("MISSED"));
    assert!(a.overlay("stats --metrics").contains("plait_overlay_missed_packets_total{device=\"ov0\"}"));
    b.overlay("config application 8");
    b.try_overlay("config application 8 --miss kernel")
        .fails_saying(1, &["no route for a frame", "ip, bits or payload"]);
}

#[test]
fn a_host_forwards_from_one_overlay_to_another() {
    let Some(person) = Person::root() else { return };
    let hosts = Host::in_a_row(&person, [1, 2, 3]);
    let [a, router, b] = &hosts;
    // Two applications with a node each at both ends; the router between them is a host of both.
    for (application, left, right, net) in [(7, a, router, 0), (8, router, b, 1)] {
        for (host, other, own, theirs) in [(left, right, 1, 2), (right, left, 2, 1)] {
            host.overlay(&format!("config application {application} --carries ip"));
            host.overlay(&format!("id set {} --app {application}", host.id()));
            host.overlay(&format!("locator add 192.0.{net}.{own} --app {application}"));
            host.overlay(&format!("node add {} 192.0.{net}.{theirs} --app {application}", other.id()));
            host.overlay(&format!("route add {} --via {} --app {application}", other.id(), other.id()));
            host.overlay(&format!("config device ov{net} --app {application} --vni 1 --prefix4 0"));
            host.overlay(&format!("fib add ov{net} 0.0.0.0/0 {}", other.id()));
            host.sh(&format!("ip addr add 10.{net}.0.{}/24 dev ov{net}", host.number));
        }
    }
    router.sh("echo 1 > /proc/sys/net/ipv4/ip_forward");
    a.sh("ip route add 10.1.0.0/24 via 10.0.0.2");
    b.sh("ip route add 10.0.0.0/24 via 10.1.0.2");
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    transfers(a, b);
    assert_eq!(router.dropped("refused"), 0, "{}", stats(&hosts));
}

/// A station that is silent is forgotten, in its network alone: another's of the same hardware address, who speaks, stays.
#[test]
fn stations_age_each_in_its_own_network() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --group 224.0.0.1");
    let [a, b] = &hosts;
    const STATION: &str = "02:00:00:00:00:42";
    for host in &hosts {
        host.overlay("config device ov1 --vni 2 --ageing 1");
        host.sh(&format!("ip addr add 10.2.0.{}/24 dev ov1", host.number));
        host.overlay("config device ov0 --vni 1 --ageing 1");
    }
    for device in ["ov0", "ov1"] {
        // Who has no address of IPv6 is silent, if nobody asks.
        b.sh(&format!(
            "echo 1 > /proc/sys/net/ipv6/conf/{device}/disable_ipv6 && ip link set {device} address {STATION}"
        ));
    }
    let answers = || a.exec(&["ping", "-c", "1", "-W", "1", "10.2.0.2"]).code() == Some(0);
    assert!(eventually(|| a.reaches(b)) && eventually(answers), "{}", stats(&hosts));
    let knows = |device: &str| {
        let known = a.json(&format!("fib show {device}"));
        known.as_array().unwrap().iter().any(|row| row["identifier"] == STATION && row["node"] == b.id())
    };
    assert!(knows("ov0") && knows("ov1"), "{}", stats(&hosts));
    let speaks = a.start(&["ping", "-i", "0.2", "10.2.0.2"]);
    assert!(eventually(|| !knows("ov0")), "{}", a.overlay("fib show ov0"));
    assert!(knows("ov1"), "{}", a.overlay("fib show ov1"));
    speaks.signal(rustix::process::Signal::KILL);
    speaks.wait();
}

/// Who watches hears of stations that the data plane learns, of each once.
#[test]
fn stations_that_are_learned_are_told_to_those_who_watch() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --group 224.0.0.1");
    let [a, b] = &hosts;
    let line = format!("exec {} overlay watch >/run/heard", person.program().display());
    let watch = a.start(&["sh", "-c", &line]);
    let heard = |station: &str| {
        let line = format!("fib ov0 {station}");
        a.sh("cat /run/heard").lines().filter(|heard| *heard == line).count()
    };
    // Stations that come one after the other, until one is told: what was there before somebody watched is no news.
    let mut last = 0x10;
    let mut told = || {
        last += 1;
        let station = format!("02:00:00:00:00:{last:02x}");
        b.sh(&format!("ip link set ov0 address {station}"));
        a.sh("ip neigh flush dev ov0");
        assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
        std::thread::sleep(std::time::Duration::from_millis(1200));
        (heard(&station) > 0).then_some(station)
    };
    let station = (0..20).find_map(|_| told()).expect("stations that are learned are told");
    // It goes on to speak, and is no news any more.
    std::thread::sleep(std::time::Duration::from_millis(2200));
    assert!(a.reaches(b) && heard(&station) == 1, "{}", a.sh("cat /run/heard"));
    watch.signal(rustix::process::Signal::KILL);
    watch.wait();
}

#[test]
fn each_device_has_a_port_of_its_own_among_the_last_and_never_somebody_elses() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --group 224.0.0.1");
    let a = &hosts[0];
    a.overlay("config device ov1 --vni 2");
    let ports = || -> Vec<u16> {
        let said = a.sh("ip -d -o link show type vxlan");
        said.split("dstport ").skip(1).map(|rest| rest.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    let [first, second] = ports()[..] else { panic!("two devices: {:?}", ports()) };
    assert!(
        first != second && [first, second].iter().all(|port| (61_000..65_000).contains(port)),
        "{first} {second}"
    );

    a.overlay("config device ov1 --delete");
    let holds = format!(
        "import socket, time\ns = socket.socket(type=socket.SOCK_DGRAM)\ns.bind(('', {second}))\nprint('held', flush=True)\ntime.sleep(600)"
    );
    let other = a.start(&["python3", "-c", &holds]);
    assert!(eventually(|| a.sh("cat /proc/net/udp").contains(&format!(":{second:04X} "))));
    a.overlay("config device ov1 --vni 2");
    let [_, third] = ports()[..] else { panic!("two devices: {:?}", ports()) };
    assert!(
        third != second && third != first && (61_000..65_000).contains(&third),
        "{third} beside {second}"
    );
    other.signal(rustix::process::Signal::KILL);
    other.wait();
}
