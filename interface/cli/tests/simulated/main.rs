//! One file in virtual time: what runs there, what is refused, what is told.

mod guides;
mod overlays;
mod paths;
mod refused;

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
