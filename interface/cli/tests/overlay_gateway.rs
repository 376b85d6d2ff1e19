//! A million identifiers behind one gateway, in the kernel's own tables and under traffic.

mod common;

use common::{Host, Person, eventually, installed};
use plait_dataplane_bpf::{Table, names};
use plait_dataplane_overlay::agent::LAYOUT;
use plait_dataplane_reference::mapped;
use plait_model_wire::ethernet::Frame;
use plait_model_wire::{ipv4, udp};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::PathBuf;

const IDENTIFIERS: u32 = 1_000_000;
/// The network that they are of.
const FIRST: Ipv4Addr = Ipv4Addr::new(20, 0, 0, 0);

/// The gateway's addresses, which have no byte in common but the first.
const ADDRESSES: [[u8; 6]; 2] = [[2, 0x11, 0x11, 0x11, 0x11, 0x11], [2, 0x22, 0x22, 0x22, 0x22, 0x22]];
const CHANGES: usize = 10;

/// A packet that the gateway got.
struct Got {
    /// Nanoseconds of the day's clock.
    at: u128,
    to: [u8; 6],
    /// Whether the overlay sent it, or the kernel by itself.
    is_overlays: bool,
    identifier: Option<Ipv4Addr>,
}

/// What tcpdump wrote, in nanoseconds.
fn read(file: &[u8]) -> Vec<Got> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xa1b2_3c4d);
    let (mut at, mut all) = (24, Vec::new());
    while at + 16 <= file.len() {
        let length = word(at + 8) as usize;
        let time = u128::from(word(at)) * 1_000_000_000 + u128::from(word(at + 4));
        let bytes = &file[at + 16..at + 16 + length];
        at += 16 + length;
        let frame = Frame::parse(bytes).unwrap();
        let outer = ipv4::Header::LENGTH + udp::Header::LENGTH;
        let port = u16::from_be_bytes(frame.payload()[ipv4::Header::LENGTH + 2..][..2].try_into().unwrap());
        let inner = frame.payload().get(outer + 20 + 16..outer + 20 + 20);
        let is_overlays = port == plait_model_wire::number::port::OVSTACK;
        let identifier =
            inner.filter(|_| is_overlays).map(|inner| <[u8; 4]>::try_from(inner).unwrap().into());
        all.push(Got { at: time, to: frame.destination().0, is_overlays, identifier });
    }
    all
}

/// Sends small packets to one address after the other of so many, for seconds.
fn send(first: Ipv4Addr, count: u32, seconds: u32) -> String {
    format!(
        "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nend = time.time() + {seconds}\nn = 0\n\
         while time.time() < end:\n for _ in range(64):\n  n = (n + 7919) % {count}\n  \
         s.sendto(b'x' * 18, (socket.inet_ntoa((n + {}).to_bytes(4, 'big')), 9))\n",
        u32::from(first)
    )
}

#[test]
fn a_gateways_new_address_moves_a_million_identifiers_and_no_packet_mixes_both() {
    let Some(person) = Person::root() else { return };
    if !installed("tcpdump") {
        return;
    }
    let mut hosts = Host::two(&person);
    hosts[0].start_agent_with(&["--identifiers", "1100000"]);
    let [a, gateway] = &hosts;
    let turn = |address: [u8; 6]| {
        let [x, y, ..] = address;
        format!(
            "ip neigh replace 192.0.2.2 lladdr {x:02x}:{y:02x}:{y:02x}:{y:02x}:{y:02x}:{y:02x} dev eth0 nud permanent"
        )
    };
    a.sh("ip route add 203.0.113.0/24 via 192.0.2.2");
    a.sh(&turn(ADDRESSES[0]));
    a.overlay("config application ethernet --carries ip");
    a.identify("192.0.2.1");
    a.overlay("node add 10.0.0.2 203.0.113.1");
    a.overlay("route add 10.0.0.2 --via 10.0.0.2");
    a.device("--vni 1");
    // One neighbour of the device, not one for each address.
    a.sh("ip route add 20.0.0.0/8 via 10.1.0.250 dev ov0 onlink");
    a.overlay(&format!("fib add ov0 {FIRST} 10.0.0.2"));
    a.sh(&turn(ADDRESSES[0]));

    let pins = format!("/proc/{}/root/sys/fs/bpf/plait-overlay/default/layout-{LAYOUT}", a.pid());
    let fib = Table::pinned(&PathBuf::from(pins), &names::FIB).unwrap();
    let mut key = fib.keys().next().unwrap();
    let entry = fib.get(&key).unwrap().unwrap();
    for number in 1..IDENTIFIERS {
        key.identifier = mapped(Ipv4Addr::from(u32::from(FIRST) + number).into());
        fib.set(&key, &entry).unwrap();
    }

    let capture = gateway.start(&[
        "tcpdump",
        "-i",
        "eth0",
        "-Z",
        "root",
        "-B",
        "65536",
        "-s",
        "96",
        "--time-stamp-precision=nano",
        "-w",
        "/run/got.pcap",
        "udp and (dst port 60002 or dst port 9)",
    ]);
    let listens = || gateway.sh("cat /proc/net/packet").lines().count() > 1;
    assert!(eventually(listens));
    let overlays = a.start(&["/usr/bin/python3", "-c", &send(FIRST, IDENTIFIERS, 3)]);
    let kernels = a.start(&["/usr/bin/python3", "-c", &send(Ipv4Addr::new(203, 0, 113, 9), 1, 3)]);
    std::thread::sleep(std::time::Duration::from_millis(400));
    let lines: Vec<String> = (1..=CHANGES)
        .map(|change| format!("date +%s%N; {}; sleep 0.2", turn(ADDRESSES[change % 2])))
        .collect();
    let begun: Vec<u128> = a.sh(&lines.join("\n")).lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(begun.len(), CHANGES);
    overlays.wait().fine();
    kernels.wait().fine();
    capture.signal(rustix::process::Signal::INT);
    capture.wait();
    let all = read(&std::fs::read(format!("/proc/{}/root/run/got.pcap", gateway.pid())).unwrap());

    let identifiers: BTreeSet<Ipv4Addr> = all.iter().filter_map(|got| got.identifier).collect();
    assert!(identifiers.len() > 10_000, "{} identifiers of {} packets", identifiers.len(), all.len());
    let mixed = all.iter().find(|got| !ADDRESSES.contains(&got.to));
    assert!(mixed.is_none(), "{:x?}", mixed.map(|got| got.to));
    let mut times = [Vec::new(), Vec::new()];
    for (change, (begin, end)) in begun.iter().zip(begun.iter().skip(1).chain([&u128::MAX])).enumerate() {
        let new = ADDRESSES[(change + 1) % 2];
        for (is_overlays, times) in [true, false].into_iter().zip(&mut times) {
            let of =
                all.iter().filter(|got| got.is_overlays == is_overlays && got.at >= *begin && got.at < *end);
            let of: Vec<&Got> = of.collect();
            let moved = of.iter().position(|got| got.to == new).expect("packets by the new address");
            assert!(of[moved..].iter().all(|got| got.to == new), "none goes back to the old one");
            times.push((of[moved].at - begin) as f64 / 1e6);
        }
    }
    // What `ip` takes to say it is in both.
    let behind = times[0].iter().zip(&times[1]).map(|(overlay, kernel)| overlay - kernel).collect();
    let [overlay, kernel, behind] =
        [times[0].clone(), times[1].clone(), behind].map(|mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            (times[CHANGES / 2], times[CHANGES - 1])
        });
    println!(
        "{IDENTIFIERS} identifiers, {} packets to {} of them: moved {:.2} ms (most {:.2}) after `ip` began, the kernel's own {:.2} \
         (most {:.2}): {:.2} ms (most {:.2}) later, ratio {:.2}",
        all.len(),
        identifiers.len(),
        overlay.0,
        overlay.1,
        kernel.0,
        kernel.1,
        behind.0,
        behind.1,
        overlay.0 / kernel.0
    );
}
