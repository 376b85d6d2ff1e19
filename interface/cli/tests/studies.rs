//! Studies run, if only small ones: tests ask whether they work, not what they find.

mod common;

use common::{Person, Running, installed, skip};
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
