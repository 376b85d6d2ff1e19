//! Writes a made-up results folder and its report, for work on how reports look; of a folder that has results, the
//! report only: `cargo run -p plait-testbed-experiment --example sample_report -- FOLDER [tainted]`.

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::PathBuf;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("name a folder to write"));
    if !folder.join("results.json").exists() {
        let mut results = support::results();
        if arguments.next().is_some() {
            support::taint(&mut results);
        }
        support::write(&folder, &results);
    }
    let html = plait_testbed_experiment::report::render(&folder).expect("the folder holds results");
    std::fs::write(folder.join("report.html"), html).expect("the folder can be written");
}
