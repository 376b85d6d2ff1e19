//! Captures, as other programs read them.

mod support;

use plait_model_quantity::Bandwidth;
use plait_model_wire::{ethernet, gre, ipv4, udp};
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

/// Two hosts, two relays between them; a flow by both relays in each encapsulation, and a greeting. Captured at the first relay.
fn simulation() -> Simulation {
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
    let x: IpAddr = "192.0.2.1".parse().unwrap();
    builder.decapsulate(r, x);
    builder.decapsulate(s, x);
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    for (at, encapsulation) in
        [Encapsulation::Gre, Encapsulation::Ipip, Encapsulation::Gue].into_iter().enumerate()
    {
        let rate = Bandwidth::from_bits_per_second(1_000_000);
        let spec = FlowSpec {
            limit: Some(2),
            start: Duration::from_millis(at as u64),
            relays: Some(Relays { encapsulation, source: x, relays: vec![address(r), address(s)] }),
            ..FlowSpec::constant(address(a), address(b), [4000 + at as u16, 5000], rate)
        };
        simulation.add_flow(&spec).unwrap();
    }
    let destination = SocketAddr::new("2001:db8::4".parse().unwrap(), 4242);
    let greeting = Transmit {
        source: None,
        port: None,
        destination,
        payload: b"good morning".to_vec(),
        relays: StackIndex::NONE,
    };
    simulation.add_host(a, 4242, Box::new(Greeting(Some(greeting)))).unwrap();
    simulation.add_host(b, 4242, Box::new(Greeting(None))).unwrap();
    simulation.add_capture(r, 0);
    simulation.add_capture(r, 1);
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

#[test]
fn wireshark_reads_a_capture() {
    if Command::new("tshark").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let fields = ["-T", "fields", "-e", "frame.interface_name", "-e", "frame.time_epoch", "-e", "frame.len"];
    let more = ["-e", "ip.dst", "-e", "udp.dstport", "-e", "_ws.malformed", "-e", "ip.checksum.status"];
    let checks = ["-o", "ip.check_checksum:TRUE"];
    let mut tshark = Command::new("tshark")
        .args(["-n", "-r", "-"])
        .args(fields)
        .args(more)
        .args(checks)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    tshark.stdin.take().unwrap().write_all(&simulation().pcapng()).unwrap();
    let output = tshark.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
