//! The OpenFlow controller against the distribution's Open vSwitch, in user space, with hosts in nodes of their own; and
//! against switches that are emulated.

mod bridges;
mod changing;
#[path = "../common/mod.rs"]
mod common;
mod fabric;
mod roles;
mod security;
mod serving;

use common::{Ended, Person, Running, START_OPEN_VSWITCH, Testbed, eventually, has_open_vswitch, skip};
use plait_interface_daemon::{Method, tell};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

fn vsctl(testbed: &Testbed, words: &str) {
    let words = words.trim_start().trim_start_matches("-- ");
    testbed.shell("s", &format!("ovs-vsctl --db=unix:/run/ovs/db.sock --timeout=30 {words}")).fine();
}

/// Starts a controller beside the switches.
fn control(testbed: &Testbed, app: &str) {
    let line =
        format!("setsid /run/plait controller run --app {app} > /run/node/log/controller 2>&1 < /dev/null &");
    testbed.shell("s", &line).fine();
    assert!(eventually(|| ask(testbed, "switches").is_some()));
}

fn ask(testbed: &Testbed, what: &str) -> Option<Value> {
    let ended = testbed.shell("s", &format!("/run/plait controller {what} --json"));
    (ended.code() == Some(0)).then(|| ended.json())
}
