//! OSPF's packets: what is written is read, and no bytes are more than refused.

use plait_model_wire::ospf::*;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::net::Ipv4Addr;

fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from)
}

fn link() -> impl Strategy<Value = RouterLink> {
    (0..4, address(), address(), any::<u16>()).prop_map(|(kind, id, data, metric)| match kind {
        0 => RouterLink::PointToPoint { neighbor: id, own: data, metric },
        1 => RouterLink::Transit { designated: id, own: data, metric },
        2 => RouterLink::Stub { network: id, mask: data, metric },
        _ => RouterLink::Virtual { neighbor: id, own: data, metric },
    })
}

fn contents() -> impl Strategy<Value = (u8, Contents)> {
    prop_oneof![
        (any::<u8>(), prop::collection::vec(link(), 0..20))
            .prop_map(|(bits, links)| (lsa_kind::ROUTER, Contents::Router(RouterLinks { bits, links }))),
        (address(), prop::collection::vec(address(), 0..20)).prop_map(|(mask, routers)| (
            lsa_kind::NETWORK,
            Contents::Network(NetworkMembers { mask, routers })
        )),
        (3..12u8, prop::collection::vec(any::<u8>(), 0..80))
            .prop_map(|(kind, bytes)| (kind, Contents::Other(bytes))),
    ]
}

fn lsa() -> impl Strategy<Value = Lsa> {
    (any::<u16>(), any::<u8>(), address(), address(), any::<i32>(), contents()).prop_map(
        |(age, options, id, router, sequence, (kind, contents))| {
            Lsa::new(age, options, LsaKey { kind, id, router }, sequence, &contents)
        },
    )
}

fn packet() -> impl Strategy<Value = Packet> {
    let authentication = prop_oneof![
        Just(Authentication::None),
        any::<[u8; 8]>().prop_map(Authentication::Password),
        (any::<u8>(), any::<u32>(), prop::collection::vec(any::<u8>(), 0..65))
            .prop_map(|(key, sequence, digest)| Authentication::Digest { key, sequence, digest }),
    ];
    let hello = (
        address(),
        any::<u16>(),
        any::<(u8, u8)>(),
        any::<u32>(),
        address(),
        address(),
        prop::collection::vec(address(), 0..9),
    )
        .prop_map(
            |(mask, interval, (options, priority), dead_interval, designated, backup, neighbors)| {
                Body::Hello(Hello {
                    mask,
                    interval,
                    options,
                    priority,
                    dead_interval,
                    designated,
                    backup,
                    neighbors,
                })
            },
        );
    let headers = || prop::collection::vec(lsa().prop_map(|lsa| lsa.header), 0..9);
    let description = (any::<u16>(), any::<(u8, u8)>(), any::<u32>(), headers()).prop_map(
        |(mtu, (options, flags), sequence, headers)| {
            Body::Description(Description { mtu, options, flags, sequence, headers })
        },
    );
    let request = (any::<u8>(), address(), address())
        .prop_map(|(kind, id, router)| Request(LsaKey { kind, id, router }));
    let body = prop_oneof![
        hello,
        description,
        prop::collection::vec(request, 0..9).prop_map(Body::Request),
        prop::collection::vec(lsa(), 0..5).prop_map(Body::Update),
        headers().prop_map(Body::Acknowledgment),
    ];
    (address(), address(), authentication, body).prop_map(|(router, area, authentication, body)| Packet {
        router,
        area,
        authentication,
        body,
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(packet in packet(), padding in prop::collection::vec(any::<u8>(), 0..9)) {
        let mut bytes = packet.emit();
        let length = bytes.len();
        bytes.extend(padding);
        prop_assert_eq!(Packet::parse(&bytes), Ok(packet));
        for cut in 0..length {
            prop_assert!(Packet::parse(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn an_advertisement_says_what_was_said_and_every_wrong_bit_shows(
        (kind, contents) in contents(), (id, router) in (address(), address()), sequence: i32, bit in any::<prop::sample::Index>(),
    ) {
        let lsa = Lsa::new(7, 2, LsaKey { kind, id, router }, sequence, &contents);
        prop_assert!(lsa.is_intact());
        prop_assert_eq!(lsa.contents(), Ok(contents));
        let mut bytes = Vec::new();
        lsa.emit(&mut bytes);
        prop_assert_eq!(&Lsa::parse(&bytes), &Ok(lsa));
        // The age may change; a length that does is not that of the bytes.
        let bit = 16 + bit.index(bytes.len() * 8 - 16);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Lsa::parse(&bytes).map_or(true, |lsa| !lsa.is_intact()), "bit {}", bit);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(kind in 0u8..7, kind_of_authentication in 0u8..4, body in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = vec![2, kind, 0, 0];
        bytes.resize(24, 0);
        bytes[15] = kind_of_authentication;
        bytes.extend(&body);
        let length = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        let sum = plait_model_wire::checksum::Sum::new().add(&bytes[..16]).add(&bytes[24..]).checksum();
        bytes[12..14].copy_from_slice(&sum.to_be_bytes());
        if let Ok(Packet { body: Body::Update(lsas), .. }) = Packet::parse(&bytes) {
            lsas.iter().for_each(|lsa| drop((lsa.is_intact(), lsa.contents())));
        }
        if let Ok(lsa) = Lsa::parse(&body) {
            let _ = lsa.contents();
        }
    }

    #[test]
    fn no_bytes_changed_in_a_packet_make_the_reader_panic(
        packet in packet(), at in any::<prop::sample::Index>(), to: u8, kind: u8,
    ) {
        let mut bytes = packet.emit();
        let at = at.index(bytes.len());
        bytes[at] = to;
        // A digest's packet has no checksum that would refuse it at once.
        bytes[15] = 2;
        if let Ok(Packet { body: Body::Update(lsas), .. }) = Packet::parse(&bytes) {
            for mut lsa in lsas {
                let _ = lsa.contents();
                lsa.header.key.kind = kind % 3;
                let _ = lsa.contents();
            }
        }
    }

    #[test]
    fn of_two_instances_one_is_newer_or_they_are_the_same(a in lsa(), mut b in lsa(), same: bool) {
        if same {
            b.header.sequence = a.header.sequence;
            b.header.checksum = a.header.checksum;
        }
        prop_assert_eq!(a.header.newer(&b.header), b.header.newer(&a.header).reverse());
        prop_assert_eq!(a.header.newer(&a.header), Ordering::Equal);
        b.header = LsaHeader { age: MAX_AGE, ..a.header };
        let expected = if a.header.seconds() == MAX_AGE { Ordering::Equal } else { Ordering::Greater };
        prop_assert_eq!(b.header.newer(&a.header), expected, "one that is flushed ends the other");
    }
}
