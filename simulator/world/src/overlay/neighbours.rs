//! How a station finds the hardware addresses of others: ARP (RFC 826) and Neighbor Discovery (RFC 4861), as a kernel does it above
//! a device.

use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::neighbor::Neighbor as Message;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{arp, ipv6, push};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

// Choice: Linux's defaults, from which a testbed's nodes do not differ.
/// From one question to the next (`retrans_time_ms`).
const AGAIN: Duration = Duration::from_secs(1);
/// How often all are asked (`mcast_solicit`).
const TRIES: u8 = 3;
/// For how long an answer counts (`base_reachable_time_ms`). Choice: whoever gave it is asked again then, and believed until it
/// says something else; so nobody forgets a station that only receives.
const FRESH: Duration = Duration::from_secs(30);
/// Packets that wait for an answer, the oldest of which makes room (`unres_qlen`).
const WAITING: usize = 101;

/// Who asks or answers.
pub(super) type Own = (Mac, IpAddr);

/// Whom a station sends to.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    known: BTreeMap<IpAddr, Known>,
    /// For whom nobody answered yet: few at a time, which is why timers look at them alone.
    sought: BTreeMap<IpAddr, Sought>,
}

#[derive(Debug)]
struct Known {
    mac: Mac,
    asked: Duration,
}

#[derive(Debug)]
struct Sought {
    own: Own,
    tries: u8,
    again: Duration,
    packets: VecDeque<Vec<u8>>,
}

impl Neighbours {
    /// The frames by which a packet goes to an address: its own, a question first, or none while nobody answered.
    pub fn send(&mut self, now: Duration, own: Own, to: IpAddr, packet: Vec<u8>) -> Vec<Vec<u8>> {
        if let Some(Known { mac, asked }) = self.known.get_mut(&to) {
            let mut frames = vec![framed(packet, own.0, *mac, to)];
            if now >= *asked + FRESH {
                *asked = now;
                frames.push(question(own, to, Some(*mac)));
            }
            return frames;
        }
        let is_new = !self.sought.contains_key(&to);
        let begin = || Sought { own, tries: 1, again: now + AGAIN, packets: VecDeque::new() };
        let packets = &mut self.sought.entry(to).or_insert_with(begin).packets;
        if packets.len() >= WAITING {
            packets.pop_front();
        }
        packets.push_back(packet);
        if is_new { vec![question(own, to, None)] } else { Vec::new() }
    }

    /// Somebody said which hardware address an address has. The frames that waited for that.
    pub fn heard(&mut self, now: Duration, address: IpAddr, mac: Mac) -> Vec<Vec<u8>> {
        self.known.insert(address, Known { mac, asked: now });
        let Some(Sought { own, packets, .. }) = self.sought.remove(&address) else { return Vec::new() };
        packets.into_iter().map(|packet| framed(packet, own.0, mac, address)).collect()
    }

    /// Asks again for whom nobody answered for; what waits for those who were sought long enough is lost.
    pub fn handle_timeout(&mut self, now: Duration) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        self.sought.retain(|to, Sought { own, tries, again, .. }| {
            let is_due = *again <= now;
            if is_due && *tries < TRIES {
                (*tries, *again) = (*tries + 1, now + AGAIN);
                frames.push(question(*own, *to, None));
                return true;
            }
            !is_due
        });
        frames
    }

    /// When [`handle_timeout`](Self::handle_timeout) is next worth a call.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.sought.values().map(|sought| sought.again).min()
    }
}

/// The answer to a question, that of an own address.
pub(super) fn answer(own: Own, to: Own) -> Vec<u8> {
    let (mac, asker) = (own.0, to.0);
    match (own.1, to.1) {
        (IpAddr::V4(address), IpAddr::V4(peer)) => arp_frame(
            arp::Repr { operation: arp::REPLY, sender: (mac, address), target: (asker, peer) },
            asker,
        ),
        (IpAddr::V6(address), IpAddr::V6(peer)) => {
            let says = Message::Advertisement {
                target: address,
                mac: Some(mac),
                router: false,
                solicited: true,
                overrides: true,
            };
            neighbor_frame(says, (mac, address), (asker, peer))
        }
        _ => Vec::new(),
    }
}

/// Whose is this address? All are asked where nobody is known to have it.
fn question(own: Own, about: IpAddr, known: Option<Mac>) -> Vec<u8> {
    match (own.1, about) {
        (IpAddr::V4(address), IpAddr::V4(target)) => {
            let target = (Mac([0; 6]), target);
            let repr = arp::Repr { operation: arp::REQUEST, sender: (own.0, address), target };
            arp_frame(repr, known.unwrap_or(Mac::BROADCAST))
        }
        (IpAddr::V6(address), IpAddr::V6(target)) => {
            let [.., a, b, c] = target.octets();
            let all = (
                Mac([0x33, 0x33, 0xff, a, b, c]),
                Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c])),
            );
            let to = known.map_or(all, |mac| (mac, target));
            let says = Message::Solicitation { target, source: Some(own.0) };
            neighbor_frame(says, (own.0, address), to)
        }
        _ => Vec::new(),
    }
}

fn arp_frame(repr: arp::Repr, destination: Mac) -> Vec<u8> {
    let mut frame = Vec::new();
    push(&mut frame, &repr);
    push(&mut frame, &ethernet::Repr { destination, source: repr.sender.0, ether_type: ether_type::ARP });
    frame
}

fn neighbor_frame(says: Message, from: (Mac, Ipv6Addr), to: (Mac, Ipv6Addr)) -> Vec<u8> {
    let mut frame = Vec::new();
    push(&mut frame, &says.between(from.1, to.1));
    let outer = ipv6::Repr {
        source: from.1,
        destination: to.1,
        next_header: protocol::ICMPV6,
        hop_limit: 255,
        traffic_class: 0,
        flow_label: 0,
    };
    push(&mut frame, &outer);
    push(&mut frame, &ethernet::Repr { destination: to.0, source: from.0, ether_type: ether_type::IPV6 });
    frame
}

/// A packet in a frame.
pub(super) fn framed(mut packet: Vec<u8>, source: Mac, destination: Mac, to: IpAddr) -> Vec<u8> {
    let ether_type = if to.is_ipv6() { ether_type::IPV6 } else { ether_type::IPV4 };
    push(&mut packet, &ethernet::Repr { destination, source, ether_type });
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Own = (Mac([2, 0, 0, 0, 0, 1]), IpAddr::V4(std::net::Ipv4Addr::new(10, 99, 0, 1)));
    const PEER: Own = (Mac([2, 0, 0, 0, 0, 2]), IpAddr::V4(std::net::Ipv4Addr::new(10, 99, 0, 2)));

    fn second(at: u64) -> Duration {
        Duration::from_secs(at)
    }

    #[test]
    fn packets_wait_until_somebody_answers() {
        let mut all = Neighbours::default();
        let asked = all.send(second(0), OWN, PEER.1, vec![1]);
        assert_eq!(asked.len(), 1);
        assert_eq!(ethernet::Frame::parse(&asked[0]).unwrap().destination(), Mac::BROADCAST);
        assert!(all.send(second(0), OWN, PEER.1, vec![2]).is_empty());
        let sent = all.heard(second(0), PEER.1, PEER.0);
        let payloads: Vec<&[u8]> = sent.iter().map(|frame| &frame[ethernet::Header::LENGTH..]).collect();
        assert_eq!(payloads, [&[1][..], &[2]]);
        assert_eq!(all.send(second(29), OWN, PEER.1, vec![3]).len(), 1);
        // The packet, and a question to who has it.
        let again = all.send(second(30), OWN, PEER.1, vec![4]);
        let to: Vec<Mac> =
            again.iter().map(|frame| ethernet::Frame::parse(frame).unwrap().destination()).collect();
        assert_eq!(to, [PEER.0; 2]);
    }

    #[test]
    fn who_does_not_answer_is_asked_for_three_times() {
        let mut all = Neighbours::default();
        all.send(second(0), OWN, PEER.1, vec![1]);
        let mut questions = 1;
        while let Some(at) = all.poll_timeout() {
            questions += all.handle_timeout(at).len();
        }
        assert_eq!(questions, 3);
        assert!(all.heard(second(9), PEER.1, PEER.0).is_empty(), "what waited is lost");
    }

    #[test]
    fn questions_of_both_families_are_answered_by_whom_they_are_about() {
        let six = |last| IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last));
        for [own, peer] in [[OWN, PEER], [(OWN.0, six(1)), (PEER.0, six(2))]] {
            for frame in [question(own, peer.1, None), answer(peer, own)] {
                let frame = ethernet::Frame::parse(&frame).unwrap();
                let about = match peer.1 {
                    IpAddr::V4(_) => {
                        let packet = arp::Packet::parse(frame.payload()).unwrap();
                        let (target, sender) = (packet.target().1, packet.sender().1);
                        if packet.operation() == arp::REQUEST { target.into() } else { IpAddr::V4(sender) }
                    }
                    IpAddr::V6(_) => {
                        let packet = ipv6::Packet::parse(frame.payload()).unwrap();
                        let (source, destination) = (packet.source(), packet.destination());
                        let says = Message::of(packet.payload(), source, destination, packet.hop_limit());
                        says.unwrap().target().into()
                    }
                };
                assert_eq!(about, peer.1);
            }
        }
    }
}
