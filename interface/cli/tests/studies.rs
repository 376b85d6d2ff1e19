//! Studies run, in the small form that asks only whether their figures are sane.

mod common;

use common::{Person, Running, installed};
use std::path::Path;

#[test]
fn vitos_experiments_run_and_their_figures_are_sane() {
    let Some(person) = Person::root() else { return };
    if !installed("iperf3") || !installed("python3") {
        return;
    }
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/vito/run");
    let mut command = person.command(study);
    command.arg("--small").env("PLAIT", env!("CARGO_BIN_EXE_plait")).env("PYTHONDONTWRITEBYTECODE", "1");
    let said = Running::start(&mut command, "studies/vito/run --small".to_owned()).wait().fine();
    assert_eq!(said.lines().filter(|line| line.starts_with("bar ")).count(), 9, "{said}");
    assert!(person.work().join("results/study-vito-1/vito-bursts.svg").is_file());
    // All is done: going on does nothing more, and says the same.
    person.assert_nothing_runs();
}
