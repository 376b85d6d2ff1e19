//! What the documentation says about applications, done.

mod support;

use plait_control_runtime::{Dag, Manifest, Policy};
use std::path::Path;
use std::process::Command;
use support::{least_delay, repository};

/// What the example prints.
fn example(arguments: &[&Path]) -> String {
    let built = std::env::current_exe().unwrap();
    let program = built.parent().unwrap().parent().unwrap().join("examples/first_application");
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_first_application_does_what_the_guide_shows() {
    let component = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide-least-delay.wasm");
    std::fs::write(&component, least_delay().1).unwrap();
    let manifest = repository().join("examples/control/least-delay/manifest.json");
    let (native, both) = (example(&[]), example(&[&manifest, &component]));
    std::fs::remove_file(component).unwrap();
    assert!(both.contains("  1 reaches 3 by 2 in 30ms\n"), "{both}");
    let page = std::fs::read_to_string(repository().join("docs/src/guide/control-application.md")).unwrap();
    for printed in [native, both] {
        assert!(page.contains(&printed), "the guide does not show:\n{printed}");
    }
}

#[test]
fn the_reference_shows_a_manifest_and_a_dag_that_are_taken() {
    let page = std::fs::read_to_string(repository().join("docs/src/reference/applications.md")).unwrap();
    let mut blocks = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut next = || blocks.next().unwrap();
    let manifest: Manifest = serde_json::from_str(next()).unwrap();
    let expected = Manifest::new("forward").reads("~requests@1").reads("stations@1?").writes("~answers@1");
    assert_eq!(manifest, expected.parallel());
    let dag: Dag = serde_json::from_str(next()).unwrap();
    let policy = Policy { instances: 4, queue: 256, priority: 1, ..Policy::default() };
    assert_eq!(dag, Dag::chain("forwarding", &["forward", "filter"]).on("requests@1").policy(policy));
    // Every key that a policy has is in its table, with what it is without it.
    let serde_json::Value::Object(keys) = serde_json::to_value(Policy::default()).unwrap() else { panic!() };
    for (key, value) in keys {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{key}` |")));
        let without = value.to_string().trim_matches('"').to_owned();
        assert!(row.is_some_and(|row| row.ends_with(&format!("| `{without}` |"))), "{key}: {without}");
    }
}
