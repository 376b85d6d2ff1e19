//! Packet-ins that come before a switch is known, as a session's bytes show them.

use plait_control_openflow::{Candidacy, News, Role, Session, Version};
use plait_model_wire::openflow::v13::multipart::{Answered, MultipartFlags, MultipartReply};
use plait_model_wire::openflow::{BufferId, v10, v13};
use std::time::Duration;

const NOW: Duration = Duration::ZERO;

fn hello(version: Version) -> Vec<u8> {
    match version {
        Version::V10 => v10::Message { xid: 1, body: v10::Body::Hello(Default::default()) }.emit().unwrap(),
        Version::V13 => v13::Message { xid: 1, body: v13::Body::Hello(Default::default()) }.emit().unwrap(),
    }
}

fn features(version: Version, auxiliary: u8) -> Vec<u8> {
    match version {
        Version::V10 => {
            let features = v10::Features {
                datapath: 7,
                buffers: 0,
                tables: 1,
                capabilities: v10::switch::Capabilities(0),
                actions: v10::switch::ActionTypes::OUTPUT,
                ports: Vec::new(),
            };
            v10::Message { xid: 2, body: v10::Body::Features(features) }.emit().unwrap()
        }
        Version::V13 => {
            let features = v13::Features {
                datapath: 7,
                buffers: 0,
                tables: 1,
                auxiliary,
                capabilities: v13::switch::Capabilities(0),
                reserved: 0,
            };
            v13::Message { xid: 2, body: v13::Body::Features(features) }.emit().unwrap()
        }
    }
}

/// What makes a switch of 1.3 known; one of 1.0 is by its features.
fn ports(version: Version) -> Vec<u8> {
    if version == Version::V10 {
        return Vec::new();
    }
    let body = Answered::PortDescriptions(Vec::new());
    let reply = MultipartReply { flags: MultipartFlags(0), body };
    v13::Message { xid: 3, body: v13::Body::MultipartReply(reply) }.emit().unwrap()
}

fn packet(version: Version, number: u8, length: usize) -> Vec<u8> {
    let (buffer, total_length, data) = (BufferId::NO_BUFFER, length as u16, vec![number; length]);
    match version {
        Version::V10 => {
            let (in_port, reason) = (v10::PortNumber(1), v10::packet_in::PacketInReason::NO_MATCH);
            let packet = v10::PacketIn { buffer, total_length, in_port, reason, data };
            v10::Message { xid: 4, body: v10::Body::PacketIn(packet) }.emit().unwrap()
        }
        Version::V13 => {
            let packet = v13::PacketIn {
                buffer,
                total_length,
                reason: v13::packet_in::PacketInReason::NO_MATCH,
                table: v13::TableId(0),
                cookie: 0,
                flow_match: v13::Match::ANY,
                data,
            };
            v13::Message { xid: 4, body: v13::Body::PacketIn(packet) }.emit().unwrap()
        }
    }
}

fn session(role: Role) -> Session {
    let candidacy = Candidacy { role, ..Candidacy::default() };
    Session::new(Default::default(), "test".to_owned(), NOW, candidacy)
}

/// The switch says this in one read: packets that are given at once, and news.
fn says(session: &mut Session, bytes: &[u8]) -> (Vec<u8>, Vec<News>) {
    let mut given = Vec::new();
    session.handle_bytes(NOW, bytes, |read| {
        let read = read.unwrap();
        assert_eq!(read.switch, 7);
        given.push(read.frame[0]);
    });
    (given, std::iter::from_fn(|| session.poll_news()).collect())
}

/// Packets that were kept, and how many were not.
fn kept(session: &mut Session) -> (Vec<u8>, u64) {
    let mut kept = Vec::new();
    let lost = session.take_packets(|packet| {
        assert_eq!(packet.switch, 7);
        kept.push(packet.frame[0]);
    });
    (kept, lost)
}

#[test]
fn packets_wait_in_their_order_until_their_switch_is_known_and_are_given_once() {
    for version in Version::ALL {
        // However reads cut what it says.
        let parts = [
            hello(version),
            packet(version, 1, 60),
            features(version, 0),
            packet(version, 2, 60),
            ports(version),
            packet(version, 3, 60),
        ];
        let whole = parts.concat();
        for step in [1, 7, 64, whole.len()] {
            let mut session = session(Role::Equal);
            let (mut given, mut is_known) = (Vec::new(), false);
            for piece in whole.chunks(step) {
                let (at_once, news) = says(&mut session, piece);
                assert!(is_known || at_once.is_empty(), "nobody has heard of the switch");
                given.extend(at_once);
                if news.iter().any(|news| matches!(news, News::Connected(_))) {
                    is_known = true;
                    let (kept, lost) = kept(&mut session);
                    assert_eq!(lost, 0);
                    given.extend(kept);
                }
            }
            assert_eq!(given, [1, 2, 3], "{version:?} in pieces of {step}");
            assert_eq!(kept(&mut session), (Vec::new(), 0));
            assert_eq!(says(&mut session, &packet(version, 4, 60)).0, [4]);
        }
    }
}

#[test]
fn a_slave_and_an_auxiliary_connection_have_no_packets_from_before_either() {
    for version in Version::ALL {
        let mut slave = session(Role::Slave);
        let whole = [hello(version), features(version, 0), packet(version, 1, 60), ports(version)].concat();
        let (given, news) = says(&mut slave, &whole);
        assert!(given.is_empty() && matches!(news[..], [News::Connected(_)]), "{news:?}");
        assert_eq!(kept(&mut slave), (Vec::new(), 0));
    }
    let mut auxiliary = session(Role::Equal);
    let early = packet(Version::V13, 1, 60);
    let whole =
        [&hello(Version::V13), &early, &features(Version::V13, 5), &early].map(|part| &part[..]).concat();
    assert!(says(&mut auxiliary, &whole).0.is_empty());
    assert_eq!(kept(&mut auxiliary), (Vec::new(), 0));
}

#[test]
fn a_switch_that_is_never_known_has_no_more_kept_than_may_be() {
    let version = Version::V13;
    let mut hostile = session(Role::Equal);
    says(&mut hostile, &[hello(version), features(version, 0)].concat());
    let read: Vec<u8> = (0..10).flat_map(|_| packet(version, 1, 1000)).collect();
    for _ in 0..100 {
        assert!(says(&mut hostile, &read).0.is_empty());
    }
    // Two reads have more than 16 KiB, and then no more is kept.
    says(&mut hostile, &ports(version));
    let (kept, lost) = kept(&mut hostile);
    assert_eq!((kept.len(), lost), (20, 980));
}
