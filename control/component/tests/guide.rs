//! What the guide says about a first application, done.

mod support;

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
