//! What stands in a report, and which folders are read.

mod support;

use plait_model_topology::document::{Source, parse};
use plait_model_topology::{Vocabulary, resolve_network};
use plait_testbed_experiment::report::{render, render_experiment};
use plait_testbed_experiment::results::{LinkSummary, NodeSummary, RESULTS_VERSION, Results, ResultsError};
use plait_testbed_experiment::runner::Input;
use plait_testbed_experiment::section::{Experiment, register};
use plait_testbed_experiment::sweep::{EXPERIMENT_VERSION, Summary, Sweep};
use plait_testbed_experiment::world::Ended;
use std::fs;
use std::path::Path;

fn golden() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/results-1"))
}

#[test]
fn a_report_needs_nothing_beside_itself() {
    let home = tempfile::tempdir().unwrap();
    support::write(home.path(), &support::results());
    let html = render(home.path()).unwrap();
    for foreign in ["http:", "https:", "src=", "href=", "@import", "url(", "<script", "<link"] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    for part in [
        "BBR against CUBIC",
        "✓ valid",
        "n = 1",
        "10.004 ± 0.002",
        "alice → server (bbr)",
        "west-east fails",
        "plait run network.yaml",
        "prefers-color-scheme: dark",
        "@media print",
        "Mbit/s",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ] {
        assert!(html.contains(part), "{part} is missing");
    }
    assert!(!html.contains("NaN") && !html.contains("inf"), "no figure is nonsense");
    assert!(html.len() < 600_000, "{} bytes", html.len());
    assert_eq!(html, render(home.path()).unwrap(), "the same folder gives the same page");
}

#[test]
fn a_tainted_run_says_when_where_and_why() {
    let home = tempfile::tempdir().unwrap();
    let mut results = support::results();
    support::taint(&mut results);
    support::write(home.path(), &results);
    let html = render(home.path()).unwrap();
    assert!(html.contains("✗ tainted") && html.contains("12 s, west-east: packets left 1.8 ms late"));
    assert!(!html.contains("✓ valid"));
}

#[test]
fn hostile_text_is_shown_and_never_obeyed() {
    const HOSTILE: &str =
        "</pre></svg></style><script>alert(1)</script><img src=x onerror='alert(2)'>\"&\u{1b}[2J";
    let home = tempfile::tempdir().unwrap();
    let mut results = support::results();
    results.network.name = HOSTILE.into();
    results.question.title = Some(HOSTILE.into());
    results.question.question = Some(HOSTILE.into());
    results.question.notes = vec![HOSTILE.into()];
    results.failures = vec![HOSTILE.into()];
    results.passed = false;
    results.machine.cpu = HOSTILE.into();
    results.commands[0].name = HOSTILE.into();
    results.commands[0].exec = HOSTILE.into();
    results.commands[0].passed = false;
    results.commands[0].ended = Some(Ended::Signal(9));
    for event in &mut results.events {
        event.label = HOSTILE.into();
        event.error = Some(HOSTILE.into());
    }
    for verification in &mut results.verification {
        verification.unit = HOSTILE.into();
        verification.property = HOSTILE.into();
    }
    results.network.links[3].conditions[0] =
        serde_json::json!({ HOSTILE: HOSTILE, "loss": { HOSTILE: HOSTILE } });
    support::write(home.path(), &results);
    fs::write(
        home.path().join("commands/01-server/stdout"),
        format!("{HOSTILE}\n\u{fe}\u{ff}\0").repeat(200),
    )
    .unwrap();
    fs::write(home.path().join("commands/01-server/stderr"), b"\xff\xfe<script>").unwrap();
    let html = render(home.path()).unwrap();
    for markup in ["<script", "<img", "\u{1b}", "\0", "</pre></svg>"] {
        assert!(!html.contains(markup), "{markup:?} got through");
    }
    assert!(html.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn a_folder_without_samples_or_commands_still_has_a_report() {
    let home = tempfile::tempdir().unwrap();
    let mut results = support::results();
    results.commands.clear();
    results.events.clear();
    results.verification.clear();
    results.duration_s = 0.0;
    results.network.nodes.clear();
    results.network.links.clear();
    fs::write(home.path().join("results.json"), serde_json::to_vec(&results).unwrap()).unwrap();
    let html = render(home.path()).unwrap();
    assert!(html.contains("were not measured before this run") && !html.contains("NaN"));
}

#[test]
fn a_hundred_megabytes_of_output_become_an_excerpt() {
    let home = tempfile::tempdir().unwrap();
    let results = support::results();
    support::write(home.path(), &results);
    let stdout = home.path().join("commands/01-server/stdout");
    let file = fs::File::create(&stdout).unwrap();
    file.set_len(100 * 1024 * 1024).unwrap();
    let html = render(home.path()).unwrap();
    assert!(html.len() < 1_000_000 && html.contains("100 MiB"));
}

#[test]
fn a_port_that_is_used_again_is_another_flow() {
    let home = tempfile::tempdir().unwrap();
    support::write(home.path(), &support::results());
    let path = home.path().join("samples/tcp.csv");
    let head = "time_s,node,local,remote,state,congestion_control,cwnd_packets,ssthresh_packets,srtt_ms,rttvar_ms,min_rtt_ms,rto_ms,mss_bytes,unacked_packets,lost_packets,retransmits,delivery_rate_bps,pacing_rate_bps,application_limited,bytes_acked,bytes_received,bytes_sent\n";
    let row = |second: f64, acked: u64| {
        format!(
            "{second},alice,10.0.0.1:9,10.0.1.1:5201,ESTABLISHED,bbr,10,,1,1,1,200,1448,0,0,0,,,,{acked},0,{acked}\n"
        )
    };
    // The second begins where the first, larger one was never seen to begin.
    let rows =
        [(1.0, 1_000_000), (2.0, 2_000_000), (5.0, 100), (6.0, 500_000)].map(|(at, acked)| row(at, acked));
    fs::write(path, head.to_owned() + &rows.concat()).unwrap();
    let html = render(home.path()).unwrap();
    assert!(html.contains("alice → server (bbr) #1") && html.contains("alice → server (bbr) #2"));
}

#[test]
fn results_of_version_1_are_read() {
    let results = Results::read(golden()).unwrap();
    assert_eq!(results.plait_results, 1);
    assert_eq!(results.network.name, "quickstart");
    assert_eq!(results.commands.len(), 4);
    // What this version writes is what the sample holds; a difference wants a new version, or a default.
    let written = serde_json::to_value(&results).unwrap();
    let text = fs::read(golden().join("results.json")).unwrap();
    assert_eq!(written, serde_json::from_slice::<serde_json::Value>(&text).unwrap());
    assert!(render(golden()).unwrap().contains("BBR against CUBIC"));
}

#[test]
fn a_newer_folder_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("results.json");
    fs::write(&path, r#"{"plait_results": 2, "everything": "else"}"#).unwrap();
    let error = Results::read(home.path()).unwrap_err();
    assert!(matches!(error, ResultsError::Newer { found: 2, known: RESULTS_VERSION, .. }));
    assert!(
        error.to_string().contains("results format 2, this plait reads up to 1: use a newer plait"),
        "{error}"
    );
    for damaged in ["", "{}", "[1]", r#"{"plait_results": 1}"#, r#"{"plait_results": -1}"#, "\0\u{1}"] {
        fs::write(&path, damaged).unwrap();
        let error = Results::read(home.path()).unwrap_err();
        assert!(matches!(error, ResultsError::Damaged { .. }), "{damaged}: {error}");
    }
}

#[test]
fn a_damaged_sample_file_is_named_with_its_line() {
    let home = tempfile::tempdir().unwrap();
    support::write(home.path(), &support::results());
    fs::write(home.path().join("samples/tcp.csv"), "time_s,node\nx,y\n").unwrap();
    let error = render(home.path()).unwrap_err().to_string();
    assert!(error.contains("samples/tcp.csv is damaged") && error.contains("line"), "{error}");
}

#[test]
fn a_cell_with_commas_quotes_and_newlines_comes_back_as_it_was() {
    use plait_testbed_experiment::results::records::{Iperf3Record, read};
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("rows.csv");
    let row = Iperf3Record {
        time_s: 1.5,
        command: "a,\"b\"\n=c".into(),
        node: "n;1".into(),
        stream: 1,
        seconds: 1.0,
        bytes: 2,
        throughput_bps: 16.0,
        retransmits: None,
    };
    let mut writer = csv::Writer::from_path(&path).unwrap();
    writer.serialize(&row).unwrap();
    writer.flush().unwrap();
    drop(writer);
    let mut rows = Vec::new();
    read::<Iperf3Record>(&path, |row| rows.push(row)).unwrap();
    assert_eq!(rows, [row]);
}

#[test]
fn a_large_network_is_drawn_and_a_huge_one_is_not() {
    let home = tempfile::tempdir().unwrap();
    let torus = |side: usize| {
        let mut results = support::results();
        let node = results.network.nodes[0].clone();
        let link = results.network.links[0].clone();
        let name = |row: usize, column: usize| format!("n{}-{}", row % side, column % side);
        let cells = || (0..side).flat_map(|row| (0..side).map(move |column| (row, column)));
        results.network.nodes =
            cells().map(|(row, column)| NodeSummary { name: name(row, column), ..node.clone() }).collect();
        results.network.links = cells()
            .flat_map(|(row, column)| {
                [[(row, column), (row + 1, column)], [(row, column), (row, column + 1)]]
            })
            .map(|ends| LinkSummary { ends: ends.map(|(row, column)| name(row, column)), ..link.clone() })
            .collect();
        results
    };
    support::write(home.path(), &torus(18));
    let html = render(home.path()).unwrap();
    assert_eq!(html.matches("<circle class=\"node host\"").count(), 18 * 18);
    assert!(!html.contains("NaN"));
    support::write(home.path(), &torus(40));
    assert!(render(home.path()).unwrap().contains("too many to draw here"));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn no_content_makes_the_report_panic(
        rows in proptest::collection::vec(proptest::collection::vec("[0-9eE.+,a\"-]{0,6}", 10), 0..6),
        nothing in "\\PC{0,80}",
    ) {
        let home = tempfile::tempdir().unwrap();
        let results = support::results();
        fs::create_dir(home.path().join("samples")).unwrap();
        fs::write(home.path().join("results.json"), serde_json::to_vec(&results).unwrap()).unwrap();
        let mut links = "time_s,link,direction,packets,bytes,lost,queue_dropped,marked,queue_packets,queue_bytes\n".to_owned();
        for row in rows {
            links += &format!("{},west-east,forward,{}\n", row[0], row[3..].join(","));
        }
        fs::write(home.path().join("samples/links.csv"), links).unwrap();
        fs::write(home.path().join("samples/iperf3.csv"), &nothing).unwrap();
        let _ = render(home.path());
        fs::write(home.path().join("results.json"), &nothing).unwrap();
        let _ = render(home.path());
    }
}

#[test]
fn an_experiment_of_version_1_is_read_and_gone_on_with() {
    let golden = golden().with_file_name("experiment-1");
    let summary = Summary::read(&golden).unwrap();
    assert_eq!((summary.plait_experiment, summary.cells.len(), summary.attempts), (1, 2, 4));
    let text = fs::read(golden.join("summary.json")).unwrap();
    let written = serde_json::to_value(&summary).unwrap();
    assert_eq!(written, serde_json::from_slice::<serde_json::Value>(&text).unwrap());
    assert!(render_experiment(&summary).contains("Main effects"));

    let home = tempfile::tempdir().unwrap();
    for name in ["experiment.json", "network.yaml"] {
        fs::copy(golden.join(name), home.path().join(name)).unwrap();
    }
    fs::create_dir(home.path().join("runs")).unwrap();
    let text = fs::read_to_string(golden.join("network.yaml")).unwrap();
    let source = Source::new("network.yaml", text.clone());
    let document = parse(&source).unwrap();
    let experiment = Experiment::of(&document).unwrap().unwrap();
    let filled = experiment.document(&document, &experiment.cells[0]);
    let mut vocabulary = Vocabulary::core();
    register(&mut vocabulary);
    let network = resolve_network(&source, &filled, &vocabulary, &|name| Err(name.to_owned())).unwrap();
    let input = Input { network: &network, file: "network.yaml", text: text.as_bytes(), named: &[] };
    let sweep = Sweep::resume(&experiment, &input, home.path()).unwrap();
    assert_eq!(sweep.progress(), (0, 4));
    drop(sweep);

    let path = home.path().join("summary.json");
    fs::write(&path, r#"{"plait_experiment": 2, "everything": "else"}"#).unwrap();
    let error = Summary::read(home.path()).unwrap_err();
    assert!(matches!(error, ResultsError::Newer { found: 2, known: EXPERIMENT_VERSION, .. }), "{error}");
}
