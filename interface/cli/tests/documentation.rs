//! The reference holds every key and command, and its claims about the host are true.
//!
//! `PLAIT_UPDATE_DOCS=1 cargo test -p plait-interface-cli --test documentation` writes the page of commands anew.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn page(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src").join(path)
}

fn plait(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plait"));
    command.args(arguments).stdin(Stdio::null()).output().expect("plait was built")
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
    // A part of the schema that repeats another under a number says nothing new.
    wanted.retain(|name, _| {
        let base = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        !told.contains(*name) && !(base != *name && told.contains(base))
    });
    assert!(wanted.is_empty(), "the reference says nothing of {wanted:?}");
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

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_somewhere() {
    let root = page("");
    let mut pages = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(ending) if ending == "md" => pages.push(path),
                _ => {}
            }
        }
    }
    let summary = fs::read_to_string(root.join("SUMMARY.md")).unwrap();
    pages.push(root.join("../../README.md"));
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

/// What the host shows of its networks, mounts and runtime folders.
fn host() -> BTreeMap<&'static str, String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let names = |path: &str| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names.join("\n")
    };
    BTreeMap::from([
        ("interfaces", names("/sys/class/net")),
        ("addresses", read("/proc/net/fib_trie")),
        ("IPv6 addresses", read("/proc/net/if_inet6")),
        ("routes", read("/proc/net/route")),
        ("mounts", read("/proc/self/mountinfo")),
        ("named namespaces", names("/run/netns")),
        ("pinned objects", names("/sys/fs/bpf")),
        ("forwarding", read("/proc/sys/net/ipv4/ip_forward")),
    ])
}

#[test]
fn the_host_shows_what_the_page_says() {
    let home = tempfile::tempdir().unwrap();
    let sockets = home.path().join("plait");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plait"));
        command.args(arguments).env("XDG_RUNTIME_DIR", home.path()).stdin(Stdio::null()).output().unwrap()
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello.yaml");
    let before = host();
    let up = run(&["up", file.to_str().unwrap(), "--name", "seen"]);
    if !up.status.success() {
        println!("skipped: no testbed here: {}", String::from_utf8_lossy(&up.stderr));
        return;
    }
    assert_eq!(host(), before, "while a testbed is up");
    let shown: Vec<_> = fs::read_dir(&sockets).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(shown.len(), 1, "{shown:?}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&shown[0]).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "the socket is its owner's alone");

    let listed: Value = serde_json::from_slice(&run(&["ls", "--json"]).stdout).unwrap();
    let supervisor = listed[0]["pid"].as_u64().unwrap().to_string();
    let killed = Command::new("kill").args(["-9", &supervisor]).status().unwrap();
    assert!(killed.success());
    // The kernel takes namespaces apart after the process is gone.
    for _ in 0..100 {
        if !Path::new("/proc").join(&supervisor).exists() && host() == before {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(host(), before, "after kill -9");
    let after = run(&["ls"]);
    assert_eq!(String::from_utf8_lossy(&after.stdout).trim(), "no testbed is up");
    assert_eq!(
        fs::read_dir(&sockets).unwrap().count(),
        0,
        "the next command takes the dead one's socket away"
    );
}
