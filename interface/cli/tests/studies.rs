//! Studies run, if only small ones: tests ask whether they work, not what they find.

mod common;

use common::{Person, Running, installed, skip};
use serde_json::Value;
use std::path::Path;

/// The folder that Cargo builds into: this test lies in its `release/deps`.
fn target() -> std::path::PathBuf {
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

/// What a part of the study of iplb says that needs no privilege, but an example that is built.
fn iplb(person: &Person, part: &str, example: &str) -> Option<String> {
    if !installed("python3") {
        return None;
    }
    if !target().join("release/examples").join(example).exists() {
        skip(&format!("the example `{example}` is not built: test the whole workspace"));
        return None;
    }
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/iplb/run");
    let mut command = person.command(study);
    command.args([part, "--small", "--output", "study"]);
    command.env("PLAIT", env!("CARGO_BIN_EXE_plait")).env("CARGO_TARGET_DIR", target());
    Some(Running::start(&mut command, format!("studies/iplb/run {part} --small")).wait().fine())
}

#[test]
fn a_fat_tree_carries_most_by_flow_based_relays_and_least_by_its_tree() {
    let person = Person::within(&std::env::temp_dir(), None);
    let Some(said) = iplb(&person, "forwarding", "fabric_study") else { return };
    let row = said.lines().find(|line| line.starts_with("| stride(4), Same | ")).expect(&said);
    let shares: Vec<f64> =
        row.split('|').skip(2).filter_map(|cell| cell.split_whitespace().next()?.parse().ok()).collect();
    let [tree, ecmp, hash, flow_based] = shares[..] else { panic!("{said}") };
    // Four hosts of a pod share one link to the root; flows that are alike find a way each.
    assert!((24.0..27.0).contains(&tree) && ecmp.min(hash) > 50.0 && flow_based > 99.0, "{said}");
    assert!(said.contains("datagrams 0 came after one that was sent later"), "{said}");
    assert!(person.work().join("study/iplb-e8.svg").exists());
    person.assert_nothing_runs();
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
