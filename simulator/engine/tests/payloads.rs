//! Payloads of IP other than UDP, between protocols on nodes.

mod support;

use plait_simulator_engine::*;
use std::net::SocketAddr;
use std::time::Duration;
use support::{address, conditions, link, node};

/// What a protocol says, and what it hears: protocol, hops left, payload.
#[derive(Default)]
struct Talker {
    says: Vec<Transmit>,
    heard: Vec<(u8, u8, Vec<u8>)>,
}

impl Host for Talker {
    fn handle_datagram(&mut self, _: Duration, datagram: &Datagram<'_>) {
        self.heard.push((datagram.protocol, datagram.ttl, datagram.payload.to_vec()));
    }

    fn handle_timeout(&mut self, _: Duration) {}

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.says.pop()
    }

    fn poll_timeout(&self) -> Option<Duration> {
        None
    }
}

const GRE: u8 = 47;
const IPIP: u8 = 4;

#[test]
fn a_payload_goes_in_its_ip_header_alone_with_the_hops_that_it_was_given_to_who_takes_its_protocol() {
    let mut builder = Builder::new(1);
    let wire = conditions(&[("delay", "1ms")]);
    let [a, r, b] = [("a", Kind::Host), ("r", Kind::Router), ("b", Kind::Host)]
        .map(|(name, kind)| node(&mut builder, name, kind));
    link(&mut builder, a, r, &wire);
    link(&mut builder, r, b, &wire);
    builder.shortest_path_routes();
    let mut simulation = builder.build().unwrap();
    simulation.add_capture(b, 0);
    let to_b = |protocol, ttl| {
        let destination = SocketAddr::new(address(b), 4242);
        Transmit { protocol, ttl, ..Transmit::to(destination, vec![7; 100]) }
    };
    // The one of a single hop ends at r, and nobody takes IP in IP.
    let says = vec![to_b(GRE, 9), to_b(GRE, 1), to_b(IPIP, 64), to_b(17, 5)];
    simulation.add_host(a, 4242, Box::new(Talker { says, heard: Vec::new() })).unwrap();
    let listener = simulation.add_host(b, 4242, Box::<Talker>::default()).unwrap();
    simulation.listen_to(listener, GRE).unwrap();
    simulation.run_until(Duration::from_secs(1));
    let heard = &simulation.host::<Talker>(listener).unwrap().heard;
    assert_eq!(*heard, [(17, 4, vec![7; 100]), (GRE, 8, vec![7; 100])]);
    assert_eq!(simulation.node_counters(r).dropped_for(Reason::Expired), 1);
    assert_eq!(simulation.node_counters(b).dropped_for(Reason::NoListener), 1);
    let lengths: Vec<u32> = simulation.captured().iter().map(|packet| packet.length).collect();
    assert_eq!(lengths, [14 + 20 + 8 + 100, 14 + 20 + 100, 14 + 20 + 100]);
    assert!(simulation.captured().iter().all(|packet| packet.bytes.len() == packet.length as usize));

    let other = simulation.add_host(b, 4243, Box::<Talker>::default()).unwrap();
    let refused = simulation.listen_to(other, GRE).unwrap_err().to_string();
    assert!(refused.contains("b takes IP protocol 47 already"), "{refused}");
}
