//! Routers that find their ways by themselves, with the distribution's FRR.

mod common;

use common::{Person, Pinged, Testbed, eventually, skip};
use std::path::Path;

const RING: &str = "plait: 1\nrouting: {protocol: frr, hello: 1s, dead: 3s}\n\
    nodes: {a: host, r1: router, r2: router, r3: router, r4: router, b: host}\n\
    links: [a-r1, r1-r2, r2-r3, r3-r4, r4-r1, {endpoints: [r3, b], dynamic: true}]\n";

fn frr() -> bool {
    let there = Path::new("/usr/lib/frr/zebra").exists() && Path::new("/usr/lib/frr/ospfd").exists();
    if !there {
        skip("FRR is not installed");
    }
    there
}

#[test]
fn routers_of_root_route_around_a_failure() {
    if let (true, Some(person)) = (frr(), Person::root()) {
        routes_around_a_failure(&person);
    }
}

#[test]
fn routers_of_a_user_route_around_a_failure() {
    if let (true, Some(person)) = (frr(), Person::user()) {
        routes_around_a_failure(&person);
    }
}

fn routes_around_a_failure(person: &Person) {
    let testbed = person.up(RING);
    assert!(eventually(|| reaches(&testbed)), "OSPF converges: {}", neighbours(&testbed));
    let report = testbed.inspect();
    let r1 = report["nodes"].as_array().unwrap().iter().find(|node| node["name"] == "r1").unwrap();
    assert_eq!(r1["daemons"], serde_json::json!(["zebra", "ospfd"]));
    let said = neighbours(&testbed);
    assert_eq!(said.matches("Full").count(), 2, "both neighbours on the ring: {said}");
    let table = testbed.exec("r1", &["vtysh", "-c", "show ip route ospf"]).fine();
    assert!(table.contains("O>*"), "{table}");
    let other = testbed.exec("r2", &["vtysh", "-c", "show running-config"]).fine();
    assert!(other.contains("hostname r2"), "every router has its own: {other}");

    // Both ways around the ring cost the same; whichever was taken, the other remains.
    testbed.link("fail", &["r1-r2"]).fine();
    assert!(eventually(|| reaches(&testbed)), "by r4: {}", neighbours(&testbed));
    // With both ways cut there is none.
    testbed.link("fail", &["r4-r1"]).fine();
    assert!(eventually(|| !reaches(&testbed)));
    testbed.link("recover", &["r1-r2"]).fine();
    assert!(eventually(|| reaches(&testbed)), "{}", neighbours(&testbed));
    let said = testbed.exec("a", &["ping", "-c", "3", "-i", "0.1", "-W", "20", "b"]).fine();
    assert!(said.contains("ttl=61"), "over r1, r2 and r3: {said}");
    Pinged::read(&said).whole();
    testbed.down();
    person.assert_nothing_runs();
}

fn reaches(testbed: &Testbed<'_>) -> bool {
    testbed.exec("a", &["ping", "-c", "1", "-W", "1", "b"]).code() == Some(0)
}

fn neighbours(testbed: &Testbed<'_>) -> String {
    testbed.exec("r1", &["vtysh", "-c", "show ip ospf neighbor"]).stdout
}
