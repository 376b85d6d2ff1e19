//! A path that has less room farther on.

use super::*;

/// Why less fits behind the third relay.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Narrows {
    /// Its link is of a smaller MTU.
    Link,
    /// Its header is of IPv6, and all before are of IPv4.
    Header,
}

impl Narrows {
    /// Bytes that fit no more.
    fn by(self) -> u32 {
        match self {
            Self::Link => 100,
            Self::Header => 20,
        }
    }
}

/// Five hosts in a row, three of them relays, of which the third has less room behind it than all before. Between the second host
/// and the third, and on, they may speak in other encapsulations.
fn narrowing<'a>(
    person: &'a Person,
    carries: &str,
    is_over_ipv6: bool,
    narrows: Narrows,
    encapsulations: [&str; 2],
) -> [Host<'a>; 5] {
    let hosts = Host::in_a_row(person, [1, 2, 3, 4, 5]);
    if narrows == Narrows::Link {
        hosts[3].sh("ip link set right mtu 1400");
        hosts[4].sh("ip link set left mtu 1400");
    }
    let is_ipv6 = |network: usize| is_over_ipv6 || narrows == Narrows::Header && network == 3;
    for (number, host) in hosts.iter().enumerate() {
        let to = (0..5).filter(|near: &usize| near.abs_diff(number) == 1).map(|near| {
            let encapsulation = encapsulations[usize::from(near.min(number) > 0)];
            format!("--to {}={encapsulation}", hosts[near].id())
        });
        let to: Vec<String> = to.collect();
        host.overlay(&format!("config application 7 --carries {carries} --vni 1 {}", to.join(" ")));
        host.overlay(&format!("id set {}", host.id()));
        // Whichever of its locators a relay sends from, it is the relay's.
        let address = |network: usize, end: u8| match is_ipv6(network) {
            false => format!("192.0.{network}.{end}"),
            true => format!("2001:db8:{network}::{end}"),
        };
        let right = |number: usize| (number < 4).then(|| address(number, 1));
        let left = |number: usize| (number > 0).then(|| address(number - 1, 2));
        let locators = |number: usize| right(number).into_iter().chain(left(number));
        for (device, address) in [("right", right(number)), ("left", left(number))] {
            if let Some(address) = address.filter(|address| address.contains(':')) {
                host.sh(&format!("ip addr add {address}/64 dev {device} nodad"));
            }
        }
        for locator in locators(number) {
            host.overlay(&format!("locator add {locator}"));
        }
        for near in (0..5).filter(|near: &usize| near.abs_diff(number) == 1) {
            for locator in locators(near) {
                host.overlay(&format!("node add {} {locator}", hosts[near].id()));
            }
        }
        for (to, other) in hosts.iter().enumerate().filter(|(to, _)| *to != number) {
            let via = if to > number { number + 1 } else { number - 1 };
            host.overlay(&format!("route add {} --via {}", other.id(), hosts[via].id()));
        }
    }
    hosts
}

#[test]
fn a_path_that_narrows_tells_hosts_what_fits() {
    let Some(person) = Person::root() else { return };
    // Where headers name no nodes, or not all the way, relays tell the hosts.
    for (carries, is_over_ipv6, narrows, encapsulations) in [
        ("ethernet", false, Narrows::Link, ["ovstack"; 2]),
        ("ip", false, Narrows::Link, ["ovstack"; 2]),
        ("ethernet", true, Narrows::Link, ["ovstack"; 2]),
        ("ip", false, Narrows::Header, ["ovstack"; 2]),
        ("ethernet", false, Narrows::Link, ["vxlan"; 2]),
        ("ip", true, Narrows::Link, ["gre"; 2]),
        ("ip", false, Narrows::Header, ["geneve"; 2]),
        ("ethernet", false, Narrows::Link, ["nvgre", "ovstack"]),
    ] {
        let hosts = narrowing(&person, carries, is_over_ipv6, narrows, encapsulations);
        let [a, .., b] = &hosts;
        for (number, host) in hosts.iter().enumerate() {
            let is_named = |near: usize| encapsulations[usize::from(near.min(number) > 0)] == "ovstack";
            let ends = [(0, a, number.wrapping_sub(1)), (4, b, number + 1)];
            let ends = ends.into_iter().filter(|(end, ..)| *end != number);
            if [0, 4].contains(&number) || ends.clone().any(|(.., next)| !is_named(next)) {
                host.overlay("config device ov0 --app 7 --vni 1");
                for (_, end, next) in ends {
                    // By a header that names no nodes an end is where packets come from: at the next hop.
                    let at = if is_named(next) { end } else { &hosts[next] };
                    identifiers(end, carries).iter().for_each(|identifier| {
                        host.overlay(&format!("fib add ov0 {identifier} {}", at.id()));
                    });
                }
            }
        }
        for (host, other) in [(a, b), (b, a)] {
            host.sh(&format!(
                "ip addr add {}/24 dev ov0 && ip addr add fd00::{}/64 dev ov0 nodad && ip link set ov0 address 02:00:00:00:00:0{}",
                host.inner(), host.number, host.number
            ));
            let far = other.number;
            if carries == "ethernet" {
                host.sh(&format!(
                    "ip neigh replace {} lladdr 02:00:00:00:00:0{far} dev ov0; ip neigh replace fd00::{far} lladdr 02:00:00:00:00:0{far} dev ov0",
                    other.inner()
                ));
            }
        }
        assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
        // The device has the room of its own link; what the relay's has is heard of, once for both families.
        let mtu = a.sh("ip -o link show ov0 | sed 's/.*mtu //; s/ .*//'").trim().parse::<u32>().unwrap();
        let [before, behind] = encapsulations.map(header_bytes);
        let fits = mtu + before - behind - narrows.by();
        for (address, headers) in [(b.inner(), 28), (format!("fd00::{}", b.number), 48)] {
            let ping = |bytes: u32| {
                let size = (bytes - headers).to_string();
                a.exec(&["ping", "-c", "1", "-W", "1", "-M", "do", "-s", &size, &address]).code() == Some(0)
            };
            assert!(!ping(mtu), "{address}");
            let knows =
                || a.sh(&format!("ip route get {address}; ip -6 route get {address}; true")).contains("mtu");
            assert!(
                eventually(|| !ping(mtu) && knows()),
                "{address}: {} {}",
                a.sh(&format!("ip route get {address}; true")),
                stats(&hosts)
            );
            assert!(!ping(fits + 1) && ping(fits), "{address}: {}", stats(&hosts));
            assert!(eventually(|| ping(fits)));
        }
        // Who was told of it: the node that its host's packets are from; one on the way to it, behind which nobody would be; or nobody
        // but the host.
        let told = match encapsulations {
            ["ovstack", "ovstack"] => Some(0),
            [_, "ovstack"] => Some(1),
            _ => None,
        };
        if let Some(told) = told {
            let nodes = hosts[told].json("stats")["nodes"].clone();
            let of_b = nodes.as_array().unwrap().iter().find(|row| row["node"] == b.id()).unwrap();
            let header = if carries == "ethernet" { 14 } else { 0 };
            assert_eq!(of_b["room"], fits + header, "{narrows:?}: {nodes}");
        }
        for host in told.into_iter().chain([3]) {
            assert!(hosts[host].dropped("too-big") > 0, "{}", stats(&hosts));
        }
        // What was begun before anybody knew of it goes on: superpackets, too, are cut to what fits.
        for (from, to) in [(a, b), (b, a)] {
            for address in [to.inner(), format!("fd00::{}", to.number)] {
                from.sh("ip route flush cache; ip -6 route flush cache");
                transfers_to(from, to, &address);
                from.sh("ip route flush cache; ip -6 route flush cache");
                is_echoed(from, to, &address, &[100, fits + 10, fits + 52, 4000]);
            }
        }
    }
}

/// Answers each datagram that comes to a group or to all, by its length.
const ANSWERS: &str = "
import socket, sys
group, own = '239.1.2.3', sys.argv[1]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(own))
s.bind(('', 7))
while True:
    data, sender = s.recvfrom(65535)
    s.sendto(str(len(data)).encode(), sender)
";

/// Sends a datagram of so many bytes to an address, and says who answers, and what the kernel says of it: its error's number.
const ASKS: &str = "
import errno, socket, struct, sys, time
own, to, size, expected, is_told = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
s.setsockopt(socket.IPPROTO_IP, 11, 1)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
s.bind((own, 0))
s.sendto(b'p' * size, (to, 7))
s.settimeout(0.1)
answers, told = set(), 0
# Until all that is expected has come, and a while more for what is not.
until, is_complete = time.monotonic() + 5, False
while time.monotonic() < until:
    if not is_complete and len(answers) >= expected and (told or not is_told):
        until, is_complete = time.monotonic() + 0.3, True
    try:
        data, sender = s.recvfrom(100)
        assert int(data) == size
        answers.add(sender[0])
    except TimeoutError:
        pass
    except OSError as error:
        assert error.errno == errno.EMSGSIZE, error
    try:
        _, said, _, _ = s.recvmsg(100, 1000, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        told = struct.unpack_from('=IBBBBI', said[0][2])[5]
    except (BlockingIOError, TimeoutError):
        pass
print(told, *sorted(answers))
";

/// Four hosts in a row, all members: the second one sends, the third passes on what it has, and behind it there is less room. Who
/// stands on the other side, and the one between, get what does not fit the last; its sender hears of it, and sends what fits all.
#[test]
fn what_is_for_all_and_too_big_for_one_is_told_to_its_sender_and_the_others_get_it() {
    const PYTHON: &str = "/usr/bin/python3";
    let Some(person) = Person::root() else { return };
    let hosts = narrowing(&person, "ethernet --group 224.0.0.1", false, Narrows::Link, ["ovstack"; 2]);
    // Of those in a row the last four.
    let [_, beside, sender, between, behind] = &hosts;
    let members = [beside, sender, between, behind];
    for host in members {
        let near = members.iter().filter(|of| of.number.abs_diff(host.number) <= 1);
        near.for_each(|near| drop(host.overlay(&format!("route add 224.0.0.1 --via {}", near.id()))));
        host.overlay("config device ov0 --app 7 --vni 1");
        host.sh(&format!("ip addr add {}/24 brd + dev ov0 && ip route add 239.1.2.3 dev ov0", host.inner()));
    }
    for host in [beside, between, behind] {
        assert!(eventually(|| sender.reaches(host)), "{}", stats(&hosts));
    }
    let answering = [beside, between, behind].map(|host| host.start(&[PYTHON, "-c", ANSWERS, &host.inner()]));
    let mtu = sender.sh("ip -o link show ov0 | sed 's/.*mtu //; s/ .*//'").trim().parse::<u32>().unwrap();
    let fits = mtu - Narrows::Link.by();
    // How many answers are expected, and whether an error is.
    let ask = |to: &str, size: u32, expected: usize, is_told: bool| {
        let numbers = [size - 28, expected as u32, u32::from(is_told)].map(|number| number.to_string());
        let [size, expected, is_told] = numbers.each_ref().map(String::as_str);
        let said = sender.exec(&[PYTHON, "-c", ASKS, &sender.inner(), to, size, expected, is_told]).fine();
        let mut words = said.split_whitespace().map(str::to_owned);
        let told: u32 = words.next().unwrap().parse().unwrap();
        (told, words.collect::<Vec<_>>())
    };
    let [all, but_last] = [&[beside, between, behind][..], &[beside, between]]
        .map(|hosts| hosts.iter().map(|host| host.inner()).collect::<Vec<_>>());
    let broadcast = "10.1.0.255";
    for to in [broadcast, "239.1.2.3"] {
        assert!(
            eventually(|| ask(to, fits, 3, false) == (0, all.clone())),
            "{to}: {:?} {}",
            ask(to, fits, 3, false),
            stats(&hosts)
        );
    }
    // The first one is lost behind the relay, which says so; from then on the sender says it.
    assert_eq!(ask(broadcast, mtu, 2, false).1, but_last, "{}", stats(&hosts));
    let room = || {
        let nodes = sender.json("stats")["nodes"].clone();
        nodes.as_array().unwrap().iter().find(|row| row["node"] == "224.0.0.1").unwrap()["room"].clone()
    };
    assert!(eventually(|| room() == fits + 14), "{}", stats(&hosts));
    assert!(between.dropped("too-big") > 0, "{}", stats(&hosts));
    assert_eq!(ask(broadcast, mtu, 2, true), (fits, but_last.clone()), "{}", stats(&hosts));
    assert_eq!(ask(broadcast, fits, 3, false), (0, all.clone()), "{}", stats(&hosts));
    // Of a group the kernel keeps it for its route, and cuts datagrams to fit all.
    assert_eq!(ask("239.1.2.3", mtu, 2, true), (fits, but_last), "{}", stats(&hosts));
    assert!(sender.sh("ip route get 239.1.2.3").contains(&format!("mtu {fits}")));
    assert_eq!(ask("239.1.2.3", mtu, 3, false), (0, all), "{}", stats(&hosts));
    for of in answering {
        of.signal(rustix::process::Signal::KILL);
        of.wait();
    }
}

/// What an end is found by.
fn identifiers(end: &Host<'_>, carries: &str) -> Vec<String> {
    match carries {
        "ip" => vec![format!("{}/32", end.inner()), format!("fd00::{}/128", end.number)],
        _ => vec![format!("02:00:00:00:00:0{}", end.number)],
    }
}

/// Bytes of an encapsulation over IPv4, without Ethernet's.
fn header_bytes(encapsulation: &str) -> u32 {
    match encapsulation {
        "ovstack" => 48,
        "vxlan" | "geneve" => 36,
        "nvgre" => 28,
        "gre" => 24,
        other => panic!("nobody said how long {other}'s header is"),
    }
}

/// Has datagrams of so many bytes come back, whether they fit a packet or are cut by their host. Of those that are lost before
/// it has heard what fits, others are sent.
#[track_caller]
fn is_echoed(from: &Host<'_>, to: &Host<'_>, address: &str, sizes: &[u32]) {
    const PYTHON: &str = "/usr/bin/python3";
    let family = if address.contains(':') { "AF_INET6" } else { "AF_INET" };
    let socket = format!("import socket\ns = socket.socket(socket.{family}, socket.SOCK_DGRAM)\n");
    let echo = format!(
        "{socket}s.bind(('{address}', 7))\n\
         while True:\n d, p = s.recvfrom(65535)\n s.sendto(d, p)\n"
    );
    let echo = to.start(&[PYTHON, "-c", &echo]);
    assert!(eventually(|| to.sh("cat /proc/net/udp /proc/net/udp6").contains(":0007 ")));
    for size in sizes {
        let ask = format!(
            "{socket}s.settimeout(0.3)\nd = b'p' * {size}\nfor n in range(30):\n try:\n  s.sendto(d, ('{address}', 7))\n  \
             assert s.recv(65535) == d\n  break\n except OSError: pass\nelse: raise SystemExit('no echo')\n"
        );
        from.exec(&[PYTHON, "-c", &ask]).fine();
    }
    echo.signal(rustix::process::Signal::KILL);
    echo.wait();
}
