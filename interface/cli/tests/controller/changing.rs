//! A controller whose applications change while it runs, and its recordings.

use super::*;

/// What a controller's user types, and what it answers.
struct Asked<'a> {
    person: &'a Person,
    name: &'static str,
}

impl Asked<'_> {
    fn start(&self, words: &[&str]) -> Running {
        let all = [&["controller", "--name", self.name, "run", "--listen", "127.0.0.1:0"], words].concat();
        let controller = self.person.start(&all);
        assert!(eventually(|| self.ask("controller", &["stats"]).code() == Some(0)));
        controller
    }

    fn ask(&self, noun: &str, words: &[&str]) -> common::Ended {
        self.person.plait(&[&["--json", noun, "--name", self.name], words].concat())
    }

    /// Some requests, all of which are answered.
    fn load(&self) {
        let listening = self.ask("controller", &["stats"]).json();
        let address = listening["address"].as_str().unwrap();
        let words = ["--switches", "2", "--version", "1.0,1.3", "--rate", "100", "--duration", "300ms"];
        let all = [&["--json", "controller", "load", address], &words[..]].concat();
        let loaded = self.person.plait(&all).json();
        assert!(loaded["unanswered"] == 0 && loaded["answered"].as_f64() > Some(0.0), "{loaded}");
    }
}

/// A recording, run again: the exit code, and what is said of it.
fn replay(person: &Person, file: &str) -> (Option<i32>, Value) {
    let ended = person.plait(&["--json", "control", "replay", file]);
    (ended.code(), serde_json::from_str(&ended.stdout).unwrap_or_default())
}

#[test]
fn a_controller_changes_its_applications_remembers_and_is_replayed_to_the_same_outputs() {
    let Some(person) = Person::root() else { return skip("the test looks at the sockets of another user's") };
    let asked = Asked { person: &person, name: "recorded" };
    let file = person.work().join("recording.jsonl").display().to_string();
    let controller = asked.start(&["--app", "routing", "--record", &file, "--history", "20"]);
    asked.load();
    // What it would do, now and then.
    let dry = asked.ask("control", &["dry-run", "probing"]).json();
    assert!(dry["writes"]["probing@1"]["round"].as_u64() > Some(0), "{dry}");
    let history = asked.ask("control", &["history"]).json();
    let states = history.as_array().unwrap();
    assert!(
        (2..=21).contains(&states.len()) && !states[0]["changed"].as_array().unwrap().is_empty(),
        "{history}"
    );
    // It goes on: the latest of what was listed is remembered for longest.
    let revision = states[0]["revision"].to_string();
    let dry = asked.ask("control", &["dry-run", "topology", "--revision", &revision]).json();
    assert_eq!(dry["revision"].to_string(), revision, "{dry}");
    for (words, said) in [
        (&["dry-run", "topology", "--revision", "0"][..], "--history"),
        (&["dry-run", "route-flow"], "packet-ins@1"),
        (&["dry-run", "nothing"], "plait control graph"),
        (&["run", "route-flow"], "stream"),
        (&["write", "links@1", "/dev/null"], "no JSON"),
        (&["remove", "nothing"], "there is no nothing"),
        (&["use", "nothing"], "learning-switch and routing"),
    ] {
        let refused = asked.ask("control", words);
        assert!(refused.code() == Some(1) && refused.stdout.contains(said), "{refused:?}");
    }
    asked.ask("control", &["use", "learning-switch"]).fine();
    let applications = asked.ask("control", &["applications"]).stdout;
    assert!(
        applications.contains("switch-packets") && !applications.contains("route-flow"),
        "{applications}"
    );
    asked.load();
    asked.ask("control", &["use", "routing"]).fine();
    asked.load();
    let again =
        person.plait(&["controller", "run", "--listen", "127.0.0.1:0", "--name", "other", "--record", &file]);
    assert!(again.code() == Some(1) && again.stderr.contains("recording.jsonl"), "{again:?}");

    // Whatever ends it, what was recorded is replayed.
    controller.signal(rustix::process::Signal::KILL);
    controller.wait();
    let (code, replayed) = replay(&person, &file);
    assert!(code == Some(0) && replayed["commits"].as_u64() > Some(50), "{replayed}");
    let text = std::fs::read_to_string(&file).unwrap();
    // In the middle of a line: between two nothing is cut.
    let end = text.rmatch_indices('\n').map(|(at, _)| at + 6).find(|end| *end < text.len() * 9 / 10).unwrap();
    let cut = person.file("cut.jsonl", &text[..end]);
    let (code, replayed) = replay(&person, &cut.display().to_string());
    assert!(code == Some(0) && replayed["is_cut"] == true, "{replayed}");
    // A task that ended otherwise: what it wrote is not what the recording says.
    let probing =
        text.lines().find(|line| line.contains("\"committed\"") && line.contains("probing@1")).unwrap();
    let other = probing.replacen("\"u64\":1", "\"u64\":9", 1);
    let changed = person.file("changed.jsonl", text.replace(probing, &other));
    let (code, replayed) = replay(&person, &changed.display().to_string());
    let why = replayed["divergence"].to_string();
    assert!(code == Some(1) && why.contains("wrote U64(9) as recorded, and U64(1) now"), "{replayed}");
    let nonsense = person.file("nonsense.jsonl", "{\"began\": {}}\nnothing\n{}\n");
    let (code, refused) = replay(&person, &nonsense.display().to_string());
    assert!(code == Some(2) && refused["error"].to_string().contains("line 2"), "{refused}");
}

#[test]
fn a_full_disk_ends_a_recording_and_not_the_controller() {
    let Some(person) = Person::root() else { return skip("the test looks at the sockets of another user's") };
    let asked = Asked { person: &person, name: "full" };
    let file = person.work().join("full.jsonl").display().to_string();
    let mut command = person.command("env");
    command.args(["--ignore-signal=XFSZ", "prlimit", "--fsize=100000"]).arg(person.program());
    command.args(["controller", "--name", "full", "run", "--listen", "127.0.0.1:0", "--record", &file]);
    let controller = Running::start(&mut command, "a controller that may write little".to_owned());
    assert!(eventually(|| asked.ask("controller", &["stats"]).code() == Some(0)));
    asked.load();
    asked.load();
    controller.signal(rustix::process::Signal::INT);
    let ended = controller.wait();
    assert!(ended.code() == Some(1) && ended.stderr.contains("the recording is cut"), "{ended:?}");
    let (code, replayed) = replay(&person, &file);
    assert!(code == Some(0) && replayed["is_cut"] == true, "{replayed}");
}
