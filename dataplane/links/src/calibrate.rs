//! Measuring the engine's own constant lateness on devices that nobody else knows.

use crate::engine::link::Link;
use crate::engine::worker::{CALIBRATION_LINK, Command};
use crate::engine::{Calibration, Handle};
use crate::netlink::create_veth;
use crate::port::{OpenPort, Port};
use crate::{netlink, sys, tap};
use plait_model_link::Conditions;
use plait_model_quantity::TimeSpan;
use std::io;
use std::thread;

/// The delay of the link that is measured: long enough to sleep and to spin.
const DELAY: u64 = 1_000_000;
/// Packets for each kind of port, and the time between two.
const SAMPLES: usize = 100;
const GAP: std::time::Duration = std::time::Duration::from_micros(2_100);

/// Measures what a worker adds to a delay, for each kind of port that packets may come from. The worker must have no
/// calibration yet. The median counts, so that a few disturbed packets do not.
pub(crate) fn measure(worker: &Handle) -> io::Result<Calibration> {
    thread::scope(|scope| {
        let measuring =
            thread::Builder::new().name("plait-calibrate".to_owned()).spawn_scoped(scope, || {
                sys::tighten_timers();
                sys::enter_new()?;
                create_veth("far", "near")?;
                create_veth("out", "in")?;
                let (packet, send) = with_link(worker, Port::Packet { ifname: "near".to_owned() }, "far")?;
                // Who may not open /dev/net/tun has no TAP to correct either.
                let tap = match tap::create("tap") {
                    Ok(device) => {
                        netlink::prepare("tap")?;
                        Some(with_link(worker, Port::Tap { fd: device }, "tap")?.0)
                    }
                    Err(_) => None,
                };
                Ok(Calibration { packet, tap, send, samples: SAMPLES as u64 })
            })?;
        measuring.join().unwrap_or_else(|_| Err(io::Error::other("the measuring thread failed")))
    })
}

/// Joins `from` to the veth `out`–`in` by a link with a delay, and sends packets from `sender` to `in`. Returns how
/// late they came, and how long the worker took to send one.
fn with_link(worker: &Handle, from: Port, sender: &str) -> io::Result<(TimeSpan, TimeSpan)> {
    let ends = [OpenPort::open(from)?, OpenPort::open(Port::Packet { ifname: "out".to_owned() })?];
    let conditions = Conditions { delay: TimeSpan::from_nanos(DELAY), ..Conditions::default() };
    let now = sys::monotonic();
    let link =
        Link::new(CALIBRATION_LINK, "calibration".to_owned(), 0, ends, [conditions.clone(), conditions], now);
    worker.ask(|reply| Command::Add(Box::new(link), reply))??;
    let lateness = send_and_receive(sender);
    let link = worker.ask(|reply| Command::Remove(CALIBRATION_LINK, reply))?;
    let send = link.map_or(0, |link| link.sends[0].typical);
    Ok((lateness?, TimeSpan::from_nanos(send)))
}

fn send_and_receive(sender: &str) -> io::Result<TimeSpan> {
    let mut from = crate::probe::Endpoint::open(sender)?;
    let mut to = crate::probe::Endpoint::open("in")?;
    let mut late: Vec<u64> = Vec::with_capacity(SAMPLES);
    for number in 0..SAMPLES as u64 {
        let sent = from.send(number, 64)?;
        thread::sleep(GAP);
        while let Some(arrival) = to.receive()? {
            if arrival.number == number {
                late.push(arrival.at.saturating_sub(sent).saturating_sub(DELAY));
            }
        }
    }
    late.sort_unstable();
    late.get(late.len() / 2).copied().map(TimeSpan::from_nanos).ok_or_else(|| {
        io::Error::new(io::ErrorKind::TimedOut, "no packet came through the link that calibrates the engine")
    })
}
