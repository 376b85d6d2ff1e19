//! A results folder as a run would leave it, drawn from a crude model of two flows: for tests of the report and for
//! work on its look.

use plait_testbed_experiment::results::records::{Iperf3Record, LinkRecord, TcpRecord};
use plait_testbed_experiment::results::{
    CommandRecord, EventKind, EventRecord, LinkSummary, Machine, NetworkSummary, NodeSummary,
    RESULTS_VERSION, Results, SamplesSummary,
};
use plait_testbed_experiment::section::{Expect, Question};
use plait_testbed_experiment::world::{
    AccuracyClass, Description, Direction, Ended, LoggerSummary, Reason, Verdict, VerdictWord, Verification,
};
use plait_testbed_runtime::sample::TcpState;
use serde_json::json;
use std::fs;
use std::path::Path;

const END: f64 = 60.0;
const STEP: f64 = 0.1;

/// The manifest of the folder.
pub fn results() -> Results {
    let node =
        |name: &str, role: &str| NodeSummary { name: name.into(), kind: role.into(), role: role.into() };
    let link = |name: &str, ends: [&str; 2], conditions: [serde_json::Value; 2]| LinkSummary {
        name: name.into(),
        ends: ends.map(str::to_owned),
        interfaces: ["eth0".into(), "eth1".into()],
        conditions,
    };
    let both = |conditions: serde_json::Value| [conditions.clone(), conditions];
    let command =
        |name: &str, node: &str, exec: &str, folder: &str, span: (f64, f64), background| CommandRecord {
            name: name.into(),
            node: node.into(),
            exec: exec.into(),
            folder: format!("commands/{folder}"),
            asked_s: span.0,
            started_s: Some(span.0 + 0.003),
            finished_s: Some(span.1),
            ended: Some(if background { Ended::Stopped } else { Ended::Exit(0) }),
            expect: Expect::Code(0),
            background,
            passed: true,
        };
    let event = |at: f64, kind, label: &str, link: Option<&str>| EventRecord {
        asked_s: at,
        actual_s: at + 0.0007,
        kind,
        label: label.into(),
        link: link.map(str::to_owned),
        direction: link.map(|_| Direction::Both),
        node: None,
        error: None,
    };
    let verified = |link: &str, property: &str, unit: &str, asked: f64, got: f64, interval| Verification {
        link: link.into(),
        direction: Direction::Forward,
        property: property.into(),
        unit: unit.into(),
        asked,
        got,
        interval,
        samples: 1000,
        holds: true,
    };
    Results {
        plait_results: RESULTS_VERSION,
        plait: "0.1.0".into(),
        network: NetworkSummary {
            name: "quickstart".into(),
            file: "quickstart.yaml".into(),
            sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
            files: Default::default(),
            seed: 7,
            nodes: vec![
                node("alice", "host"),
                node("bob", "host"),
                node("west", "router"),
                node("east", "router"),
                node("server", "host"),
            ],
            links: vec![
                link("alice-west", ["alice", "west"], [json!({}), json!({})]),
                link("bob-west", ["bob", "west"], [json!({}), json!({})]),
                link(
                    "west-east",
                    ["west", "east"],
                    both(json!({"rate": "20Mbit", "delay": "10ms", "queue": "50ms"})),
                ),
                link(
                    "west-east.2",
                    ["west", "east"],
                    [
                        json!({"rate": "10Mbit", "delay": "40ms", "loss": "0.5%"}),
                        json!({"rate": "4Mbit", "delay": "40ms", "loss": "0.5%"}),
                    ],
                ),
                link("east-server", ["east", "server"], [json!({}), json!({})]),
            ],
            lans: Vec::new(),
        },
        question: Question {
            title: Some("BBR against CUBIC when the short line fails".into()),
            question: Some(
                "Two downloads share a short clean line. At half time it fails and both move to a long, lossy one. \
                 Who keeps its share, and how long does the queue stand?"
                    .into(),
            ),
            notes: Vec::new(),
        },
        machine: Machine {
            kernel: "6.18.44".into(),
            cpu: "AMD EPYC 9R14".into(),
            cores: 2,
            memory_bytes: 24 << 30,
        },
        world: Description {
            kind: "testbed".into(),
            accuracy: Some(AccuracyClass::A),
            kept_awake: false,
            left_out: Vec::new(),
            addresses: vec![
                ("10.0.0.1".parse().unwrap(), "alice".into()),
                ("10.0.0.5".parse().unwrap(), "bob".into()),
                ("10.0.1.1".parse().unwrap(), "server".into()),
            ],
        },
        started: "2026-11-21T21:00:00Z".into(),
        duration_s: END,
        interrupted: false,
        passed: true,
        failures: Vec::new(),
        verdict: Verdict::default(),
        warmup_s: 0.0,
        metrics: Default::default(),
        assertions: Vec::new(),
        verification: vec![
            verified("west-east", "delay", "ms", 10.0, 10.004, Some(0.002)),
            verified("west-east", "rate", "Mbit/s", 20.0, 19.98, Some(0.01)),
            verified("west-east.2", "delay", "ms", 40.0, 40.011, Some(0.003)),
            verified("west-east.2", "rate", "Mbit/s", 10.0, 9.99, Some(0.01)),
            verified("west-east.2", "loss", "%", 0.5, 0.48, Some(0.14)),
        ],
        commands: vec![
            command("server", "server", "iperf3 -s", "01-server", (0.0, 60.0), true),
            command("bbr", "alice", "iperf3 -c server -t 56 -C bbr", "02-bbr", (2.0, 58.2), false),
            command("cubic", "bob", "iperf3 -c server -p 5202 -t 52 -C cubic -J", "03-cubic", (6.0, 58.3), false),
            command("ping", "alice", "ping -i 0.2 -c 280 server", "04-ping", (2.0, 58.0), false),
        ],
        events: vec![
            event(0.0, EventKind::Command, "server on server", None),
            event(2.0, EventKind::Command, "bbr on alice", None),
            event(2.0, EventKind::Command, "ping on alice", None),
            event(6.0, EventKind::Command, "cubic on bob", None),
            event(15.0, EventKind::Set, "west-east: delay 20ms", Some("west-east")),
            event(30.0, EventKind::Fail, "west-east fails", Some("west-east")),
            event(50.0, EventKind::Recover, "west-east recovers", Some("west-east")),
        ],
        samples: SamplesSummary {
            tcp_interval_s: Some(STEP),
            links_interval_s: Some(STEP),
            interfaces_interval_s: None,
            rows: LoggerSummary { kept: 3600, missed: 0 },
            packets: LoggerSummary::default(),
        },
        fates: Vec::new(),
        links: serde_json::Value::Null,
    }
}

/// Taints the verdict of a manifest.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub fn taint(results: &mut Results) {
    let reason = |seconds, link: Option<&str>, why: &str| Reason {
        seconds,
        link: link.map(str::to_owned),
        why: why.into(),
    };
    results.verdict = Verdict {
        word: VerdictWord::Tainted,
        reasons: vec![
            reason(12.0, Some("west-east"), "packets left 1.8 ms late"),
            reason(41.0, None, "the engine got no processor for 12 ms"),
        ],
    };
}

/// Writes the folder, `results.json` last.
pub fn write(folder: &Path, results: &Results) {
    fs::create_dir_all(folder.join("samples")).unwrap();
    samples(&folder.join("samples"));
    for command in &results.commands {
        let place = folder.join(&command.folder);
        fs::create_dir_all(&place).unwrap();
        let text: String =
            (0..80).map(|line| format!("[  5] {line:>2}.00-{}.00 sec  1.12 MBytes\n", line + 1)).collect();
        fs::write(place.join("stdout"), text).unwrap();
        fs::write(place.join("stderr"), "").unwrap();
    }
    fs::write(folder.join("network.yaml"), "plait: 1\nname: quickstart\n").unwrap();
    fs::write(folder.join("results.json"), serde_json::to_vec_pretty(results).unwrap()).unwrap();
}

/// A generator of the same numbers every time (SplitMix64).
struct Dice(u64);

impl Dice {
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Two flows over one bottleneck that changes: one paces at its share, the other climbs until the queue drops.
fn samples(folder: &Path) {
    let mut tcp = csv::Writer::from_path(folder.join("tcp.csv")).unwrap();
    let mut links = csv::Writer::from_path(folder.join("links.csv")).unwrap();
    let mut iperf3 = csv::Writer::from_path(folder.join("iperf3.csv")).unwrap();
    let mut dice = Dice(7);
    let mut queue = 0.0f64;
    let mut cwnd = 10.0f64;
    let mut acked = [0.0f64; 2];
    let mut retransmits = [0u32; 2];
    // Of each long link: packets, bytes, lost, dropped.
    let mut carried = [[0u64; 4]; 2];
    let (mut second, mut before) = (7.0, 0.0);
    for step in 0..(END / STEP) as u32 {
        let now = f64::from(step) * STEP;
        let long = (30.0..50.0).contains(&now);
        let dead = (30.0..31.2).contains(&now) || (50.0..50.4).contains(&now);
        let (rate, base, limit): (f64, f64, f64) = if long {
            (10e6, 80.0, 62_500.0)
        } else {
            (20e6, if now < 15.0 { 20.0 } else { 30.0 }, 125_000.0)
        };
        let on = [(2.2..58.0).contains(&now), (6.2..58.0).contains(&now)];
        let rtt = base + queue * 8.0 / rate * 1e3;
        let wanted = [
            if on[0] {
                rate * (0.5 + 0.42 * f64::from(u8::from(!on[1] || long))) * (0.94 + 0.12 * dice.draw())
            } else {
                0.0
            },
            if on[1] { cwnd * 1448.0 * 8.0 / (rtt / 1e3) } else { 0.0 },
        ];
        let offered: f64 = if dead { 0.0 } else { wanted.iter().sum() };
        queue = (queue + (offered - rate) * STEP / 8.0).max(0.0);
        let mut dropped = 0u64;
        if queue > limit {
            dropped = ((queue - limit) / 1514.0).ceil() as u64;
            queue = limit;
            cwnd = (cwnd * 0.7).max(4.0);
            retransmits[1] += dropped as u32;
        } else if on[1] && !dead {
            cwnd += if cwnd < 20.0 { 3.0 } else { STEP * 1e3 / rtt * 0.9 };
        }
        let mut lost = 0u64;
        if long && dice.draw() < 0.35 {
            lost = 1 + (dice.draw() * 3.0) as u64;
            cwnd = (cwnd * 0.75).max(6.0);
            retransmits[0] += lost as u32;
        }
        let served = offered.min(rate) * STEP / 8.0 * 0.956;
        for flow in 0..2 {
            if offered > 0.0 {
                acked[flow] += served * wanted[flow] / offered;
            }
        }
        let index = usize::from(long);
        carried[index][0] += (served / 1448.0) as u64;
        carried[index][1] += (served * 1.046) as u64;
        carried[index][2] += lost;
        carried[index][3] += dropped;
        for (flow, (node, local, control)) in
            [("alice", "10.0.0.1:40001", "bbr"), ("bob", "10.0.0.5:40002", "cubic")].into_iter().enumerate()
        {
            if !on[flow] {
                continue;
            }
            tcp.serialize(TcpRecord {
                time_s: now,
                node: node.into(),
                local: local.into(),
                remote: format!("10.0.1.1:{}", 5201 + flow),
                state: TcpState::Established,
                congestion_control: control.into(),
                cwnd_packets: if flow == 0 {
                    (wanted[0] * base / 1e3 / 8.0 / 1448.0 * 2.0) as u32
                } else {
                    cwnd as u32
                },
                ssthresh_packets: None,
                srtt_ms: rtt + dice.draw(),
                rttvar_ms: 2.0,
                min_rtt_ms: Some(base),
                rto_ms: 230.0,
                mss_bytes: 1448,
                unacked_packets: 20,
                lost_packets: 0,
                retransmits: retransmits[flow],
                delivery_rate_bps: Some(wanted[flow] as u64),
                pacing_rate_bps: None,
                application_limited: Some(false),
                bytes_acked: Some(acked[flow] as u64),
                bytes_received: Some(37),
                bytes_sent: None,
            })
            .unwrap();
        }
        for (position, name) in ["west-east", "west-east.2"].into_iter().enumerate() {
            let waiting = if position == index && !dead { queue as u64 } else { 0 };
            for direction in [Direction::Forward, Direction::Reverse] {
                let forward = direction == Direction::Forward;
                let [packets, bytes, lost, queue_dropped] = carried[position];
                links
                    .serialize(LinkRecord {
                        time_s: now,
                        link: name.into(),
                        direction,
                        packets: if forward { packets } else { packets / 2 },
                        bytes: if forward { bytes } else { packets * 33 },
                        lost: if forward { lost } else { 0 },
                        queue_dropped: if forward { queue_dropped } else { 0 },
                        marked: 0,
                        queue_packets: if forward { waiting / 1514 } else { 0 },
                        queue_bytes: if forward { waiting } else { 0 },
                    })
                    .unwrap();
            }
        }
        if now >= second && now < 58.0 {
            iperf3
                .serialize(Iperf3Record {
                    time_s: now,
                    command: "03-cubic".into(),
                    node: "bob".into(),
                    stream: 5,
                    seconds: 1.0,
                    bytes: (acked[1] - before) as u64,
                    throughput_bps: (acked[1] - before) * 8.0,
                    retransmits: Some(0),
                })
                .unwrap();
            before = acked[1];
            second += 1.0;
        }
    }
}
