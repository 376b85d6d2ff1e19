//! The OpenFlow controller against the distribution's Open vSwitch: a fat tree and a ring of switches in user space, all
//! in one node, hosts in nodes of their own.

mod common;

use common::{Ended, Person, Running, Testbed, eventually, skip};
use plait_interface_daemon::{Method, tell};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Bridges with the ports that join them, and the bridge of each host.
struct Fabric {
    bridges: usize,
    /// Between bridges, each from 1.
    links: Vec<(usize, usize)>,
    hosts: Vec<usize>,
}

impl Fabric {
    /// A fat tree of four pods: bridges 1 to 4 are the core, then two of aggregation and two of the edge in each pod.
    fn fat_tree() -> Self {
        let (mut links, mut hosts) = (Vec::new(), Vec::new());
        for pod in 0..4 {
            let (aggregation, edge) = (5 + pod * 4, 7 + pod * 4);
            for which in 0..2 {
                links.extend([(aggregation + which, 1 + which * 2), (aggregation + which, 2 + which * 2)]);
                links.extend([(edge, aggregation + which), (edge + 1, aggregation + which)]);
            }
            hosts.extend([edge, edge, edge + 1, edge + 1]);
        }
        Self { bridges: 20, links, hosts }
    }

    fn ring(size: usize) -> Self {
        let links = (1..=size).map(|bridge| (bridge, bridge % size + 1)).collect();
        Self { bridges: size, links, hosts: (1..=size).collect() }
    }

    /// The network file. Hosts share a prefix, which Plait would not assign.
    fn file(&self) -> String {
        let mut text = "plait: 1\nname: fabric\nrouting: none\nnodes:\n  s: host\n".to_owned();
        for host in 1..=self.hosts.len() {
            let command = format!("ip address add 10.9.0.{host}/24 dev eth0");
            let _ = writeln!(text, "  h{host}: {{commands: ['{command}']}}");
        }
        text.push_str("links:\n");
        for host in 1..=self.hosts.len() {
            let _ = writeln!(text, "  - {{endpoints: [s:eth{host}, h{host}:eth0]}}");
        }
        text
    }

    /// Starts the switches. Those of even numbers speak 1.0, the others 1.3.
    fn start(&self) -> String {
        let mut script = "set -e
            export OVS_RUNDIR=/run/ovs OVS_DBDIR=/run/node OVS_LOGDIR=/run/node/log
            mkdir -p $OVS_RUNDIR
            ovsdb-tool create $OVS_DBDIR/conf.db /usr/share/openvswitch/vswitch.ovsschema
            ovsdb-server $OVS_DBDIR/conf.db --remote=punix:$OVS_RUNDIR/db.sock --pidfile --detach --log-file --no-chdir
            ovs-vsctl --db=unix:$OVS_RUNDIR/db.sock --no-wait init
            ovs-vswitchd unix:$OVS_RUNDIR/db.sock --disable-system --pidfile --detach --log-file --no-chdir
            ovs-vsctl --db=unix:$OVS_RUNDIR/db.sock --timeout=30"
            .to_owned();
        (1..=self.bridges).for_each(|bridge| script.push_str(&Self::bridge(bridge)));
        self.links.iter().for_each(|(one, other)| script.push_str(&Self::link(*one, *other)));
        (1..=self.bridges).for_each(|bridge| script.push_str(&self.ports_of_hosts(bridge)));
        script
    }

    fn bridge(bridge: usize) -> String {
        let protocol = if bridge.is_multiple_of(2) { "OpenFlow10" } else { "OpenFlow13" };
        format!(
            " -- add-br b{bridge} -- set bridge b{bridge} datapath_type=netdev fail-mode=secure \
             protocols={protocol} other-config:datapath-id={bridge:016x} other-config:disable-in-band=true \
             -- set-controller b{bridge} tcp:127.0.0.1:6653"
        )
    }

    fn link(one: usize, other: usize) -> String {
        let port = |(here, there)| {
            format!(
                " -- add-port b{here} p{here}-{there} -- set interface p{here}-{there} type=patch \
                 options:peer=p{there}-{here}"
            )
        };
        [(one, other), (other, one)].map(port).concat()
    }

    fn ports_of_hosts(&self, bridge: usize) -> String {
        let hosts = (1..).zip(&self.hosts).filter(|(_, at)| **at == bridge);
        hosts.map(|(host, _)| format!(" -- add-port b{bridge} eth{host}")).collect()
    }

    /// A switch dies. Its neighbours' ports stay, without a peer.
    fn kill_switch(testbed: &Testbed, bridge: usize) {
        vsctl(testbed, &format!("del-br b{bridge}"));
    }

    /// It is there again, with no flow.
    fn revive_switch(&self, testbed: &Testbed, bridge: usize) {
        let mut words = Self::bridge(bridge) + &self.ports_of_hosts(bridge);
        for (one, other) in self.links.iter().filter(|(one, other)| [*one, *other].contains(&bridge)) {
            let peer = if *one == bridge { *other } else { *one };
            // The neighbour's port has waited.
            let _ = write!(
                words,
                " -- add-port b{bridge} p{bridge}-{peer} -- set interface p{bridge}-{peer} type=patch \
                 options:peer=p{peer}-{bridge}"
            );
        }
        vsctl(testbed, &words);
    }

    fn kill_link(testbed: &Testbed, one: usize, other: usize) {
        vsctl(testbed, &format!("del-port p{one}-{other} -- del-port p{other}-{one}"));
    }

    fn revive_link(testbed: &Testbed, one: usize, other: usize) {
        vsctl(testbed, &Self::link(one, other));
    }

    fn up<'a>(&self, person: &'a Person) -> Testbed<'a> {
        let testbed = person.up(&self.file());
        testbed.shell("s", &self.start()).fine();
        // What is built in a folder of somebody's own is not to be seen in a node.
        let words = testbed.words("s", &["sh", "-c", "cat > /run/plait && chmod +x /run/plait"]);
        let program = std::fs::File::open(person.program()).unwrap();
        assert!(person.prepare(&words).stdin(program).status().unwrap().success());
        testbed
    }

    /// Whether every host reaches every other.
    fn all_reach_all(&self, testbed: &Testbed) -> bool {
        self.all_but_one_reach_all(testbed, 0)
    }

    /// Whether every host but this one reaches every other, but this one.
    fn all_but_one_reach_all(&self, testbed: &Testbed, but: usize) -> bool {
        let hosts = || (1..=self.hosts.len()).filter(|host| *host != but);
        let addresses: Vec<String> = hosts().map(|host| format!("10.9.0.{host}")).collect();
        let line = format!("fping -q -c 1 -t 700 {} 2>/dev/null", addresses.join(" "));
        hosts().all(|host| testbed.shell(&format!("h{host}"), &line).code() == Some(0))
    }
}

fn vsctl(testbed: &Testbed, words: &str) {
    let words = words.trim_start().trim_start_matches("-- ");
    testbed.shell("s", &format!("ovs-vsctl --db=unix:/run/ovs/db.sock --timeout=30 {words}")).fine();
}

/// Starts a controller beside the switches.
fn control(testbed: &Testbed, app: &str) {
    let line =
        format!("setsid /run/plait controller run --app {app} > /run/node/log/controller 2>&1 < /dev/null &");
    testbed.shell("s", &line).fine();
    assert!(eventually(|| ask(testbed, "switches").is_some()));
}

fn ask(testbed: &Testbed, what: &str) -> Option<Value> {
    let ended = testbed.shell("s", &format!("/run/plait controller {what} --json"));
    (ended.code() == Some(0)).then(|| ended.json())
}

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

fn missing() -> bool {
    if !Path::new("/usr/sbin/ovs-vswitchd").exists() {
        skip("Open vSwitch is not installed");
        return true;
    }
    false
}

#[test]
fn a_fat_tree_of_switches_is_discovered_routed_and_survives_links_switches_and_the_controller() {
    let Some(person) = Person::root() else { return skip("switches in user space are tested as root") };
    if missing() {
        return;
    }
    let fabric = Fabric::fat_tree();
    let testbed = fabric.up(&person);
    control(&testbed, "routing");
    assert!(eventually(|| links(&testbed) == 64), "{:?}", ask(&testbed, "topology"));
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    let known = ask(&testbed, "topology").unwrap();
    assert_eq!(known["hosts"].as_array().map(Vec::len), Some(16), "{known}");

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
    if missing() {
        return;
    }
    let fabric = Fabric::ring(5);
    let testbed = fabric.up(&person);
    control(&testbed, "routing");
    assert!(eventually(|| links(&testbed) == 10), "{:?}", ask(&testbed, "topology"));
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    let flows = ask(&testbed, "flows 0000000000000001").unwrap();
    assert!(flows.as_array().unwrap().len() > 1, "{flows}");

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

/// Two controllers at once, by name: where one listens, and what it is to be.
struct Pair<'a>(&'a Testbed<'a>);

impl Pair<'_> {
    fn start(&self, name: &str, port: u16, more: &str) {
        let line = format!(
            "setsid /run/plait controller run --name {name} --listen 127.0.0.1:{port} {more} \
             > /run/node/log/{name} 2>&1 < /dev/null & echo $! > /run/node/{name}.pid"
        );
        self.0.shell("s", &line).fine();
        assert!(eventually(|| self.asks(name, "stats").code() == Some(0)), "{}", self.log(name));
    }

    fn asks(&self, name: &str, what: &str) -> Ended {
        self.0.shell("s", &format!("/run/plait --json controller --name {name} {what}"))
    }

    fn log(&self, name: &str) -> String {
        self.0.shell("s", &format!("cat /run/node/log/{name}")).stdout
    }

    /// What it is to each switch that is connected.
    fn roles(&self, name: &str) -> Vec<String> {
        let found = self.asks(name, "role").json();
        found["switches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["role"].as_str().unwrap().to_owned())
            .collect()
    }

    fn requests(&self, name: &str) -> u64 {
        let found = self.asks(name, "stats").json();
        found["workers"].as_array().unwrap().iter().filter_map(|one| one["requests"].as_u64()).sum()
    }
}

#[test]
fn of_two_controllers_one_commands_and_the_other_takes_its_place_when_it_is_made_master() {
    let Some(person) = Person::root() else { return skip("switches in user space are tested as root") };
    if missing() {
        return;
    }
    // One switch of 1.3, one of 1.0; each has both controllers.
    let fabric = Fabric { bridges: 2, links: vec![(1, 2)], hosts: vec![1, 2] };
    let testbed = fabric.up(&person);
    let both = "tcp:127.0.0.1:6653 tcp:127.0.0.1:6654";
    vsctl(&testbed, &format!("set-controller b1 {both} -- set-controller b2 {both}"));
    let pair = Pair(&testbed);
    pair.start("one", 6653, "--role master");
    pair.start("two", 6654, "--role slave --app routing");
    assert!(eventually(|| pair.roles("one") == ["master", "master"]), "{}", pair.log("one"));
    assert!(eventually(|| pair.roles("two") == ["slave", "slave"]), "{}", pair.log("two"));
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    assert!(pair.requests("one") > 0);
    assert_eq!(pair.requests("two"), 0, "a slave is told of no packets");
    let known = pair.asks("two", "switches").json();
    assert!(known.as_array().unwrap().iter().all(|one| one["connected"] == true && one["role"] == "slave"));

    // The master dies, and so does what it has said. The slave says nothing by itself.
    testbed.shell("s", "kill -KILL $(cat /run/node/one.pid)").fine();
    let forget = "for bridge in 1 2; do
        ovs-ofctl -O OpenFlow10,OpenFlow13 del-flows unix:/run/ovs/b$bridge.mgmt
    done";
    testbed.shell("s", forget).fine();
    assert!(!fabric.all_reach_all(&testbed));
    assert_eq!(pair.requests("two"), 0);
    let made = pair.asks("two", "role master").json();
    assert!(made["role"] == "master" && made["generation"].as_u64() > Some(1 << 50), "{made}");
    assert_eq!(pair.roles("two"), ["master", "master"]);
    assert!(eventually(|| fabric.all_reach_all(&testbed)), "{}", pair.log("two"));
    assert!(pair.requests("two") > 0);

    // Who comes back with an election that is over is slave and is told why; 1.0 numbers none, and is left to the other.
    vsctl(&testbed, "set-controller b2 tcp:127.0.0.1:6654");
    pair.start("one", 6653, "--role master --generation 1");
    assert!(eventually(|| pair.roles("one") == ["slave"]), "{}", pair.log("one"));
    assert!(eventually(|| pair.log("one").contains("stale")), "{}", pair.log("one"));
    let refused = testbed.shell("s", "/run/plait controller --name one role master --generation 2");
    refused.fails_saying(1, &["0000000000000001", "stale", "plait controller role master"]);
    assert_eq!(pair.roles("one"), ["slave"]);
    let older = testbed.shell("s", "/run/plait controller --name two role master --generation 1");
    older.fails_saying(1, &["older", "greater"]);
    assert_eq!(pair.roles("two"), ["master", "master"]);
    assert!(eventually(|| fabric.all_reach_all(&testbed)));

    // Without a number it is newer than all. Who was master learns of it when it probes links; and what it is can be given up.
    vsctl(&testbed, &format!("set-controller b2 {both}"));
    assert!(eventually(|| pair.roles("one").len() == 2), "{}", pair.log("one"));
    pair.asks("one", "role master").json();
    assert_eq!(pair.roles("one"), ["master", "master"]);
    assert!(eventually(|| pair.roles("two") == ["slave", "slave"]), "{}", pair.log("two"));
    assert!(pair.log("two").contains("another controller was made its master"), "{}", pair.log("two"));
    assert_eq!(pair.asks("one", "role equal").json()["role"], "equal");
    assert_eq!(pair.roles("one"), ["equal", "equal"]);
    testbed.down();
}

#[test]
fn what_is_wrong_with_a_controllers_options_is_said() {
    let Some(person) = Person::root() else { return skip("one person is enough") };
    for (options, said) in [
        (&["--weight", "1"][..], "0000000000000001=4"),
        (&["--weight", "1=0"], "1 to 1000"),
        (&["--weight", "1=1001"], "1 to 1000"),
        (&["--weight", "switch=2"], "digits"),
        (&["--weight", "1=2", "--weight", "0001=3"], "two weights"),
        (&["--poll", "some"], "one:ROUNDS"),
        (&["--poll", "one:0"], "1 or more"),
        (&["--no-idleness-map", "--poll", "all"], "--poll"),
        (&["--read", "63B"], "64B to 16MiB"),
        (&["--read", "1GiB"], "64B to 16MiB"),
        (&["--read", "much"], "--read"),
        (&["--role", "king"], "master"),
        (&["--generation", "3"], "leave --generation out for equal"),
        (&["--role", "slave", "--generation", "3"], "leave --generation out for slave"),
    ] {
        let words = [&["controller", "run", "--listen", "127.0.0.1:0", "--name", "wrong"], options].concat();
        person.plait(&words).fails_saying(2, &[said]);
    }
}

#[test]
fn more_switches_connect_than_a_program_usually_has_files() {
    let Some(person) = Person::root() else { return skip("the test looks at the sockets of another user's") };
    let mut command = person.command("prlimit");
    command.arg("--nofile=40:").arg(person.program());
    command.args(["controller", "run", "--listen", "127.0.0.1:0", "--name", "many"]);
    // And all goes on that way.
    command.args([
        "--weight",
        "1=3",
        "--weight",
        "0x2=2",
        "--poll",
        "one:2",
        "--read",
        "32KiB",
        "--no-scale",
    ]);
    let controller = Running::start(&mut command, "a controller with few files".to_owned());
    let stats = || person.plait(&["controller", "--name", "many", "stats", "--json"]);
    assert!(eventually(|| stats().code() == Some(0)));
    let address = stats().json()["address"].as_str().unwrap().to_owned();
    let words =
        ["--json", "controller", "load", &address, "--switches", "100", "--rate", "1000", "--duration", "1s"];
    let loaded = person.plait_after("ulimit -Sn 40", &words).json();
    assert!(loaded["disconnects"] == 0 && loaded["unanswered"] == 0, "{loaded}");
    let stats = stats().json();
    assert!(stats["workers"].as_array().unwrap().iter().all(|worker| worker["sleeps"] == 0), "{stats}");
    controller.signal(rustix::process::Signal::INT);
    assert_eq!(controller.wait().code(), Some(0));
}

#[test]
fn a_controller_answers_its_owner_alone_and_is_loaded_by_emulated_switches() {
    let Some(person) = Person::root() else { return skip("the test looks at the sockets of another user's") };
    // The address is free for whoever asks: the controller says which it has.
    let controller =
        person.start(&["controller", "run", "--listen", "127.0.0.1:0", "--name", "loaded", "--json"]);
    let ask = |what: &[&str]| person.plait(&[&["controller", "--name", "loaded"], what].concat());
    assert!(eventually(|| ask(&["stats"]).code() == Some(0)));
    let listening = ask(&["stats", "--json"]).json();
    let address = listening["address"].as_str().unwrap().to_owned();
    let socket = person.sockets().parent().unwrap().join("plait-controller/loaded.sock");
    let mode = |path: &Path| {
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions())
    };
    assert_eq!((mode(&socket) & 0o777, mode(socket.parent().unwrap()) & 0o777), (0o600, 0o700));
    let twin = person.plait(&["controller", "run", "--listen", "127.0.0.1:0", "--name", "loaded"]);
    assert!(twin.code() == Some(1) && twin.stderr.contains("--name"), "{twin:?}");

    let load = |words: &[&str]| {
        let words = [&["--json", "controller", "load", &address, "--duration", "1s"], words].concat();
        let ended = person.plait(&words);
        (ended.code(), ended.json())
    };
    let saved = person.work().join("one.json").display().to_string();
    let (code, flooded) =
        load(&["--switches", "4", "--version", "1.0,1.3", "--window", "8", "--save", &saved]);
    assert_eq!(code, Some(0), "{flooded}");
    assert!(
        flooded["answered"].as_f64().unwrap() > 100.0 && flooded["shares"].as_array().unwrap().len() == 4
    );
    let (code, paced) =
        load(&["--switches", "3", "--version", "1.3", "--rate", "600", "--shape", "skewed", "--probe", "20"]);
    assert_eq!(code, Some(0), "{paced}");
    assert!(paced["unanswered"] == 0 && paced["probe"]["offered"].as_u64().unwrap() > 5, "{paced}");
    let merged = person.plait(&["--json", "controller", "load", "--merge", &saved, &saved]).json();
    assert_eq!(merged["switches"], 8);
    let switches = ask(&["switches", "--json"]).json();
    assert!(switches.as_array().unwrap().iter().any(|switch| switch["version"] == "1.3"), "{switches}");
    for (what, said) in [
        (&["flows", "ffff"][..], "ffff"),
        (&["views", "nothing@1"], "nothing@1"),
        (&["flows", "../x"], "names nothing"),
    ] {
        let refused = ask(what);
        assert!(refused.code() != Some(0) && refused.stderr.contains(said), "{refused:?}");
    }
    for (wanted, said) in [
        (json!({ "role": "king" }), "equal, master and slave"),
        (json!({ "role": "slave", "generation": 3 }), "only a master"),
        (json!({ "role": "slave", "of": 3 }), "of"),
        (json!("master"), "invalid type"),
    ] {
        let refused =
            tell(&socket, Method::POST, "/v1/role", wanted.to_string().into()).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    let graph = person.plait(&["--json", "control", "--name", "loaded", "graph"]).json();
    let named = |all: &Value, name: &str| {
        all.as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap_or_default()
    };
    let learn = named(&graph["dags"], "learn");
    assert!(learn["runs"]["count"].as_u64() > Some(0) && learn["waits"]["mean_us"].is_number(), "{graph}");
    assert!(named(&learn["applications"], "learn")["runs"]["mean_us"].as_f64() > Some(0.0), "{graph}");
    assert_eq!(learn["triggers"], json!([{ "view": "learned@1" }]), "{graph}");
    let metrics = ask(&["stats", "--metrics"]).fine();
    assert!(metrics.contains("plait_controller_requests_total{worker=\"0\"}"), "{metrics}");
    let nobody = person.plait(&["controller", "--name", "nobody", "switches"]);
    assert!(nobody.code() == Some(1) && nobody.stderr.contains("plait controller run"), "{nobody:?}");
    controller.signal(rustix::process::Signal::INT);
    assert_eq!(controller.wait().code(), Some(0));
    assert!(!socket.exists());
}

/// What a controller's user types, and what it answers.
struct Asked<'a> {
    person: &'a Person,
    name: &'static str,
}

impl Asked<'_> {
    fn start(&self, words: &[&str]) -> Running {
        let all = [&["controller", "--name", self.name, "run", "--listen", "127.0.0.1:0"], words].concat();
        let controller = self.person.start(&all);
        assert!(eventually(|| self.ask("controller", &["stats"]).code() == Some(0)));
        controller
    }

    fn ask(&self, noun: &str, words: &[&str]) -> common::Ended {
        self.person.plait(&[&["--json", noun, "--name", self.name], words].concat())
    }

    /// Some requests, all of which are answered.
    fn load(&self) {
        let listening = self.ask("controller", &["stats"]).json();
        let address = listening["address"].as_str().unwrap();
        let words = ["--switches", "2", "--version", "1.0,1.3", "--rate", "100", "--duration", "300ms"];
        let all = [&["--json", "controller", "load", address], &words[..]].concat();
        let loaded = self.person.plait(&all).json();
        assert!(loaded["unanswered"] == 0 && loaded["answered"].as_f64() > Some(0.0), "{loaded}");
    }
}

/// A recording, run again: the exit code, and what is said of it.
fn replay(person: &Person, file: &str) -> (Option<i32>, Value) {
    let ended = person.plait(&["--json", "control", "replay", file]);
    (ended.code(), serde_json::from_str(&ended.stdout).unwrap_or_default())
}

#[test]
fn a_controller_changes_its_applications_remembers_and_is_replayed_to_the_same_outputs() {
    let Some(person) = Person::root() else { return skip("the test looks at the sockets of another user's") };
    let asked = Asked { person: &person, name: "recorded" };
    let file = person.work().join("recording.jsonl").display().to_string();
    let controller = asked.start(&["--app", "routing", "--record", &file, "--history", "20"]);
    asked.load();
    // What it would do, now and then.
    let dry = asked.ask("control", &["dry-run", "probing"]).json();
    assert!(dry["writes"]["probing@1"]["round"].as_u64() > Some(0), "{dry}");
    let history = asked.ask("control", &["history"]).json();
    let states = history.as_array().unwrap();
    assert!(
        (2..=21).contains(&states.len()) && !states[0]["changed"].as_array().unwrap().is_empty(),
        "{history}"
    );
    // It goes on: the latest of what was listed is remembered for longest.
    let revision = states[0]["revision"].to_string();
    let dry = asked.ask("control", &["dry-run", "topology", "--revision", &revision]).json();
    assert_eq!(dry["revision"].to_string(), revision, "{dry}");
    for (words, said) in [
        (&["dry-run", "topology", "--revision", "0"][..], "--history"),
        (&["dry-run", "route-flow"], "packet-ins@1"),
        (&["dry-run", "nothing"], "plait control graph"),
        (&["run", "route-flow"], "stream"),
        (&["write", "links@1", "/dev/null"], "no JSON"),
        (&["remove", "nothing"], "there is no nothing"),
        (&["use", "nothing"], "learning-switch and routing"),
    ] {
        let refused = asked.ask("control", words);
        assert!(refused.code() == Some(1) && refused.stdout.contains(said), "{refused:?}");
    }
    asked.ask("control", &["use", "learning-switch"]).fine();
    let applications = asked.ask("control", &["applications"]).stdout;
    assert!(
        applications.contains("switch-packets") && !applications.contains("route-flow"),
        "{applications}"
    );
    asked.load();
    asked.ask("control", &["use", "routing"]).fine();
    asked.load();
    let again =
        person.plait(&["controller", "run", "--listen", "127.0.0.1:0", "--name", "other", "--record", &file]);
    assert!(again.code() == Some(1) && again.stderr.contains("recording.jsonl"), "{again:?}");

    // Whatever ends it, what was recorded is replayed.
    controller.signal(rustix::process::Signal::KILL);
    controller.wait();
    let (code, replayed) = replay(&person, &file);
    assert!(code == Some(0) && replayed["commits"].as_u64() > Some(50), "{replayed}");
    let text = std::fs::read_to_string(&file).unwrap();
    let end = text.char_indices().map(|(at, _)| at).nth(text.chars().count() * 9 / 10).unwrap();
    let cut = person.file("cut.jsonl", &text[..end]);
    let (code, replayed) = replay(&person, &cut.display().to_string());
    assert!(code == Some(0) && replayed["is_cut"] == true, "{replayed}");
    // A task that ended otherwise: what it wrote is not what the recording says.
    let probing =
        text.lines().find(|line| line.contains("\"committed\"") && line.contains("probing@1")).unwrap();
    let other = probing.replacen("\"u64\":1", "\"u64\":9", 1);
    let changed = person.file("changed.jsonl", text.replace(probing, &other));
    let (code, replayed) = replay(&person, &changed.display().to_string());
    let why = replayed["divergence"].to_string();
    assert!(code == Some(1) && why.contains("wrote U64(9) as recorded, and U64(1) now"), "{replayed}");
    let nonsense = person.file("nonsense.jsonl", "{\"began\": {}}\nnothing\n{}\n");
    let (code, refused) = replay(&person, &nonsense.display().to_string());
    assert!(code == Some(2) && refused["error"].to_string().contains("line 2"), "{refused}");
}

#[test]
fn a_full_disk_ends_a_recording_and_not_the_controller() {
    let Some(person) = Person::root() else { return skip("the test looks at the sockets of another user's") };
    let asked = Asked { person: &person, name: "full" };
    let file = person.work().join("full.jsonl").display().to_string();
    let mut command = person.command("env");
    command.args(["--ignore-signal=XFSZ", "prlimit", "--fsize=100000"]).arg(person.program());
    command.args(["controller", "--name", "full", "run", "--listen", "127.0.0.1:0", "--record", &file]);
    let controller = Running::start(&mut command, "a controller that may write little".to_owned());
    assert!(eventually(|| asked.ask("controller", &["stats"]).code() == Some(0)));
    asked.load();
    asked.load();
    controller.signal(rustix::process::Signal::INT);
    let ended = controller.wait();
    assert!(ended.code() == Some(1) && ended.stderr.contains("the recording is cut"), "{ended:?}");
    let (code, replayed) = replay(&person, &file);
    assert!(code == Some(0) && replayed["is_cut"] == true, "{replayed}");
}
