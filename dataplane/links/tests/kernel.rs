//! Facts about what the kernel does for links that need no engine.

mod lab;

use lab::{A, B, LINK, Lab, conditions};
use plait_dataplane_links::offload::{self, Policy};
use plait_dataplane_links::probe::{At, Path};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_links::{Engine, EngineOptions, LinkConfig, Port, redirect, tbf};
use plait_model_link::{MTU_FRAME, tbf_burst};
use plait_model_quantity::{Bandwidth, ByteCount, TimeSpan};
use std::collections::HashSet;
use std::os::fd::AsFd;
use std::time::Duration;

/// Two hosts joined by one veth, or nothing where that is not allowed.
fn wire() -> Option<(Namespace, Namespace)> {
    let build = || -> std::io::Result<_> {
        let (a, b) = (Namespace::new()?, Namespace::new()?);
        a.veth("eth0", &b, "eth0")?;
        Ok((a, b))
    };
    build().inspect_err(|error| println!("skipped: no namespaces: {error}")).ok()
}

#[test]
fn a_token_bucket_holds_its_rate() {
    let Some((a, b)) = wire() else { return };
    let rate: Bandwidth = "20Mbit".parse().unwrap();
    let burst = tbf_burst(rate, MTU_FRAME);
    a.run(|| tbf::attach("eth0", rate, burst, ByteCount::new(125_000))).unwrap().unwrap();
    let at = |host: &'static str, namespace| At { namespace, ifname: host };
    let mut path = Path::open(at("eth0", a.as_fd()), at("eth0", b.as_fd())).unwrap();
    // A machine that others share stands still now and then, and for some time can offer less than the rate.
    let mut measured = (0..60).map(|_| path.measure_rate(rate, TimeSpan::ZERO, 1514, 0.03));
    let mut missed = Vec::new();
    let held = measured.any(|measured| match measured {
        Ok(measured) if measured.within => true,
        other => {
            missed.push(other);
            false
        }
    });
    assert!(held, "{missed:?}");
    // Attaching again replaces, detaching twice does no harm.
    a.run(|| tbf::attach("eth0", "50Gbit".parse().unwrap(), burst, ByteCount::new(1 << 20)))
        .unwrap()
        .unwrap();
    a.run(|| tbf::detach("eth0").and(tbf::detach("eth0"))).unwrap().unwrap();
}

#[test]
fn a_policy_switches_the_segmentation_of_a_device() {
    let Some((a, _b)) = wire() else { return };
    let now = || a.run(|| offload::get("eth0")).unwrap().unwrap();
    assert_eq!(now(), Policy::Trains);
    a.run(|| offload::set("eth0", Policy::WholePackets)).unwrap().unwrap();
    assert_eq!(now(), Policy::WholePackets);
    a.run(|| offload::set("eth0", Policy::Trains)).unwrap().unwrap();
    assert_eq!(now(), Policy::Trains);
    assert!(a.run(|| offload::set("eth9", Policy::Trains)).unwrap().is_err());
    assert_eq!(Policy::of(&conditions(&[("loss", "1%")])), Policy::WholePackets);
}

/// Two hosts whose devices' peers are redirected to each other beside an engine, or nothing where that is not allowed.
fn redirected() -> Option<Lab> {
    let build = || -> std::io::Result<Lab> {
        let (a, b, middle) = (Namespace::new()?, Namespace::new()?, Namespace::new()?);
        a.veth("eth0", &middle, "to-a")?;
        b.veth("eth0", &middle, "to-b")?;
        a.address("eth0", A, 24)?;
        b.address("eth0", B, 24)?;
        let engine = middle.run(|| Engine::start(EngineOptions::default()))??;
        middle.run(|| redirect::attach("to-a", "to-b"))??;
        Ok(Lab { a, b, middle, engine })
    };
    build().inspect_err(|error| println!("skipped: no lab: {error}")).ok()
}

/// Has the engine move the packets of redirected devices from here on.
fn take_over(lab: &Lab) {
    let ends = ["to-a", "to-b"].map(|ifname| Port::Packet { ifname: ifname.to_owned() });
    let directions = [conditions(&[("delay", "3ms")]), conditions(&[])];
    lab.engine.add_link(LinkConfig { id: LINK, name: "a-b".to_owned(), ends, directions, seed: 1 }).unwrap();
    lab.middle.run(|| redirect::detach("to-a", "to-b")).unwrap().unwrap();
}

#[test]
fn no_packet_is_lost_when_the_engine_takes_over() {
    /// Sent one every 100 us, so that any gap in which nobody moves packets is met by one.
    const PACKETS: u32 = 3000;
    for _ in 0..3 {
        let Some(lab) = redirected() else { return };
        let (sender, receiver) = lab.datagrams();
        // As long as a sender may be kept from its processor; what comes last ends it.
        receiver.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let receiving = std::thread::spawn(move || {
            let (mut seen, mut number) = (HashSet::new(), [0; 4]);
            while receiver.recv(&mut number).is_ok() {
                seen.insert(u32::from_le_bytes(number));
                if u32::from_le_bytes(number) == PACKETS - 1 {
                    break;
                }
            }
            seen
        });
        let sending = std::thread::spawn(move || {
            for number in 0..PACKETS {
                sender.send(&number.to_le_bytes()).unwrap();
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        take_over(&lab);
        sending.join().unwrap();
        let seen = receiving.join().unwrap();
        let lost: Vec<u32> = (0..PACKETS).filter(|number| !seen.contains(number)).collect();
        assert!(lost.is_empty(), "lost {lost:?}");
        assert!(lab.engine.stats(LINK).unwrap().directions[0].counters.departed > 0);
    }
}

#[test]
fn redirected_devices_are_one_wire_until_the_engine_takes_over() {
    let Some(lab) = redirected() else { return };
    lab.transfer(5_000_000);
    assert!(lab.engine.stats(LINK).is_err());

    take_over(&lab);
    let delay =
        lab.path().measure_delay(TimeSpan::from_millis(3), 20, TimeSpan::from_millis(1), TimeSpan::ZERO);
    assert!(delay.unwrap().p50 >= 3e6);
    lab.transfer(1_000_000);
    assert!(lab.engine.stats(LINK).unwrap().directions[0].counters.departed_bytes > 1_000_000);
    lab.middle.run(|| redirect::detach("to-a", "to-b")).unwrap().unwrap();
}
