//! A testbed from `up` to `down`, and commands in its nodes.

mod common;

use common::{Person, Testbed, as_root_and_as_user, eventually, lives, steps};
use rustix::process::Signal;
use std::io::Write;
use std::process::Stdio;

const TWO_HOSTS: &str = "plait: 1\nnodes: {a: host, r: router, b: host}\nlinks: [a-r, r-b]\n";

#[test]
fn a_testbed_is_listed_while_it_is_up_and_leaves_nothing_behind() {
    as_root_and_as_user(|person| {
        assert!(person.testbeds().is_empty());
        let testbed = person.up(TWO_HOSTS);
        let list = person.testbeds();
        let [one] = &list[..] else { panic!("{list:?}") };
        assert_eq!(one["name"], testbed.name.as_str());
        assert_eq!((&one["nodes"], &one["links"]), (&3.into(), &2.into()));
        let pid = one["pid"].as_i64().unwrap() as i32;
        assert!(lives(pid), "the process that is listed is the supervisor");
        let report = testbed.inspect();
        assert_eq!(report["pid"], pid);
        assert_eq!(report["status"], "running");
        assert_eq!(report["nodes"][1]["kind"], "router");
        assert_eq!(report["links"][0]["ends"][0], "a:eth0");

        // The aliases containerlab users type.
        let name = testbed.name.clone();
        assert!(person.plait(&["list"]).fine().contains(&name));
        person.plait(&["destroy", &name]).fine();
        assert!(!lives(pid));
        assert!(person.testbeds().is_empty());
        assert!(person.socket_names().is_empty(), "its socket went with it");
        person.assert_nothing_runs();
    });
}

#[test]
fn a_name_is_taken_once() {
    as_root_and_as_user(|person| {
        let first = person.up(TWO_HOSTS);
        let file = first.file.to_str().unwrap();
        person
            .plait(&["up", file, "--name", &first.name])
            .fails_saying(1, &["is up already", &format!("plait down {}", first.name), "--name"]);
        assert_eq!(first.exec("a", &["true"]).code(), Some(0), "the first one stays as it was");

        // Two at the same moment: one wins, the other is told why not.
        let both = [(); 2].map(|()| person.start(&["up", file, "--name", "contested"]));
        let mut codes = both.map(|running| running.wait()).map(|ended| {
            assert!(ended.code() == Some(0) || ended.stderr.contains("is up already"), "{ended:#?}");
            ended.code().unwrap()
        });
        codes.sort_unstable();
        assert_eq!(codes, [0, 1]);
        person.plait(&["exec", "a", "--", "true"]).fails_saying(1, &["more than one", "--testbed"]);
        person.plait(&["down", "--all"]).fine();
        person.plait(&["exec", "a", "--", "true"]).fails_saying(1, &["no testbed is up", "plait up"]);
        person.assert_nothing_runs();
    });
}

#[test]
fn a_command_in_a_node_behaves_as_it_would_at_home() {
    as_root_and_as_user(|person| {
        let testbed = person.up(TWO_HOSTS);
        exits_as_the_command_does(&testbed);
        carries_the_three_standard_files(&testbed);
        finds_the_node_it_is_in(&testbed);
        dies_with_the_one_who_asked(&testbed);
        testbed.down();
        person.assert_nothing_runs();
    });
}

fn exits_as_the_command_does(testbed: &Testbed<'_>) {
    assert_eq!(testbed.exec("a", &["true"]).code(), Some(0));
    assert_eq!(testbed.shell("a", "exit 7").code(), Some(7));
    assert_eq!(testbed.shell("a", "kill -TERM $$").code(), Some(128 + 15));
    assert_eq!(testbed.shell("a", "kill -KILL $$").code(), Some(128 + 9));
    testbed.exec("a", &["no-such-program"]).fails_saying(1, &["a has no program `no-such-program`"]);
    testbed.exec("aa", &["true"]).fails_saying(1, &["no node `aa`"]);
    let words = ["exec", "--testbed", &testbed.name, "--timeout", "200ms", "a", "--", "sleep", "600"];
    assert_eq!(testbed.person.plait(&words).code(), Some(124), "what timeout(1) answers");
}

fn carries_the_three_standard_files(testbed: &Testbed<'_>) {
    let ended = testbed.shell("a", "echo out; echo err >&2");
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));

    let mut command = testbed.person.prepare(&testbed.words("a", &["wc", "-c"]));
    let mut counting = common::Running::start(command.stdin(Stdio::piped()), "plait exec a -- wc".into());
    let mut input = counting.input().unwrap();
    // More than any pipe holds.
    input.write_all(&vec![b'x'; 1_000_000]).unwrap();
    drop(input);
    assert_eq!(counting.wait().fine().trim(), "1000000");

    let many = testbed.shell("a", "head -c 3000000 /dev/zero | tr '\\0' y").fine();
    assert_eq!(many.len(), 3_000_000, "all of a long output arrives");
}

fn finds_the_node_it_is_in(testbed: &Testbed<'_>) {
    assert_eq!(testbed.exec("a", &["hostname"]).fine(), "a\n");
    assert_eq!(testbed.shell("b", "echo $PLAIT_NODE $PLAIT_TESTBED").fine(), format!("b {}\n", testbed.name));
    assert_eq!(testbed.shell("a", "pwd; ls").fine(), "/run/node\nlog\n");
    testbed.exec("a", &["ping", "-c", "2", "-i", "0.1", "-W", "5", "b"]).fine();
    let hosts = testbed.exec("b", &["cat", "/etc/hosts"]).fine();
    for name in ["localhost", " a\n", " b\n", " r\n", " r-eth1\n"] {
        assert!(hosts.contains(name), "{name:?} in {hosts}");
    }
    testbed.shell("a", "echo mine > /tmp/note; echo mine > /run/note").fine();
    assert_eq!(testbed.shell("a", "cat /tmp/note /run/note").fine(), "mine\nmine\n");
    testbed.shell("b", "test ! -e /tmp/note -a ! -e /run/note").fine();
}

fn dies_with_the_one_who_asked(testbed: &Testbed<'_>) {
    for signal in [Signal::KILL, Signal::TERM, Signal::INT] {
        let client = testbed.background("a", "echo $$ > /tmp/pid; exec sleep 601");
        let sleeps = "pid=$(cat /tmp/pid 2>/dev/null) && grep -q sleep /proc/$pid/comm";
        assert!(eventually(|| testbed.shell("a", sleeps).code() == Some(0)));
        client.signal(signal);
        client.wait();
        let gone = eventually(|| testbed.shell("a", "test ! -e /proc/$(cat /tmp/pid)").code() == Some(0));
        assert!(gone, "the command outlived its client, which {signal:?} ended");
        testbed.shell("a", "rm /tmp/pid").fine();
    }
}

#[test]
fn ten_testbeds_of_two_users_live_side_by_side_with_the_same_addresses() {
    let people: Vec<Person> = [Person::root(), Person::user()].into_iter().flatten().collect();
    let Some(first) = people.first() else { return };
    let alone = people.len() == 1;
    let of = |number: usize| &people[if alone { 0 } else { number % 2 }];
    let names: Vec<String> = (0..10).map(|number| format!("same{number}")).collect();
    for person in &people {
        person.file("same.yaml", TWO_HOSTS);
    }
    // All at once.
    let starting: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(number, name)| of(number).start(&["up", "same.yaml", "--name", name]))
        .collect();
    starting.into_iter().for_each(|running| drop(running.wait().fine()));
    let listed: usize = people.iter().map(|person| person.testbeds().len()).sum();
    assert_eq!(listed, 10);
    let addresses: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let line = format!("echo {name} > /tmp/owner; ping -c 1 -W 5 b >/dev/null; hostname -I");
            let words = ["exec", "--testbed", name, "a", "--", "sh", "-c", &line];
            of(number).plait(&words).fine()
        })
        .collect();
    assert!(addresses.iter().all(|address| *address == addresses[0]), "{addresses:?}");
    for (number, name) in names.iter().enumerate() {
        let owner = of(number).plait(&["exec", "--testbed", name, "a", "--", "cat", "/tmp/owner"]).fine();
        assert_eq!(owner.trim(), name, "no testbed sees another's files");
    }
    // One user's `down --all` leaves the other's alone.
    first.plait(&["down", "--all"]).fine();
    if let Some(other) = people.get(1) {
        assert_eq!(other.testbeds().len(), 5);
        other.plait(&["down", "--all"]).fine();
    }
    people.iter().for_each(Person::assert_nothing_runs);
}

#[test]
fn a_plan_is_what_up_would_do_and_does_nothing() {
    let Some(person) = Person::user() else { return };
    let file = person.file("net.yaml", TWO_HOSTS);
    let plan = person.plait(&["plan", file.to_str().unwrap(), "--json"]).json();
    let steps = steps(&plan);
    for step in ["add_node a", "add_node r", "add_node b", "add_link a-r", "add_link r-b", "routes a"] {
        assert!(steps.iter().any(|known| known == step), "{step} in {steps:?}");
    }
    assert!(person.testbeds().is_empty());
    let text = person.plait(&["plan", file.to_str().unwrap()]).fine();
    assert!(text.contains("+ node a  host") && text.contains("+ link a-r  a:eth0 <-> r:eth0"), "{text}");
}

#[test]
fn a_name_that_is_no_name_is_refused() {
    let Some(person) = Person::root() else { return };
    let file = person.file("only.yaml", "plait: 1\nnodes: [a]\n");
    for name in ["../evil", "", "..", "a b", "x\"y", "-x", &"n".repeat(65)] {
        let name = format!("--name={name}");
        person.plait(&["up", file.to_str().unwrap(), &name]).fails_saying(1, &["cannot be called"]);
    }
    person.assert_nothing_runs();
}

#[test]
fn commands_of_a_node_see_nothing_of_the_callers_environment() {
    let Some(person) = Person::root() else { return };
    let text = "plait: 1\nname: bare\nnodes: {a: {commands: ['env > /run/node/env']}}\n";
    let file = person.file("bare.yaml", text);
    let up = person.prepare(&["up", file.to_str().unwrap()]).env("SECRET_TOKEN", "hunter2").status().unwrap();
    assert!(up.success());
    let seen = person.plait(&["exec", "-t", "bare", "a", "--", "cat", "/run/node/env"]).fine();
    assert!(
        !seen.contains("hunter2") && seen.contains("PLAIT_NODE=a") && seen.contains("PLAIT_TESTBED=bare"),
        "{seen}"
    );
    person.plait(&["down", "bare"]).fine();
}

#[test]
fn a_program_ends_with_a_caller_that_ends_before_it_starts() {
    let Some(person) = Person::root() else { return };
    let testbed = person.up("plait: 1\nnodes: [a]\n");
    for after_us in (0..20).map(|step| step * 400) {
        let mut exec = person.start(&testbed.words("a", &["sleep", "6543"]));
        std::thread::sleep(std::time::Duration::from_micros(after_us));
        exec.signal(Signal::KILL);
        assert!(eventually(|| !exec.is_running()));
    }
    let left = || testbed.exec("a", &["pgrep", "-fc", "sleep 654[3]"]).stdout.trim().to_owned();
    assert!(eventually(|| left() == "0"), "{} programs are left", left());
    testbed.down();
}
