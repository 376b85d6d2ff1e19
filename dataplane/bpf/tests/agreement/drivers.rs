//! A driver that nobody else has, through the one interface that drivers have on each side.

use super::*;
use plait_dataplane_reference::drivers::{Driver, Identified, Identifier, Payload};
use std::sync::Arc;

/// The programs with that driver.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/parity.bpf.o"));
const PARITY: u32 = 200;

/// Frames are at one of two nodes, by the last bit of the address they are for.
#[derive(Debug)]
struct Parity;

fn parity(frame: &[u8]) -> Option<(Identifier, u32)> {
    let bit = frame.get(5)? & 1;
    let mut identifier = Identifier::default();
    identifier[0] = bit;
    Some((identifier, bit.into()))
}

impl Driver for Parity {
    fn takes(&self, payload: Payload) -> bool {
        payload == Payload::Ethernet
    }

    fn identify<'a>(&self, _: &Device, frame: &'a [u8], _: u32) -> Option<Identified<'a>> {
        let (identifier, hash) = parity(frame)?;
        Some(Identified { identifier, hash, payload: Payload::Ethernet, carried: frame })
    }

    fn find(&self, _: &Tenant, _: Payload, carried: &[u8]) -> Option<(Identifier, u32)> {
        parity(carried)
    }
}

#[test]
fn a_driver_more_is_four_functions_on_each_side() {
    for (encapsulation, is_ipv6) in [(encapsulation::OVSTACK, false), (encapsulation::GENEVE, true)] {
        let way = Way { driver: PARITY, encapsulation, is_ipv6 };
        let Some(node) = Node::of(OBJECT, Program::ALL, PARITY, encapsulation, is_ipv6) else { return };
        for (bit, node_at, path) in [(0, PEER, PEER_PATH), (1, FAR, FAR_PATH)] {
            let mut identifier = Identifier::default();
            identifier[0] = bit;
            let entry = FibEntry { node: node_at.0, path, heard: 0, reserved: 0, packets: 0, bytes: 0 };
            let key = FibKey { tenant: TENANT, identifier };
            node.programs.table(&names::FIB).unwrap().set(&key, &entry).unwrap();
        }
        let mut walk = node.walk();
        walk.drivers.add(PARITY, Arc::new(Parity));
        let walk = RefCell::new(walk);
        runner(300).run(&frames(), |frame| way.compare(&node, &walk, &frame, Program::Transmit)).unwrap();
        let came = (in_any(PARITY, is_ipv6, encapsulation::NSH), 0u8..2).prop_map(|((_, packet), _)| packet);
        runner(300).run(&came, |packet| way.compare(&node, &walk, &packet, Program::Receive)).unwrap();
        let paths = &walk.borrow().counts.paths;
        assert!(PATHS.take(2).all(|path| paths[&path].packets > 50), "both ways are taken: {paths:?}");
        wrote_alike(&node, &walk.borrow());
    }
}
