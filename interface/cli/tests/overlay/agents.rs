//! Agents: who may run one, what its death stops, and what it follows.

use super::*;

#[test]
fn an_agent_that_dies_stops_no_packet() {
    let Some(person) = Person::root() else { return };
    let mut hosts = pair(&person, "ethernet --group 224.0.0.1");
    assert!(eventually(|| hosts[0].reaches(&hosts[1])));
    let learned = hosts[0].json("fib show")[0]["identifier"].clone();
    // What was learned is known as soon as the successor's programs run: nobody else is asked for it, and other devices take a while.
    hosts[0].overlay("route del 224.0.0.1 --via 10.0.0.2");
    for vni in 2..5 {
        hosts[0].overlay(&format!("config device ov{vni} --vni {vni}"));
    }
    // The other asks, since a ping that is refused a packet of its own sends it again.
    let ping = hosts[1].start(&["ping", "-i", "0.001", "-W", "5", &hosts[0].inner()]);
    let sent = |stats: &Value| stats["devices"]["ov0"]["sent"].as_u64().unwrap();
    let to_the_other = |stats: &Value| -> u64 {
        let rows = stats["nodes"].as_array().unwrap().iter().filter(|row| row["node"] == "10.0.0.2");
        rows.filter_map(|row| row["packets"].as_u64()).sum()
    };
    let by_pairs = |stats: &Value| -> u64 {
        let rows = stats["nodes"].as_array().unwrap().iter().filter(|row| row["node"] == "10.0.0.2");
        let pairs = rows.flat_map(|row| row["pairs"].as_array().unwrap());
        pairs.map(|pair| pair["packets"].as_u64().unwrap()).sum()
    };
    let is_busy = |stats: &Value| sent(stats) > 50 && to_the_other(stats) > 50;
    assert!(eventually(|| is_busy(&hosts[0].json("stats"))));
    let before = hosts[0].json("stats");
    hosts[0].kill_agent();
    std::thread::sleep(std::time::Duration::from_millis(500));
    hosts[0].start_agent();
    // What was told and what was learned is known again, and can be changed.
    assert_eq!(hosts[0].json("fib show")[0]["identifier"], learned);
    // And so is what was counted.
    let counted = hosts[0].json("stats");
    let all: [&dyn Fn(&Value) -> u64; 3] = [&sent, &to_the_other, &by_pairs];
    for of in all {
        assert!(of(&counted) > of(&before) + 100, "{before} and then {counted}");
    }
    assert_eq!(hosts[0].overlay("id show"), "10.0.0.1\n");
    assert!(Pinged::unbroken(ping, 1000).sent > 100);
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

    // Nothing is left, and what somebody wrote of a neighbour is as it was.
    hosts[0].sh("ip neigh replace 192.0.2.2 lladdr $(ip neigh show 192.0.2.2 | sed 's/.*lladdr //; s/ .*//') dev eth0 nud permanent");
    hosts[0].overlay("agent --remove");
    assert!(hosts[0].sh("ip neigh show 192.0.2.2").contains("PERMANENT"));
    assert_eq!(hosts[0].sh("find /sys/fs/bpf /run -name 'plait-overlay*'"), "");
    assert!(!hosts[0].sh("ip -o link").contains("ov0"));
    assert!(!hosts[0].sh("ip neigh").contains("managed"));
    hosts[0].try_overlay("id show").fails_saying(1, &["no overlay agent listens", "plait overlay agent"]);
    hosts[0].exec(&["ping", "-c", "1", "-W", "2", "192.0.2.2"]).fine();
}

#[test]
fn a_neighbour_that_was_written_for_good_stays_so_and_packets_go_by_it() {
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    let [a, b] = &hosts;
    let of_b = b.sh("ip -o link show eth0 | sed 's/.*ether //; s/ .*//'");
    let fix = format!("ip neigh replace 192.0.2.2 lladdr {} dev eth0 nud permanent", of_b.trim());
    a.sh(&fix);
    hosts.iter_mut().for_each(Host::start_agent);
    let [a, b] = &hosts;
    for (host, other) in [(a, b), (b, a)] {
        host.overlay("config application ethernet --group 224.0.0.1");
        host.identify(&host.locator());
        host.know(other, &other.locator());
        host.device("--vni 1");
    }
    // The other host does not answer who asks for it: what was written is all that is known.
    b.sh("echo 8 >/proc/sys/net/ipv4/conf/eth0/arp_ignore");
    let entry = |what: &str| a.sh("ip neigh show 192.0.2.2 dev eth0").contains(what);
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    assert!(entry("PERMANENT") && !entry("managed"));
    // Who takes it away leaves it to be found, and who writes it again has it stay.
    b.sh("echo 0 >/proc/sys/net/ipv4/conf/eth0/arp_ignore");
    a.sh("ip neigh del 192.0.2.2 dev eth0");
    assert!(eventually(|| entry("managed") && a.reaches(b)), "{}", stats(&hosts));
    a.sh(&fix);
    assert!(eventually(|| entry("PERMANENT") && !entry("managed") && a.reaches(b)), "{}", stats(&hosts));
    hosts[0].kill_agent();
    hosts[0].start_agent();
    assert!(hosts[0].reaches(&hosts[1]), "{}", stats(&hosts));
    hosts[0].kill_agent();
    hosts[0].overlay("agent --remove");
    assert!(hosts[0].sh("ip neigh show 192.0.2.2").contains("PERMANENT"));
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
    assert_eq!(a.sh("find /run /sys/fs/bpf -name 'plait-overlay*'; ip -o link show type vxlan"), "");
}

#[test]
fn who_watches_hears_of_each_change_in_order_whoever_made_it() {
    let Some(person) = Person::root() else { return };
    let mut host = Host::new(&person, 1);
    host.start_agent();
    host.overlay("config application ethernet");
    let line = format!("exec {} overlay watch >/run/heard", person.program().display());
    let watch = host.start(&["sh", "-c", &line]);
    let heard = || host.sh("cat /run/heard");
    // Until it listens.
    assert!(eventually(|| {
        host.overlay("node add 10.0.0.9 192.0.2.9");
        host.overlay("node del 10.0.0.9 192.0.2.9");
        heard().ends_with("app 7 node 10.0.0.9\n")
    }));
    host.overlay("node add 10.0.0.8 192.0.2.8");
    let begins = "app 7 node 10.0.0.8\n";
    host.overlay("id set 10.0.0.1");
    host.overlay("node add 10.0.0.2 192.0.2.2");
    for _ in 0..2 {
        host.overlay("route add 10.0.0.2 --via 10.0.0.2");
    }
    host.overlay("route del 10.0.0.2 --via 10.0.0.2");
    // What is said once more changes nothing, and each reply says how many entries were written for it.
    let written = |what: &str| host.json(what)["writes"].as_u64().unwrap();
    for is_new in [true, false] {
        assert_eq!(written("config device ov0") > 0, is_new);
        assert_eq!(written("fib add ov0 02:00:00:00:00:09 10.0.0.2"), u64::from(is_new));
    }
    host.overlay("fib del ov0 02:00:00:00:00:09");
    assert!(written("config device ov0 --delete") > 0);
    host.overlay("config application ethernet --ttl 9");
    let wanted = "app 7 own
app 7 node 10.0.0.2
app 7 route 10.0.0.2
app 7 route 10.0.0.2
device ov0
fib ov0 02:00:00:00:00:09
fib ov0 02:00:00:00:00:09
device ov0
app 7 own
app 7 config
";
    let rest = || heard().split_once(begins).map(|(_, rest)| rest.to_owned());
    assert!(eventually(|| rest().as_deref() == Some(wanted)), "{:?}", rest());
    watch.signal(rustix::process::Signal::KILL);
    watch.wait();
}

#[test]
fn the_underlay_is_followed() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --group 224.0.0.1");
    let [a, b] = &hosts;
    assert!(eventually(|| a.reaches(b)));
    let line = format!("exec {} overlay watch >/run/heard", person.program().display());
    let watch = a.start(&["sh", "-c", &line]);
    // Another hardware address of the neighbour; a smaller MTU; a link that goes down and up.
    b.sh("ip link set eth0 down && ip link set eth0 address 02:00:00:00:00:99 && ip link set eth0 up");
    assert!(eventually(|| a.reaches(b)), "{} {}", a.sh("ip neigh"), a.overlay("stats"));
    // A route that is more special than the one that leads there, and then is no more.
    a.sh("ip route add 192.0.2.2/32 via 192.0.2.77");
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
    // Nobody asked for these writes: who watches is told how many there were.
    let heard = || a.sh("cat /run/heard");
    assert!(eventually(|| heard().lines().any(|line| line.starts_with("written "))), "{}", heard());
    assert!(a.json("stats")["writes"].as_u64().is_some_and(|writes| writes > 0));
    watch.signal(rustix::process::Signal::KILL);
    watch.wait();
    a.sh("ip route del 192.0.2.2/32 && ip nexthop flush");
    assert!(eventually(|| a.reaches(b)), "{}", a.overlay("stats"));
    let is_of = |mtu: u32| {
        let said = || a.sh("ip -o link show ov0");
        assert!(eventually(|| said().contains(&format!(" mtu {mtu} "))), "{mtu}: {}", said());
    };
    // A route that says an MTU, less than the device's, or more; then the device's own.
    is_of(1438);
    a.sh("ip route add 192.0.2.2/32 dev eth0 mtu 1300");
    is_of(1238);
    assert!(eventually(|| a.reaches(b)), "{}", a.overlay("stats"));
    a.sh("ip route replace 192.0.2.2/32 dev eth0 mtu 1700");
    is_of(1438);
    a.sh("ip route del 192.0.2.2/32");
    a.sh("ip link set eth0 mtu 1400");
    is_of(1338);
    a.sh("ip link set eth0 down && sleep 0.2 && ip link set eth0 up");
    assert!(eventually(|| a.reaches(b)), "{} {}", a.sh("ip neigh"), a.overlay("stats"));
}

#[test]
fn doctor_names_what_overlays_need() {
    const LINES: [&str; 6] = ["eBPF", "TCX", "BPF file system", "VXLAN devices", "veth devices", "XDP"];
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
    assert_eq!(signs(&ended.stdout), ["yes"; 6], "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
    host.without_bpf_file_system();
    let said = host.sh(&format!("{program} doctor; ip -o link"));
    assert_eq!(signs(&said), ["yes", "yes", "no", "yes", "yes", "yes"], "{said}");
    assert!(said.contains("mount -t bpf") && !said.contains("plait-trial"), "{said}");
    if let Some(user) = Person::user() {
        let ended = user.plait(&["doctor"]);
        assert_eq!(signs(&ended.stdout)[..2], ["no", "no"], "{}", ended.stdout);
        assert!(ended.stdout.contains("need root"), "{}", ended.stdout);
        assert_eq!(ended.stderr, "");
    }
}

/// What a plait of today wrote, which later ones are to know.
const JOURNAL: &str = include_str!("../../../../dataplane/overlay/tests/golden/journal-1.jsonl");

#[test]
fn an_agent_goes_on_with_what_one_of_version_1_was_told() {
    let Some(person) = Person::root() else { return };
    let [mut host, _other] = Host::two(&person);
    host.sh(&format!(
        "umask 077 && mkdir -p /run/plait-overlay/default && cat >/run/plait-overlay/default/journal.jsonl <<'END'\n{JOURNAL}END"
    ));
    host.start_agent();
    let config = host.json("config show");
    let names: Vec<&str> = config["applications"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["7", "8", "9"], "{config:#}");
    assert_eq!(config["applications"]["7"]["to"]["10.0.0.2"], "vxlan");
    assert_eq!(config["applications"]["9"]["miss"], "kernel");
    let devices: Vec<&Value> = config["devices"].as_array().unwrap().iter().map(|of| &of["name"]).collect();
    assert_eq!(devices, ["ov0", "ov1"], "{config:#}");
    assert_eq!(config["controls"]["7"]["plane"], "static");
    assert_eq!(config["evpn"]["8"]["neighbor"], "192.0.2.9");
    assert_eq!(config["underlay"], serde_json::json!(["eth0"]));
    assert_eq!(host.overlay("id show"), "10.0.0.1\n");
    assert_eq!(host.overlay("locator show"), "192.0.2.1 weight 50\n");
    assert_eq!(host.overlay("node show"), "10.0.0.2 192.0.2.2 weight 50\n");
    assert_eq!(host.overlay("route show"), "to 10.0.0.2 via 10.0.0.2\nto 10.0.0.4 via 10.0.0.2\n");
    let rows = host.json("fib show ov0");
    let known: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["identifier"]).collect();
    assert_eq!(known, ["02:00:00:00:00:02"], "{rows:#}");
    assert!(host.sh("ip -o link show ov0; ip -o link show ov1").contains(" mtu 1400 "));
    // And the next one with what this one wrote of it.
    host.kill_agent();
    host.start_agent();
    assert_eq!(host.json("config show"), config);
}
