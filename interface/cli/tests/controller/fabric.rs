//! Bridges in one node, joined into a fat tree and a ring: discovered, routed, and what fails.

use super::bridges::Fabric;
use super::*;

/// Links that are known, each way for itself.
fn links(testbed: &Testbed) -> usize {
    let topology = ask(testbed, "topology");
    topology.as_ref().and_then(|topology| topology["links"].as_array()).map_or(0, Vec::len)
}

/// Switches that were connected and are not.
fn gone(testbed: &Testbed) -> usize {
    let switches = ask(testbed, "switches").unwrap();
    switches.as_array().unwrap().iter().filter(|switch| switch["connected"] == false).count()
}

/// Whether packets of hosts pass through a switch.
fn is_used(testbed: &Testbed, bridge: usize) -> bool {
    let flows = ask(testbed, &format!("flows {bridge:016x}")).unwrap_or_default();
    flows.as_array().into_iter().flatten().any(|flow| flow["match"]["eth_dst"].is_string())
}

/// What is established goes on without a controller, and while another one takes its place.
fn a_controller_dies_and_another_takes_its_place(testbed: &Testbed, fabric: &Fabric, host: u8, all: usize) {
    testbed.shell("h1", &format!("ping -c 3 -i 0.1 -W 1 10.9.0.{host}")).fine();
    let ping = testbed.background("h1", &format!("ping -q -c 60 -i 0.1 -W 1 10.9.0.{host}"));
    testbed.shell("s", "pkill -KILL -f 'controller ru[n]'").fine();
    control(testbed, "routing");
    assert!(eventually(|| links(testbed) == all), "{}", links(testbed));
    let pinged = ping.wait();
    assert!(pinged.stdout.contains(" 0% packet loss"), "{}", pinged.stdout);
    assert!(eventually(|| fabric.all_reach_all(testbed)));
}

/// Connections to the controller break and are made again. Switches go on meanwhile, and no way is taken from those who have one.
fn connections_break_and_nobody_notices(testbed: &Testbed, fabric: &Fabric, host: u8, all: usize) {
    let ways = || -> usize {
        let of = |bridge: usize| ask(testbed, &format!("flows {bridge:016x}")).unwrap_or_default();
        let is_way = |flow: &&Value| flow["match"]["eth_dst"].is_string();
        (1..=fabric.bridges)
            .map(|bridge| of(bridge).as_array().into_iter().flatten().filter(is_way).count())
            .sum()
    };
    testbed.shell("h1", &format!("ping -c 3 -i 0.1 -W 1 10.9.0.{host}")).fine();
    let before = ways();
    let ping = testbed.background("h1", &format!("ping -q -c 60 -i 0.1 -W 1 10.9.0.{host}"));
    testbed.shell("s", "ovs-appctl --target=$(ls /run/ovs/ovs-vswitchd.*.ctl) bridge/reconnect").fine();
    assert!(eventually(|| gone(testbed) > 0), "nobody's connection broke");
    assert!(eventually(|| gone(testbed) == 0));
    assert_eq!(links(testbed), all);
    let pinged = ping.wait();
    assert!(pinged.stdout.contains(" 0% packet loss"), "{}", pinged.stdout);
    assert_eq!(links(testbed), all);
    // What is idle for long goes by itself, but not so soon.
    assert!(ways() >= before, "{} of {before} ways are left", ways());
}

/// A switch finds no controller for longer than a link may be unheard, and then does. Its flows and its place are as they were.
fn a_switch_is_away_and_keeps_its_place(testbed: &Testbed, host: u8, all: usize) {
    testbed.shell("h1", &format!("ping -c 3 -i 0.1 -W 1 10.9.0.{host}")).fine();
    let epoch = || ask(testbed, "views routes@1").unwrap()["epoch"].as_u64();
    let (before, since) = (epoch(), std::time::Instant::now());
    let ping = testbed.background("h1", &format!("ping -q -c 70 -i 0.1 -W 1 10.9.0.{host}"));
    vsctl(testbed, "set-controller b2 tcp:127.0.0.1:1");
    assert!(eventually(|| gone(testbed) == 1));
    while since.elapsed() < std::time::Duration::from_secs(6) {
        // What another switch says may be late for once on a machine at work, and then it comes.
        assert!(eventually(|| links(testbed) == all));
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    vsctl(testbed, "set-controller b2 tcp:127.0.0.1:6653");
    assert!(eventually(|| gone(testbed) == 0));
    let pinged = ping.wait();
    assert!(pinged.stdout.contains(" 0% packet loss"), "{}", pinged.stdout);
    assert_eq!((links(testbed), epoch()), (all, before), "nothing has changed");
}

#[test]
fn ways_are_set_up_behind_the_barriers_of_open_vswitch() {
    let Some(person) = Person::root() else { return skip("switches in user space are tested as root") };
    if !has_open_vswitch() {
        return;
    }
    let fabric = Fabric::ring(5);
    let testbed = fabric.up(&person);
    control(&testbed, "routing --path-barriers 2s");
    assert!(eventually(|| links(&testbed) == 10), "{:?}", ask(&testbed, "topology"));
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    let staged = |what: &str| ask(&testbed, "stats").unwrap()["staged"][what].as_u64().unwrap();
    assert!(staged("answered") > 0);
    // Each switch answers: those of 1.0 and of 1.3.
    assert!(eventually(|| staged("held") == 0));
    assert!(staged("overdue") * 10 <= staged("answered"), "{:?}", ask(&testbed, "stats"));
    // One that dies is waited for by nobody.
    Fabric::kill_switch(&testbed, 3);
    assert!(eventually(|| links(&testbed) == 6 && gone(&testbed) == 1), "{}", links(&testbed));
    assert!(eventually(|| fabric.all_but_one_reach_all(&testbed, 3)));
    testbed.down();
}

#[test]
fn a_fat_tree_of_switches_is_discovered_routed_and_survives_links_switches_and_the_controller() {
    let Some(person) = Person::root() else { return skip("switches in user space are tested as root") };
    if !has_open_vswitch() {
        return;
    }
    let fabric = Fabric::fat_tree();
    let testbed = fabric.up(&person);
    control(&testbed, "routing");
    assert!(eventually(|| links(&testbed) == 64), "{:?}", ask(&testbed, "topology"));
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    let known = ask(&testbed, "topology").unwrap();
    assert_eq!(known["hosts"].as_array().map(Vec::len), Some(16), "{known}");

    connections_break_and_nobody_notices(&testbed, &fabric, 16, 64);

    // A link dies, and a switch of the core.
    Fabric::kill_link(&testbed, 7, 5);
    Fabric::kill_switch(&testbed, 1);
    assert!(eventually(|| links(&testbed) == 64 - 2 - 8), "{}", links(&testbed));
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    assert_eq!(gone(&testbed), 1);
    // And both are there again.
    Fabric::revive_link(&testbed, 7, 5);
    fabric.revive_switch(&testbed, 1);
    assert!(eventually(|| links(&testbed) == 64), "{}", links(&testbed));
    assert_eq!(gone(&testbed), 0);
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    // The switch that is back takes the place of another one that dies.
    Fabric::kill_switch(&testbed, 2);
    assert!(eventually(|| links(&testbed) == 64 - 8), "{}", links(&testbed));
    assert!(eventually(|| fabric.all_reach_all(&testbed) && is_used(&testbed, 1)));

    a_controller_dies_and_another_takes_its_place(&testbed, &fabric, 16, 64 - 8);
    testbed.down();
}

#[test]
fn a_ring_of_switches_is_routed_without_a_loop_and_a_learning_switch_bridges_a_line() {
    let Some(person) = Person::root() else { return skip("switches in user space are tested as root") };
    if !has_open_vswitch() {
        return;
    }
    let fabric = Fabric::ring(5);
    let testbed = fabric.up(&person);
    control(&testbed, "routing --keep-switch 20s");
    assert!(eventually(|| links(&testbed) == 10), "{:?}", ask(&testbed, "topology"));
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    let flows = ask(&testbed, "flows 0000000000000001").unwrap();
    assert!(flows.as_array().unwrap().len() > 1, "{flows}");

    a_switch_is_away_and_keeps_its_place(&testbed, 3, 10);

    // A link dies: there is the other way around. It is there again, and a switch dies.
    Fabric::kill_link(&testbed, 1, 2);
    assert!(eventually(|| links(&testbed) == 8), "{}", links(&testbed));
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    Fabric::revive_link(&testbed, 1, 2);
    assert!(eventually(|| links(&testbed) == 10), "{}", links(&testbed));
    Fabric::kill_switch(&testbed, 3);
    assert!(eventually(|| links(&testbed) == 6 && gone(&testbed) == 1), "{}", links(&testbed));
    assert!(eventually(|| fabric.all_but_one_reach_all(&testbed, 3)));
    fabric.revive_switch(&testbed, 3);
    assert!(eventually(|| links(&testbed) == 10 && gone(&testbed) == 0), "{}", links(&testbed));
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    a_controller_dies_and_another_takes_its_place(&testbed, &fabric, 3, 10);

    // Cut open, the ring is a line, which a learning switch can serve.
    testbed.shell("s", "pkill -TERM -f 'controller ru[n]'").fine();
    assert!(eventually(|| ask(&testbed, "switches").is_none()));
    let cut = "ovs-vsctl --db=unix:/run/ovs/db.sock del-port p1-5 -- del-port p5-1
        for bridge in 1 2 3 4 5; do
            ovs-ofctl -O OpenFlow10,OpenFlow13 del-flows unix:/run/ovs/b$bridge.mgmt
        done";
    testbed.shell("s", cut).fine();
    control(&testbed, "learning-switch");
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    let statistics = ask(&testbed, "stats").unwrap();
    let requests: u64 =
        statistics["workers"].as_array().unwrap().iter().filter_map(|one| one["requests"].as_u64()).sum();
    assert!(requests > 0, "{statistics}");
    let graph = testbed.shell("s", "/run/plait control graph");
    assert!(graph.fine().contains("switch-packets"));
    testbed.down();
}
