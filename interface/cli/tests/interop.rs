//! Overlays, paths and the distribution's kernel: our programs on it, and its own tunnels at the other end of ours and as
//! relays. One guest boots for all.

mod common;
#[path = "common/equipped.rs"]
mod equipped;
/// The programs' packet cases. This test program is copied into the guest, and runs them there.
#[path = "../../../dataplane/bpf/tests/packets/main.rs"]
mod packets;
#[path = "../../../dataplane/bpf/tests/paths/main.rs"]
mod path_packets;
/// Likewise, hosts in a row.
#[path = "../../../dataplane/paths/tests/relays.rs"]
mod relays;
/// Likewise, the kernel's tunnels between two hosts.
#[path = "../../../dataplane/profile/tests/tunnels.rs"]
mod tunnels;

use common::{Host, Pinged, Running, Testbed, eventually, is_zombie};
use equipped::{handle, prepared};
use plait_model_quantity::ByteCount;
use plait_testbed_guest::{Equipment, Guest};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const LAB: &str = "plait: 1\nrouting: none\nnodes: {a: host, g: host}\nlinks: [{endpoints: [a, g]}]\n";

#[test]
fn the_distributions_kernel_speaks_with_ours_and_runs_it() {
    let Some((person, image)) = prepared() else { return };
    let started = Instant::now();
    let testbed = person.up(LAB);
    let own = std::env::current_exe().unwrap();
    let mut equipment = Equipment::new(image)
        .with_file("/usr/bin/plait", env!("CARGO_BIN_EXE_plait"))
        .with_file("/usr/bin/cases", &own);
    // Room for programs with all that a debugger wants.
    (equipment.memory, equipment.processors) = (ByteCount::new(2 << 30), 2);
    let mut guest = Guest::start(&handle(&person, &testbed.name), "g", &equipment).unwrap();
    println!("Linux {} was up after {:?}", guest.kernel(), guest.booted_in());
    let (keeper, process) = program_in(&testbed, "a");
    let mut a = Host::beside(&person, 1, process);
    // Without an address of the link the kernel seeks no neighbour of IPv6 by itself.
    a.sh("ip addr replace 192.0.2.1/24 dev eth0 && ip addr add 2001:db8::1/64 dev eth0 nodad \
          && ip addr add fe80::1/64 dev eth0 nodad");
    guest
        .shell("modprobe tun && ip addr replace 192.0.2.2/24 dev eth0 && ip addr add 2001:db8::2/64 dev eth0 nodad \
                && ip link set lo up")
        .unwrap();
    a.start_agent();

    timed("packet cases", || cases_pass(&mut guest, IN_THE_GUEST, 39));
    timed("packet cases of paths", || cases_pass(&mut guest, "path_packets::", 25));
    timed("relays", || cases_pass(&mut guest, "relays::packets_go_by_the_kernels_tunnels --ignored", 1));
    timed("the kernel's own", || cases_pass(&mut guest, "tunnels::none_is_missing --ignored", 1));
    timed("agent", || an_agent_dies_and_goes_without_a_trace(&a, &mut guest));
    timed("a file", || an_overlay_of_a_file_is_built(&mut guest));
    timed("tunnels", || {
        each_tunnel_of_the_kernel_speaks_with_ours(&a, &mut guest, &own.display().to_string())
    });

    drop((a, keeper));
    guest.stop();
    testbed.down();
    person.assert_nothing_runs();
    // A machine that does much else takes longer: so it is told, as the bars of benches are, and nothing fails by it.
    let seconds = started.elapsed().as_secs_f64();
    println!("bar interop-suite {seconds:.0} s <= {MOST} {}", if seconds <= MOST { "ok" } else { "short" });
}

/// Seconds from the guest's boot to its end.
const MOST: f64 = 120.0;

/// Does something, and says how long that took.
fn timed(what: &str, of: impl FnOnce()) {
    let started = Instant::now();
    of();
    println!("{what}: {:.1} s", started.elapsed().as_secs_f64());
}

/// A program in a node that does nothing, and its process.
fn program_in(testbed: &Testbed<'_>, node: &str) -> (Running, i32) {
    const WORDS: &[u8] = b"sleep\x00123456\x00";
    let running = testbed.background(node, "exec sleep 123456");
    let mut found = None;
    assert!(eventually(|| {
        let is_it = |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words == WORDS);
        found = testbed.person.processes().into_iter().find(|pid| !is_zombie(*pid) && is_it(pid));
        found.is_some()
    }));
    (running, found.expect("found above"))
}

/// A million nodes are more than the guest has memory for.
const IN_THE_GUEST: &str = "packets:: --skip path_packets:: --skip packets::million";

/// Programs are loaded by this kernel and do what they do elsewhere: so many cases of a name pass, and none is skipped.
fn cases_pass(guest: &mut Guest, which: &str, least: usize) {
    let ended =
        guest.run(&format!("cases {which} --show-output 2>&1"), &[], Duration::from_secs(600)).unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let passed = said.split("test result: ok. ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(passed.unwrap_or(0) >= least && !said.contains("skipped"), "{said}");
}

/// Starts the guest's agent, and waits until it answers.
const AGENT: &str = "plait overlay agent </dev/null >>/tmp/agent 2>&1 & echo $! >/tmp/pid
    until plait overlay config show >/dev/null 2>&1; do
        sleep 0.1; kill -0 $(cat /tmp/pid) || { cat /tmp/agent; exit 1; }
    done";
/// A device with a clsact of somebody else's, and no filter.
const ANOTHERS: &str =
    "modprobe dummy; ip link add d1 type dummy; tc qdisc add dev d1 clsact; ip link set d1 up";
/// Says what filters there are.
const FILTERS: &str =
    "for side in ingress egress; do for device in eth0 ov0; do tc filter show dev $device $side; done; done";
/// Between answers: each thing that a guest is asked costs it a second.
const THEN: &str = "echo THEN";

/// Has the guest do things one after the other, the first that fails being the last; what each of them says.
fn each<const N: usize>(guest: &mut Guest, things: [&str; N]) -> [String; N] {
    let said = guest.shell(&format!("set -e\n{}", things.join(&format!("\n{THEN}\n")))).unwrap();
    let said: Vec<String> = said.split("THEN\n").map(str::to_owned).collect();
    said.try_into().unwrap()
}

/// An agent on a kernel without TCX: its death and its successor stop no packet, and it leaves nothing.
fn an_agent_dies_and_goes_without_a_trace(a: &Host<'_>, guest: &mut Guest) {
    a.overlay("config application ethernet --group 224.0.0.1");
    a.identify("192.0.2.1");
    know(a, "192.0.2.2");
    a.device("--vni 42");
    let configured = "o='plait overlay'; $o config application ethernet
        $o id set 10.0.0.2; $o locator add 192.0.2.2; $o node add 10.0.0.1 192.0.2.1
        $o route add 10.0.0.1 --via 10.0.0.1; $o route add 224.0.0.1 --via 10.0.0.2
        $o config device ov0 --vni 42; ip addr add 10.1.0.2/24 dev ov0";
    let [doctor, .., before] =
        each(guest, ["plait doctor", "mount -t bpf bpf /sys/fs/bpf", ANOTHERS, AGENT, configured, FILTERS]);
    let needs = [
        ("yes", "eBPF"),
        ("no", "TCX"),
        ("yes", "clsact"),
        ("no", "BPF file system"),
        ("yes", "VXLAN devices"),
        ("yes", "veth devices"),
        ("no", "XDP exits"),
        ("no", "other families"),
        ("yes", "tracepoints"),
        ("no", "firewall programs"),
    ];
    for (sign, line) in needs {
        let is_it = |said: &str| said.starts_with(sign) && said.contains(line);
        assert!(doctor.lines().any(is_it), "{sign} {line}: {doctor}");
    }
    let name = format!("/sys/fs/bpf/plait-overlay/default/layout-{}", plait_dataplane_overlay::agent::LAYOUT);
    for filter in [format!("{name}/receive-"), format!("{name}/transmit-ov0")] {
        assert!(before.contains(&filter), "{before}");
    }
    let answers = || a.exec(&["ping", "-c", "1", "-W", "1", "10.1.0.2"]).code() == Some(0);
    let stats = "plait overlay stats; cat /tmp/agent";
    assert!(eventually(answers), "{} {:?}", a.overlay("stats"), guest.shell(stats));

    // It dies, another comes, a device is added, and somebody else adds a filter.
    let ping = a.start(&["ping", "-i", "0.02", "-W", "5", "10.1.0.2"]);
    let others = "tc filter add dev eth0 egress matchall action pass; ip link add d0 type dummy
        until tc filter show dev d0 ingress | grep receive-; do sleep 0.05; done
        tc filter show dev d1 ingress | grep receive-";
    let [_, _, after, said, _] = each(
        guest,
        [
            "kill -9 $(cat /tmp/pid); while kill -0 $(cat /tmp/pid) 2>/dev/null; do :; done",
            AGENT,
            FILTERS,
            "cat /tmp/agent",
            others,
        ],
    );
    // It goes on for a while under the successor, however fast all of that was.
    std::thread::sleep(Duration::from_millis(2500));
    assert!(Pinged::unbroken(ping, 50).sent > 100);
    assert_ne!(before, after, "the successor's own programs");
    assert_eq!(before.lines().count(), after.lines().count(), "in the place of those before: {after}");
    assert_eq!(said, "", "nothing to complain about");

    let [_, left, others, anothers, _] = each(
        guest,
        [
            "kill -9 $(cat /tmp/pid); while kill -0 $(cat /tmp/pid) 2>/dev/null; do :; done; plait overlay agent --remove",
            "tc filter show dev eth0 ingress; tc qdisc show dev d0; find /sys/fs/bpf /run -name 'plait-overlay*'; ip -o link",
            "tc filter show dev eth0 egress",
            "tc qdisc show dev d1; tc filter show dev d1 ingress",
            "tc qdisc del dev eth0 clsact; ip link del d0; ip link del d1",
        ],
    );
    let traces = ["receive", "clsact", "ov0", "plait"];
    assert!(!traces.iter().any(|trace| left.contains(trace)), "{left}");
    assert!(others.contains("matchall") && !others.contains("transmit"), "{others}");
    assert!(anothers.contains("clsact") && !anothers.contains("receive"), "{anothers}");
    assert!(!answers());
    a.overlay("config device ov0 --delete");
}

/// A testbed on a kernel without TCX, whose members are on each other's way, and are asked by group for addresses: of three, so that
/// whoever asks sends two copies.
fn an_overlay_of_a_file_is_built(guest: &mut Guest) {
    let [_, built, reached, left] = each(
        guest,
        [
            "cat > /tmp/net.yaml <<'END'
plait: 1
nodes: {a: host, r: router, b: host}
links: [a-r, r-b]
overlays: {vnet: {members: [a, r, b], network: 172.16.0.0/24, control: mesh}}
END",
            "plait up /tmp/net.yaml --name files",
            "until plait exec --testbed files a -- ping -c 1 -W 1 172.16.0.3 >/dev/null; do :; done
             plait exec --testbed files a -- ping -c 3 -W 2 172.16.0.3",
            "plait down files; plait ls --json; ip -o link",
        ],
    );
    assert!(reached.contains(" 0% packet loss"), "{built}{reached}");
    assert!(left.contains("\n[]\n") && !left.contains("vnet"), "{left}");
}

/// Says to the host where the guest is.
fn know(a: &Host<'_>, locator: &str) {
    a.overlay(&format!("node add 10.0.0.2 {locator}"));
    for route in ["10.0.0.2 --via 10.0.0.2", "224.0.0.1 --via 10.0.0.2", "224.0.0.1 --via 10.0.0.1"] {
        a.overlay(&format!("route add {route}"));
    }
}

/// Encapsulations that the kernel has devices for, in the order of their devices and networks: the first has `t1`,
/// 10.1.1.0/24 and fd00:1::/64. It has none for ovstack.
const FRAMES: &[&str] = &["vxlan", "geneve", "nvgre", "gre", "nsh"];
/// The last one's other end sends IP in UDP without a header between them (FOU), and hears the same in GUE.
const PACKETS: &[&str] = &["geneve", "gre", "mpls", "ipip", "gue", "gue"];

fn locators(outer: u8) -> (&'static str, &'static str) {
    if outer == 4 { ("192.0.2.1", "192.0.2.2") } else { ("2001:db8::1", "2001:db8::2") }
}

/// The guest's commands for the other ends of frames.
fn frames(outer: u8) -> String {
    let (ours, theirs) = locators(outer);
    let ends = format!("local {theirs} remote {ours}");
    let gretap = if outer == 4 { "gretap" } else { "ip6gretap encaplimit none" };
    let external = if outer == 4 { "gretap" } else { "ip6gretap" };
    // NVGRE's key is a network and a flow: a device of one key would take but one flow of 256.
    format!(
        "modprobe -a cls_matchall act_tunnel_key && ip -batch - <<. || exit 1
link add t1 type vxlan id 42 dstport 4789 {ends} udp6zerocsumrx
link add t2 type geneve id 42 remote {ours} udp6zerocsumrx
link add t3 type {external} external
link add t4 type {gretap} {ends}
{}
.
tc qdisc add dev t3 clsact && tc filter add dev t3 egress matchall \\
    action tunnel_key set src_ip {theirs} dst_ip {ours} id $((42 << 8)) nocsum
END_IN_NSH='t5 {theirs} {ours}' cases --ignored --exact an_end_in_nsh && ip -batch - <<.
address add 10.1.5.2/24 dev t5
address add fd00:5::2/64 dev t5 nodad
.",
        (1..=4)
            .map(|number| format!("link set t{number} address 02:00:00:00:00:0{number}\n") + &inner(number))
            .collect::<String>()
    )
}

/// The guest's commands for the other ends of packets but those in UDP and GUE, which are of the same devices as IP in IP.
fn packets_in(outer: u8) -> String {
    let (ours, theirs) = locators(outer);
    let ends = format!("local {theirs} remote {ours}");
    let gre = if outer == 4 { "gre" } else { "ip6gre encaplimit none" };
    format!(
        "modprobe -a mpls_router mpls_iptunnel && ip -batch - <<. || exit 1
link add t1 type geneve id 42 remote {ours} udp6zerocsumrx innerprotoinherit
link add t2 type {gre} {ends}
{}{}
address replace 10.1.3.2/32 dev lo
address replace fd00:3::2/128 dev lo nodad
route replace 10.1.3.1/32 encap mpls 42 dev t2 src 10.1.3.2
route replace fd00:3::1/128 encap mpls 42 dev t2 src fd00:3::2
.
sysctl -qw net.mpls.platform_labels=100 net.mpls.conf.t2.input=1 && ip -f mpls route replace 42 dev lo",
        inner(1),
        inner(2)
    )
}

/// The guest's commands for IP in IP, as it is or in GUE.
fn ip_in_ip(outer: u8, number: usize, gue: &str) -> String {
    let (ours, theirs) = locators(outer);
    let ends = format!("local {theirs} remote {ours} {gue}");
    if outer == 6 {
        return format!(
            "ip -batch - <<.\nlink add t{number} type ip6tnl mode any encaplimit none {ends}\n{}.",
            inner(number)
        );
    }
    format!(
        "ip -batch - <<.
link add t{number} type ipip {ends}
link add s{number} type sit {ends}
{}link set s{number} up group 7
route replace fd00:{number}::1/128 dev s{number} src fd00:{number}::2
.",
        inner(number)
    )
}

/// The guest's commands for IP in IP in UDP: in GUE, or without a header of its own, which GUE's end understands as well.
fn in_udp(outer: u8, number: usize, how: &str) -> String {
    let family = if outer == 6 { "-6" } else { "" };
    let how = format!("encap {how} encap-sport auto encap-dport 6080");
    format!("modprobe -a fou fou6 && ip fou add port 6080 gue {family} && {}", ip_in_ip(outer, number, &how))
}

/// Commands of `ip` that give a device its addresses.
fn inner(number: usize) -> String {
    format!(
        "link set t{number} up group 7
address add 10.1.{number}.2/24 dev t{number}
address add fd00:{number}::2/64 dev t{number} nodad
"
    )
}

/// Takes away the other ends that there are.
const END: &str =
    "ip link del group 7 2>/dev/null; ip fou del port 6080 2>/dev/null; ip fou del port 6080 -6 2>/dev/null
    ! ip link show t5v >/dev/null 2>&1 || END_IN_NSH=t5 cases --ignored --exact an_end_in_nsh";

/// Sends bytes to and fro through every encapsulation that both know, over IPv4 and IPv6, begun by either.
fn each_tunnel_of_the_kernel_speaks_with_ours(a: &Host<'_>, guest: &mut Guest, own: &str) {
    let words = ["--ignored", "--exact", "an_end_of_a_conversation"];
    let _echo = a.start(&[&[own][..], &words].concat());
    guest.shell(&format!("setsid cases {} </dev/null >/tmp/echo 2>&1 &", words.join(" "))).unwrap();
    for outer in [4, 6] {
        let (ours, theirs) = locators(outer);
        a.overlay(&format!("locator add {ours}"));
        a.overlay(&format!("node add 10.0.0.2 {theirs}"));
        if outer == 6 {
            a.overlay(&format!("locator del {}", locators(4).0));
            a.overlay(&format!("node del 10.0.0.2 {}", locators(4).1));
        }
        for (carries, encapsulations) in [("ethernet --group 224.0.0.1", FRAMES), ("ip", PACKETS)] {
            for (number, encapsulation) in (1..).zip(encapsulations) {
                let begin = match (number, *encapsulation) {
                    (1, "vxlan") => Some(frames(outer)),
                    (1, "geneve") => Some(format!("{}\n{}", packets_in(outer), ip_in_ip(outer, 4, ""))),
                    (5, "gue") => Some(in_udp(outer, number, "gue")),
                    (6, "gue") => Some(in_udp(outer, number, "fou")),
                    _ => None,
                };
                let started = Instant::now();
                let carried = carries.split(' ').next().unwrap_or(carries);
                let what = format!("{carried} in {encapsulation} ({number}) over IPv{outer}");
                if let Some(begin) = begin {
                    guest.shell(&format!("{END}\n{begin}")).unwrap_or_else(|error| panic!("{what}: {error}"));
                }
                a.overlay(&format!(
                    "config application ethernet --carries {carries} --vni 42 --encapsulation {encapsulation}"
                ));
                if number == 1 {
                    a.overlay("config device ov0 --vni 42");
                }
                a.sh(&format!(
                    "ip addr add 10.1.{number}.1/24 dev ov0 && ip addr add fd00:{number}::1/64 dev ov0 nodad"
                ));
                if carries == "ip" {
                    a.overlay(&format!("fib add ov0 10.1.{number}.2 10.0.0.2"));
                    a.overlay(&format!("fib add ov0 fd00:{number}::2 10.0.0.2"));
                }
                converse(a, guest, own, number, &what);
                println!("{what}: {:.1} s", started.elapsed().as_secs_f64());
            }
            a.overlay("config device ov0 --delete");
        }
    }
}

fn converse(a: &Host<'_>, guest: &mut Guest, own: &str, number: usize, what: &str) {
    let words = ["--ignored", "--exact", "an_end_of_a_conversation"];
    let said = |guest: &mut Guest| {
        let theirs = guest.shell("ip -s -d link; ip neigh; ip addr; ip route; ip -6 route; cat /tmp/echo");
        format!("{what}: {}\n{}\n{}", a.overlay("stats"), a.sh("ip neigh"), theirs.unwrap_or_default())
    };
    let all = |end: u8| format!("10.1.{number}.{end}:{ECHO} [fd00:{number}::{end}]:{ECHO}");
    for inner in [format!("10.1.{number}.2"), format!("fd00:{number}::2")] {
        let answers = || a.exec(&["ping", "-c", "1", "-W", "1", &inner]).code() == Some(0);
        assert!((0..8).any(|_| answers()), "ping {inner}: {}", said(guest));
        let short = a.exec(&["ping", "-c", "1", "-W", "2", "-s", "0", &inner]);
        assert_eq!(short.code(), Some(0), "{}", said(guest));
    }
    let ended = a.exec(&[&["env", &format!("TELL={}", all(2)), own][..], &words].concat());
    assert_eq!(ended.code(), Some(0), "{}\n{ended:#?}", said(guest));
    // The guest is asked beside the tunnel to begin: programs start slowly in it.
    let ask = [format!("ASK=192.0.2.2:{ASKED}"), format!("TELL={}", all(1))];
    let ended = a.exec(&[&["env", &ask[0], &ask[1], own][..], &words].concat());
    assert_eq!(ended.code(), Some(0), "{}\n{ended:#?}", said(guest));
}

/// Not a test: makes a device for frames in NSH, in the guest, or takes it away.
#[test]
#[ignore = "a part of another test"]
fn an_end_in_nsh() {
    let said = std::env::var("END_IN_NSH").unwrap();
    match said.split(' ').collect::<Vec<_>>()[..] {
        [name, local, remote] => {
            let ends = (local.parse().unwrap(), remote.parse().unwrap());
            plait_dataplane_profile::nsh::make(name, 42, ends, 1500).unwrap();
        }
        [name] => plait_dataplane_profile::nsh::remove(name).unwrap(),
        _ => panic!("a device, and two locators: {said}"),
    }
}

/// Where an end says again what it hears, and where it is asked to tell others.
const ECHO: u16 = 7007;
const ASKED: u16 = 7008;

/// Not a test: one end of a conversation, in the guest or in a node. It serves; or tells others many bytes and wants to
/// hear the same; or asks one that serves to do so.
#[test]
#[ignore = "a part of another test"]
fn an_end_of_a_conversation() {
    let Ok(others) = std::env::var("TELL") else {
        std::thread::spawn(|| {
            serve(ECHO, |stream| {
                let _ = std::io::copy(&mut &stream, &mut &stream);
                let _ = stream.shutdown(Shutdown::Write);
            });
        });
        return serve(ASKED, |mut stream| {
            let mut others = String::new();
            stream.read_to_string(&mut others).unwrap();
            tell(&others);
            stream.write_all(b"heard").unwrap();
        });
    };
    let Ok(asked) = std::env::var("ASK") else { return tell(&others) };
    let mut stream = TcpStream::connect(asked).unwrap();
    stream.write_all(others.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "heard");
}

fn serve(port: u16, with: fn(TcpStream)) {
    for stream in TcpListener::bind(("::", port)).unwrap().incoming() {
        std::thread::spawn(move || with(stream.unwrap()));
    }
}

/// Says many bytes to each of some addresses, and hears them again.
fn tell(others: &str) {
    for other in others.split(' ') {
        let stream = TcpStream::connect_timeout(&other.parse().unwrap(), Duration::from_secs(10)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let bytes: Vec<u8> = (0u32..200_000).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut heard = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (&stream).write_all(&bytes).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
            });
            (&stream).read_to_end(&mut heard).unwrap();
        });
        assert!(heard == bytes, "{} bytes came back from {other}", heard.len());
    }
}
