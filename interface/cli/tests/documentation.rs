//! The reference holds every key and command, links lead somewhere, and promises name tests that exist.
//!
//! `PLAIT_UPDATE_DOCS=1 cargo test -p plait-interface-cli --test documentation` writes the page of commands anew.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn page(path: &str) -> PathBuf {
    repository().join("docs/src").join(path)
}

fn plait(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plait"));
    command.args(arguments).env_remove("COLUMNS").stdin(Stdio::null()).output().expect("plait was built")
}

fn words(arguments: &[&str]) -> String {
    String::from_utf8(plait(arguments).stdout).unwrap()
}

/// Keys of an object of the schema: its properties, and those of its alternatives.
fn keys(schema: &Value) -> BTreeSet<String> {
    let own = schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone());
    let alternatives =
        ["oneOf", "anyOf"].into_iter().flat_map(|word| schema[word].as_array().into_iter().flatten());
    own.chain(alternatives.flat_map(keys)).collect()
}

/// Keys that a section of the page gives, by the names of the schema's parts that its mark tells.
fn sections(text: &str) -> BTreeMap<Vec<String>, BTreeSet<String>> {
    let mut sections = BTreeMap::new();
    for section in text.split("<!-- schema: ").skip(1) {
        let (mark, rest) = section.split_once(" -->").expect("a mark ends");
        let rows = rest.lines().filter(|line| line.starts_with("| `"));
        let cells = rows.filter_map(|line| line.split('|').nth(1));
        let keys = cells.flat_map(|cell| cell.split(',')).map(|key| key.trim().trim_matches('`').to_owned());
        sections.insert(mark.split(' ').map(str::to_owned).collect(), keys.collect());
    }
    sections
}

#[test]
fn every_key_stands_in_the_reference() {
    let schema: Value = serde_json::from_str(&words(&["schema"])).unwrap();
    let definitions = schema["$defs"].as_object().unwrap();
    let mut wanted: BTreeMap<&str, BTreeSet<String>> =
        definitions.iter().map(|(name, part)| (name.as_str(), keys(part))).collect();
    wanted.insert("File", keys(&schema));
    wanted.retain(|_, keys| !keys.is_empty());
    let text = fs::read_to_string(page("reference/file.md")).unwrap();
    let mut told = BTreeSet::new();
    for (parts, found) in sections(&text) {
        let keys: BTreeSet<String> = parts.iter().flat_map(|part| wanted[part.as_str()].clone()).collect();
        assert_eq!(found, keys, "the section for {parts:?} and the schema differ");
        told.extend(parts);
    }
    wanted.retain(|name, _| !told.contains(*name));
    assert!(wanted.is_empty(), "the reference says nothing of {wanted:?}");
}

#[test]
fn every_part_of_the_schema_has_a_name_of_its_own() {
    let schema: Value = serde_json::from_str(&words(&["schema"])).unwrap();
    // Two parts that want one name would be told apart by a number.
    let numbered = |name: &&String| name.ends_with(|last: char| last.is_ascii_digit());
    let numbered: Vec<_> = schema["$defs"].as_object().unwrap().keys().filter(numbered).collect();
    assert!(numbered.is_empty(), "{numbered:?}");
}

/// The verbs that `--help` of a command lists.
fn verbs(help: &str) -> Vec<String> {
    let list = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let verbs = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    verbs
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .map(str::to_owned)
        .collect()
}

fn describe(verbs_above: &[&str], text: &mut String) {
    let help = words(&[verbs_above, &["--help"]].concat());
    let title = [&["plait"], verbs_above].concat().join(" ");
    let level = "#".repeat(2 + verbs_above.len().saturating_sub(1));
    write!(text, "\n{level} {title}\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
    for verb in verbs(&help) {
        describe(&[verbs_above, &[verb.as_str()]].concat(), text);
    }
}

#[test]
fn every_command_stands_in_the_reference() {
    let mut text = "# The command line\n\nWhat `--help` says of each command, written by the test \
        `every_command_stands_in_the_reference`.\n\n\
        Exit codes are 0 for done, 1 for failed, 2 for wrong use and 3 for a faulty file; `plait exec` passes on the code \
        of its command, and 124 where it timed out. Results go to standard output, remarks and errors to standard error. \
        Every command takes `--json`. `PLAIT_LOG=debug` shows what goes on.\n"
        .to_owned();
    describe(&[], &mut text);
    let path = page("reference/commands.md");
    if std::env::var_os("PLAIT_UPDATE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "{} is out of date: run this test with PLAIT_UPDATE_DOCS=1", path.display());
}

/// All files below a folder with an ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let mut found: Vec<_> =
        files.into_iter().filter(|path| path.extension().is_some_and(|own| own == ending)).collect();
    found.extend(folders.iter().flat_map(|folder| self::files(folder, ending)));
    found
}

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_somewhere() {
    let root = page("");
    let mut pages = files(&root, "md");
    let summary = fs::read_to_string(root.join("SUMMARY.md")).unwrap();
    pages.extend(["README.md", "CONTRIBUTING.md", "SPECIFICATION.md"].map(|name| repository().join(name)));
    for path in pages {
        let text = fs::read_to_string(&path).unwrap();
        if let Ok(inside) = path.strip_prefix(&root)
            && !inside.ends_with("SUMMARY.md")
        {
            assert!(
                summary.contains(&format!("({})", inside.display())),
                "{} is in no summary",
                inside.display()
            );
        }
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") || file.ends_with(".png") {
                continue;
            }
            let place = path.parent().unwrap().join(file);
            assert!(place.exists(), "{} leads to {target}, which is not there", path.display());
        }
    }
}

#[test]
fn every_promise_has_a_number_of_its_own_and_names_a_test_that_exists() {
    let floors = ["model", "control", "dataplane", "simulator", "testbed", "interface"];
    let sources = floors.iter().flat_map(|floor| files(&repository().join(floor), "rs"));
    let code: String = sources.map(|path| fs::read_to_string(path).unwrap()).collect();
    let specification = fs::read_to_string(repository().join("SPECIFICATION.md")).unwrap();
    let mut numbers = BTreeSet::new();
    for row in specification.lines().filter(|line| line.starts_with("| ") && line.contains("`")) {
        let held_by = row.rsplit('|').nth(1).unwrap();
        let number = row.split('|').nth(1).unwrap().trim();
        assert!(numbers.insert(number.to_owned()), "two promises are called {number}");
        for name in held_by.split('`').skip(1).step_by(2).filter(|name| name.contains('_')) {
            assert!(code.contains(&format!("fn {name}(")), "no test is called {name}: {row}");
        }
    }
    assert!(numbers.len() > 20, "{} promises", numbers.len());
}
