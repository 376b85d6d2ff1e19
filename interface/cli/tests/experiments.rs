//! A file with factors is many runs in one folder.

mod common;

use common::{Person, as_root_and_as_user, eventually, installed};
use plait_testbed_experiment::sweep::{Load, Reproduction};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Four cells of two repeats. The levels stand in a link, in a command and in a text between others.
const QUESTION: &str = "plait: 1\nname: question\nseed: 5\n\
    experiment:\n  factors:\n    delay: [1ms, 5ms]\n    count: [1, 2]\n  repeats: 2\n\
    nodes: [a, b]\n\
    links: [{endpoints: [a, b], delay: $delay}]\n\
    collect: {tcp: off, links: off, interfaces: off}\n\
    run:\n\
    - {at: 0s, on: a, name: said, exec: 'ping -c $count -i 0.05 b > /dev/null && echo $count/$delay/$HOME/$$'}\n";

fn runs(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder.join("runs")).unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn said(folder: &Path, run: &str) -> String {
    let results = std::fs::read(folder.join("runs").join(run).join("results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let command = results["commands"][0]["folder"].as_str().unwrap();
    std::fs::read_to_string(folder.join("runs").join(run).join(command).join("stdout")).unwrap()
}

#[test]
fn every_cell_runs_as_often_as_asked_with_its_levels_in_place() {
    as_root_and_as_user(|person| {
        person.file("question.yaml", QUESTION);
        let dry = person.plait(&["run", "question.yaml", "--dry"]).fine();
        assert!(dry.contains("4     5ms    2") && dry.contains("8 runs at least"), "{dry}");
        assert!(person.testbeds().is_empty() && !person.work().join("results").exists());

        let ended = person.plait(&["run", "question.yaml", "--json"]);
        let value: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((ended.code(), &value["finished"]), (Some(0), &true.into()), "{ended:#?}");
        let folder = person.work().join("results/question-1");
        let home = person.home();
        for cell in 1..=4 {
            for repeat in 1..=2 {
                let run = format!("c{cell}-r{repeat}-a1");
                let (count, delay) = (["1", "2"][(cell - 1) % 2], ["1ms", "5ms"][(cell - 1) / 2]);
                let said = said(&folder, &run);
                assert!(said.starts_with(&format!("{count}/{delay}/")), "{run}: {said}");
                assert!(
                    !said.contains('$') && !home.as_os_str().is_empty(),
                    "the shell's names are the shell's: {said}"
                );
            }
        }
        let table = std::fs::read_to_string(folder.join("runs.csv")).unwrap();
        let attempts = runs(&folder).len();
        assert_eq!(table.lines().count(), 1 + attempts);
        assert!(table.starts_with("cell,repeat,attempt,verdict,passed,counts,delay,count\n"), "{table}");
        assert_eq!(value["summary"]["cells"][3]["levels"], serde_json::json!(["5ms", "2"]));
        person.assert_nothing_runs();
    });
}

#[test]
fn a_sweep_that_was_killed_goes_on_where_it_was() {
    let Some(person) = Person::root() else { return };
    person.file("question.yaml", QUESTION);
    let folder = person.work().join("sweep");
    let sweep = person.start(&["run", "question.yaml", "--output", "sweep"]);
    assert!(eventually(|| folder.join("runs").is_dir() && whole(&folder) >= 2));
    // While it works, nobody else may.
    person.plait(&["run", "question.yaml", "--resume", "sweep"]).fails_saying(2, &["another plait"]);
    sweep.signal(Signal::KILL);
    sweep.wait();
    assert!(eventually(|| person.processes().is_empty()), "the run dies with its sweep");
    let before = whole(&folder);
    assert!((2..8).contains(&before), "{before} of 8");
    let kept: Vec<_> = names(&folder).iter().map(|run| changed(&folder, run)).collect();

    person.plait(&["run", "question.yaml", "--resume", "sweep"]).fine();
    let after = names(&folder);
    for cell in 1..=4 {
        for repeat in 1..=2 {
            assert!(after.contains(&format!("c{cell}-r{repeat}-a1")), "{after:?}");
        }
    }
    let still: Vec<_> = after.iter().map(|run| changed(&folder, run)).collect();
    assert!(kept.iter().all(|old| still.contains(old)), "what was done is not done again");
    // All is done: going on does nothing.
    person.plait(&["run", "question.yaml", "--resume", "sweep"]).fine();
    assert_eq!(names(&folder), after);
    // A newer folder is refused by name.
    let manifest = folder.join("experiment.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"plait_experiment\": 1", "\"plait_experiment\": 2")).unwrap();
    let newer = person.plait(&["run", "question.yaml", "--resume", "sweep"]);
    newer.fails_saying(2, &["of format 2", "use a newer plait"]);
    std::fs::write(&manifest, text).unwrap();
    // Another file is another experiment.
    person.file("question.yaml", QUESTION.replace("5ms", "6ms"));
    let refused = person.plait(&["run", "question.yaml", "--resume", "sweep"]);
    refused.fails_saying(2, &["another version of the file", "network.yaml"]);
    person.plait(&["run", "question.yaml", "--output", "sweep"]).fails_saying(2, &["--resume"]);
    person
        .plait(&["run", "question.yaml", "--resume", "nowhere"])
        .fails_saying(2, &["nowhere", "no experiment"]);
    person.assert_nothing_runs();
}

/// The runs that are whole.
fn names(folder: &Path) -> BTreeSet<String> {
    runs(folder).into_iter().filter(|run| !run.contains("partial")).collect()
}

fn whole(folder: &Path) -> usize {
    names(folder).len()
}

fn changed(folder: &Path, run: &str) -> (String, std::time::SystemTime) {
    let results = folder.join("runs").join(run).join("results.json");
    (run.to_owned(), std::fs::metadata(results).unwrap().modified().unwrap())
}

#[test]
fn a_run_that_cannot_be_built_ends_the_sweep_and_keeps_what_was_done() {
    let Some(person) = Person::root() else { return };
    // Only when it is built does it show that the second cell's processor is not there.
    let text = QUESTION
        .replace("count: [1, 2]", "count: [0, 4000]")
        .replace("nodes: [a, b]", "nodes: {a: {processors: [$count]}, b: host}");
    person.file("question.yaml", text.replace("ping -c $count -i 0.05 b > /dev/null && ", ""));
    let ended = person.plait(&["run", "question.yaml", "--output", "sweep"]);
    ended.fails_saying(1, &["no processor 4000", "--resume sweep"]);
    assert!(person.work().join("sweep/experiment.json").exists());
    person.assert_nothing_runs();
}

#[test]
fn an_experiment_that_makes_no_sense_is_refused_with_its_place() {
    let Some(person) = Person::root() else { return };
    let wrong = |from: &str, to: &str, words: &[&str]| {
        person.file("wrong.yaml", QUESTION.replace(from, to));
        person.plait(&["validate", "wrong.yaml"]).fails_saying(3, words);
        person.plait(&["run", "wrong.yaml"]).fails_saying(3, words);
    };
    wrong("$delay", "3ms", &["wrong.yaml:6:12", "nothing depends on the factor `delay`"]);
    wrong("[1ms, 5ms]", "[]", &["wrong.yaml:6:12", "`delay` has no level"]);
    wrong("[1ms, 5ms]", "{from: 1ms, to: 5Mbit}", &["wrong.yaml:6:12", "different units"]);
    wrong("[1ms, 5ms]", "[1ms, fast]", &["`fast`", "in cell 3: delay=fast count=1"]);
    wrong("repeats: 2", "repeats: 0", &["wrong.yaml:8:12", "at least once"]);
    wrong("repeats: 2", "design: {space_filing: 3}", &["space_filing"]);
    wrong("repeats: 2", "design: {space_filling: 200000}", &["more than 100000"]);
    person.file("plain.yaml", "plait: 1\nnodes: [a, b]\nlinks: [a-b]\n");
    person.plait(&["run", "plain.yaml", "--cell", "1"]).fails_saying(2, &["no `experiment:`"]);
    person.file("question.yaml", QUESTION);
    person.plait(&["run", "question.yaml", "--cell", "5"]).fails_saying(2, &["there is no cell 5", "1 to 4"]);
    assert!(!person.work().join("results").exists());
}

#[test]
fn a_flow_has_a_mean_and_an_interval_over_runs() {
    if !installed("iperf3") {
        return;
    }
    let Some(person) = Person::root() else { return };
    let text = "plait: 1\nname: flow\nexperiment: {factors: {rate: [5Mbit, 10Mbit]}, repeats: 2}\n\
        nodes: [a, b]\nlinks: [{endpoints: [a, b], rate: $rate, queue: 50ms}]\nrun:\n\
        - {at: 0s, on: b, exec: iperf3 -s -1, background: true}\n\
        - {until: port 5201 open on b}\n\
        - {at: 0s, on: a, name: bulk, exec: iperf3 -J -c b -t 1, timeout: 20s}\n";
    person.file("flow.yaml", text);
    let value: Value = serde_json::from_str(&person.plait(&["run", "flow.yaml", "--json"]).stdout).unwrap();
    for (cell, rate) in [(0, 5e6), (1, 10e6)] {
        let cell = &value["summary"]["cells"][cell];
        let metric = &cell["metrics"]["bulk_bps"];
        let runs = metric["mean"]["n"].as_u64().unwrap_or(0)
            + metric["tainted"].as_array().map_or(0, Vec::len) as u64;
        assert_eq!(runs, 2, "{value:#}");
        if let (Some(mean), Some(low)) =
            (metric["mean"]["value"].as_f64(), metric["mean"]["interval"][0].as_f64())
        {
            // A machine that others use may hold up the sender for a good part of its second.
            assert!(mean > 0.3 * rate && mean < rate && low <= mean, "{value:#}");
        }
    }
}

#[test]
fn figures_are_taken_asserted_and_set_beside_others() {
    let text = |least: &str| {
        format!(
            "plait: 1\nname: figures\nexperiment:\n  factors: {{size: [1, 3]}}\n  repeats: 2\nwarmup: 100ms\n\
             metrics:\n  said: {{output: say, field: a.0, take: max, unit: ms}}\n\
             \x20 sent: {{interface: 'a:eth0', column: tx_packets, take: max}}\n\
             assert: ['said >= {least}', sent > 0]\n\
             nodes: [a, b]\nlinks: [a-b]\ncollect: {{interfaces: 50ms}}\n\
             run:\n- {{at: 0s, on: a, name: say, exec: 'echo \"{{\\\"a\\\": [$size]}}\"'}}\n\
             - {{at: 0s, on: a, name: ping, exec: ping -c 5 -i 0.1 b}}\n"
        )
    };
    as_root_and_as_user(|person| {
        person.file("figures.yaml", text("1ms"));
        person.plait(&["run", "figures.yaml", "--output", "one", "--junit", "one.xml"]).fine();
        let summary = std::fs::read_to_string(person.work().join("one/summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        assert_eq!((&summary["plait_experiment"], &summary["metrics"]["said"]), (&1.into(), &"ms".into()));
        for (cell, value) in [(0, 1.0), (1, 3.0)] {
            let said = &summary["cells"][cell]["metrics"]["said"];
            assert_eq!(
                (&said["mean"]["value"], &said["mean"]["n"]),
                (&value.into(), &2.into()),
                "{summary:#}"
            );
            assert!(summary["cells"][cell]["metrics"]["sent"]["mean"]["value"].as_f64().unwrap() >= 5.0);
        }
        let effect = &summary["effects"]["said"][0];
        assert_eq!((&effect["share"], &effect["levels"][1]["value"]), (&1.0.into(), &1.0.into()));
        let page = std::fs::read_to_string(person.work().join("one/report.html")).unwrap();
        for words in ["said &gt;= 1ms", "runs/c2-r2-a1/report.html", "Main effects", "<circle"] {
            assert!(page.contains(words), "{words}");
        }
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"));
        std::fs::remove_file(person.work().join("one/report.html")).unwrap();
        person.plait(&["report", "one"]).fine();
        assert_eq!(std::fs::read_to_string(person.work().join("one/report.html")).unwrap(), page);
        let junit = std::fs::read_to_string(person.work().join("one.xml")).unwrap();
        assert!(junit.contains("tests=\"12\" failures=\"0\""), "{junit}");

        // An assertion that does not hold fails the experiment, and each run that it does not hold in.
        person.file("figures.yaml", text("2ms"));
        let failed = person.plait(&["run", "figures.yaml", "--output", "two", "--junit", "two.xml"]);
        failed.fails_saying(1, &["not so: said >= 2ms"]);
        let junit = std::fs::read_to_string(person.work().join("two.xml")).unwrap();
        assert!(
            junit.contains("failures=\"2\"") && junit.contains("c1-r1-a1 size=1: said &gt;= 2ms"),
            "{junit}"
        );
        person.plait(&["run", "figures.yaml", "--output", "single", "--cell", "1"]).fails(1);

        let compared = person.plait(&["compare", "one", "two", "-o", "compared.html", "--json"]).json();
        assert_eq!(compared["compared"].as_array().unwrap().len(), 4);
        assert_eq!(compared["compared"][0]["difference"]["value"], 0.0);
        assert!(std::fs::read_to_string(person.work().join("compared.html")).unwrap().contains("size=3"));
        person.plait(&["compare", "one", "nowhere"]).fails_saying(1, &["nowhere"]);
        person.assert_nothing_runs();
    });
}

#[test]
fn figures_that_make_no_sense_are_refused_with_their_place() {
    let Some(person) = Person::user() else { return };
    let wrong = |line: &str, words: &[&str]| {
        let text = format!(
            "plait: 1\nnodes: [a, b]\nlinks: [a-b]\nrun:\n- {{at: 0s, on: a, name: say, exec: echo}}\n\
             metrics: {{m: {{link: a-b, column: bytes, take: rate}}, rtt: {{tcp: srtt_ms}}}}\n{line}\n"
        );
        let text = if line.starts_with("metrics") {
            text.replacen("metrics: {m", "x: {m", 1)
                .replace("x: {m: {link: a-b, column: bytes, take: rate}, rtt: {tcp: srtt_ms}}\n", "")
        } else {
            text
        };
        person.file("wrong.yaml", text);
        person.plait(&["validate", "wrong.yaml"]).fails_saying(3, words);
    };
    wrong("assert: ['rtt > 5']", &["wrong.yaml:7:10", "`5` cannot be compared", "in ms"]);
    wrong("assert: ['rtt > 5Mbit']", &["with `rtt`, which is in ms", "`120ms`"]);
    wrong("assert: ['rt > 5ms']", &["there is no metric `rt`", "rtt"]);
    wrong("assert: ['rtt about 5ms']", &["`about` is no comparison"]);
    wrong("assert: [rtt]", &["no assertion"]);
    wrong("metrics: {m: {output: sya}}", &["wrong.yaml:6:23", "no command is called `sya`", "say"]);
    wrong("metrics: {m: {tcp: srtt}}", &["no column `srtt`", "srtt_ms"]);
    wrong("metrics: {m: {link: a-c, column: bytes}}", &["unknown link `a-c`"]);
    wrong("metrics: {m: {link: a-b}}", &["`column` is missing"]);
    wrong("metrics: {m: {interface: 'a:eth7', column: rx_bytes}}", &["no interface `a:eth7`"]);
    wrong("metrics: {m: {unit: ms}}", &["where does `m` come from?"]);
    wrong("metrics: {m: {tcp: srtt_ms, field: a}}", &["`field` has a meaning beside `output` only"]);
    wrong("metrics: {m: {tcp: srtt_ms, take: p101}}", &["p101", "p95"]);
}

/// Chance has its say in this link, and the metrics vary from run to run.
const CHANCE: &str = "plait: 1\nname: chance\nseed: 5\n\
    experiment: {factors: {delay: [1ms, 5ms]}, repeats: 2}\n\
    nodes: [a, b]\n\
    links: [{endpoints: [a, b], delay: $delay, jitter: 200us, loss: 5%}]\n\
    collect: {tcp: off, links: off, interfaces: off, ping: [{from: a, to: b, every: 5ms}]}\n\
    duration: 600ms\n\
    metrics: {rtt: {ping: a to b}}\n";

#[test]
fn a_run_made_twice_is_built_and_fares_alike() {
    as_root_and_as_user(|person| {
        person.file("chance.yaml", CHANCE);
        let ended = person.plait(&["run", "chance.yaml", "--twice", "--json"]);
        let value: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:#?}"));
        let twice = &value["twice"];
        assert_eq!(twice["plan_differences"], 0, "{twice:#}");
        for way in 0..2 {
            let fates = &twice["fates"][way];
            assert_eq!(
                (&fates["alike"], fates["packets"].as_u64() >= Some(64)),
                (&true.into(), true),
                "{fates}"
            );
        }
        let metric = &twice["metrics"][0];
        // On a machine that others use some repeats may be tainted; two are needed to say where a further one belongs.
        let repeats = value["summary"]["cells"][0]["metrics"]["rtt"]["values"].as_array().map_or(0, Vec::len);
        assert_eq!(
            (metric["expected"].is_array(), metric["second"].is_number()),
            (repeats >= 2, true),
            "{metric}"
        );
        let folder = person.work().join("results/chance-1");
        // Of several attempts at the run, the one that counts was made again.
        let again =
            std::fs::read_dir(folder.join("twice")).unwrap().flatten().next().expect("a run made again");
        assert!(again.path().join("report.html").exists() && folder.join("twice.json").exists());

        // Another seed is another plan and other fates: the comparison can fail.
        let other = folder.join("runs/c1-r2-a1");
        let reproduction =
            Reproduction::read(&folder.join("runs/c1-r1-a1"), &other, &BTreeMap::new()).unwrap();
        let places: Vec<_> = reproduction.plan.iter().map(|place| place.place.as_str()).collect();
        assert_eq!(places, ["links.a-b.seed"]);
        assert!(reproduction.fates.iter().all(|fates| !fates.alike) && !reproduction.holds());

        // One cell alone has no repeats to be compared with.
        let words = ["run", "chance.yaml", "--cell", "2", "--twice", "--output", "cell"];
        let said = person.plait(&words).fine();
        assert!(said.contains("identical") && said.contains("no repeats to say"), "{said}");
        person
            .plait(&["run", "chance.yaml", "--resume", "results/chance-1", "--cell", "2"])
            .fails_saying(2, &["`--twice`"]);
        person.assert_nothing_runs();
    });
}

/// Twelve runs of half a second in which nothing happens.
const IDLE: &str = "plait: 1\nname: idle\n\
    experiment: {factors: {seconds: ['0.5', '0.50']}, repeats: 6}\n\
    nodes: [a, b]\nlinks: [a-b]\n\
    collect: {tcp: off, links: off, interfaces: off}\n\
    run: [{at: 0s, on: a, name: nap, exec: 'sleep $seconds; hostname > /run/node/who'}]\n";

#[test]
fn runs_that_need_little_go_on_side_by_side_and_only_when_asked_to() {
    let Some(person) = Person::user() else { return };
    person.file("idle.yaml", IDLE);
    let processors = std::thread::available_parallelism().unwrap().get();
    let mut load = Load::now();
    person.plait(&["run", "idle.yaml", "--jobs", "4", "--output", "beside"]).fine();
    let busy = load.since(processors).unwrap();
    let folder = person.work().join("beside");
    assert_eq!(runs(&folder).len(), 12, "each run once");
    let spans = spans(&folder);
    let together =
        |(from, to): &(u128, u128)| spans.iter().filter(|span| span.0 < *to && *from < span.1).count();
    // The load that lets a second run begin is the whole machine's: a busy one is right to have put it off.
    let was_busy = busy > 0.35 * processors as f64;
    assert!(was_busy || spans.iter().any(|span| together(span) > 1), "{busy} processors busy: {spans:?}");
    assert!(spans.iter().all(|span| together(span) <= 7), "four at once meet three before and three after");

    person.plait(&["run", "idle.yaml", "--output", "alone"]).fine();
    let alone = self::spans(&person.work().join("alone"));
    assert!(alone.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{alone:?}");
    person.plait(&["run", "idle.yaml", "--jobs", "0"]).fails_saying(2, &["--jobs"]);
    person.assert_nothing_runs();
}

/// When the commands of each run began and ended, in order.
fn spans(folder: &Path) -> Vec<(u128, u128)> {
    let span = |run: &String| {
        let place = folder.join("runs").join(run).join("commands/01-nap/stdout");
        let written = std::fs::metadata(&place).unwrap();
        let nanos =
            |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
        let begun = nanos(written.created().unwrap());
        (begun, begun + 500_000_000)
    };
    let mut spans: Vec<_> = runs(folder).iter().map(span).collect();
    spans.sort_unstable();
    spans
}

#[test]
fn a_file_that_changes_under_a_sweep_ends_it() {
    let Some(person) = Person::root() else { return };
    let text = "plait: 1\nname: named\nexperiment: {factors: {word: [x, y]}, repeats: 2}\n\
        nodes: {a: {files: {/etc/given: {source: given.txt}}}}\n\
        collect: {tcp: off, links: off, interfaces: off}\n\
        run: [{at: 0s, on: a, exec: echo $word}]\n";
    person.file("named.yaml", text);
    person.file("given.txt", "one\n");
    person.plait(&["run", "named.yaml", "--output", "sweep"]).fine();
    let folder = person.work().join("sweep");
    let copy = std::fs::read_to_string(folder.join("runs/c1-r1-a1/given.txt")).unwrap();
    assert_eq!(copy, "one\n", "a run keeps the files that its nodes were given");
    std::fs::remove_dir_all(folder.join("runs/c2-r2-a1")).unwrap();
    person.file("given.txt", "two\n");
    let ended = person.plait(&["run", "named.yaml", "--resume", "sweep"]);
    assert_eq!(ended.code(), Some(1), "{ended:#?}");
    assert!(ended.stderr.contains("another version of given.txt"), "{ended:#?}");
    // As it says: without that run, and with the old file, it goes on.
    std::fs::remove_dir_all(folder.join("runs/c2-r2-a1")).unwrap();
    person.file("given.txt", "one\n");
    person.plait(&["run", "named.yaml", "--resume", "sweep"]).fine();
}
