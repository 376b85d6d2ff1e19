//! How long packets for a million identifiers go on by a gateway's old hardware address, once the kernel has the new one.

use crate::measure::stay_on;
use crate::ratio::median;
use plait_dataplane_bpf::{Mirror, RELAYED};
use plait_dataplane_profile::device::index;
use plait_dataplane_profile::gateway::{Gateway, IDENTIFIERS, NODES, nth};
use plait_dataplane_reference::tables::Sighting;
use plait_model_wire::number::port;
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Its addresses: alike behind the first byte, so that one that mixes both is seen.
const ADDRESSES: [[u8; 6]; 2] = [[2, 0x10, 0x10, 0x10, 0x10, 0x10], [2, 0x11, 0x11, 0x11, 0x11, 0x11]];
/// From one identifier to the next: each has its turn before one has its second, since nothing divides both numbers.
const STEP: u32 = 7919;
/// Until the last packet by the old address surely was there.
const AFTER: Duration = Duration::from_millis(30);
/// For packets that do not move at all.
const PATIENCE: Duration = Duration::from_secs(5);
/// Milliseconds in which all packets move.
const MOST: f64 = 10.0;

/// Milliseconds from before the kernel was told to the first packet by the new address, and to the last by the old one.
#[derive(Clone, Copy)]
struct Moved {
    first: f64,
    last: f64,
}

/// Changes the address so many times, while one processor sends what it can, to the overlay's identifiers and by the kernel alone
/// in turn. The bar is on the last packet by the old address, of all changes. Choice: the first by the new one is told and no bar: it may
/// be late because the sender was.
pub fn changes(count: usize) -> Result<(), Box<dyn Error>> {
    let lab = Gateway::new()?;
    // The agent has the kernel look for it, which found its own.
    lab.turn(ADDRESSES[0])?;
    thread::sleep(AFTER);
    let mut original = [0; RELAYED];
    original[36..38].copy_from_slice(&port::OVSTACK.to_be_bytes());
    let mirror = Mirror::load(&original)?;
    let door = index(&lab.gateway, Gateway::DOOR)?;
    let _sight = lab.gateway.run(|| mirror.sight_on(door).map_err(|why| why.to_string()))??;
    let socket = lab.host.run(|| UdpSocket::bind("0.0.0.0:0"))??;
    let done = AtomicBool::new(false);
    let moved = thread::scope(|scope| {
        scope.spawn(|| {
            stay_on(0);
            let mut number = 0;
            while !done.load(Ordering::Relaxed) {
                number = (number + STEP) % IDENTIFIERS;
                // What is lost on the way is not counted.
                let _ = socket.send_to(&[0; 18], (nth(number), 9));
                let _ = socket.send_to(&[0; 18], (Gateway::PLAIN, 9));
            }
        });
        let moved: Vec<_> = (1..=count).map(|change| one(&lab, &mirror, change % 2)).collect();
        done.store(true, Ordering::Relaxed);
        moved
    })
    .into_iter()
    .collect::<Result<Vec<[Moved; 2]>, Box<dyn Error>>>()?;

    println!(
        "# {IDENTIFIERS} identifiers at {NODES} nodes behind one gateway, {count} changes of its address"
    );
    println!(
        "# ms after the kernel was told, of the last packet by the old address and the first by the new one: median, 90 %, most"
    );
    let mut barred = 0.0;
    for (way, name) in [(1, "the kernel's own"), (0, "overlay")] {
        let of = |time: fn(Moved) -> f64| {
            let mut times: Vec<f64> = moved.iter().map(|moved| time(moved[way])).collect();
            times.sort_by(f64::total_cmp);
            [median(&times), times[count * 9 / 10], times[count - 1]]
        };
        let ([median, most_of, most], first) = (of(|moved| moved.last), of(|moved| moved.first));
        println!(
            "#   {name:24} {median:.3} {most_of:.3} {most:.3}   {:.3} {:.3} {:.3}",
            first[0], first[1], first[2]
        );
        barred = most;
    }
    println!("bar mac_change_ms {barred:.3} ms <= {MOST} {}", if barred <= MOST { "ok" } else { "short" });
    Ok(())
}

/// Changes the address to one of the two: when packets of the overlay moved, and those that the kernel sends by itself.
fn one(lab: &Gateway, mirror: &Mirror, to: usize) -> Result<[Moved; 2], Box<dyn Error>> {
    let old_ones = |kinds: [Sighting; 3]| kinds[1 - to].packets;
    mirror.forget_sightings()?;
    wait_for(|| Ok(mirror.sightings()?.into_iter().all(|kinds| old_ones(kinds) > 0)))?;
    let told = now();
    lab.turn(ADDRESSES[to])?;
    wait_for(|| Ok(mirror.sightings()?.into_iter().all(|kinds| kinds[to].packets > 0)))?;
    thread::sleep(AFTER);
    let since = |time: u64| time.saturating_sub(told) as f64 / 1e6;
    let mut moved = Vec::new();
    for kinds in mirror.sightings()? {
        let [new, old, mixed] = [kinds[to], kinds[1 - to], kinds[2]];
        if mixed.packets > 0 || new.first < told {
            return Err(format!("packets for another address than both, or too early: {kinds:?}").into());
        }
        moved.push(Moved { first: since(new.first), last: since(old.last) });
    }
    Ok([moved[0], moved[1]])
}

/// Waits until packets were seen, since a sender on a busy machine may pause.
fn wait_for(are_seen: impl Fn() -> Result<bool, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    while !are_seen()? {
        if start.elapsed() > PATIENCE {
            return Err("packets did not move, or there were none".into());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Nanoseconds on the programs' clock.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
