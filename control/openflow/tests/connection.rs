//! What a switch's connection does, as bytes and time show it.

use plait_control_openflow::connection::{Config, Reason};
use plait_control_openflow::{Connection, Event, NotSent, Version};
use plait_model_wire::openflow::v13::role::ControllerRole;
use plait_model_wire::openflow::{BufferId, Frame, Hello, Message, chop, v10, v13};
use proptest::prelude::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const DATAPATH: u64 = 0x1234_0000_0000_0001;

fn emit(version: Version, xid: u32, ten: v10::Body, thirteen: v13::Body) -> Vec<u8> {
    match version {
        Version::V10 => v10::Message { xid, body: ten }.emit().unwrap(),
        Version::V13 => v13::Message { xid, body: thirteen }.emit().unwrap(),
    }
}

fn hello(version: Version) -> Vec<u8> {
    let listed = Hello::speaking(&[1, 4]);
    emit(version, 7, v10::Body::Hello(Hello::default()), v13::Body::Hello(listed))
}

fn features(version: Version, auxiliary: u8) -> Vec<u8> {
    let ten = v10::Features {
        datapath: DATAPATH,
        buffers: 0,
        tables: 1,
        capabilities: v10::switch::Capabilities(0),
        actions: v10::switch::ActionTypes(1),
        ports: Vec::new(),
    };
    let thirteen = v13::Features {
        datapath: DATAPATH,
        buffers: 0,
        tables: 1,
        auxiliary,
        capabilities: v13::switch::Capabilities(0),
        reserved: 0,
    };
    emit(version, 2, v10::Body::Features(ten), v13::Body::Features(thirteen))
}

fn packet_in(version: Version, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let total_length = data.len() as u16;
    match version {
        Version::V10 => v10::packet_in::Parts {
            buffer: BufferId::NO_BUFFER,
            total_length,
            in_port: v10::PortNumber(3),
            reason: v10::packet_in::PacketInReason::NO_MATCH,
            data,
        }
        .emit_into(0, &mut bytes)
        .unwrap(),
        Version::V13 => {
            let body = v13::Body::PacketIn(v13::PacketIn {
                buffer: BufferId::NO_BUFFER,
                total_length,
                reason: v13::packet_in::PacketInReason::NO_MATCH,
                table: v13::TableId(0),
                cookie: 0,
                flow_match: v13::Match::Oxm(vec![v13::Oxm::InPort(v13::PortNumber(3).into())]),
                data: data.to_vec(),
            });
            bytes = v13::Message { xid: 0, body }.emit().unwrap();
        }
    }
    bytes
}

fn echo(version: Version, xid: u32, data: &[u8]) -> Vec<u8> {
    emit(version, xid, v10::Body::EchoRequest(data.to_vec()), v13::Body::EchoRequest(data.to_vec()))
}

fn barrier_reply(version: Version, xid: u32) -> Vec<u8> {
    emit(version, xid, v10::Body::BarrierReply, v13::Body::BarrierReply)
}

fn events(connection: &mut Connection) -> Vec<Event> {
    std::iter::from_fn(|| connection.poll_event()).collect()
}

fn output(connection: &mut Connection) -> Vec<Message> {
    let bytes = connection.poll_transmit().unwrap_or_default().to_vec();
    connection.transmitted(bytes.len());
    let (mut rest, mut messages) = (&bytes[..], Vec::new());
    while let Some((frame, after)) = chop(rest).unwrap() {
        messages.push(Message::of(&frame).unwrap());
        rest = after;
    }
    assert!(rest.is_empty());
    messages
}

fn ready(version: Version, config: Config) -> Connection {
    let mut connection = Connection::new(config, Duration::ZERO);
    let bytes = [hello(version), features(version, 0)].concat();
    connection.handle_bytes(Duration::ZERO, &bytes, |_| panic!("no packet came"));
    assert!(matches!(&events(&mut connection)[..], [Event::Ready(switch)] if switch.version == version));
    output(&mut connection);
    connection
}

#[test]
fn a_switch_is_known_and_heard_wherever_its_bytes_are_cut() {
    for version in Version::ALL {
        let data: Vec<u8> = (0..100).collect();
        let stream = [
            hello(version),
            features(version, 0),
            packet_in(version, &data),
            echo(version, 99, b"are you there?"),
            packet_in(version, &data[..50]),
        ]
        .concat();
        for cut in 0..stream.len() {
            for step in [1, cut.max(1)] {
                let mut connection = Connection::new(Config::default(), Duration::ZERO);
                let mut seen = Vec::new();
                for piece in stream.chunks(step) {
                    connection.handle_bytes(Duration::ZERO, piece, |hot| {
                        assert_eq!(Frame::parse(hot.bytes).unwrap().body(), hot.frame.body());
                        if let Some(place) = hot.place {
                            assert_eq!(piece[place..].as_ptr(), hot.bytes.as_ptr(), "it lies where it came");
                        }
                        let data = match version {
                            Version::V10 => v10::packet_in::View::of(&hot.frame).unwrap().data().to_vec(),
                            Version::V13 => v13::packet_in::View::of(&hot.frame).unwrap().data().to_vec(),
                        };
                        seen.push((data, hot.place.is_some()));
                    });
                }
                let [Event::Ready(switch)] = &events(&mut connection)[..] else { panic!("one event") };
                assert_eq!((switch.version, switch.datapath, switch.auxiliary), (version, DATAPATH, 0));
                assert_eq!(
                    seen.iter().map(|(data, _)| &data[..]).collect::<Vec<_>>(),
                    [&data[..], &data[..50]]
                );
                assert_eq!(
                    seen[0].1,
                    step > 1 && {
                        let start = stream.len()
                            - packet_in(version, &data[..50]).len()
                            - echo(version, 99, b"are you there?").len()
                            - packet_in(version, &data).len();
                        start / step == (start + packet_in(version, &data).len() - 1) / step
                    }
                );
                let said = output(&mut connection);
                assert_eq!(said.len(), 3, "hello, features request, echo reply");
                let reply = emit(
                    version,
                    99,
                    v10::Body::EchoReply(b"are you there?".to_vec()),
                    v13::Body::EchoReply(b"are you there?".to_vec()),
                );
                assert_eq!(said[2].emit().unwrap(), reply);
            }
        }
    }
}

#[test]
fn the_highest_shared_version_is_spoken_with_lists_and_without() {
    let shared = |versions: &[Version], hello: Vec<u8>| {
        let config = Config { versions: versions.to_vec(), ..Config::default() };
        let mut connection = Connection::new(config, Duration::ZERO);
        connection.handle_bytes(Duration::ZERO, &hello, |_| {});
        let said = output(&mut connection).split_off(1);
        match (&events(&mut connection)[..], &said[..]) {
            ([], [Message::V10(v10::Message { body: v10::Body::FeaturesRequest, .. })]) => Ok(Version::V10),
            ([], [Message::V13(v13::Message { body: v13::Body::FeaturesRequest, .. })]) => Ok(Version::V13),
            ([Event::Closed(reason)], [error]) => Err(Box::new((reason.clone(), error.clone()))),
            other => panic!("{other:?}"),
        }
    };
    let bare = |version: u8| vec![version, 0, 0, 8, 0, 0, 0, 7];
    assert_eq!(shared(&Version::ALL, hello(Version::V13)), Ok(Version::V13));
    assert_eq!(shared(&Version::ALL, hello(Version::V10)), Ok(Version::V10));
    assert_eq!(shared(&Version::ALL, bare(5)), Ok(Version::V13), "1.4 falls back");
    assert_eq!(shared(&[Version::V10], hello(Version::V13)), Ok(Version::V10));
    let newer = v13::Message { xid: 1, body: v13::Body::Hello(Hello::speaking(&[1, 5])) }.emit().unwrap();
    assert_eq!(shared(&Version::ALL, newer), Ok(Version::V10), "of those listed, the highest that is shared");

    let (reason, error) = *shared(&Version::ALL, bare(3)).unwrap_err();
    assert_eq!(reason, Reason::Incompatible(3));
    let Message::V10(v10::Message { xid: 7, body: v10::Body::Error(error) }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.reason, v10::Reason::HELLO_INCOMPATIBLE);
    let (_, error) = *shared(&[Version::V13], bare(1)).unwrap_err();
    let Message::V13(v13::Message { body: v13::Body::Error(error), .. }) = error else { panic!("{error:?}") };
    assert_eq!(error.reason, v13::Reason::HELLO_INCOMPATIBLE);
}

#[test]
fn a_silent_switch_is_asked_and_then_closed() {
    for version in Version::ALL {
        let config = Config::default();
        let mut connection = ready(version, config.clone());
        let asked = connection.poll_timeout().unwrap();
        assert_eq!(asked, config.quiet);
        connection.handle_timeout(asked);
        let request = output(&mut connection).remove(0).emit().unwrap();
        assert_eq!(Frame::parse(&request).unwrap().kind(), 2, "an echo request");

        // It answers, and is left in peace for as long again.
        let mut reply = request.clone();
        reply[1] = 3;
        connection.handle_bytes(asked + SECOND, &reply, |_| {});
        assert_eq!(connection.poll_timeout(), Some(asked + SECOND + config.quiet));

        // It does not: bytes that make no message do not count.
        let again = asked + SECOND + config.quiet;
        connection.handle_timeout(again);
        connection.handle_bytes(again + SECOND, &reply[..7], |_| {});
        assert_eq!(connection.poll_timeout(), Some(again + config.patience));
        connection.handle_timeout(again + config.patience);
        assert_eq!(events(&mut connection), [Event::Closed(Reason::Silent)]);
        assert_eq!(connection.poll_timeout(), None);
    }
}

#[test]
fn a_hello_answers_the_switchs_or_comes_a_moment_later() {
    let is_hello = |said: &[Message]| matches!(said, [Message::V13(message)] if matches!(message.body, v13::Body::Hello(_)));
    let config = Config::default();
    let mut asked = Connection::new(config.clone(), SECOND);
    assert_eq!((output(&mut asked), asked.poll_timeout()), (Vec::new(), Some(SECOND + config.courtesy)));
    asked.handle_bytes(SECOND, &hello(Version::V13)[..1], |_| {});
    assert!(is_hello(&output(&mut asked)), "one byte is a word");
    asked.handle_timeout(SECOND + config.courtesy);
    assert_eq!(output(&mut asked), [], "it is said once");

    let mut silent = Connection::new(config.clone(), SECOND);
    silent.handle_timeout(SECOND + config.courtesy);
    assert!(is_hello(&output(&mut silent)));
    assert_eq!(silent.poll_timeout(), Some(SECOND + config.handshake));

    let mut ready = ready(Version::V13, config);
    assert_eq!(output(&mut ready), []);
}

#[test]
fn a_switch_that_does_not_introduce_itself_is_closed() {
    let config = Config::default();
    for said in [Vec::new(), hello(Version::V13), [hello(Version::V10), echo(Version::V10, 1, b"")].concat()]
    {
        let mut connection = Connection::new(config.clone(), SECOND);
        connection.handle_timeout(SECOND + config.courtesy);
        connection.handle_bytes(SECOND * 9, &said, |_| {});
        assert_eq!(connection.poll_timeout(), Some(SECOND + config.handshake), "talking does not help");
        connection.handle_timeout(SECOND + config.handshake);
        assert_eq!(events(&mut connection), [Event::Closed(Reason::Slow)]);
    }
    let mut connection = Connection::new(config, Duration::ZERO);
    connection.handle_bytes(Duration::ZERO, &echo(Version::V13, 1, b""), |_| {});
    assert_eq!(events(&mut connection), [Event::Closed(Reason::NoHello(2))]);
}

#[test]
fn an_auxiliary_connection_is_kept_alive_and_left_alone() {
    let mut connection = Connection::new(Config::default(), Duration::ZERO);
    let bytes = [hello(Version::V13), features(Version::V13, 5), packet_in(Version::V13, b"packet")].concat();
    connection.handle_bytes(Duration::ZERO, &bytes, |_| panic!("an auxiliary connection's packet"));
    assert!(matches!(&events(&mut connection)[..], [Event::Ready(switch)] if switch.auxiliary == 5));
    output(&mut connection);
    assert_eq!(connection.barrier(), Err(NotSent::Auxiliary));
    connection.handle_bytes(Duration::ZERO, &echo(Version::V13, 1, b"still?"), |_| {});
    assert_eq!(output(&mut connection).len(), 1, "its echo is answered");
    assert_eq!(events(&mut connection), []);
}

#[test]
fn a_barrier_says_which_messages_are_done_and_how_many_were_refused() {
    for version in Version::ALL {
        let mut connection = ready(version, Config::default());
        let send = |connection: &mut Connection| {
            let flow = |xid: u32, bytes: &mut Vec<u8>| match version {
                Version::V10 => v10::FlowMod::add(v10::Match::ANY, 1, Vec::new()).emit_into(xid, bytes),
                Version::V13 => v13::FlowMod::add(Vec::new(), 1, Vec::new()).emit_into(xid, bytes),
            };
            connection.send_with(flow).unwrap()
        };
        let first = [send(&mut connection), send(&mut connection), send(&mut connection)];
        let one = connection.barrier().unwrap();
        let later = send(&mut connection);
        let two = connection.barrier().unwrap();
        // Whoever answers what was not written yet has guessed.
        connection.handle_bytes(SECOND, &barrier_reply(version, two), |_| {});
        assert_eq!(events(&mut connection), []);
        output(&mut connection);
        let refused = emit(
            version,
            first[1],
            v10::Body::Error(v10::Error { reason: v10::Reason::FLOW_MOD_OVERLAP, data: Vec::new() }),
            v13::Body::Error(v13::Error { reason: v13::Reason::FLOW_MOD_OVERLAP, data: Vec::new() }),
        );
        let strange = barrier_reply(version, 0xdead);
        connection.handle_bytes(SECOND, &[refused, strange, barrier_reply(version, one)].concat(), |_| {});
        let [Event::Refused { xid, error }, Event::Barrier { xid: done, bundle }] =
            &events(&mut connection)[..]
        else {
            panic!("an error and a barrier")
        };
        assert_eq!((*xid, error.to_string()), (first[1], "OFPFMFC_OVERLAP".into()));
        assert_eq!((*done, bundle.count, bundle.refused), (one, 3, 1));
        assert!(first.iter().all(|xid| bundle.contains(*xid)) && !bundle.contains(later));
        connection.handle_bytes(SECOND, &barrier_reply(version, two), |_| {});
        let [Event::Barrier { xid, bundle }] = events(&mut connection)[..] else { panic!("a barrier") };
        assert_eq!((xid, bundle.first, bundle.count, bundle.refused), (two, later, 1, 0));

        let most = Config::default().most_barriers;
        assert!((0..most).all(|_| connection.barrier().is_ok()));
        assert_eq!(connection.barrier(), Err(NotSent::Barriers));
    }
}

#[test]
fn messages_written_elsewhere_get_a_transaction_each_and_belong_to_the_bundle() {
    for version in Version::ALL {
        let mut connection = ready(version, Config::default());
        let mut written = Vec::new();
        for priority in 0..3 {
            match version {
                Version::V10 => {
                    v10::FlowMod::add(v10::Match::ANY, priority, Vec::new()).emit_into(9, &mut written)
                }
                Version::V13 => {
                    v13::FlowMod::add(Vec::new(), priority, Vec::new()).emit_into(9, &mut written)
                }
            }
            .unwrap();
        }
        assert_eq!(connection.send_all(&written), Ok(3));
        let barrier = connection.barrier().unwrap();
        let transaction = |message: &Message| match message {
            Message::V10(message) => message.xid,
            Message::V13(message) => message.xid,
        };
        let xids: Vec<u32> = output(&mut connection).iter().map(transaction).collect();
        assert_eq!(xids, [barrier - 3, barrier - 2, barrier - 1, barrier]);
        connection.handle_bytes(SECOND, &barrier_reply(version, barrier), |_| {});
        let [Event::Barrier { bundle, .. }] = events(&mut connection)[..] else { panic!("a barrier") };
        assert_eq!((bundle.first, bundle.count), (barrier - 3, 3));
        // Whatever lengths say, it comes to an end.
        assert_eq!(connection.send_all(&[version.number(), 14, 0, 0, 0, 0, 0, 0]), Ok(1));
        assert_eq!(connection.send_all(&[version.number(), 14, 0xff, 0xff, 0, 0, 0, 0]), Ok(1));
        assert_eq!(connection.send_all(&[]), Ok(0));
    }
}

#[test]
fn a_role_is_asked_for_in_an_election_and_answered() {
    let mut connection = ready(Version::V13, Config::default());
    let xid = connection.request_role(ControllerRole::MASTER, u64::MAX).unwrap();
    let asked = v13::Role { role: ControllerRole::MASTER, generation: u64::MAX };
    let said = output(&mut connection);
    assert_eq!(said, [Message::V13(v13::Message { xid, body: v13::Body::RoleRequest(asked) })]);
    assert_eq!(connection.role(), ControllerRole::EQUAL);
    let given = v13::Role { role: ControllerRole::MASTER, generation: u64::MAX };
    let reply = v13::Message { xid, body: v13::Body::RoleReply(given.clone()) }.emit().unwrap();
    connection.handle_bytes(SECOND, &reply, |_| {});
    assert!(
        matches!(&events(&mut connection)[..], [Event::Role { xid: of, role }] if *of == xid && *role == given)
    );
    assert_eq!(connection.role(), ControllerRole::MASTER);

    // 1.0 is asked by Nicira's extension.
    let mut old = ready(Version::V10, Config::default());
    let xid = old.request_role(ControllerRole::SLAVE, 0).unwrap();
    let vendor = |kind, role| v10::Body::Vendor { vendor: 0x2320, data: vec![0, 0, 0, kind, 0, 0, 0, role] };
    assert_eq!(output(&mut old), [Message::V10(v10::Message { xid, body: vendor(10, 2) })]);
    for (kind, role) in [(11, 2), (11, 3), (12, 1)] {
        old.handle_bytes(SECOND, &v10::Message { xid, body: vendor(kind, role) }.emit().unwrap(), |_| {});
    }
    let heard = events(&mut old);
    let [Event::Role { xid: of, .. }, Event::Message(_), Event::Message(_)] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert_eq!((*of, old.role()), (xid, ControllerRole::SLAVE));
}

#[test]
fn a_length_that_cannot_be_closes_and_a_body_that_cannot_be_does_not() {
    for version in Version::ALL {
        for length in 0..8u8 {
            for step in [1, 8] {
                let mut connection = ready(version, Config::default());
                for piece in [version.number(), 2, 0, length, 0, 0, 0, 1].chunks(step) {
                    connection.handle_bytes(SECOND, piece, |_| {});
                }
                assert!(matches!(&events(&mut connection)[..], [Event::Closed(Reason::Malformed(_))]));
            }
        }
        let mut connection = ready(version, Config::default());
        let short = [version.number(), 12, 0, 9, 0, 0, 0, 1, 0];
        let strange = [version.number(), 200, 0, 8, 0, 0, 0, 2];
        let other = [9, 2, 0, 8, 0, 0, 0, 3];
        connection.handle_bytes(SECOND, &[&short[..], &strange, &other].concat(), |_| {});
        assert!(matches!(&events(&mut connection)[..], [Event::Unreadable(_)]));
        let names: Vec<String> = output(&mut connection)
            .into_iter()
            .map(|message| match message {
                Message::V10(v10::Message { body: v10::Body::Error(error), .. }) => error.reason.to_string(),
                Message::V13(v13::Message { body: v13::Body::Error(error), .. }) => error.reason.to_string(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, ["OFPBRC_BAD_LEN", "OFPBRC_BAD_TYPE", "OFPBRC_BAD_VERSION"]);
    }
}

#[test]
fn a_switch_that_reads_nothing_is_closed_before_it_holds_much() {
    let config = Config { most_output: 10_000, most_events: 10_000, ..Config::default() };
    for version in Version::ALL {
        let mut connection = ready(version, config.clone());
        let ask = echo(version, 1, &[0; 992]);
        for _ in 0..10 {
            connection.handle_bytes(SECOND, &ask, |_| {});
            assert!(connection.held() <= 10_000);
        }
        assert_eq!(events(&mut connection), []);
        connection.handle_bytes(SECOND, &ask, |_| {});
        assert_eq!(events(&mut connection), [Event::Closed(Reason::Backlog)]);
        assert_eq!(connection.held(), 0);

        let mut connection = ready(version, config.clone());
        assert_eq!(connection.send_bytes(&[0; 10_000]), Ok(()));
        assert_eq!(connection.barrier(), Err(NotSent::Backlog));
        assert_eq!(events(&mut connection), [Event::Closed(Reason::Backlog)]);

        // Nor one that is given up for others, however little it is.
        let mut connection = ready(version, config.clone());
        assert_eq!(connection.send_bytes(&[0; 100]), Ok(()));
        connection.give_up();
        assert_eq!(events(&mut connection), [Event::Closed(Reason::Backlog)]);
        assert_eq!(connection.held(), 0);

        // Nor does one that is never listened to.
        let mut connection = ready(version, config.clone());
        let told = features(version, 0);
        for _ in 0..1000 {
            connection.handle_bytes(SECOND, &told, |_| {});
        }
        assert!(connection.held() <= 10_000 + 64);
        assert_eq!(events(&mut connection).pop(), Some(Event::Closed(Reason::Flooded)));
    }
}

proptest! {
    #[test]
    fn no_bytes_of_a_switch_make_a_connection_panic_or_grow(
        old: bool,
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..40),
        kinds in prop::collection::vec((0u8..32, 0u8..120), 0..40),
    ) {
        let version = if old { Version::V10 } else { Version::V13 };
        let config = Config { most_output: 2000, most_events: 2000, ..Config::default() };
        let mut connection = ready(version, config);
        // Headers that fit, before whatever follows: most bytes would else end in the first header.
        let mut stream = Vec::new();
        for (piece, (kind, length)) in pieces.iter().zip(&kinds) {
            stream.extend([version.number(), *kind, 0, 8 + length, 0, 0, 0, 1]);
            stream.extend(piece.iter().chain(&[0; 128]).take((*length).into()));
        }
        stream.extend(pieces.concat());
        for (turn, piece) in stream.chunks(37).enumerate() {
            let now = SECOND * turn as u32;
            connection.handle_bytes(now, piece, |hot| assert_eq!(hot.frame.kind(), 10));
            connection.handle_timeout(now);
            if turn % 3 == 0 {
                let _ = connection.barrier();
            }
            prop_assert!(connection.held() <= 2000 + 2000 + 64 + 65_535);
        }
    }
}
