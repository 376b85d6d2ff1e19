//! Facts about the engine on real devices. They need the right to make namespaces, and say so when they skip.

mod lab;

use lab::tries::in_tries;
use lab::{A, B, End, LINK, Lab, conditions};
use plait_dataplane_links::AccuracyClass;
use plait_model_quantity::{Bandwidth, Probability, TimeSpan};
use rustix::time::{ClockId, clock_gettime};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MS: TimeSpan = TimeSpan::from_millis(1);
const PAIRS: [[End; 2]; 4] =
    [[End::Packet, End::Packet], [End::Tap, End::Tap], [End::Tap, End::Packet], [End::Packet, End::Tap]];

/// Every packet that came in went out or was dropped by the model, none by a kernel.
fn assert_accounted(lab: &Lab) {
    // The last acknowledgement may still be under way.
    std::thread::sleep(Duration::from_millis(100));
    let stats = lab.engine.stats(LINK).unwrap();
    for (index, direction) in stats.directions.iter().enumerate() {
        assert_eq!(direction.counters.under_way(), 0, "{stats:#?}");
        assert_eq!(stats.ends[1 - index].refused, 0, "{stats:#?}");
        assert_eq!(stats.ends[index].missed, 0, "{stats:#?}");
    }
}

/// Sends numbered datagrams and returns the numbers that arrive, in order of arrival.
fn numbers(from: &UdpSocket, to: &UdpSocket, count: u32, gap: Duration) -> Vec<u32> {
    let is_sent = Arc::new(AtomicBool::new(false));
    let receiving = std::thread::spawn({
        let (to, is_sent) = (to.try_clone().unwrap(), Arc::clone(&is_sent));
        move || {
            let mut seen = Vec::new();
            let mut buffer = [0; 64];
            loop {
                // Silence is the end if it began once all was sent.
                let is_last = is_sent.load(Ordering::Acquire);
                match to.recv(&mut buffer) {
                    Ok(len) => seen.extend(buffer[..len].try_into().map(u32::from_be_bytes).ok()),
                    Err(_) if is_last => return seen,
                    Err(_) => {}
                }
            }
        }
    });
    let start = Instant::now();
    for number in 0..count {
        while start.elapsed() < gap * number {
            std::thread::yield_now();
        }
        from.send(&number.to_be_bytes()).unwrap();
    }
    is_sent.store(true, Ordering::Release);
    receiving.join().unwrap()
}

#[test]
fn any_two_ends_join() {
    for ends in PAIRS {
        let Some(lab) = Lab::new(ends, &[]) else { return };
        lab.transfer(3_000_000);
        let clock = || {
            let now = clock_gettime(ClockId::Monotonic);
            now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
        };
        let asked = clock();
        let stats = lab.engine.stats(LINK).unwrap();
        assert!((asked..=clock()).contains(&stats.at), "counters are of the instant that they say");
        assert!(stats.directions[0].counters.departed_bytes > 3_000_000, "{ends:?}");
        assert!(stats.directions[1].counters.departed > 0, "{ends:?}");
        assert_accounted(&lab);
    }
}

#[test]
fn trains_pass_an_unimpaired_link_and_whole_packets_an_impaired_one() {
    for ends in PAIRS {
        let Some(lab) = Lab::new(ends, &[]) else { return };
        lab.transfer(20_000_000);
        let stats = lab.engine.stats(LINK).unwrap();
        let packets_per_train = stats.directions[0].counters.arrived as f64 / stats.ends[0].received as f64;
        assert!(packets_per_train > 2.0, "{ends:?}: {packets_per_train}");

        let Some(lab) = Lab::new(ends, &[("jitter", "10us")]) else { return };
        lab.transfer(3_000_000);
        let stats = lab.engine.stats(LINK).unwrap();
        assert_eq!(stats.directions[0].counters.arrived, stats.ends[0].received, "{ends:?}");
        assert_accounted(&lab);
    }
}

#[test]
fn a_delay_is_what_was_asked() {
    for ends in PAIRS {
        let Some(lab) = Lab::new(ends, &[("delay", "10ms")]) else { return };
        let asked = TimeSpan::from_millis(10);
        // A busy machine may be late but no packet is early.
        in_tries(5, || {
            let measured = lab.path().measure_delay(asked, 50, MS, MS).unwrap();
            assert_eq!(measured.samples, 50);
            assert!(measured.p50 >= 1e7 && measured.p50 < 1.5e7, "{ends:?}: {measured:?}");
        });
    }
}

#[test]
fn the_same_seed_loses_the_same_packets() {
    let Some(lab) = Lab::new([End::Packet, End::Tap], &[]) else { return };
    let (a, b) = lab.datagrams();
    // As many as the receiving socket holds, should its reader be kept waiting.
    let run = |settings: &[(&str, &str)]| {
        lab.engine.set(LINK, 0, conditions(settings)).unwrap();
        lab.engine.reset(LINK).unwrap();
        numbers(&a, &b, 250, Duration::from_micros(100))
    };
    let first = run(&[("loss", "30%")]);
    assert!((130..220).contains(&first.len()), "{}", first.len());
    assert!(run(&[("loss", "30%")]) == first);
    // Another delay for every packet changes none of it.
    assert!(run(&[("loss", "30%"), ("delay", "1ms"), ("jitter", "300us")]) == first);
}

#[test]
fn loss_lies_inside_its_interval() {
    let Some(lab) = Lab::new([End::Packet, End::Packet], &[("loss", "5%")]) else { return };
    let asked = Probability::new(0.05).unwrap();
    let spacing = TimeSpan::from_nanos(50_000);
    in_tries(3, || {
        let measured = lab.path().measure_loss(asked, 0.0, 5000, spacing, TimeSpan::ZERO).unwrap();
        assert!(measured.within, "{measured:?}");
    });
}

#[test]
fn a_rate_is_what_was_asked() {
    for (ends, rate) in [(PAIRS[0], "20Mbit"), (PAIRS[2], "2Mbit")] {
        let Some(lab) = Lab::new(ends, &[("rate", rate), ("delay", "5ms")]) else { return };
        let rate: Bandwidth = rate.parse().unwrap();
        in_tries(5, || {
            let measured = lab.path().measure_rate(rate, TimeSpan::from_millis(5), 1514, 0.02).unwrap();
            assert!(measured.within, "{measured:?}");
        });
    }
}

#[test]
fn a_queue_is_as_deep_as_was_asked() {
    let Some(lab) = Lab::new([End::Packet, End::Packet], &[("rate", "20Mbit"), ("queue", "50ms")]) else {
        return;
    };
    let rate = "20Mbit".parse().unwrap();
    let asked = TimeSpan::from_millis(50);
    in_tries(5, || {
        let measured = lab.path().measure_queue_depth(asked, rate, TimeSpan::ZERO, 1514).unwrap();
        assert!(measured.within, "{measured:?}");
    });
}

#[test]
fn a_live_change_under_load_loses_nothing() {
    let Some(lab) = Lab::new([End::Packet, End::Packet], &[("delay", "30ms")]) else { return };
    let (a, b) = lab.datagrams();
    // Slowly enough that what a shorter delay bunches up fits into the receiving socket.
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| numbers(&a, &b, 2000, Duration::from_micros(400)));
        for delay in ["1ms", "60ms", "none", "20ms"] {
            std::thread::sleep(Duration::from_millis(150));
            lab.engine.set(LINK, 0, conditions(&[("delay", delay)])).unwrap();
        }
        assert!(sending.join().unwrap() == (0..2000).collect::<Vec<u32>>());
    });
    assert_accounted(&lab);
}

#[test]
fn a_failed_link_drops_everything_and_counts_it() {
    let Some(lab) = Lab::new([End::Packet, End::Packet], &[]) else { return };
    let (a, b) = lab.datagrams();
    let gap = Duration::from_micros(100);
    assert_eq!(numbers(&a, &b, 50, gap).len(), 50);
    lab.engine.set_down(LINK, [true; 2]).unwrap();
    assert_eq!(numbers(&a, &b, 50, gap).len(), 0);
    let stats = lab.engine.stats(LINK).unwrap();
    assert!(stats.down == [true; 2] && stats.directions[0].counters.failed >= 50);
    lab.engine.set_down(LINK, [true, false]).unwrap();
    a.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    assert_eq!(numbers(&a, &b, 50, gap).len(), 0);
    assert_eq!(numbers(&b, &a, 50, gap).len(), 50, "the other direction is whole");
    lab.engine.set_down(LINK, [false; 2]).unwrap();
    assert_eq!(numbers(&a, &b, 50, gap).len(), 50);
}

#[test]
fn damage_is_found_by_the_receivers_checksum() {
    for ends in PAIRS {
        let Some(lab) = Lab::new(ends, &[]) else { return };
        let (a, b) = lab.datagrams();
        let gap = Duration::from_micros(100);
        lab.engine.set(LINK, 0, conditions(&[("corrupt", "100%")])).unwrap();
        // Every bit of these datagrams is under a checksum, so none arrives.
        assert_eq!(numbers(&a, &b, 200, gap), [0; 0], "{ends:?}");
        assert_eq!(lab.engine.stats(LINK).unwrap().directions[0].counters.corrupted, 200);
    }
}

#[test]
fn a_slow_link_holds_tcp_to_its_rate() {
    let Some(lab) =
        Lab::new([End::Packet, End::Tap], &[("rate", "40Mbit"), ("delay", "2ms"), ("queue", "50ms")])
    else {
        return;
    };
    // 5 MB at 40 Mbit/s are a second, plus headers; never less, and not much more unless others have the machine.
    let mut took = (0..10).map(|_| lab.transfer(5_000_000).as_secs_f64());
    let held = took.any(|took| {
        assert!(took > 1.0, "{took} s");
        took < 4.0
    });
    assert!(held, "ten times it took four seconds");
}

#[test]
fn numbers_that_are_not_there_and_devices_that_are_not_there_are_errors() {
    let Some(lab) = Lab::new([End::Packet, End::Packet], &[]) else { return };
    assert!(lab.engine.stats(99).unwrap_err().to_string().contains("no link 99"));
    assert!(lab.engine.set(LINK, 2, conditions(&[])).unwrap_err().to_string().contains("0 and 1"));
    lab.engine.remove_link(LINK).unwrap();
    assert!(lab.engine.remove_link(LINK).is_err());
    assert_ne!(A, B);
}

#[test]
fn an_engine_reports_its_class_and_its_constant() {
    let Some(lab) = Lab::new([End::Packet, End::Tap], &[("delay", "5ms")]) else { return };
    assert_ne!(lab.engine.report().unwrap().class, AccuracyClass::A);
    let constants = lab.engine.calibrate().unwrap();
    lab.path().measure_delay(TimeSpan::from_millis(5), 50, MS, MS).unwrap();
    let report = lab.engine.report().unwrap();
    assert_eq!(report.calibration, Some(constants));
    assert_eq!(report.links[0].lateness.packets, 50);
}
