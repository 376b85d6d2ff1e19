//! Stations that are learned from what comes in, and how fast.

use super::*;

/// One node's station is heard at another's, and at the first again: each is learned, though nobody else says so.
#[test]
fn a_station_that_moves_to_and_fro_is_learned_each_time() {
    let Some(node) = Node::new([Program::Receive], driver::ETHERNET) else { return };
    let fib = node.programs.table(&names::FIB).unwrap();
    let from = |source| {
        let header = ovstack::Repr { source, ..overlay_header() };
        arriving(&header, &frame(STATION_A, STATION_C, ether_type::IPV4, &inner_ipv4(64, 0)))
    };
    for source in [PEER, FAR, PEER, FAR] {
        for _ in 0..3 {
            let ran = node.programs.run(Program::Receive, &from(source)).unwrap();
            assert_eq!(ran.verdict, Verdict::Redirected, "{:?}", node.programs.drops());
        }
        assert_eq!(fib.get(&identifier(STATION_C)).unwrap().unwrap().node, source.0);
    }
}

/// A known locator may say that its packet is from a group. The station that it speaks for stays where it is: if it were at the
/// group, all would get what is for it.
#[test]
fn no_station_is_learned_from_a_group() {
    let Some(node) = Node::new([Program::Receive], driver::ETHERNET) else { return };
    let fib = node.programs.table(&names::FIB).unwrap();
    node.flood();
    let group = NodeKey { application: APPLICATION.into(), node: GROUP.0 };
    node.programs.table(&names::NODES).unwrap().set(&group, &GROUP_PATH).unwrap();
    let said_from = |source| {
        let header = ovstack::Repr { source, ..overlay_header() };
        let came = arriving(&header, &frame(STATION_A, STATION_C, ether_type::IPV4, &inner_ipv4(64, 0)));
        // The reference walk does the same by the same tables.
        let is_sent = matches!(node.walk().receive(&came, 1), Outcome::Sent(sent) if !sent.is_empty());
        let verdict = node.programs.run(Program::Receive, &came).unwrap().verdict;
        assert_eq!(is_sent, verdict == Verdict::Redirected);
        (verdict, fib.get(&identifier(STATION_C)).unwrap().map(|entry| entry.node))
    };
    assert_eq!(said_from(GROUP), (Verdict::Dropped, None));
    assert_eq!(said_from(PEER), (Verdict::Redirected, Some(PEER.0)));
    assert_eq!(said_from(GROUP), (Verdict::Dropped, Some(PEER.0)));
    assert_eq!(node.drops(Drop::UnknownSource), 2);
}

/// A station for each of these numbers.
fn numbered(number: u32) -> Mac {
    let [_, a, b, c] = number.to_be_bytes();
    Mac([2, 0, 7, a, b, c])
}

/// The bound is one on what is written: the frames pass all the same.
#[test]
fn stations_that_come_too_fast_are_heard_and_not_learned() {
    const BURST: u128 = 1000;
    let Some(node) = Node::new([Program::Receive], driver::ETHERNET) else { return };
    let fib = node.programs.table(&names::FIB).unwrap();
    let is_learned = |number| fib.get(&identifier(numbered(number))).unwrap().is_some();
    let mut came = 0;
    let begun = std::time::Instant::now();
    while came < 100_000 {
        for _ in 0..1000 {
            let frame = frame(STATION_A, numbered(came), ether_type::IPV4, &inner_ipv4(64, 0));
            let ran = node.programs.run(Program::Receive, &arriving(&overlay_header(), &frame)).unwrap();
            assert_eq!((ran.verdict, &ran.packet), (Verdict::Redirected, &frame));
            came += 1;
        }
        if came > 2000 && !is_learned(came - 1) {
            break;
        }
    }
    let most = BURST + begun.elapsed().as_millis() + 1;
    let learned = (0..came).filter(|number| is_learned(*number)).count() as u128;
    assert!((BURST..=most).contains(&learned), "{learned} of {came} in {:?}", begun.elapsed());
    assert!(learned < u128::from(came), "nobody came too fast");
    assert!((0..1000).all(is_learned), "the first are learned");
    assert_eq!(node.programs.tenant_count(TENANT).unwrap().received.packets, u64::from(came));
    assert_eq!(node.programs.drops().unwrap(), Default::default());
    // One that moves to and fro costs as much as new ones: it stays where it was.
    let away = ovstack::Repr { source: FAR, ..overlay_header() };
    let learning = node.programs.table(&names::LEARNING).unwrap();
    let spent = learning.get(&TENANT).unwrap().unwrap().spent_until;
    learning.set(&TENANT, &Bucket { spent_until: spent + 3_600_000_000_000 }).unwrap();
    let frame = frame(STATION_A, numbered(0), ether_type::IPV4, &inner_ipv4(64, 0));
    let ran = node.programs.run(Program::Receive, &arriving(&away, &frame)).unwrap();
    assert_eq!(ran.verdict, Verdict::Redirected);
    assert_eq!(fib.get(&identifier(numbered(0))).unwrap().unwrap().node, PEER.0);
}
