//! Two controllers of the same switches.

use super::bridges::Fabric;
use super::*;

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
    if !has_open_vswitch() {
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
    let mark = |name| pair.asks(name, "stats").json()["mark"].as_str().unwrap().to_owned();
    assert!(mark("one").starts_with("506c6169") && mark("one") != mark("two"), "each has a mark of its own");
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
