//! What virtual time cannot run is named with its line, and refused, or left out and listed.

use super::{PORTABLE, error, plait, results};
use std::fs;

const REAL: &str = "  - {at: 1s, on: a, exec: date}
collect: {interfaces: 1s, tcp: 1s}
";

#[test]
fn what_cannot_run_in_virtual_time_is_named_refused_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text =
        PORTABLE.replace("collect: {links: 100ms}\n", "").replace("metrics:", &format!("{REAL}metrics:"));
    fs::write(folder.join("net.yaml"), text).unwrap();
    let lines = ["net.yaml:17", "net.yaml:18"];
    for words in [&["validate"][..], &["run", "--output", "refused"]] {
        let refused = plait(folder, &[words, &["net.yaml", "--world", "simulated"]].concat());
        assert_eq!(refused.status.code(), Some(3), "{}", error(&refused));
        for line in lines {
            assert!(error(&refused).contains(line), "{line}: {}", error(&refused));
        }
    }
    assert!(!folder.join("refused").exists());
    let words = ["run", "net.yaml", "--world", "simulated", "--leave-out", "--output", "rest"];
    let ran = plait(folder, &words);
    assert!(ran.status.success(), "{}", error(&ran));
    let results = results(&folder.join("rest"));
    let left_out = results["world"]["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 3, "{left_out:?}");
    let report = fs::read_to_string(folder.join("rest/report.html")).unwrap();
    for line in lines {
        assert!(report.contains(line), "{line}");
    }
}

/// A kernel cuts a datagram that is longer than a packet; in virtual time nobody does.
#[test]
fn datagrams_that_a_kernel_would_cut_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = |size: &str, link: &str| {
        let text = format!(
            "plait: 1\nnodes: {{a: host, b: host}}\nlinks: [{{endpoints: [a, b]{link}}}]\nduration: 100ms\n\
             traffic:\n  - {{name: load, from: a, to: b, rate: 10Mbit, size: {size}}}\n"
        );
        fs::write(folder.join("net.yaml"), text).unwrap();
        plait(folder, &["validate", "net.yaml", "--world", "simulated"])
    };
    for (size, link) in [("1473B", ""), ("1500B", ", mtu: 1501B"), ("9000B", ", mtu: 9000B")] {
        let refused = file(size, link);
        assert_eq!(refused.status.code(), Some(3), "{}", error(&refused));
        assert!(error(&refused).contains("net.yaml:6") && error(&refused).contains("write `size: "));
    }
    for (size, link) in [("1472B", ""), ("1473B", ", mtu: 1501B"), ("8972B", ", mtu: 9000B")] {
        let fine = file(size, link);
        assert!(fine.status.success(), "{}", error(&fine));
    }
    let ran = plait(folder, &["run", "net.yaml", "--world", "simulated", "--output", "ran"]);
    assert!(ran.status.success(), "{}", error(&ran));
    let flows = fs::read_to_string(folder.join("ran/samples/flows.csv")).unwrap();
    let row: Vec<&str> = flows.lines().nth(1).unwrap().split(',').collect();
    assert!(row[5] != "0" && row[5] == row[6], "the longest that is taken arrives: {flows}");
}

#[test]
fn what_cannot_run_in_virtual_time_is_named_in_whatever_cell_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = "plait: 1
nodes: {a: host, r: router, b: host}
links: [a-r, r-b]
duration: 100ms
experiment: {factors: {who: [delay, none]}, repeats: 1}
overlays:
  vnet: {members: [a, b], network: 172.16.0.0/24, control: $who}
";
    fs::write(folder.join("net.yaml"), text).unwrap();
    let simulated = ["net.yaml", "--world", "simulated"];
    for words in
        [&["validate"][..], &["run", "--output", "refused"], &["run", "--output", "refused", "--cell", "2"]]
    {
        let refused = plait(folder, &[words, &simulated].concat());
        assert_eq!(refused.status.code(), Some(3), "{}", error(&refused));
        for named in ["net.yaml:7", "`control` of the overlay `vnet`", "write `mesh`, `delay` or `static`"] {
            assert!(error(&refused).contains(named), "{named}: {}", error(&refused));
        }
        let cell = error(&refused).contains("in cell 2: who=none");
        assert_eq!(cell, !words.contains(&"--cell"), "{}", error(&refused));
    }
    assert!(!folder.join("refused").exists());
    let ran = plait(folder, &[&["run", "--output", "first", "--cell", "1"][..], &simulated].concat());
    assert!(ran.status.success(), "{}", error(&ran));
}

#[test]
fn traffic_over_an_overlay_that_is_not_there_is_named_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let text = "plait: 1
nodes: {a: host, b: host}
links: [a-b]
duration: 1s
overlays:
  ov0: {members: [a, b], network: 10.99.0.0/24, interval: 100ms}
  told: {members: [a, b], network: 10.98.0.0/24, control: none}
traffic:
  - {name: first, from: a, to: b, over: ov0, rate: 1Mbit, stop: 900ms}
  - {name: second, from: a, to: b, over: told, rate: 1Mbit, stop: 900ms}
";
    fs::write(folder.path().join("net.yaml"), text).unwrap();
    let refused = plait(folder.path(), &["validate", "net.yaml", "--world", "simulated"]);
    assert_eq!(refused.status.code(), Some(3), "{}", error(&refused));
    for said in ["net.yaml:7", "`control` of the overlay `told`", "net.yaml:10", "traffic over `told`"] {
        assert!(error(&refused).contains(said), "{said}: {}", error(&refused));
    }
    let words = ["run", "net.yaml", "--world", "simulated", "--leave-out", "--output", "rest"];
    let ran = plait(folder.path(), &words);
    assert!(ran.status.success(), "{}", error(&ran));
    let flows = fs::read_to_string(folder.path().join("rest/samples/flows.csv")).unwrap();
    let rows: Vec<Vec<&str>> = flows.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(
        matches!(&rows[..], [only] if only[0] == "first" && only[5] == only[6] && only[6] != "0"),
        "{flows}"
    );
}

#[test]
fn keys_that_virtual_time_would_ignore_are_named_and_the_rest_runs_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let text = "plait: 1
nodes:
  a: {routes: [{to: 198.51.100.0/24, via: 203.0.113.7}]}
  b: host
  c: {uplink: false}
links: [a-b, b-c]
duration: 1s
overlays:
  one:
    members: [a, b]
    ttl: 3
    ageing: 10s
    miss: drop
    devices:
      x: {vni: 5, mtu: 1200B, members: [a]}
      y: {vni: 6}
  two: {members: {c: , b: }, carries: ip, miss: kernel}
collect: {capture: ['a:eth0', 'a:x']}
metrics:
  round: {tcp: srtt_ms}
  lost: {link: a-b, column: lost, take: last}
assert:
  - 'round < 10ms'
  - 'lost == 0'
traffic:
  - {name: load, from: a, to: b, rate: 1Mbit, stop: 900ms}
";
    fs::write(folder.path().join("net.yaml"), text).unwrap();
    let refused = plait(folder.path(), &["validate", "net.yaml", "--world", "simulated"]);
    assert_eq!(refused.status.code(), Some(3), "{}", error(&refused));
    let told = error(&refused);
    let named = [
        ("net.yaml:3", "a route of `a` by 203.0.113.7"),
        ("net.yaml:18", "a capture of `a:x`"),
        ("net.yaml:20", "the metric `round`"),
        ("net.yaml:23", "what is asserted of a metric"),
    ];
    for (line, what) in &named {
        assert!(told.contains(line) && told.contains(what), "{line}: {what}: {told}");
    }
    assert_eq!(told.matches("cannot run in the simulator").count(), named.len(), "{told}");

    let words = ["run", "net.yaml", "--world", "simulated", "--leave-out", "--output", "rest"];
    let ran = plait(folder.path(), &words);
    assert!(ran.status.success(), "{}", error(&ran));
    let results = results(&folder.path().join("rest"));
    assert_eq!(results["world"]["left_out"].as_array().unwrap().len(), named.len(), "{results:#}");
    assert_eq!(results["assertions"].as_array().unwrap().len(), 1, "{results:#}");
    let captured: Vec<_> = fs::read_dir(folder.path().join("rest/captures")).unwrap().collect();
    assert_eq!(captured.len(), 1, "{captured:?}");
}
