//! Overlays of the file, in virtual time.

use super::{error, plait};
use std::fs;

#[test]
fn what_overlays_say_of_members_devices_and_stations_runs_and_several_of_them_on_one_node() {
    let folder = tempfile::tempdir().unwrap();
    let text = "plait: 1
nodes: {a: host, b: host, r: router}
links: [a-r, r-b]
duration: 1s
overlays:
  mesh: {members: [a, b], network: 10.99.0.0/24, interval: 100ms}
  told:
    members: {a: {routes: {b: r}}, r: , b: }
    control: static
    devices:
      red: {vni: 5, network: 10.98.0.0/24, members: [a, b], stations: {'02:00:00:00:00:07': b}}
      blue: {vni: 6, network: [10.97.0.0/24, fd97::/64]}
  packets: {members: {a: , b: {to: {a: gue}}}, network: [10.96.0.0/24, fd96::/64], carries: ip, control: static, encapsulation: ipip}
traffic:
  - {name: mesh, from: a, to: b, over: mesh, rate: 1Mbit, stop: 900ms}
  - {name: red, from: a, to: b, over: red, rate: 1Mbit, stop: 900ms}
  - {name: blue, from: b, to: a, over: blue, rate: 1Mbit, stop: 900ms}
  - {name: packets, from: b, to: a, over: packets, rate: 1Mbit, stop: 900ms}
";
    fs::write(folder.path().join("net.yaml"), text).unwrap();
    for words in [&["validate"][..], &["run", "--output", "whole"]] {
        let fine = plait(folder.path(), &[words, &["net.yaml", "--world", "simulated"]].concat());
        assert!(fine.status.success(), "{}", error(&fine));
    }
    let flows = fs::read_to_string(folder.path().join("whole/samples/flows.csv")).unwrap();
    let rows: Vec<Vec<&str>> = flows.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 4, "{flows}");
    assert!(rows.iter().all(|row| row[5] == row[6] && row[6].parse::<u64>().unwrap() > 100), "{flows}");
}

/// Where each of them passes on what is for all to all others, copies would go round for as long as they have hops.
#[test]
fn what_is_for_all_of_six_members_that_a_file_tells_of_each_other_goes_once_over_each_link() {
    let folder = tempfile::tempdir().unwrap();
    for encapsulation in ["ovstack", "vxlan"] {
        let text = format!(
            "plait: 1
nodes: {{a: host, b: host, c: host, d: host, e: host, f: host, r: router}}
links: [a-r, b-r, c-r, d-r, e-r, f-r]
duration: 1s
overlays: {{ov0: {{members: [a, b, c, d, e, f], network: 10.99.0.0/24, control: static, encapsulation: {encapsulation}}}}}
collect: {{links: 100ms}}
traffic: [{{name: load, from: a, to: d, over: ov0, rate: 1Mbit, stop: 900ms}}]
"
        );
        fs::write(folder.path().join("net.yaml"), text).unwrap();
        let words = ["run", "net.yaml", "--world", "simulated", "--output", encapsulation];
        let ran = plait(folder.path(), &words);
        assert!(ran.status.success(), "{}", error(&ran));
        let read = |name: &str| fs::read_to_string(folder.path().join(encapsulation).join(name)).unwrap();
        let flows = read("samples/flows.csv");
        let load: Vec<&str> = flows.lines().nth(1).unwrap().split(',').collect();
        assert!(load[5] == load[6] && load[5] != "0", "{flows}");
        let links = read("samples/links.csv");
        for host in ["b", "c", "e", "f"] {
            let last =
                links.lines().rev().find(|line| line.contains(&format!(",{host}-r,reverse,"))).unwrap();
            assert_eq!(last.split(',').nth(3), Some("1"), "{encapsulation}: a's question to {host}: {last}");
        }
    }
}

/// Sixty members on a ring of ten routers, each of which probes eight others.
#[test]
fn members_of_a_large_overlay_meet_before_the_run_and_all_that_they_send_each_other_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let (routers, members) = (10, 60);
    let mut text = "plait: 1\nnodes:\n".to_owned();
    (0..routers).for_each(|at| text += &format!("  r{at}: router\n"));
    (0..members).for_each(|at| text += &format!("  h{at}: host\n"));
    text += "defaults: {link: {rate: 1Gbit, delay: 2ms}}\nlinks:\n";
    (0..routers).for_each(|at| text += &format!("  - r{at}-r{}\n", (at + 1) % routers));
    (0..members).for_each(|at| text += &format!("  - h{at}-r{}\n", at % routers));
    let names: Vec<String> = (0..members).map(|at| format!("h{at}")).collect();
    text += &format!(
        "overlays: {{ov0: {{members: [{}], network: 10.99.0.0/24, control: delay, neighbours: 8}}}}
duration: 2s
traffic: [{{pattern: permutation, over: ov0, rate: 6Mbit, stop: 1s}}]
",
        names.join(", ")
    );
    fs::write(folder.path().join("net.yaml"), text).unwrap();
    let run = |output: &str, threads: &str| {
        let words = ["run", "net.yaml", "--world", "simulated", "--threads", threads, "--output", output];
        let ran = plait(folder.path(), &words);
        assert!(ran.status.success(), "{}", error(&ran));
        fs::read_to_string(folder.path().join(output).join("samples/flows.csv")).unwrap()
    };
    let flows = run("one", "1");
    for row in flows.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        assert!(cells[5] == cells[6] && cells[5] != "0", "{row}");
    }
    assert_eq!(flows.lines().count(), members + 1);
    assert_eq!(flows, run("two", "2"));
}
