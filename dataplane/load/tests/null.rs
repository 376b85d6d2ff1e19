//! A load against the null responder: whatever is measured there is the load's own doing.

use plait_control_openflow::Version;
use plait_dataplane_load::{Load, LoadError, NullResponder, Offer, run};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

const ANY: &str = "127.0.0.1:0";

fn short(controller: SocketAddr, offers: Vec<Offer>) -> Load {
    let duration = Duration::from_millis(500);
    Load { duration, stations: 100, ..Load::new(controller, offers) }
}

#[test]
fn every_request_of_an_open_loop_is_answered_once_in_either_version() {
    let null = NullResponder::start(ANY.parse().unwrap(), 1).unwrap();
    let load = Load {
        versions: vec![Version::V10, Version::V13],
        probe: Some(20.0),
        threads: 2,
        ..short(null.address(), vec![Offer::Open(2000.0); 7])
    };
    let measured = run(&load).unwrap();
    let report = measured.report();
    assert_eq!((report.switches, report.unanswered, report.disconnects, report.untold), (7, 0, 0, 0));
    for switch in measured.switches.iter().filter(|switch| !switch.is_probe) {
        assert_eq!((switch.offered, switch.sent, switch.more, switch.unasked), (1000, 1000, 0, 0));
        assert_eq!(switch.answered + switch.late, 1000);
        assert_eq!(switch.answered_by_second.iter().sum::<u32>(), 1000);
    }
    assert_eq!(report.by_second[0].offered, 7000);
    assert_eq!(measured.latency.count(), 7000);
    assert_eq!(report.probe.unwrap().offered, 10);
    assert_eq!(report.hosts.len(), 1);
}

#[test]
fn a_window_of_one_has_one_request_at_a_time_and_a_flood_has_many() {
    let null = NullResponder::start(ANY.parse().unwrap(), 2).unwrap();
    let one = run(&short(null.address(), vec![Offer::Window(1)])).unwrap().report();
    let flood = run(&short(null.address(), vec![Offer::Flood; 4])).unwrap().report();
    assert_eq!(one.unanswered, 0);
    assert!(one.answered > 100.0, "{one:?}");
    assert!(flood.answered > one.answered, "{} {}", flood.answered, one.answered);
    let fair: f64 = flood.shares.iter().map(|share| share.max_min).sum();
    assert!((fair - flood.answered).abs() < 1.0);
}

#[test]
fn packets_that_no_switch_keeps_bring_no_answer_from_who_looks_at_buffers_only() {
    let null = NullResponder::start(ANY.parse().unwrap(), 1).unwrap();
    let load = Load {
        buffered: false,
        warm_up: Duration::from_millis(300),
        ..short(null.address(), vec![Offer::Open(100.0)])
    };
    assert!(matches!(run(&load), Err(LoadError::NotReady { .. })));
}

/// A controller that is the null responder until it stops reading for a while.
fn between(null: SocketAddr, pause: impl Fn(usize) -> Option<Duration> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind(ANY).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut switch, _) = listener.accept().unwrap();
        let mut controller = std::net::TcpStream::connect(null).unwrap();
        let (mut back, mut to) = (controller.try_clone().unwrap(), switch.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut back, &mut to));
        let (mut buffer, mut passed) = (vec![0; 4096], 0);
        while let Ok(count @ 1..) = switch.read(&mut buffer) {
            passed += count;
            match pause(passed) {
                Some(Duration::MAX) => break,
                Some(pause) => thread::sleep(pause),
                None => {}
            }
            if controller.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = switch.shutdown(std::net::Shutdown::Both);
    });
    address
}

#[test]
fn who_stops_reading_is_charged_for_every_request_that_was_due_meanwhile() {
    let null = NullResponder::start(ANY.parse().unwrap(), 1).unwrap();
    let stopped = std::cell::Cell::new(false);
    let pause = Duration::from_millis(400);
    // A hundred stations are told in some 16 kB; it stops once, soon after requests have begun.
    let controller =
        between(null.address(), move |passed| (passed > 20_000 && !stopped.replace(true)).then_some(pause));
    let load = Load { duration: Duration::from_secs(1), ..short(controller, vec![Offer::Open(1000.0)]) };
    let measured = run(&load).unwrap();
    let report = measured.report();
    assert_eq!((measured.switches[0].offered, report.unanswered), (1000, 0));
    // Requests were due all along the pause: the wait of the median one of them is half of it, though only the first
    // was written when it began. A load that had waited for the controller would have one request that took so long.
    let waited: u64 = Vec::from(measured.latency)
        .iter()
        .filter(|(nanoseconds, _): &&(u64, u64)| *nanoseconds > 100_000_000)
        .map(|(_, count)| count)
        .sum();
    assert!(waited >= 290, "{waited} requests waited for more than a quarter of the pause");
}

#[test]
fn a_controller_that_dies_leaves_requests_unanswered_and_no_error() {
    let null = NullResponder::start(ANY.parse().unwrap(), 1).unwrap();
    let controller = between(null.address(), |passed| (passed > 20_000).then_some(Duration::MAX));
    let report = run(&short(controller, vec![Offer::Open(1000.0)])).unwrap().report();
    assert_eq!(report.disconnects, 1);
    assert!(report.unanswered > 100, "{report:?}");
    assert_eq!(report.latency_of_all.p99, None);
}

#[test]
fn nobody_there_is_an_error_that_says_where() {
    let nobody = TcpListener::bind(ANY).unwrap().local_addr().unwrap();
    let error = run(&short(nobody, vec![Offer::Window(1)])).unwrap_err().to_string();
    assert!(error.contains(&nobody.to_string()), "{error}");
}

#[test]
fn loads_that_begin_together_add_up() {
    let null = NullResponder::start(ANY.parse().unwrap(), 1).unwrap();
    let start = Some(std::time::SystemTime::now() + Duration::from_millis(300));
    let load = |process| Load { process, start, ..short(null.address(), vec![Offer::Open(500.0); 3]) };
    let other = load(1);
    let other = thread::spawn(move || run(&other).unwrap());
    let mut all = run(&load(0)).unwrap();
    all.merge(other.join().unwrap());
    let report = all.report();
    assert_eq!((report.switches, report.unanswered, report.by_second[0].offered), (6, 0, 1500));
    let mut datapaths: Vec<u64> = report.shares.iter().map(|share| share.datapath).collect();
    datapaths.dedup();
    assert_eq!(datapaths.len(), 6);
}
