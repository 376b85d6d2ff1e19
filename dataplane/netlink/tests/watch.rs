//! What the kernel tells by itself, in a namespace of the test's own.

use netlink_packet_route::RouteNetlinkMessage;
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_netlink::{Heard, Watch};
use std::process::Command;

#[test]
fn rules_and_nexthops_are_heard_of_though_no_route_changes() {
    let Ok(namespace) = Namespace::new() else {
        println!("skipped: namespaces cannot be made here");
        return;
    };
    let listen = || {
        let watch = Watch::new().unwrap();
        // The kernel has told all listeners before it answers.
        let after = |line: &str| {
            let status = Command::new("ip").args(line.split(' ')).status().unwrap();
            assert!(status.success(), "ip {line}");
            watch.heard().unwrap()
        };
        for line in [
            "rule add pref 100 table 77",
            "rule del pref 100",
            "-6 rule add pref 100 table 77",
            "-6 rule del pref 100",
            "nexthop add id 1 dev lo",
            "nexthop add id 2 dev lo",
            "nexthop add id 3 group 1",
            "nexthop replace id 3 group 1/2",
            "nexthop del id 2",
            "nexthop del id 3",
        ] {
            let heard = after(line);
            let is_rerouted = heard.iter().all(|heard| matches!(heard, Heard::Rerouted));
            assert!(!heard.is_empty() && is_rerouted, "ip {line}: {heard:?}");
        }
        let heard = after("route add 192.0.2.0/24 dev lo");
        assert!(
            matches!(heard[..], [Heard::Change(RouteNetlinkMessage::NewRoute(_))]),
            "a route is told as one: {heard:?}"
        );
    };
    namespace.run(listen).unwrap();
}
