//! Overlays between hosts that are as real as network namespaces are.

mod common;

use common::{Host, Person, Pinged, eventually, in_tries, installed};
use serde_json::Value;

/// Two hosts with agents, and `ov0` at both.
fn pair<'a>(person: &'a Person, application: &str) -> [Host<'a>; 2] {
    let mut hosts = Host::two(person);
    hosts.iter_mut().for_each(Host::start_agent);
    for (host, other) in [(0, 1), (1, 0)] {
        let (host, other) = (&hosts[host], &hosts[other]);
        host.overlay(&format!("config application {application}"));
        host.identify(&host.locator());
        host.know(other, &other.locator());
        host.device("--vni 1");
    }
    hosts
}

/// What all of them counted.
fn stats(hosts: &[Host<'_>]) -> String {
    hosts.iter().map(|host| format!("{}:\n{}", host.id(), host.overlay("stats"))).collect()
}

/// Sends some megabytes by TCP.
#[track_caller]
fn transfers(from: &Host<'_>, to: &Host<'_>) {
    transfers_to(from, to, &to.inner());
}

/// The same, to one of its addresses.
#[track_caller]
fn transfers_to(from: &Host<'_>, to: &Host<'_>, address: &str) {
    if !installed("iperf3") {
        return;
    }
    in_tries(3, || {
        let server = to.start(&["iperf3", "-s", "-1", "-B", address]);
        // Its port, listening.
        let listens = || {
            to.exec(&["sh", "-c", "grep -q ':1451 [0-9A-F:]* 0A ' /proc/net/tcp /proc/net/tcp6"]).code()
                == Some(0)
        };
        assert!(eventually(listens));
        let said = from.exec(&["iperf3", "-c", address, "-n", "20M", "-J"]).fine();
        let said: Value = serde_json::from_str(&said).unwrap();
        assert!(said["end"]["sum_received"]["bytes"].as_f64().is_some_and(|bytes| bytes > 10e6), "{said:#}");
        server.wait().fine();
    });
}

#[test]
fn frames_travel_in_every_encapsulation() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --group 224.0.0.1 --vni 1");
    let [a, b] = &hosts;
    for encapsulation in ["ovstack", "vxlan", "geneve", "nvgre", "gre", "mpls", "nsh"] {
        for host in &hosts {
            host.overlay(&format!(
                "config application ethernet --group 224.0.0.1 --vni 1 --encapsulation {encapsulation}"
            ));
        }
        assert!(
            eventually(|| a.reaches(b)),
            "{encapsulation}: {} {}",
            a.overlay("stats"),
            b.overlay("stats")
        );
        transfers(a, b);
    }
    // The largest packet is what fits with the header of the last.
    let link = a.sh("ip -o link show ov0");
    assert!(link.contains("mtu 1442"), "{link}");
    // Stations were learned, and their packets counted.
    let rows = a.json("fib show ov0");
    assert_eq!(rows[0]["node"], b.id());
    assert!(rows[0]["packets"].as_u64().unwrap() > 100, "{rows:#}");
    assert!(a.overlay("stats --metrics").contains("plait_overlay_sent_packets_total{device=\"ov0\"}"));
    // What cannot carry frames is refused, with what can.
    a.try_overlay("config application ethernet --encapsulation ipip")
        .fails_saying(1, &["ipip", "frames", "gre"]);
}

#[test]
fn packets_travel_in_every_encapsulation() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --carries ip --vni 1");
    let [a, b] = &hosts;
    for (host, other) in [(a, b), (b, a)] {
        host.overlay(&format!("fib add ov0 {} {}", other.inner(), other.id()));
    }
    for encapsulation in ["ovstack", "geneve", "gre", "ipip", "mpls", "nsh", "gue"] {
        for host in &hosts {
            host.overlay(&format!(
                "config application ethernet --carries ip --vni 1 --encapsulation {encapsulation}"
            ));
        }
        assert!(
            eventually(|| a.reaches(b)),
            "{encapsulation}: {} {}",
            a.overlay("stats"),
            b.overlay("stats")
        );
        transfers(a, b);
    }
    // Taken in by the device below, a host's packets are still its own, though not for a socket that has the other device.
    let by_device = || a.exec(&["ping", "-c", "1", "-W", "1", "-I", "ov0", &b.inner()]).code() == Some(0);
    assert!(eventually(by_device), "{}", a.overlay("stats"));
    a.overlay("config device ov0 --vni 1 --in-place");
    assert!(a.reaches(b), "{}", a.overlay("stats"));
    assert!(!by_device());
    transfers(b, a);
    b.sh("echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter");
    b.try_overlay("config device ov0 --vni 1 --in-place").fails_saying(1, &["net.ipv4.conf.all.rp_filter"]);
    a.try_overlay("fib add ov0 02:00:00:00:00:01 10.0.0.2")
        .fails_saying(1, &["32 bits of IPv4", "02:00:00:00:00:01"]);
    a.try_overlay("config device ov1 --vni 2")
        .fails_saying(1, &["gue does not name virtual network 2", "geneve"]);
    a.try_overlay("fib add ov1 10.1.0.9 10.0.0.2").fails_saying(1, &["no overlay device `ov1`"]);
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
        .fails_saying(1, &["no route for a frame", "ip or bits"]);
}

#[test]
fn an_agent_that_dies_stops_no_packet() {
    let Some(person) = Person::root() else { return };
    let mut hosts = pair(&person, "ethernet --group 224.0.0.1");
    assert!(eventually(|| hosts[0].reaches(&hosts[1])));
    let learned = hosts[0].json("fib show")[0]["identifier"].clone();
    let inner = hosts[1].inner();
    let ping = hosts[0].start(&["ping", "-i", "0.01", "-c", "250", "-W", "5", &inner]);
    hosts[0].kill_agent();
    std::thread::sleep(std::time::Duration::from_millis(500));
    hosts[0].start_agent();
    // What was told and what was learned is known again, and can be changed.
    assert_eq!(hosts[0].json("fib show")[0]["identifier"], learned);
    assert_eq!(hosts[0].overlay("id show"), "10.0.0.1\n");
    let said = Pinged::read(&ping.wait().fine());
    assert_eq!(said.answered.len(), 250, "no packet was lost");
    assert!(hosts[0].reaches(&hosts[1]));
    hosts[0].overlay("route del 10.0.0.2 --via 10.0.0.2");
    assert!(!hosts[0].reaches(&hosts[1]));
    hosts[0].overlay("route add 10.0.0.2 --via 10.0.0.2");
    assert!(hosts[0].reaches(&hosts[1]));

    // Where programs cannot stay, nothing begins.
    hosts[0]
        .try_overlay("--agent other agent --pins /run/pins")
        .fails_saying(1, &["/run/pins", "mount -t bpf"]);
    if let Some(user) = Person::user() {
        user.plait(&["overlay", "agent"])
            .fails_saying(1, &["need root", "lacks CAP_BPF and CAP_NET_ADMIN and CAP_PERFMON"]);
    }

    // A second agent is refused, and tables of another layout are.
    hosts[0].try_overlay("agent").fails_saying(1, &["an agent runs already"]);
    hosts[0].try_overlay("agent --remove").fails_saying(1, &["an agent runs already"]);
    hosts[0].kill_agent();
    hosts[0].sh("mkdir /sys/fs/bpf/plait-overlay/default/layout-999");
    hosts[0].try_overlay("agent").fails_saying(1, &["layout-999", "--remove"]);
    assert!(hosts[0].reaches(&hosts[1]), "and what runs goes on");

    // Nothing is left.
    hosts[0].overlay("agent --remove");
    assert_eq!(
        hosts[0].sh("exec 2>&1; ls /sys/fs/bpf/plait-overlay /run/plait-overlay"),
        "/run/plait-overlay:\n\n/sys/fs/bpf/plait-overlay:\n"
    );
    assert!(!hosts[0].sh("ip -o link").contains("ov0"));
    assert!(!hosts[0].sh("ip neigh").contains("managed"));
    hosts[0].try_overlay("id show").fails_saying(1, &["no overlay agent listens", "plait overlay agent"]);
    hosts[0].exec(&["ping", "-c", "1", "-W", "2", "192.0.2.2"]).fine();
}

/// `setpriv`'s words for another user with some capabilities and no other.
fn as_nobody(capabilities: &str) -> Vec<&str> {
    vec![
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps",
        capabilities,
        "--ambient-caps",
        capabilities,
    ]
}

#[test]
fn a_user_with_the_capabilities_and_no_other_runs_an_agent() {
    let (Some(person), Some(user)) = (Person::root(), Person::user()) else { return };
    let mut hosts = Host::two(&person);
    hosts[1].start_agent();
    let program = user.program().to_str().unwrap();
    let [a, b] = &hosts;
    a.sh("mkdir /run/plait-overlay /sys/fs/bpf/plait-overlay && chown 65534 /run/plait-overlay /sys/fs/bpf/plait-overlay");
    a.sh("chmod o+x /sys/fs/bpf");
    for (held, missing) in [
        ("+net_admin,+perfmon", "this one lacks CAP_BPF\n"),
        ("+bpf,+perfmon", "this one lacks CAP_NET_ADMIN\n"),
        ("+bpf,+net_admin", "this one lacks CAP_PERFMON\n"),
    ] {
        a.exec(&[&as_nobody(held)[..], &[program, "overlay", "agent"]].concat()).fails_saying(1, &[missing]);
    }
    a.exec(&["unshare", "--user", "--map-root-user", program, "overlay", "agent"])
        .fails_saying(1, &["is in a user namespace"]);
    // So does the plan of a network with an overlay, for a root without one of them.
    let net = person.file("net.yaml", "plait: 1\nnodes: [a, b]\nlinks: [a-b]\noverlays: {ov0: [a, b]}\n");
    let program_of_root = person.program().to_str().unwrap();
    for (lacks, said) in [("-bpf", "CAP_BPF"), ("-net_admin", "CAP_NET_ADMIN"), ("-perfmon", "CAP_PERFMON")] {
        a.exec(&["setpriv", "--bounding-set", lacks, program_of_root, "plan", net.to_str().unwrap()])
            .fails_saying(3, &["net.yaml:4:1", "overlays need eBPF", &format!("this root lacks {said}")]);
    }
    let agent = || {
        let words = [&as_nobody("+bpf,+net_admin,+perfmon")[..], &[program, "overlay", "agent"]].concat();
        let agent = a.start(&words);
        assert!(eventually(|| a.try_overlay("config show").code() == Some(0)), "{:?}", agent.wait());
        agent
    };
    let first = agent();
    for (host, other) in [(a, b), (b, a)] {
        host.overlay("config application ethernet --group 224.0.0.1");
        host.identify(&host.locator());
        host.know(other, &other.locator());
        host.device("--vni 1");
    }
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    // Its successor takes over what it left, and nothing is left behind that.
    first.signal(rustix::process::Signal::KILL);
    first.wait();
    assert!(a.reaches(b));
    let second = agent();
    assert!(a.reaches(b), "{}", stats(&hosts));
    second.signal(rustix::process::Signal::KILL);
    second.wait();
    let remove =
        [&as_nobody("+bpf,+net_admin,+perfmon")[..], &[program, "overlay", "agent", "--remove"]].concat();
    a.exec(&remove).fine();
    assert_eq!(
        a.sh("ls /run/plait-overlay /sys/fs/bpf/plait-overlay; ip -o link show type vxlan"),
        "/run/plait-overlay:\n\n/sys/fs/bpf/plait-overlay:\n"
    );
}

/// Three hosts in a row, the middle one a relay that knows no tenant, each with agents.
fn row<'a>(person: &'a Person, encapsulations: [&str; 2]) -> [Host<'a>; 3] {
    let mut hosts = [1, 2, 3].map(|number| Host::new(person, number));
    hosts[0].link("eth0", &hosts[1], "eth0");
    hosts[1].link("eth1", &hosts[2], "eth0");
    let addresses = [("192.0.2.1", "192.0.2.2"), ("198.51.100.2", "198.51.100.3")];
    hosts[0].sh("ip addr add 192.0.2.1/24 dev eth0");
    hosts[1].sh("ip addr add 192.0.2.2/24 dev eth0 && ip addr add 198.51.100.2/24 dev eth1");
    hosts[2].sh("ip addr add 198.51.100.3/24 dev eth0");
    hosts.iter_mut().for_each(Host::start_agent);
    let [a, relay, b] = &hosts;
    let ways = format!(
        "--to 10.0.0.1={} --to 10.0.0.2={} --to 10.0.0.3={}",
        encapsulations[0], encapsulations[0], encapsulations[1]
    );
    for (host, locators) in
        [(a, &[addresses[0].0][..]), (relay, &[addresses[0].1, addresses[1].0]), (b, &[addresses[1].1])]
    {
        let ways = match host.number {
            1 => format!("--to 10.0.0.2={}", encapsulations[0]),
            2 => ways.clone(),
            _ => format!("--to 10.0.0.2={}", encapsulations[1]),
        };
        host.overlay(&format!("config application ethernet --group 224.0.0.1 --vni 1 {ways}"));
        host.overlay(&format!("id set {}", host.id()));
        for locator in locators {
            host.overlay(&format!("locator add {locator}"));
        }
    }
    // Whatever locator the relay sends from, it is the relay's.
    for host in [a, b] {
        host.overlay(&format!("node add 10.0.0.2 {}", addresses[0].1));
        host.overlay(&format!("node add 10.0.0.2 {}", addresses[1].0));
    }
    relay.overlay(&format!("node add 10.0.0.1 {}", addresses[0].0));
    relay.overlay(&format!("node add 10.0.0.3 {}", addresses[1].1));
    for (host, to, via) in [
        (a, "10.0.0.2", "10.0.0.2"),
        (b, "10.0.0.2", "10.0.0.2"),
        (a, "10.0.0.3", "10.0.0.2"),
        (b, "10.0.0.1", "10.0.0.2"),
        (relay, "10.0.0.1", "10.0.0.1"),
        (relay, "10.0.0.3", "10.0.0.3"),
        (a, "224.0.0.1", "10.0.0.2"),
        (b, "224.0.0.1", "10.0.0.2"),
        (relay, "224.0.0.1", "10.0.0.1"),
        (relay, "224.0.0.1", "10.0.0.3"),
        (a, "224.0.0.1", "10.0.0.1"),
        (b, "224.0.0.1", "10.0.0.3"),
    ] {
        host.overlay(&format!("route add {to} --via {via}"));
    }
    hosts
}

/// Has a host compute the sums of what it sends by a device, as network cards do: a veth leaves them to whoever needs them, and
/// a packet that a driver relays has forgotten that they are missing.
fn sum(host: &Host<'_>, device: &str) {
    // ethtool(8)'s `-K DEVICE tx off`: SIOCETHTOOL with ETHTOOL_STXCSUM.
    let line = format!(
        "import array, fcntl, socket, struct; off = array.array('I', [0x17, 0]); \
         fcntl.ioctl(socket.socket(), 0x8946, struct.pack('16sP', b'{device}', off.buffer_info()[0]))"
    );
    host.exec(&["/usr/bin/python3", "-c", &line]).fine();
}

/// How many packets of the overlay a host's kernel sees in two seconds.
fn seen(host: &Host<'_>) -> usize {
    let line = "timeout 2 tcpdump -n -i any udp port 60002 2>/dev/null; true";
    host.sh(line).lines().count()
}

#[test]
fn a_driver_relays_past_the_kernel_and_past_its_agents_death() {
    let Some(person) = Person::root() else { return };
    let mut hosts = row(&person, ["ovstack", "ovstack"]);
    for host in [0, 2] {
        hosts[host].device("--vni 1");
    }
    assert!(eventually(|| hosts[0].reaches(&hosts[2])), "{}", stats(&hosts));
    let inner = hosts[2].inner();
    let ping = hosts[0].start(&["ping", "-i", "0.02", "-c", "100", "-W", "5", &inner]);
    assert!(seen(&hosts[1]) > 100, "the kernel relays");
    assert_eq!(Pinged::read(&ping.wait().fine()).answered.len(), 100);

    // A device that has nothing to do with the overlay.
    hosts[1]
        .sh("ip link add side0 type veth peer name side1 && ip link set side0 up && ip link set side1 up");
    // The relay first: its devices take packets from XDP only when there is somebody at their other ends who does.
    for host in [1, 0, 2] {
        hosts[host].kill_agent();
        hosts[host].start_agent_with(&["--xdp"]);
    }
    assert_eq!(hosts[1].json("stats")["xdp"], serde_json::json!(["eth0", "eth1"]));
    assert!(eventually(|| hosts[1].json("stats")["xdp_exits"] == hosts[1].json("stats")["xdp"]));
    assert!(hosts[1].overlay("stats").contains("drivers of eth0, eth1.\n"));
    assert!(!hosts[1].sh("ip -o link show side0").contains("xdp"));
    let ping = hosts[0].start(&["ping", "-i", "0.02", "-c", "200", "-W", "5", &inner]);
    // Of hundreds: what hosts say to all is the kernel's.
    let seen = seen(&hosts[1]);
    assert!(seen < 20, "{seen}: {}", hosts[1].sh("ip -d -s link"));
    hosts[1].kill_agent();
    std::thread::sleep(std::time::Duration::from_millis(300));
    hosts[1].start_agent_with(&["--xdp"]);
    assert_eq!(Pinged::read(&ping.wait().fine()).answered.len(), 200, "no packet was lost");
    for host in [0, 2] {
        sum(&hosts[host], "eth0");
    }
    transfers(&hosts[0], &hosts[2]);

    // A device has one such program: who comes second goes on without.
    let program = person.program();
    let other = hosts[1].start(&[program.to_str().unwrap(), "overlay", "--agent", "other", "agent", "--xdp"]);
    assert!(eventually(|| hosts[1].try_overlay("--agent other config show").code() == Some(0)));
    for words in ["config application ethernet", "id set 10.0.0.2", "locator add 192.0.2.2"] {
        hosts[1].overlay(&format!("--agent other {words}"));
    }
    hosts[1].overlay("--agent other node add 10.0.0.1 192.0.2.1");
    hosts[1].overlay("--agent other route add 10.0.0.1 --via 10.0.0.1");
    assert_eq!(hosts[1].json("--agent other stats").get("xdp"), None);
    other.signal(rustix::process::Signal::KILL);
    other.wait();
    hosts[1].overlay("--agent other agent --remove");
    assert!(hosts[0].reaches(&hosts[2]));

    // Without the option the kernel relays again, and nothing is left in the drivers.
    hosts[1].kill_agent();
    hosts[1].start_agent();
    // The kernel takes a link away some time after nobody has it.
    assert!(eventually(|| !hosts[1].sh("ip -o link").contains("xdp")));
    assert!(hosts[0].reaches(&hosts[2]));
    hosts[0].kill_agent();
    assert!(hosts[0].sh("ip -o link").contains("xdp"));
    hosts[0].overlay("agent --remove");
    assert!(!hosts[0].sh("ip -o link").contains("xdp"));
}

#[test]
fn a_relay_passes_on_what_it_never_opens() {
    let Some(person) = Person::root() else { return };
    let hosts = row(&person, ["ovstack", "ovstack"]);
    let [a, relay, b] = &hosts;
    for host in [a, b] {
        host.device("--vni 1");
    }
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    transfers(a, b);
    assert!(!relay.sh("ip -o link").contains("ov0"));
    assert!(relay.json("stats")["nodes"].as_array().unwrap().len() >= 2);

    // Two nodes that send a packet to each other do so until its hops are used up.
    for (host, via) in [(a, "10.0.0.2"), (relay, "10.0.0.3"), (b, "10.0.0.2")] {
        host.overlay(&format!("route add 10.0.0.9 --via {via}"));
    }
    a.overlay("fib add ov0 02:00:00:00:00:09 10.0.0.9");
    a.sh("ip neigh replace 10.1.0.9 lladdr 02:00:00:00:00:09 dev ov0");
    assert_ne!(a.exec(&["ping", "-c", "3", "-i", "0.2", "-W", "1", "10.1.0.9"]).code(), Some(0));
    assert_eq!(b.dropped("expired") + relay.dropped("expired"), 3, "{}", stats(&hosts));
    let turns = |host: &Host<'_>| {
        let nodes = host.json("stats")["nodes"].clone();
        let of = nodes.as_array().unwrap().iter().find(|row| row["node"] == "10.0.0.9").cloned();
        of.map_or(0, |row| row["packets"].as_u64().unwrap())
    };
    assert_eq!(turns(a) + turns(relay) + turns(b), 3 * 60, "each of sixty hops sends it once");
}

/// Five hosts in a row, three of them relays, of which the third has less room behind it than all before.
fn narrowing<'a>(person: &'a Person, carries: &str, is_over_ipv6: bool) -> [Host<'a>; 5] {
    let hosts = Host::in_a_row(person, [1, 2, 3, 4, 5]);
    hosts[3].sh("ip link set right mtu 1400");
    hosts[4].sh("ip link set left mtu 1400");
    for (number, host) in hosts.iter().enumerate() {
        host.overlay(&format!("config application 7 --carries {carries}"));
        host.overlay(&format!("id set {}", host.id()));
        // Whichever of its locators a relay sends from, it is the relay's.
        let address = |network: usize, end: u8| match is_over_ipv6 {
            false => format!("192.0.{network}.{end}"),
            true => format!("2001:db8:{network}::{end}"),
        };
        let right = |number: usize| (number < 4).then(|| address(number, 1));
        let left = |number: usize| (number > 0).then(|| address(number - 1, 2));
        let locators = |number: usize| right(number).into_iter().chain(left(number));
        if is_over_ipv6 {
            for (device, address) in [("right", right(number)), ("left", left(number))] {
                let add = |address: String| host.sh(&format!("ip addr add {address}/64 dev {device} nodad"));
                address.map(add);
            }
        }
        for locator in locators(number) {
            host.overlay(&format!("locator add {locator}"));
        }
        for near in (0..5).filter(|near: &usize| near.abs_diff(number) == 1) {
            for locator in locators(near) {
                host.overlay(&format!("node add {} {locator}", hosts[near].id()));
            }
        }
        for (to, other) in hosts.iter().enumerate().filter(|(to, _)| *to != number) {
            let via = if to > number { number + 1 } else { number - 1 };
            host.overlay(&format!("route add {} --via {}", other.id(), hosts[via].id()));
        }
    }
    hosts
}

#[test]
fn a_path_that_narrows_tells_hosts_what_fits() {
    let Some(person) = Person::root() else { return };
    for (carries, is_over_ipv6) in [("ethernet", false), ("ip", false), ("ethernet", true)] {
        let hosts = narrowing(&person, carries, is_over_ipv6);
        let [a, .., b] = &hosts;
        for (host, other) in [(a, b), (b, a)] {
            host.overlay("config device ov0 --app 7 --vni 1");
            host.sh(&format!(
                "ip addr add {}/24 dev ov0 && ip addr add fd00::{}/64 dev ov0 nodad && ip link set ov0 address 02:00:00:00:00:0{}",
                host.inner(), host.number, host.number
            ));
            let far = other.number;
            if carries == "ip" {
                host.overlay(&format!("fib add ov0 {}/32 {}", other.inner(), other.id()));
                host.overlay(&format!("fib add ov0 fd00::{far}/128 {}", other.id()));
            } else {
                host.overlay(&format!("fib add ov0 02:00:00:00:00:0{far} {}", other.id()));
                host.sh(&format!(
                    "ip neigh replace {} lladdr 02:00:00:00:00:0{far} dev ov0; ip neigh replace fd00::{far} lladdr 02:00:00:00:00:0{far} dev ov0",
                    other.inner()
                ));
            }
        }
        assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
        // The device has the room of its own link; what the relay's has is heard of, once for both families.
        let mtu = a.sh("ip -o link show ov0 | sed 's/.*mtu //; s/ .*//'").trim().parse::<u32>().unwrap();
        for (address, headers) in [(b.inner(), 28), (format!("fd00::{}", b.number), 48)] {
            let ping = |bytes: u32| {
                let size = (bytes - headers).to_string();
                a.exec(&["ping", "-c", "1", "-W", "1", "-M", "do", "-s", &size, &address]).code() == Some(0)
            };
            assert!(!ping(mtu), "{address}");
            let knows =
                || a.sh(&format!("ip route get {address}; ip -6 route get {address}; true")).contains("mtu");
            assert!(
                eventually(|| !ping(mtu) && knows()),
                "{address}: {} {}",
                a.sh(&format!("ip route get {address}; true")),
                stats(&hosts)
            );
            assert!(!ping(mtu - 99) && ping(mtu - 100), "{address}: {}", stats(&hosts));
            assert!(eventually(|| ping(mtu - 100)));
        }
        let nodes = a.json("stats")["nodes"].clone();
        let of_b = nodes.as_array().unwrap().iter().find(|row| row["node"] == b.id()).unwrap();
        let header = if carries == "ethernet" { 14 } else { 0 };
        assert_eq!(of_b["room"], mtu - 100 + header, "{nodes}");
        assert!(hosts[3].dropped("too-big") > 0 && a.dropped("too-big") > 0, "{}", stats(&hosts));
        // What was begun before anybody knew of it goes on: superpackets, too, are cut to what fits.
        for (from, to) in [(a, b), (b, a)] {
            for address in [to.inner(), format!("fd00::{}", to.number)] {
                from.sh("ip route flush cache; ip -6 route flush cache");
                transfers_to(from, to, &address);
                from.sh("ip route flush cache; ip -6 route flush cache");
                is_echoed(from, to, &address, &[100, mtu as usize - 90, mtu as usize - 48, 4000]);
            }
        }
    }
}

/// Has datagrams of so many bytes come back, whether they fit a packet or are cut by their host. Of those that are lost before
/// it has heard what fits, others are sent.
#[track_caller]
fn is_echoed(from: &Host<'_>, to: &Host<'_>, address: &str, sizes: &[usize]) {
    const PYTHON: &str = "/usr/bin/python3";
    let family = if address.contains(':') { "AF_INET6" } else { "AF_INET" };
    let socket = format!("import socket\ns = socket.socket(socket.{family}, socket.SOCK_DGRAM)\n");
    let echo = format!(
        "{socket}s.bind(('{address}', 7))\n\
         while True:\n d, p = s.recvfrom(65535)\n s.sendto(d, p)\n"
    );
    let echo = to.start(&[PYTHON, "-c", &echo]);
    assert!(eventually(|| to.sh("cat /proc/net/udp /proc/net/udp6").contains(":0007 ")));
    for size in sizes {
        let ask = format!(
            "{socket}s.settimeout(0.3)\nd = b'p' * {size}\nfor n in range(30):\n try:\n  s.sendto(d, ('{address}', 7))\n  \
             assert s.recv(65535) == d\n  break\n except OSError: pass\nelse: raise SystemExit('no echo')\n"
        );
        from.exec(&[PYTHON, "-c", &ask]).fine();
    }
    echo.signal(rustix::process::Signal::KILL);
    echo.wait();
}

#[test]
fn a_control_plane_of_a_hundred_lines_makes_a_chain() {
    let Some(person) = Person::root() else { return };
    let chain = person.program().with_file_name("examples/chain");
    if !chain.exists() {
        return common::skip("the example `chain` is not built: test the whole workspace");
    }
    let hosts = Host::in_a_row(&person, [1, 2, 3]);
    let lines = ["10.0.0.1 192.0.0.1", "10.0.0.2 192.0.0.2 192.0.1.1", "10.0.0.3 192.0.1.2"];
    person.file("nodes", lines[..2].join("\n"));
    let nodes = person.work().join("nodes");
    let controls: Vec<_> = hosts
        .iter()
        .zip(lines)
        .map(|(host, line)| {
            host.overlay("config application ethernet --group 224.0.0.1");
            line.split(' ').skip(1).for_each(|locator| drop(host.overlay(&format!("locator add {locator}"))));
            let control = host.start(&[chain.to_str().unwrap(), nodes.to_str().unwrap(), &host.id()]);
            assert!(eventually(|| host.try_overlay("id show").stdout.contains(&host.id())));
            host.device("--vni 1");
            control
        })
        .collect();
    let [a, b, c] = &hosts;
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    assert!(!a.reaches(c));
    // A node that the file has now is reached over the one between; one that it has no more, is not.
    person.file("nodes", lines.join("\n"));
    assert!(eventually(|| a.reaches(c)), "{}", stats(&hosts));
    person.file("nodes", lines[1..].join("\n"));
    assert!(eventually(|| !b.reaches(a)), "{}", stats(&hosts));
    assert!(eventually(|| b.reaches(c)), "{}", stats(&hosts));
    drop(controls);
}

#[test]
fn madcaps_words_make_a_device_that_finds_frames_by_their_bits() {
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    hosts.iter_mut().for_each(Host::start_agent);
    let [a, b] = &hosts;
    let program = person.program().to_str().unwrap();
    let madcap = |host: &Host<'_>, words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        host.exec(&[&[program, "ip", "madcap"], &words[..]].concat())
    };
    for (host, other) in [(a, b), (b, a)] {
        let (locator, theirs) = (host.locator(), other.locator());
        madcap(host, &format!("set dev mc0 offset 0 length 48 src {locator} proto udp")).fine();
        assert_eq!(
            madcap(host, "show config dev mc0").fine(),
            format!("offset 0 length 48 proto 17 src {locator}\n")
        );
        host.sh(&format!("ip link set mc0 address 02:00:00:00:00:0{}", host.number));
        host.sh(&format!("ip addr add {}/24 dev mc0", host.inner()));
        for id in [format!("02000000000{}", other.number), "ffffffffffff".to_owned()] {
            madcap(host, &format!("add id {id} dst {theirs} dev mc0")).fine();
        }
    }
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    transfers(a, b);
    // A miss is dropped and counted; what was changed of the device is refused, and so are bits of another number.
    madcap(a, &format!("del id 020000000002 dst {} dev mc0", b.locator())).fine();
    assert!(!a.reaches(b));
    assert!(a.dropped("unknown-identifier") > 0, "{}", stats(&hosts));
    madcap(a, "set dev mc0 offset 8 length 48 src 192.0.2.1").fails_saying(1, &["mc0", "--delete"]);
    madcap(a, "set dev mc1 offset 3 length 48 src 192.0.2.1").fails_saying(1, &["3", "whole byte"]);
    madcap(a, "add id 0200 dst 192.0.2.2 dev mc0").fails_saying(1, &["48 bits", "12 hexadecimal digits"]);
    madcap(a, "add id 0200 dst 192.0.2.2 dev eth0").fails_saying(1, &["eth0", "ip madcap set"]);
    assert!(madcap(a, "show dev mc0").fine().contains("ffffffffffff"));
}

#[test]
fn a_path_changes_its_encapsulation_at_each_hop() {
    let Some(person) = Person::root() else { return };
    // The relay finds the stations by itself, where the header does not say at which node they are.
    let hosts = row(&person, ["vxlan", "ovstack"]);
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
    b.overlay(&format!("fib add ov0 {} 10.0.0.1", of_a.trim()));
    relay.overlay(&format!("fib add ov0 {} 10.0.0.1", of_a.trim()));
    relay.overlay(&format!("fib add ov0 {} 10.0.0.3", of_b.trim()));
    // Whom a packet is from is not known behind a hop that does not say it: b knows the relay.
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    transfers(a, b);
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
}

#[test]
fn strangers_are_dropped_and_counted() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --group 224.0.0.1");
    let [a, b] = &hosts;
    assert!(eventually(|| a.reaches(b)));
    // A locator that is nobody's, and a node that nobody knows.
    a.overlay("node del 10.0.0.2 192.0.2.2");
    assert!(!b.reaches(a));
    assert!(a.dropped("unknown-locator") > 0, "{}", a.overlay("stats"));
    a.overlay("node add 10.0.0.2 192.0.2.2");
    assert!(eventually(|| b.reaches(a)));
    b.overlay("id set 10.0.0.77");
    b.sh("ip link set ov0 address 02:00:00:00:77:77");
    assert!(!b.reaches(a));
    assert!(eventually(|| a.dropped("unknown-source") > 0), "{}", a.overlay("stats"));
    b.overlay("id set 10.0.0.2");
    // What is taken no more, is dropped; what an application carries does not change under its device.
    let received = || a.json("stats")["devices"]["ov0"]["received"].as_u64().unwrap();
    b.overlay("config application ethernet --group 224.0.0.1 --encapsulation geneve");
    for (accept, is_taken) in [("", false), ("--accept geneve", true), ("", false)] {
        a.overlay(&format!("config application ethernet --group 224.0.0.1 {accept}"));
        let before = received();
        let arrives = || {
            b.exec(&["ping", "-c", "1", "-W", "1", &a.inner()]);
            received() > before
        };
        let is_so = if is_taken { eventually(arrives) } else { !arrives() };
        assert!(is_so, "{accept}: {}", stats(&hosts));
    }
    b.overlay("config application ethernet --group 224.0.0.1");
    a.try_overlay("config application ethernet --carries ip").fails_saying(1, &["ov0", "--delete"]);
    // A tenant that is none of this node's.
    b.try_overlay("config device ov0 --vni 2").fails_saying(1, &["ov0", "--delete"]);
    b.overlay("config device ov0 --delete");
    b.overlay("config device ov0 --vni 2");
    b.sh("ip addr replace 10.1.0.2/24 dev ov0");
    assert!(!b.reaches(a));
    assert!(a.dropped("unknown-tenant") > 0, "{}", a.overlay("stats"));
    // A device that somebody took away can be given up.
    b.sh("ip link del ov0");
    b.overlay("config device ov0 --delete");
    b.overlay("config device ov0 --vni 1");
    // Nobody but root speaks to the agent.
    assert_eq!(
        a.sh("stat -c %a /run/plait-overlay/default/agent.sock /run/plait-overlay/default/journal.jsonl"),
        "600\n600\n"
    );
}

/// What becomes of a packet of ovstack that is right but for a field.
#[derive(Clone, Copy)]
enum Fate {
    /// It is taken: the field is nothing to go by.
    Taken,
    /// It is dropped for a reason.
    Dropped(&'static str),
}

/// Where fields of the ovstack header and of the frame behind it begin, and what a spoofer writes there.
type Fields = &'static [(usize, &'static [u8])];

/// What is spoofed, and what a receiver makes of it: node 1, of a packet from node 2.
const SPOOFED: &[(&str, Fields, Fate)] = {
    use Fate::{Dropped, Taken};
    &[
        ("nothing", &[], Taken),
        ("the version", &[(0, &[9])], Dropped("version")),
        ("the TTL, here", &[(1, &[0])], Taken),
        ("the TTL, for another", &[(1, &[1]), (12, &[10, 0, 0, 3])], Dropped("expired")),
        ("the application", &[(2, &[9])], Dropped("unknown-locator")),
        ("the message flag", &[(3, &[0x80])], Dropped("malformed")),
        ("the message flag of a stranger", &[(3, &[0x80]), (19, &[77])], Dropped("unknown-source")),
        ("flags that say nothing", &[(3, &[0x7f])], Taken),
        ("the VNI", &[(4, &[0, 0, 2])], Dropped("unknown-tenant")),
        ("the byte of nought", &[(7, &[0xff])], Taken),
        ("the hash", &[(8, &[0xff; 4])], Taken),
        ("the hash, of nought", &[(8, &[0; 4])], Taken),
        ("the destination", &[(12, &[10, 0, 0, 99])], Dropped("no-route")),
        ("the source, a stranger", &[(16, &[10, 0, 0, 77])], Dropped("unknown-source")),
        ("the source, the receiver", &[(16, &[10, 0, 0, 1])], Dropped("unknown-source")),
        ("the station, a group", &[(26, &[3, 0, 0, 0, 0, 2])], Dropped("malformed")),
        ("the station, one that is elsewhere", &[(26, &[2, 0, 0, 0, 0, 0x66])], Dropped("unknown-source")),
    ]
};

/// A packet of ovstack from node 2 to node 1 with a frame, and with these fields written over.
fn spoofed(fields: Fields) -> Vec<u8> {
    let header = [1, 9, 7, 0, 0, 0, 1, 0, 0, 0, 0, 1, 10, 0, 0, 1, 10, 0, 0, 2];
    let frame = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, 1, 2, 3, 4, 5, 6, 7, 8];
    let mut packet = [&header[..], &frame[..]].concat();
    for (at, bytes) in fields {
        packet[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    packet
}

#[test]
fn nobody_speaks_in_anothers_name() {
    let Some(person) = Person::root() else { return };
    if !installed("socat") {
        return;
    }
    let mut hosts = pair(&person, "ethernet --group 224.0.0.1");
    hosts[0].overlay("node add 10.0.0.3 192.0.2.3");
    hosts[0].overlay("route add 10.0.0.3 --via 10.0.0.3");
    hosts[0].overlay("fib add ov0 02:00:00:00:00:66 10.0.0.3");
    assert!(eventually(|| hosts[0].reaches(&hosts[1])));
    let send = |from: &Host<'_>, locator: &str, packet: &[u8], to: &str| {
        let octal: String = packet.iter().map(|byte| format!("\\{byte:03o}")).collect();
        from.exec(&["sh", "-c", &format!("printf '{octal}' | socat -u - UDP:{to}:60002,bind={locator}")])
    };
    // From inside node 2, whose locator is the overlay's: whatever the fields say.
    let [a, b] = &hosts;
    // Hosts ask each other for their hardware addresses now and then: what is received must have been sent.
    let count = |host: &Host<'_>, what: &str| host.json("stats")["devices"]["ov0"][what].as_u64().unwrap();
    let both = || (count(b, "sent"), count(a, "received"));
    let mut seen = both();
    // Of what is asked between two looks one side alone would tell.
    let is_quiet = || {
        let before = std::mem::replace(&mut seen, both());
        before == seen
    };
    assert!(eventually(is_quiet), "{}", stats(&hosts));
    let (sent, received) = seen;
    let drops = || a.json("stats")["drops"].clone();
    let before = drops();
    for (field, fields, _) in SPOOFED {
        let forged = b.dropped("forged");
        send(b, "192.0.2.2", &spoofed(fields), "192.0.2.1");
        assert_eq!(b.dropped("forged"), forged + 1, "{field}: {}", stats(&hosts));
    }
    for cut in [30, 9, 1] {
        let forged = b.dropped("forged");
        send(b, "192.0.2.2", &spoofed(&[])[..cut], "192.0.2.1");
        assert_eq!(b.dropped("forged"), forged + 1, "{cut} bytes: {}", stats(&hosts));
    }
    assert!(eventually(|| count(a, "received") - received == count(b, "sent") - sent), "{}", stats(&hosts));
    assert_eq!(drops(), before, "none of it came");

    // From outside: where the node of that locator was, there is somebody else now.
    hosts[1].kill_agent();
    hosts[1].overlay("agent --remove");
    let [a, b] = &hosts;
    b.sh("ip addr add 192.0.2.77/24 dev eth0");
    let try_it = |field: &str, locator: &str, packet: &[u8], fate: Fate| {
        let counted = || match fate {
            Fate::Taken => count(a, "received"),
            Fate::Dropped(reason) => a.dropped(reason),
        };
        let (before, received) = (counted(), count(a, "received"));
        send(b, locator, packet, "192.0.2.1");
        assert!(eventually(|| counted() > before), "{field}: {packet:?} {}", a.overlay("stats"));
        if let Fate::Dropped(_) = fate {
            assert_eq!(count(a, "received"), received, "{field}: {}", a.overlay("stats"));
        }
    };
    for (field, fields, fate) in SPOOFED {
        try_it(field, "192.0.2.2", &spoofed(fields), *fate);
        try_it(field, "192.0.2.77", &spoofed(fields), Fate::Dropped("unknown-locator"));
    }
    for cut in [30, 9] {
        try_it("cut", "192.0.2.2", &spoofed(&[])[..cut], Fate::Dropped("malformed"));
    }
    // What was heard of the spoofed station's place changed nothing.
    let rows = a.json("fib show ov0");
    let of =
        |station: &str| rows.as_array().unwrap().iter().find(|row| row["identifier"] == station).cloned();
    assert_eq!(of("02:00:00:00:00:66").unwrap()["node"], "10.0.0.3", "{rows:#}");
}

#[test]
fn the_underlay_is_followed() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --group 224.0.0.1");
    let [a, b] = &hosts;
    assert!(eventually(|| a.reaches(b)));
    // Another hardware address of the neighbour; a smaller MTU; a link that goes down and up.
    b.sh("ip link set eth0 down && ip link set eth0 address 02:00:00:00:00:99 && ip link set eth0 up");
    assert!(eventually(|| a.reaches(b)), "{} {}", a.sh("ip neigh"), a.overlay("stats"));
    // A route that is more special than the one that leads there, and then is no more.
    a.sh("ip neigh add 192.0.2.77 lladdr 02:00:00:00:00:77 dev eth0 && ip route add 192.0.2.2/32 via 192.0.2.77");
    assert!(eventually(|| !a.reaches(b)), "{}", a.overlay("stats"));
    // A table that no rule leads to, and nexthops that a route names.
    a.sh("ip route add 192.0.2.2/32 via 192.0.2.77 table 77");
    a.sh("ip nexthop add id 1 via 192.0.2.2 dev eth0 && ip nexthop add id 2 via 192.0.2.77 dev eth0");
    a.sh("ip nexthop add id 3 group 1 && ip route replace 192.0.2.2/32 nhid 3");
    assert!(eventually(|| a.reaches(b)), "{}", a.overlay("stats"));
    // For old listeners' sake the kernel tells of routes whose nexthops change, unless it is asked not to.
    a.sh("echo 0 > /proc/sys/net/ipv4/nexthop_compat_mode");
    let both_ways = |there: &str, back: &str| {
        a.sh(there);
        assert!(eventually(|| !a.reaches(b)), "{there}: {}", a.overlay("stats"));
        a.sh(back);
        assert!(eventually(|| a.reaches(b)), "{back}: {}", a.overlay("stats"));
    };
    both_ways("ip nexthop replace id 3 group 2", "ip nexthop replace id 3 group 1");
    both_ways("ip rule add pref 100 table 77", "ip rule del pref 100");
    a.sh("ip route del 192.0.2.2/32 && ip nexthop flush");
    assert!(eventually(|| a.reaches(b)), "{}", a.overlay("stats"));
    a.sh("ip link set eth0 mtu 1400");
    assert!(
        eventually(|| a.sh("ip -o link show ov0").contains("mtu 1338")),
        "{}",
        a.sh("ip -o link show ov0")
    );
    a.sh("ip link set eth0 down && sleep 0.2 && ip link set eth0 up");
    assert!(eventually(|| a.reaches(b)), "{} {}", a.sh("ip neigh"), a.overlay("stats"));
}

#[test]
fn control_planes_find_all_and_change_under_traffic() {
    let Some(person) = Person::root() else { return };
    let mut hosts = [1, 2, 3].map(|number| Host::new(&person, number));
    let hub = Host::new(&person, 9);
    hub.sh("ip link add br0 type bridge && ip link set br0 up");
    for host in &mut hosts {
        let port = format!("p{}", host.number);
        host.link("eth0", &hub, &port);
        hub.sh(&format!("ip link set {port} master br0"));
        host.sh(&format!("ip addr add {}/24 dev eth0", host.locator()));
        host.sh("umask 077 && echo a key that all nodes share > /run/key");
        host.start_agent();
        host.overlay("config application ethernet --group 224.0.0.1");
        host.identify(&host.locator());
        host.device("--vni 1");
        host.overlay("config control mesh --key /run/key --seed 192.0.2.1 --interval 500");
    }
    let [a, _, c] = &hosts;
    assert!(eventually(|| hosts.iter().all(|host| host.json("node show").as_object().unwrap().len() == 2)));
    assert!(eventually(|| a.reaches(c)));
    let ping = a.start(&["ping", "-i", "0.02", "-c", "200", "-W", "5", &c.inner()]);
    for host in &hosts {
        host.overlay("config control delay --key /run/key --seed 192.0.2.1 --interval 500");
    }
    let said = Pinged::read(&ping.wait().fine());
    assert_eq!(said.answered.len(), 200, "no packet was lost");
    assert!(
        eventually(|| a.json("route show").as_object().unwrap().len() == 3),
        "{}",
        a.overlay("route show")
    );
    // Agents start again, one after the other, and nobody misses them.
    let ping = hosts[0].start(&["ping", "-i", "0.02", "-c", "200", "-W", "5", &hosts[2].inner()]);
    for host in [2, 0] {
        hosts[host].kill_agent();
        hosts[host].start_agent();
        std::thread::sleep(std::time::Duration::from_millis(700));
    }
    let said = Pinged::read(&ping.wait().fine());
    assert_eq!(said.answered.len(), 200, "no packet was lost: {}", stats(&hosts));
    // Who is silent is gone.
    let [a, _, mut c] = hosts;
    c.kill_agent();
    c.sh("ip link set eth0 down");
    assert!(eventually(|| a.json("node show").as_object().unwrap().len() == 1), "{}", a.overlay("node show"));
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
}

#[test]
fn doctor_names_what_overlays_need() {
    const LINES: [&str; 5] = ["eBPF", "TCX", "BPF file system", "VXLAN devices", "XDP"];
    let Some(person) = Person::root() else { return };
    let host = Host::new(&person, 1);
    let program = person.program().to_str().unwrap();
    let signs = |said: &str| {
        LINES.map(|name| {
            let line = said.lines().find(|line| line.contains(&format!(" {name} ")));
            line.unwrap_or_else(|| panic!("{name}: {said}")).split(' ').next().unwrap().to_owned()
        })
    };
    let ended = host.exec(&[program, "doctor"]);
    assert_eq!(signs(&ended.stdout), ["yes"; 5], "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
    host.without_bpf_file_system();
    let said = host.sh(&format!("{program} doctor; ip -o link"));
    assert_eq!(signs(&said), ["yes", "yes", "no", "yes", "yes"], "{said}");
    assert!(said.contains("mount -t bpf") && !said.contains("plait-trial"), "{said}");
    if let Some(user) = Person::user() {
        let ended = user.plait(&["doctor"]);
        assert_eq!(signs(&ended.stdout)[..2], ["no", "no"], "{}", ended.stdout);
        assert!(ended.stdout.contains("need root"), "{}", ended.stdout);
        assert_eq!(ended.stderr, "");
    }
}
