//! Overlays and the distribution's kernel: our programs on it, and its own tunnels at the other end of ours. One guest
//! boots for all.

mod common;
#[path = "common/equipped.rs"]
mod equipped;
/// The programs' packet cases. This test program is copied into the guest, and runs them there.
#[path = "../../../dataplane/bpf/tests/packets.rs"]
mod packets;

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
    let testbed = person.up(LAB);
    let own = std::env::current_exe().unwrap();
    let mut equipment = Equipment::new(image)
        .with_file("/usr/bin/plait", env!("CARGO_BIN_EXE_plait"))
        .with_file("/usr/bin/cases", &own);
    // Room for programs with all that a debugger wants.
    equipment.memory = ByteCount::new(2 << 30);
    let mut guest = Guest::start(&handle(&person, &testbed.name), "g", &equipment).unwrap();
    println!("Linux {} was up after {:?}", guest.kernel(), guest.booted_in());
    let (keeper, process) = program_in(&testbed, "a");
    let mut a = Host::beside(&person, 1, process);
    a.sh("ip addr replace 192.0.2.1/24 dev eth0 && ip addr add 2001:db8::1/64 dev eth0 nodad");
    guest
        .shell("ip addr replace 192.0.2.2/24 dev eth0 && ip addr add 2001:db8::2/64 dev eth0 nodad && ip link set lo up")
        .unwrap();
    a.start_agent();

    timed("packet cases", || packet_cases_pass(&mut guest));
    timed("agent", || an_agent_dies_and_goes_without_a_trace(&a, &mut guest));
    timed("tunnels", || each_tunnel_of_the_kernel_speaks_with_ours(&a, &mut guest, &own.display().to_string()));

    drop((a, keeper));
    guest.stop();
    testbed.down();
    person.assert_nothing_runs();
}

fn timed(what: &str, of: impl FnOnce()) {
    let started = Instant::now();
    of();
    println!("{what}: {:.1} s", started.elapsed().as_secs_f64());
}

/// A program in a node that does nothing, and its process.
fn program_in(testbed: &Testbed<'_>, node: &str) -> (Running, i32) {
    const WORDS: &[u8] = b"sleep\0123456\0";
    let running = testbed.background(node, "exec sleep 123456");
    let mut found = None;
    assert!(eventually(|| {
        let is_it = |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words == WORDS);
        found = testbed.person.processes().into_iter().find(|pid| !is_zombie(*pid) && is_it(pid));
        found.is_some()
    }));
    (running, found.expect("found above"))
}

/// Every program is loaded by this kernel, and does with packets what it does elsewhere.
fn packet_cases_pass(guest: &mut Guest) {
    let ended = guest.run("cases packets:: 2>&1", &[], Duration::from_secs(100)).unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let passed = said.split("test result: ok. ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(passed.unwrap_or(0) > 10 && !said.contains("skipped"), "{said}");
}

/// An agent on a kernel without TCX: its death and its successor stop no packet, and it leaves nothing.
fn an_agent_dies_and_goes_without_a_trace(a: &Host<'_>, guest: &mut Guest) {
    a.overlay("config application ethernet --group 224.0.0.1");
    a.identify("192.0.2.1");
    know(a, "192.0.2.2");
    a.device("--vni 42");
    let agent = "plait overlay agent </dev/null >>/tmp/agent 2>&1 & echo $! >/tmp/pid
        until plait overlay config show >/dev/null 2>&1; do sleep 0.1; kill -0 $(cat /tmp/pid) || { cat /tmp/agent; exit 1; }; done";
    let filters = "for side in ingress egress; do for device in eth0 ov0; do tc filter show dev $device $side; done; done";
    guest.shell(&format!("mount -t bpf bpf /sys/fs/bpf\n{agent}")).unwrap();
    guest
        .shell(
            "set -e; o='plait overlay'; $o config application ethernet --group 224.0.0.1
            $o id set 10.0.0.2; $o locator add 192.0.2.2; $o node add 10.0.0.1 192.0.2.1
            $o route add 10.0.0.1 --via 10.0.0.1; $o route add 224.0.0.1 --via 10.0.0.1
            $o route add 224.0.0.1 --via 10.0.0.2
            $o config device ov0 --vni 42; ip addr add 10.1.0.2/24 dev ov0",
        )
        .unwrap();
    let answers = || a.exec(&["ping", "-c", "1", "-W", "1", "10.1.0.2"]).code() == Some(0);
    assert!(eventually(answers), "{} {:?}", a.overlay("stats"), guest.shell("plait overlay stats; cat /tmp/agent"));
    let before = guest.shell(filters).unwrap();
    let name = "/sys/fs/bpf/plait-overlay/default/layout-1";
    assert!(before.contains(&format!("{name}/receive-")) && before.contains(&format!("{name}/transmit-ov0")), "{before}");

    let ping = a.start(&["ping", "-i", "0.02", "-c", "200", "-W", "5", "10.1.0.2"]);
    let script = format!("kill -9 $(cat /tmp/pid); sleep 0.5\n{agent}");
    guest.shell(&script).unwrap();
    let said = Pinged::read(&ping.wait().fine());
    assert_eq!(said.answered.len(), 200, "no packet was lost");
    let after = guest.shell(filters).unwrap();
    assert_ne!(before, after, "the successor's own programs");
    assert_eq!(before.lines().count(), after.lines().count(), "{after}");
    assert_eq!(guest.shell("cat /tmp/agent").unwrap(), "", "nothing to complain about");

    // What somebody else put there stays.
    guest.shell("tc filter add dev eth0 egress matchall action pass && modprobe dummy && ip link add d0 type dummy && sleep 0.5").unwrap();
    assert!(guest.shell("tc filter show dev d0 ingress").unwrap().contains("receive-"), "new devices are served");
    guest.shell("kill -9 $(cat /tmp/pid); while kill -0 $(cat /tmp/pid) 2>/dev/null; do :; done; plait overlay agent --remove").unwrap();
    let left = guest.shell("tc filter show dev eth0 ingress; tc qdisc show dev d0; ls /sys/fs/bpf/plait-overlay /run/plait-overlay; ip -o link show ov0 2>&1 || true").unwrap();
    assert!(!left.contains("receive") && !left.contains("clsact") && left.contains("not exist"), "{left}");
    assert!(guest.shell("tc filter show dev eth0 egress").unwrap().contains("matchall"));
    guest.shell("tc qdisc del dev eth0 clsact; ip link del d0").unwrap();
    assert!(!answers());
    a.overlay("config device ov0 --delete");
}

/// Says to the host where the guest is.
fn know(a: &Host<'_>, locator: &str) {
    a.overlay(&format!("node add 10.0.0.2 {locator}"));
    for route in ["10.0.0.2 --via 10.0.0.2", "224.0.0.1 --via 10.0.0.2", "224.0.0.1 --via 10.0.0.1"] {
        a.overlay(&format!("route add {route}"));
    }
}

/// What the kernel is told to be the other end of an encapsulation: `$of 4 6` is the first over IPv4, else the second;
/// `$ends` are the locators of both.
const FRAMES: &[(&str, &str)] = &[
    ("vxlan", "ip link add ov0 type vxlan id 42 dstport 4789 $ends udp6zerocsumrx"),
    ("geneve", "ip link add ov0 type geneve id 42 remote $ours udp6zerocsumrx"),
    // A key is a network and a flow: a device of one key would take but one flow of 256.
    (
        "nvgre",
        "ip link add ov0 type $(of gretap ip6gretap) external && tc qdisc add dev ov0 clsact \
         && tc filter add dev ov0 egress matchall action tunnel_key set src_ip $theirs dst_ip $ours id $((42 << 8)) nocsum",
    ),
    ("gre", "ip link add ov0 type $(of gretap 'ip6gretap encaplimit none') $ends"),
];

const PACKETS: &[(&str, &str)] = &[
    ("geneve", "ip link add ov0 type geneve id 42 remote $ours udp6zerocsumrx innerprotoinherit"),
    ("gre", "ip link add ov0 type $(of gre 'ip6gre encaplimit none') $ends"),
    (
        "ipip",
        "ip link add ov0 type $(of ipip 'ip6tnl mode any encaplimit none') $ends; \
         [ $outer = 6 ] || ip link add ov6 type sit $ends",
    ),
    (
        "gue",
        "modprobe -a fou fou6; gue='encap gue encap-sport auto encap-dport 6080'; ip fou add port 6080 gue $(of '' -6) \
         && ip link add ov0 type $(of ipip 'ip6tnl mode any encaplimit none') $ends $gue && \
         { [ $outer = 6 ] || ip link add ov6 type sit $ends $gue; }",
    ),
    (
        "mpls",
        "modprobe -a mpls_router mpls_iptunnel; ip link add ov0 type $(of gre 'ip6gre encaplimit none') $ends \
         && sysctl -qw net.mpls.platform_labels=100 net.mpls.conf.ov0.input=1 && ip -f mpls route add 42 dev lo",
    ),
];

/// The commands that begin and end a tunnel.
fn begin(outer: u8, encapsulation: &str, line: &str) -> String {
    let (ours, theirs) = locators(outer);
    let via = if encapsulation == "mpls" { "encap mpls 42 dev ov0" } else { "dev ov0" };
    format!(
        "outer={outer} ours={ours} theirs={theirs} ends='local {theirs} remote {ours}'
        of() {{ [ $outer = 4 ] && echo $1 || echo $2; }}
        {{ {line}; }} || exit 1
        ip link set ov0 up || exit 1
        ip addr add 10.1.0.2/32 dev ov0; ip addr add fd00::2/128 dev ov0 nodad
        ip route replace 10.1.0.1/32 {via} src 10.1.0.2 || exit 1
        if ip link set ov6 up 2>/dev/null; then ip route replace fd00::1/128 dev ov6 src fd00::2
        else ip route replace fd00::1/128 {via} src fd00::2; fi"
    )
}

const END: &str = "ip link del ov0; ip link del ov6 2>/dev/null; ip fou del port 6080 2>/dev/null; \
                   ip -6 fou del port 6080 2>/dev/null; ip -f mpls route del 42 2>/dev/null; true";

fn locators(outer: u8) -> (&'static str, &'static str) {
    if outer == 4 { ("192.0.2.1", "192.0.2.2") } else { ("2001:db8::1", "2001:db8::2") }
}

/// Sends bytes to and fro through every encapsulation that both know, over IPv4 and IPv6, begun by either.
fn each_tunnel_of_the_kernel_speaks_with_ours(a: &Host<'_>, guest: &mut Guest, own: &str) {
    let _echo = a.start(&["env", "ECHO_AT=[::]:7007", own, "--ignored", "--exact", "an_end_of_a_conversation"]);
    guest
        .shell("ECHO_AT='[::]:7007' setsid cases --ignored --exact an_end_of_a_conversation </dev/null >/tmp/echo 2>&1 &")
        .unwrap();
    for (carries, tunnels) in [("ethernet", FRAMES), ("ip", PACKETS)] {
        for outer in [4, 6] {
            let (ours, theirs) = locators(outer);
            for line in a.overlay("locator show").lines().filter_map(|line| line.split_whitespace().next()) {
                a.overlay(&format!("locator del {line}"));
            }
            for old in [locators(4).1, locators(6).1] {
                a.try_overlay(&format!("node del 10.0.0.2 {old}"));
            }
            a.overlay(&format!("locator add {ours}"));
            a.overlay(&format!("node add 10.0.0.2 {theirs}"));
            for (number, (encapsulation, line)) in tunnels.iter().enumerate() {
                let started = Instant::now();
                let what = format!("{carries} in {encapsulation} over IPv{outer}");
                a.overlay(&format!(
                    "config application ethernet --carries {carries} {} --vni 42 --encapsulation {encapsulation}",
                    if carries == "ethernet" { "--group 224.0.0.1" } else { "" }
                ));
                if number == 0 && outer == 4 {
                    a.device("--vni 42");
                    a.sh("ip addr add fd00::1/64 dev ov0 nodad");
                    if carries == "ip" {
                        a.overlay("fib add ov0 10.1.0.2 10.0.0.2");
                        a.overlay("fib add ov0 fd00::2 10.0.0.2");
                    }
                }
                guest.shell(&begin(outer, encapsulation, line)).unwrap_or_else(|error| panic!("{what}: {error}"));
                converse(a, guest, own, &what);
                guest.shell(END).unwrap();
                println!("{what}: {:.1} s", started.elapsed().as_secs_f64());
            }
        }
        a.overlay("config device ov0 --delete");
    }
}

fn converse(a: &Host<'_>, guest: &mut Guest, own: &str, what: &str) {
    let words = ["--ignored", "--exact", "an_end_of_a_conversation"];
    let said = |guest: &mut Guest| {
        format!(
            "{what}: {}\n{}\n{}",
            a.overlay("stats"),
            a.sh("ip -s link show ov0; ip neigh; cat /proc/net/snmp | grep -i udp"),
            guest.shell("ip -s -d link show; ip neigh; ip addr; ip route; ip -6 route; nstat -a; cat /tmp/echo").unwrap_or_default()
        )
    };
    for inner in ["10.1.0.2", "fd00::2"] {
        let answers = || a.exec(&["ping", "-c", "1", "-W", "1", inner]).code() == Some(0);
        assert!((0..8).any(|_| answers()), "ping {inner}: {}", said(guest));
        let to = if inner.contains(':') { format!("ECHO_TO=[{inner}]:7007") } else { format!("ECHO_TO={inner}:7007") };
        let ended = a.exec(&[&["env", &to, own][..], &words].concat());
        assert_eq!(ended.code(), Some(0), "{}\n{ended:#?}", said(guest));
    }
    let line = "ping -c 1 -W 2 10.1.0.1 >/dev/null && ping -c 1 -W 2 fd00::1 >/dev/null || exit 3
        for to in 10.1.0.1:7007 [fd00::1]:7007; do
            ECHO_TO=$to cases --ignored --exact an_end_of_a_conversation || exit 4
        done";
    let ended = guest.run(line, &[], Duration::from_secs(60)).unwrap();
    assert_eq!(ended.exited, plait_testbed_runtime::control::Exited::Code(0), "{ended:?}\n{}", said(guest));
}

/// Not a test: one end of a conversation, in the guest or in a node. At an address it says again what it hears; to one it
/// says many bytes, and wants to hear the same.
#[test]
#[ignore = "a part of another test"]
fn an_end_of_a_conversation() {
    if let Ok(address) = std::env::var("ECHO_AT") {
        for stream in TcpListener::bind(address).unwrap().incoming() {
            std::thread::spawn(|| {
                let stream = stream.unwrap();
                let _ = std::io::copy(&mut &stream, &mut &stream);
                let _ = stream.shutdown(Shutdown::Write);
            });
        }
    }
    let address = std::env::var("ECHO_TO").unwrap().parse().unwrap();
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap();
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
    assert!(heard == bytes, "{} bytes came back", heard.len());
}
