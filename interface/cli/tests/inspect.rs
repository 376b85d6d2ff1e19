//! What a running testbed says of itself, for programs.

mod common;

use common::Person;
use serde_json::json;

const SHAPED: &str = "plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], delay: 2ms, dynamic: true}]\n";

#[test]
fn metrics_are_a_list_of_samples_in_json() {
    let Some(person) = Person::user() else { return };
    let testbed = person.up(SHAPED);
    testbed.exec("a", &["ping", "-c", "3", "-i", "0.05", "b"]).fine();
    let samples = person.plait(&["inspect", &testbed.name, "--metrics", "--json"]).json();
    let samples = samples.as_array().unwrap();
    let nodes = json!({ "name": "plait_nodes", "labels": { "testbed": testbed.name }, "value": 2 });
    assert!(samples.contains(&nodes), "{samples:#?}");
    let departed = samples
        .iter()
        .find(|sample| {
            sample["name"] == "plait_link_packets_departed_total"
                && sample["labels"]["direction"] == "forward"
        })
        .expect("a sample for the link");
    assert_eq!(departed["labels"]["link"], "a-b");
    assert!(departed["value"].as_u64().unwrap() >= 3, "{departed}");
    // As many as the page for people has.
    let page = person.plait(&["inspect", &testbed.name, "--metrics"]).fine();
    assert_eq!(samples.len(), page.lines().filter(|line| !line.starts_with('#')).count());
}

#[test]
fn the_log_is_one_list_in_json() {
    let Some(person) = Person::user() else { return };
    let testbed = person.up(SHAPED);
    let log = person.plait(&["inspect", &testbed.name, "--log", "--json"]).json();
    let text = person.plait(&["inspect", &testbed.name, "--log"]).fine();
    assert_eq!(log.as_array().unwrap().len(), text.lines().count());
    assert!(log.as_array().unwrap().iter().all(serde_json::Value::is_object), "{log:#}");
}
