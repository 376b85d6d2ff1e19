//! A host, three routers and another host in a row: packets go by relays, which are the kernel's tunnels or ours.

mod row;

use plait_control_paths::Operation;
use plait_dataplane_paths::{Encapsulation, Options, PathDrop, Selector};
use row::{BYTES, Row, SHARED, cases, until};

/// Whether the kernel has a kind of tunnel.
fn has(row: &Row, kind: &str) -> bool {
    let make = format!("ip link add try type {kind} local 10.0.0.1 remote {SHARED} && ip link del try");
    row.try_sh(0, &make).0
}

fn carries(row: &Row) {
    row.carries_datagrams(&[1, 100, 1200]);
    row.carries_a_stream();
}

/// Steers the first host's packets by relays; the kernel's drops and ours are looked at behind that.
fn goes_by(row: &Row, relays: &[usize], encapsulation: Encapsulation) {
    let options = Options { selector: Selector::RoundRobin, ..Options::new(SHARED, encapsulation) };
    let mut paths = row.steers(options);
    let (list, prefix) = (row.list(relays), row.prefix());
    paths.apply(Operation::Set { prefix, lists: vec![list.clone()] }).unwrap();
    carries(row);
    // The first packets were too long with their stack, until TCP was told what fits.
    assert!(paths.drops().unwrap().keys().all(|reason| *reason == PathDrop::TooBig), "{:?}", paths.drops());
    let counters = paths.counters().unwrap();
    assert_eq!((counters.len(), &counters[0].relays), (1, &list));
    assert!(counters[0].bytes > BYTES as u64);
    // The stream's last acknowledgements may still come, between one reading and the other too.
    until("flows have as many packets as their list", || {
        let of_flows: u64 = paths.flows().unwrap().iter().map(|flow| flow.packets).sum();
        of_flows == paths.counters().unwrap()[0].packets
    });
    let flows = paths.flows().unwrap();
    assert!(flows.len() >= 2 && flows.iter().all(|flow| flow.prefix == Some(prefix)));

    paths.apply(Operation::Remove { prefix }).unwrap();
    carries(row);
    assert!(paths.counters().unwrap().is_empty());
    row.within(0, move || drop(paths));
}

#[test]
#[ignore = "for kernels that have tunnels of IPIP and GRE: a guest's runs it in interface/cli, tests/interop.rs"]
fn packets_go_by_the_kernels_tunnels() {
    let Some(row) = Row::new(5) else { return };
    for (encapsulation, kind) in [(Encapsulation::Ipip, "ipip"), (Encapsulation::Gre, "gre")] {
        assert!(has(&row, kind), "this kernel has no tunnels of {kind}");
        for node in 1..4 {
            let make = format!("ip link add tunnel type {kind} local {} remote {SHARED}", row.relay(node));
            row.sh(node, &format!("{make} && ip link set tunnel up"));
        }
        for relays in [&[2][..], &[1, 2, 3]] {
            goes_by(&row, relays, encapsulation);
        }
        for node in 1..4 {
            row.sh(node, "ip link del tunnel");
        }
    }
}

#[test]
fn packets_go_by_our_relays() {
    let Some(row) = Row::new(5) else { return };
    let relays = row.relays();
    for (pair, encapsulation) in cases() {
        for list in [&[2][..], &[1, 2, 3]] {
            goes_by(&row.of(pair), list, encapsulation);
        }
    }
    for relay in &relays {
        assert!(relay.drops().unwrap().is_empty(), "{:?}", relay.drops());
    }
}
