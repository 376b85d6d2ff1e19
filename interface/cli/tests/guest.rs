//! Guests: nodes with the distribution's kernel. One boots for all that can be asked of one, since a boot
//! takes seconds.

mod common;
#[path = "common/equipped.rs"]
mod equipped;

use common::{PATIENCE, Pinged, Testbed, eventually};
use equipped::{handle, prepared};
use plait_model_quantity::ByteCount;
use plait_testbed_guest::{Equipment, Guest, Image};
use plait_testbed_runtime::control::{self, Directory, Exited};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LAB: &str = "plait: 1\nnodes: {a: host, r: router, b: host, s: ovs}\nlinks: [a-r, {endpoints: [r, b], mtu: 1400B}, b-s]\n";

/// Links that the guest's kernel makes: one that wants an auxiliary node, and one that netem does alone.
const INNER: &str = "plait: 1\nname: inner\nnodes: [a, b, c]\nlinks:\n\
    - {endpoints: [a, b], via: kernel, delay: 10ms, rate: 5Mbit, queue: 50ms}\n\
    - {endpoints: [b, c], via: kernel, delay: 20ms, loss: 5%}\n";

#[test]
fn a_guest_is_a_node_with_a_kernel_of_its_own() {
    let Some((person, image)) = prepared() else { return };
    let testbed = person.up(LAB);
    let mut equipment = Equipment::new(image)
        .with_file("/usr/bin/plait", env!("CARGO_BIN_EXE_plait"))
        .with_file("/root/inner.yaml", person.file("inner.yaml", INNER))
        .with_file("/root/order.yaml", person.file("order.yaml", small_order()));
    // Room for a program with all that a debugger wants.
    equipment.memory = ByteCount::new(1 << 30);
    let mut guest = Guest::start(&handle(&person, &testbed.name), "r", &equipment).unwrap();
    println!("Linux {} was up after {:?}", guest.kernel(), guest.booted_in());
    let refused =
        Guest::start(&handle(&person, &testbed.name), "s", &equipment).err().map(|why| why.to_string());
    assert!(refused.as_ref().is_some_and(|why| why.contains("`ovs`")), "{refused:?}");

    commands_end_as_they_do(&mut guest);
    a_command_that_hangs_is_stopped(&mut guest);
    it_stands_in_its_nodes_place(&testbed, &mut guest);
    netem_and_the_token_bucket_stand_in_both_orders(&testbed, &mut guest);
    vitos_orders_keep_their_queues(&mut guest);
    it_has_what_other_kernels_lack(&mut guest);
    the_kernel_makes_plaits_links(&mut guest);

    // What it is told by its host ends with it.
    guest.stop();
    assert_eq!(machines(&testbed), "");
    testbed.down();
    person.assert_nothing_runs();
}

/// Processes of virtual machines in a testbed.
fn machines(testbed: &Testbed) -> String {
    testbed.shell("a", "cat /proc/[0-9]*/comm | grep qemu || true").fine()
}

fn commands_end_as_they_do(guest: &mut Guest) {
    let second = Duration::from_secs(1);
    let ended = guest.run("cat; echo heard >&2; exit 7", b"said \0 in bytes", 10 * second).unwrap();
    assert_eq!(ended.exited, Exited::Code(7));
    assert_eq!((&ended.stdout[..], &ended.stderr[..]), (&b"said \0 in bytes"[..], &b"heard\n"[..]));
    // Codes that could be taken for another end.
    for code in [0, 124, 127, 255] {
        assert_eq!(guest.run(&format!("exit {code}"), &[], 10 * second).unwrap().exited, Exited::Code(code));
    }
    assert_eq!(guest.run("kill -9 $$", &[], 10 * second).unwrap().exited, Exited::Code(137));
    let long = guest.run("head -c 3000000 /dev/zero", &[], 30 * second).unwrap();
    assert_eq!(long.stdout.len(), 3_000_000);
    let error = guest.shell("echo so; echo what >&2; false").unwrap_err().to_string();
    assert!(error.contains("so\nwhat"), "{error}");
}

fn a_command_that_hangs_is_stopped(guest: &mut Guest) {
    let started = Instant::now();
    // Deaf to polite signals, with a child that holds its output open.
    let script = "trap '' TERM; echo begun; sleep 1000 & while :; do sleep 1; done";
    let ended = guest.run(script, &[], Duration::from_secs(1)).unwrap();
    assert_eq!((ended.exited, &ended.stdout[..]), (Exited::TimedOut, &b"begun\n"[..]));
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert_eq!(guest.shell("pgrep -c sleep || true").unwrap().trim(), "0", "its children were stopped too");
}

fn it_has_what_other_kernels_lack(guest: &mut Guest) {
    let modules = "sch_netem sch_tbf sch_htb sch_fq sch_fq_codel sch_cake ip_gre ip6_gre ipip fou geneve vxlan \
        mpls_router mpls_iptunnel wireguard vrf openvswitch dummy bonding macvlan 8021q act_mirred cls_flower";
    guest.shell(&format!("modprobe --all {modules}")).unwrap();
    guest.shell("ip link add geneve0 type geneve id 7 remote 192.0.2.1 && ip link delete geneve0").unwrap();
}

fn it_stands_in_its_nodes_place(testbed: &Testbed, guest: &mut Guest) {
    Pinged::read(&testbed.exec("a", &["ping", "-c", "3", "-i", "0.2", "b"]).stdout).whole();
    Pinged::read(&guest.shell("ping -c 2 -i 0.2 b").unwrap()).whole();
    assert_eq!(guest.shell("hostname 2>/dev/null || cat /proc/sys/kernel/hostname").unwrap().trim(), "r");
    assert_eq!(guest.shell("cat /sys/class/net/eth0/mtu /sys/class/net/eth1/mtu").unwrap(), "1500\n1400\n");
    // What the link cannot carry, the guest refuses as any router does.
    let large = testbed.shell("a", "ping -c 1 -W 2 -M do -s 1400 b");
    assert!(large.stdout.contains("Frag needed and DF set (mtu = 1400)"), "{large:#?}");
    // Trains of segments pass whole, with their checksums.
    testbed.shell("b", "iperf3 -s -D -1").fine();
    assert!(eventually(|| testbed.shell("b", "ss -Htln 'sport = 5201' | grep -q .").code() == Some(0)));
    let report = testbed.exec("a", &["iperf3", "-c", "b", "-n", "50M", "-J"]).json();
    let rate = report["end"]["sum_received"]["bits_per_second"].as_f64().unwrap() / 1e6;
    println!("TCP through the guest: {rate:.0} Mbit/s");
    assert!(rate > 20.0, "{report}");
}

fn netem_and_the_token_bucket_stand_in_both_orders(testbed: &Testbed, guest: &mut Guest) {
    const NETEM: &str = "netem delay 10ms limit 1000";
    const BUCKET: &str = "tbf rate 8mbit burst 10kb latency 200ms";
    for chain in [&[NETEM][..], &[NETEM, BUCKET], &[BUCKET, NETEM]] {
        guest.disciplines("eth1", chain).unwrap();
        // A crowded machine answers late now and then, never early.
        assert!(
            eventually(|| {
                let pinged = Pinged::read(&testbed.exec("a", &["ping", "-c", "10", "-i", "0.1", "b"]).stdout);
                println!("{chain:?}: {pinged:?}");
                assert!(pinged.received == 0 || pinged.mean >= 10.0, "{chain:?}: {pinged:?}");
                pinged.received == pinged.sent && pinged.sent > 0 && pinged.mean < 50.0
            }),
            "{chain:?}"
        );
        if chain.len() > 1 {
            let started = Instant::now();
            // 60 frames of 1400 bytes, one after the other at 8 Mbit/s, but for the burst.
            testbed.shell("a", "ping -q -f -c 60 -l 60 -s 1358 -W 3 b").fine();
            let took = started.elapsed();
            assert!(took > Duration::from_millis(70), "{chain:?}: {took:?}");
        }
    }
    guest.disciplines("eth1", &[]).unwrap();
    assert!(!guest.shell("tc qdisc show dev eth1").unwrap().contains("netem"));
}

/// The network of the study of VITO's orders, for two short downloads.
fn small_order() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/vito/order.yaml");
    let text = std::fs::read_to_string(file).unwrap();
    let edits = [
        ("[netem-tbf, tbf-netem, tbf-netem-pairs, tbf-netem-100, tbf-netem-10000]", "[netem-tbf, tbf-netem]"),
        ("repeats: 10", "repeats: 1"),
        ("-n 100000000", "-n 10000000"),
    ];
    edits.iter().fold(text, |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    })
}

/// What waits for the rate is bounded by the bucket's own queue, or by netem in its place, however slow the guest.
fn vitos_orders_keep_their_queues(guest: &mut Guest) {
    let ended = guest.run("plait run --json order.yaml --output order", &[], PATIENCE).unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.exited, Exited::Code(0), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    let metric = |cell: usize, name: &str| {
        let found = value["summary"]["cells"][cell]["metrics"][name]["mean"]["value"].as_f64();
        found.unwrap_or_else(|| panic!("no {name} in {said}"))
    };
    // 50 ms at 50 Mbit/s and a burst.
    assert!(metric(0, "inner_bytes") <= 312_500.0 + 4_542.0, "{said}");
    assert!(metric(1, "inner_packets") <= 1000.0, "{said}");
    let [netem, bucket] = ["inner_bytes", "outer_bytes"].map(|name| metric(1, name));
    // Both are looked at in turn, in a guest that may stand still between.
    assert!((netem / bucket - 1.0).abs() < 0.25, "netem's queue is not the bucket's: {said}");
    let [first, second] = [0, 1].map(|cell| metric(cell, "rtt_max"));
    println!("longest round trips: {first} ms with netem first, {second} ms with tbf first");
    assert!(first >= 200.0 && second >= 200.0, "{said}");
}

/// Plait itself, in the guest: what its plan says of netem and auxiliary nodes is what packets meet.
///
/// By now its kernel puts a device for each kind of tunnel into every new namespace.
fn the_kernel_makes_plaits_links(guest: &mut Guest) {
    guest.shell("plait up /root/inner.yaml").unwrap();
    let text = guest.shell("plait inspect").unwrap();
    assert!(text.contains("aux:a-b") && !text.contains("engine"), "{text}");
    let text = guest.shell("plait exec a -- ping -c 5 -i 0.2 b").unwrap();
    let pinged = Pinged::read(&text).whole();
    assert!((20.0..90.0).contains(&pinged.mean), "{text}");
    // The exit code says whether all was within the published tolerance, which an emulated processor misses.
    let ended = guest.run("plait --json link check", &[], PATIENCE).unwrap();
    let checked: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    for link in checked.as_array().unwrap() {
        let directions = link["directions"].as_array().into_iter().flatten();
        for found in directions.flat_map(|direction| direction["measured"].as_array().unwrap()) {
            let quantity = found["quantity"].as_str().unwrap();
            // Of delays that of half the packets: while the guest's processors stand still, others are late.
            let measured = if quantity == "delay" { "p50" } else { "got" };
            let [asked, got] = ["asked", measured].map(|key| found[key].as_f64().unwrap());
            let bounds = match quantity {
                // Milliseconds beyond: late, but never early.
                "delay" => asked * 0.99..asked + 5e6,
                "rate" => asked * 0.8..asked * 1.1,
                _ => asked * 0.5..asked * 2.0,
            };
            assert!(bounds.contains(&got), "{found:#} on {}", link["link"]);
        }
        // A crowded machine may be too slow to measure a rate.
        println!("{}: {}", link["link"], if link["error"].is_null() { "measured" } else { "not measured" });
    }
    guest.shell("plait down inner").unwrap();
}

#[test]
fn nothing_of_a_guest_is_left_when_who_started_it_is_killed() {
    let Some((person, _image)) = prepared() else { return };
    let testbed = person.up(LAB);
    let before = testbed.shell("r", "find /run /tmp").fine();
    // While it is put together, while its kernel starts, and when it is up.
    for moment in [Some(0), Some(100), Some(700), None] {
        let mut starter = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "a_starter_that_waits_to_be_killed", "--nocapture"])
            .env("GUEST_SOCKETS", person.sockets())
            .env("GUEST_TESTBED", &testbed.name)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(starter.stdout.take().unwrap()).lines().map_while(Result::ok);
        let word = if moment.is_some() { "starting" } else { "up" };
        assert!(said.any(|line| line.ends_with(word)), "the starter ended");
        std::thread::sleep(Duration::from_millis(moment.unwrap_or(0)));
        starter.kill().unwrap();
        starter.wait().unwrap();
        assert!(eventually(|| machines(&testbed).is_empty()), "{}", machines(&testbed));
        let left = || testbed.shell("r", "find /run /tmp").fine();
        assert!(eventually(|| left() == before), "{before} became {}", left());
    }
    testbed.down();
    person.assert_nothing_runs();
}

/// Not a test: the process that the test above kills.
#[test]
#[ignore = "a part of another test"]
fn a_starter_that_waits_to_be_killed() {
    let [sockets, name] = ["GUEST_SOCKETS", "GUEST_TESTBED"].map(|name| std::env::var(name).unwrap());
    let image = Image::prepare(&[]).unwrap();
    let testbed =
        control::Testbed::find_in(Directory::at(Path::new(&sockets).to_owned()).unwrap(), Some(&name))
            .unwrap();
    println!("\nstarting");
    let _guest = Guest::start(&testbed, "r", &Equipment::new(image)).unwrap();
    println!("\nup");
    std::thread::sleep(PATIENCE);
}
