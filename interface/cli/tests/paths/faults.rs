//! Devices that come anew, starts that fail, and files that are wrong.

use super::common::{Host, Person, eventually};
use super::diamond;

/// ```text
///  host eth0 ── left relay right ── left far
/// ```
struct Chain<'a> {
    host: Host<'a>,
    relay: Host<'a>,
    far: Host<'a>,
}

impl<'a> Chain<'a> {
    fn new(person: &'a Person) -> Self {
        let [host, relay, far] = [1, 2, 3].map(|number| Host::new(person, number));
        let chain = Self { host, relay, far };
        chain.relay.sh(
            "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0",
        );
        chain.relay.link("right", &chain.far, "left");
        chain.relay.sh("ip addr add 10.2.0.2/24 dev right");
        chain.far.sh("ip addr add 10.2.0.3/24 dev left && ip route add default via 10.2.0.2");
        chain.connect();
        chain
    }

    /// Makes the link between the host and the relay, which may have been there before.
    fn connect(&self) {
        self.host.link("eth0", &self.relay, "left");
        self.relay.sh("ip addr add 10.1.0.2/24 dev left");
        self.host.sh("ip addr add 10.1.0.1/24 dev eth0 && ip route add default via 10.1.0.2");
    }

    /// Whether an echo comes back that went by the relay.
    fn goes_by_relay(&self) -> bool {
        let shown = || self.host.plait("paths --json show").json();
        let count = || shown()[0]["lists"][0]["packets"].as_u64().unwrap();
        let before = count();
        self.host.exec(&["ping", "-c", "1", "-W", "1", "10.2.0.3"]).code() == Some(0) && count() > before
    }
}

#[test]
fn devices_that_come_anew_are_steered_and_relayed_and_a_start_that_fails_leaves_nothing() {
    let Some(person) = Person::root() else { return };
    let chain = Chain::new(&person);
    let Chain { host, relay, .. } = &chain;
    let plait = person.program().display().to_string();
    let agent = |host: &Host<'_>, words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let agent = host.start(&[&[&*plait, "paths", "agent"], &words[..]].concat());
        assert!(eventually(|| host.plait("paths status").code() == Some(0)));
        agent
    };
    // A name that is wrong is told before anything is done.
    let refused = relay.plait("paths agent --relay 10.255.0.2 --border typo");
    assert!(refused.code() == Some(1) && refused.stderr.contains("`typo`"), "{refused:?}");
    assert!(!relay.sh("ip addr show lo").contains("10.255.0.2"));
    for words in ["paths --agent ../other show", "overlay --agent .. id show", "ip --agent a/b lb show"] {
        host.plait(words).fails_saying(2, &["letters, digits"]);
    }

    let relays = agent(relay, "--relay 10.255.0.2");
    let steers = agent(host, "--device eth0 --device eth0");
    host.plait("paths add prefix 10.2.0.0/24 relay 10.255.0.2 type gre").fine();
    assert!(eventually(|| chain.goes_by_relay()));
    let other = host.exec(&["env", "PLAIT_PATHS_AGENT=other", &plait, "ip", "lb", "show"]);
    assert!(other.code() == Some(1) && other.stderr.contains("plait-paths/other"), "{other:?}");

    // Both ends are made anew, under the names that they had.
    host.sh("ip link del eth0");
    let steered = || host.plait("paths --json status").json()["devices"].as_array().unwrap().len();
    assert!(eventually(|| steered() == 0));
    host.plait("paths add prefix 10.3.0.0/24 relay 10.255.0.2 type gre").fine();
    chain.connect();
    assert!(eventually(|| chain.goes_by_relay()), "{}", host.plait("paths status").fine());
    assert_eq!(steered(), 1);
    assert_eq!(host.plait("paths --json show").json().as_array().unwrap().len(), 2);

    // What a device has no room for is said, and tried when there may be.
    host.plait("paths add prefix 2001:db8::/64 relay 10.255.0.2 type gre").fine();
    let fault = || host.plait("paths show").fine();
    assert!(!fault().contains("goes by plain routing"));
    steers.signal(rustix::process::Signal::KILL);
    steers.wait();
    let steers = agent(host, "--device eth0 --mtu 1290");
    assert!(fault().contains("2001:db8::/64 goes by plain routing: "), "{}", fault());
    let again = host.plait("paths add prefix 2001:db8::/64 relay 10.255.0.2 type gre");
    assert!(again.code() == Some(1) && again.stderr.contains("no room for IPv6"), "{again:?}");
    assert!(chain.goes_by_relay());
    steers.signal(rustix::process::Signal::KILL);
    steers.wait();
    host.sh("ip link set eth0 mtu 1290");
    let steers = agent(host, "--device eth0");
    assert!(fault().contains("goes by plain routing"), "{}", fault());
    host.sh("ip link set eth0 mtu 1500");
    assert!(eventually(|| !fault().contains("goes by plain routing")), "{}", fault());
    for (agent, host) in [(relays, relay), (steers, host)] {
        agent.signal(rustix::process::Signal::KILL);
        agent.wait();
        host.plait("paths agent --remove").fine();
    }
    assert!(!relay.sh("ip addr show lo").contains("10.255.0.2"));
}

#[test]
fn what_is_wrong_with_paths_is_told_with_its_line_and_remedy() {
    let Some(person) = Person::root() else { return };
    for (paths, words) in [
        ("paths: {hosts: [h3]}\n", &["unknown node `h3`", "did you mean", ":4:"][..]),
        ("paths: {hosts: [s1]}\n", &["`s1` is not a host"]),
        ("paths: {relays: [h1]}\n", &["`h1` is not a router"]),
        ("paths: {type: vxlan}\n", &["expected `gre`, `ipip`, `gue`, `srv6` or `ovstack`"]),
        ("paths: {select: weighted}\n", &["have no weights"]),
        ("paths: {k: 65}\n", &["write a number from 1 to 64"]),
        ("paths: {learn: ospf}\n", &["no router speaks OSPF", "routing: frr"]),
        ("paths: {network: 10.0.1.0/24}\n", &["meets 10.0.1.", "choose a `network`"]),
        (
            "paths: {source: 10.0.1.1}\n",
            &["10.0.1.1, the source of headers, is of 10.0.1.", ":4:", "choose a `source`"],
        ),
        ("paths: {network: 10.255.0.0/31}\n", &["no addresses for 4 relays"]),
        ("paths: {borders: [s1:eth9]}\n", &["no interface `eth9`"]),
        ("paths: {relays: [up], lists: {h1: {10.0.1.0/24: [[down]]}}}\n", &["`down` takes no headers off"]),
        ("paths: {lists: {h1: {nowhere: [[down]]}}}\n", &["`nowhere` is no prefix"]),
        (
            "paths: {lists: {h1: {10.0.1.0/24: [{relays: [down], weight: 2}]}}}\n",
            &["no weight by `hash`", ":4:", "select: weighted"],
        ),
        (
            "paths: {lists: {h1: {10.0.1.0/24: {select: weighted, lists: [{relays: [up], weight: 0}]}}}}\n",
            &["a weight of 0", "from 1 to"],
        ),
        ("paths: {lists: {h1: {10.0.1.0/24: {select: weighted}}}}\n", &["have no weights", "write `lists`"]),
        (
            "paths: {lists: {h1: {10.9.0.0/16: {select: hash}}}}\n",
            &["no path of this host leads to 10.9.0.0/16", "write one of"],
        ),
        (
            "paths: {learn: none, lists: {h1: {10.0.1.0/24: {select: hash}}}}\n",
            &["knows no lists of 10.0.1.0/24", "write `lists`"],
        ),
        ("paths: {lists: {h1: {10.0.1.0/24: 7}}}\n", &["a list of relay lists, or a map"]),
        ("paths: {idle: 10ms}\n", &["not over after 10ms", "1s or more"]),
        ("paths: {idle: 2s, spread: 1s}\n", &["may be silent for 2250 ms", "a smaller `spread`"]),
        ("paths: {speed: 1}\n", &["unknown key `speed`"]),
        ("paths: {method: known}\n", &["which way kernels send headers", ":4:", "`--world simulated`"]),
        ("routing: frr\npaths: {method: known, type: gue}\n", &["header of `gue`", ":5:", "`type: ipip`"]),
        ("paths: {type: srv6}\n", &["addresses of IPv6", "ipv6: on", ":4:"]),
        ("paths: {type: srv6, network: 10.9.0.0/24}\n", &["10.9.0.0/24 has no segments", "fd00:255::/64"]),
        ("paths: {source: 100::1}\n", &["100::1 is the source of no header", "same family"]),
        (
            "paths: {network: fd00:255::/64, learn: ospf}\nrouting: frr\n",
            &["of relays of IPv4 alone", "learn: none"],
        ),
    ] {
        let file = person.file("wrong.yaml", diamond(paths));
        person.plait(&["plan", file.to_str().unwrap()]).fails_saying(3, words);
    }
    let agent = |words: &[&str]| person.plait(&[&["paths", "--agent", "test", "agent"], words].concat());
    agent(&[]).fails_saying(1, &["there is nothing to do", "--device"]);
    agent(&["--ospf-api", "127.0.0.1:2607"]).fails_saying(2, &["--access"]);
    person
        .plait(&["paths", "--agent", "nobody", "show"])
        .fails_saying(1, &["start one with `plait paths agent`"]);
    person.plait(&["paths", "add", "prefix", "10.0.0.0/8"]).fails_saying(2, &["`relay` is missing"]);
}

#[test]
fn a_user_is_told_that_paths_need_root() {
    let Some(person) = Person::user() else { return };
    let file = person.file("paths.yaml", diamond("paths: {}\n"));
    person.plait(&["up", file.to_str().unwrap()]).fails_saying(3, &["paths need eBPF", "remove `paths`"]);
    // Not so in virtual time.
    let run = "duration: 1s\ntraffic: [{name: load, from: h1, to: h2, rate: 1Mbit, stop: 900ms}]\n";
    person.file("paths.yaml", diamond(&format!("paths: {{}}\n{run}")));
    person.plait(&["run", "paths.yaml", "--world", "simulated", "--output", "results"]).fine();
}
