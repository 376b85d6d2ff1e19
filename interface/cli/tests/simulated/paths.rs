//! Relay lists of the file, in virtual time.

use super::{error, plait, results};
use std::fs;

#[test]
fn paths_that_hosts_learn_from_daemons_are_named_and_those_of_the_file_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = "plait: 1
nodes: {h1: host, h2: host, s1: router, up: router, down: router, s2: router}
links: [h1-s1, s1-up, up-s2, s1-down, down-s2, {endpoints: [s2, h2], prefix: 10.9.0.0/24}]
duration: 1s
collect: {links: 100ms}
routing: frr
paths:
  learn: ospf
  lists: {h1: {10.9.0.0/24: [[down, s2]]}}
traffic:
  - {name: load, from: h1, to: h2, rate: 1Mbit, stop: 900ms}
";
    fs::write(folder.join("net.yaml"), text).unwrap();
    let refused = plait(folder, &["validate", "net.yaml", "--world", "simulated"]);
    assert_eq!(refused.status.code(), Some(3), "{}", error(&refused));
    for words in ["net.yaml:6", "net.yaml:8", "`learn: ospf` of `paths`", "as late as daemons would tell"] {
        assert!(error(&refused).contains(words), "{words}: {}", error(&refused));
    }
    let without = text.replace("  learn: ospf\n", "");
    fs::write(folder.join("net.yaml"), &without).unwrap();
    let refused = plait(folder, &["validate", "net.yaml", "--world", "simulated"]);
    assert!(error(&refused).contains("net.yaml:7"), "learnt without a word: {}", error(&refused));

    let ran = plait(folder, &["run", "net.yaml", "--world", "simulated", "--leave-out", "--output", "rest"]);
    assert!(ran.status.success(), "{}", error(&ran));
    let left_out = results(&folder.join("rest"))["world"]["left_out"].to_string();
    assert!(left_out.contains("net.yaml:6") && left_out.contains("net.yaml:7"), "{left_out}");
    let carried = |place: &str| -> u64 {
        let text = fs::read_to_string(folder.join(place).join("samples/links.csv")).unwrap();
        let of = |line: &&str| line.contains("s1-down,forward");
        text.lines().rev().find(of).unwrap().split(',').nth(3).unwrap().parse().unwrap()
    };
    assert!(carried("rest") > 50, "the list by hand goes before what is learnt");

    // The same of a file that is portable as it stands.
    let whole = without.replace("routing: frr\n", "").replace("paths:\n", "paths:\n  learn: none\n");
    fs::write(folder.join("net.yaml"), whole).unwrap();
    for words in [&["validate"][..], &["run", "--output", "whole"]] {
        let fine = plait(folder, &[words, &["net.yaml", "--world", "simulated"]].concat());
        assert!(fine.status.success(), "{}", error(&fine));
    }
    assert_eq!(carried("whole"), carried("rest"));

    // One header for all relays carries as much.
    let whole = fs::read_to_string(folder.join("net.yaml")).unwrap();
    fs::write(folder.join("net.yaml"), whole.replace("paths:\n", "paths:\n  type: ovstack\n")).unwrap();
    let ran = plait(folder, &["run", "net.yaml", "--world", "simulated", "--output", "one"]);
    assert!(ran.status.success(), "{}", error(&ran));
    assert_eq!(carried("one"), carried("rest"));
}

#[test]
fn where_daemons_would_route_flows_spread_over_equally_short_ways_and_static_routes_keep_to_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut text = "plait: 1
nodes: {h1: host, h2: host, s1: router, up: router, down: router, s2: router}
links: [h1-s1, s1-up, up-s2, s1-down, down-s2, s2-h2]
duration: 1s
collect: {links: 100ms}
routing: frr
traffic:
"
    .to_owned();
    for flow in 0..16 {
        text.push_str(&format!("  - {{name: f{flow}, from: h1, to: h2, rate: 100kbit, stop: 900ms}}\n"));
    }
    let carried = |text: &str, output: &str| {
        fs::write(folder.join("net.yaml"), text).unwrap();
        let words = ["run", "net.yaml", "--world", "simulated", "--leave-out", "--output", output];
        let ran = plait(folder, &words);
        assert!(ran.status.success(), "{}", error(&ran));
        let samples = fs::read_to_string(folder.join(output).join("samples/links.csv")).unwrap();
        ["s1-up,forward", "s1-down,forward"].map(|link| {
            let last = samples.lines().rev().find(|line| line.contains(link)).unwrap();
            last.split(',').nth(3).unwrap().parse::<u64>().unwrap()
        })
    };
    let [up, down] = carried(&text, "spread");
    assert!(up > 10 && down > 10, "{up} and {down}");
    let one = carried(&text.replace("routing: frr\n", ""), "one");
    assert!(one.contains(&0) && one[0] + one[1] == up + down, "{one:?} for {up} and {down}");
}

/// Two forks, one behind the other, so that each of four ways takes two relays to be sure of. Of headers that are all alike, each switch
/// sends those for the last fork one way.
#[test]
fn lists_by_the_hash_that_is_known_carry_the_same_with_fewer_headers_in_virtual_time_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = "plait: 1
nodes: {h1: host, h2: host, s1: router, a: router, b: router, m: router, c: router, d: router, s2: router}
links: [h1-s1, s1-a, s1-b, a-m, b-m, m-c, m-d, c-s2, d-s2, s2-h2]
duration: 1s
collect: {links: 100ms}
routing: frr
paths: {hosts: [h1], select: round-robin, method: known}
traffic:
  - {name: load, from: h1, to: h2, flows: 16, rate: 2Mbit, stop: 900ms}
";
    // Of its first link, and of the four behind the forks: packets, and bytes.
    let carried = |text: &str, output: &str| -> Vec<(u64, u64)> {
        fs::write(folder.join("net.yaml"), text).unwrap();
        let words = ["run", "net.yaml", "--world", "simulated", "--leave-out", "--output", output];
        let ran = plait(folder, &words);
        assert!(ran.status.success(), "{}", error(&ran));
        let samples = fs::read_to_string(folder.join(output).join("samples/links.csv")).unwrap();
        let of = |link: &str| {
            let last = samples.lines().rev().find(|line| line.contains(link)).unwrap();
            let column = |at: usize| last.split(',').nth(at).unwrap().parse().unwrap();
            (column(3), column(4))
        };
        ["h1-s1,f", "a-m,f", "b-m,f", "m-c,f", "m-d,f"].map(of).to_vec()
    };
    let whole = text.replace("routing: frr", "routing: static");
    for (text, known, sure) in [(text, "known", "sure"), (&whole, "known-static", "sure-static")] {
        let known = carried(text, known);
        let sure = carried(&text.replace("method: known", "method: sure"), sure);
        let packets = |all: &[(u64, u64)]| all.iter().map(|(packets, _)| *packets).collect::<Vec<_>>();
        assert_eq!(packets(&known), packets(&sure));
        assert!(
            known.iter().all(|(packets, _)| *packets > 10) && known[0].1 < sure[0].1,
            "{known:?} {sure:?}"
        );
    }
    // What runs whole is valid there, and not on real nodes.
    fs::write(folder.join("net.yaml"), &whole).unwrap();
    assert!(plait(folder, &["validate", "net.yaml", "--world", "simulated"]).status.success());
    let refused = plait(folder, &["validate", "net.yaml"]);
    assert_eq!(refused.status.code(), Some(3), "{}", error(&refused));
    for words in ["net.yaml:7", "which way kernels send headers", "`--world simulated`"] {
        assert!(error(&refused).contains(words), "{words}: {}", error(&refused));
    }
    // Headers with the flow in them take all ways; where there is one, that matters to nobody.
    let by_flow = |text: &str| {
        let text = text.replace("method: known", "method: known, type: gue");
        fs::write(folder.join("net.yaml"), text).unwrap();
        plait(folder, &["run", "net.yaml", "--world", "simulated", "--leave-out", "--output", "gue"])
    };
    let refused = by_flow(text);
    assert_eq!(refused.status.code(), Some(3), "{}", error(&refused));
    assert!(error(&refused).contains("`type: ipip`"), "{}", error(&refused));
    let ran = by_flow(&whole);
    assert!(ran.status.success(), "{}", error(&ran));
}
