//! Stamps are those of the thread that asked for them, in a packet's order.

use plait_dataplane_bpf::{Probes, Stamps};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_reference::tables::{Journey, passage};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: eBPF programs are loaded by root only");
    }
    is_root
}

/// Where a packet passed until the driver had it: the other host's part comes after.
fn passages(journey: &Journey) -> Vec<u32> {
    let all = journey.stamps[..journey.count as usize].iter().map(|stamp| stamp.passage as u32);
    let mut all: Vec<u32> = all.collect();
    assert_eq!(all.last(), Some(&passage::BACK), "the call's end comes last");
    let sent = all.iter().position(|passed| *passed == passage::SENT).expect("it was sent");
    all.truncate(sent + 1);
    all
}

#[test]
fn a_threads_packets_get_stamps_in_the_order_of_their_way_and_nobody_elses_do() {
    if !is_root() {
        return;
    }
    let (here, there) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    here.veth("h", &there, "t").unwrap();
    let [from, to] = [1, 2].map(|last| Ipv4Addr::new(192, 0, 2, last));
    here.address("h", from, 24).unwrap();
    there.address("t", to, 24).unwrap();
    let receiver = there.run(|| UdpSocket::bind((to, 7))).unwrap().unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let senders = [(); 2].map(|()| here.run(|| UdpSocket::bind((from, 0))).unwrap().unwrap());
    let mut buffer = [0; 8];
    for sender in &senders {
        sender.connect((to, 7)).unwrap();
        sender.send(b"hello").unwrap();
        receiver.recv(&mut buffer).unwrap();
    }

    let stamps = Stamps::start(Probes::All).unwrap();
    let out = here.run(|| stamps.out()).unwrap().unwrap();
    let mut all = vec![passage::SEND, passage::OUT, passage::QUEUE, passage::START, passage::SENT];
    if out.is_empty() {
        all.remove(1);
    }
    // Of which those that an interrupt met, with packets of its own, have more: they are sent again.
    let mut sent = 0;
    let mut passes = |stamps: &Stamps, all: &[u32]| {
        for _ in 0..100 {
            senders[0].send(b"seen").unwrap();
            // A packet of another thread's.
            thread::scope(|scope| drop(scope.spawn(|| senders[1].send(b"unseen").unwrap())));
            sent += 2;
            let journeys = stamps.take().unwrap();
            assert_eq!(journeys.len(), 1, "{journeys:?}");
            assert_eq!(journeys[0].socket, senders[0].as_raw_fd() as u32);
            assert!(journeys[0].stamps[..journeys[0].count as usize].is_sorted_by_key(|stamp| stamp.time));
            if passages(&journeys[0]) == all {
                return std::mem::take(&mut sent);
            }
        }
        panic!("no packet passes {all:?}");
    };
    for _ in 0..passes(&stamps, &all) {
        receiver.recv(&mut buffer).unwrap();
    }

    // With a sink at the other end nothing arrives, and is seen all the same.
    let interface = there.run(|| rustix::net::netdevice::name_to_index(&receiver, "t")).unwrap().unwrap();
    let sink = there.run(|| stamps.sink(interface)).unwrap().unwrap();
    passes(&stamps, &all);
    receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let refused = receiver.recv(&mut buffer).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
    receiver.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    drop(sink);
    senders[0].send(b"hello").unwrap();
    receiver.recv(&mut buffer).unwrap();

    // Programs that ended see nothing.
    drop((out, stamps));
    let again = Stamps::start(Probes::Ends).unwrap();
    passes(&again, &[passage::SEND, passage::SENT]);
}
