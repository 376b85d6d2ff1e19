//! What leaves is valid at every level, as it would be on a wire.

mod row;

use plait_control_paths::Operation;
use plait_dataplane_paths::{Encapsulation, Options, PathDrop, Relay};
use row::capture::Capture;
use row::frame::{stream_bytes, unstacked};
use row::{BYTES, Row, SHARED, bound, cases, left_station, pattern, until, whole};
use std::io::Write;
use std::net::{IpAddr, TcpListener};
use std::time::Duration;

/// To the last of the routers with so many relays: those at the front are gone to and fro between.
fn up_to(height: usize) -> Vec<usize> {
    let bounces = (0..height.saturating_sub(3)).rev().map(|turn| 2 - turn % 2);
    bounces.chain([3, 2, 1].into_iter().take(height).rev()).collect()
}

fn refused_nothing(relays: &[Relay]) {
    for relay in relays {
        assert!(relay.drops().unwrap().is_empty(), "{:?}", relay.drops());
    }
}

/// All frames that came to a node are right; returns how many bytes of streams they had under these relays.
fn right(frames: &[Vec<u8>], mtu: usize, encapsulation: Encapsulation, relays: &[IpAddr]) -> usize {
    let mut bytes = 0;
    for frame in frames {
        let (above, packet) = unstacked(frame, encapsulation).unwrap();
        assert!(frame.len() <= mtu + 14, "{} bytes on a wire of {mtu} and 14", frame.len());
        if above == relays {
            bytes += stream_bytes(packet);
        }
    }
    bytes
}

#[test]
fn every_frame_of_a_stack_is_right_at_every_level() {
    let Some(row) = Row::new(5) else { return };
    row.finishes(0, "r0");
    let relays = row.relays();
    for (pair, encapsulation) in cases() {
        let row = row.of(pair);
        for height in [1, 2, 3, 16] {
            // Sixteen headers of IPv6 leave less of an Ethernet than a packet of IPv6 needs.
            let mtu = if height == 16 { 3000 } else { 1500 };
            row.sets_mtu(mtu);
            let nodes = up_to(height);
            let mut paths = row.steers(Options::new(SHARED, encapsulation));
            let lists = vec![row.list(&nodes)];
            paths.apply(Operation::Set { prefix: row.prefix(), lists }).unwrap();
            let capture = Capture::new(&row, 1, left_station(1));
            row.carries_a_stream();
            let most = mtu - row.headers(encapsulation, height) - row.datagram_headers();
            row.carries_datagrams(&[0, 1, 17, 100, 555, most - 1, most]);
            // TCP was told what fits, so that longer ones are cut into fragments, each under its stack.
            row.carries_datagrams(&[most + 1, 4000, 40_000]);
            let above: Vec<IpAddr> = nodes.iter().map(|node| row.relay(*node)).collect();
            let bytes = right(&capture.frames(), mtu, encapsulation, &above);
            assert!(bytes >= BYTES, "{bytes} bytes under {height} headers of {encapsulation:?}, {pair:?}");
            let drops = paths.drops().unwrap();
            assert!(drops.keys().all(|reason| *reason == PathDrop::TooBig), "{drops:?}");
            refused_nothing(&relays);
            row.within(0, move || drop(paths));
            row.forget();
        }
    }
}

#[test]
fn what_a_device_behind_a_relay_cuts_is_right() {
    let Some(row) = Row::new(5) else { return };
    // Superpackets come whole to the second router, and leave it in segments.
    row.finishes(2, "r2");
    let relays = row.relays();
    for (pair, encapsulation) in cases() {
        let row = row.of(pair);
        // Under one header a list may have more relays than one.
        let lists: &[&[usize]] = match encapsulation.headers(3) {
            1 => &[&[1], &[2], &[3], &[1, 2, 3], &[1, 3]],
            _ => &[&[1], &[2], &[3]],
        };
        for &nodes in lists {
            let mut paths = row.steers(Options::new(SHARED, encapsulation));
            paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(nodes)] }).unwrap();
            let (before, behind) =
                (Capture::new(&row, 1, left_station(1)), Capture::new(&row, 3, left_station(3)));
            row.carries_a_stream();
            assert!(before.frames().iter().any(|frame| frame.len() > 1514), "superpackets stay whole");
            let rest: Vec<IpAddr> =
                nodes.iter().filter(|node| **node > 2).map(|node| row.relay(*node)).collect();
            let bytes = right(&behind.frames(), 1500, encapsulation, &rest);
            assert!(bytes >= BYTES, "{bytes} bytes of {encapsulation:?} by {nodes:?}, {pair:?}");
            refused_nothing(&relays);
            assert!(paths.drops().unwrap().keys().all(|reason| *reason == PathDrop::TooBig));
            row.within(0, move || drop(paths));
            row.forget();
        }
    }
}

/// Of IP in IP the kernel corrects every header when it cuts: it goes from one to the next, where behind those of GRE and UDP
/// it goes on with the packet inside. A device that cuts would not.
#[test]
fn the_kernel_cuts_a_stack_of_ip_in_ip_right() {
    let Some(row) = Row::new(5) else { return };
    row.finishes(0, "r0");
    let relays = row.relays();
    for height in [2, 3, 16] {
        let nodes = up_to(height);
        let mut paths = row.steers(whole(Encapsulation::Ipip));
        let lists = vec![row.list(&nodes)];
        paths.apply(Operation::Set { prefix: row.prefix(), lists }).unwrap();
        let capture = Capture::new(&row, 1, left_station(1));
        row.carries_a_stream();
        let above: Vec<IpAddr> = nodes.iter().map(|node| row.relay(*node)).collect();
        assert!(right(&capture.frames(), 1500, Encapsulation::Ipip, &above) >= BYTES);
        assert!(row.segments(0, "r0") > 1, "superpackets were allowed");
        refused_nothing(&relays);
        row.within(0, move || drop(paths));
        row.forget();
    }
}

/// So that the tests above can fail.
#[test]
fn superpackets_that_are_cut_under_two_headers_say_wrong_lengths() {
    let Some(row) = Row::new(5) else { return };
    row.finishes(0, "r0");
    let relays = row.relays();
    let refused = || relays[0].drops().unwrap().get(&PathDrop::Length).copied().unwrap_or_default();
    for encapsulation in [Encapsulation::Gre, Encapsulation::Gue] {
        let mut paths = row.steers(whole(encapsulation));
        paths.apply(Operation::Set { prefix: row.prefix(), lists: vec![row.list(&[1, 2])] }).unwrap();
        let capture = Capture::new(&row, 1, left_station(1));
        let far = row.far();
        let listener = row.within(row.last(), || bound(|| TcpListener::bind((far, 7000))));
        let before = refused();
        let mut stream = row.connects();
        stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        // Little of it arrives, so that the socket's buffer may fill.
        let _ = stream.write_all(&pattern(100_000));
        until("a relay refuses wrong lengths", || refused() > before);
        let wrong = capture.frames().iter().filter(|frame| unstacked(frame, encapsulation).is_err()).count();
        assert!(wrong > 0, "{encapsulation:?}");
        drop((stream, listener));
        row.within(0, move || drop(paths));
        row.forget();
    }
}
