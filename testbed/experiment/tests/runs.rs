//! What a run does and what it leaves, on a world of real processes.

#[path = "support/world.rs"]
mod support;

use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};
use plait_testbed_experiment::results::records::{self, Iperf3Record, LinkRecord};
use plait_testbed_experiment::results::{Results, ResultsError};
use plait_testbed_experiment::runner::{Input, RunOutcome, run};
use plait_testbed_experiment::section::{Script, register};
use plait_testbed_experiment::world::{Ended, Stop};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use support::Machine;

const NETWORK: &str =
    "plait: 1\nname: pair\nseed: 9\nnodes: [a, b]\nlinks: [{endpoints: [a, b], delay: 5ms}]\n";

struct File {
    text: String,
    network: Network,
    script: Script,
}

fn file(sections: &str) -> File {
    let mut vocabulary = Vocabulary::core();
    register(&mut vocabulary);
    let text = format!("{NETWORK}{sections}");
    let source = Source::new("lab/pair.yaml", text.clone());
    let network = parse_network(&source, &vocabulary, &|_| Err(String::new()))
        .unwrap_or_else(|report| panic!("{report}"));
    let script = Script::of(&network).unwrap();
    File { text, network, script }
}

fn run_in(world: &Machine, file: &File, place: &Path, stop: &Stop) -> Result<RunOutcome, ResultsError> {
    let named =
        [("traces/x.txt".to_owned(), b"20ms 1Mbit".to_vec()), ("../out.txt".to_owned(), b"up".to_vec())];
    let input =
        Input { network: &file.network, file: "lab/pair.yaml", text: file.text.as_bytes(), named: &named };
    run(world, &input, &file.script, place, stop, &mut ())
}

fn outcome(world: &Machine, sections: &str, place: &Path) -> RunOutcome {
    run_in(world, &file(sections), place, &Stop::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_run_leaves_a_whole_folder() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("results");
    let world = Machine::new();
    let sections = "run:
  - {at: 0s, on: b, exec: 'echo ready; sleep 60', name: server, background: true}
  - {at: 300ms, link: a-b, set: {delay: 50ms}}
  - {at: 100ms, on: [a, b], exec: 'echo out; echo err >&2; sleep 0.3', name: talk}
  - {at: 350ms, link: a-b, fail: true}
  - {at: 400ms, node: b, recover: true}
collect: {links: 20ms, files: [{node: a, path: /var/log/x}], capture: ['a:eth0']}
report: {title: A pair, question: Does it run?}
";
    let run = outcome(&world, sections, &place);
    assert!(run.results.passed, "{:?}", run.results.failures);
    assert_eq!(run.folder, place);
    let results = Results::read(&place).unwrap();
    assert_eq!(results, run.results, "what was written is what is read");

    let log = world.log();
    let spawn = log.iter().position(|entry| entry.starts_with("spawn")).unwrap();
    for logger in ["sample", "capture a:eth0"] {
        assert!(log.iter().position(|entry| entry == logger).unwrap() < spawn, "{logger} first: {log:?}");
    }
    let stopped = log.iter().position(|entry| entry == "stop").unwrap();
    let collected = log.iter().position(|entry| entry.starts_with("collect")).unwrap();
    assert!(stopped < collected, "commands are gone before files are brought back: {log:?}");
    assert!(log.contains(&r#"set a-b Both {"delay":"50ms"}"#.to_owned()), "{log:?}");
    assert!(log.contains(&"node b true".to_owned()));

    assert_eq!(results.commands.len(), 3);
    assert_eq!(results.commands[0].ended, Some(Ended::Stopped));
    assert!(results.commands[0].passed, "a server that is stopped has done its work");
    assert_eq!(fs::read_to_string(place.join("commands/02-talk/stdout")).unwrap(), "out\n");
    assert_eq!(fs::read_to_string(place.join("commands/03-talk/stderr")).unwrap(), "err\n");
    assert_eq!(fs::read(place.join("network.yaml")).unwrap(), format!("{NETWORK}{sections}").as_bytes());
    assert_eq!(fs::read(place.join("traces/x.txt")).unwrap(), b"20ms 1Mbit");
    assert_eq!(fs::read(place.join("files/up/out.txt")).unwrap(), b"up", "nothing leaves the folder");
    assert_eq!(fs::read_to_string(place.join("nodes/a/var/log/x")).unwrap(), "/var/log/x of a\n");
    assert!(!place.join("nodes/b").exists());
    assert!(place.join("captures/a-eth0.pcapng").exists());
    let html = fs::read_to_string(place.join("report.html")).unwrap();
    assert!(html.contains("A pair") && html.contains("Does it run?"));

    let mut rows = 0;
    records::read::<LinkRecord>(&place.join("samples/links.csv"), |row| {
        rows += 1;
        assert!(row.time_s >= 0.0, "no sample is older than the run");
    })
    .unwrap();
    assert!((5..60).contains(&rows), "{rows} rows of a run of some 400 ms at 20 ms");
    assert_eq!(results.samples.rows.kept, rows);
    assert_eq!(results.network.seed, 9);
    assert_eq!(results.network.sha256.len(), 64);
    let left: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing but the folder: {left:?}");
}

#[test]
fn events_are_done_at_their_instants_and_say_how_late() {
    let home = tempfile::tempdir().unwrap();
    let world = Machine::new();
    let sections =
        "run: [{at: 50ms, link: a-b, fail: true}, {at: 150ms, link: a-b, recover: true}]\nduration: 250ms\n";
    let run = outcome(&world, sections, &home.path().join("r"));
    for (event, asked) in run.results.events.iter().zip([0.05, 0.15]) {
        assert_eq!(event.asked_s, asked);
        assert!((0.0..2.0).contains(&event.lateness_s()), "{event:?}");
    }
    assert!((0.25..2.5).contains(&run.results.duration_s), "{}", run.results.duration_s);
}

#[test]
fn a_command_that_fails_fails_the_run_and_everything_is_still_collected() {
    let home = tempfile::tempdir().unwrap();
    let world = Machine::new();
    let sections = "run: [{at: 0s, on: a, exec: 'exit 3'}, {at: 0s, on: b, exec: 'exit 4', expect: any}, {at: 0s, on: b, exec: 'exit 5', expect: 5}, {at: 50ms, on: b, exec: echo later}]\n";
    let run = outcome(&world, sections, &home.path().join("r"));
    assert!(!run.results.passed);
    assert_eq!(run.results.failures, ["exit on a: it exited with 3, exit code 0 was expected"]);
    assert_eq!(fs::read_to_string(run.folder.join("commands/04-echo/stdout")).unwrap(), "later\n");
    assert!(world.log().iter().any(|entry| entry == "collect b "));
}

#[test]
fn a_command_that_hangs_is_stopped_at_its_timeout_with_its_children() {
    let home = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let sections = "run: [{at: 0s, on: a, exec: 'sleep 600 & sleep 600; true', timeout: 200ms}]\n";
    let run = outcome(&Machine::new(), sections, &home.path().join("r"));
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(run.results.commands[0].ended, Some(Ended::TimedOut));
    assert!(run.results.failures[0].contains("not done within its timeout"), "{:?}", run.results.failures);
}

#[test]
fn the_end_of_the_run_stops_what_still_runs() {
    let home = tempfile::tempdir().unwrap();
    let sections = "run: [{at: 0s, on: a, exec: sleep 600}]\nduration: 200ms\n";
    let run = outcome(&Machine::new(), sections, &home.path().join("r"));
    assert_eq!(run.results.commands[0].ended, Some(Ended::Stopped));
    assert!(run.results.failures[0].contains("background: true"), "{:?}", run.results.failures);
}

#[test]
fn an_interrupted_run_stops_its_commands_and_keeps_what_it_has() {
    let home = tempfile::tempdir().unwrap();
    let world = Machine::new();
    let stop = Stop::default();
    let asker = stop.clone();
    let flag = home.path().join("begun");
    let file = file(&format!(
        "run: [{{at: 0s, on: a, exec: 'echo begun; touch {}; sleep 600'}}, {{at: 100s, link: a-b, fail: true}}]\n",
        flag.display()
    ));
    let began = Instant::now();
    let thread = std::thread::spawn(move || {
        while !flag.exists() && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        asker.ask();
    });
    let run = run_in(&world, &file, &home.path().join("r"), &stop).unwrap();
    thread.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(60));
    assert!(run.results.interrupted && !run.results.passed);
    assert_eq!(run.results.failures, ["echo on a: it still ran when the run was interrupted"]);
    assert_eq!(run.results.commands[0].ended, Some(Ended::Stopped));
    assert_eq!(fs::read_to_string(run.folder.join("commands/01-echo/stdout")).unwrap(), "begun\n");
    assert!(!world.log().iter().any(|entry| entry == "link a-b false"), "later events do not fire");
}

#[test]
fn an_event_the_world_refuses_is_a_failure_that_names_it() {
    let home = tempfile::tempdir().unwrap();
    let world = Machine { refuses: Some("link a-b is a bare wire".into()), ..Machine::new() };
    let run = outcome(&world, "run: [{at: 0s, link: a-b, set: {loss: 1%}}]\n", &home.path().join("r"));
    assert_eq!(run.results.failures, ["at 0 s, a-b: loss 1%: link a-b is a bare wire"]);
}

#[test]
fn a_run_whose_traffic_is_refused_ends_before_it_begins() {
    let home = tempfile::tempdir().unwrap();
    let world = Machine::new();
    let sections = "traffic: [{pattern: stride(1), rate: 1Mbit}]
run: [{at: 0s, on: a, exec: echo begun, name: probe}]
duration: 60s
metrics: {lost: {output: probe, field: end.lost}}
";
    let run = outcome(&world, sections, &home.path().join("r"));
    assert!(!run.results.passed && !run.results.interrupted);
    let [failure] = &run.results.failures[..] else { panic!("{:?}", run.results.failures) };
    assert!(failure.starts_with("traffic: ") && failure.contains("--world simulated"), "{failure}");
    assert!(!world.log().iter().any(|entry| entry.starts_with("spawn")), "{:?}", world.log());
}

#[test]
fn results_that_exist_are_not_touched() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("r");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("mine"), "precious").unwrap();
    let error = run_in(&Machine::new(), &file(""), &place, &Stop::default()).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(fs::read_to_string(place.join("mine")).unwrap(), "precious");
}

#[test]
fn iperf3_json_becomes_a_series() {
    let home = tempfile::tempdir().unwrap();
    let stream = |end: f64| {
        format!(
            r#"{{"streams":[{{"socket":5,"start":{},"end":{end},"seconds":1.0,"bytes":1250000,"bits_per_second":1e7,"retransmits":2,"omitted":false,"sender":true}}]}}"#,
            end - 1.0
        )
    };
    let json = format!(r#"{{"start":{{}},"intervals":[{},{}],"end":{{}}}}"#, stream(1.0), stream(2.0));
    let output = home.path().join("iperf3.json");
    fs::write(&output, json).unwrap();
    let sections = format!(
        "run: [{{at: 100ms, on: a, exec: 'cat {}', name: flow}}, {{at: 0s, on: a, exec: 'echo \"{{\"'}}]\n",
        output.display()
    );
    let run = outcome(&Machine::new(), &sections, &home.path().join("r"));
    let mut rows = Vec::new();
    records::read::<Iperf3Record>(&run.folder.join("samples/iperf3.csv"), |row| rows.push(row)).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (rows[1].throughput_bps, rows[1].command.as_str(), rows[1].retransmits),
        (1e7, "02-flow", Some(2))
    );
    assert!((2.1..2.3).contains(&rows[1].time_s), "counted from the start of the run: {}", rows[1].time_s);
}

/// Runs [`a_run_on_a_full_disk`] on a file system of 64 KiB, in namespaces of its own.
#[test]
fn a_full_disk_names_the_path_and_leaves_no_half_results() {
    let home = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=64k tmpfs \"$1\" || exit 77; exec \"$2\" --exact a_run_on_a_full_disk --ignored --nocapture";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"])
        .arg(home.path())
        .arg(std::env::current_exe().unwrap())
        .env("SMALL_DISK", home.path())
        .output();
    let output = match output {
        Ok(output) if output.status.code() != Some(77) && output.status.code() != Some(1) => output,
        other => {
            println!("skipped: a small file system cannot be mounted here: {other:?}");
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "run by a_full_disk_names_the_path_and_leaves_no_half_results"]
fn a_run_on_a_full_disk() {
    let Some(home) = std::env::var_os("SMALL_DISK") else { return };
    let place = Path::new(&home).join("r");
    let world = Machine { rows: 100, ..Machine::new() };
    let file = file("run: [{at: 0s, on: a, exec: sleep 600}]\ncollect: {links: 5ms}\n");
    let began = Instant::now();
    let error = run_in(&world, &file, &place, &Stop::default()).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(60), "the run ends when its samples cannot be written");
    let text = error.to_string();
    assert!(text.contains("samples/links.csv") && text.contains("No space left"), "{text}");
    assert!(!place.exists(), "nothing stands under the name of whole results");
    let partial = fs::read_dir(&home).unwrap().next().unwrap().unwrap().path();
    assert!(!partial.join("results.json").exists() && !partial.join("results.json.new").exists());
    assert!(world.log().contains(&"stop".to_owned()), "commands are stopped all the same");
}
