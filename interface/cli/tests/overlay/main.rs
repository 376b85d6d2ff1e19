//! Overlays between hosts that are as real as network namespaces are.

mod agents;
#[path = "../common/mod.rs"]
mod common;
mod devices;
mod entrances;
mod guide;
mod narrowing;
mod planes;
mod relays;
mod strangers;
mod tunnels;
mod weights;

use common::{Host, Person, Pinged, eventually, in_tries, installed};
use serde_json::Value;

/// Two hosts with agents, and `ov0` at both.
fn pair<'a>(person: &'a Person, application: &str) -> [Host<'a>; 2] {
    let mut hosts = Host::two(person);
    hosts.iter_mut().for_each(Host::start_agent);
    for (host, other) in [(0, 1), (1, 0)] {
        let (host, other) = (&hosts[host], &hosts[other]);
        host.overlay(&format!("config application {application}"));
        host.identify(&host.locator());
        host.know(other, &other.locator());
        host.device("--vni 1");
    }
    hosts
}

/// Three hosts in a row, the middle one a relay that knows no tenant, each with agents.
fn row<'a>(person: &'a Person, encapsulations: [&str; 2]) -> [Host<'a>; 3] {
    let mut hosts = [1, 2, 3].map(|number| Host::new(person, number));
    hosts[0].link("eth0", &hosts[1], "eth0");
    hosts[1].link("eth1", &hosts[2], "eth0");
    let addresses = [("192.0.2.1", "192.0.2.2"), ("198.51.100.2", "198.51.100.3")];
    hosts[0].sh("ip addr add 192.0.2.1/24 dev eth0");
    hosts[1].sh("ip addr add 192.0.2.2/24 dev eth0 && ip addr add 198.51.100.2/24 dev eth1");
    hosts[2].sh("ip addr add 198.51.100.3/24 dev eth0");
    hosts.iter_mut().for_each(Host::start_agent);
    let [a, relay, b] = &hosts;
    let ways = format!(
        "--to 10.0.0.1={} --to 10.0.0.2={} --to 10.0.0.3={}",
        encapsulations[0], encapsulations[0], encapsulations[1]
    );
    for (host, locators) in
        [(a, &[addresses[0].0][..]), (relay, &[addresses[0].1, addresses[1].0]), (b, &[addresses[1].1])]
    {
        let ways = match host.number {
            1 => format!("--to 10.0.0.2={}", encapsulations[0]),
            2 => ways.clone(),
            _ => format!("--to 10.0.0.2={}", encapsulations[1]),
        };
        host.overlay(&format!("config application ethernet --group 224.0.0.1 --vni 1 {ways}"));
        host.overlay(&format!("id set {}", host.id()));
        for locator in locators {
            host.overlay(&format!("locator add {locator}"));
        }
    }
    // Whatever locator the relay sends from, it is the relay's.
    for host in [a, b] {
        host.overlay(&format!("node add 10.0.0.2 {}", addresses[0].1));
        host.overlay(&format!("node add 10.0.0.2 {}", addresses[1].0));
    }
    relay.overlay(&format!("node add 10.0.0.1 {}", addresses[0].0));
    relay.overlay(&format!("node add 10.0.0.3 {}", addresses[1].1));
    for (host, to, via) in [
        (a, "10.0.0.2", "10.0.0.2"),
        (b, "10.0.0.2", "10.0.0.2"),
        (a, "10.0.0.3", "10.0.0.2"),
        (b, "10.0.0.1", "10.0.0.2"),
        (relay, "10.0.0.1", "10.0.0.1"),
        (relay, "10.0.0.3", "10.0.0.3"),
        (a, "224.0.0.1", "10.0.0.2"),
        (b, "224.0.0.1", "10.0.0.2"),
        (relay, "224.0.0.1", "10.0.0.1"),
        (relay, "224.0.0.1", "10.0.0.3"),
        (a, "224.0.0.1", "10.0.0.1"),
        (b, "224.0.0.1", "10.0.0.3"),
    ] {
        host.overlay(&format!("route add {to} --via {via}"));
    }
    hosts
}

/// What all of them counted.
fn stats(hosts: &[Host<'_>]) -> String {
    hosts.iter().map(|host| format!("{}:\n{}", host.id(), host.overlay("stats"))).collect()
}

/// Sends some megabytes by TCP.
#[track_caller]
fn transfers(from: &Host<'_>, to: &Host<'_>) {
    transfers_to(from, to, &to.inner());
}

/// The same, to one of its addresses.
#[track_caller]
fn transfers_to(from: &Host<'_>, to: &Host<'_>, address: &str) {
    if !installed("iperf3") {
        return;
    }
    in_tries(3, || {
        let server = to.start(&["iperf3", "-s", "-1", "-B", address]);
        // Its port, listening.
        let listens = || {
            to.exec(&["sh", "-c", "grep -q ':1451 [0-9A-F:]* 0A ' /proc/net/tcp /proc/net/tcp6"]).code()
                == Some(0)
        };
        assert!(eventually(listens));
        let said = from.exec(&["iperf3", "-c", address, "-n", "20M", "-J"]).fine();
        let said: Value = serde_json::from_str(&said).unwrap();
        assert!(said["end"]["sum_received"]["bytes"].as_f64().is_some_and(|bytes| bytes > 10e6), "{said:#}");
        server.wait().fine();
    });
}
