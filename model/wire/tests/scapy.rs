//! The same bytes as another encoder's: scapy's.

use plait_model_wire::geneve::Options;
use plait_model_wire::icmp::TooBig;
use plait_model_wire::nsh::{Items, Metadata};
use plait_model_wire::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

/// As scapy 2.5 knows neither GUE nor ovstack, these are left to tests against a kernel and to our own.
const KINDS: usize = 15;

#[test]
fn scapy_writes_the_same_bytes() {
    // The distribution's own, which the package is for.
    let python = |arguments: &[&str]| Command::new("/usr/bin/python3").args(arguments).output();
    if !python(&["-c", "import scapy"]).is_ok_and(|done| done.status.success()) {
        println!("skipped: scapy_writes_the_same_bytes: python3-scapy is not installed");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scapy_packets.py");
    let done = python(&[script.to_str().unwrap(), "7"]).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for line in String::from_utf8(done.stdout).unwrap().lines() {
        let said: Value = serde_json::from_str(line).unwrap();
        let kind = said["kind"].as_str().unwrap();
        *seen.entry(kind.to_owned()).or_default() += 1;
        let mut packet = hex(&said, "payload");
        put_before(&mut packet, kind, &said);
        assert_eq!(packet, hex(&said, "bytes"), "{line}");
    }
    assert_eq!(seen.len(), KINDS, "{seen:?}");
    assert!(seen.values().all(|count| *count >= 40), "{seen:?}");
}

fn put_before(packet: &mut Vec<u8>, kind: &str, said: &Value) {
    let number = |key: &str| said[key].as_u64().unwrap_or_else(|| panic!("{key} in {said}"));
    let (byte, short, word) =
        (|key: &str| number(key) as u8, |key: &str| number(key) as u16, |key: &str| number(key) as u32);
    let yes = |key: &str| said[key].as_bool().unwrap();
    let text = |key: &str| said[key].as_str().unwrap();
    match kind {
        "ethernet" => push(
            packet,
            &ethernet::Repr {
                destination: text("destination").parse().unwrap(),
                source: text("source").parse().unwrap(),
                ether_type: short("ether_type"),
            },
        ),
        "ipv4" => push(
            packet,
            &ipv4::Repr {
                source: text("source").parse().unwrap(),
                destination: text("destination").parse().unwrap(),
                protocol: byte("protocol"),
                ttl: byte("ttl"),
                tos: byte("tos"),
                dont_fragment: yes("dont_fragment"),
                identification: short("identification"),
            },
        ),
        "ipv6" => push(
            packet,
            &ipv6::Repr {
                source: text("source").parse().unwrap(),
                destination: text("destination").parse().unwrap(),
                next_header: byte("next_header"),
                hop_limit: byte("hop_limit"),
                traffic_class: byte("traffic_class"),
                flow_label: word("flow_label"),
            },
        ),
        "udp" => {
            let addresses: (IpAddr, IpAddr) = (text("from").parse().unwrap(), text("to").parse().unwrap());
            let (source, destination) = (short("source"), short("destination"));
            push(packet, &udp::Repr { source, destination, checked: Some(addresses) });
        }
        "gre" => {
            let part = |key: &str| said[key].as_u64().map(|part| part as u32);
            let (key, sequence, checksum) = (part("key"), part("sequence"), yes("checksum"));
            push(packet, &gre::Repr { protocol: short("protocol"), key, sequence, checksum });
        }
        "nvgre" => push(packet, &nvgre::Repr { subnet: word("subnet"), flow: byte("flow") }),
        "vxlan" => push(packet, &vxlan::Repr { vni: word("vni") }),
        "vxlan_gpe" => {
            push(packet, &vxlan_gpe::Repr { vni: word("vni"), next_protocol: byte("next_protocol") });
        }
        "geneve" => {
            push(packet, &geneve::Repr { vni: word("vni"), protocol: short("protocol"), options: &[] });
        }
        "geneve_options" => {
            let bytes = hex(said, "bytes");
            let options = geneve::Packet::parse(&bytes).unwrap().options();
            let read = Options(options).map(|option| option.map(|of| (of.class, of.kind, of.value.to_vec())));
            assert_eq!(read.collect::<Result<Vec<_>, _>>().unwrap(), items(said), "{said}");
            push(packet, &geneve::Repr { vni: word("vni"), protocol: short("protocol"), options });
        }
        "nsh_items" => {
            let bytes = hex(said, "bytes");
            let metadata = nsh::Packet::parse(&bytes).unwrap().metadata();
            let Metadata::List(list) = metadata else { panic!("metadata of type 2 in {said}") };
            let read = Items(list).map(|item| item.map(|of| (of.class, of.kind, of.value.to_vec())));
            assert_eq!(read.collect::<Result<Vec<_>, _>>().unwrap(), items(said), "{said}");
            let repr = nsh::Repr {
                service_path: word("service_path"),
                service_index: byte("service_index"),
                ttl: byte("ttl"),
                next_protocol: byte("next_protocol"),
                metadata,
            };
            push(packet, &repr);
        }
        "nsh" => {
            let fixed: [u8; 16] = hex(said, "fixed").try_into().unwrap();
            let repr = nsh::Repr {
                service_path: word("service_path"),
                service_index: byte("service_index"),
                ttl: byte("ttl"),
                next_protocol: byte("next_protocol"),
                metadata: Metadata::Fixed(&fixed),
            };
            push(packet, &repr);
        }
        "mpls" => push(
            packet,
            &mpls::Repr {
                label: word("label"),
                traffic_class: byte("traffic_class"),
                is_bottom: yes("is_bottom"),
                ttl: byte("ttl"),
            },
        ),
        "too_big_4" => push(packet, &TooBig::V4 { mtu: short("mtu") }),
        "too_big_6" => {
            let (source, destination) =
                (text("source").parse().unwrap(), text("destination").parse().unwrap());
            push(packet, &TooBig::V6 { mtu: word("mtu"), source, destination });
        }
        kind => panic!("{kind} is new"),
    }
}

/// Options of Geneve, or items of a network service header: class, type and value.
fn items(said: &Value) -> Vec<(u16, u8, Vec<u8>)> {
    let number = |item: &Value, key: &str| item[key].as_u64().unwrap();
    let item = |item: &Value| (number(item, "class") as u16, number(item, "kind") as u8, hex(item, "value"));
    said["items"].as_array().unwrap().iter().map(item).collect()
}

fn hex(said: &Value, key: &str) -> Vec<u8> {
    let digits = said[key].as_str().unwrap().as_bytes();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}
