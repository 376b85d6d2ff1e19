//! Tables as they are drawn, those that no agent would write among them: whatever stands in them, both do the same.

use super::*;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::sample::select;

/// Entries of each table.
const NEIGHBOURS: u32 = 3;
const WIRES: u32 = 6;
const HOPS: u32 = 4;
/// What no table has.
const NONE: u32 = 1 << 30;

/// One of so many entries, or none.
fn any_of(entries: u32) -> impl Strategy<Value = u32> + Clone {
    prop_oneof![12 => 0..entries, 1 => Just(NONE)]
}

/// What is drawn of a node's tables.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    /// Of each neighbour the MTU on the way to it; none of one that is not found.
    neighbours: Vec<Option<u32>>,
    /// Of each outer header the encapsulation, whether it is of IPv6, and the neighbour.
    wires: Vec<(u32, bool, u32)>,
    /// Of each next hop its outer headers, with weights.
    hops: Vec<Vec<(u32, u32)>>,
    /// Of each path where it leads: kind and index.
    paths: Vec<(u32, u32)>,
    /// What relays said of each: how long ago, and what fits.
    limits: Vec<Option<(u32, u32)>>,
    /// By which path the peer and who is far are reached; and by which they are in the FIB.
    nodes: Vec<(Option<u32>, u32)>,
    application: Application,
    prefix: (u8, u8),
    in_place: bool,
    /// What becomes of what nobody knows.
    unknown: Option<u32>,
    fallback: [u32; 2],
}

/// Tables of an application whose next hops have so many outer headers at most.
pub(super) fn drawn(driver: u32, most: usize) -> impl Strategy<Value = Drawn> {
    let neighbours = vec(weighted(0.9, select(vec![0, 60, 400, 1400, 1500])), NEIGHBOURS as usize);
    let wires = vec((select(ENCAPSULATIONS.to_vec()), any::<bool>(), any_of(NEIGHBOURS)), WIRES as usize);
    let hops = vec(vec((1u32..50, any_of(WIRES)), 0..=most), HOPS as usize);
    let leads =
        prop_oneof![8 => Just(path::HOP), 1 => Just(path::NOWHERE), 1 => Just(path::OWN), 1 => Just(9)];
    let said = weighted(0.2, (select(vec![0, 1, limits::AGE - 4, limits::AGE + 4]), 40u32..1600));
    let paths = (vec((leads, any_of(HOPS)), PATHS.len()), vec(said, PATHS.len()));
    let nodes = vec((weighted(0.9, PATHS), PATHS), 2);
    let application = (prop::bool::weighted(0.95), prop_oneof![Just(60), 0u32..256])
        .prop_map(move |(known, ttl)| Application { own: if known { OWN.0 } else { 0 }, ttl, driver });
    let rest = (0u8..33, 0u8..129, any::<bool>(), weighted(0.5, PATHS), select(vec![[0, 0], [1, 0], [0, 1]]));
    (neighbours, wires, hops, paths, nodes, application, rest).prop_map(
        |(
            neighbours,
            wires,
            hops,
            (paths, limits),
            nodes,
            application,
            (four, six, in_place, unknown, fallback),
        )| {
            Drawn {
                neighbours,
                wires,
                hops,
                paths,
                limits,
                nodes,
                application,
                prefix: (four, six),
                in_place,
                unknown,
                fallback,
            }
        },
    )
}

impl Drawn {
    /// The same where most outer headers are ovstack over a family, which is all that a driver relays.
    pub(super) fn of_ovstack(mut self, is_ipv6: bool) -> Self {
        for (number, (kind, of_ipv6, _)) in self.wires.iter_mut().enumerate() {
            if number % 3 > 0 {
                (*kind, *of_ipv6) = (encapsulation::OVSTACK, is_ipv6);
            }
        }
        self
    }

    /// Writes all of it, in the place of what was there.
    pub(super) fn write(&self, node: &Node) {
        let (application, put) = (u32::from(APPLICATION), &node.programs);
        put.table(&names::APPLICATIONS).unwrap().set(&application, &self.application).unwrap();
        for (number, mtu) in (0..).zip(&self.neighbours) {
            let (interface, mtu) = (u32::from(mtu.is_some()), mtu.unwrap_or_default());
            let adjacency = Adjacency { interface, mtu, destination: GATEWAY.0, source: UNDERLAY.0 };
            put.table(&names::ADJACENCY_SLOTS).unwrap().set(&number, &adjacency).unwrap();
            put.table(&names::ADJACENCIES).unwrap().set(&number, &number.into()).unwrap();
        }
        for (number, (kind, is_ipv6, neighbour)) in (0..).zip(&self.wires) {
            let [own, theirs] = [OWN_LOCATOR, FAR_LOCATOR].map(|locator| of_family(locator, *is_ipv6));
            let wire = Wire::new(own, theirs, *kind, *neighbour).unwrap();
            put.table(&names::WIRES).unwrap().set(&number, &wire).unwrap();
        }
        for (number, wires) in (0..).zip(&self.hops) {
            let mut choices = [Choice { below: 0, wire: 0 }; size::CHOICES as usize];
            let mut weights = 0;
            for (choice, (weight, wire)) in choices.iter_mut().zip(wires) {
                weights += weight;
                *choice = Choice { below: weights, wire: *wire };
            }
            let hop = Hop { node: PEER.0, weights, count: wires.len() as u32, path: PATHS.start, choices };
            put.table(&names::HOPS).unwrap().set(&number, &hop).unwrap();
        }
        let now = second();
        for ((path, (kind, index)), said) in PATHS.zip(&self.paths).zip(&self.limits) {
            node.path(path, *kind, *index);
            let limit = said.map(|(ago, room)| u64::from(now.saturating_sub(ago)) << 32 | u64::from(room));
            put.table(&names::LIMITS).unwrap().set(&path, &limit.unwrap_or_default()).unwrap();
        }
        let fib = put.table(&names::FIB).unwrap();
        for (of, (path, in_fib)) in [PEER, FAR].into_iter().zip(&self.nodes) {
            let nodes = put.table(&names::NODES).unwrap();
            let key = NodeKey { application, node: of.0 };
            match path {
                Some(path) => nodes.set(&key, path).unwrap(),
                None => drop(nodes.remove(&key).unwrap()),
            }
            for key in fib.keys().collect::<Vec<_>>() {
                let known = fib.get(&key).unwrap().unwrap();
                if known.node == of.0 {
                    fib.set(&key, &FibEntry { path: *in_fib, ..known }).unwrap();
                }
            }
        }
        let tenants = put.table(&names::TENANTS).unwrap();
        let known = tenants.get(&TENANT).unwrap().unwrap();
        let tenant = Tenant {
            driver: self.application.driver,
            prefix: self.prefix.into(),
            in_place: self.in_place.into(),
            unknown_node: self.unknown.map_or(0, |_| FAR.0),
            unknown_path: self.unknown.unwrap_or_default(),
            way_out: 1,
            ..known
        };
        node.fall_back(self.fallback);
        tenants.set(&TENANT, &tenant).unwrap();
        put.turn().unwrap();
    }
}

/// Holds both against each other with so many drawn tables, each with some packets of that program.
fn both(way: Way, most: usize, program: Program, packets: impl Strategy<Value = Vec<u8>>) {
    let Some(node) = way.node() else { return };
    node.accept(!way.is_ipv6);
    if way.driver == driver::PAYLOAD {
        [false, true].into_iter().for_each(|is_ipv6| node.take(encapsulation::GRE, is_ipv6));
    }
    let walk = RefCell::new(node.walk());
    runner(60)
        .run(&(drawn(way.driver, most), vec(packets, 30)), |(tables, packets)| {
            tables.write(&node);
            *walk.borrow_mut() = fresh(&node);
            packets.iter().try_for_each(|packet| way.compare(&node, &walk, packet, program))?;
            wrote_alike(&node, &walk.borrow());
            Ok(())
        })
        .unwrap();
    let drops = node.programs.drops().unwrap();
    let passed: u64 = PATHS.map(|path| node.programs.path_count(path).unwrap().packets).sum();
    // Of what is found by bits that nobody chose most is for this node.
    let least = if matches!(way.driver, driver::BITS | driver::PAYLOAD) { 15 } else { 100 };
    assert!(passed > least && drops.len() >= 3, "{passed} packets and {drops:?} of {way:?}");
}

#[test]
fn both_transmit_by_any_tables_alike() {
    for driver in [driver::ETHERNET, driver::IP, driver::BITS, driver::PAYLOAD] {
        let way = Way { driver, encapsulation: encapsulation::OVSTACK, is_ipv6: false };
        // The kernel's hash, by which packets and bits choose, shows only in some of what is sent.
        let most = if driver == driver::ETHERNET { size::CHOICES as usize } else { 1 };
        both(way, most, Program::Transmit, frames());
    }
}

#[test]
fn both_receive_by_any_tables_alike() {
    for driver in [driver::ETHERNET, driver::IP, driver::BITS, driver::PAYLOAD] {
        for is_ipv6 in [false, true] {
            let way = Way { driver, encapsulation: encapsulation::OVSTACK, is_ipv6 };
            let to = select(vec![OWN, FAR, PEER]);
            let packets = (in_any(driver, is_ipv6, encapsulation::NSH), to, any::<u32>()).prop_map(
                move |((kind, packet), to, hash)| {
                    let (mut packet, at) = (packet, behind_ip(is_ipv6) + 8);
                    if kind == encapsulation::OVSTACK {
                        packet[at + 8..at + 12].copy_from_slice(&hash.to_be_bytes());
                        packet[at + 12..at + 16].copy_from_slice(&to.0.to_be_bytes());
                    }
                    packet
                },
            );
            both(way, size::CHOICES as usize, Program::Receive, packets);
        }
    }
}
