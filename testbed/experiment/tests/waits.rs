//! A run that waits for something, on a world of real processes and this machine's own tables.

#[path = "support/world.rs"]
mod support;

use plait_model_topology::document::Source;
use plait_model_topology::{Vocabulary, parse_network};
use plait_testbed_experiment::results::EventKind;
use plait_testbed_experiment::runner::{Input, Moment, Progress, RunOutcome, run};
use plait_testbed_experiment::section::{Script, register};
use plait_testbed_experiment::world::Stop;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};
use support::Machine;

fn outcome_with(sections: &str, place: &Path, stop: &Stop, progress: &mut dyn Progress) -> RunOutcome {
    let mut vocabulary = Vocabulary::core();
    register(&mut vocabulary);
    let text = format!("plait: 1\nnodes: {{a: host, r: router, b: host}}\nlinks: [a-r, r-b]\n{sections}");
    let network =
        parse_network(&Source::new("lab/waits.yaml", text.clone()), &vocabulary, &|_| Err(String::new()))
            .unwrap_or_else(|report| panic!("{report}"));
    let script = Script::of(&network).unwrap();
    let input = Input { network: &network, file: "lab/waits.yaml", text: text.as_bytes(), named: &[] };
    run(&Machine::new(), &input, &script, place, stop, progress).unwrap_or_else(|error| panic!("{error}"))
}

fn outcome(sections: &str) -> RunOutcome {
    let home = tempfile::tempdir().unwrap();
    let outcome = outcome_with(sections, &home.path().join("r"), &Stop::default(), &mut ());
    assert!(!outcome.folder.join("waiting").exists(), "what a wait looked at goes with it");
    outcome
}

#[test]
fn the_runs_clock_stands_still_while_it_waits() {
    let home = tempfile::tempdir().unwrap();
    let flag = home.path().join("flag");
    let sections = format!(
        "run:
  - {{at: 100ms, on: a, name: maker, exec: 'sleep 0.7; touch {0}'}}
  - {{until: passes, on: b, exec: 'test -e {0}'}}
  - {{at: 100ms, on: b, name: after, exec: 'test -e {0}'}}
  - {{at: 200ms, link: a-r, fail: true}}
duration: 400ms\nwarmup: 150ms\n",
        flag.display()
    );
    let results = outcome(&sections).results;
    assert!(results.passed, "{:?}", results.failures);
    let [_, wait, after, fails] = results.events.as_slice() else { panic!("{:?}", results.events) };
    assert_eq!((wait.kind, wait.asked_s, wait.node.as_deref()), (EventKind::Wait, 0.1, Some("b")));
    assert!((0.8..60.0).contains(&wait.actual_s), "{wait:?}");
    let waited = wait.lateness_s();
    for (event, at) in [(after, 0.1), (fails, 0.2)] {
        assert!((event.asked_s - at - waited).abs() < 0.02, "the wait of {waited} s is counted: {event:?}");
        assert!((0.0..2.0).contains(&event.lateness_s()), "{event:?}");
    }
    assert!(
        (-0.1..2.0).contains(&(results.duration_s - 0.4 - waited)),
        "the end moves on: {}",
        results.duration_s
    );
    assert!((results.warmup_s - 0.15 - waited).abs() < 0.02, "so does the warm-up's: {}", results.warmup_s);
    assert_eq!(results.commands.len(), 2, "tries are no commands of the run");
}

#[test]
fn a_wait_in_vain_fails_the_run_and_ends_it() {
    let began = Instant::now();
    let run = outcome(
        "run:
  - {at: 0s, on: a, exec: sleep 600, background: true}
  - {at: 0s, on: a, name: work, exec: sleep 600}
  - {until: passes, on: b, exec: 'echo not yet >&2; exit 4', timeout: 500ms}
  - {at: 0s, link: a-r, fail: true}
duration: 300s\n",
    );
    assert!(began.elapsed() < Duration::from_secs(60));
    assert!(!run.results.passed && !run.results.interrupted);
    assert_eq!(
        run.results.failures,
        [
            "at 0 s, waited 0.5 s for `echo not yet >&2; exit 4` to pass on b; the last try exited with 4: not yet",
            "work on a: it still ran when a wait ended the run",
        ]
    );
    assert_eq!(run.results.events.len(), 3, "what follows does not happen: {:?}", run.results.events);
}

#[test]
fn a_try_that_hangs_is_stopped_when_the_time_is_over() {
    let began = Instant::now();
    let run = outcome("run: [{until: passes, on: b, exec: 'sleep 600; true', timeout: 300ms}]\n");
    assert!(began.elapsed() < Duration::from_secs(60));
    assert!(run.results.failures[0].starts_with("at 0 s, waited 0.3 s for"), "{:?}", run.results.failures);
}

#[test]
fn a_port_is_waited_for_in_the_kernels_tables() {
    let listener = TcpListener::bind("[::1]:0").or_else(|_| TcpListener::bind("127.0.0.1:0")).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let [tcp, udp] = [listener.local_addr(), socket.local_addr()].map(|address| address.unwrap().port());
    let run = outcome(&format!(
        "run: [{{until: port {tcp} open on a}}, {{until: tcp port {tcp} open on b}}, {{until: udp port {udp} open on b}}]\n"
    ));
    assert!(run.results.passed, "{:?}", run.results.failures);
    assert_eq!(run.results.events[2].label, format!("wait for udp port {udp} open on b"));
    drop(listener);
    let run = outcome(&format!("run: [{{until: port {tcp} open on a, timeout: 250ms}}]\n"));
    assert_eq!(run.results.failures, [format!("at 0 s, waited 0.25 s for port {tcp} open on a")]);
}

#[test]
fn routes_that_nothing_changes_are_stable_after_two_seconds() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("r");
    let sections = "run: [{until: routes stable, timeout: 60s}, {at: 0s, link: a-r, fail: true}]\n";
    let run = outcome_with(sections, &place, &Stop::default(), &mut ());
    assert!(run.results.passed, "{:?}", run.results.failures);
    assert!((2.0..60.0).contains(&run.results.events[0].actual_s), "{:?}", run.results.events);
    let html = fs::read_to_string(place.join("report.html")).unwrap();
    let after = format!("after {}", run.results.events[0].actual_s.floor());
    assert!(html.contains("wait for routes stable") && html.contains(&after), "the report tells of waits");
}

/// Asks for the end of the run as soon as it waits.
struct Impatient<'a>(&'a Stop, bool);

impl Progress for Impatient<'_> {
    fn moment(&mut self, _: f64, moment: Moment<'_>) {
        if let Moment::Waiting { what } = moment {
            assert_eq!(what, "`sleep 600; true` to pass on b");
            self.1 = true;
            self.0.ask();
        }
    }
}

#[test]
fn the_user_can_end_a_run_that_waits() {
    let home = tempfile::tempdir().unwrap();
    let (began, stop) = (Instant::now(), Stop::default());
    let mut impatient = Impatient(&stop, false);
    let sections = "run: [{until: passes, on: b, exec: 'sleep 600; true', timeout: 300s}]\n";
    let run = outcome_with(sections, &home.path().join("r"), &stop, &mut impatient);
    assert!(began.elapsed() < Duration::from_secs(60) && impatient.1);
    assert!(run.results.interrupted && run.results.failures.is_empty(), "{:?}", run.results.failures);
}
