//! Faults that were found, each as the fact that holds since.

mod row;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use plait_control_paths::Operation;
use plait_dataplane_bpf::PathSizes;
use plait_dataplane_netlink::Netlink;
use plait_dataplane_paths::{Border, Encapsulation, Error, Options, PathDrop, Paths, Relay, Selector, Ways};
use row::capture::Capture;
use row::frame::{stream_bytes, unstacked};
use row::{PATIENCE, Row, SHARED, bound, left_station, pattern, until, whole};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::time::{Duration, Instant};

fn set(paths: &mut Paths, row: &Row, lists: &[&[usize]]) {
    let lists = lists.iter().map(|nodes| row.list(nodes)).collect();
    paths.apply(Operation::Set { prefix: row.prefix(), lists }).unwrap();
}

#[test]
fn a_refused_operation_leaves_the_device_as_it_was() {
    let Some(row) = Row::new(3) else { return };
    let before = row.segments(0, "r0");
    let sizes = PathSizes { prefixes: 1, ..PathSizes::default() };
    let mut paths = row.steers(Options { sizes, ..Options::new(SHARED, Encapsulation::Gre) });
    set(&mut paths, &row, &[&[1]]);
    let prefix = "10.0.77.0/24".parse().unwrap();
    let refused = paths.apply(Operation::Set { prefix, lists: vec![row.list(&[1, 1])] });
    assert!(matches!(refused, Err(Error::Bpf(_) | Error::Full(_))), "{refused:?}");
    assert_eq!(row.segments(0, "r0"), before);
    row.within(0, move || drop(paths));
}

/// An agent puts its relay on all devices first, and its border then.
#[test]
fn a_border_is_before_a_relay_on_the_same_device() {
    let Some(row) = Row::new(3) else { return };
    let device = row.device(1, "l1");
    let (receiver, sender) = row.datagrams();
    receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut paths = row.steers(Options::new(SHARED, Encapsulation::Gre));
    set(&mut paths, &row, &[&[1]]);
    let attach = || Relay::attach(&[device], row.relay(1), SHARED, &[Encapsulation::Gre]).unwrap();
    let taker = row.within(1, attach);
    let border = row.within(1, || Border::attach(&[device], SHARED).unwrap());
    sender.send(&[1]).unwrap();
    assert!(receiver.recv(&mut [0; 10]).is_err(), "what an outsider put under a stack arrived");
    assert_eq!(border.drops().unwrap(), [(PathDrop::Forged, 1)].into());
    row.within(1, move || drop((taker, border)));
    row.within(0, move || drop(paths));
}

/// Relays to and fro between two routers.
const SIXTEEN: [usize; 16] = [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2];

#[test]
fn superpackets_leave_room_for_high_stacks() {
    let Some(row) = Row::new(4) else { return };
    let relays = row.relays();
    let usual = row.longest_superpacket(0, "r0");
    for mtu in [5994, 7804] {
        for node in 0..3 {
            row.sh(node, &format!("ip link set r{node} mtu {mtu}"));
            row.sh(node + 1, &format!("ip link set l{} mtu {mtu}", node + 1));
        }
        let mut paths = row.steers(whole(Encapsulation::Gue));
        set(&mut paths, &row, &[&SIXTEEN]);
        // The path's MTU is known.
        row.carries_a_stream();
        let before = paths.drops().unwrap();
        for _ in 0..20 {
            row.carries_a_stream();
        }
        assert_eq!(paths.drops().unwrap(), before, "with an MTU of {mtu}");
        row.forget();
        assert!(row.longest_superpacket(0, "r0") < usual);
        row.within(0, move || drop(paths));
        assert_eq!(row.longest_superpacket(0, "r0"), usual);
    }
    drop(relays);
}

/// How long superpackets of the first node's device may be, of IPv6 and of IPv4.
fn lengths(row: &Row) -> [u32; 2] {
    let mut message = LinkMessage::default();
    message.header.index = row.device(0, "r0");
    let link = row.within(0, || Netlink::open().unwrap().get(RouteNetlinkMessage::GetLink(message)).unwrap());
    let RouteNetlinkMessage::NewLink(link) = link else { panic!("{link:?}") };
    link.attributes.iter().fold([0; 2], |[all, ipv4], attribute| match attribute {
        LinkAttribute::GsoMaxSize(length) => [*length, ipv4],
        LinkAttribute::GsoIpv4MaxSize(length) => [all, *length],
        _ => [all, ipv4],
    })
}

/// As BIG TCP has them.
#[test]
fn superpackets_that_were_longer_than_16_bits_say_are_so_again() {
    let Some(row) = Row::new(3) else { return };
    let mut message = LinkMessage::default();
    message.header.index = row.device(0, "r0");
    message.attributes = vec![LinkAttribute::GsoMaxSize(100_000), LinkAttribute::GsoIpv4MaxSize(100_000)];
    row.within(0, || Netlink::open().unwrap().request(RouteNetlinkMessage::SetLink(message), 0)).unwrap();
    let before = lengths(&row);
    assert_eq!(before[0], 100_000);
    let mut paths = row.steers(whole(Encapsulation::Gue));
    set(&mut paths, &row, &[&[1; 16]]);
    assert!(lengths(&row).iter().all(|length| *length < 65_536), "{:?}", lengths(&row));
    row.within(0, move || drop(paths));
    assert_eq!(lengths(&row), before);
}

/// As a virtual machine hands it over: how many segments it has, nobody says who can be believed.
const SUPERPACKET: &str = r#"
import socket, struct
def folded(b):
    total = sum(struct.unpack("!%dH" % (len(b) // 2), b))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total
ends = socket.inet_aton("10.0.0.1") + socket.inet_aton("10.0.2.2")
payload = bytes(byte % 251 for byte in range(4000))
pseudo = folded(ends + struct.pack("!HH", 6, 20 + len(payload)))
tcp = struct.pack("!HHIIBBHHH", 5000, 7001, 1, 1, 5 << 4, 0x18, 65535, pseudo, 0) + payload
def ip(checksum):
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0x4000, 64, 6, checksum) + ends
frame = bytes([2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 2, 8, 0]) + ip(0xffff ^ folded(ip(0))) + tcp
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
s.setsockopt(263, 15, 1)  # PACKET_VNET_HDR
s.bind(("r0", 0x0800))
# A checksum to be finished, TCP of IPv4, segments of 1000 bytes.
s.send(struct.pack("=BBHHHH", 1, 1, 54, 1000, 34, 16) + frame)
"#;

#[test]
fn a_superpacket_that_says_no_number_of_segments_is_cut() {
    let Some(row) = Row::new(4) else { return };
    let _relays = row.relays();
    row.finishes(0, "r0");
    let mut paths = row.steers(Options::new(SHARED, Encapsulation::Gre));
    set(&mut paths, &row, &[&[1, 2]]);
    let capture = Capture::new(&row, 1, left_station(1));
    row.python(0, SUPERPACKET);
    let mut frames = Vec::new();
    until("segments leave", || {
        frames.extend(capture.frames());
        frames.len() >= 4 || paths.drops().unwrap() != [].into()
    });
    assert_eq!(paths.drops().unwrap(), [].into());
    assert_eq!(frames.len(), 4);
    for frame in &frames {
        let (above, packet) = unstacked(frame, Encapsulation::Gre).unwrap();
        assert_eq!((above, stream_bytes(packet)), (vec![row.relay(1), row.relay(2)], 1000));
    }
    row.within(0, move || drop(paths));
}

/// Many datagrams at once, of which each fills the device's MTU, until what fits is known.
const DATAGRAMS: &str = r#"
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(0, 10, 2)  # IP_MTU_DISCOVER: no fragments
s.connect(("10.0.2.2", 7000))
s.setsockopt(17, 103, 1472)  # UDP_SEGMENT
s.send(bytes(14720))
end = time.monotonic() + 20
while s.getsockopt(0, 14) == 1500 and time.monotonic() < end:  # IP_MTU
    time.sleep(0.01)
print(s.getsockopt(0, 14))
"#;

#[test]
fn who_sends_many_datagrams_at_once_is_told_what_fits() {
    let Some(row) = Row::new(4) else { return };
    let mut paths = row.steers(Options::new(SHARED, Encapsulation::Gre));
    set(&mut paths, &row, &[&[1, 2]]);
    assert_eq!(row.python(0, DATAGRAMS).trim(), "1452");
    row.within(0, move || drop(paths));
}

/// Ten datagrams at once.
const AT_ONCE: &str = r#"
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("10.0.2.2", 7000))
s.setsockopt(17, 103, 1000)  # UDP_SEGMENT
s.send(bytes(10000))
"#;

#[test]
fn datagrams_that_are_sent_at_once_come_out_of_every_stack_one_by_one() {
    for encapsulation in [Encapsulation::Gue, Encapsulation::Ovstack, Encapsulation::Gre, Encapsulation::Ipip]
    {
        let Some(row) = Row::new(4) else { return };
        let _relays = row.relays();
        let mut paths = row.steers(Options::new(SHARED, encapsulation));
        for relays in [&[1][..], &[1, 2]] {
            set(&mut paths, &row, &[relays]);
            let far = row.far();
            let socket = row.within(row.last(), || bound(|| UdpSocket::bind((far, 7000))));
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            row.python(0, AT_ONCE);
            let mut buffer = [0; 2000];
            for datagram in 0..10 {
                let length = socket.recv(&mut buffer);
                assert!(matches!(length, Ok(1000)), "{datagram}: {length:?} by {encapsulation:?} {relays:?}");
            }
        }
        row.within(0, move || drop(paths));
    }
}

#[test]
fn a_narrow_link_between_relays_stops_no_stream() {
    let Some(row) = Row::new(5) else { return };
    let _relays = row.relays();
    row.sh(1, "ip link set r1 mtu 1400");
    row.sh(2, "ip link set l2 mtu 1400");
    let mut paths = row.steers(Options::new(SHARED, Encapsulation::Gre));
    set(&mut paths, &row, &[&[3]]);
    carries_within(&row, Duration::from_secs(5));
    row.within(0, move || drop(paths));
}

/// A stream of some bytes, which a stream that makes its way is done with in milliseconds.
fn carries_within(row: &Row, time: Duration) {
    let far = row.far();
    let listener = row.within(row.last(), || bound(|| TcpListener::bind((far, 7000))));
    let sink = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let start = Instant::now();
        let (mut got, mut buffer) = (0, vec![0; 65_536]);
        while got < 500_000 && start.elapsed() < time {
            match stream.read(&mut buffer) {
                Ok(length) if length > 0 => got += length,
                _ => break,
            }
        }
        got
    });
    let mut stream = row.connects();
    stream.set_write_timeout(Some(time)).unwrap();
    let _ = stream.write_all(&pattern(500_000));
    drop(stream);
    assert_eq!(sink.join().unwrap(), 500_000, "bytes that arrived within {time:?}");
}

#[test]
fn a_router_steers_the_streams_of_others() {
    let Some(row) = Row::new(5) else { return };
    let _relays = row.relays();
    let device = row.device(1, "r1");
    let mut paths =
        row.within(1, || Paths::attach(device, Options::new(SHARED, Encapsulation::Gre)).unwrap());
    set(&mut paths, &row, &[&[2, 3]]);
    carries_within(&row, Duration::from_secs(5));
    let drops = paths.drops().unwrap();
    assert!(drops.keys().all(|reason| *reason == PathDrop::TooBig), "{drops:?}");
    // New flows take their turns, though each of their packets comes to the program twice.
    row.within(1, || paths.set(row.prefix(), turns(&row))).unwrap();
    for port in 1..=8 {
        let sender = row.within(0, || UdpSocket::bind("0.0.0.0:0").unwrap());
        sender.connect((row.far(), port)).unwrap();
        sender.send(&pattern(100)).unwrap();
    }
    let of = |list: u32| {
        let flows = paths.flows().unwrap();
        flows.iter().filter(|flow| flow.key.protocol == 17 && flow.list == list && flow.packets == 1).count()
    };
    until("each other flow goes by either list", || (of(0), of(1)) == (4, 4));
    row.within(1, move || drop(paths));
    assert!(!row.try_sh(1, "ip link show").1.contains("cut"), "the pair is gone with what it was for");
}

/// Two lists of two relays, by turns.
fn turns(row: &Row) -> Ways {
    let lists = vec![row.list(&[2, 3]), row.list(&[3, 2])];
    Ways { lists, encapsulation: Encapsulation::Ipip, selector: Selector::RoundRobin }
}

#[test]
fn what_is_refused_takes_no_turn() {
    let Some(row) = Row::new(3) else { return };
    let options = Options { selector: Selector::RoundRobin, ..Options::new(SHARED, Encapsulation::Gre) };
    let mut paths = row.steers(options);
    set(&mut paths, &row, &[&[1], &[1]]);
    let far = row.far();
    for port in 1..=100 {
        let sender = row.within(0, || UdpSocket::bind("0.0.0.0:0").unwrap());
        sender.connect((far, port)).unwrap();
        // The first one tells it what fits.
        let _ = sender.send(&pattern(1472));
        let _ = sender.send(&pattern(100));
        row.forget();
    }
    let flows = paths.flows().unwrap();
    let by_first = flows.iter().filter(|flow| flow.list == 0 && flow.key.ports != [0; 4]).count();
    assert_eq!(by_first, 50, "of a hundred flows by two lists");
}
