//! What drivers find packets by: bits wherever they begin and end, and what a driver says that nobody else has, through the one
//! interface that drivers have on each side.

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

#[test]
fn both_find_bits_that_begin_and_end_within_bytes() {
    // Bits of the address that a frame is for, of one byte and of several; the 13 of a packet's fragment offset, with its TTL.
    let mask = |bits: u128| bits.to_be_bytes();
    let cases = [
        (driver::BITS, 5, mask(0x18 << 120)),
        (driver::BITS, 4, mask(0x1f_f8 << 112)),
        (driver::BITS, 0, mask(u128::MAX >> 3 << 77)),
        (driver::BITS, 3, mask(1)),
        (driver::PAYLOAD, 6, mask(0x001f_ffff << 104)),
        (driver::PAYLOAD, 3, mask(u128::MAX >> 7)),
    ];
    for (driver, offset, mask) in cases {
        for is_ipv6 in [false, true] {
            let way = Way { driver, encapsulation: encapsulation::OVSTACK, is_ipv6 };
            let Some(node) = Node::by_bits(Program::ALL, driver, (offset, mask), is_ipv6) else { return };
            let fib = node.programs.table(&names::FIB).unwrap();
            let packets = proptest::collection::vec(frames(), 4);
            runner(60)
                .run(&(packets, any::<bool>()), |(packets, is_near)| {
                    // One of them is at a node.
                    let from = offset as usize + if driver == driver::PAYLOAD { 14 } else { 0 };
                    let mut identifier = Identifier::default();
                    for ((byte, of), mask) in
                        identifier.iter_mut().zip(packets[0].iter().skip(from)).zip(mask)
                    {
                        *byte = of & mask;
                    }
                    let (node_at, path) = if is_near { (PEER, PEER_PATH) } else { (FAR, FAR_PATH) };
                    let entry =
                        FibEntry { node: node_at.0, path, heard: 0, reserved: 0, packets: 0, bytes: 0 };
                    fib.set(&FibKey { tenant: TENANT, identifier }, &entry).unwrap();
                    let walk = RefCell::new(fresh(&node));
                    for frame in &packets {
                        way.compare(&node, &walk, frame, Program::Transmit)?;
                        let came = arriving_in(encapsulation::GENEVE, is_ipv6, frame, true, 0);
                        if driver == driver::BITS {
                            way.compare(&node, &walk, &came, Program::Receive)?;
                        }
                    }
                    Ok(())
                })
                .unwrap();
            let count = node.programs.tenant_count(TENANT).unwrap();
            assert!(count.sent.packets > 20, "{driver} {offset}: {count:?}");
        }
    }
}
