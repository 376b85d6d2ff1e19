//! Who may ask a controller, with what options it runs, and how many switches it has room for.

use super::*;
use std::collections::BTreeSet;

#[test]
fn what_is_wrong_with_a_controllers_options_is_said() {
    let Some(person) = Person::root() else { return skip("one person is enough") };
    for (options, said) in [
        (&["--weight", "1"][..], "0000000000000001=4"),
        (&["--weight", "1=0"], "1 to 1000"),
        (&["--weight", "1=1001"], "1 to 1000"),
        (&["--weight", "switch=2"], "digits"),
        (&["--weight", "1=2", "--weight", "0001=3"], "two weights"),
        (&["--poll", "some"], "one:ROUNDS"),
        (&["--poll", "one:0"], "1 or more"),
        (&["--poll", "one:1/0"], "1 or more"),
        (&["--no-idleness-map", "--poll", "all"], "--poll"),
        (&["--read", "63B"], "64B to 16MiB"),
        (&["--read", "1GiB"], "64B to 16MiB"),
        (&["--read", "much"], "--read"),
        (&["--role", "king"], "master"),
        (&["--generation", "3"], "leave --generation out for equal"),
        (&["--role", "slave", "--generation", "3"], "leave --generation out for slave"),
    ] {
        let words = [&["controller", "run", "--listen", "127.0.0.1:0", "--name", "wrong"], options].concat();
        person.plait(&words).fails_saying(2, &[said]);
    }
}

#[test]
fn more_switches_connect_than_a_program_usually_has_files() {
    let Some(person) = Person::root() else { return skip("the test looks at the sockets of another user's") };
    let mut command = person.command("prlimit");
    command.arg("--nofile=40:").arg(person.program());
    command.args(["controller", "run", "--listen", "127.0.0.1:0", "--name", "many"]);
    // And all goes on that way.
    command.args([
        "--weight",
        "1=3",
        "--weight",
        "0x2=2",
        "--poll",
        "one:2",
        "--read",
        "32KiB",
        "--no-scale",
    ]);
    let controller = Running::start(&mut command, "a controller with few files".to_owned());
    let stats = || person.plait(&["controller", "--name", "many", "stats", "--json"]);
    assert!(eventually(|| stats().code() == Some(0)));
    let address = stats().json()["address"].as_str().unwrap().to_owned();
    let words =
        ["--json", "controller", "load", &address, "--switches", "100", "--rate", "1000", "--duration", "1s"];
    let loaded = person.plait_after("ulimit -Sn 40", &words).json();
    assert!(loaded["disconnects"] == 0 && loaded["unanswered"] == 0, "{loaded}");
    let stats = stats().json();
    assert!(stats["workers"].as_array().unwrap().iter().all(|worker| worker["sleeps"] == 0), "{stats}");
    controller.signal(rustix::process::Signal::INT);
    assert_eq!(controller.wait().code(), Some(0));
}

#[test]
fn a_controller_answers_its_owner_alone_and_is_loaded_by_emulated_switches() {
    let Some(person) = Person::root() else { return skip("the test looks at the sockets of another user's") };
    // The address is free for whoever asks: the controller says which it has.
    let controller =
        person.start(&["controller", "run", "--listen", "127.0.0.1:0", "--name", "loaded", "--json"]);
    let ask = |what: &[&str]| person.plait(&[&["controller", "--name", "loaded"], what].concat());
    assert!(eventually(|| ask(&["stats"]).code() == Some(0)));
    let listening = ask(&["stats", "--json"]).json();
    let address = listening["address"].as_str().unwrap().to_owned();
    let socket = person.sockets().parent().unwrap().join("plait-controller/loaded.sock");
    let mode = |path: &Path| {
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions())
    };
    assert_eq!((mode(&socket) & 0o777, mode(socket.parent().unwrap()) & 0o777), (0o600, 0o700));
    let twin = person.plait(&["controller", "run", "--listen", "127.0.0.1:0", "--name", "loaded"]);
    assert!(twin.code() == Some(1) && twin.stderr.contains("--name"), "{twin:?}");

    ask(&["topology"]).fails_saying(1, &["plait control use routing"]);
    let load = |words: &[&str]| {
        let words = [&["--json", "controller", "load", &address, "--duration", "1s"], words].concat();
        let ended = person.plait(&words);
        (ended.code(), ended.json())
    };
    let saved = person.work().join("one.json").display().to_string();
    let (code, flooded) =
        load(&["--switches", "4", "--version", "1.0,1.3", "--window", "8", "--save", &saved]);
    assert_eq!(code, Some(0), "{flooded}");
    assert!(
        flooded["answered"].as_f64().unwrap() > 100.0 && flooded["shares"].as_array().unwrap().len() == 4
    );
    let (code, paced) =
        load(&["--switches", "3", "--version", "1.3", "--rate", "600", "--shape", "skewed", "--probe", "20"]);
    assert_eq!(code, Some(0), "{paced}");
    assert!(paced["unanswered"] == 0 && paced["probe"]["offered"].as_u64().unwrap() > 5, "{paced}");
    // Two processes that begin together, each with switches of its own, are one load.
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let begins = (since.as_secs_f64() + 1.5).to_string();
    let parts = ["0", "1"].map(|process| {
        let saved = person.work().join(format!("part-{process}.json")).display().to_string();
        let words = ["controller", "load", &address, "--duration", "1s", "--switches", "3", "--rate", "300"];
        let which = ["--process", process, "--start", &begins, "--save", &saved];
        (person.start(&[&words[..], &which].concat()), saved)
    });
    let saved = parts.map(|(part, saved)| {
        assert_eq!(part.wait().code(), Some(0));
        saved
    });
    let merged = person.plait(&["--json", "controller", "load", "--merge", &saved[0], &saved[1]]).json();
    assert_eq!((&merged["switches"], &merged["unanswered"]), (&json!(6), &json!(0)), "{merged}");
    let datapaths: BTreeSet<String> =
        merged["shares"].as_array().unwrap().iter().map(|share| share["datapath"].to_string()).collect();
    assert_eq!(datapaths.len(), 6, "{merged}");
    let switches = ask(&["switches", "--json"]).json();
    assert!(switches.as_array().unwrap().iter().any(|switch| switch["version"] == "1.3"), "{switches}");
    for (what, said) in [
        (&["flows", "ffff"][..], "ffff"),
        (&["views", "nothing@1"], "nothing@1"),
        (&["flows", "../x"], "names nothing"),
    ] {
        let refused = ask(what);
        assert!(refused.code() != Some(0) && refused.stderr.contains(said), "{refused:?}");
    }
    for (wanted, said) in [
        (json!({ "role": "king" }), "equal, master and slave"),
        (json!({ "role": "slave", "generation": 3 }), "only a master"),
        (json!({ "role": "slave", "of": 3 }), "of"),
        (json!("master"), "invalid type"),
    ] {
        let refused =
            tell(&socket, Method::POST, "/v1/role", wanted.to_string().into()).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    let graph = person.plait(&["--json", "control", "--name", "loaded", "graph"]).json();
    let named = |all: &Value, name: &str| {
        all.as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap_or_default()
    };
    let learn = named(&graph["dags"], "learn");
    assert!(learn["runs"]["count"].as_u64() > Some(0) && learn["waits"]["mean_us"].is_number(), "{graph}");
    assert!(named(&learn["applications"], "learn")["runs"]["mean_us"].as_f64() > Some(0.0), "{graph}");
    assert_eq!(learn["triggers"], json!([{ "view": "learned@1" }]), "{graph}");
    let metrics = ask(&["stats", "--metrics"]).fine();
    assert!(metrics.contains("plait_controller_requests_total{worker=\"0\"}"), "{metrics}");
    let nobody = person.plait(&["controller", "--name", "nobody", "switches"]);
    assert!(nobody.code() == Some(1) && nobody.stderr.contains("plait controller run"), "{nobody:?}");
    controller.signal(rustix::process::Signal::INT);
    assert_eq!(controller.wait().code(), Some(0));
    assert!(!socket.exists());
}
