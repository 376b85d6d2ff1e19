//! Processors that do not halt while somebody measures, and cost nobody anything.

mod common;

use common::{Person, eventually, lives, send, skip};
use plait_dataplane_processors::{allowed, is_virtual, stay_on};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of SCHED_IDLE in `/proc/PID/stat`.
const IDLE: &str = "5";

/// The group of the wakers of this person's only testbed, where there is one.
fn group_of(person: &Person) -> Option<PathBuf> {
    let supervisor = person.testbeds().first()?["pid"].as_i64()?;
    ["", "cpu"].into_iter().find_map(|controller| {
        let entries = fs::read_dir(PathBuf::from("/sys/fs/cgroup").join(controller)).ok()?;
        let mut paths = entries.flatten().map(|entry| entry.path());
        paths.find(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&format!("plait-{supervisor}-")) && name.ends_with("-spare")
        })
    })
}

fn members(group: &Path) -> Vec<i32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().flat_map(str::parse).collect()
}

/// A field of `/proc/PID/stat` behind the program's name, counted as proc(5) counts them.
fn field(process: i32, number: usize) -> String {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, behind) = stat.rsplit_once(") ").unwrap();
    behind.split_whitespace().nth(number - 3).unwrap().to_owned()
}

/// Ticks that a process has run.
fn ran(process: i32) -> u64 {
    [14, 15].map(|number| field(process, number).parse::<u64>().unwrap()).iter().sum()
}

/// The processors that a process may run on, as the kernel prints them.
fn place(process: i32) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    line.trim().to_owned()
}

#[test]
fn processors_are_kept_awake_and_programs_lose_nothing_by_it() {
    let Some(person) = Person::root() else { return };
    // The command begins when all stand.
    let begun = person.work().join("begun");
    let words = ["awake", "--", "sh", "-c", "touch begun; exec sleep 600"];
    let mut running = person.start(&words);
    assert!(eventually(|| begun.exists() || !running.is_running()));
    if !begun.exists() {
        let ended = running.wait();
        assert!(ended.stderr.contains("--awake never"), "{}", ended.stderr);
        return skip("no program gives way to all others here");
    }
    let Some(group) = group_of(&person) else { return skip("no control groups stand between programs here") };
    let processors = allowed();
    assert_eq!(fs::read_to_string(group.join("cpu.idle")).unwrap().trim(), "1");
    let wakers = members(&group);
    for waker in &wakers {
        assert_eq!(fs::read_to_string(format!("/proc/{waker}/comm")).unwrap().trim(), "plait-waker");
        assert_eq!(field(*waker, 41), IDLE);
        assert_eq!(
            fs::read_dir(format!("/proc/{waker}/fd")).unwrap().count(),
            0,
            "it holds no file of others"
        );
    }
    let mut places: Vec<String> = wakers.iter().map(|waker| place(*waker)).collect();
    places.sort();
    let mut expected: Vec<String> = processors.iter().map(ToString::to_string).collect();
    expected.sort();
    assert_eq!(places, expected, "one for each processor");

    // While this thread can run, the one beside it does not, whatever group and session each is in.
    let processor = processors[0];
    let beside = *wakers.iter().find(|waker| place(**waker) == processor.to_string()).unwrap();
    let ticks = std::thread::spawn(move || {
        stay_on(processor).unwrap();
        let used = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        let before = ran(beside);
        while used() < Duration::from_millis(500) {
            std::hint::spin_loop();
        }
        ran(beside) - before
    });
    let ticks = ticks.join().unwrap();
    assert!(ticks <= 5, "{ticks} ticks went to the waker, of 50 that another program was ready to use");

    // However it ends, nothing of it is left.
    running.signal(Signal::TERM);
    let ended = running.wait();
    assert_eq!(ended.status.code(), Some(128 + Signal::TERM.as_raw()), "{}", ended.stderr);
    person.assert_nothing_runs();
    assert!(!group.exists());
    assert!(wakers.iter().all(|waker| !lives(*waker)));

    fs::remove_file(&begun).unwrap();
    let killed = person.start(&words);
    assert!(eventually(|| begun.exists()));
    let group = group_of(&person).unwrap();
    send(killed.pid(), Signal::KILL);
    assert!(eventually(|| !group.exists()));
    // It outlives who started it, as of any shell.
    person.processes().into_iter().for_each(|process| send(process, Signal::KILL));
    killed.wait();
    person.assert_nothing_runs();
}

#[test]
fn the_code_of_the_command_is_passed_on_and_who_may_not_is_told() {
    let Some(person) = Person::root() else { return };
    assert_eq!(person.plait(&["awake", "--try", "--", "sh", "-c", "exit 7"]).status.code(), Some(7));
    let ended = person.plait(&["awake", "--try", "--", "no-such-program"]);
    assert!(
        ended.status.code() == Some(1) && ended.stderr.contains("cannot start `no-such-program`"),
        "{}",
        ended.stderr
    );
    let Some(user) = Person::user() else { return };
    let refused = user.plait(&["awake", "--", "true"]);
    let flat =
        fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|text| text.trim() == "0");
    if flat && refused.status.success() {
        return;
    }
    assert!(
        refused.status.code() == Some(1) && refused.stderr.contains("be root of the host"),
        "{}",
        refused.stderr
    );
    let tried = user.plait(&["awake", "--try", "--", "sh", "-c", "exit 9"]);
    assert!(
        tried.status.code() == Some(9) && tried.stderr.contains("processors may halt"),
        "{}",
        tried.stderr
    );
}

#[test]
fn a_run_says_whether_processors_were_kept_awake() {
    let Some(person) = Person::root() else { return };
    person.file("run.yaml", "plait: 1\nnodes: {a: host, b: host}\nlinks: [a-b]\nduration: 1s\n");
    let kept = |words: &[&str], folder: &str| {
        let ended = person.plait(&[&["run", "run.yaml", "--output", folder], words].concat());
        if !ended.status.success() && ended.stderr.contains("--awake never") {
            return None;
        }
        ended.fine();
        let folder = person.work().join(folder);
        let results: Value = serde_json::from_slice(&fs::read(folder.join("results.json")).unwrap()).unwrap();
        let report = fs::read_to_string(folder.join("report.html")).unwrap();
        let kept = results["world"]["kept_awake"] == true;
        assert_eq!(report.contains("kept from halting"), kept);
        Some(kept)
    };
    assert_eq!(kept(&["--awake", "never"], "never"), Some(false));
    match kept(&["--awake", "always"], "always") {
        Some(kept) => assert!(kept),
        None => return skip("no program gives way to all others here"),
    }
    assert_eq!(kept(&[], "auto"), Some(is_virtual()));
    let ended = person.plait(&["run", "run.yaml", "--awake", "always", "--world", "simulated"]);
    assert!(
        ended.status.code() == Some(2) && ended.stderr.contains("virtual time does not wait"),
        "{}",
        ended.stderr
    );
    person.assert_nothing_runs();
}
