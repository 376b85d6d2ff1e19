//! What does not fit with its stack: senders are told what does.

mod row;

use plait_control_paths::Operation;
use plait_dataplane_paths::{Options, PathDrop};
use row::capture::Capture;
use row::{KINDS, Row, SHARED, left_station, list, pattern, right_station, stride, until};
use rustix::io::Errno;
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, ip_mtu, set_ip_mtu_discover};
use std::net::UdpSocket;

/// A sender whose datagrams no router may fragment, nor its own kernel.
fn strict(row: &Row) -> (UdpSocket, UdpSocket) {
    let (receiver, sender) = row.datagrams();
    set_ip_mtu_discover(&sender, Ipv4PathMtuDiscovery::DO).unwrap();
    (receiver, sender)
}

/// Sends until the sender's kernel refuses, and says what fits then.
fn told(sender: &UdpSocket, length: usize) -> usize {
    until("the sender is told", || {
        let error = sender.send(&pattern(length)).err().and_then(|error| error.raw_os_error());
        error == Some(Errno::MSGSIZE.raw_os_error())
    });
    ip_mtu(sender).unwrap() as usize
}

fn forget(row: &Row) {
    row.sh(0, "ip route flush cache");
}

#[test]
fn a_sender_is_told_the_mtu_less_its_stack() {
    let Some(row) = Row::new(5) else { return };
    let relays = row.relays();
    for mtu in [1500, 9000] {
        for node in 0..4 {
            row.sh(node, &format!("ip link set r{node} mtu {mtu}"));
            row.sh(node + 1, &format!("ip link set l{} mtu {mtu}", node + 1));
        }
        for encapsulation in KINDS {
            for nodes in [&[2][..], &[1, 2, 3]] {
                let mut paths = row.steers(Options::new(SHARED, encapsulation));
                paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![list(nodes)] }).unwrap();
                let most = mtu - nodes.len() * stride(encapsulation);
                let (receiver, sender) = strict(&row);
                let answers = Capture::new(&row, 0, right_station(0));
                let leaves = Capture::new(&row, 1, left_station(1));
                // What fits goes, and nobody says anything.
                sender.send(&pattern(most - 28)).unwrap();
                assert_eq!(receiver.recv(&mut [0; 10_000]).unwrap(), most - 28);
                assert_eq!(ip_mtu(&sender).unwrap() as usize, mtu);
                assert_eq!((answers.frames().len(), leaves.frames().len()), (0, 1));
                // A byte more does not.
                assert_eq!(told(&sender, most - 27), most, "{encapsulation:?} by {nodes:?}");
                assert_eq!(paths.drops().unwrap(), [(PathDrop::TooBig, 1)].into());
                assert_eq!(leaves.frames().len(), 0);
                // And TCP finds its way, from the same knowledge and from none.
                row.carries_a_stream();
                forget(&row);
                row.carries_a_stream();
                forget(&row);
                row.within(0, move || drop(paths));
            }
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
    for encapsulation in KINDS {
        let mut paths = row.steers(Options::new(SHARED, encapsulation));
        paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![list(&[1])] }).unwrap();
        let (_, sender) = strict(&row);
        assert_eq!(told(&sender, 1400), 1300);
        row.carries_a_stream();
        forget(&row);
        row.within(0, move || drop(paths));
    }
}
