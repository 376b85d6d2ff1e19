//! Measures the link engine on this machine and holds it against its bars:
//!
//! ```text
//! cargo run --release -p plait-dataplane-links --example bars [-- --small] [NAME…]
//! ```
//!
//! Each line reads `bar NAME VALUE UNIT >=|<= BOUND ok|short`. `--small` takes fewer probes and skips what is slow.
//! Lines that begin with `# machine` say how much of the time a processor stood still under a thread that did nothing
//! but read the clock: no engine can be better than the machine under it, and a hypervisor's pauses are in every
//! figure. Names choose among `delay`, `rate`, `loss`, `tcp` and `packets`. Root is needed for class A.
#![allow(clippy::print_stdout)]

#[path = "../tests/lab/mod.rs"]
mod lab;

use lab::{A, B, End, LINK, Lab, conditions};
use plait_dataplane_links::offload::{self, Policy};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_links::{LinkConfig, Port, tap};
use plait_model_quantity::{Bandwidth, Probability, TimeSpan};
use rustix::event::{PollFd, PollFlags, poll};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let small = arguments.iter().any(|argument| argument == "--small");
    let chosen = |name: &str| {
        let names: Vec<_> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
        names.is_empty() || names.iter().any(|chosen| *chosen == name)
    };
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    println!("# Linux {}, {cpus} processors, {}", kernel.trim(), if small { "small" } else { "full" });
    for (name, run) in [
        ("delay", delay as fn(bool)),
        ("rate", rate as fn(bool)),
        ("loss", loss as fn(bool)),
        ("tcp", tcp as fn(bool)),
        ("packets", packets as fn(bool)),
    ] {
        if chosen(name) {
            run(small);
        }
    }
}

fn at_most(name: &str, value: f64, unit: &str, bound: f64) {
    let verdict = if value <= bound { "ok" } else { "short" };
    println!("bar {name} {value:.3} {unit} <= {bound} {verdict}");
}

fn at_least(name: &str, value: f64, unit: &str, bound: f64) {
    let verdict = if value >= bound { "ok" } else { "short" };
    println!("bar {name} {value:.3} {unit} >= {bound} {verdict}");
}

/// A calibrated lab, or the end of the program where none can be built.
fn lab(ends: [End; 2], settings: &[(&str, &str)]) -> Lab {
    let Some(lab) = Lab::new(ends, settings) else { std::process::exit(0) };
    match lab.engine.calibrate() {
        Ok(constants) => println!("# calibrated: {constants:?}"),
        Err(error) => println!("# not calibrated: {error}"),
    }
    lab
}

/// One-way delay error in microseconds: the mean's size, and what one probe in a hundred exceeds.
fn delay(small: bool) {
    let count = if small { 300 } else { 10_000 };
    let gap = TimeSpan::from_nanos(3_100_000);
    let lab = lab([End::Packet, End::Packet], &[]);
    let mut path = lab.path();
    let mut point = |label: &str, (mean_bound, p99_bound): (f64, f64)| {
        for asked in ["200us", "1ms", "5ms", "20ms", "100ms"] {
            lab.engine.set(LINK, 0, conditions(&[("delay", asked)])).unwrap();
            let name = format!("{label} {asked}");
            let asked: TimeSpan = asked.parse().unwrap();
            let delays = untainted(&lab, &name, || {
                standstill();
                path.delays(count, gap, asked).unwrap()
            });
            let mut errors: Vec<f64> =
                delays.iter().map(|delay| (*delay as f64 - asked.as_nanos() as f64) / 1000.0).collect();
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            errors.sort_unstable_by(f64::total_cmp);
            let rank = |share: f64| errors[(errors.len() as f64 * share) as usize];
            println!(
                "# {name}: {} probes, mean {mean:.1}, p1 {:.1}, p50 {:.1}, p99 {:.1}, max {:.1} us",
                errors.len(),
                rank(0.01),
                rank(0.5),
                rank(0.99),
                errors[errors.len() - 1]
            );
            let name = name.replace(' ', "-");
            at_most(&format!("delay-{name}-mean"), mean.abs(), "us", mean_bound);
            at_most(&format!("delay-{name}-p99"), rank(0.99), "us", p99_bound);
        }
    };
    // Without real-time scheduling the bars are those of class B.
    let real_time = lab.engine.report().unwrap().real_time;
    point("idle", if real_time { (5.0, 50.0) } else { (30.0, 200.0) });
    if !real_time {
        return;
    }

    let (a, _b) = lab.datagrams();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| flood(&[a], 1472, 100e6 / 8.0 / 1514.0, &stop));
        point("beside-100Mbit", (20.0, 300.0));
        stop.store(true, Ordering::Relaxed);
    });

    // Fifty more links, each with a fiftieth of 10,000 packets a second.
    let mut hosts: Vec<(Namespace, Namespace)> = Vec::new();
    let mut senders = Vec::new();
    for id in 100..150 {
        let (left, right) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        for (host, peer, address) in [(&left, format!("l{id}"), A), (&right, format!("r{id}"), B)] {
            host.veth("eth0", &lab.middle, &peer).unwrap();
            host.address("eth0", address, 24).unwrap();
        }
        let ends = [format!("l{id}"), format!("r{id}")].map(|ifname| Port::Packet { ifname });
        let directions = [conditions(&[("delay", "10ms")]), conditions(&[("delay", "10ms")])];
        lab.engine
            .add_link(LinkConfig { id, name: format!("link {id}"), ends, directions, seed: 1 })
            .unwrap();
        let sender = left.run(|| UdpSocket::bind((A, 4000)).unwrap()).unwrap();
        sender.connect((B, 4000)).unwrap();
        senders.push(sender);
        hosts.push((left, right));
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| flood(&senders, 64, 10_000.0, &stop));
        point("beside-50-links", (20.0, 300.0));
        stop.store(true, Ordering::Relaxed);
    });
    let report = lab.engine.report().unwrap();
    println!("# class {:?}, lateness {:?}, missed {}", report.class, report.lateness, report.missed);
}

/// What was measured while the engine did what the model said. As with an experiment's runs, what a tainted second is a part
/// of is made again, at most twice.
fn untainted<T>(lab: &Lab, name: &str, mut measure: impl FnMut() -> T) -> T {
    let tainted = || lab.engine.report().unwrap().tainted.len();
    for _ in 0..2 {
        let before = tainted();
        let measured = measure();
        if tainted() == before {
            return measured;
        }
        println!("# {name}: the engine was late by its own account, so it is made again");
    }
    measure()
}

/// Says how much of the time a processor stands still while a thread only reads the clock.
fn standstill() {
    const STEP: Duration = Duration::from_micros(20);
    let start = Instant::now();
    let (mut last, mut still, mut longest) = (start, Duration::ZERO, Duration::ZERO);
    while last - start < Duration::from_millis(500) {
        let now = Instant::now();
        if now - last > STEP {
            still += now - last;
            longest = longest.max(now - last);
        }
        last = now;
    }
    let share = still.as_secs_f64() / (last - start).as_secs_f64() * 100.0;
    println!(
        "# machine: stood still {share:.2} % of half a second, at most {} us at a time",
        longest.as_micros()
    );
}

/// Sends datagrams round all sockets at a total rate, a few at a time, until told to stop.
fn flood(sockets: &[UdpSocket], len: usize, per_second: f64, stop: &AtomicBool) {
    let payload = vec![0; len];
    let start = Instant::now();
    let mut sent = 0usize;
    while !stop.load(Ordering::Relaxed) {
        let due = (start.elapsed().as_secs_f64() * per_second) as usize;
        while sent < due {
            // Nobody listens, so refusals come back.
            let _ = sockets[sent % sockets.len()].send(&payload);
            sent += 1;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
}

/// Rates as bytes between the first and the last arrival.
fn rate(small: bool) {
    let rates: &[(&str, f64)] =
        &[("64kbit", 0.01), ("1Mbit", 0.01), ("10Mbit", 0.01), ("100Mbit", 0.01), ("1Gbit", 0.03)];
    let lab = lab([End::Packet, End::Packet], &[]);
    lab.a.run(|| offload::set("eth0", Policy::WholePackets)).unwrap().unwrap();
    for (rate, tolerance) in &rates[usize::from(small)..] {
        lab.engine.set(LINK, 0, conditions(&[("rate", rate), ("queue", "100ms")])).unwrap();
        let asked: Bandwidth = rate.parse().unwrap();
        let measured = match lab.path().measure_rate(asked, TimeSpan::ZERO, 1514, *tolerance) {
            Ok(measured) => measured,
            Err(error) => {
                println!("# {rate}: {error}");
                at_most(&format!("rate-{rate}-error"), 100.0, "%", tolerance * 100.0);
                continue;
            }
        };
        let error = (measured.got / measured.asked - 1.0).abs();
        println!("# {rate}: {:.0} bit/s from {} packets", measured.got, measured.samples);
        at_most(&format!("rate-{rate}-error"), error * 100.0, "%", tolerance * 100.0);
    }
}

/// Loss inside its interval, and the same packets each time.
fn loss(small: bool) {
    let count = if small { 20_000 } else { 100_000 };
    let gap = TimeSpan::from_nanos(50_000);
    let lab = lab([End::Packet, End::Packet], &[("loss", "1%")]);
    let asked = Probability::new(0.01).unwrap();
    let measured = lab.path().measure_loss(asked, 0.0, count, gap, TimeSpan::ZERO).unwrap();
    println!("# loss {:.4} in {:?} of {count}", measured.got, measured.interval);
    at_least("loss-inside-interval", f64::from(u8::from(measured.within)), "yes", 1.0);
    let mut runs = Vec::new();
    for _ in 0..3 {
        lab.engine.reset(LINK).unwrap();
        runs.push(lab.path().lost(count, gap, TimeSpan::ZERO).unwrap());
    }
    let same = runs.iter().all(|lost| *lost == runs[0]);
    println!("# lost {:?}", runs.iter().map(Vec::len).collect::<Vec<_>>());
    at_least("loss-same-per-seed", f64::from(u8::from(same)), "yes", 1.0);
}

/// Two hosts joined by one veth and nothing else.
fn wire() -> (Namespace, Namespace) {
    let (a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    a.veth("eth0", &b, "eth0").unwrap();
    a.address("eth0", A, 24).unwrap();
    b.address("eth0", B, 24).unwrap();
    (a, b)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Two hosts joined by two TAPs and a thread that does nothing but read from one and write to the other: a link engine
/// that does nothing. It runs until the program ends.
fn relay() -> (Namespace, Namespace) {
    let (a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let mut taps = [(&a, A), (&b, B)].map(|(host, address)| {
        let device = host.run(|| tap::create("eth0")).unwrap().unwrap();
        tap::set_trains(device.as_fd(), true).unwrap();
        host.up("eth0").unwrap();
        host.address("eth0", address, 24).unwrap();
        File::from(device)
    });
    std::thread::spawn(move || {
        let mut packet = vec![0; 68 * 1024];
        loop {
            let mut ready = taps.each_ref().map(|tap| PollFd::new(tap, PollFlags::IN));
            poll(&mut ready, None).unwrap();
            let ready = ready.map(|tap| tap.revents().contains(PollFlags::IN));
            for from in [0, 1].into_iter().filter(|from| ready[*from]) {
                if let Ok(read) = taps[from].read(&mut packet) {
                    let _ = taps[1 - from].write(&packet[..read]);
                }
            }
        }
    });
    (a, b)
}

/// TCP over an unimpaired link against TCP over one veth, in alternation.
fn tcp(small: bool) {
    let rounds = if small { 3 } else { 7 };
    let (a, b) = wire();
    let (left, right) = relay();
    let taps = lab([End::Tap, End::Tap], &[]);
    let sockets = lab([End::Packet, End::Packet], &[]);
    let (mut direct, mut tap, mut packet, mut bare) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        direct.push(tcp_rate(&a, &b));
        bare.push(tcp_rate(&left, &right));
        tap.push(tcp_rate(&taps.a, &taps.b));
        packet.push(tcp_rate(&sockets.a, &sockets.b));
    }
    let congestion = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default();
    println!(
        "# Gbit/s of {}: veth {direct:.1?}, TAP {tap:.1?}, packet sockets {packet:.1?}",
        congestion.trim()
    );
    let (direct, tap, bare_rate) = (median(direct), median(tap), median(bare.clone()));
    println!("# a bare loop from TAP to TAP: {bare:.1?}, {:.3} x veth", bare_rate / direct);
    at_least("tcp-tap-to-bare-loop", tap / bare_rate, "x loop", 1.0);
    at_least("tcp-tap", tap / direct, "x veth", 0.85);
    at_least("tcp-packet", median(packet) / direct, "x veth", 0.75);
}

/// Gbit/s of one TCP connection over two seconds.
fn tcp_rate(a: &Namespace, b: &Namespace) -> f64 {
    let listener = b.run(|| TcpListener::bind((B, 5001)).unwrap()).unwrap();
    let mut client = a.run(|| TcpStream::connect((B, 5001)).unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    std::thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            let mut buffer = vec![0; 1 << 17];
            let mut bytes = 0u64;
            let start = Instant::now();
            while let Ok(read) = server.read(&mut buffer) {
                if read == 0 {
                    break;
                }
                bytes += read as u64;
            }
            bytes as f64 * 8.0 / start.elapsed().as_secs_f64() / 1e9
        });
        let buffer = vec![0; 1 << 17];
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            client.write_all(&buffer).unwrap();
        }
        drop(client);
        receiving.join().unwrap()
    })
}

/// Frames of 64 bytes through one thread: at 100,000 a second without loss, and as many as go.
fn packets(small: bool) {
    let rounds = if small { 3 } else { 7 };
    let (a, b) = wire();
    let taps = lab([End::Tap, End::Tap], &[]);
    let sockets = lab([End::Packet, End::Packet], &[]);
    let (mut direct, mut tap, mut packet) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        direct.push(packet_rate(&a, &b, None).2);
        tap.push(packet_rate(&taps.a, &taps.b, None).2);
        packet.push(packet_rate(&sockets.a, &sockets.b, None).2);
    }
    println!("# packets/s: veth {direct:.0?}, TAP {tap:.0?}, packet sockets {packet:.0?}");
    let direct = median(direct);
    at_least("packets-tap", median(tap) / direct, "x veth", 0.7);
    at_least("packets-packet", median(packet) / direct, "x veth", 0.7);
    for (name, lab) in [("tap", &taps), ("packet", &sockets)] {
        let (sent, received, rate) = packet_rate(&lab.a, &lab.b, Some(105_000.0));
        println!("# {name}: {sent} sent, {} missed", lab.engine.stats(LINK).unwrap().ends[0].missed);
        at_least(&format!("packets-{name}-paced"), rate, "/s", 100_000.0);
        at_most(&format!("packets-{name}-lost"), sent as f64 - received, "packets", 0.0);
    }
}

/// Packets that `eth0` of the calling thread's namespace has received.
fn device_count() -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = table.lines().find_map(|line| line.trim().strip_prefix("eth0:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// Sends datagrams in frames of 64 bytes for two seconds to a program that reads them. Returns how many were sent, how
/// many the far device received, and how many of these a second.
fn packet_rate(a: &Namespace, b: &Namespace, per_second: Option<f64>) -> (u64, f64, f64) {
    let from = a.run(|| UdpSocket::bind((A, 4001)).unwrap()).unwrap();
    let to = b.run(|| UdpSocket::bind((B, 4001)).unwrap()).unwrap();
    from.connect((B, 4001)).unwrap();
    to.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| while to.recv(&mut [0; 64]).is_ok() {});
        let payload = [0; 22];
        let _ = from.send(&payload);
        std::thread::sleep(Duration::from_millis(100));
        let (start, before) = (Instant::now(), b.run(device_count).unwrap());
        let mut sent = 0u64;
        let mut elapsed = 0.0;
        while elapsed < 2.0 {
            for _ in 0..16 {
                from.send(&payload).unwrap();
                sent += 1;
            }
            elapsed = start.elapsed().as_secs_f64();
            while per_second.is_some_and(|rate| sent as f64 > elapsed * rate) {
                elapsed = start.elapsed().as_secs_f64();
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        std::thread::sleep(Duration::from_millis(100));
        let received = (b.run(device_count).unwrap() - before) as f64;
        (sent, received, received / seconds)
    })
}
