//! What does not fit with its stack: senders are told what does.

mod row;

use plait_control_paths::Operation;
use plait_dataplane_paths::{Encapsulation, Family, Options, PathDrop, Paths};
use row::capture::Capture;
use row::{Row, SHARED, cases, left_station, pattern, right_station, until};
use rustix::io::Errno;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, ip_mtu, ipv6_mtu, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use std::net::UdpSocket;

/// A sender whose datagrams no router may fragment, nor its own kernel.
fn strict(row: &Row) -> (UdpSocket, UdpSocket) {
    let (receiver, sender) = row.datagrams();
    match row.inner {
        Family::Ipv4 => set_ip_mtu_discover(&sender, Ipv4PathMtuDiscovery::DO).unwrap(),
        Family::Ipv6 => set_ipv6_mtu_discover(&sender, Ipv6PathMtuDiscovery::DO).unwrap(),
    }
    (receiver, sender)
}

/// Sends until the sender's kernel refuses, and says what fits then.
fn told(row: &Row, sender: &UdpSocket, length: usize) -> usize {
    until("the sender is told", || {
        let error = sender.send(&pattern(length)).err().and_then(|error| error.raw_os_error());
        error == Some(Errno::MSGSIZE.raw_os_error())
    });
    known(row, sender)
}

/// What a sender's kernel knows of its path.
fn known(row: &Row, sender: &UdpSocket) -> usize {
    let mtu = if row.inner == Family::Ipv4 { ip_mtu(sender) } else { ipv6_mtu(sender) };
    mtu.unwrap() as usize
}

#[test]
fn a_sender_is_told_the_mtu_less_its_stack() {
    let Some(row) = Row::new(5) else { return };
    let relays = row.relays();
    for mtu in [1500, 9000] {
        row.sets_mtu(mtu);
        for (pair, encapsulation) in cases() {
            let row = row.of(pair);
            for nodes in [&[2][..], &[1, 2, 3]] {
                let mut paths = row.steers(Options::new(SHARED, encapsulation));
                paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(nodes)] }).unwrap();
                let most = mtu - row.headers(encapsulation, nodes.len());
                let (receiver, sender) = strict(&row);
                let answers = Capture::new(&row, 0, right_station(0));
                let leaves = Capture::new(&row, 1, left_station(1));
                // What fits goes, and nobody says anything.
                let most_payload = most - row.datagram_headers();
                sender.send(&pattern(most_payload)).unwrap();
                assert_eq!(receiver.recv(&mut [0; 10_000]).unwrap(), most_payload);
                assert_eq!(known(&row, &sender), mtu);
                assert_eq!((answers.frames().len(), leaves.frames().len()), (0, 1));
                // A byte more does not.
                assert_eq!(
                    told(&row, &sender, most_payload + 1),
                    most,
                    "{encapsulation:?} by {nodes:?}, {pair:?}"
                );
                assert_eq!(paths.drops().unwrap(), [(PathDrop::TooBig, 1)].into());
                assert_eq!(leaves.frames().len(), 0);
                // And TCP finds its way, from the same knowledge and from none.
                row.carries_a_stream();
                row.forget();
                row.carries_a_stream();
                row.forget();
                row.within(0, move || drop(paths));
            }
        }
    }
    for relay in &relays {
        assert_eq!(relay.drops().unwrap(), [].into());
    }
}

/// Whichever of them a flow goes by: it may come to another one, by a move or by an update, and then nothing of it is lost.
#[test]
fn what_fits_the_tallest_of_lists_goes_by_all() {
    let Some(row) = Row::new(5) else { return };
    let relays = row.relays();
    let (none, short, tall) = (&[][..], &[2][..], &[1, 2, 3][..]);
    for (pair, encapsulation) in cases() {
        let row = row.of(pair);
        let go_by = |paths: &mut Paths, lists: &[&[usize]]| {
            let lists = lists.iter().map(|nodes| row.list(nodes)).collect();
            paths.apply(Operation::Set { prefix: row.prefix(), lists }).unwrap();
        };
        let most = 1500 - row.headers(encapsulation, 3);
        let payload = most - row.datagram_headers();
        // Whatever the flow's hash is, once it goes without relays, once by one and once by three.
        for mixed in [[none, short, tall], [short, tall, none], [tall, none, short]] {
            let mut paths = row.steers(Options::new(SHARED, encapsulation));
            go_by(&mut paths, &mixed);
            let (receiver, sender) = strict(&row);
            assert_eq!(told(&row, &sender, payload + 1), most, "{encapsulation:?}, {pair:?}, {mixed:?}");
            // The answer to what was sent first is an error of the sender's once more.
            until("what fits goes", || sender.send(&pattern(payload)).is_ok());
            assert_eq!(receiver.recv(&mut [0; 2000]).unwrap(), payload);
            for lists in [&[short][..], &[tall], &[none], &[tall, short]] {
                go_by(&mut paths, lists);
                sender.send(&pattern(payload)).unwrap();
                assert_eq!(receiver.recv(&mut [0; 2000]).unwrap(), payload, "{lists:?}");
            }
            assert_eq!(paths.drops().unwrap(), [(PathDrop::TooBig, 1)].into());
            drop((receiver, sender));
            row.forget();
            row.within(0, move || drop(paths));
        }
    }
    for relay in &relays {
        assert_eq!(relay.drops().unwrap(), [].into());
    }
}

/// Behind the last relay, packets are their senders' again.
#[test]
fn a_narrow_link_behind_the_last_relay_is_told_of() {
    let Some(row) = Row::new(4) else { return };
    let _relays = row.relays();
    row.sh(2, "ip link set r2 mtu 1300");
    row.sh(3, "ip link set l3 mtu 1300");
    for (pair, encapsulation) in cases() {
        let row = row.of(pair);
        let mut paths = row.steers(Options::new(SHARED, encapsulation));
        paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(&[1])] }).unwrap();
        let (_, sender) = strict(&row);
        assert_eq!(told(&row, &sender, 1300), 1300);
        row.carries_a_stream();
        row.forget();
        row.within(0, move || drop(paths));
    }
}

/// Between relays they are not: the source of their headers is nobody, and a relay tells whom they are from.
#[test]
fn a_narrow_link_between_relays_is_told_of() {
    let Some(row) = Row::new(5) else { return };
    let relays = row.relays();
    let narrow = 1400;
    row.sh(2, &format!("ip link set r2 mtu {narrow}"));
    row.sh(3, &format!("ip link set l3 mtu {narrow}"));
    for (pair, encapsulation) in cases() {
        let row = row.of(pair);
        // On the way to the only relay, and behind the first of two, where a header for each is one less.
        for (nodes, left) in [(&[3][..], 1), (&[2, 3], if encapsulation.headers(2) == 2 { 1 } else { 2 })] {
            let mut paths = row.steers(Options::new(SHARED, encapsulation));
            paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(nodes)] }).unwrap();
            let fits = narrow - row.headers(encapsulation, left);
            let (receiver, sender) = strict(&row);
            // What the first host's own device takes is more.
            let own = 1500 - row.headers(encapsulation, nodes.len());
            let payload = fits - row.datagram_headers();
            assert!(own > fits, "{encapsulation:?} by {nodes:?}, {pair:?}");
            assert_eq!(told(&row, &sender, payload + 1), fits, "{encapsulation:?} by {nodes:?}, {pair:?}");
            // More than one was on its way when the first answer came, and each answer is an error of the sender's.
            until("what fits goes", || sender.send(&pattern(payload)).is_ok());
            assert_eq!(receiver.recv(&mut [0; 2000]).unwrap(), payload);
            drop((receiver, sender));
            row.forget();
            row.within(0, move || drop(paths));
        }
    }
    for relay in &relays {
        assert!(relay.drops().unwrap().keys().all(|reason| *reason == PathDrop::TooBig));
    }
}

/// A relay does not say more than it can, whatever others send.
#[test]
fn a_relay_answers_so_many_and_counts_the_rest() {
    let Some(row) = Row::new(4) else { return };
    let relays = row.relays();
    row.sh(1, "ip link set r1 mtu 1400");
    let mut paths = row.steers(Options::new(SHARED, Encapsulation::Gre));
    paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(&[2])] }).unwrap();
    let (_, sender) = row.datagrams();
    // One that does not heed what it is told.
    set_ip_mtu_discover(&sender, Ipv4PathMtuDiscovery::PROBE).unwrap();
    let answers = Capture::new(&row, 0, right_station(0));
    let most = pattern(1500 - row.headers(Encapsulation::Gre, 1) - row.datagram_headers());
    // Each answer is an error of the next one's.
    let sent = (0..10_000).filter(|_| sender.send(&most).is_ok()).count() as u64;
    let count = |reason| relays[0].drops().unwrap().get(&reason).copied().unwrap_or_default();
    until("all have come", || count(PathDrop::TooBig) + count(PathDrop::Untold) == sent);
    assert!(count(PathDrop::TooBig) >= 100 && count(PathDrop::Untold) > 0, "{:?}", relays[0].drops());
    let mut answered = 0;
    until("all that were told of are answered", || {
        answered += answers.frames().len() as u64;
        answered >= count(PathDrop::TooBig)
    });
    assert_eq!(answered, count(PathDrop::TooBig));
    row.within(0, move || drop(paths));
}

/// Where nobody there can, since the fabric's relays are of others' making, it is said beforehand.
#[test]
fn what_is_said_of_the_narrowest_link_counts_where_the_device_takes_more() {
    let Some(row) = Row::new(4) else { return };
    let _relays = row.relays();
    for (said, counts) in [(1400, 1400), (9000, 1500)] {
        let mut paths = row.steers(Options { mtu: Some(said), ..Options::new(SHARED, Encapsulation::Gre) });
        paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(&[1, 2])] }).unwrap();
        let (_, sender) = strict(&row);
        assert_eq!(told(&row, &sender, 1472), counts - 48);
        row.carries_a_stream();
        row.forget();
        row.within(0, move || drop(paths));
    }
}
