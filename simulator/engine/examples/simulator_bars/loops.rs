//! Event loops without the simulator, on the same network and flows: one with nothing but next hops, one with a hop's duties.

use super::support::{address, conditions, fat_tree};
use super::{Load, processor_time};
use plait_model_topology::random::SplitMix64;
use plait_simulator_engine::{LinkIndex, NodeIndex, hash};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// The network of a load as plain arrays.
pub struct Plain {
    hosts: Vec<NodeIndex>,
    /// By node and host: the next nodes towards it, each with the direction that leads there.
    next: Vec<Vec<(u32, u32)>>,
    directions: usize,
    /// From, to, and what switches hash.
    flows: Vec<(u32, u32, u32)>,
    delay: u64,
    /// From one datagram of a flow to the next.
    gap: u64,
}

/// Bytes of a frame, and nanoseconds to send it at 1 Gbit/s.
const FRAME: u64 = 1042;
const WIRE_TIME: u64 = FRAME * 8;

impl Plain {
    pub fn of(load: Load) -> Self {
        let links = conditions(&[("rate", "1Gbit"), ("delay", load.delay)]);
        let (builder, hosts) = fat_tree(1, 8, &links);
        let simulation = builder.build().expect("a fat-tree can be built");
        let far = |node: usize, link: LinkIndex| {
            let [a, b] = simulation.ends(link);
            if a.0 as usize == node { (b.0, 2 * link.0) } else { (a.0, 2 * link.0 + 1) }
        };
        let next: Vec<Vec<(u32, u32)>> = (0..simulation.nodes())
            .flat_map(|node| hosts.iter().map(move |to| (node, *to)))
            .map(|(node, to)| {
                let hops = simulation.next_hops(NodeIndex(node as u32), address(to));
                hops.into_iter().map(|link| far(node, link)).collect()
            })
            .collect();
        let directions =
            next.iter().flatten().map(|(_, direction)| *direction as usize + 1).max().unwrap_or(0);
        let flows = load
            .pairs(&hosts)
            .map(|(from, to, port)| {
                (from.0, to.0, hash::flow_hash(address(from), address(to), 17, [port, 9]))
            })
            .collect();
        let (delay, gap) = (links.delay.as_nanos(), WIRE_TIME * 1_000_000 / load.rate_kbit());
        Self { hosts, next, directions, flows, delay, gap }
    }

    fn ways(&self, at: u32, to: u32) -> &[(u32, u32)] {
        &self.next[at as usize * self.hosts.len() + to as usize]
    }
}

/// Hops a second of the bare event loop: the same network, flows and packets with nothing but events and next hops. An
/// event is a packet that comes to a node, in the standard library's heap; it takes the next hop by its hash and is there
/// a constant time later. No queue, no loss, no rate, no counters.
pub fn bare(plain: &Plain, simulated: Duration) -> f64 {
    // (instant, node, flow), the node of a source one beyond all others.
    let mut heap: BinaryHeap<Reverse<(u64, u32, u32)>> =
        (0..plain.flows.len()).map(|flow| Reverse((flow as u64, u32::MAX, flow as u32))).collect();
    let hop_time = plain.delay + WIRE_TIME;
    let (mut hops, start) = (0u64, processor_time());
    while let Some(Reverse((now, node, flow))) = heap.pop() {
        if now > simulated.as_nanos() as u64 {
            break;
        }
        let (from, to, hash) = plain.flows[flow as usize];
        let at = if node == u32::MAX {
            heap.push(Reverse((now + plain.gap, u32::MAX, flow)));
            from
        } else {
            hops += 1;
            node
        };
        if at != to {
            let ways = plain.ways(at, to);
            let way = hash::choose(hash, u64::from(at), ways.len() as u32);
            heap.push(Reverse((now + hop_time, ways[way as usize].0, flow)));
        }
    }
    hops as f64 / (processor_time() - start)
}

/// Hops a second of the same loop with what a hop is asked to have, written for this network alone: a packet in memory, a draw of
/// its loss, the account of its queue, counters of node, link and flow. Nothing can be changed, looked at or left out in it.
pub fn by_hand(plain: &Plain, simulated: Duration) -> f64 {
    #[derive(Clone, Copy, Default)]
    struct Packet {
        flow: u32,
        number: u32,
        sent: u64,
        ttl: u8,
    }
    #[derive(Clone, Copy, Default)]
    struct Wire {
        free: u64,
        drawn: u64,
        packets: u64,
        bytes: u64,
        lost: u64,
        dropped: u64,
    }
    #[derive(Clone, Copy, Default)]
    struct Sink {
        received: u64,
        bytes: u64,
        delay: u64,
        next: u32,
        reordered: u32,
    }
    // 0.01 % of all draws, and 100 KB in nanoseconds of the wire.
    const LOST: u64 = u64::MAX / 10_000;
    const QUEUE: u64 = 100_000 * 8;
    let mut wires = vec![Wire::default(); plain.directions];
    let mut nodes = vec![[0u64; 2]; plain.next.len() / plain.hosts.len()];
    let mut sinks = vec![Sink::default(); plain.flows.len()];
    let mut numbers = vec![0u32; plain.flows.len()];
    let (mut packets, mut spare): (Vec<Packet>, Vec<u32>) = (Vec::new(), Vec::new());
    // (instant, node, packet), or the flow of a source.
    let mut heap: BinaryHeap<Reverse<(u64, u32, u32)>> =
        (0..plain.flows.len()).map(|flow| Reverse((flow as u64, u32::MAX, flow as u32))).collect();
    let (mut hops, start) = (0u64, processor_time());
    while let Some(Reverse((now, node, which))) = heap.pop() {
        if now > simulated.as_nanos() as u64 {
            break;
        }
        let (at, which) = if node == u32::MAX {
            heap.push(Reverse((now + plain.gap, u32::MAX, which)));
            let number = &mut numbers[which as usize];
            let packet = Packet { flow: which, number: *number, sent: now, ttl: 64 };
            *number += 1;
            let place = spare.pop().unwrap_or(packets.len() as u32);
            match packets.get_mut(place as usize) {
                Some(old) => *old = packet,
                None => packets.push(packet),
            }
            (plain.flows[which as usize].0, place)
        } else {
            hops += 1;
            (node, which)
        };
        let packet = &mut packets[which as usize];
        let (_, to, hash) = plain.flows[packet.flow as usize];
        if at == to {
            nodes[at as usize][0] += 1;
            let sink = &mut sinks[packet.flow as usize];
            sink.received += 1;
            sink.bytes += 1000;
            sink.delay += now - packet.sent;
            sink.reordered += u32::from(packet.number < sink.next);
            sink.next = sink.next.max(packet.number + 1);
            spare.push(which);
            continue;
        }
        packet.ttl -= 1;
        if packet.ttl == 0 {
            spare.push(which);
            continue;
        }
        nodes[at as usize][1] += 1;
        let ways = plain.ways(at, to);
        let (next, direction) = ways[hash::choose(hash, u64::from(at), ways.len() as u32) as usize];
        let wire = &mut wires[direction as usize];
        wire.drawn += 1;
        if SplitMix64::new(wire.drawn << 20 | u64::from(direction)).draw() < LOST {
            wire.lost += 1;
            spare.push(which);
            continue;
        }
        if wire.free.saturating_sub(now) > QUEUE {
            wire.dropped += 1;
            spare.push(which);
            continue;
        }
        wire.free = wire.free.max(now) + WIRE_TIME;
        wire.packets += 1;
        wire.bytes += FRAME;
        heap.push(Reverse((wire.free + plain.delay, next, which)));
    }
    let took = processor_time() - start;
    std::hint::black_box((&wires, &nodes, &sinks));
    hops as f64 / took
}
