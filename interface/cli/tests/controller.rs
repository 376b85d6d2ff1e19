//! The OpenFlow controller against the distribution's Open vSwitch: a fat tree and a ring of switches in user space, all
//! in one node, hosts in nodes of their own.

mod common;

use common::{Person, Running, Testbed, eventually, skip};
use serde_json::Value;
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
        for bridge in 1..=self.bridges {
            let protocol = if bridge % 2 == 0 { "OpenFlow10" } else { "OpenFlow13" };
            let _ = write!(
                script,
                " -- add-br b{bridge} -- set bridge b{bridge} datapath_type=netdev fail-mode=secure \
                 protocols={protocol} other-config:datapath-id={bridge:016x} other-config:disable-in-band=true \
                 -- set-controller b{bridge} tcp:127.0.0.1:6653"
            );
        }
        for (one, other) in &self.links {
            for (here, there) in [(one, other), (other, one)] {
                let _ = write!(
                    script,
                    " -- add-port b{here} p{here}-{there} -- set interface p{here}-{there} type=patch \
                     options:peer=p{there}-{here}"
                );
            }
        }
        for (host, bridge) in self.hosts.iter().enumerate() {
            let _ = write!(script, " -- add-port b{bridge} eth{}", host + 1);
        }
        script
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
        let addresses: Vec<String> = (1..=self.hosts.len()).map(|host| format!("10.9.0.{host}")).collect();
        let line = format!("fping -q -c 1 -t 700 {} 2>/dev/null", addresses.join(" "));
        let reach = |host| testbed.shell(&format!("h{host}"), &line).code() == Some(0);
        (1..=self.hosts.len()).all(reach)
    }
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
    let vsctl =
        |line: &str| testbed.shell("s", &format!("ovs-vsctl --db=unix:/run/ovs/db.sock {line}")).fine();
    vsctl("del-port p7-5 -- del-port p5-7");
    vsctl("del-br b1");
    assert!(eventually(|| links(&testbed) == 64 - 2 - 8), "{}", links(&testbed));
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    let switches = ask(&testbed, "switches").unwrap();
    let gone = switches.as_array().unwrap().iter().filter(|switch| switch["connected"] == false).count();
    assert_eq!(gone, 1);
    // And the link is there again.
    vsctl(
        "add-port b7 p7-5 -- set interface p7-5 type=patch options:peer=p5-7 \
         -- add-port b5 p5-7 -- set interface p5-7 type=patch options:peer=p7-5",
    );
    assert!(eventually(|| links(&testbed) == 64 - 8));

    // What is established goes on without a controller, and while another one takes its place.
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
    testbed.shell("h1", "ping -c 3 -i 0.1 -W 1 10.9.0.16").fine();
    let ping = testbed.background("h1", "ping -q -c 60 -i 0.1 -W 1 10.9.0.16");
    testbed.shell("s", "pkill -KILL -f 'controller ru[n]'").fine();
    control(&testbed, "routing");
    assert!(eventually(|| links(&testbed) == 64 - 8));
    let pinged = ping.wait();
    assert!(pinged.stdout.contains(" 0% packet loss"), "{}", pinged.stdout);
    assert!(eventually(|| fabric.all_reach_all(&testbed)));
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

#[test]
fn more_switches_connect_than_a_program_usually_has_files() {
    let Some(person) = Person::root() else { return skip("the test looks at the sockets of another user's") };
    let mut command = person.command("prlimit");
    command.arg("--nofile=40:").arg(person.program());
    command.args(["controller", "run", "--listen", "127.0.0.1:0", "--name", "many"]);
    let controller = Running::start(&mut command, "a controller with few files".to_owned());
    let stats = || person.plait(&["controller", "--name", "many", "stats", "--json"]);
    assert!(eventually(|| stats().code() == Some(0)));
    let address = stats().json()["address"].as_str().unwrap().to_owned();
    let words =
        ["--json", "controller", "load", &address, "--switches", "100", "--rate", "1000", "--duration", "1s"];
    let loaded = person.plait_after("ulimit -Sn 40", &words).json();
    assert!(loaded["disconnects"] == 0 && loaded["unanswered"] == 0, "{loaded}");
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
    let graph = person.plait(&["--json", "control", "--name", "loaded", "graph"]).json();
    let named = |all: &Value, name: &str| {
        all.as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap_or_default()
    };
    let learn = named(&graph["dags"], "learn");
    assert!(learn["runs"]["count"].as_u64() > Some(0) && learn["waits"]["mean_us"].is_number(), "{graph}");
    assert!(named(&learn["applications"], "learn")["runs"]["mean_us"].as_f64() > Some(0.0), "{graph}");
    assert_eq!(learn["triggers"], serde_json::json!([{ "view": "learned@1" }]), "{graph}");
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
