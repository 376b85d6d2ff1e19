//! A testbed that is up.

use super::{Ended, Person, Running};
use serde_json::Value;
use std::path::PathBuf;

/// A testbed that is up.
pub struct Testbed<'a> {
    pub person: &'a Person,
    pub name: String,
    pub file: PathBuf,
}

impl Testbed<'_> {
    /// The command line of an `exec` in a node.
    pub fn words<'w>(&'w self, node: &'w str, command: &[&'w str]) -> Vec<&'w str> {
        [&["exec", "--testbed", &self.name, node, "--"], command].concat()
    }

    /// Runs a program in a node.
    pub fn exec(&self, node: &str, command: &[&str]) -> Ended {
        self.person.plait(&self.words(node, command))
    }

    /// Runs a line of shell in a node.
    pub fn shell(&self, node: &str, line: &str) -> Ended {
        self.exec(node, &["sh", "-c", line])
    }

    /// Starts a line of shell in a node.
    pub fn background(&self, node: &str, line: &str) -> Running {
        self.person.start(&self.words(node, &["sh", "-c", line]))
    }

    /// `plait link …` of this testbed; the words after the link's name stay last.
    pub fn link(&self, verb: &str, words: &[&str]) -> Ended {
        self.person.plait(&[&["link", verb, "--testbed", &self.name], words].concat())
    }

    /// Measures a link.
    pub fn check(&self, link: &str) -> Value {
        let check = ["--json", "link", "check", "--testbed", &self.name, link];
        let ended = self.person.plait(&check);
        // The exit code tells whether all was within the published tolerance, which a crowded machine may miss.
        let checked: Value =
            serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        checked[0].clone()
    }

    /// What `inspect --json` says.
    pub fn inspect(&self) -> Value {
        self.person.plait(&["inspect", &self.name, "--json"]).json()
    }

    /// The supervisor's process.
    pub fn pid(&self) -> i32 {
        self.inspect()["pid"].as_i64().unwrap() as i32
    }

    /// Writes the file anew and applies it.
    pub fn apply(&self, text: &str) -> Ended {
        self.person.file(self.file.file_name().unwrap().to_str().unwrap(), text);
        self.person.plait(&["apply", self.file.to_str().unwrap(), "--name", &self.name, "--json"])
    }

    /// Takes it down.
    pub fn down(self) {
        self.person.plait(&["down", &self.name]).fine();
    }
}

/// The steps of a plan by their kinds and names: `condition a-b`.
pub fn steps(value: &Value) -> Vec<String> {
    let steps = value["steps"].as_array().expect("a list of steps");
    let mut found: Vec<String> = steps
        .iter()
        .flat_map(|step| step.as_object().expect("a step is a map of one key"))
        .map(|(kind, of)| {
            let name = of["name"].as_str().or(of["node"].as_str()).unwrap_or_default();
            format!("{kind} {name}").trim().to_owned()
        })
        .collect();
    found.dedup();
    found
}
