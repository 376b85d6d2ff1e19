//! `plait pack` and `plait unpack`: a run as one file, and the folder again.

mod common;

use common::Person;
use serde_json::Value;
use std::fs;

const TINY: &str = "plait: 1\nname: tiny\nnodes: [a, b]\nlinks: [{endpoints: [a, b], delay: 1ms}]\n\
    collect: {links: 100ms, interfaces: 100ms, files: [{node: a, path: /run/node/note}]}\n\
    run: [{at: 0s, on: a, exec: 'echo noted > /run/node/note; sleep 0.5'}]\n";

#[test]
fn a_run_is_packed_and_unpacked_and_its_report_made_of_what_came_back() {
    let Some(person) = Person::user() else { return };
    person.file("tiny.yaml", TINY);
    person.plait(&["run", "tiny.yaml", "--output", "out/tiny"]).fine();
    let packed = person.plait(&["pack", "out/tiny", "--json"]);
    assert_eq!(packed.code(), Some(0), "{packed:#?}");
    let said: Value = serde_json::from_str(&packed.stdout).unwrap();
    assert_eq!((&said["archive"], &said["left_out"]), (&"out/tiny.tar.zst".into(), &Value::Array(vec![])));
    person.plait(&["unpack", "out/tiny.tar.zst", "--output", "back"]).fine();
    let work = person.work();
    for path in ["results.json", "network.yaml", "nodes/a/run/node/note", "samples/links.csv", "report.html"]
    {
        assert_eq!(
            fs::read(work.join("back").join(path)).unwrap(),
            fs::read(work.join("out/tiny").join(path)).unwrap()
        );
    }
    for name in ["links", "interfaces"] {
        let start = fs::read(work.join(format!("back/samples/{name}.parquet"))).unwrap();
        assert_eq!(&start[..4], b"PAR1");
    }
    person.plait(&["report", "back"]).fine();
    // Wrong use and faulty files have codes of their own.
    person.plait(&["pack", "out/tiny"]).fails_saying(2, &["out/tiny.tar.zst", "--output"]);
    person.plait(&["pack", "out"]).fails_saying(2, &["no results folder"]);
    person.plait(&["unpack", "out/tiny.tar.zst"]).fails_saying(2, &["out/tiny", "--output"]);
    let small = ["unpack", "out/tiny.tar.zst", "--output", "small", "--limit", "10KiB"];
    person.plait(&small).fails_saying(3, &["10KiB", "--limit"]);
    person.file("broken.tar.zst", "no archive");
    person.plait(&["unpack", "broken.tar.zst"]).fails_saying(3, &["broken.tar.zst", "damaged"]);
    assert!(!work.join("small").exists() && !work.join("broken").exists());
}
