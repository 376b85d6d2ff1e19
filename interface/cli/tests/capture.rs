//! Packets brought out of nodes.

mod common;

use common::{Person, as_root_and_as_user, eventually, installed};
use rustix::process::{Pid, Signal};
use std::process::{Command, Stdio};

const PAIR: &str = "plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], delay: 2ms}]\n";

#[test]
fn a_capture_is_a_pcapng_file_of_the_packets_that_passed() {
    as_root_and_as_user(|person| {
        let testbed = person.up(PAIR);
        let path = person.work().join("trace.pcapng");
        let file = path.to_str().unwrap();
        let words = ["capture", "--testbed", &testbed.name, "a:eth0", "-w", file, "--count", "5"];
        let capture = person.start(&words);
        assert!(eventually(|| path.exists()));
        let _pings = testbed.background("a", "exec ping -i 0.05 -s 100 b");
        let said = capture.wait();
        assert!(said.stderr.contains("5 packets"), "{said:?}");
        said.fine();
        let bytes = std::fs::read(&path).unwrap();
        let packets = packets(&bytes);
        assert_eq!(packets.len(), 5);
        // Ethernet, IPv4, ICMP echo, 100 bytes of load.
        let echo = |packet: &&Vec<u8>| packet.len() == 142 && packet[12..14] == [8, 0] && packet[23] == 1;
        assert!(packets.iter().filter(echo).count() >= 3, "{packets:?}");
        if installed("tcpdump") {
            let seen = Command::new("tcpdump").args(["-nr", file]).output().unwrap();
            let text = String::from_utf8_lossy(&seen.stdout);
            assert!(seen.status.success() && text.contains("ICMP echo request"), "{seen:?}");
        }
        if installed("tshark") {
            let fields = ["-r", file, "-T", "fields", "-e", "frame.interface_name", "-e", "frame.time_delta"];
            let seen = Command::new("tshark").args(fields).output().unwrap();
            let text = String::from_utf8_lossy(&seen.stdout);
            assert!(seen.status.success() && text.lines().count() == 5, "{seen:?}");
            assert!(text.contains("a:eth0"), "the interface has its name: {text}");
        }
    });
}

#[test]
fn a_capture_into_a_pipe_shows_packets_as_they_come_and_ends_when_told() {
    let Some(person) = Person::user() else { return };
    let testbed = person.up(PAIR);
    let _pings = testbed.background("a", "exec ping -i 0.02 b");
    let begin = |words: &[&str]| {
        let mut command = person.prepare(words);
        let mut reading = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // More than a section begins with: packets are in it.
        let mut head = [0; 1024];
        std::io::Read::read_exact(reading.stdout.as_mut().unwrap(), &mut head).unwrap();
        assert_eq!(head[..4], 0x0A0D_0D0A_u32.to_le_bytes(), "a section begins");
        reading
    };
    let capture = begin(&["tcpdump", "--testbed", &testbed.name, "b:eth0", "--snaplen", "64B"]);
    rustix::process::kill_process(Pid::from_child(&capture), Signal::INT).unwrap();
    let ended = capture.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stderr).contains(" packets, "), "{ended:?}");

    // A reader that has seen enough ends it, without an error.
    let mut reading = begin(&["capture", "--testbed", &testbed.name, "b:eth0"]);
    drop(reading.stdout.take());
    assert!(eventually(|| reading.try_wait().unwrap().is_some()), "it ends with its reader");
    assert!(reading.wait().unwrap().success());
}

#[test]
fn a_capture_into_a_file_is_summed_up_in_json() {
    let Some(person) = Person::user() else { return };
    let testbed = person.up(PAIR);
    let _pings = testbed.background("a", "exec ping -i 0.02 -s 1000 b");
    let capture = |more: &[&str]| {
        person.plait(&[&["capture", "--testbed", &testbed.name, "a:eth0", "--json"], more].concat())
    };
    let path = person.work().join("trace.pcapng");
    let file = path.to_str().unwrap();
    let summary = capture(&["-w", file, "--count", "20", "--snaplen", "64B"]).json();
    let kept = packets(&std::fs::read(&path).unwrap());
    assert_eq!(summary["packets"], kept.len());
    assert_eq!((&summary["interface"], &summary["file"]), (&"a:eth0".into(), &file.into()));
    assert_eq!(summary["missed"], 0);
    // Most are echoes of 1042 bytes on the wire, of which 64 were kept.
    let bytes = summary["bytes"].as_u64().unwrap();
    assert!((10 * 1042..=20 * 1042).contains(&bytes), "{summary}");

    let refused = capture(&["--count", "1"]);
    assert!(refused.stdout.contains("`-w FILE`"), "{refused:?}");
    refused.fails(2);
}

#[test]
fn a_capture_that_cannot_be_says_why() {
    let Some(person) = Person::user() else { return };
    let testbed = person.up(PAIR);
    let capture = |more: &[&str]| person.plait(&[&["capture", "--testbed", &testbed.name], more].concat());
    capture(&["a"]).fails_saying(2, &["node:interface"]);
    capture(&["c:eth0"]).fails_saying(1, &["no node `c`"]);
    capture(&["a:eth9"]).fails_saying(1, &["a:eth9", "No such device"]);
    capture(&["a:eth0", "-w", "/no/such/folder/file"]).fails_saying(1, &["/no/such/folder/file"]);
    let _pings = testbed.background("a", "exec ping -i 0.01 -s 1000 b");
    capture(&["a:eth0", "-w", "/dev/full", "--count", "1000"]).fails_saying(1, &["No space left on device"]);
}

/// The packets of a pcapng file, whose blocks are walked and checked on the way (the pcapng draft, section 3 and 4).
fn packets(bytes: &[u8]) -> Vec<Vec<u8>> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut kinds, mut found) = (0, Vec::new(), Vec::new());
    while at < bytes.len() {
        let (kind, length) = (word(at), word(at + 4) as usize);
        assert!(
            length.is_multiple_of(4) && length >= 12 && at + length <= bytes.len(),
            "block of {length} at {at}"
        );
        assert_eq!(word(at + length - 4) as usize, length, "a block ends with its length");
        match kind {
            0x0A0D_0D0A => assert_eq!(word(at + 8), 0x1A2B_3C4D, "byte order"),
            // Link type 1 is Ethernet.
            1 => assert_eq!(word(at + 8) & 0xffff, 1),
            6 => {
                let (captured, original) = (word(at + 20) as usize, word(at + 24) as usize);
                assert!(captured <= original && captured <= length - 32);
                found.push(bytes[at + 28..at + 28 + captured].to_vec());
            }
            _ => {}
        }
        kinds.push(kind);
        at += length;
    }
    assert_eq!(kinds[..2], [0x0A0D_0D0A, 1], "a section, then its interface");
    found
}
