//! Who chooses paths from outside is kept out.

use super::common::{Person, Testbed, eventually, installed};
use super::{asked, diamond, send};
use plait_model_wire::number::protocol;
use plait_model_wire::{ipv4, push, udp};
use std::net::Ipv4Addr;

/// Datagrams that came to the second host. Nobody listens there, so that the kernel counts what comes.
fn came(testbed: &Testbed<'_>) -> u64 {
    let counted = "awk '/^Udp:/ {print $3}' /proc/net/snmp | tail -n 1";
    testbed.shell("h2", counted).fine().trim().parse().unwrap()
}

/// What a router dropped that came by a border.
fn forged(testbed: &Testbed<'_>, router: &str) -> u64 {
    asked(testbed, router, "status")["drops"]["forged"].as_u64().unwrap_or_default()
}

#[test]
fn a_border_of_a_file_keeps_out_who_chooses_paths_from_outside() {
    let Some(person) = Person::root() else { return };
    // The first host is outside, and has the headers' source nevertheless.
    let testbed = person.up(&diamond("paths: {k: 2, select: round-robin, borders: ['s1:eth0']}\n"));
    let before = came(&testbed);
    (1..=8).for_each(|port| send(&testbed, port));
    assert!(
        eventually(|| forged(&testbed, "s1") == 4),
        "each other flow wears headers: {}",
        asked(&testbed, "s1", "status")
    );
    assert!(eventually(|| came(&testbed) == before + 4), "{} of {before} and 4", came(&testbed));
    testbed.apply(&diamond("paths: {k: 2, select: round-robin}\n")).fine();
    (1..=8).for_each(|port| send(&testbed, 100 + port));
    assert!(eventually(|| came(&testbed) == before + 12), "{} of {before} and 12", came(&testbed));
    testbed.down();
}

/// The first host sends a datagram under a header with the shared source, for the relay that is the file's first: whoever has root in
/// a node can.
fn send_under_a_header(testbed: &Testbed<'_>, port: u16) {
    let address = |host: &str| -> Ipv4Addr {
        let told = testbed.exec("h1", &["getent", "ahostsv4", host]).fine();
        told.split_whitespace().next().unwrap().parse().unwrap()
    };
    let mut packet = b"hello".to_vec();
    push(&mut packet, &udp::Repr { source: port, destination: port, checked: None });
    let inner = ipv4::Repr {
        source: address("h1"),
        destination: address("h2"),
        protocol: protocol::UDP,
        ttl: 64,
        tos: 0,
        dont_fragment: false,
        identification: port,
    };
    push(&mut packet, &inner);
    let octal: String = packet.iter().map(|byte| format!("\\{byte:03o}")).collect();
    let to = format!("IP4-SENDTO:10.255.0.1:{},bind=203.0.113.1", protocol::IPV4);
    testbed.shell("h1", &format!("printf '{octal}' | socat -u - {to}")).fine();
}

#[test]
fn a_host_that_a_file_leaves_out_sends_no_headers_into_the_fabric_unless_it_says_there_are_no_borders() {
    let Some(person) = Person::root() else { return };
    if !installed("socat") {
        return;
    }
    // Even where the router at the edge takes no headers off.
    let file =
        |more: &str| diamond(&format!("paths: {{hosts: [h2], relays: [down, s2], type: ipip{more}}}\n"));
    let testbed = person.up(&file(""));
    testbed.exec("h1", &["ip", "addr", "add", "203.0.113.1/32", "dev", "lo"]).fine();
    let before = came(&testbed);
    (1..=8).for_each(|port| send_under_a_header(&testbed, port));
    let told = || asked(&testbed, "s1", "status");
    assert!(eventually(|| forged(&testbed, "s1") == 8), "{}", told());
    // What comes as it should is nobody's business.
    (1..=8).for_each(|port| send(&testbed, 100 + port));
    assert!(eventually(|| came(&testbed) == before + 8), "{} of {before} and 8", came(&testbed));
    assert_eq!(forged(&testbed, "s1"), 8, "{}", told());
    testbed.apply(&file(", borders: []")).fine();
    (1..=8).for_each(|port| send_under_a_header(&testbed, 200 + port));
    assert!(eventually(|| came(&testbed) == before + 16), "{} of {before} and 16", came(&testbed));
    testbed.down();
}
