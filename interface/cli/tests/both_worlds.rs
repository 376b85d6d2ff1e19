//! One file in both worlds: the same flows, and what becomes of them within what chance allows.

mod common;

use common::as_root_and_as_user;
use std::fs;

const FILE: &str = "plait: 1
name: both
nodes: {a: {}, r: {kind: router}, b: {}}
links:
  - {endpoints: [a, r], rate: 10Mbit, loss: 5%, delay: 2ms}
  - r-b
duration: 2s
collect: {links: 100ms, tcp: off, interfaces: off}
traffic:
  - {name: load, from: a, to: b, flows: 3, rates: power_law, rate: 4Mbit, stop: 1900ms}
  - {name: back, from: b, to: a, rate: 1Mbit, stop: 1900ms}
";

/// Flow by flow: what identifies it, datagrams sent, datagrams received.
fn flows(text: &str) -> Vec<(String, i64, i64)> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[..5].join(","), cells[5].parse().unwrap(), cells[6].parse().unwrap())
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn the_same_flows_meet_the_same_loss_in_both_worlds() {
    as_root_and_as_user(|person| {
        person.file("net.yaml", FILE);
        let of = |world: &str| {
            person.plait(&["run", "net.yaml", "--world", world, "--output", world]).fine();
            flows(&fs::read_to_string(person.work().join(world).join("samples/flows.csv")).unwrap())
        };
        let (real, simulated) = (of("testbed"), of("simulated"));
        assert_eq!((real.len(), simulated.len()), (4, 4));
        let (mut got, mut expected, mut all) = (0, 0, 0);
        for ((name, sent, received), (same, asked, came)) in real.iter().zip(&simulated) {
            assert_eq!(name, same);
            // Rates become intervals of whole nanoseconds, so the last datagram may fall on either side of the end.
            assert!((sent - asked).abs() <= 1, "{name}: {sent} and {asked} sent");
            (got, expected, all) = (got + received, expected + came, all + sent);
        }
        assert!(all > 800, "{all}");
        // Losses of 5 %: the difference of two runs has a variance of 2 n 0.05 0.95; five deviations are far enough.
        let most = 5.0 * (0.095 * all as f64).sqrt();
        assert!(((got - expected) as f64).abs() < most, "{got} and {expected} of {all} came");
        assert!(got < all && expected < all);
        let compared = person.plait(&["compare", "testbed", "simulated"]);
        compared.fine();
    });
}
