//! Captures, as other programs read them.

mod support;

use plait_model_quantity::Bandwidth;
use plait_model_wire::{ethernet, gre, ipv4, ipv6, ovstack, relay_list, segment_routing, udp};
use plait_simulator_engine::*;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{address, conditions, link, node};

/// Says one thing, once.
struct Greeting(Option<Transmit>);

impl Host for Greeting {
    fn handle_datagram(&mut self, _: Duration, _: &Datagram<'_>) {}

    fn handle_timeout(&mut self, _: Duration) {}

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.0.take()
    }

    fn poll_timeout(&self) -> Option<Duration> {
        None
    }
}

/// Two hosts and two relays between them, which know two sources of headers.
fn line() -> (Simulation, [NodeIndex; 4]) {
    let mut builder = Builder::new(1);
    let wire = conditions(&[("delay", "1ms")]);
    let [a, r, s, b] = [("a", Kind::Host), ("r", Kind::Router), ("s", Kind::Router), ("b", Kind::Host)]
        .map(|(name, kind)| node(&mut builder, name, kind));
    link(&mut builder, a, r, &wire);
    link(&mut builder, r, s, &wire);
    link(&mut builder, s, b, &wire);
    for node in [a, b, r, s] {
        builder.address(node, format!("2001:db8::{}", node.0 + 1).parse().unwrap());
    }
    for source in [FOUR, SIX] {
        builder.decapsulate(r, source.parse().unwrap());
        builder.decapsulate(s, source.parse().unwrap());
    }
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    simulation.add_capture(r, 0);
    simulation.add_capture(r, 1);
    (simulation, [a, r, s, b])
}

/// The sources of headers.
const FOUR: &str = "192.0.2.1";
const SIX: &str = "100::1";

/// Two datagrams by both relays.
fn by_both(
    simulation: &mut Simulation,
    [a, r, s, b]: [NodeIndex; 4],
    at: u16,
    encapsulation: Encapsulation,
    source: &str,
) {
    let source: IpAddr = source.parse().unwrap();
    let relay = |node: NodeIndex| match source.is_ipv6() {
        true => format!("2001:db8::{}", node.0 + 1).parse().unwrap(),
        false => address(node),
    };
    let rate = Bandwidth::from_bits_per_second(1_000_000);
    let spec = FlowSpec {
        limit: Some(2),
        start: Duration::from_millis(at.into()),
        relays: Some(Relays { encapsulation, source, relays: vec![relay(r), relay(s)] }),
        ..FlowSpec::constant(address(a), address(b), [4000 + at, 5000], rate)
    };
    simulation.add_flow(&spec).unwrap();
}

/// A flow by both relays with a header for each in each encapsulation, and a greeting. Captured at the first relay.
fn simulation() -> Simulation {
    let (mut simulation, nodes) = line();
    let [a, .., b] = nodes;
    for (at, encapsulation) in (0..).zip([Encapsulation::Gre, Encapsulation::Ipip, Encapsulation::Gue]) {
        by_both(&mut simulation, nodes, at, encapsulation, FOUR);
    }
    let destination = SocketAddr::new("2001:db8::4".parse().unwrap(), 4242);
    let greeting = Transmit::to(destination, b"good morning".to_vec());
    simulation.add_host(a, 4242, Box::new(Greeting(Some(greeting)))).unwrap();
    simulation.add_host(b, 4242, Box::new(Greeting(None))).unwrap();
    simulation.run_until(Duration::from_secs(1));
    assert_eq!(simulation.totals().received, 7);
    simulation
}

#[test]
fn frames_are_valid_at_every_level() {
    let captured = simulation().captured();
    assert_eq!(captured.len(), 14);
    let mut stacked = 0;
    for packet in &captured {
        let frame = ethernet::Frame::parse(&packet.bytes).unwrap();
        if frame.ether_type() != 0x0800 {
            assert!(packet.bytes.ends_with(b"good morning") && packet.length as usize == packet.bytes.len());
            continue;
        }
        // What is left out of a capture is nought.
        let mut whole = packet.bytes.clone();
        whole.resize(packet.length as usize, 0);
        let mut inner = ethernet::Frame::parse(&whole).unwrap().payload();
        loop {
            let header = ipv4::Packet::parse(inner).unwrap();
            assert!(header.checksum_fits() && header.payload().len() + 20 == inner.len());
            inner = match header.protocol() {
                47 => gre::Packet::parse(header.payload()).unwrap().payload(),
                4 => header.payload(),
                17 => {
                    let datagram = udp::Datagram::parse(header.payload()).unwrap();
                    assert!(datagram.checksum_fits(header.source().into(), header.destination().into()));
                    if datagram.destination() == 5000 {
                        assert_eq!(datagram.payload().len(), 1000);
                        break;
                    }
                    &datagram.payload()[4..]
                }
                other => panic!("protocol {other}"),
            };
            stacked += 1;
        }
    }
    // Three flows of two datagrams, with two headers before the relay and one behind it.
    assert_eq!(stacked, 3 * 2 * (2 + 1));
}

/// A flow by both relays with one header for both in each encapsulation.
fn with_lists() -> Simulation {
    let (mut simulation, nodes) = line();
    let lists = [(Encapsulation::Ovstack, FOUR), (Encapsulation::Ovstack, SIX), (Encapsulation::Srv6, SIX)];
    for (at, (encapsulation, source)) in (0..).zip(lists) {
        by_both(&mut simulation, nodes, at, encapsulation, source);
    }
    simulation.run_until(Duration::from_secs(1));
    assert_eq!(simulation.totals().received, 6);
    simulation
}

#[test]
fn a_header_for_all_relays_says_who_is_next_and_how_many_are_left() {
    let simulation = with_lists();
    let mut seen = [0; 3];
    for packet in simulation.captured() {
        let mut whole = packet.bytes.clone();
        whole.resize(packet.length as usize, 0);
        let frame = ethernet::Frame::parse(&whole).unwrap();
        let (destination, protocol, behind) = match frame.ether_type() {
            0x0800 => {
                let header = ipv4::Packet::parse(frame.payload()).unwrap();
                assert!(header.checksum_fits() && header.payload().len() + 20 == frame.payload().len());
                (IpAddr::from(header.destination()), header.protocol(), header.payload())
            }
            _ => {
                let header = ipv6::Packet::parse(frame.payload()).unwrap();
                assert_eq!(header.payload().len() + 40, frame.payload().len());
                (header.destination().into(), header.next_header(), header.payload())
            }
        };
        let (left, listed, inner) = if protocol == 43 {
            let header = segment_routing::Packet::parse(behind).unwrap();
            assert_eq!(header.next(), 4);
            (header.left(), header.segments().map(IpAddr::from).collect::<Vec<_>>(), header.payload())
        } else {
            let datagram = udp::Datagram::parse(behind).unwrap();
            assert_eq!(datagram.destination(), 60002);
            let header = ovstack::Packet::parse(datagram.payload()).unwrap();
            let list = relay_list::Packet::parse(header.payload()).unwrap();
            assert_eq!((header.application(), list.next()), (relay_list::APPLICATION, 4));
            assert_eq!(header.ttl(), 59 + list.left());
            (list.left(), list.relays().collect(), list.payload())
        };
        let relay = |place: u32| match destination.is_ipv6() {
            true => format!("2001:db8::{place}").parse::<IpAddr>().unwrap(),
            false => address(NodeIndex(place - 1)),
        };
        // Before the first relay and behind it.
        let is_before = packet.capture == CaptureIndex(0);
        assert_eq!((left, destination), if is_before { (1, relay(2)) } else { (0, relay(3)) });
        assert_eq!(listed, [relay(3)]);
        let inner = ipv4::Packet::parse(inner).unwrap();
        assert!(inner.checksum_fits() && inner.payload().len() == 1008);
        seen[usize::from(destination.is_ipv6()) + usize::from(protocol == 43)] += 1;
    }
    assert_eq!(seen, [4, 4, 4]);
}

/// What a program says of a capture.
fn read(program: &mut Command, capture: &[u8]) -> String {
    let piped = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = piped.spawn().unwrap();
    running.stdin.take().unwrap().write_all(capture).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn wireshark_reads_a_capture() {
    if Command::new("tshark").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let malformed = ["-n", "-r", "-", "-T", "fields", "-e", "frame.len", "-e", "_ws.malformed"];
    let lists = read(Command::new("tshark").args(malformed), &with_lists().pcapng());
    assert_eq!(lists.lines().count(), 12);
    assert!(lists.lines().all(|line| line.ends_with('\t')), "malformed: {lists}");
    let fields = ["-T", "fields", "-e", "frame.interface_name", "-e", "frame.time_epoch", "-e", "frame.len"];
    let more = ["-e", "ip.dst", "-e", "udp.dstport", "-e", "_ws.malformed", "-e", "ip.checksum.status"];
    let checks = ["-o", "ip.check_checksum:TRUE"];
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r", "-"]).args(fields).args(more).args(checks);
    let text = read(&mut tshark, &simulation().pcapng());
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 14, "{text}");
    // The first GRE packet: in by r's first interface at 1 ms with both headers, out by the second with one.
    let gre: Vec<&Vec<&str>> =
        lines.iter().filter(|line| line[3].contains("10.0.0.4") && line[2] != "1042").collect();
    assert_eq!(gre[0][..4], ["r:0", "0.001000000", "1090", "10.0.0.2,10.0.0.3,10.0.0.4"], "{text}");
    assert_eq!(gre[1][..4], ["r:1", "0.001000000", "1066", "10.0.0.3,10.0.0.4"], "{text}");
    for line in &lines {
        assert_eq!(line[5], "", "malformed: {line:?}");
        assert!(line[6].split(',').all(|status| matches!(status, "1" | "")), "checksum: {line:?}");
    }
}
