//! TLS between the controller and Open vSwitch, both sides of which show who they are.

use super::bridges::Fabric;
use super::*;

/// In a folder of the node's: two authorities, a controller and a switch of the first, and somebody of the second.
const PAPERS: &str = "set -e; umask 077; mkdir /run/node/papers; cd /run/node/papers
    paper() {
        name=$1; shift
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=$name \\
            -addext subjectAltName=DNS:$name -keyout $name.key -out $name.pem \"$@\" 2>/dev/null
    }
    signed() { paper $1 -CA $2.pem -CAkey $2.key -addext basicConstraints=CA:FALSE; }
    paper ours; paper theirs; signed controller ours; signed switch ours; signed stranger theirs";

#[test]
fn open_vswitch_and_the_controller_show_each_other_who_they_are() {
    let Some(person) = Person::root() else { return skip("switches in user space are tested as root") };
    if !has_open_vswitch() {
        return;
    }
    let fabric = Fabric { bridges: 2, links: vec![(1, 2)], hosts: vec![1, 2] };
    let testbed = fabric.up(&person);
    testbed.shell("s", PAPERS).fine();
    let papers = "/run/node/papers";
    let of = |name: &str| {
        vsctl(&testbed, &format!("set-ssl {papers}/{name}.key {papers}/{name}.pem {papers}/ours.pem"));
    };
    of("switch");
    vsctl(&testbed, "set-controller b1 ssl:127.0.0.1:6653 -- set-controller b2 ssl:127.0.0.1:6653");
    control(
        &testbed,
        &format!(
            "learning-switch --key {papers}/controller.key --certificate {papers}/controller.pem \
             --authorities {papers}/ours.pem"
        ),
    );
    let log = || {
        testbed.shell("s", "cat /run/node/log/controller; grep -i ssl /run/node/log/ovs-vswitchd.log").stdout
    };
    let connected = || {
        let switches = ask(&testbed, "switches").unwrap_or_default();
        switches.as_array().is_some_and(|all| all.iter().filter(|one| one["connected"] == true).count() == 2)
    };
    assert!(eventually(|| connected() && fabric.all_reach_all(&testbed)), "{}", log());

    // Emulated switches show papers, too, and are answered by those who trust them.
    let load = |papers_of: &str| {
        let shown = match papers_of {
            "" => String::new(),
            name => format!(
                "--key {papers}/{name}.key --certificate {papers}/{name}.pem --authorities {papers}/ours.pem"
            ),
        };
        let words = "--switches 3 --version 1.0,1.3 --rate 300 --duration 300ms --warm-up 3s --process 7";
        testbed.shell("s", &format!("/run/plait --json controller load 127.0.0.1:6653 {words} {shown}"))
    };
    let loaded = load("switch").json();
    assert!(loaded["unanswered"] == 0 && loaded["answered"].as_f64() > Some(0.0), "{loaded}");
    for (papers_of, why) in [("stranger", "no switch was answered"), ("", "the controller speaks TLS")] {
        let refused = load(papers_of);
        assert!(refused.code() == Some(1) && refused.stdout.contains(why), "{refused:?}");
    }

    // Papers of somebody else's, and none, since it speaks in the clear, make nobody a switch. A connection that is there is of those
    // that it began with.
    of("stranger");
    vsctl(&testbed, "del-controller b1 -- del-controller b2");
    let none = || {
        let switches = ask(&testbed, "switches").unwrap_or_default();
        switches.as_array().is_some_and(|all| all.iter().all(|one| one["connected"] == false))
    };
    assert!(eventually(none), "{}", log());
    vsctl(&testbed, "set-controller b1 ssl:127.0.0.1:6653 -- set-controller b2 tcp:127.0.0.1:6653");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(none(), "{}", log());
    of("switch");
    vsctl(&testbed, "set-controller b2 ssl:127.0.0.1:6653");
    assert!(eventually(|| connected() && fabric.all_reach_all(&testbed)), "{}", log());
    testbed.down();
}
