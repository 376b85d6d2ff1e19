//! Every file in `examples/` is valid, and editors that know the published schema agree.

use jsonschema::Validator;
use plait_model_topology::document::{Scalar, Source, Value, parse};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn plait(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_plait")).args(arguments).output().expect("plait was built")
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = std::fs::read_dir(folder).expect("examples/ is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    assert!(files.len() >= 6, "only {} examples", files.len());
    files
}

fn schema() -> Validator {
    let printed = plait(&["schema"]);
    assert!(printed.status.success());
    let schema = serde_json::from_slice(&printed.stdout).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is a JSON Schema")
}

/// A document as an editor's checker sees it.
fn as_json(value: &Value) -> serde_json::Value {
    match value {
        Value::List(items, _) => items.iter().map(as_json).collect(),
        Value::Map(map) => {
            map.entries.iter().map(|entry| (entry.key.clone(), as_json(&entry.value))).collect()
        }
        Value::Scalar(Scalar::Null, _) => json!(null),
        Value::Scalar(Scalar::Bool(value), _) => json!(value),
        Value::Scalar(Scalar::Float(value, _), _) => json!(value),
        Value::Scalar(Scalar::Int(value, _), _) => json!(value),
        Value::Scalar(Scalar::Text(text), _) => json!(text),
    }
}

fn document(text: &str) -> serde_json::Value {
    as_json(&parse(&Source::new("a test", text)).unwrap_or_else(|report| panic!("{report}")))
}

#[test]
fn every_example_validates() {
    for file in examples() {
        let checked = plait(&["validate", file.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{}: {said}", file.display());
    }
}

#[test]
fn every_example_says_what_it_is_and_how_to_run_it() {
    for file in examples() {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(text.starts_with("# "), "{name} begins without a word about itself");
        assert!(text.contains(&format!("examples/{name}")), "{name} does not say how it is run");
    }
}

#[test]
fn the_published_schema_accepts_every_example() {
    let schema = schema();
    for file in examples() {
        let document = document(&std::fs::read_to_string(&file).unwrap());
        let faults: Vec<String> = schema
            .iter_errors(&document)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{}: {faults:#?}", file.display());
    }
}

/// What `plait validate` refuses for its shape, an editor underlines too.
#[test]
fn the_published_schema_refuses_what_the_command_refuses() {
    let schema = schema();
    let home = tempfile::tempdir().unwrap();
    let faulty = [
        "name: no-version\nnodes: [a]",
        "plait: 1\nnodez: [a]",
        "plait: 1\nnodes: {a: {knid: host}}",
        "plait: 1\nnodes: {a: hots}",
        "plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], delay: 20}]",
        "plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], rate: 10 parsecs}]",
        "plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], loss: 0.5}]",
        "plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], queue: {limit: 50ms, disciplin: codel}}]",
        "plait: 1\nnodes: [a, b]\nlinks: {a: b}",
        "plait: 1\nnodes: [a]\nrun: [{at: 1s, onn: a, exec: 'true'}]",
        "plait: 1\nnodes: [a]\nrun: [{on: a, exec: 'true'}]",
        "plait: 1\nrouting: rip",
        "plait: 1\nnodes: {a: {limits: {memory: 1}}}",
    ];
    for text in faulty {
        let file = home.path().join("net.yaml");
        std::fs::write(&file, text).unwrap();
        let checked = plait(&["validate", file.to_str().unwrap()]);
        assert_eq!(checked.status.code(), Some(3), "the command takes {text:?}");
        assert!(!schema.is_valid(&document(text)), "the schema takes {text:?}");
    }
}
