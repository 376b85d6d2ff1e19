//! What sending costs, stage by stage: tests ask whether all packets are followed, not how fast they are.

mod common;

use common::{Host, Person};
use serde_json::Value;

#[test]
fn every_ways_packets_are_followed_from_the_call_to_the_driver() {
    let Some(person) = Person::root() else { return };
    let host = Host::new(&person, 1);
    let program = person.program().to_str().unwrap();
    let drawing = person.work().join("profile.svg");
    let words = ["overlay", "profile", "--packets", "400", "--svg", drawing.to_str().unwrap(), "--json"];
    let ended = host.exec(&[&[program][..], &words].concat());
    assert_eq!(ended.code(), Some(0), "{ended:#?}");
    let said: Value = serde_json::from_str(&ended.stdout).unwrap();

    let ways = said["ways"].as_array().unwrap();
    // Nothing, the kernel's five, and sixteen of ours: frames in all that carry frames, packets in all that carry packets.
    assert_eq!(ways.len() + said["absent"].as_array().unwrap().len(), 22, "{said:#}");
    let names: Vec<&str> = ways.iter().map(|way| way["way"].as_str().unwrap()).collect();
    for name in ["vxlan-gpe", "geneve, IP", "mpls, IP", "nsh, IP", "vxlan-gpe, IP"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let has =
        |way: &Value, stage: &str| way["stages"].as_array().unwrap().iter().any(|found| found[0] == stage);
    let drawn = std::fs::read_to_string(&drawing).unwrap();
    for way in ways {
        let name = way["way"].as_str().unwrap();
        assert!(way["kept"].as_u64() > Some(200), "most packets go as most do: {way:#}");
        let is_tunnel = name != "bare";
        assert_eq!(has(way, "tunnel"), is_tunnel, "{way:#}");
        // A tunnel of the kernel's is sent through its stack once more; ours is not.
        let is_told = said["empty"]["out"].is_f64();
        assert_eq!(has(way, "outer"), is_told && name.ends_with("(kernel)"), "{way:#}");
        let quartiles = ["lower", "median", "upper"].map(|at| way["total"][at].as_f64().unwrap());
        assert!(quartiles[0] > 0.0 && quartiles.is_sorted(), "{way:#}");
        assert!(drawn.contains(&format!(">{name}</text>")), "{name}: {drawn}");
    }
    for at in ["call", "enter", "queue", "start", "sent"] {
        assert!(said["empty"][at].as_f64() > Some(0.0), "a stamp is not free: {said:#}");
    }
    // Hosts were in namespaces, which are gone; so are names.
    assert_eq!(host.sh("ls /sys/fs/bpf /run | grep plait-lab || true"), "");

    let doctor = host.exec(&[program, "doctor"]);
    let line = doctor
        .stdout
        .lines()
        .find(|line| line.contains(" tracepoints "))
        .expect("a line for what profiles need");
    assert!(line.starts_with("yes"), "{line}");

    host.without_bpf_file_system();
    let refused = host.exec(&[program, "overlay", "profile"]);
    assert_eq!(refused.code(), Some(1));
    assert!(refused.stderr.contains("mount -t bpf"), "{refused:#?}");
    assert_eq!(host.exec(&[program, "overlay", "profile", "--packets", "1"]).code(), Some(2));
}
