//! Who is not of an overlay, and who says that it is.

use super::*;

#[test]
fn strangers_are_dropped_and_counted() {
    let Some(person) = Person::root() else { return };
    let hosts = pair(&person, "ethernet --group 224.0.0.1");
    let [a, b] = &hosts;
    assert!(eventually(|| a.reaches(b)));
    // A locator that is nobody's, and a node that nobody knows.
    a.overlay("node del 10.0.0.2 192.0.2.2");
    assert!(!b.reaches(a));
    assert!(a.dropped("unknown-locator") > 0, "{}", a.overlay("stats"));
    a.overlay("node add 10.0.0.2 192.0.2.2");
    assert!(eventually(|| b.reaches(a)));
    b.overlay("id set 10.0.0.77");
    b.sh("ip link set ov0 address 02:00:00:00:77:77");
    assert!(!b.reaches(a));
    assert!(eventually(|| a.dropped("unknown-source") > 0), "{}", a.overlay("stats"));
    b.overlay("id set 10.0.0.2");
    // What is taken no more, is dropped; what an application carries does not change under its device.
    let received = || a.json("stats")["devices"]["ov0"]["received"].as_u64().unwrap();
    b.overlay("config application ethernet --group 224.0.0.1 --encapsulation geneve");
    for (accept, is_taken) in [("", false), ("--accept geneve", true), ("", false)] {
        a.overlay(&format!("config application ethernet --group 224.0.0.1 {accept}"));
        let before = received();
        let arrives = || {
            b.exec(&["ping", "-c", "1", "-W", "1", &a.inner()]);
            received() > before
        };
        let is_so = if is_taken { eventually(arrives) } else { !arrives() };
        assert!(is_so, "{accept}: {}", stats(&hosts));
    }
    b.overlay("config application ethernet --group 224.0.0.1");
    a.try_overlay("config application ethernet --carries ip").fails_saying(1, &["ov0", "--delete"]);
    // A tenant that is none of this node's.
    b.try_overlay("config device ov0 --vni 2").fails_saying(1, &["ov0", "--delete"]);
    b.overlay("config device ov0 --delete");
    b.overlay("config device ov0 --vni 2");
    b.sh("ip addr replace 10.1.0.2/24 dev ov0");
    assert!(!b.reaches(a));
    assert!(a.dropped("unknown-tenant") > 0, "{}", a.overlay("stats"));
    // A device that somebody took away can be given up.
    b.sh("ip link del ov0");
    b.overlay("config device ov0 --delete");
    b.overlay("config device ov0 --vni 1");
    // What arrives at a locator is one application's, and in one encapsulation, unless it says whose it is.
    a.overlay("config application 9 --encapsulation geneve --accept gre");
    a.overlay("locator add 192.0.2.1 --app 9");
    let both = "config application ethernet --group 224.0.0.1 --accept gre";
    a.try_overlay(both).fails_saying(1, &["application 9 takes gre at 192.0.2.1", "locators of their own"]);
    a.overlay("locator del 192.0.2.1 --app 9");
    a.overlay(both);
    a.try_overlay("locator add 192.0.2.1 --app 9").fails_saying(1, &["application 7 takes gre"]);
    a.try_overlay("config application 10 --accept nsh --accept vxlan-gpe")
        .fails_saying(1, &["nsh and vxlan-gpe"]);
    // Nobody but root speaks to the agent.
    assert_eq!(
        a.sh("stat -c %a /run/plait-overlay/default/agent.sock /run/plait-overlay/default/journal.jsonl"),
        "600\n600\n"
    );
}

/// What becomes of a packet of ovstack that is right but for a field.
#[derive(Clone, Copy)]
enum Fate {
    /// It is taken: the field is nothing to go by.
    Taken,
    /// It is dropped for a reason.
    Dropped(&'static str),
}

/// Where fields of the ovstack header and of the frame behind it begin, and what a spoofer writes there.
type Fields = &'static [(usize, &'static [u8])];

/// What is spoofed, and what a receiver makes of it: node 1, of a packet from node 2.
const SPOOFED: &[(&str, Fields, Fate)] = {
    use Fate::{Dropped, Taken};
    &[
        ("nothing", &[], Taken),
        ("the version", &[(0, &[9])], Dropped("version")),
        ("the TTL, here", &[(1, &[0])], Taken),
        ("the TTL, for another", &[(1, &[1]), (12, &[10, 0, 0, 3])], Dropped("expired")),
        ("the application", &[(2, &[9])], Dropped("unknown-locator")),
        ("the message flag", &[(3, &[0x80])], Dropped("malformed")),
        ("the message flag of a stranger", &[(3, &[0x80]), (19, &[77])], Dropped("unknown-source")),
        ("flags that say nothing", &[(3, &[0x7f])], Taken),
        ("the VNI", &[(4, &[0, 0, 2])], Dropped("unknown-tenant")),
        ("the byte of nought", &[(7, &[0xff])], Taken),
        ("the hash", &[(8, &[0xff; 4])], Taken),
        ("the hash, of nought", &[(8, &[0; 4])], Taken),
        ("the destination", &[(12, &[10, 0, 0, 99])], Dropped("no-route")),
        ("the source, a stranger", &[(16, &[10, 0, 0, 77])], Dropped("unknown-source")),
        ("the source, the receiver", &[(16, &[10, 0, 0, 1])], Dropped("unknown-source")),
        ("the source, a group", &[(16, &[224, 0, 0, 1])], Dropped("unknown-source")),
        ("the station, a group", &[(26, &[3, 0, 0, 0, 0, 2])], Dropped("malformed")),
        ("the station, one that is elsewhere", &[(26, &[2, 0, 0, 0, 0, 0x66])], Dropped("unknown-source")),
    ]
};

/// A packet of ovstack from node 2 to node 1 with a frame, and with these fields written over.
fn spoofed(fields: Fields) -> Vec<u8> {
    let header = [1, 9, 7, 0, 0, 0, 1, 0, 0, 0, 0, 1, 10, 0, 0, 1, 10, 0, 0, 2];
    let frame = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, 1, 2, 3, 4, 5, 6, 7, 8];
    let mut packet = [&header[..], &frame[..]].concat();
    for (at, bytes) in fields {
        packet[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    packet
}

#[test]
fn nobody_speaks_in_anothers_name() {
    let Some(person) = Person::root() else { return };
    if !installed("socat") {
        return;
    }
    let mut hosts = pair(&person, "ethernet --group 224.0.0.1");
    hosts[0].overlay("node add 10.0.0.3 192.0.2.3");
    hosts[0].overlay("route add 10.0.0.3 --via 10.0.0.3");
    hosts[0].overlay("fib add ov0 02:00:00:00:00:66 10.0.0.3");
    assert!(eventually(|| hosts[0].reaches(&hosts[1])));
    let send = |from: &Host<'_>, locator: &str, packet: &[u8], to: &str| {
        let octal: String = packet.iter().map(|byte| format!("\\{byte:03o}")).collect();
        from.exec(&["sh", "-c", &format!("printf '{octal}' | socat -u - UDP:{to}:60002,bind={locator}")])
    };
    // From inside node 2, whose locator is the overlay's: whatever the fields say.
    let [a, b] = &hosts;
    // Hosts ask each other for their hardware addresses now and then: what is received must have been sent.
    let count = |host: &Host<'_>, what: &str| host.json("stats")["devices"]["ov0"][what].as_u64().unwrap();
    let both = || (count(b, "sent"), count(a, "received"));
    let mut seen = both();
    // Of what is asked between two looks one side alone would tell.
    let is_quiet = || {
        let before = std::mem::replace(&mut seen, both());
        before == seen
    };
    assert!(eventually(is_quiet), "{}", stats(&hosts));
    let (sent, received) = seen;
    let drops = || a.json("stats")["drops"].clone();
    let before = drops();
    for (field, fields, _) in SPOOFED {
        let forged = b.dropped("forged");
        send(b, "192.0.2.2", &spoofed(fields), "192.0.2.1");
        assert_eq!(b.dropped("forged"), forged + 1, "{field}: {}", stats(&hosts));
    }
    for cut in [30, 9, 1] {
        let forged = b.dropped("forged");
        send(b, "192.0.2.2", &spoofed(&[])[..cut], "192.0.2.1");
        assert_eq!(b.dropped("forged"), forged + 1, "{cut} bytes: {}", stats(&hosts));
    }
    // Nor does it from an address that is no locator of this node; another's packets that it forwards are not its own.
    let forged = b.dropped("forged");
    b.sh("ip addr add 192.0.2.66/24 dev eth0");
    send(b, "192.0.2.66", &spoofed(&[]), "192.0.2.1");
    assert_eq!(b.dropped("forged"), forged + 1, "{}", stats(&hosts));
    assert_eq!(drops(), before, "none of it came");
    let behind = Host::new(&person, 3);
    b.link("eth1", &behind, "eth0");
    b.sh("ip addr add 198.51.100.2/24 dev eth1 && echo 1 > /proc/sys/net/ipv4/ip_forward");
    behind.sh("ip addr add 198.51.100.3/24 dev eth0 && ip route add default via 198.51.100.2");
    let strangers = a.dropped("unknown-locator");
    assert!(eventually(|| {
        send(&behind, "198.51.100.3", &spoofed(&[]), "192.0.2.1");
        a.dropped("unknown-locator") > strangers
    }));
    assert_eq!(b.dropped("forged"), forged + 1, "{}", stats(&hosts));
    let before = drops();
    assert!(eventually(|| count(a, "received") - received == count(b, "sent") - sent), "{}", stats(&hosts));
    assert_eq!(drops(), before, "none of it came");

    // From outside: where the node of that locator was, there is somebody else now.
    hosts[1].kill_agent();
    hosts[1].overlay("agent --remove");
    let [a, b] = &hosts;
    b.sh("ip addr add 192.0.2.77/24 dev eth0");
    let try_it = |field: &str, locator: &str, packet: &[u8], fate: Fate| {
        let counted = || match fate {
            Fate::Taken => count(a, "received"),
            Fate::Dropped(reason) => a.dropped(reason),
        };
        let (before, received) = (counted(), count(a, "received"));
        send(b, locator, packet, "192.0.2.1");
        assert!(eventually(|| counted() > before), "{field}: {packet:?} {}", a.overlay("stats"));
        if let Fate::Dropped(_) = fate {
            assert_eq!(count(a, "received"), received, "{field}: {}", a.overlay("stats"));
        }
    };
    for (field, fields, fate) in SPOOFED {
        try_it(field, "192.0.2.2", &spoofed(fields), *fate);
        try_it(field, "192.0.2.77", &spoofed(fields), Fate::Dropped("unknown-locator"));
    }
    for cut in [30, 9] {
        try_it("cut", "192.0.2.2", &spoofed(&[])[..cut], Fate::Dropped("malformed"));
    }
    // What was heard of the spoofed station's place changed nothing.
    let rows = a.json("fib show ov0");
    let of =
        |station: &str| rows.as_array().unwrap().iter().find(|row| row["identifier"] == station).cloned();
    assert_eq!(of("02:00:00:00:00:66").unwrap()["node"], "10.0.0.3", "{rows:#}");
}
