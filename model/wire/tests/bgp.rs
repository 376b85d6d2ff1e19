//! BGP's messages as FRR sends them, and as nobody should.

use plait_model_wire::bgp::*;
use plait_model_wire::ethernet::Mac;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

fn address() -> impl Strategy<Value = IpAddr> {
    any::<IpAddr>()
}

fn distinguisher() -> impl Strategy<Value = Distinguisher> {
    any::<[u8; 8]>().prop_map(Distinguisher)
}

fn vni() -> impl Strategy<Value = u32> {
    0u32..1 << 24
}

fn route() -> impl Strategy<Value = Route> {
    let station = (
        distinguisher(),
        any::<[u8; 10]>(),
        any::<u32>(),
        any::<[u8; 6]>(),
        proptest::option::of(address()),
        vni(),
        proptest::option::of(vni()),
    );
    prop_oneof![
        station.prop_map(|(distinguisher, segment, tag, mac, ip, vni, routed_vni)| {
            Route::MacIp(MacIp { distinguisher, segment, tag, mac: Mac(mac), ip, vni, routed_vni })
        }),
        (distinguisher(), any::<u32>(), address()).prop_map(|(distinguisher, tag, originator)| {
            Route::Multicast(Multicast { distinguisher, tag, originator })
        }),
    ]
}

fn community() -> impl Strategy<Value = ExtendedCommunity> {
    prop_oneof![
        (any::<u16>(), any::<u32>())
            .prop_map(|(as_number, number)| ExtendedCommunity::RouteTarget { as_number, number }),
        any::<u16>().prop_map(ExtendedCommunity::Encapsulation),
        (any::<bool>(), any::<u32>())
            .prop_map(|(is_sticky, sequence)| ExtendedCommunity::MacMobility { is_sticky, sequence }),
        any::<[u8; 6]>().prop_map(|[a, b, c, d, e, g]| ExtendedCommunity::Other([9, 9, a, b, c, d, e, g])),
    ]
}

prop_compose! {
    fn attributes()(
        origin in 0u8..3,
        path in proptest::collection::vec(any::<u32>(), 0..5),
        local_preference in any::<Option<u32>>(),
        originator in any::<Option<Ipv4Addr>>(),
        clusters in any::<Vec<Ipv4Addr>>(),
        communities in proptest::collection::vec(community(), 0..40),
        tunnel in proptest::option::of((vni(), address())),
    ) -> Attributes {
        let tunnel = tunnel.map(|(vni, endpoint)| {
            Tunnel { kind: tunnel::INGRESS_REPLICATION, vni, endpoint: Some(endpoint) }
        });
        let as_path = AsPath::of(path);
        Attributes { origin, as_path, local_preference, originator, clusters, communities, tunnel }
    }
}

fn message() -> impl Strategy<Value = Message> {
    let update = (
        proptest::collection::vec(route(), 0..10),
        address(),
        attributes(),
        proptest::collection::vec(route(), 0..10),
    );
    let family = any::<(u16, u8)>().prop_map(|(afi, safi)| Family { afi, safi });
    let capability = prop_oneof![
        family.clone().prop_map(Capability::MultiProtocol),
        Just(Capability::RouteRefresh),
        (any::<bool>(), 0u16..4096, proptest::collection::vec((family.clone(), any::<bool>()), 0..4))
            .prop_map(|(is_restarting, time, families)| Capability::GracefulRestart {
                is_restarting,
                time,
                families
            }),
        (70u8.., proptest::collection::vec(any::<u8>(), 0..80))
            .prop_map(|(code, value)| Capability::Other { code, value }),
    ];
    let open = (1u32.., 3u16.., 1u32.., proptest::collection::vec(capability, 0..8));
    prop_oneof![
        update.prop_map(|(reached, next_hop, attributes, withdrawn)| {
            let is_none = reached.is_empty();
            Message::Update(Update {
                next_hop: (!is_none).then_some(next_hop),
                attributes: if is_none { Attributes::default() } else { attributes },
                reached,
                withdrawn,
                ..Update::default()
            })
        }),
        Just(Message::Update(Update::end())),
        open.prop_map(|(as_number, hold, id, capabilities)| {
            Message::Open(Open { as_number, hold, id: id.into(), capabilities, has_long_as: true })
        }),
        (any::<u8>(), any::<u8>(), proptest::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(code, subcode, data)| Message::Notification(Notification { code, subcode, data })),
        Just(Message::Keepalive),
        family.prop_map(Message::RouteRefresh),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(message in message()) {
        let bytes = message.emit();
        prop_assert_eq!(length(&bytes), Ok(Some(bytes.len())));
        prop_assert_eq!(Message::parse(&bytes), Ok(message));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(kind in 0u8..7, body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = vec![0xff; 16];
        bytes.extend((body.len() as u16 + 19).to_be_bytes());
        bytes.push(kind);
        bytes.extend(body);
        let _ = Message::parse(&bytes);
    }

    #[test]
    fn a_message_with_a_byte_changed_or_an_end_cut_off_is_read_or_refused(
        message in message(), at in any::<prop::sample::Index>(), to in any::<u8>(), end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = message.emit();
        let _ = Message::parse(&bytes[..end.index(bytes.len())]);
        let at = at.index(bytes.len());
        bytes[at] = to;
        let _ = Message::parse(&bytes);
    }
}

/// A route of a station with attributes of its own; each test spoils one.
fn an_update() -> (Update, Vec<u8>) {
    let route = Route::MacIp(MacIp {
        distinguisher: Distinguisher::of(Ipv4Addr::new(192, 0, 2, 1), 7),
        segment: [0; 10],
        tag: 0,
        mac: Mac([2, 0, 0, 0, 0, 1]),
        ip: None,
        vni: 7,
        routed_vni: None,
    });
    let update = Update {
        reached: vec![route],
        next_hop: Some([192, 0, 2, 1].into()),
        attributes: Attributes { local_preference: Some(100), ..Attributes::default() },
        ..Update::default()
    };
    let bytes = Message::Update(update.clone()).emit();
    (update, bytes)
}

fn read(bytes: &[u8]) -> Update {
    match Message::parse(bytes) {
        Ok(Message::Update(update)) => update,
        other => panic!("{other:?}"),
    }
}

#[test]
fn routes_with_a_malformed_attribute_are_withdrawn_and_the_session_goes_on() {
    let (update, bytes) = an_update();
    // ORIGIN, the first attribute behind the routes: its value, its flags, its type.
    let origin = bytes.windows(4).position(|window| window == [0x40, 1, 1, 0]).unwrap();
    for (at, to) in [(origin + 3, 9), (origin, 0xc0), (origin + 1, 0x63)] {
        let mut spoilt = bytes.clone();
        spoilt[at] = to;
        if at == origin + 1 {
            // An attribute that nobody knows, but everybody had to.
            let refused = Message::parse(&spoilt).unwrap_err();
            assert_eq!((refused.notification.code, refused.notification.subcode), (code::UPDATE, 2));
            continue;
        }
        let read = read(&spoilt);
        assert!(read.fault.is_some() && read.reached.is_empty());
        assert_eq!(read.withdrawn, update.reached);
    }
}

#[test]
fn a_route_that_cannot_be_read_ends_the_session() {
    let (_, bytes) = an_update();
    // Bits of a hardware address.
    let at = bytes.windows(7).position(|window| window == [48, 2, 0, 0, 0, 0, 1]).unwrap();
    let mut spoilt = bytes;
    spoilt[at] = 47;
    let refused = Message::parse(&spoilt).unwrap_err();
    assert_eq!((refused.notification.code, refused.notification.subcode), (code::UPDATE, 10));
}

#[test]
fn headers_that_cannot_be_are_refused_with_what_shows_it() {
    let keepalive = Message::Keepalive.emit();
    for (at, to, subcode, data) in [(3, 0, 1, &[][..]), (17, 20, 2, &[0, 20]), (18, 99, 3, &[99])] {
        let mut spoilt = keepalive.clone();
        spoilt[at] = to;
        let refused = length(&spoilt).unwrap_err().notification;
        assert_eq!((refused.code, refused.subcode, &refused.data[..]), (code::HEADER, subcode, data));
    }
    assert_eq!(length(&keepalive[..18]), Ok(None));
}
