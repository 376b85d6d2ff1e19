//! Nothing of a testbed is left, however it ends.

mod common;

use common::{Person, Running, Testbed, as_root_and_as_user, eventually, lives, send, skip};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Every kind of link, a LAN, daemons of its own, and files.
const MANY_KINDS: &str = "plait: 1\n\
    nodes: {a: {kind: host, files: {/etc/motto: x}, commands: ['sleep 600 >/dev/null 2>&1 &']}, r: router, b: host, c: host}\n\
    links: [{endpoints: [a, r], delay: 5ms}, {endpoints: [r, b], rate: 10Mbit}, r-c]\n\
    lans: {office: [a, b, c]}\n";

/// What of a testbed would show on the host.
#[derive(Debug, PartialEq)]
struct Host {
    links: BTreeSet<String>,
    mounts: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl Host {
    fn now() -> Self {
        let entries = |folder: &str| -> BTreeSet<String> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy())).collect()
        };
        let mut files = BTreeSet::new();
        for folder in ["/dev/shm", "/dev/net", "/run", "/tmp", "/var/tmp", "/sys/fs/bpf", "/run/netns"] {
            // Other programs of this machine come and go; what Plait makes says so.
            files.extend(
                entries(folder)
                    .into_iter()
                    .filter(|name| name.contains("plait") && !name.contains("plait-test")),
            );
        }
        Self {
            links: entries("/sys/class/net"),
            mounts: fs::read_to_string("/proc/self/mounts").unwrap().lines().map(str::to_owned).collect(),
            files,
        }
    }

    /// Waits until the host is as it was: the kernel takes a moment, and so do other tests.
    fn assert_unchanged(&self) {
        assert!(eventually(|| Self::now() == *self), "before {self:#?}, now {:#?}", Self::now());
    }
}

#[test]
fn the_host_looks_the_same_before_during_and_after() {
    as_root_and_as_user(|person| {
        let before = Host::now();
        let testbed = person.up(MANY_KINDS);
        testbed.exec("a", &["ping", "-c", "1", "-W", "20", "c"]).fine();
        before.assert_unchanged();
        assert_eq!(person.socket_names().len(), 1, "one socket is all there is");
        let name = person.socket_names().remove(0);
        assert!(name.starts_with(&format!("{}.{}.", testbed.name, testbed.pid())), "{name}");
        testbed.down();
        before.assert_unchanged();
        assert!(person.socket_names().is_empty());
        person.assert_nothing_runs();
        let home: Vec<_> = fs::read_dir(person.home()).unwrap().collect();
        assert!(home.is_empty(), "{home:?}");
    });
}

/// The supervisor that a starting command made, as soon as its socket is there; none when the command ended before.
fn supervisor_of(person: &Person, command: &mut Running) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        if let Some(name) = person.socket_names().first() {
            return name.rsplit('.').nth(1)?.parse().ok();
        }
        if !command.is_running() {
            return None;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    None
}

/// Nothing runs, and the next command removes the socket of the dead. One that is killed takes a moment to be dead: the
/// kernel ends its sandbox first.
fn assert_gone(person: &Person) {
    person.assert_nothing_runs();
    let gone = eventually(|| person.testbeds().is_empty() && person.socket_names().is_empty());
    assert!(gone, "the next command removes {:?}", person.socket_names());
}

#[test]
fn a_supervisor_killed_while_it_builds_leaves_nothing() {
    as_root_and_as_user(|person| {
        let before = Host::now();
        let text = person.plait(&["generate", "line", "--nodes", "300"]).fine();
        person.file("line.yaml", text);
        for (number, wait) in [0, 3, 30, 100, 300, 900].into_iter().enumerate() {
            let name = format!("line{number}");
            let mut up = person.start(&["up", "line.yaml", "--name", &name]);
            let Some(pid) = supervisor_of(person, &mut up) else { panic!("no supervisor: {:?}", up.wait()) };
            std::thread::sleep(Duration::from_millis(wait));
            send(pid, Signal::KILL);
            let ended = up.wait();
            // It may have been up already, and gone again before the command looked.
            let said = ["supervisor", "there is no testbed"].iter().any(|said| ended.stderr.contains(said));
            assert!(ended.code() == Some(0) || said, "{ended:#?}");
            assert_gone(person);
        }
        before.assert_unchanged();
    });
}

#[test]
fn a_command_killed_while_it_builds_takes_its_testbed_along() {
    as_root_and_as_user(|person| {
        let text = person.plait(&["generate", "line", "--nodes", "300"]).fine();
        person.file("line.yaml", text);
        for signal in [Signal::KILL, Signal::INT] {
            let mut up = person.start(&["up", "line.yaml", "--name", "line"]);
            let pid = supervisor_of(person, &mut up).expect("a supervisor");
            up.signal(signal);
            let ended = up.wait();
            if ended.code() == Some(0) {
                // It was faster than the signal.
                person.plait(&["down", "line"]).fine();
            }
            assert!(eventually(|| !lives(pid)), "{signal:?} to the command ends the supervisor too");
            assert_gone(person);
        }
    });
}

#[test]
fn a_build_that_hangs_ends_with_the_command_that_asked_for_it() {
    let text = "plait: 1\nnodes: {a: {commands: ['sleep 602']}, b: host}\nlinks: [a-b]\n";
    as_root_and_as_user(|person| {
        person.file("hangs.yaml", text);
        let mut up = person.start(&["up", "hangs.yaml", "--name", "hangs"]);
        let pid = supervisor_of(person, &mut up).expect("a supervisor");
        assert!(eventually(|| person.processes().len() >= 3), "the command of node a runs");
        assert_eq!(person.testbeds()[0]["status"], "starting");
        up.signal(Signal::INT);
        up.wait();
        assert!(eventually(|| !lives(pid)), "the supervisor ends when nobody waits for it any more");
        assert_gone(person);
        // A change that hangs keeps nobody from taking the testbed down.
        let testbed = person.up("plait: 1\nnodes: [a, b]\nlinks: [a-b]\n");
        person.file(testbed.file.file_name().unwrap().to_str().unwrap(), text);
        let apply = person.start(&["apply", testbed.file.to_str().unwrap(), "--name", &testbed.name]);
        assert!(eventually(|| person.processes().len() >= 3), "the command of node a runs");
        testbed.down();
        assert_ne!(apply.wait().code(), Some(0));
        assert_gone(person);
        // And when it is told to, whoever waits and however early.
        let mut up = person.start(&["up", "hangs.yaml", "--name", "hangs"]);
        let pid = supervisor_of(person, &mut up).expect("a supervisor");
        send(pid, Signal::TERM);
        assert_eq!(up.wait().code(), Some(1));
        assert_gone(person);
    });
}

#[test]
fn a_supervisor_killed_while_it_runs_leaves_nothing() {
    as_root_and_as_user(|person| {
        let before = Host::now();
        let testbed = person.up(MANY_KINDS);
        let busy = busy(&testbed);
        send(testbed.pid(), Signal::KILL);
        for running in busy {
            assert_ne!(running.wait().code(), Some(0), "its commands end with it");
        }
        assert_eq!(person.socket_names().len(), 1, "no kernel removes a socket");
        assert_gone(person);
        before.assert_unchanged();

        // All of its processes at the same moment.
        let testbed = person.up(MANY_KINDS);
        let _busy = self::busy(&testbed);
        person.processes().into_iter().for_each(|pid| send(pid, Signal::KILL));
        assert_gone(person);
        before.assert_unchanged();
    });
}

/// Commands and traffic in a testbed.
fn busy(testbed: &Testbed<'_>) -> Vec<Running> {
    let running = vec![
        testbed.background("a", "ping -i 0.01 c"),
        testbed.background("b", "sleep 600 & sleep 600 & setsid sleep 600 & wait"),
    ];
    let works = || testbed.shell("c", "pgrep -x ping && test $(pgrep -cx sleep) -ge 4").code() == Some(0);
    assert!(eventually(works));
    running
}

#[test]
fn a_supervisor_asked_to_end_by_a_signal_cleans_up_by_itself() {
    as_root_and_as_user(|person| {
        for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
            let testbed = person.up(MANY_KINDS);
            let pid = testbed.pid();
            let busy = busy(&testbed);
            send(pid, signal);
            assert!(eventually(|| !lives(pid)), "{signal:?}");
            assert!(person.socket_names().is_empty(), "it removes its own socket");
            busy.into_iter().for_each(|running| assert_ne!(running.wait().code(), Some(0)));
            person.assert_nothing_runs();
        }
    });
}

#[test]
fn a_supervisor_killed_while_it_goes_down_leaves_nothing() {
    as_root_and_as_user(|person| {
        let text = person.plait(&["generate", "line", "--nodes", "300"]).fine();
        for wait in [0, 5, 50] {
            let testbed = person.up(&text);
            let pid = testbed.pid();
            let down = person.start(&["down", &testbed.name]);
            std::thread::sleep(Duration::from_millis(wait));
            send(pid, Signal::KILL);
            // Whether it was there, going or gone when the command asked, the command says so and ends.
            let ended = down.wait();
            let words = ["gone", "none is up"];
            let said = words.iter().any(|word| ended.stderr.contains(word));
            assert!(ended.code() == Some(0) || ended.code() == Some(1) && said, "{ended:?}");
            assert_gone(person);
        }
    });
}

#[test]
fn a_run_killed_with_force_takes_its_testbed_along() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nname: leased\nnodes: [a, b]\nlinks: [{endpoints: [a, b], delay: 1ms}]\n\
                    run: [{at: 0s, on: a, exec: sleep 603}]\n";
        person.file("run.yaml", text);
        let run = person.start(&["run", "run.yaml"]);
        let sleeps = || {
            person.plait(&["exec", "--testbed", "leased", "b", "--", "pgrep", "-x", "sleep"]).code()
                == Some(0)
        };
        assert!(eventually(sleeps), "the run's command has started");
        run.signal(Signal::KILL);
        run.wait();
        assert!(eventually(|| person.testbeds().is_empty()), "nobody holds the lease any more");
        assert_gone(person);
    });
}

#[test]
fn control_groups_of_the_dead_go_with_the_next_command() {
    let Some(person) = Person::root() else { return };
    let text = "plait: 1\nnodes: {a: {limits: {processes: 50}}, b: host}\nlinks: [a-b]\n";
    person.file("limits.yaml", text);
    let up = person.plait(&["up", "limits.yaml", "--name", "limits"]);
    if up.stderr.contains("this host has no") {
        return skip("no control groups for processes here");
    }
    up.fine();
    let _running = person.start(&["exec", "--testbed", "limits", "a", "--", "sleep", "600"]);
    let pid = person.testbeds()[0]["pid"].as_i64().unwrap() as i32;
    let groups = || -> Vec<String> {
        ["", "pids", "memory", "cpu"]
            .iter()
            .flat_map(|controller| fs::read_dir(Path::new("/sys/fs/cgroup").join(controller)))
            .flatten()
            .flatten()
            .map(|entry| entry.path().display().to_string())
            .filter(|path| path.contains(&format!("plait-{pid}-")))
            .collect()
    };
    assert_eq!(groups().len(), 1);
    send(pid, Signal::KILL);
    person.assert_nothing_runs();
    // No kernel removes a group; the client of `exec`, which outlived its testbed, may already have.
    assert_gone(&person);
    assert!(groups().is_empty(), "{:?}", groups());
}
