//! Studies run, if only small ones: tests ask whether they work, not what they find.

mod common;

use common::{Person, Running, installed, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder that Cargo builds into: this test lies in its `release/deps`.
fn target() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

#[test]
fn links_are_held_against_netem_and_token_buckets() {
    let Some(person) = Person::root() else { return };
    if !["python3", "qemu-system-x86_64", "mmdebstrap", "tc"].into_iter().all(installed) {
        return;
    }
    let examples = ["one_way", "guest"].map(|name| target().join("release/examples").join(name));
    if !examples.iter().all(|path| path.exists()) {
        return skip("the examples `one_way` and `guest` are not built: test the whole workspace");
    }
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/accuracy/run");
    let output = person
        .command(study)
        .args(["--small", "--output", "study"])
        .env("PLAIT", env!("CARGO_BIN_EXE_plait"))
        .env("CARGO_TARGET_DIR", target())
        // Where the guests' image is kept.
        .env("HOME", std::env::var_os("HOME").unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("mmdebstrap failed") {
        return skip("no image for guests could be had");
    }
    assert!(output.status.success(), "{said}{errors}");
    for made in ["figures.json", "tables.md", "accuracy.svg", "accuracy-jitter.svg"] {
        assert!(person.work().join("study").join(made).exists(), "{made}: {said}");
    }
    person.assert_nothing_runs();
}

#[test]
fn vitos_experiments_run_and_their_figures_are_sane() {
    let Some(person) = Person::root() else { return };
    if !["python3", "iperf3", "tc"].into_iter().all(installed) {
        return;
    }
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/vito/run");
    let mut command = person.command(study);
    command.arg("--small").env("PLAIT", env!("CARGO_BIN_EXE_plait"));
    let said = Running::start(&mut command, "studies/vito/run --small".to_owned()).wait().fine();
    assert_eq!(said.lines().filter(|line| line.starts_with("bar ")).count(), 9, "{said}");
    for picture in ["vito-windows.svg", "vito-bursts.svg"] {
        assert!(person.work().join("results/study-vito-1").join(picture).exists(), "{picture}: {said}");
    }
    person.assert_nothing_runs();
}

#[test]
fn an_internet_carries_both_control_planes() {
    let Some(person) = Person::root() else { return };
    if !["python3", "fping", "/usr/lib/frr/bgpd"].into_iter().all(installed) {
        return;
    }
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/ovstack/run");
    let mut command = person.command(study);
    command.args(["--small", "--output", "study"]).env("PLAIT", env!("CARGO_BIN_EXE_plait"));
    let said = Running::start(&mut command, "studies/ovstack/run --small".to_owned()).wait().fine();
    let mean = |world: &str| -> f64 {
        let row = said.lines().find(|line| line.starts_with(&format!("| all | {world} |"))).expect(&said);
        row.split('|').nth_back(1).unwrap().trim().parse().unwrap()
    };
    // Links of 10 to 50 ms; an overlay is no shorter than light, and a relay takes no time that counts.
    assert!((10.0..300.0).contains(&mean("underlay")), "{said}");
    assert!(mean("mesh") > 0.9 * mean("underlay") && mean("delay") < 1.5 * mean("underlay"), "{said}");
    assert!(person.work().join("study/ovstack-e2.svg").exists());
    person.assert_nothing_runs();
}

#[test]
fn a_long_queue_makes_a_ping_wait_and_a_short_one_does_not() {
    let Some(person) = Person::root() else { return };
    if !installed("iperf3") {
        return;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bufferbloat.yaml");
    // CUBIC over 2 ms each way, with queues of 5 ms and of 500 ms.
    let runs = ["5", "53"].map(|cell| {
        let words =
            ["run", file.to_str().unwrap(), "--json", "--cell", cell, "--name", cell, "--output", cell];
        person.start(&words)
    });
    let [short, long] = runs.map(|run| run.wait().json()["metrics"].clone());
    let value = |metrics: &Value, name: &str| metrics[name]["value"].as_f64().unwrap();
    assert!(value(&long, "latency") > 5.0 * value(&short, "latency"), "{short} {long}");
    assert!(value(&long, "waiting") > 5.0 * value(&short, "waiting"), "{short} {long}");
    assert!([&short, &long].iter().all(|run| (5e6..20e6).contains(&value(run, "goodput"))), "{short} {long}");
    person.assert_nothing_runs();
}

#[test]
fn what_keeping_processors_awake_gains_and_costs_is_measured() {
    let Some(person) = Person::root() else { return };
    if !installed("python3") {
        return;
    }
    if !target().join("release/examples/waits").exists() {
        return skip("the example `waits` is not built: test the whole workspace");
    }
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/awake/run");
    let mut command = person.command(study);
    command.arg("--small").env("PLAIT", env!("CARGO_BIN_EXE_plait")).env("CARGO_TARGET_DIR", target());
    let said = Running::start(&mut command, "studies/awake/run --small".to_owned()).wait().fine();
    assert_eq!(said.lines().filter(|line| line.starts_with("bar awake.")).count(), 5, "{said}");
    person.assert_nothing_runs();
}

#[test]
fn maestros_experiments_run_and_count_what_workers_meet() {
    let Some(person) = Person::root() else { return };
    if !installed("python3") {
        return;
    }
    if !["output_batching", "controller_scaling"]
        .iter()
        .all(|name| target().join("release/examples").join(name).exists())
    {
        return skip("the examples of the load are not built: test the whole workspace");
    }
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/maestro/run");
    let mut command = person.command(study);
    command.args(["--small", "counted", "dynamics", "batching", "memory", "gains", "revisits"]);
    command.env("PLAIT", env!("CARGO_BIN_EXE_plait")).env("CARGO_TARGET_DIR", target());
    let said = Running::start(&mut command, "studies/maestro/run --small".to_owned()).wait().fine();
    // Where all serve all, workers meet: of both applications.
    for app in ["Learning-switch", "Routing"] {
        let (_, told) = said.split_once(&format!("{app}, 8 switches:")).expect(&said);
        let row = told.lines().find(|line| line.starts_with("| round robin | ")).expect(&said);
        let met: Vec<u64> = row.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        assert!(met[..3].iter().all(|count| *count > 0), "{said}");
    }
    for bar in ["skips", "revisits"] {
        let line = said
            .lines()
            .find(|line| line.starts_with(&format!("bar maestro-round-robin-{bar} ")))
            .expect(&said);
        assert!(line.ends_with(" ok"), "{said}");
    }
    // Fifty sends take longer than one.
    let fifty = said.lines().find(|line| line.starts_with("| 50 | ")).expect(&said);
    let times: f64 = fifty.split('|').nth(4).unwrap().trim().parse().unwrap();
    assert!(times > 2.0, "{said}");
    // What the machine has processors for is measured, and all of it is modelled.
    let row = |what: &str| {
        let line = said
            .lines()
            .find(|line| line.starts_with(&format!("| static partition | {what} |")))
            .expect(&said);
        line.split('|').filter(|cell| cell.trim().parse::<f64>().is_ok()).count()
    };
    let processors = std::thread::available_parallelism().unwrap().get();
    assert_eq!((row("measured"), row("`model`")), (processors.min(3), 3), "{said}");
    // The model is held to what was measured, whatever a tenth of a second on a busy machine makes of it.
    for of in ["fed", "1", "2"].into_iter().take(1 + processors.min(2)) {
        let bar = format!("bar controller-scaling-model-error-{of}-learning-switch-8 ");
        let line = said.lines().find(|line| line.starts_with(&bar)).expect(&said);
        assert!(line.ends_with(" ok") || line.ends_with(" short"), "{said}");
    }
    // What each of four parts gains is told of each design.
    let (_, gains) = said.split_once("maestro gains -->").expect(&said);
    let row = gains.lines().find(|line| line.starts_with("| round robin | ")).expect(&said);
    assert_eq!(row.split('|').filter(|cell| cell.contains(" % (")).count(), 4, "{said}");
    // Who is held by another worker is tried again, or not.
    let (_, revisits) = said.split_once("maestro revisits -->").expect(&said);
    for (what, is_tried) in [("tried again", true), ("passed by", false)] {
        let again = |line: &str| line.rsplit('|').nth(1).and_then(|cell| cell.trim().parse::<u64>().ok());
        let of = revisits.lines().filter(|line| line.contains(what)).filter_map(again);
        assert_eq!(of.sum::<u64>() > 0, is_tried, "{said}");
    }
    let kept = std::fs::read_dir(person.work().join("results/study-maestro")).unwrap();
    // Of each application two to know the capacity, the design, and three for revisits; of small reads two, and a load that changes.
    let runs = kept.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "json"));
    assert_eq!(runs.count(), 18, "{said}");
    person.assert_nothing_runs();
}

/// An example of the workspace, if it is built.
fn example(name: &str) -> Option<PathBuf> {
    let path = target().join("release/examples").join(name);
    if !path.exists() {
        skip(&format!("the example `{name}` is not built: test the whole workspace"));
        return None;
    }
    Some(path)
}

/// What a part of the study of iplb says that needs no privilege, but an example that is built.
fn iplb(person: &Person, part: &str, needed: &str) -> Option<String> {
    if !installed("python3") {
        return None;
    }
    example(needed)?;
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/iplb/run");
    let mut command = person.command(study);
    command.args([part, "--small", "--output", "study"]);
    command.env("PLAIT", env!("CARGO_BIN_EXE_plait")).env("CARGO_TARGET_DIR", target());
    Some(Running::start(&mut command, format!("studies/iplb/run {part} --small")).wait().fine())
}

/// The first figure of each cell of a row of a table.
fn figures(said: &str, row: &str) -> Vec<f64> {
    let row = said.lines().find(|line| line.starts_with(&format!("| {row} | "))).expect(said);
    row.split('|').skip(2).filter_map(|cell| cell.split_whitespace().next()?.parse().ok()).collect()
}

#[test]
fn a_fat_tree_carries_most_by_flow_based_relays_and_least_by_its_tree() {
    let person = Person::within(&std::env::temp_dir(), None);
    let Some(said) = iplb(&person, "forwarding", "fabric_study") else { return };
    let [tree, ecmp, hash, flow_based] = figures(&said, "stride(4), Same")[..] else { panic!("{said}") };
    // Four hosts of a pod share one link to the root; flows that are alike find a way each.
    assert!((24.0..27.0).contains(&tree) && ecmp.min(hash) > 50.0 && flow_based > 99.0, "{said}");
    assert!(said.contains("datagrams 0 came after one that was sent later"), "{said}");
    assert!(person.work().join("study/iplb-e8.svg").exists());
    // Rates and pairs are the same in both repeats; ports are not, and so hashes divide flows otherwise.
    let runs = std::fs::read_to_string(person.work().join("study/k4-2.jsonl")).unwrap();
    let runs = runs.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let shares: Vec<f64> = runs
        .filter(|run| run["method"] == "hash" && run["pattern"] == "stride(2)")
        .map(|run| run["received"].as_f64().unwrap() / run["sent"].as_f64().unwrap())
        .collect();
    let [first, second] = shares[..] else { panic!("{shares:?}") };
    assert!((first - second).abs() > 0.01, "{shares:?}");
    person.assert_nothing_runs();
}

#[test]
fn flows_that_are_moved_by_algorithm_1_as_printed_fill_ways_less_than_by_plaits_reading() {
    let person = Person::within(&std::env::temp_dir(), None);
    let Some(said) = iplb(&person, "rearranging", "fabric_study") else { return };
    let [closed, printed] = ["every second", "every second, both: as printed"].map(|row| figures(&said, row));
    // Of five columns of shares, and one of how many flows were moved.
    assert_eq!((closed.len(), printed.len()), (6, 6), "{said}");
    assert!(closed.iter().zip(&printed).take(5).all(|(closed, printed)| closed > printed), "{said}");
    assert!(figures(&said, "hash")[5] == 0.0 && closed[5] > 0.0, "{said}");
}

/// What runs with a thousand members, for as long as that takes, runs with forty.
#[test]
fn a_file_of_members_that_an_example_writes_runs_in_virtual_time_and_what_they_send_arrives() {
    let Some(example) = example("thousand_nodes") else { return };
    let person = Person::within(&std::env::temp_dir(), None);
    for plane in ["0", "1"] {
        let written = Command::new(&example).args(["file", "40", plane]).output().unwrap();
        assert!(written.status.success());
        person.file("members.yaml", String::from_utf8(written.stdout).unwrap());
        let said = person.plait(&["run", "members.yaml", "--world", "simulated", "--output", plane]).fine();
        let flows = std::fs::read_to_string(person.work().join(plane).join("samples/flows.csv")).unwrap();
        let rows: Vec<Vec<&str>> = flows.lines().skip(1).map(|row| row.split(',').collect()).collect();
        assert_eq!(rows.len(), 40, "{said}");
        assert!(rows.iter().all(|row| row[5] == "10" && row[6] == "10"), "{flows}");
    }
}

#[test]
fn how_long_paths_take_is_told_of_each_size_and_drawn() {
    let person = Person::within(&std::env::temp_dir(), None);
    let Some(said) = iplb(&person, "times", "paths_times") else { return };
    let rows: Vec<&str> = said.lines().filter(|line| line.contains(" switches, ")).collect();
    assert_eq!(rows.len(), 8, "{said}");
    for row in rows {
        let cells: Vec<f64> = row.split('|').skip(3).filter_map(|cell| cell.trim().parse().ok()).collect();
        let [half, most, nearly, all, whole] = cells[..] else { panic!("{row}") };
        assert!(half <= most && most <= nearly && nearly <= all && all <= 1e3 * whole + 1.0, "{row}");
    }
    assert!(person.work().join("study/iplb-e12.svg").exists());
}
