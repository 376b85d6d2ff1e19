//! Testbeds, runs and examples from a program with threads, as every test is. They are started by the built
//! `plait`.

use plait::{Error, Exited, Network, Starter, Testbed};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What the tests were built into.
fn built() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.ancestors().nth(2).unwrap().to_owned()
}

/// The built `plait`, where a test can run at all.
fn starter() -> Option<Starter> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return None;
    }
    let program = built().join("plait");
    if !program.exists() {
        println!("skipped: `plait` was not built: cargo build --release --package plait-interface-cli");
        return None;
    }
    Some(Starter::Program(program))
}

/// A network whose testbed nobody else has.
fn pair(name: &str) -> Network {
    Network::new(format!("{name}-{}", std::process::id()))
        .host("a")
        .host("b")
        .link_with("a", "b", |link| link.delay("5ms").dynamic())
}

#[test]
fn a_testbed_goes_with_its_handle_and_one_that_is_kept_stays() {
    let Some(starter) = starter() else { return };
    let network = pair("handle");
    let testbed = network.testbed().starter(starter.clone()).up().unwrap();
    let name = testbed.name().to_owned();
    assert_eq!(testbed.inspect().unwrap().nodes.len(), 2);
    assert!(Testbed::find(&name).is_ok());
    drop(testbed);
    assert!(Testbed::find(&name).is_err(), "it is still there");

    drop(network.testbed().starter(starter).keep().up().unwrap());
    Testbed::find(&name).unwrap().down().unwrap();
    assert!(Testbed::find(&name).is_err());
}

#[test]
fn programs_run_in_nodes_and_say_how_they_ended() {
    let Some(starter) = starter() else { return };
    let testbed = pair("programs").testbed().starter(starter).up().unwrap();
    let said = testbed.on("a").variable("WORD", "on").exec("echo $WORD; hostname >&2; exit 3").unwrap();
    assert_eq!((said.exited, said.stdout.as_str(), said.stderr.as_str()), (Exited::Code(3), "on\n", "a\n"));
    assert!(testbed.on("b").exec(["test", "a b", "=", "a b"]).unwrap().success(), "words stay words");
    let late = testbed.on("a").timeout(Duration::from_millis(200)).exec("sleep 60").unwrap();
    assert_eq!(late.exited, Exited::TimedOut);
    // What stays in the background keeps nobody waiting.
    assert!(testbed.on("a").exec("sleep 600 & echo done").unwrap().success());
    let line = "trap 'echo bye; exit 0' TERM; echo up; touch /run/up; while :; do sleep 0.05; done";
    let spawned = testbed.on("b").spawn(line).unwrap();
    let began = Instant::now();
    while !testbed.on("b").exec("test -e /run/up").unwrap().success() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(spawned.stop().unwrap().stdout, "up\nbye\n");
    assert!(testbed.on("c").exec("true").unwrap_err().to_string().contains("`c`"));
}

#[test]
fn a_link_changes_is_cut_and_a_network_grows() {
    let Some(starter) = starter() else { return };
    let network = pair("change");
    let testbed = network.testbed().starter(starter).up().unwrap();
    let reach = |node: &str| testbed.on("a").exec(["ping", "-c", "1", "-W", "1", node]).unwrap().success();
    assert!(reach("b"));
    testbed.link("a-b").set(|link| link.delay("40ms")).unwrap();
    // A machine at work may be late now and then, and not each time.
    let is_close = |_| {
        let delays = testbed.link("a-b").check().unwrap();
        println!("{delays:?}");
        delays.iter().all(|found| found.property != "delay" || (found.got - 40.0).abs() < 2.0)
    };
    assert!((0..8).any(is_close));
    let Err(Error::Faulty(faults)) = testbed.link("a-b").set(|link| link.delay("40")) else { panic!() };
    assert!(faults.to_string().contains("tests/testbeds.rs"), "{faults}");
    testbed.link("a-b").fail().unwrap();
    assert!(!reach("b"));
    testbed.link("a-b").recover().unwrap();
    assert!(reach("b"));

    let larger = network.router("r").link("a", "r");
    let planned = testbed.plan(&larger).unwrap();
    assert_eq!(testbed.apply(&larger).unwrap().len(), planned.len());
    assert!(testbed.plan(&larger).unwrap().is_empty());
    assert!(reach("r"));

    let folder = tempfile::tempdir().unwrap();
    let capture = testbed.capture("a:eth0", folder.path().join("a.pcapng")).unwrap();
    assert!(reach("b"));
    assert!(capture.stop().unwrap().kept >= 2);
}

#[test]
fn a_program_that_is_no_plait_is_named_with_what_it_said() {
    if starter().is_none() {
        return;
    }
    let error = pair("none").testbed().starter(Starter::Program("/bin/false".into())).up().unwrap_err();
    assert!(
        error.to_string().contains("/bin/false started no testbed: is it the plait of version"),
        "{error}"
    );
}

#[test]
fn a_library_of_another_version_is_refused_by_name() {
    let Some(Starter::Program(program)) = starter() else { return };
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut started = Command::new(program).arg("supervise").stdin(OwnedFd::from(theirs)).spawn().unwrap();
    ours.write_all(b"{\"plait\": 1, \"start\": {\"version\": \"99.0.0\"}}\n").unwrap();
    let mut said = String::new();
    ours.read_to_string(&mut said).unwrap();
    started.wait().unwrap();
    assert!(said.contains("who asks is of version 99.0.0") && said.contains("`PLAIT`"), "{said}");
}

#[test]
fn a_run_leaves_the_file_it_can_be_run_from_again() {
    let Some(starter) = starter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let network = pair("run")
        .metric("answer", |metric| metric.output("ask").unit("s"))
        .assert("answer == 42s")
        .at("0s", |event| event.on("a").name("ask").exec("echo 42"));
    let mut heard = Vec::new();
    let runner = network.runner().starter(starter.clone()).results(folder.path().join("first"));
    let outcome = runner.progress(|_, moment| heard.push(moment.to_string())).run().unwrap();
    assert!(outcome.results.succeeded(), "{:?}", outcome.results.failures);
    assert_eq!(outcome.results.metrics["answer"].value, Some(42.0));
    assert!(heard.contains(&"ask on a ended".to_owned()), "{heard:?}");
    let kept = Network::read(outcome.folder.join("network.yaml")).unwrap();
    assert_eq!(kept.to_yaml(), network.to_yaml());
    let again = kept.runner().starter(starter).results(folder.path().join("second")).run().unwrap();
    assert_eq!(again.results.network.sha256, outcome.results.network.sha256);
}

#[test]
fn the_examples_run() {
    let Some(Starter::Program(program)) = starter() else { return };
    for name in ["first", "change", "question"] {
        if name == "question" && !Path::new("/usr/bin/iperf3").exists() {
            println!("skipped: iperf3 is not installed");
            continue;
        }
        let example = built().join("examples").join(name);
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(&example);
        command.current_dir(&folder).env("PLAIT", &program).env("XDG_RUNTIME_DIR", folder.path());
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{name}: {said}\n{}", String::from_utf8_lossy(&ended.stderr));
    }
}
