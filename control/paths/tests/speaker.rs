//! The OSPF speaker without a network: what is lost is said again, what is older is answered, and nothing that strangers
//! send does harm.

use plait_control_paths::ospf::*;
use plait_model_topology::random::SplitMix64;
use plait_model_wire::ospf::{
    ALL_ROUTERS, Authentication, Body, Contents, Description, Hello, INITIAL_SEQUENCE, Lsa, LsaHeader,
    LsaKey, MAX_AGE, NetworkMembers, Packet, RouterLink, RouterLinks, description_flags as flag,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

const US: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 100);
const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn lsa(number: u32, sequence: i32) -> Lsa {
    let router = Ipv4Addr::from(0x0b00_0000u32.wrapping_add(number));
    let links = RouterLinks { bits: sequence as u8, links: Vec::new() };
    Lsa::new(1, 2, LsaKey { kind: 1, id: router, router }, sequence, &Contents::Router(links))
}

/// A router with a database, as much of RFC 2328 as its side of an adjacency takes; repeats itself every second.
struct Router {
    id: Ipv4Addr,
    lsas: BTreeMap<LsaKey, Lsa>,
    /// Where the exchange is: whether we are the master, the number, and how many headers were told.
    exchange: Option<(bool, u32, usize)>,
    last: Option<Packet>,
    acknowledged: Vec<LsaHeader>,
}

impl Router {
    fn new(id: Ipv4Addr, lsas: impl IntoIterator<Item = Lsa>) -> Self {
        let lsas = lsas.into_iter().map(|lsa| (lsa.header.key, lsa)).collect();
        Self { id, lsas, exchange: None, last: None, acknowledged: Vec::new() }
    }

    fn packet(&self, body: Body) -> Packet {
        Packet { router: self.id, area: Ipv4Addr::UNSPECIFIED, authentication: Authentication::None, body }
    }

    fn hello(&self, hears: bool) -> Packet {
        self.packet(Body::Hello(Hello {
            mask: MASK,
            interval: 10,
            options: 2,
            priority: 1,
            dead_interval: 40,
            designated: Ipv4Addr::UNSPECIFIED,
            backup: Ipv4Addr::UNSPECIFIED,
            neighbors: if hears { vec![US] } else { Vec::new() },
        }))
    }

    /// Three headers at a time.
    fn describe(&mut self, flags: u8, sequence: u32, told: usize) -> Packet {
        let headers: Vec<_> = match flags & flag::INITIAL {
            0 => self.lsas.values().skip(told).take(3).map(|lsa| lsa.header).collect(),
            _ => Vec::new(),
        };
        let more = if flags & flag::INITIAL != 0 || told + 3 < self.lsas.len() { flag::MORE } else { 0 };
        let description = Description { mtu: 1500, options: 2, flags: flags | more, sequence, headers };
        let packet = self.packet(Body::Description(description));
        self.last = Some(packet.clone());
        packet
    }

    fn take(&mut self, packet: &Packet) -> Vec<Packet> {
        match &packet.body {
            Body::Description(theirs) => self.exchange(theirs),
            Body::Request(wanted) => {
                let found: Option<Vec<_>> =
                    wanted.iter().map(|wanted| self.lsas.get(&wanted.0).cloned()).collect();
                vec![self.packet(Body::Update(found.expect("it asks for what was described")))]
            }
            Body::Acknowledgment(headers) => {
                self.acknowledged.extend(headers);
                Vec::new()
            }
            Body::Hello(_) | Body::Update(_) => Vec::new(),
        }
    }

    fn exchange(&mut self, theirs: &Description) -> Vec<Packet> {
        let leads = self.id > US;
        if theirs.flags & flag::INITIAL != 0 {
            // From the start.
            let sequence = if leads { 5_000 } else { theirs.sequence };
            let known = self.exchange.filter(|&(_, known, _)| !leads && known == sequence);
            if let (Some(_), Some(last)) = (known, &self.last) {
                return vec![last.clone()];
            }
            self.exchange = Some((leads, sequence, 0));
            let flags = if leads { flag::INITIAL | flag::MASTER } else { 0 };
            let packet = self.describe(flags, sequence, 0);
            if !leads {
                self.exchange = Some((leads, sequence, 3));
            }
            return vec![packet];
        }
        let Some((leads, sequence, told)) = self.exchange else { return Vec::new() };
        match leads {
            true if theirs.sequence == sequence => {
                if told > 0 && told >= self.lsas.len() {
                    return Vec::new();
                }
                self.exchange = Some((true, sequence + 1, told + 3));
                vec![self.describe(flag::MASTER, sequence + 1, told)]
            }
            false if theirs.sequence == sequence + 1 => {
                self.exchange = Some((false, sequence + 1, told + 3));
                vec![self.describe(0, sequence + 1, told)]
            }
            false if theirs.sequence == sequence => self.last.clone().into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

fn speaker() -> Speaker {
    Speaker::new(Config::new(US, MASK, LinkKind::PointToPoint), Duration::ZERO)
}

const THEM: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Lets both talk for some seconds, a tenth at a time, and loses packets by lot.
fn talk(
    speaker: &mut Speaker,
    router: &mut Router,
    from: u64,
    until: u64,
    loss: usize,
    random: &mut SplitMix64,
) {
    for tenth in from * 10..until * 10 {
        let now = Duration::from_millis(tenth * 100);
        if speaker.poll_timeout() <= now {
            speaker.handle_timeout(now);
        }
        let mut theirs = Vec::new();
        if tenth % 100 == 0 || tenth == from * 10 {
            theirs.push(router.hello(true));
        } else if tenth % 10 == 0 && router.id > US {
            // A master repeats itself.
            theirs.extend(router.last.clone());
        }
        // As long as one answers the other.
        for _ in 0..200 {
            for packet in theirs.drain(..) {
                if random.below(100) >= loss {
                    speaker.handle_packet(THEM, ALL_ROUTERS, &packet.emit(), now);
                }
            }
            while let Some(Transmit { payload, destination }) = speaker.poll_transmit() {
                assert_eq!(destination, ALL_ROUTERS);
                if random.below(100) >= loss {
                    theirs.extend(router.take(&Packet::parse(&payload).unwrap()));
                }
            }
            if theirs.is_empty() {
                break;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_database_comes_whole_however_much_is_lost(
        count in 0..250u32, leads: bool, loss in 0..40usize, seed: u64,
    ) {
        let id = Ipv4Addr::new(if leads { 11 } else { 9 }, 0, 0, 1);
        let mut router = Router::new(id, (0..count).map(|number| lsa(number, INITIAL_SEQUENCE)));
        let mut speaker = speaker();
        let mut random = SplitMix64::new(seed);
        talk(&mut speaker, &mut router, 0, 1, 0, &mut random);
        talk(&mut speaker, &mut router, 1, 38, loss, &mut random);
        talk(&mut speaker, &mut router, 38, 60, 0, &mut random);
        prop_assert!(speaker.is_complete(), "{:?}", speaker.neighbors().collect::<Vec<_>>());
        prop_assert_eq!(speaker.lsdb().len(), count as usize);
        for key in router.lsas.keys() {
            prop_assert!(router.acknowledged.iter().any(|header| header.key == *key));
        }
    }

}

proptest! {
    #[test]
    fn no_bytes_make_a_speaker_panic(
        packets in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..60), any::<u32>(), 0..6u8), 1..40),
    ) {
        let mut speaker = speaker();
        for (raw, bytes, number, kind) in packets {
            let now = Duration::from_millis(number.into());
            if raw {
                speaker.handle_packet(THEM, ALL_ROUTERS, &bytes, now);
                continue;
            }
            // A packet that is one, with anything in it.
            let router = Router::new(Ipv4Addr::from(number % 3 + 0x0aff_0063), [lsa(1, 3)]);
            let header = LsaHeader { sequence: number as i32, ..lsa(number % 4, 2).header };
            let description = |flags| Description { mtu: 9, options: kind, flags, sequence: number % 3, headers: vec![header] };
            let body = match kind {
                0 => Body::Description(description(bytes.len() as u8 % 8)),
                1 => Body::Request(vec![plait_model_wire::ospf::Request(header.key)]),
                2 => Body::Update(vec![Lsa { header, body: bytes }, lsa(number, 7)]),
                3 => Body::Acknowledgment(vec![header]),
                _ => router.hello(kind == 4).body,
            };
            speaker.handle_packet(THEM, ALL_ROUTERS, &router.packet(body).emit(), now);
            speaker.handle_timeout(now);
            while speaker.poll_transmit().is_some() {}
            while speaker.poll_event().is_some() {}
        }
    }

    #[test]
    fn no_bytes_make_a_client_of_the_api_panic(
        stream in prop::collection::vec(any::<u8>(), 0..300), kind in 1..20u8, cut in any::<prop::sample::Index>(),
    ) {
        let mut client = ApiClient::new(Ipv4Addr::UNSPECIFIED);
        let _ = client.handle_notifications(&stream, Duration::ZERO);
        let message = ApiMessage::Other { kind, body: stream };
        let bytes = message.emit(7);
        let _ = ApiMessage::parse(&bytes);
        let (first, second) = bytes.split_at(cut.index(bytes.len()));
        let mut client = ApiClient::new(Ipv4Addr::UNSPECIFIED);
        for part in [first, second] {
            let _ = client.handle_notifications(part, Duration::ZERO);
            let _ = client.handle_replies(part, Duration::ZERO);
        }
    }

    #[test]
    fn messages_of_the_api_say_what_was_said(number: u32, code: i8, area: u32, of in 0..9u32) {
        let area = Ipv4Addr::from(area);
        for message in [
            ApiMessage::RegisterEvent, ApiMessage::SyncLsdb, ApiMessage::Reply(code),
            ApiMessage::Update { area, lsa: lsa(of, 3) }, ApiMessage::Delete { area, lsa: lsa(of, 4) },
            ApiMessage::Other { kind: 17, body: vec![1, 2, 3] },
        ] {
            let bytes = message.emit(number);
            prop_assert_eq!(ApiMessage::parse(&bytes), Ok(Some((message, number, bytes.len()))));
            for cut in 0..bytes.len() {
                prop_assert_eq!(ApiMessage::parse(&bytes[..cut]), Ok(None));
            }
        }
    }
}

/// A speaker that is fully adjacent to a router, which leads, with two advertisements.
fn adjacent() -> (Speaker, Router) {
    let mut router = Router::new([11, 0, 0, 1].into(), [lsa(1, 5), lsa(2, 5)]);
    let mut speaker = speaker();
    talk(&mut speaker, &mut router, 0, 3, 0, &mut SplitMix64::new(1));
    assert!(speaker.is_complete());
    (speaker, router)
}

fn said(speaker: &mut Speaker) -> Vec<Body> {
    std::iter::from_fn(|| speaker.poll_transmit())
        .map(|sent| Packet::parse(&sent.payload).unwrap().body)
        .collect()
}

#[test]
fn what_is_flooded_is_taken_and_acknowledged_and_what_is_older_is_answered_with_the_newer() {
    let (mut speaker, router) = adjacent();
    let mut flood = |lsa: &Lsa| {
        speaker.handle_packet(
            THEM,
            ALL_ROUTERS,
            &router.packet(Body::Update(vec![lsa.clone()])).emit(),
            seconds(3),
        );
        (said(&mut speaker), speaker.lsdb().len())
    };
    let newer = lsa(1, 6);
    assert_eq!(flood(&newer), (vec![Body::Acknowledgment(vec![newer.header])], 2));
    assert_eq!(
        flood(&newer),
        (vec![Body::Acknowledgment(vec![newer.header])], 2),
        "once more, as the first was lost"
    );
    assert_eq!(flood(&lsa(1, 5)), (vec![Body::Update(vec![newer])], 2));
    let mut spoilt = lsa(2, 9);
    spoilt.body[0] ^= 1;
    assert_eq!(flood(&spoilt), (vec![], 2), "a wrong checksum is not acknowledged");
    let mut flushed = lsa(2, 6);
    flushed.header.age = MAX_AGE;
    assert_eq!(flood(&flushed), (vec![Body::Acknowledgment(vec![flushed.header])], 1));
    assert_eq!(flood(&flushed), (vec![Body::Acknowledgment(vec![flushed.header])], 1));
}

#[test]
fn a_neighbour_that_is_silent_is_dead_and_one_that_begins_anew_is_believed_anew() {
    let (mut speaker, _) = adjacent();
    assert_eq!(speaker.poll_timeout(), seconds(10));
    speaker.handle_timeout(seconds(39));
    assert!(speaker.is_complete());
    speaker.handle_timeout(seconds(40));
    assert!(!speaker.is_complete() && speaker.neighbors().next().is_none());
    assert_eq!(speaker.lsdb().len(), 2, "it is the better guess meanwhile");

    // It is back, and its numbers are lower than they were.
    let mut router = Router::new([11, 0, 0, 1].into(), [lsa(1, INITIAL_SEQUENCE)]);
    talk(&mut speaker, &mut router, 41, 44, 0, &mut SplitMix64::new(1));
    assert!(speaker.is_complete());
    assert_eq!(
        speaker.lsdb().get(&lsa(1, 0).header.key, seconds(44)).unwrap().header.sequence,
        INITIAL_SEQUENCE
    );
    assert_eq!(speaker.lsdb().len(), 1);
}

#[test]
fn what_does_not_fit_is_refused_with_its_remedy() {
    let router = Router::new([11, 0, 0, 1].into(), []);
    let hello = |change: &dyn Fn(&mut Packet, &mut Hello)| {
        let mut packet = router.hello(true);
        let Body::Hello(mut hello) = packet.body.clone() else { unreachable!() };
        change(&mut packet, &mut hello);
        packet.body = Body::Hello(hello);
        packet
    };
    let cases = [
        (hello(&|packet, _| packet.area = [0, 0, 0, 1].into()), Refusal::Area([0, 0, 0, 1].into())),
        (hello(&|packet, _| packet.router = US), Refusal::OwnId),
        (
            hello(&|packet, _| packet.authentication = Authentication::Password([1; 8])),
            Refusal::Authentication,
        ),
        (hello(&|_, hello| hello.interval = 9), Refusal::Intervals { hello: 9, dead: 40 }),
        (hello(&|_, hello| hello.dead_interval = 41), Refusal::Intervals { hello: 10, dead: 41 }),
        (hello(&|_, hello| hello.options = 0), Refusal::Stub),
    ];
    for (packet, refusal) in cases {
        let mut speaker = speaker();
        speaker.handle_packet(THEM, ALL_ROUTERS, &packet.emit(), Duration::ZERO);
        assert_eq!(speaker.poll_event(), Some(Event::Refused(THEM, refusal)), "{packet:?}");
        assert_eq!(speaker.neighbors().count(), 0);
    }
}

#[test]
fn a_speaker_that_leaves_hears_nobody_any_more() {
    let (mut speaker, _) = adjacent();
    speaker.leave();
    let [Body::Hello(hello)] = &said(&mut speaker)[..] else { panic!("one Hello") };
    assert_eq!(hello.neighbors, Vec::<Ipv4Addr>::new());
}

#[test]
fn what_nobody_on_the_link_sent_is_refused() {
    let hello = |router: &Router| router.hello(true).emit();
    // By a link with two ends: to this node alone, as routers pass it on, from who is no neighbour; it would take the neighbour's place.
    let (mut speaker, router) = adjacent();
    let far = Ipv4Addr::new(192, 0, 2, 1);
    let stranger = Router::new([12, 0, 0, 1].into(), []);
    while speaker.poll_event().is_some() {}
    speaker.handle_packet(far, US, &hello(&stranger), seconds(3));
    assert_eq!(speaker.poll_event(), Some(Event::Refused(far, Refusal::OffLink)));
    assert!(speaker.is_complete());
    // The neighbour may say something again to this node alone.
    speaker.handle_packet(THEM, US, &router.packet(Body::Update(vec![lsa(1, 6)])).emit(), seconds(3));
    assert_eq!(speaker.lsdb().get(&lsa(1, 0).header.key, seconds(3)).unwrap().header.sequence, 6);

    // By one with many: from an address of another network.
    let mut speaker = Speaker::new(Config::new(US, MASK, LinkKind::Broadcast), Duration::ZERO);
    for (source, destination, taken) in
        [(far, US, false), (far, ALL_ROUTERS, false), ([10, 255, 0, 7].into(), ALL_ROUTERS, true)]
    {
        speaker.handle_packet(source, destination, &hello(&stranger), Duration::ZERO);
        assert_eq!(speaker.neighbors().count(), usize::from(taken), "{source} to {destination}");
    }
}

/// An advertisement of some kind that nobody reads, of so many bytes.
fn long(number: u32, bytes: usize) -> Lsa {
    let id = Ipv4Addr::from(0x0100_0000 + number);
    let key = LsaKey { kind: 10, id, router: [11, 0, 0, 1].into() };
    Lsa::new(1, 2, key, 1, &Contents::Other(vec![7; bytes]))
}

#[test]
fn a_neighbour_that_asks_for_much_at_once_gets_a_part_and_takes_no_memory() {
    let (mut speaker, router) = adjacent();
    for number in 0..60 {
        let update = router.packet(Body::Update(vec![long(number, 60_000)]));
        speaker.handle_packet(THEM, ALL_ROUTERS, &update.emit(), seconds(3));
    }
    let _ = said(&mut speaker);
    let request = |key| plait_model_wire::ospf::Request(key);
    let one = request(long(0, 60_000).header.key);
    let sent = |speaker: &mut Speaker, asked: &[Vec<plait_model_wire::ospf::Request>]| {
        for asked in asked {
            let packet = router.packet(Body::Request(asked.clone()));
            speaker.handle_packet(THEM, ALL_ROUTERS, &packet.emit(), seconds(3));
        }
        said(speaker).len()
    };
    assert_eq!(sent(&mut speaker, &[vec![one; 5000]]), 1, "what is asked for twice is given once");
    let all: Vec<_> = (0..60).map(|number| request(long(number, 60_000).header.key)).collect();
    let once = sent(&mut speaker, std::slice::from_ref(&all));
    assert!((10..30).contains(&once), "{once} of a megabyte");
    assert_eq!(sent(&mut speaker, &vec![all.clone(); 100]), once, "nothing is left to wait for room");
    assert_eq!(sent(&mut speaker, &[all]), once, "and what was sent has left room");
    assert!(speaker.is_complete());
}

#[test]
fn advertisements_beyond_what_is_kept_are_left_out_and_what_is_there_changes_all_the_same() {
    let mut lsdb = Lsdb::default();
    let count = (0..2000)
        .take_while(|number| lsdb.offer(long(*number, 65_000), Duration::ZERO) == Offer::Taken)
        .count();
    assert!((1000..1100).contains(&count), "{count} of 65 kB fit into 64 MiB");
    assert_eq!(lsdb.offer(long(5000, 65_000), Duration::ZERO), Offer::NoRoom);
    let mut newer = long(3, 65_000);
    newer = Lsa::new(1, 2, newer.header.key, 2, &Contents::Other(std::mem::take(&mut newer.body)));
    assert_eq!(lsdb.offer(newer, Duration::ZERO), Offer::Taken, "one that is there may be renewed");
    lsdb.remove(&long(4, 0).header.key);
    assert_eq!(lsdb.offer(long(5000, 64_000), Duration::ZERO), Offer::Taken);
    lsdb.clear();
    assert_eq!(lsdb.offer(long(0, 65_000), Duration::ZERO), Offer::Taken);
}

#[test]
fn networks_that_all_routers_are_in_tell_of_no_more_links_than_are_looked_at() {
    let address = |first: u8, number: u32| Ipv4Addr::from(u32::from(first) << 24 | number);
    let (routers, networks) = (220, 220);
    let mut lsdb = Lsdb::default();
    for router in 0..routers {
        let id = address(10, router);
        let transit = |network| RouterLink::Transit { designated: address(20, network), own: id, metric: 1 };
        let stub = RouterLink::Stub { network: id, mask: [255; 4].into(), metric: 0 };
        let links = (0..networks).map(transit).chain([stub]).collect();
        let key = LsaKey { kind: 1, id, router: id };
        lsdb.offer(Lsa::new(1, 2, key, 1, &Contents::Router(RouterLinks { bits: 0, links })), Duration::ZERO);
    }
    for network in 0..networks {
        let key = LsaKey { kind: 2, id: address(20, network), router: address(10, 0) };
        let members =
            NetworkMembers { mask: MASK, routers: (0..routers).map(|of| address(10, of)).collect() };
        lsdb.offer(Lsa::new(1, 2, key, 1, &Contents::Network(members)), Duration::ZERO);
    }
    // They would be ten million, of which each leads from one of 220 to another.
    let fabric = lsdb.fabric();
    assert_eq!(fabric.switches().len(), routers as usize);
    assert!(fabric.switches().iter().all(|switch| switch.relay.is_some()), "the last one's are told, too");
    assert!(fabric.links().len() < (routers * routers) as usize);
}

#[test]
fn all_is_told_by_the_api_when_nothing_comes_any_more_and_not_with_the_answer() {
    let mut client = ApiClient::new(Ipv4Addr::UNSPECIFIED);
    let milliseconds = Duration::from_millis;
    let update = |number| ApiMessage::Update { area: Ipv4Addr::UNSPECIFIED, lsa: lsa(number, 1) }.emit(0);
    client.handle_connected();
    assert_eq!(std::iter::from_fn(|| client.poll_transmit()).count(), 2);
    let answer = [ApiMessage::Reply(0).emit(1), ApiMessage::Reply(0).emit(2)].concat();
    // The answer is there before most of what it is the answer to.
    client.handle_notifications(&update(1), milliseconds(1)).unwrap();
    client.handle_replies(&answer, milliseconds(1)).unwrap();
    for (number, now) in [(2, 100), (3, 250), (4, 400)] {
        client.handle_timeout(milliseconds(now));
        assert!(!client.is_complete(), "{now}");
        client.handle_notifications(&update(number), milliseconds(now)).unwrap();
    }
    assert_eq!(client.poll_timeout(), Some(milliseconds(400) + ApiClient::QUIET));
    client.handle_timeout(milliseconds(600));
    assert!(client.is_complete() && client.poll_timeout().is_none());
    assert_eq!(client.lsdb().len(), 4);
    // What changes later is told at once.
    client.handle_notifications(&update(5), milliseconds(700)).unwrap();
    assert!(client.is_complete() && client.lsdb().len() == 5);
    client.handle_connected();
    assert!(!client.is_complete() && client.poll_timeout().is_none());
}
