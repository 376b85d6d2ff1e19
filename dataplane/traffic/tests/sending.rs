//! Facts about senders and shares on real devices.

use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_links::tbf;
use plait_dataplane_traffic::{Head, Sender, Share, Source, carry, now};
use plait_model_link::{MTU_FRAME, tbf_burst};
use plait_model_quantity::{Bandwidth, ByteCount};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const SECOND: u64 = 1_000_000_000;

/// A second of a flow, of a datagram every so many nanoseconds.
fn source(flow: u32, source_port: u16, to: Ipv4Addr, every: u64) -> Source {
    let to = SocketAddr::from((to, 60_009));
    Source { flow, to, source_port, size: 1400, every, start: 0, stop: SECOND }
}

/// Two hosts, of which the first sends a megabit a second and lets everything else wait; nothing where that is not
/// allowed.
fn slow() -> Option<[Namespace; 2]> {
    let build = || -> std::io::Result<_> {
        let (near, far) = (Namespace::new()?, Namespace::new()?);
        near.veth("eth0", &far, "eth0")?;
        near.address("eth0", NEAR, 24)?;
        far.address("eth0", FAR, 24)?;
        let rate = Bandwidth::from_bits_per_second(1_000_000);
        let waiting = ByteCount::new(64 << 20);
        near.run(|| tbf::attach("eth0", rate, tbf_burst(rate, MTU_FRAME), waiting))??;
        Ok([near, far])
    };
    build().inspect_err(|error| println!("skipped: no slow device: {error}")).ok()
}

#[test]
fn what_a_slow_device_does_not_take_is_refused_and_keeps_no_other_flow_waiting() {
    let Some([near, _far]) = slow() else { return };
    let begin = now() + 50_000_000;
    // More than any buffer holds, and a flow beside it whose device is not slow.
    let sources = vec![source(0, 20_000, FAR, 50_000), source(1, 20_001, Ipv4Addr::LOCALHOST, 1_000_000)];
    let sent = near.run(|| Sender::bind(1, sources, true).unwrap().send(begin, |_| true)).unwrap();
    let late = now().saturating_sub(begin + SECOND);
    assert!(late < 10 * SECOND, "it waited for the device: {} ms late", late / 1_000_000);
    let [slow, fast] = sent[..] else { panic!("{sent:?}") };
    assert!(slow.datagrams > 0 && slow.refused > 0, "{sent:?}");
    assert_eq!(slow.why, Some(rustix::io::Errno::AGAIN.raw_os_error()));
    // All 1000 but on a machine so busy that this thread did not run at the end.
    assert!(fast.datagrams > 500 && fast.refused == 0, "{sent:?}");
}

#[test]
fn what_others_send_to_a_port_of_a_run_is_not_counted_for_it() {
    let Ok(host) = Namespace::new().inspect_err(|error| println!("skipped: no namespace: {error}")) else {
        return;
    };
    let begin = now() + 500_000_000;
    let own = source(0, 20_000, Ipv4Addr::LOCALHOST, 10_000_000);
    let other = source(0, 30_000, Ipv4Addr::LOCALHOST, 10_000_000);
    let share = Share { sends: vec![own], receives: vec![60_009], until: 2 * SECOND };
    let told = std::thread::scope(|scope| {
        scope.spawn(|| {
            host.run(|| Sender::bind(7, vec![other], true).unwrap().send(begin, |_| true)).unwrap()
        });
        host.run(|| carry(share, || Ok(begin))).unwrap().unwrap()
    });
    let received = told.received[&0];
    assert_eq!((received.datagrams, received.reordered), (told.sent[&0], 0));
    assert!(received.datagrams > 50, "{received:?}");
}

#[test]
fn what_is_sent_once_a_share_asks_when_to_begin_is_counted() {
    let Ok(host) = Namespace::new().inspect_err(|error| println!("skipped: no namespace: {error}")) else {
        return;
    };
    let share = Share { sends: Vec::new(), receives: vec![60_009], until: SECOND / 10 };
    let first = Head { run: 0, flow: 0, number: 0 };
    let told = host.run(|| {
        carry(share, || {
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?
                .send_to(&first.bytes(), (Ipv4Addr::LOCALHOST, 60_009))?;
            Ok(now())
        })
    });
    assert_eq!(told.unwrap().unwrap().received[&0].datagrams, 1);
}
