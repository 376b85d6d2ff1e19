//! One file in virtual time: what runs there, what is refused, what is told.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PORTABLE: &str = "plait: 1
name: both
nodes: {a: {}, r: {kind: router}, b: {}, c: {}}
links:
  - {endpoints: [a, r], rate: 10Mbit, loss: 5%, delay: 2ms}
  - r-b
  - r-c
duration: 2s
collect: {links: 100ms}
overlays: {vnet: {members: [a, b, c], network: 172.16.0.0/24, control: delay}}
traffic:
  - {name: load, from: a, to: b, rate: 4Mbit, stop: 1500ms}
  - {name: more, pattern: stride(1), flows: 6, rate: 3Mbit, rates: power_law, stop: 1s}
run:
  - {at: 500ms, link: a-r, fail: true}
  - {at: 700ms, link: a-r, recover: true}
  - {at: 1s, link: a-r, set: {delay: 10ms}}
metrics:
  lost: {link: a-r, column: lost, take: last}
";

const REAL: &str = "  - {at: 1s, on: a, exec: date}
collect: {interfaces: 1s, tcp: 1s}
";

fn plait(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_plait")).current_dir(folder).args(words).output().unwrap()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn results(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("results.json")).unwrap()).unwrap()
}

#[test]
fn two_runs_in_virtual_time_give_the_same_samples_and_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("net.yaml"), PORTABLE).unwrap();
    assert!(plait(folder, &["validate", "net.yaml", "--world", "simulated"]).status.success());
    for place in ["first", "second"] {
        let ran = plait(folder, &["run", "net.yaml", "--world", "simulated", "--output", place]);
        assert!(ran.status.success(), "{}", error(&ran));
    }
    for name in ["samples/links.csv", "samples/flows.csv", "plan.json"] {
        let read = |place: &str| fs::read(folder.join(place).join(name)).unwrap();
        assert!(!read("first").is_empty() && read("first") == read("second"), "{name}");
    }
    let results = results(&folder.join("first"));
    assert_eq!(results["world"]["kind"], "simulator");
    let figure = |name: &str| results["metrics"][name]["value"].as_f64().unwrap();
    // A fifth of a second of 1.5 s goes to the failure, and 5 % of the rest to chance.
    assert!(figure("load_sent") * 0.7 < figure("load_received"), "{results:#}");
    assert!(figure("load_received") < figure("load_sent") * 0.87, "{results:#}");
    assert!(figure("lost") > 0.0);
    // Instants are exact where nothing takes real time.
    for event in results["events"].as_array().unwrap() {
        assert_eq!(event["asked_s"], event["actual_s"], "{event}");
    }
    let compared = plait(folder, &["compare", "first", "second"]);
    assert!(String::from_utf8_lossy(&compared.stdout).contains("load_received"), "{}", error(&compared));
}

#[test]
fn a_sweep_in_virtual_time_runs_every_cell_and_is_the_same_however_many_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = PORTABLE
        .replace(
            "duration: 2s\n",
            "duration: 2s\nexperiment: {factors: {wait: [1ms, 20ms], load: [2Mbit, 4Mbit]}, repeats: 2}\n",
        )
        .replace("loss: 5%, delay: 2ms", "loss: 5%, delay: $wait")
        .replace("rate: 4Mbit, stop: 1500ms", "rate: $load, stop: 1500ms");
    fs::write(folder.join("net.yaml"), text).unwrap();
    let table = |jobs: &str| {
        let words = ["run", "net.yaml", "--world", "simulated", "--jobs", jobs, "--output", jobs];
        let ran = plait(folder, &words);
        let told = error(&ran);
        assert!(ran.status.success(), "{told}");
        // Those that begin before any is over.
        let at_once = told.lines().filter(|line| line.trim_start().starts_with("0/8 ")).count();
        let processors = std::thread::available_parallelism().unwrap().get();
        assert_eq!(at_once, processors.min(jobs.parse().unwrap()), "{told}");
        fs::read_to_string(folder.join(jobs).join("runs.csv")).unwrap()
    };
    let one = table("1");
    let sorted = |table: &str| table.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(sorted(&one), sorted(&table("2")), "two at once");
    assert_eq!(one.lines().count(), 1 + 4 * 2, "{one}");
    let told = |run: &str| {
        let told = results(&folder.join("1/runs").join(run));
        ["load_sent", "load_received", "lost"].map(|name| told["metrics"][name]["value"].as_f64().unwrap())
    };
    for [slow, fast] in
        [["c1", "c2"], ["c3", "c4"]].map(|cells| cells.map(|cell| told(&format!("{cell}-r1-a1"))))
    {
        assert!(slow[0] * 1.9 < fast[0] && slow[1] * 1.8 < fast[1], "{slow:?} {fast:?}");
    }
    // Repeats draw anew.
    assert_ne!(told("c1-r1-a1"), told("c1-r2-a1"));
}

/// Whoever drops a packet, and why, stands in the results and on the page.
#[test]
fn packets_that_nodes_drop_are_told_by_node_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = "plait: 1
name: drops
nodes: {a: {}, r: {kind: router}, b: {}}
links: [a-r, {endpoints: [r, b], mtu: 600B}]
routing: static
duration: 2s
collect: {links: 100ms}
traffic:
  - {name: short, from: a, to: b, rate: 80kbit, size: 100B, stop: 1s}
  - {name: long, from: a, to: b, rate: 800kbit, size: 1000B, stop: 1s}
";
    fs::write(folder.join("net.yaml"), text).unwrap();
    let ran = plait(folder, &["run", "net.yaml", "--world", "simulated", "--output", "out"]);
    assert!(ran.status.success(), "{}", error(&ran));
    let links = &results(&folder.join("out"))["links"];
    let dropped = links["drops"]["nodes"]["r"]["too_big"].as_u64().unwrap();
    assert!(dropped > 50 && links["at_nodes"] == dropped, "{links:#}");
    assert_eq!(links["drops"]["nodes"].as_object().unwrap().len(), 1, "{links:#}");
    let page = fs::read_to_string(folder.join("out/report.html")).unwrap();
    assert!(page.contains("What nodes dropped") && page.contains("<td>too big</td>"));
}

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

#[test]
fn packets_of_links_ends_are_captured_and_are_the_same_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = PORTABLE.replace("collect: {links: 100ms}", "collect: {links: 100ms, capture: ['b:eth0']}");
    fs::write(folder.join("net.yaml"), text).unwrap();
    let run = |place: &str, more: &[&str]| {
        let words = ["run", "net.yaml", "--world", "simulated", "--capture", "a:eth0", "--output", place];
        plait(folder, &[&words, more].concat())
    };
    for (place, threads) in [("one", "1"), ("two", "2"), ("three", "3")] {
        let ran = run(place, &["--threads", threads]);
        assert!(ran.status.success(), "{}", error(&ran));
    }
    let names =
        ["captures/a-eth0.pcapng", "captures/b-eth0.pcapng", "samples/links.csv", "samples/flows.csv"];
    for name in names {
        let read = |place: &str| fs::read(folder.join(place).join(name)).unwrap();
        assert!(read("one").len() > 300, "{name}");
        assert!(read("one") == read("two") && read("one") == read("three"), "{name}");
    }
    let results = results(&folder.join("one"));
    assert!(results["samples"]["packets"]["kept"].as_u64().unwrap_or_default() > 1000, "{results:#}");

    for (words, remedy) in [
        (&["--capture", "a:eth7"][..], "`a` has no interface `eth7`"),
        (&["--capture", "a"], "write `a:eth0`"),
        (&["--capture", "a:vnet"], "name an end of a link"),
    ] {
        let refused = run("refused", words);
        assert_eq!(refused.status.code(), Some(2), "{}", error(&refused));
        assert!(error(&refused).contains(remedy), "{}", error(&refused));
    }
    let refused = plait(folder, &["run", "net.yaml", "--threads", "2", "--output", "refused"]);
    assert_eq!(refused.status.code(), Some(2), "{}", error(&refused));
    assert!(error(&refused).contains("add `--world simulated`"), "{}", error(&refused));
    assert!(!folder.join("refused").exists());

    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let fields =
        ["-e", "frame.interface_name", "-e", "udp.srcport", "-e", "udp.dstport", "-e", "_ws.malformed"];
    let file = folder.join("one/captures/b-eth0.pcapng");
    let read =
        Command::new("tshark").args(["-n", "-r"]).arg(file).args(["-T", "fields"]).args(fields).output();
    let read = read.unwrap();
    assert!(read.status.success(), "{}", error(&read));
    let text = String::from_utf8(read.stdout).unwrap();
    // What the file's first traffic brought to b is what the capture has of it.
    let rows = fs::read_to_string(folder.join("one/samples/flows.csv")).unwrap();
    let load: Vec<&str> = rows.lines().find(|row| row.starts_with("load,")).unwrap().split(',').collect();
    let of_load = format!("b:eth0\t{}\t{}\t", load[3], load[4]);
    assert_eq!(text.lines().filter(|line| **line == of_load).count().to_string(), load[6], "{}", text.len());
}

/// The blocks of a language in a page of the book.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let page = fs::read_to_string(Path::new(BOOK).join(page)).unwrap();
    let begins = format!("```{language}\n");
    page.split(&begins).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/guide");

/// Types a block as a person would, in a folder; what was printed.
fn types(folder: &Path, block: &str) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_plait")).parent().unwrap().display();
    let line = format!("PATH={bin}:$PATH\n{block}");
    let typed = Command::new("sh").args(["-euc", &line]).current_dir(folder).output().unwrap();
    let said = String::from_utf8(typed.stdout.clone()).unwrap();
    assert!(typed.status.success(), "{block}: {said}{}", error(&typed));
    said
}

#[test]
fn what_the_guides_say_of_virtual_time_can_be_typed_and_prints_what_they_show() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let typed: Vec<String> = blocks("simulate.md", "sh").iter().map(|block| types(folder, block)).collect();
    let [first, plan, over, captured] = typed.try_into().expect("the guide has four blocks");
    let shown = blocks("simulate.md", "text").remove(0);
    let figures = |said: &str| -> Vec<String> {
        said.lines().filter(|line| line.starts_with("random_")).map(str::to_owned).collect()
    };
    assert_eq!(figures(&first), figures(&shown));
    assert_eq!(figures(&captured), figures(&shown), "two threads give what one does");
    assert!(plan.lines().count() > 20, "{plan}");
    // Delay's overlay goes by b.
    assert!(over.contains("load_received"), "{over}");
    let carried = |link: &str| -> u64 {
        let text = fs::read_to_string(folder.join("results/over-1/samples/links.csv")).unwrap();
        let last = text.lines().rfind(|line| line.contains(&format!(",{link},forward,"))).unwrap().to_owned();
        last.split(',').nth(4).unwrap().parse().unwrap()
    };
    assert!(
        carried("ra-rb") > 10 * carried("ra-rc"),
        "{} by b, {} straight",
        carried("ra-rb"),
        carried("ra-rc")
    );
    assert!(fs::read_dir(folder.join("results/fat-tree-4-2/captures")).unwrap().count() > 0);

    let example = Path::new(BOOK).join("../../../examples");
    let shown = blocks("steer.md", "yaml").remove(0);
    let shown = shown.strip_prefix("# examples/paths.yaml\n").expect("the guide names the file");
    assert!(fs::read_to_string(example.join("paths.yaml")).unwrap().ends_with(shown), "{shown}");
    let there = folder.join("steer");
    fs::create_dir_all(there.join("examples")).unwrap();
    fs::copy(example.join("paths.yaml"), there.join("examples/paths.yaml")).unwrap();
    let block = blocks("steer.md", "sh").into_iter().find(|block| block.contains("--world simulated"));
    assert!(types(&there, &block.unwrap()).contains("load_received"));
}
