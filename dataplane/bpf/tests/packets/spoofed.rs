//! Who spoofs a field of an encapsulation, from outside and from inside: what the programs make of it, and the walk.

use super::*;

/// What becomes of a packet with a field that is not what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is taken: the field is nothing to go by.
    Taken,
    /// It is dropped for a reason.
    Dropped(Drop),
    /// It is none of the overlay's.
    Next,
}

use Fate::{Dropped, Next, Taken};

/// What is written where, counted from behind the outer IP header, and what a receiver makes of it.
type Field = (&'static str, usize, &'static [u8], Fate);

const MALFORMED: Fate = Dropped(Drop::Malformed);
const VERSION: Fate = Dropped(Drop::Version);
/// Another number than the tenant's in 24 bits, and in the first twenty of a label's word.
const ANOTHER: &[u8] = &[1, 0x23, 0x46];
const ANOTHER_LABEL: &[u8] = &[0x12, 0x34, 0x61];

/// The fields of an encapsulation, around frames or packets.
fn fields(kind: u32, is_frame: bool) -> Vec<Field> {
    // Of who only says that it is a node, as its locator is, nothing is learned; of packets there is nothing to learn.
    let stranger = if is_frame { Dropped(Drop::UnknownSource) } else { Taken };
    let tenant = Dropped(Drop::UnknownTenant);
    let by_udp: &[Field] = &[("the port", 2, &[0, 53], Next), ("the flow's port", 0, &[0xff, 0xff], Taken)];
    let by_gre: &[Field] = &[
        ("a checksum", 0, &[0x80], Next),
        ("a version", 1, &[1], Next),
        ("the type", 2, &[0x99, 0x99], Next),
    ];
    let of_gpe: &[Field] = &[
        ("the version", 8, &[0x1c], VERSION),
        ("no VNI", 8, &[0x04], MALFORMED),
        ("nothing next", 8, &[0x08], MALFORMED),
        ("maintenance", 8, &[0x0d], MALFORMED),
        ("what is next, labels", 11, &[5], MALFORMED),
        ("what is next, nothing that there is", 11, &[0x7f], MALFORMED),
    ];
    match kind {
        encapsulation::OVSTACK => [
            by_udp,
            &[
                ("the version", 8, &[9], VERSION),
                ("the TTL, here", 9, &[0], Taken),
                ("the application", 10, &[9], Dropped(Drop::UnknownLocator)),
                ("flags that say nothing", 11, &[0x7f], Taken),
                ("the message flag", 11, &[0x80], MALFORMED),
                ("the VNI", 12, ANOTHER, tenant),
                ("the byte of nought", 15, &[0xff], Taken),
                ("the hash", 16, &[0xff; 4], Taken),
                ("the destination", 20, &[10, 0, 0, 99], Dropped(Drop::NoRoute)),
                ("the source, a stranger", 24, &[10, 0, 0, 77], stranger),
                ("the source, the receiver", 24, &[10, 0, 0, 1], Dropped(Drop::UnknownSource)),
            ],
        ]
        .concat(),
        encapsulation::VXLAN => [
            by_udp,
            &[
                ("no VNI", 8, &[0xf7], MALFORMED),
                ("flags that say nothing", 8, &[0xff], Taken),
                ("the VNI", 12, ANOTHER, tenant),
                ("the byte of nought", 15, &[0xff], Taken),
            ],
        ]
        .concat(),
        encapsulation::GENEVE => [
            by_udp,
            &[
                ("the version", 8, &[0x42], VERSION),
                ("options longer than the packet", 8, &[0x3f], MALFORMED),
                ("control", 9, &[0x80], MALFORMED),
                ("an option that must be understood", 9, &[0x40], MALFORMED),
                ("flags that say nothing", 9, &[0x3f], Taken),
                ("the type", 10, &[0x99, 0x99], MALFORMED),
                ("the VNI", 12, ANOTHER, tenant),
            ],
        ]
        .concat(),
        encapsulation::NVGRE => {
            [by_gre, &[("the VNI", 4, ANOTHER, tenant), ("the flow", 7, &[0xff], Taken)]].concat()
        }
        encapsulation::GRE => by_gre.to_vec(),
        encapsulation::IPIP => Vec::new(),
        encapsulation::MPLS => [
            by_gre,
            &[
                ("the label", 4, ANOTHER_LABEL, tenant),
                ("the bottom of the stack", 6, &[0x50], MALFORMED),
                ("the class", 6, &[0x5f], Taken),
                ("the label's TTL", 7, &[0], Taken),
            ],
        ]
        .concat(),
        encapsulation::NSH => [
            by_udp,
            of_gpe,
            &[
                ("what is next, no service header", 11, &[3], MALFORMED),
                ("the VNI before the service header", 12, ANOTHER, Taken),
                ("the service header's version", 16, &[0x4f], VERSION),
                ("maintenance of services", 16, &[0x2f], MALFORMED),
                ("a length of less than a header", 17, &[0xc1], MALFORMED),
                ("a length of more than the packet", 17, &[0xff], MALFORMED),
                ("what services carry", 19, &[0x7f], MALFORMED),
                ("the service path", 20, ANOTHER, tenant),
                ("the service index", 23, &[0], Taken),
            ],
        ]
        .concat(),
        encapsulation::GUE => [
            by_udp,
            &[
                ("the variant", 8, &[0x80], VERSION),
                ("control", 8, &[0x20], MALFORMED),
                ("a length of fields", 8, &[0x01], MALFORMED),
                ("the protocol", 9, &[17], MALFORMED),
                ("flags", 10, &[0x80, 0], MALFORMED),
            ],
        ]
        .concat(),
        encapsulation::GPE => [
            by_udp,
            of_gpe,
            &[("the VNI", 12, ANOTHER, tenant), ("what is next, a service header", 11, &[4], tenant)],
        ]
        .concat(),
        other => panic!("{other}"),
    }
}

/// A node and the walk by its tables.
struct Both {
    node: Node,
    walk: plait_dataplane_reference::Walk,
}

impl Both {
    /// What becomes of a packet on both sides, which is one.
    #[track_caller]
    fn fate(&mut self, program: Program, by: u32, packet: &[u8]) -> Fate {
        let drops = || self.node.programs.drops().unwrap();
        let before = drops();
        let ran = self.node.programs.run_from(program, packet, by).unwrap();
        let after = drops();
        let reason = |after: &std::collections::BTreeMap<Drop, u64>, before: &_| {
            let more: Vec<Drop> = Drop::ALL
                .iter()
                .copied()
                .filter(|reason| after.get(reason) != std::collections::BTreeMap::get(before, reason))
                .collect();
            <[Drop; 1]>::try_from(more).map(|[reason]| Dropped(reason)).expect("one reason")
        };
        let fate = match ran.verdict {
            Verdict::Next => Next,
            Verdict::Redirected => Taken,
            Verdict::Dropped => reason(&after, &before),
            other => panic!("{other:?}"),
        };
        let before = self.walk.counts.drops.clone();
        let outcome = match program {
            Program::Guard => self.walk.guard(packet, by == 0),
            _ => self.walk.receive_by(by, packet, 1),
        };
        let walked = match outcome {
            Outcome::Next => Next,
            Outcome::Sent(sent) if !sent.is_empty() => Taken,
            Outcome::Sent(_) => reason(&self.walk.counts.drops, &before),
        };
        assert_eq!(fate, walked, "the program and the walk");
        fate
    }
}

/// The outer source of a packet, written over.
fn from(packet: &[u8], locator: IpAddr) -> Vec<u8> {
    let mut packet = packet.to_vec();
    match locator {
        IpAddr::V4(address) => packet[26..30].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => packet[22..38].copy_from_slice(&address.octets()),
    }
    packet
}

/// The outer destination.
fn to(packet: &[u8], locator: IpAddr) -> Vec<u8> {
    let mut packet = packet.to_vec();
    match locator {
        IpAddr::V4(address) => packet[30..34].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => packet[38..54].copy_from_slice(&address.octets()),
    }
    packet
}

#[test]
fn every_field_of_every_encapsulation_is_judged_from_outside_and_from_inside() {
    for is_ipv6 in [false, true] {
        for driver in [driver::ETHERNET, driver::IP] {
            let programs = [Program::Receive, Program::Guard];
            let Some(node) = Node::with(programs, driver, encapsulation::OVSTACK, is_ipv6) else { return };
            let walk = node.walk();
            let mut both = Both { node, walk };
            for kind in ENCAPSULATIONS {
                let is_frame = driver == driver::ETHERNET;
                let carries = match kind {
                    encapsulation::VXLAN | encapsulation::NVGRE => is_frame,
                    encapsulation::IPIP | encapsulation::GUE => !is_frame,
                    _ => true,
                };
                if !carries {
                    continue;
                }
                both.node.take(kind, is_ipv6);
                both.node.programs.turn().unwrap();
                both.walk = both.node.walk();
                let said = |what: &str| format!("{what} of {kind}, IPv6: {is_ipv6}, frames: {is_frame}");
                let carried = |packet: &[u8], source| match is_frame {
                    true => frame(STATION_A, source, ether_type::IPV4, packet),
                    false => packet.to_vec(),
                };
                let inner = inner_ipv4(64, 0);
                let packet = arriving_in(kind, is_ipv6, &carried(&inner, STATION_C), is_frame, 0);
                let mut received = |what: &str, by: u32, packet: &[u8], fate: Fate| {
                    assert_eq!(both.fate(Program::Receive, by, packet), fate, "{}", said(what));
                };
                let locator = |address| of_family(address, is_ipv6);
                received("nothing", ENTRANCE, &packet, Taken);
                received("the device", INSIDE, &packet, Dropped(Drop::WrongDevice));
                let stranger = from(&packet, locator([203, 0, 113, 9].into()));
                received("the outer source", ENTRANCE, &stranger, Dropped(Drop::UnknownLocator));
                received("both", INSIDE, &stranger, Dropped(Drop::UnknownLocator));
                let elsewhere = to(&packet, locator([203, 0, 113, 9].into()));
                received("the outer destination", ENTRANCE, &elsewhere, Next);
                let behind = behind_ip(is_ipv6);
                // Hops in the underlay: nothing to go by here.
                let mut late = packet.clone();
                late[if is_ipv6 { 21 } else { 22 }] = 1;
                received("the outer TTL", ENTRANCE, &late, Taken);
                let written = |at: usize, bytes: &[u8]| {
                    let mut packet = packet.clone();
                    packet[behind + at..behind + at + bytes.len()].copy_from_slice(bytes);
                    packet
                };
                for (what, at, bytes, fate) in fields(kind, is_frame) {
                    received(what, ENTRANCE, &written(at, bytes), fate);
                }
                // What is for another node, at its last hop.
                let far = inner_ipv4_for([10, 2, 0, 2].into(), 64, 0);
                let far = match is_frame {
                    true => frame(STATION_F, STATION_C, ether_type::IPV4, &far),
                    false => far,
                };
                let mut last = arriving_in(kind, is_ipv6, &far, is_frame, 0);
                match kind {
                    encapsulation::OVSTACK => {
                        last[behind + 9] = 1;
                        last[behind + 20..behind + 24].copy_from_slice(&FAR.0.to_be_bytes());
                    }
                    _ => last[if is_ipv6 { 21 } else { 22 }] = 1,
                }
                received("the TTL, for another", ENTRANCE, &last, Dropped(Drop::Expired));
                if is_frame {
                    for (what, station, fate) in [
                        ("the station, a group", Mac::BROADCAST, MALFORMED),
                        ("the station, one that is elsewhere", STATION_F, Dropped(Drop::UnknownSource)),
                    ] {
                        let spoofed = arriving_in(kind, is_ipv6, &carried(&inner, station), is_frame, 0);
                        received(what, ENTRANCE, &spoofed, fate);
                    }
                }
                // A program of this host says nothing from its own locator, whatever the fields say; what is in no encapsulation is no
                // business of the overlay's.
                let peer = locator(PEER_LOCATOR);
                let own = |packet: &[u8]| to(&from(packet, locator(OWN_LOCATOR)), peer);
                let mut sent = |what: &str, packet: &[u8], fate: Fate| {
                    assert_eq!(both.fate(Program::Guard, 0, packet), fate, "from inside: {}", said(what));
                };
                sent("nothing", &own(&packet), Dropped(Drop::Forged));
                for (what, at, bytes, fate) in fields(kind, is_frame) {
                    let fate = if fate == Next { Next } else { Dropped(Drop::Forged) };
                    sent(what, &own(&written(at, bytes)), fate);
                }
                // From another's, or from none, only what nobody else speaks is known to be forged.
                let fate = if kind == encapsulation::OVSTACK { Dropped(Drop::Forged) } else { Next };
                sent("the outer source", &to(&stranger, peer), fate);
                sent("the outer source, another node", &to(&packet, locator(FAR_LOCATOR)), fate);
            }
        }
    }
}
