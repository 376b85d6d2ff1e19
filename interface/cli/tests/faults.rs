//! What goes wrong is said clearly, and breaks nothing else.

mod common;

use common::{Person, as_root_and_as_user, converse};
use rustix::process::Signal;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const PAIR: &str = "plait: 1\nnodes: [a, b]\nlinks: [a-b]\n";

#[test]
fn a_file_that_is_no_network_is_refused_by_name() {
    let Some(person) = Person::user() else { return };
    let mut large = b"plait: 1\n#".to_vec();
    large.resize(65 << 20, b'x');
    std::fs::create_dir(person.work().join("folder.yaml")).unwrap();
    person.file("empty.yaml", "");
    person.file("large.yaml", large);
    person.file("binary.yaml", [0x7f, b'E', b'L', b'F', 0xff, 0xfe, 0, 0, 1]);
    person.file("nul.yaml", "plait: 1\nnodes: [a\0b]\n");
    person.file("newer.yaml", "plait: 2\nnodes: [a, b]\nlinks: [a-b]\n");
    person.file("older.yaml", "plait: 0\nnodes: [a, b]\n");
    person.file("list.yaml", "- a\n- b\n");
    person.file("torn.yaml", "plait: 1\nnodes: {a: host\n");
    person.file("deep.yaml", "[".repeat(100_000));
    let cases = [
        ("empty.yaml", "plait"),
        ("large.yaml", "too large"),
        ("binary.yaml", "not UTF-8"),
        ("nul.yaml", "nul.yaml"),
        ("folder.yaml", "directory"),
        ("missing.yaml", "No such file"),
        ("newer.yaml", "use a newer plait"),
        ("older.yaml", "write `plait: 1`"),
        ("list.yaml", "list.yaml:1:1"),
        ("torn.yaml", "torn.yaml:"),
        ("deep.yaml", "deep.yaml"),
        // What never ends is not read for ever.
        ("/dev/zero", "too large"),
    ];
    for (file, words) in cases {
        for verb in ["validate", "up", "run", "plan"] {
            person.plait(&[verb, file]).fails_saying(3, &[file, words]);
        }
    }
    assert!(person.testbeds().is_empty());
    // A pipe is as good as a file.
    let script = format!("{} validate <(printf 'plait: 1\\nnodes: [a]\\n')", env!("CARGO_BIN_EXE_plait"));
    let mut bash = person.command("bash");
    if person
        .command(env!("CARGO_BIN_EXE_plait"))
        .arg("--version")
        .output()
        .is_ok_and(|said| said.status.success())
    {
        assert!(bash.args(["-c", &script]).status().unwrap().success());
    }
}

#[test]
fn faults_are_said_in_json_too() {
    let Some(person) = Person::user() else { return };
    person.file("net.yaml", "plait: 1\nnodes: {a: hots}\n");
    let ended = person.plait(&["up", "net.yaml", "--json"]);
    assert_eq!(ended.code(), Some(3));
    let value: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&value["faults"][0]["line"], &value["faults"][0]["file"]), (&2.into(), &"net.yaml".into()));
    assert!(value["faults"][0]["help"].as_str().unwrap().contains("host"), "the nearest name: {value}");
    // Where nobody can read the answer, the exit code still tells.
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for words in [&["up", "net.yaml", "--json"][..], &["ls", "--json"], &["ls"], &["doctor"]] {
        let mut command = person.prepare(words);
        let status = command.stdout(full()).stderr(full()).status().unwrap();
        assert!(matches!(status.code(), Some(1 | 3)), "{words:?}: {status:?}");
    }
}

#[test]
fn a_command_that_fails_at_start_is_shown_and_nothing_stays() {
    as_root_and_as_user(|person| {
        let text = "plait: 1\nnodes: {a: {commands: ['true', 'echo the reason >&2; exit 3']}, b: host}\nlinks: [a-b]\n";
        person.file("fails.yaml", text);
        person
            .plait(&["up", "fails.yaml", "--name", "fails"])
            .fails_saying(1, &["run on a", "the reason", "exit 3"]);
        assert!(person.socket_names().is_empty());
        person.assert_nothing_runs();
        person.plait(&["inspect", "fails"]).fails_saying(1, &["no testbed `fails`"]);
    });
}

#[test]
fn a_conversation_that_makes_no_sense_ends_only_itself() {
    as_root_and_as_user(|person| {
        let testbed = person.up(PAIR);
        let socket = person.socket(&testbed.name);
        let say = |bytes: &[u8]| converse(&socket, bytes).unwrap_or_else(|error| error.to_string());
        assert!(say(b"\xff\xfe\x00 garbage\n").contains("not a request"));
        assert!(say(b"{}\n").contains("failed"));
        assert!(say(b"[[[[\n").contains("not a request"));
        assert!(say(b"null\n").contains("failed"));
        assert_eq!(say(b""), "");
        assert_eq!(say(b"no end of line"), "");
        // A line without end, as long as anybody cares to write.
        say(&vec![b'x'; 8 << 20]);
        assert!(
            say("[".repeat(1 << 20).as_bytes().iter().copied().chain(*b"\n").collect::<Vec<u8>>().as_slice())
                .contains("not a request")
        );
        let unknown = say(b"{\"plait\": 1, \"request\": \"juggle\"}\n");
        assert!(unknown.contains("not a request") && unknown.contains("juggle"), "{unknown}");
        let newer = say(b"{\"plait\": 99, \"request\": \"inspect\"}\n");
        let by = [testbed.name.as_str(), "plait 0.", "protocol 1", "protocol 99", "kill process"];
        assert!(by.iter().all(|word| newer.contains(word)), "{newer}");

        // Somebody who says nothing keeps nobody else waiting.
        let folder = File::open(person.sockets()).unwrap();
        let name = socket.file_name().unwrap().to_str().unwrap().to_owned();
        let path = format!("/proc/self/fd/{}/{name}", std::os::fd::AsRawFd::as_raw_fd(&folder));
        let silent: Vec<UnixStream> = (0..50).map(|_| UnixStream::connect(&path).unwrap()).collect();
        testbed.exec("a", &["true"]).fine();
        drop(silent);

        let page = say(b"GET /metrics HTTP/1.1\r\nHost: plait\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        let up = format!("plait_up{{testbed=\"{}\"}} 1\n", testbed.name);
        assert!(page.contains(&up) && page.contains("# TYPE plait_up gauge"), "{page}");
        assert!(page.contains(&format!("plait_nodes{{testbed=\"{}\"}} 2\n", testbed.name)), "{page}");
        for other in ["/", "/other", "/metrics/../etc/passwd"] {
            let page = say(format!("GET {other} HTTP/1.1\r\n\r\n").as_bytes());
            assert!(page.starts_with("HTTP/1.1 404 Not Found\r\n"), "{page}");
        }
        testbed.exec("b", &["ping", "-c", "1", "-W", "20", "a"]).fine();
    });
}

#[test]
fn a_command_that_hangs_is_ended_by_its_time() {
    let Some(person) = Person::user() else { return };
    let testbed = person.up(PAIR);
    // One that ignores being asked.
    let stubborn = "trap '' TERM INT HUP; echo on; while :; do sleep 1; done";
    let words = ["exec", "--testbed", &testbed.name, "--timeout", "500ms", "a", "--", "sh", "-c", stubborn];
    let start = Instant::now();
    assert_eq!(person.plait(&words).code(), Some(124));
    assert!(start.elapsed() >= Duration::from_millis(500));
    // Nothing of it is left.
    assert!(common::eventually(|| testbed.shell("b", "! pgrep -f 'while :' | grep -v $$").code() == Some(0)));
    // And one in a run, which fails for it.
    let text = "plait: 1\nname: hangs\nnodes: [a]\nrun: [{at: 0s, on: a, exec: sleep 604, timeout: 1s}]\n";
    person.file("hangs.yaml", text);
    let ended = person.plait(&["run", "hangs.yaml", "--json", "--output", "out"]);
    assert_eq!(ended.code(), Some(1), "{ended:?}");
    let results = std::fs::read_to_string(person.work().join("out/results.json")).unwrap();
    assert!(results.contains("timed_out") || results.contains("timed out"), "{results}");
}

#[test]
fn a_full_disk_is_said_and_the_testbed_goes() {
    let Some(person) = Person::root() else { return };
    let text =
        "plait: 1\nname: disk\nnodes: [a]\nrun: [{at: 0s, on: a, exec: 'head -c 3000000 /dev/zero'}]\n";
    person.file("disk.yaml", text);
    std::fs::create_dir(person.work().join("small")).unwrap();
    // The small file system is mounted for this one command only.
    let line = format!(
        "mount -t tmpfs -o size=64k small small && exec {} run disk.yaml --output small/results",
        env!("CARGO_BIN_EXE_plait")
    );
    let mut command = person.command("unshare");
    command.args(["--mount", "sh", "-c", &line]);
    let ended = common::Running::start(&mut command, "plait run onto a full disk".into()).wait();
    assert_ne!(ended.code(), Some(0), "{ended:?}");
    assert!(ended.stderr.contains("No space left on device"), "{ended:?}");
    assert!(ended.stderr.contains("small/results"), "the place is named: {ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    assert!(person.testbeds().is_empty());
    person.assert_nothing_runs();
}

#[test]
fn a_node_whose_programs_all_die_is_still_there() {
    let Some(person) = Person::user() else { return };
    let testbed = person.up(PAIR);
    let victim = testbed.background("a", "exec sleep 605");
    assert!(common::eventually(|| testbed.shell("b", "pgrep -x sleep").code() == Some(0)));
    testbed.shell("b", "kill -9 $(pgrep -x sleep)").fine();
    assert_eq!(victim.wait().code(), Some(128 + 9));
    testbed.exec("b", &["ping", "-c", "1", "-W", "20", "a"]).fine();
    // A supervisor that is stopped answers when it goes on.
    let pid = testbed.pid();
    common::send(pid, Signal::STOP);
    let waits = person.start(&["inspect", &testbed.name]);
    std::thread::sleep(Duration::from_millis(200));
    common::send(pid, Signal::CONT);
    waits.wait().fine();
}
