//! Protocols that say by which relays their datagrams go.

mod support;

use plait_model_quantity::Bandwidth;
use plait_model_wire::number::protocol;
use plait_simulator_engine::*;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use support::{address, conditions, fat_tree, link, node};

const PORT: u16 = 7;
const SHARED: &str = "192.0.2.1";

fn relays(encapsulation: Encapsulation, of: &[NodeIndex]) -> Relays {
    let relays = of.iter().map(|node| address(*node)).collect();
    Relays { encapsulation, source: SHARED.parse().unwrap(), relays }
}

/// Sends a hundred bytes by each of its lists in turn, and keeps what it gets.
struct Caller {
    to: IpAddr,
    lists: Vec<StackIndex>,
    got: Vec<Vec<u8>>,
}

impl Caller {
    fn new(to: NodeIndex, lists: Vec<StackIndex>) -> Box<Self> {
        Box::new(Self { to: address(to), lists, got: Vec::new() })
    }
}

impl Host for Caller {
    fn handle_datagram(&mut self, _: Duration, datagram: &Datagram<'_>) {
        self.got.push(datagram.payload.to_vec());
    }

    fn handle_timeout(&mut self, _: Duration) {}

    fn poll_transmit(&mut self) -> Option<Transmit> {
        let relays = (!self.lists.is_empty()).then(|| self.lists.remove(0))?;
        let payload = vec![self.lists.len() as u8; 100];
        let destination = SocketAddr::new(self.to, PORT);
        Some(Transmit { relays, ..Transmit::to(destination, payload) })
    }

    fn poll_timeout(&self) -> Option<Duration> {
        None
    }
}

/// A sender and a receiver with one link between their routers, and two more routers on a way round it.
fn detour() -> (Simulation, [NodeIndex; 6]) {
    let (builder, nodes) = detour_builder();
    (builder.build().unwrap(), nodes)
}

fn detour_builder() -> (Builder, [NodeIndex; 6]) {
    let mut builder = Builder::new(1);
    let wire = conditions(&[("delay", "1ms"), ("rate", "8Mbit")]);
    let nodes = [("a", Kind::Host), ("r", Kind::Router), ("s", Kind::Router), ("t", Kind::Router)]
        .into_iter()
        .chain([("u", Kind::Router), ("b", Kind::Host)]);
    let nodes: Vec<NodeIndex> = nodes.map(|(name, kind)| node(&mut builder, name, kind)).collect();
    let [a, r, s, t, u, b] = nodes.try_into().unwrap();
    for (from, to) in [(a, r), (r, u), (u, b), (r, s), (s, t), (t, u)] {
        link(&mut builder, from, to, &wire);
    }
    builder.shortest_path_routes();
    builder.decapsulate(s, SHARED.parse().unwrap());
    builder.decapsulate(t, SHARED.parse().unwrap());
    (builder, [a, r, s, t, u, b])
}

/// Bytes that went over each link away from the sender.
fn bytes(simulation: &mut Simulation) -> Vec<u64> {
    let links = 0..simulation.links() as u32;
    links.map(|link| simulation.link_state(LinkIndex(link), 0).counters.departed_bytes).collect()
}

#[test]
fn a_datagram_goes_by_the_two_relays_that_its_protocol_names_and_not_by_the_shortest_way() {
    // 100 bytes of payload, 42 of headers.
    for (encapsulation, header) in
        [(Encapsulation::Gre, 24), (Encapsulation::Ipip, 20), (Encapsulation::Gue, 32)]
    {
        let (mut simulation, [a, _, s, t, _, b]) = detour();
        let list = simulation.add_relays(&relays(encapsulation, &[s, t])).unwrap();
        simulation.add_host(a, PORT, Caller::new(b, vec![list, StackIndex::NONE, list])).unwrap();
        let receiver = simulation.add_host(b, PORT, Caller::new(a, Vec::new())).unwrap();
        simulation.run_until(Duration::from_secs(1));
        let (two, one) = (142 + 2 * header, 142 + header);
        // In order: to r, past the relays, to b; then by s, on to t, and from t without any header.
        assert_eq!(bytes(&mut simulation), [2 * two + 142, 142, 3 * 142, 2 * two, 2 * one, 2 * 142]);
        for relay in [s, t] {
            assert_eq!(simulation.node_counters(relay).decapsulated, 2, "{encapsulation:?}");
        }
        let got = &simulation.host::<Caller>(receiver).unwrap().got;
        // Two links more on the way round: the middle one is the first to come.
        assert_eq!(got.iter().map(|payload| payload[0]).collect::<Vec<_>>(), [1, 2, 0]);
        assert!(got.iter().all(|payload| payload.len() == 100));
        let totals = simulation.totals();
        assert!(totals.is_conserved() && totals.received == 3, "{totals:?}");
    }
}

#[test]
fn a_list_is_kept_once_and_one_that_cannot_be_is_refused() {
    let (mut simulation, [a, _, s, t, ..]) = detour();
    let list = simulation.add_relays(&relays(Encapsulation::Gre, &[s, t])).unwrap();
    assert_eq!(simulation.add_relays(&relays(Encapsulation::Gre, &[s, t])), Ok(list));
    for other in [relays(Encapsulation::Gre, &[t, s]), relays(Encapsulation::Ipip, &[s, t])] {
        assert_ne!(simulation.add_relays(&other), Ok(list));
    }
    let nobody = NodeIndex(77);
    for (wrong, why) in [
        (relays(Encapsulation::Gre, &[]), AddError::Relays(0)),
        (relays(Encapsulation::Gre, &[a; 17]), AddError::Relays(17)),
        (relays(Encapsulation::Gre, &[s, nobody]), AddError::NobodyHas(address(nobody))),
    ] {
        assert_eq!(simulation.add_relays(&wrong), Err(why));
    }
}

#[test]
fn a_list_of_another_simulation_leads_nowhere_and_is_counted() {
    let (mut known, [a, _, s, t, _, b]) = detour();
    let foreign = known.add_relays(&relays(Encapsulation::Gre, &[s, t])).unwrap();
    let (mut simulation, _) = detour();
    simulation.add_host(a, PORT, Caller::new(b, vec![foreign])).unwrap();
    simulation.run_until(Duration::from_secs(1));
    assert_eq!(simulation.node_counters(a).dropped_for(Reason::NoRoute), 1);
    assert!(simulation.totals().is_conserved());
}

#[test]
fn ecmp_never_reorders_a_flow_though_queues_are_full_and_flows_take_all_ways() {
    let wire = conditions(&[("delay", "10us"), ("rate", "100Mbit"), ("queue", "40KB")]);
    let (mut builder, hosts) = fat_tree(5, 4, &wire);
    // After 16 hosts come pod by pod two edge and two aggregation switches, then four roots.
    let roots: Vec<NodeIndex> = (32..36).map(NodeIndex).collect();
    builder.decapsulate(roots[1], SHARED.parse().unwrap());
    let mut simulation = builder.build().unwrap();
    let rate = Bandwidth::from_bits_per_second(20_000_000);
    let mut flows = Vec::new();
    for (at, from) in hosts.iter().enumerate() {
        for number in 0..8 {
            let to = hosts[(at + 4 + number) % hosts.len()];
            // Two by a relay, to which switches spread them as they do plain ones.
            let relays = (number < 2).then(|| relays(Encapsulation::Gue, &roots[1..2]));
            let ports = [1000 + number as u16, 9];
            let arrivals = Arrivals::Poisson(rate);
            let spec =
                FlowSpec { arrivals, relays, ..FlowSpec::constant(address(*from), address(to), ports, rate) };
            flows.push(simulation.add_flow(&spec).unwrap());
        }
    }
    simulation.run_until(Duration::from_millis(200));
    for flow in flows {
        let seen = simulation.flow_counters(flow);
        assert!(seen.received > 0, "{seen:?}");
        assert_eq!(seen.reordered, 0, "{seen:?}");
    }
    let totals = simulation.totals();
    assert!(totals.is_conserved() && totals.at_links > 1000, "{totals:?}");
    for root in roots {
        assert!(simulation.node_counters(root).forwarded > 1000);
    }
}

/// Names one list for packets to a port, drops those to another, and keeps what it is asked.
struct Chooser {
    list: StackIndex,
    asked: Vec<Leaving>,
}

impl Selector for Chooser {
    fn select(&mut self, now: Duration, packet: &Leaving) -> Result<Selected, Reason> {
        self.asked.push(*packet);
        match packet.ports[1] {
            PORT => Ok(Selected { relays: self.list, at: now }),
            9 => Err(Reason::TooBig),
            _ => Ok(Selected { relays: StackIndex::NONE, at: now }),
        }
    }
}

#[test]
fn a_selector_is_asked_of_what_its_node_sends_by_its_interface_and_of_nothing_else() {
    let (mut simulation, [a, r, s, t, _, b]) = detour();
    let list = simulation.add_relays(&relays(Encapsulation::Gre, &[s, t])).unwrap();
    let chooser = |list| Box::new(Chooser { list, asked: Vec::new() });
    let of_a = simulation.add_selector(a, 0, chooser(list));
    // Of what a router only passes on it is not asked.
    let of_r = simulation.add_selector(r, 1, chooser(list));
    // The first has its relays already, and is seen no more than its headers.
    simulation.add_host(a, PORT, Caller::new(b, vec![list, StackIndex::NONE])).unwrap();
    simulation.add_host(b, PORT, Caller::new(a, Vec::new())).unwrap();
    let rate = Bandwidth::from_bits_per_second(1_000_000);
    let flow = |simulation: &mut Simulation, port| {
        let spec = FlowSpec { limit: Some(3), ..FlowSpec::constant(address(a), address(b), [5, port], rate) };
        simulation.add_flow(&spec).unwrap()
    };
    let [dropped, plain] = [9, 10].map(|port| flow(&mut simulation, port));
    simulation.run_until(Duration::from_secs(1));

    let asked = &simulation.selector::<Chooser>(of_a).unwrap().asked;
    let to = |port: u16| asked.iter().filter(|packet| packet.ports[1] == port).count();
    assert_eq!((to(PORT), to(9), to(10), asked.len()), (1, 3, 3, 7));
    let first = Leaving {
        source: address(a),
        destination: address(b),
        protocol: protocol::UDP,
        ports: [PORT, PORT],
        frame: 142,
        mtu: 9000,
    };
    assert!(asked.contains(&first), "{asked:?}");
    assert!(simulation.selector::<Chooser>(of_r).unwrap().asked.is_empty());
    for relay in [s, t] {
        assert_eq!(simulation.node_counters(relay).decapsulated, 2, "both datagrams, and no flow's");
    }
    assert_eq!(
        (simulation.flow_counters(dropped).received, simulation.flow_counters(plain).received),
        (0, 3)
    );
    assert_eq!(simulation.node_counters(a).dropped_for(Reason::TooBig), 3);
    assert!(simulation.totals().is_conserved());
}

/// Holds what is sent before an instant until then.
struct Holder {
    until: Duration,
}

impl Selector for Holder {
    fn select(&mut self, now: Duration, _: &Leaving) -> Result<Selected, Reason> {
        Ok(Selected { relays: StackIndex::NONE, at: now.max(self.until) })
    }
}

#[test]
fn what_a_selector_holds_leaves_in_order_before_what_is_sent_at_that_instant() {
    for threads in [1, 2] {
        let (builder, [a, _, _, _, _, b]) = detour_builder();
        let mut simulation = builder.build_parallel(threads).unwrap();
        // A datagram each millisecond, one of them at the very instant.
        let until = Duration::from_millis(20);
        simulation.add_selector(a, 0, Box::new(Holder { until }));
        let rate = Bandwidth::from_bits_per_second(1_000_000);
        let spec = FlowSpec {
            size: Size::Constant(125 - 42),
            ..FlowSpec::constant(address(a), address(b), [1, 2], rate)
        };
        let flow = simulation.add_flow(&spec).unwrap();
        simulation.run_until(until);
        assert_eq!(simulation.flow_counters(flow).received, 0);
        let totals = simulation.totals();
        assert!(totals.under_way >= 20 && totals.is_conserved(), "{totals:?}");
        simulation.run_until(until * 2);
        let FlowCounters { sent, received, reordered, .. } = simulation.flow_counters(flow);
        assert!(
            sent >= 40 && received + 4 >= sent && reordered == 0,
            "{received} of {sent}, {reordered} late"
        );
        assert!(simulation.totals().is_conserved());
    }
}
