//! Relays in the kernel and before it.

use super::*;

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
