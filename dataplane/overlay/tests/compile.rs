//! What the compiler writes, read by the reference walk: packets go where LIB and RIB say, and after each single write
//! where they went before or where they go now.

use plait_dataplane_overlay::{
    Compiler, Encapsulation, Exit, Kind, Neighbour, Rerouted, Room, Underlay, Write,
};
use plait_dataplane_reference::tables::*;
use plait_dataplane_reference::{Outcome, Walk};
use plait_model_overlay::{Application as Number, Event, NodeId, Operation, Overlay, Weight};
use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::number::ether_type;
use plait_model_wire::{ipv4, push};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

const APPLICATION: Number = Number::ETHERNET;
const TENANT: u32 = 1;
const STATION: Mac = Mac([2, 0, 0, 0, 0, 1]);

/// Locators of 10.9 whose third number is even are on the link; all others are behind the gateway.
struct Links {
    gateway: IpAddr,
}

impl Underlay for Links {
    fn exit(&self, from: IpAddr, to: IpAddr) -> Option<Exit> {
        let (IpAddr::V4(_), IpAddr::V4(to4)) = (from, to) else { return None };
        let [first, second, third, _] = to4.octets();
        let is_near = [first, second] == [10, 9] && third % 2 == 0;
        let address = if is_near { to } else { self.gateway };
        let neighbour = Neighbour { interface: 7, address };
        // A route says it of those of 10.9.201.
        Some(Exit { neighbour, mtu: ([first, second, third] == [10, 9, 201]).then_some(1400) })
    }
}

fn address(c: u8, d: u8) -> IpAddr {
    Ipv4Addr::new(10, 9, c, d).into()
}

/// A node's tables on all levels.
struct Node {
    overlay: Overlay,
    compiler: Compiler,
    walk: Walk,
    underlay: Links,
    now: Duration,
}

impl Node {
    fn new() -> Self {
        Self::with(Room { nodes: 64, hops: 128, groups: 32, wires: 256, neighbours: 32, neighbour_slots: 64 })
    }

    fn with(room: Room) -> Self {
        let mut compiler = Compiler::new(room);
        compiler.set_kind(APPLICATION, Kind::of(driver::ETHERNET));
        let mut walk = Walk::default();
        let tenant = Tenant {
            application: APPLICATION.0.into(),
            vni: 9,
            interface: 3,
            driver: driver::ETHERNET,
            prefix: [24, 64],
            ..Tenant::default()
        };
        walk.tenants.insert(TENANT, tenant);
        walk.vnis.insert(VniKey { application: APPLICATION.0.into(), vni: 9 }, TENANT);
        let underlay = Links { gateway: address(0, 254) };
        let mut node = Self { overlay: Overlay::default(), compiler, walk, underlay, now: Duration::ZERO };
        node.apply(&Operation::NodeIdSet { application: APPLICATION, node: NodeId(1) });
        node.apply(&Operation::LocatorAdd {
            application: APPLICATION,
            locator: address(0, 1),
            weight: Weight::default(),
        });
        for last in [2, 3, 4, 5, 254] {
            node.neighbour(address(0, last), Some(last));
        }
        node
    }

    /// Does an operation, write by write; gives the walk to `look` after each.
    fn apply_and(&mut self, operation: &Operation, mut look: impl FnMut(&Walk, &Compiler)) {
        let Ok((_, event)) = self.overlay.apply(operation) else { return };
        // Slots are free again after a while.
        self.now += Duration::from_secs(1);
        let events: Vec<Event> = event.into_iter().collect();
        let (writes, full) = self.compiler.follow(&self.overlay, &events, &self.underlay, self.now);
        full.unwrap();
        for write in writes {
            apply(&mut self.walk, write);
            look(&self.walk, &self.compiler);
        }
    }

    fn apply(&mut self, operation: &Operation) {
        self.apply_and(operation, |_, _| ());
    }

    fn neighbour(&mut self, address: IpAddr, mac: Option<u8>) {
        self.now += Duration::from_secs(1);
        let adjacency = mac.map(|last| Adjacency {
            interface: 7,
            mtu: 1500,
            destination: [2, 0, 0, 0, 7, last],
            source: [2, 0, 0, 0, 7, 1],
        });
        // By each route that leads to it.
        for exit in [None, Some(1400)].map(|mtu| Exit { neighbour: Neighbour { interface: 7, address }, mtu })
        {
            let (writes, full) = self.compiler.exit(exit, adjacency, self.now);
            full.unwrap();
            writes.into_iter().for_each(|write| apply(&mut self.walk, write));
        }
    }

    fn add_node(&mut self, node: u32, c: u8, d: u8) {
        let (application, node, locator) = (APPLICATION, NodeId(node), address(c, d));
        self.apply(&Operation::NodeAdd { application, node, locator, weight: Weight::default() });
    }

    fn route(&mut self, destination: u32, next_hop: u32) {
        let (destination, next_hop) = (NodeId(destination), NodeId(next_hop));
        self.apply(&Operation::RouteAdd { application: APPLICATION, destination, next_hop });
    }

    fn way(&self, destination: u32) -> BTreeSet<(Ipv4Addr, Mac)> {
        self.copies(destination).into_iter().collect()
    }

    fn copies(&self, destination: u32) -> Vec<(Ipv4Addr, Mac)> {
        copies(&self.walk, &self.compiler, destination)
    }
}

fn apply(walk: &mut Walk, write: Write) {
    fn put<K: std::hash::Hash + Eq, V>(
        table: &mut std::collections::HashMap<K, V>,
        key: K,
        value: Option<V>,
    ) {
        match value {
            Some(value) => table.insert(key, value),
            None => table.remove(&key),
        };
    }
    match write {
        Write::Application(key, value) => put(&mut walk.applications, key, Some(value)),
        Write::Node(key, value) => put(&mut walk.nodes, key, value),
        Write::Path(key, value) => put(&mut walk.paths, key, Some(value)),
        Write::Hop(key, value) => put(&mut walk.hops, key, Some(value)),
        Write::Group(key, value) => put(&mut walk.groups, key, Some(*value)),
        Write::Wire(key, value) => put(&mut walk.wires, key, Some(value)),
        Write::Adjacency(key, value) => put(&mut walk.adjacencies, key, Some(value)),
        Write::AdjacencySlot(key, value) => put(&mut walk.adjacency_slots, key, Some(value)),
        Write::Peer(key, value) => put(&mut walk.peers, key, value),
        Write::Endpoint(key, is_there) => put(&mut walk.endpoints, key, is_there.then_some(0)),
        Write::Locator(key, value) => put(&mut walk.locators, key, value),
        Write::UncountHop(path) => drop(walk.counts.hops.remove(&path)),
        Write::UncountWire(wire) => drop(walk.counts.wires.remove(&wire)),
        Write::Forget(node) => {
            walk.fib.retain(|_, entry| entry.node != node.node);
        }
    }
}

/// The locators, with their neighbours, that a frame for a station at a node or group is sent to: one for each copy.
fn copies(walk: &Walk, compiler: &Compiler, destination: u32) -> Vec<(Ipv4Addr, Mac)> {
    let Some(path) = compiler.path(APPLICATION, NodeId(destination)) else { return Vec::new() };
    let mut walk = walk.clone();
    let mut identifier = [0; size::IDENTIFIER as usize];
    identifier[..6].copy_from_slice(&STATION.0);
    let entry = FibEntry { node: destination, path, heard: 0, reserved: 0, packets: 0, bytes: 0 };
    walk.fib.insert(FibKey { tenant: TENANT, identifier }, entry);
    let mut frame = vec![1; 50];
    let source = Mac([2, 0, 0, 0, 0, 9]);
    push(&mut frame, &ethernet::Repr { destination: STATION, source, ether_type: ether_type::ARP });
    let device =
        Device { tenant: TENANT, driver: driver::ETHERNET, prefix: [0; 2], offset: 0, mask: [0; 16] };
    let Outcome::Sent(sent) = walk.transmit(&device, &frame, 5, 1) else { panic!("it is the overlay's") };
    let outer = |frame: &[u8]| {
        let frame = ethernet::Frame::parse(frame).unwrap();
        let packet = ipv4::Packet::parse(frame.payload()).unwrap();
        assert!(packet.checksum_fits());
        (packet.destination(), frame.destination())
    };
    sent.iter().filter(|sent| !sent.is_up).map(|sent| outer(&sent.frame)).collect()
}

fn at(c: u8, d: u8, mac: u8) -> (Ipv4Addr, Mac) {
    (Ipv4Addr::new(10, 9, c, d), Mac([2, 0, 0, 0, 7, mac]))
}

#[test]
fn packets_go_where_lib_and_rib_say() {
    let mut node = Node::new();
    node.add_node(2, 0, 2);
    node.add_node(3, 1, 3);
    assert_eq!(node.way(2), BTreeSet::new(), "a node without a route is nowhere");
    node.route(2, 2);
    node.route(3, 2);
    assert_eq!((node.way(2), node.way(3)), (BTreeSet::from([at(0, 2, 2)]), BTreeSet::from([at(0, 2, 2)])));
    node.route(3, 3);
    assert_eq!(
        node.way(3),
        BTreeSet::from([at(0, 2, 2), at(1, 3, 254)]),
        "several next hops are copies to all"
    );
}

#[test]
fn a_gateways_new_address_moves_all_with_one_pointer() {
    let mut node = Node::new();
    for number in 2..12 {
        node.add_node(number, 1, number as u8);
        node.route(number, number);
    }
    let gateway = Exit { neighbour: Neighbour { interface: 7, address: address(0, 254) }, mtu: None };
    assert_eq!(node.compiler.wanted().collect::<Vec<_>>(), [gateway]);
    let adjacency =
        Adjacency { interface: 7, mtu: 1500, destination: [2, 0, 0, 0, 7, 77], source: [2, 0, 0, 0, 7, 1] };
    let (writes, _) = node.compiler.exit(gateway, Some(adjacency), Duration::from_secs(90));
    assert!(matches!(writes[..], [Write::AdjacencySlot(..), Write::Adjacency(..)]), "{writes:?}");
    writes.into_iter().for_each(|write| apply(&mut node.walk, write));
    for number in 2..12 {
        assert_eq!(node.way(number), BTreeSet::from([at(1, number as u8, 77)]));
    }
    node.neighbour(address(0, 254), None);
    assert_eq!(node.way(2), BTreeSet::new(), "who is gone gets nothing");
}

#[test]
fn a_million_nodes_behind_a_gateway_move_with_one_pointer() {
    const NODES: u32 = 1_000_000;
    let (room, hops) = (NODES + 16, 2 * NODES + 16);
    let mut node = Node::with(Room {
        nodes: room,
        hops,
        groups: 32,
        wires: 2 * room,
        neighbours: 32,
        neighbour_slots: 64,
    });
    let locator = |number: u32| Ipv4Addr::from_bits(u32::from_be_bytes([11, 0, 0, 0]) + number);
    let mut events = Vec::new();
    for number in 2..2 + NODES {
        let (application, id) = (APPLICATION, NodeId(number));
        let weight = Weight::default();
        for operation in [
            Operation::NodeAdd { application, node: id, locator: locator(number).into(), weight },
            Operation::RouteAdd { application, destination: id, next_hop: id },
        ] {
            events.extend(node.overlay.apply(&operation).unwrap().1);
        }
    }
    node.now += Duration::from_secs(1);
    let (writes, full) = node.compiler.follow(&node.overlay, &events, &node.underlay, node.now);
    full.unwrap();
    writes.into_iter().for_each(|write| apply(&mut node.walk, write));
    let gateway = Exit { neighbour: Neighbour { interface: 7, address: address(0, 254) }, mtu: None };
    assert_eq!(node.compiler.wanted().collect::<Vec<_>>(), [gateway]);
    for last in [78, 77] {
        let adjacency = Adjacency {
            interface: 7,
            mtu: 1500,
            destination: [2, 0, 0, 0, 7, last],
            source: [2, 0, 0, 0, 7, 1],
        };
        node.now += Duration::from_secs(1);
        let (writes, full) = node.compiler.exit(gateway, Some(adjacency), node.now);
        full.unwrap();
        assert!(matches!(writes[..], [Write::AdjacencySlot(..), Write::Adjacency(..)]), "{}", writes.len());
        writes.into_iter().for_each(|write| apply(&mut node.walk, write));
        let one = NODES / u32::from(last);
        assert_eq!(node.way(one), BTreeSet::from([(locator(one), Mac([2, 0, 0, 0, 7, last]))]));
    }
    // One node that moves is a handful of writes, however many there are.
    let (application, id, weight) = (APPLICATION, NodeId(2), Weight::default());
    let moved = Operation::NodeAdd { application, node: id, locator: locator(0).into(), weight };
    let event = node.overlay.apply(&moved).unwrap().1;
    let (writes, full) =
        node.compiler.follow(&node.overlay, &Vec::from_iter(event), &node.underlay, node.now);
    full.unwrap();
    assert!((1..16).contains(&writes.len()), "{}", writes.len());
}

#[test]
fn a_route_of_the_underlay_that_changes_is_followed() {
    let mut node = Node::new();
    node.add_node(2, 1, 2);
    node.route(2, 2);
    assert_eq!(node.way(2), BTreeSet::from([at(1, 2, 254)]));
    node.underlay.gateway = address(0, 5);
    node.now += Duration::from_secs(1);
    let (writes, _) = node.compiler.rerouted(&node.overlay, &Rerouted::all(), &node.underlay, node.now);
    writes.into_iter().for_each(|write| apply(&mut node.walk, write));
    assert_eq!(node.way(2), BTreeSet::from([at(1, 2, 5)]));
}

#[test]
fn a_route_that_says_an_mtu_makes_less_room_and_only_behind_it() {
    let mut node = Node::new();
    let room = |node: &Node| node.compiler.room(APPLICATION).unwrap();
    node.add_node(2, 1, 2);
    node.route(2, 2);
    let whole = room(&node);
    node.add_node(3, 201, 3);
    node.route(3, 3);
    node.neighbour(address(0, 254), Some(254));
    assert_eq!(room(&node), whole - 100, "1400 of 1500");
    // The device's own is less than the route's.
    let gateway = Neighbour { interface: 7, address: address(0, 254) };
    let told = Adjacency { interface: 7, mtu: 1300, destination: [2; 6], source: [2; 6] };
    for mtu in [None, Some(1400)] {
        let (_, full) = node.compiler.exit(Exit { neighbour: gateway, mtu }, Some(told), node.now);
        full.unwrap();
    }
    assert_eq!(room(&node), whole - 200);
    node.neighbour(address(0, 254), Some(77));
    assert_eq!(room(&node), whole - 100);
    // A new address of the gateway is of both ways by it.
    assert_eq!(node.way(2), BTreeSet::from([at(1, 2, 77)]));
    assert_eq!(node.way(3), BTreeSet::from([at(201, 3, 77)]));
    node.apply(&Operation::NodeDel { application: APPLICATION, node: NodeId(3), locator: address(201, 3) });
    assert_eq!(room(&node), whole);
}

/// Counts what is asked of locators.
struct Counting<'a>(&'a Links, Cell<usize>);

impl Underlay for Counting<'_> {
    fn exit(&self, from: IpAddr, to: IpAddr) -> Option<Exit> {
        self.1.set(self.1.get() + 1);
        self.0.exit(from, to)
    }
}

#[test]
fn of_a_route_that_changes_only_locators_that_it_covers_are_asked() {
    const NODES: u32 = 10_000;
    let room = 2 * NODES;
    let mut node = Node::with(Room {
        nodes: room,
        hops: 2 * room,
        groups: 32,
        wires: room,
        neighbours: 32,
        neighbour_slots: 64,
    });
    let locator = |number: u32| Ipv4Addr::from_bits(u32::from_be_bytes([10, 10, 0, 0]) + number);
    for number in 2..2 + NODES {
        let (application, id) = (APPLICATION, NodeId(number));
        let locator = locator(number).into();
        node.apply(&Operation::NodeAdd { application, node: id, locator, weight: Weight::default() });
        node.apply(&Operation::RouteAdd { application, destination: id, next_hop: id });
    }
    // All have another way from now on; of some the kernel says so.
    node.underlay.gateway = address(0, 5);
    let mut changed = Rerouted::default();
    changed.add("10.10.1.0/24".parse().unwrap());
    node.now += Duration::from_secs(1);
    let counting = Counting(&node.underlay, Cell::default());
    let (writes, full) = node.compiler.rerouted(&node.overlay, &changed, &counting, node.now);
    full.unwrap();
    assert_eq!(counting.1.get(), 256);
    // A wire for each of them, and the neighbour that they leave by.
    assert_eq!(writes.iter().filter(|write| matches!(write, Write::Wire(..))).count(), 256);
    writes.into_iter().for_each(|write| apply(&mut node.walk, write));
    for (number, mac) in [(255, 254), (256, 5), (511, 5), (512, 254)] {
        assert_eq!(node.way(number), BTreeSet::from([(locator(number), Mac([2, 0, 0, 0, 7, mac]))]));
    }
    // A prefix that covers nobody asks nothing.
    let counting = Counting(&node.underlay, Cell::default());
    let mut elsewhere = Rerouted::default();
    elsewhere.add("10.99.0.0/16".parse().unwrap());
    let (writes, _) = node.compiler.rerouted(&node.overlay, &elsewhere, &counting, node.now);
    assert_eq!((counting.1.get(), writes.len()), (0, 0));
}

#[test]
fn a_next_hop_may_have_an_encapsulation_of_its_own() {
    let mut node = Node::new();
    let mut kind = Kind::of(driver::ETHERNET);
    kind.to.insert(NodeId(2), Encapsulation::Vxlan);
    node.compiler.set_kind(APPLICATION, kind);
    node.add_node(2, 0, 2);
    node.add_node(3, 0, 3);
    node.route(2, 2);
    node.route(3, 3);
    let forms: BTreeSet<u32> = node.walk.wires.values().map(|wire| wire.form).collect();
    assert_eq!(forms, BTreeSet::from([encapsulation::OVSTACK, encapsulation::VXLAN]));
    assert_eq!(node.way(2), BTreeSet::from([at(0, 2, 2)]));
}

/// Another encapsulation is another header for each node: where there is no room for it, the former one stays.
#[test]
fn a_node_for_whose_header_there_is_no_room_is_sent_to_as_before() {
    let room = Room { nodes: 64, hops: 128, groups: 32, wires: 3, neighbours: 32, neighbour_slots: 64 };
    let mut node = Node::with(room);
    for number in [2, 3] {
        node.add_node(number, 0, number as u8);
        node.route(number, number);
    }
    let mut kind = Kind::of(driver::ETHERNET);
    kind.to.insert(NodeId(2), Encapsulation::Vxlan);
    node.compiler.set_kind(APPLICATION, kind);
    let events = [Event::Own { application: APPLICATION }];
    let (writes, full) = node.compiler.follow(&node.overlay, &events, &node.underlay, node.now);
    assert_eq!(full.map_err(|full| (full.table, full.is_busy)), Err(("wires", false)));
    writes.into_iter().for_each(|write| apply(&mut node.walk, write));
    for number in [2, 3] {
        assert_eq!(node.way(number), BTreeSet::from([at(0, number as u8, number as u8)]));
    }
    let forms: BTreeSet<u32> = node.walk.wires.values().map(|wire| wire.form).collect();
    assert_eq!(forms, BTreeSet::from([encapsulation::OVSTACK]));
}

#[test]
fn what_is_full_says_so_and_harms_nothing() {
    let mut node = Node::new();
    let mut told = None;
    for number in 2..200 {
        let (application, id) = (APPLICATION, NodeId(number));
        let locator = address(0, number as u8);
        let add = Operation::NodeAdd { application, node: id, locator, weight: Weight::default() };
        let route = Operation::RouteAdd { application, destination: id, next_hop: id };
        for operation in [add, route] {
            let (_, event) = node.overlay.apply(&operation).unwrap();
            let events: Vec<Event> = event.into_iter().collect();
            let (writes, full) = node.compiler.follow(&node.overlay, &events, &node.underlay, node.now);
            writes.into_iter().for_each(|write| apply(&mut node.walk, write));
            told = told.or(full.err());
        }
    }
    assert_eq!(told.map(|full| full.size), Some(32), "neighbours run out first");
    assert_eq!(node.way(2), BTreeSet::from([at(0, 2, 2)]));
    assert_eq!(node.way(199), BTreeSet::new());
}

/// All next hops change at once, twice: a group of all of them takes a slot each time, not one for each of its hops.
#[test]
fn what_changes_at_once_takes_each_slot_once() {
    let mut node = Node::new();
    const GROUP: u32 = 100;
    for number in 2..34 {
        node.add_node(number, 1, number as u8);
        node.route(number, number);
        node.route(GROUP, number);
    }
    for weight in 2..4 {
        let weight = Weight::try_from(weight).unwrap();
        node.apply(&Operation::LocatorAdd { application: APPLICATION, locator: address(0, 1), weight });
    }
    assert_eq!(node.way(GROUP).len(), 32);
    // What finds no slot that nobody may be reading stays as it was, and says that it is so for a moment only.
    let events = [Event::Own { application: APPLICATION }];
    let mut told = None;
    for weight in 4..90 {
        let weight = Weight::try_from(weight).unwrap();
        let add = Operation::LocatorAdd { application: APPLICATION, locator: address(0, 1), weight };
        node.overlay.apply(&add).unwrap();
        let (writes, full) = node.compiler.follow(&node.overlay, &events, &node.underlay, node.now);
        writes.into_iter().for_each(|write| apply(&mut node.walk, write));
        assert_eq!((node.way(GROUP).len(), node.way(33)), (32, BTreeSet::from([at(1, 33, 254)])));
        told = told.or(full.err());
    }
    assert!(told.unwrap().is_busy);
    node.now += Duration::from_secs(1);
    let (writes, full) = node.compiler.follow(&node.overlay, &events, &node.underlay, node.now);
    full.unwrap();
    writes.into_iter().for_each(|write| apply(&mut node.walk, write));
    let weights = |walk: &Walk| {
        walk.hops.values().filter(|hop| hop.weights == 89 * u32::from(Weight::default().get())).count()
    };
    assert!(weights(&node.walk) >= 32);
}

/// Three locators here and three there are nine pairs.
#[test]
fn of_more_pairs_of_locators_than_flows_are_spread_over_the_lightest_is_left_out_and_named() {
    let mut node = Node::new();
    let (application, id) = (APPLICATION, NodeId(2));
    let weight = |number: u8| Weight::try_from(number).unwrap();
    for (last, number) in [(1, 9), (11, 8), (12, 1)] {
        let (locator, weight) = (address(0, last), weight(number));
        node.apply(&Operation::LocatorAdd { application, locator, weight });
    }
    for (last, number) in [(2, 9), (3, 8), (4, 1)] {
        let (locator, weight) = (address(0, last), weight(number));
        node.apply(&Operation::NodeAdd { application, node: id, locator, weight });
    }
    node.route(2, 2);
    node.add_node(3, 0, 5);
    node.route(3, 3);
    let spread = |node: &Node| {
        let path = node.compiler.path(application, id).unwrap();
        let hop = node.walk.hops.get(&(node.walk.paths.get(&path).unwrap() as u32)).unwrap();
        (hop.count, hop.weights)
    };
    assert_eq!(spread(&node), (8, 18 * 18 - 1));
    assert_eq!(*node.compiler.left_out(), BTreeMap::from([((application, id), 1)]));
    assert_eq!(node.compiler.pairs_left_out(), 1);
    node.apply(&Operation::LocatorDel { application, locator: address(0, 12) });
    assert_eq!((spread(&node), node.compiler.pairs_left_out()), ((6, 17 * 18), 0));
    assert!(node.compiler.left_out().is_empty());
}

fn operation() -> impl Strategy<Value = Operation> {
    let application = APPLICATION;
    let id = || (2u32..6).prop_map(NodeId);
    let locator = || (0u8..2, 2u8..6).prop_map(|(c, d)| address(c, d));
    let weight = (1u8..4).prop_map(|weight| Weight::try_from(weight).unwrap());
    let hop = || (1u32..6).prop_map(NodeId);
    prop_oneof![
        (id(), locator(), weight.clone()).prop_map(move |(node, locator, weight)| Operation::NodeAdd {
            application,
            node,
            locator,
            weight
        }),
        (id(), locator()).prop_map(move |(node, locator)| Operation::NodeDel { application, node, locator }),
        (2u32..8, hop()).prop_map(move |(to, next_hop)| Operation::RouteAdd {
            application,
            destination: NodeId(to),
            next_hop
        }),
        (2u32..8, hop()).prop_map(move |(to, next_hop)| Operation::RouteDel {
            application,
            destination: NodeId(to),
            next_hop
        }),
        (1u8..3, weight).prop_map(move |(last, weight)| Operation::LocatorAdd {
            application,
            locator: address(0, last),
            weight
        }),
        Just(Operation::LocatorDel { application, locator: address(0, 2) }),
    ]
}

/// Where packets may go, by the tables alone.
fn allowed(overlay: &Overlay, destination: u32) -> BTreeSet<Ipv4Addr> {
    let Some(tables) = overlay.tables(APPLICATION) else { return BTreeSet::new() };
    let hops = tables.routes.get(&NodeId(destination)).into_iter().flatten();
    let locators = hops.filter_map(|hop| tables.nodes.get(hop)).flat_map(|locators| locators.keys());
    locators
        .filter_map(|locator| match locator {
            IpAddr::V4(locator) => Some(*locator),
            IpAddr::V6(_) => None,
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn each_write_leaves_tables_that_make_sense(operations in proptest::collection::vec(operation(), 1..40)) {
        let mut node = Node::new();
        for operation in &operations {
            let before: BTreeMap<u32, _> = (2..8).map(|to| (to, node.copies(to))).collect();
            let mut seen: Vec<BTreeMap<u32, Vec<(Ipv4Addr, Mac)>>> = Vec::new();
            node.apply_and(operation, |walk, compiler| {
                seen.push((2..8).map(|to| (to, copies(walk, compiler, to))).collect());
            });
            let after: BTreeMap<u32, _> = (2..8).map(|to| (to, node.copies(to))).collect();
            for between in seen {
                for (to, way) in between {
                    // Each copy is an old or a new one, and none is missing that is there before and after.
                    let (before, after) = (&before[&to], &after[&to]);
                    let is_one = way.iter().all(|copy| before.contains(copy) || after.contains(copy))
                        && way.len() >= before.len().min(after.len());
                    prop_assert!(is_one, "{:?}: to {}: {:?}, then {:?}, at last {:?}", operation, to, before, way, after);
                }
            }
            for (to, way) in after {
                let to_locators: BTreeSet<Ipv4Addr> = way.iter().map(|(locator, _)| *locator).collect();
                prop_assert!(to_locators.is_subset(&allowed(&node.overlay, to)), "to {}: {:?}", to, way);
                // Who has a next hop with a locator is reached.
                let other = allowed(&node.overlay, to);
                prop_assert!(other.is_empty() || !way.is_empty(), "to {}: nothing of {:?}", to, other);
            }
        }
        // Nothing is kept of what is gone.
        let pairs = node.walk.peers.len();
        let tables = node.overlay.tables(APPLICATION).unwrap();
        let theirs: BTreeSet<IpAddr> = tables.nodes.values().flat_map(|locators| locators.keys().copied()).collect();
        prop_assert_eq!(pairs, theirs.len() * tables.locators.len());
        prop_assert_eq!(node.walk.locators.len(), theirs.len());
    }
}
