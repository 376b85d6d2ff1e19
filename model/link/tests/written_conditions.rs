//! Facts about conditions as people write them.

use plait_model_link::{
    Conditions, ConditionsError, ConditionsSpec, Discipline, Distribution, Loss, Queue, QueueLimit, Rate,
    preset, preset_names,
};
use plait_model_quantity::{Probability, TimeSpan};
use proptest::prelude::*;

fn read(json: &str) -> ConditionsSpec {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn refusal(json: &str) -> String {
    serde_json::from_str::<ConditionsSpec>(json).expect_err(json).to_string()
}

fn build(json: &str) -> Conditions {
    read(json).build(&no_traces).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn no_traces(_: &str) -> Result<String, String> {
    Err("no such file".to_owned())
}

#[test]
fn short_forms_say_the_common_case() {
    let conditions =
        build(r#"{"rate": "10Mbit", "delay": "20ms", "jitter": "1ms", "loss": "1%", "queue": "100p"}"#);
    assert_eq!(conditions.delay, TimeSpan::from_millis(20));
    assert_eq!(
        conditions.jitter.as_ref().unwrap().distribution,
        Distribution::Uniform(TimeSpan::from_millis(1))
    );
    assert_eq!(conditions.queue.limit, QueueLimit::Packets(100));
    assert_eq!(conditions.to_string(), "10Mbit 20ms jitter 1ms loss 1% queue 100p");
}

#[test]
fn full_forms_say_the_rest() {
    let conditions = build(
        r#"{"rate": "10Mbit", "delay": "20ms",
            "jitter": {"spread": "2ms", "distribution": "pareto", "overtake": true},
            "loss": {"gilbert_elliott": {"p": "1%", "r": "25%"}},
            "queue": {"limit": "64KiB", "discipline": {"red": {"min": "10KiB", "max": "30KiB", "ecn": true}}}}"#,
    );
    assert!(conditions.jitter.unwrap().overtake);
    let Loss::GilbertElliott(chain) = conditions.loss else { panic!() };
    assert_eq!((chain.good_loss, chain.bad_loss), (Probability::ZERO, Probability::ONE));
    assert!(matches!(conditions.queue.discipline, Discipline::Red(red) if red.ecn));
    let codel = build(r#"{"rate": "10Mbit", "queue": {"discipline": "codel"}}"#);
    assert!(matches!(codel.queue.discipline, Discipline::Codel { ecn: false, .. }));
    let list = build(r#"{"loss": {"packets": [42, 3, 10, 3]}}"#);
    assert_eq!(list.loss, Loss::Packets(vec![3, 10, 42]));
}

#[test]
fn every_written_form_survives_a_round_trip() {
    for json in [
        r#"{}"#,
        r#"{"rate":"none","delay":"none","jitter":"0ns","loss":"0%","queue":"none"}"#,
        r#"{"rate_trace":"lte.trace","jitter":{"distribution":{"trace":"j.txt"},"overtake":false}}"#,
        r#"{"loss":{"packets":[3,10]},"queue":{"limit":"100p","discipline":"drop_tail"}}"#,
        r#"{"loss":{"gilbert_elliott":{"p":"1%","r":"10%","bad_loss":"50%"}},"reorder":"1%","duplicate":"0.1%"}"#,
        r#"{"queue":{"discipline":{"codel":{"target":"5ms","ecn":true}}},"corrupt":"0.01%"}"#,
    ] {
        let spec = read(json);
        assert_eq!(read(&serde_json::to_string(&spec).unwrap()), spec, "{json}");
    }
}

#[test]
fn refusals_say_what_to_write() {
    assert!(refusal(r#"{"delay": 20}"#).contains("write one of ns, us, ms"));
    assert!(refusal(r#"{"queue": "100"}"#).contains("100p"));
    assert!(refusal(r#"{"queue": "5parsecs"}"#).contains("`parsecs` is not a unit of queue"));
    assert!(refusal(r#"{"dealy": "20ms"}"#).contains("unknown field `dealy`"));
    assert!(refusal(r#"{"loss": {"bursts": 3}}"#).contains("gilbert_elliott"));
    assert!(refusal(r#"{"queue": {"discipline": "red"}}"#).contains("min: 5ms"));
    assert!(refusal(r#"{"jitter": [1]}"#).contains("a time such as `2ms`"));
}

#[test]
fn what_means_nothing_is_refused() {
    for (json, field) in [
        (r#"{"reorder": "1%"}"#, "reorder"),
        (r#"{"jitter": {"distribution": "normal"}}"#, "jitter"),
        (r#"{"loss": {"packets": [0]}}"#, "loss"),
        (r#"{"queue": {"discipline": {"red": {"min": "30KiB", "max": "10KiB"}}}}"#, "queue"),
        (r#"{"queue": {"discipline": {"red": {"min": "10p", "max": "30KiB"}}}}"#, "queue"),
    ] {
        let error = read(json).build(&no_traces).expect_err(json);
        assert!(matches!(&error, ConditionsError::Senseless { field: at, .. } if *at == field), "{error}");
    }
    let both = read(r#"{"rate": "1Mbit", "rate_trace": "x"}"#).build(&no_traces);
    assert_eq!(both, Err(ConditionsError::TwoRates));
}

#[test]
fn a_specification_over_another_wins_field_by_field() {
    let own = read(r#"{"rate_trace": "t", "loss": "none"}"#);
    let merged = own.merge(&read(r#"{"rate": "1Mbit", "delay": "5ms", "loss": "1%"}"#));
    assert_eq!(merged, read(r#"{"rate_trace": "t", "delay": "5ms", "loss": "none"}"#));
}

#[test]
fn settings_read_as_on_a_command_line() {
    let spec =
        ConditionsSpec::from_settings(&[("delay", "50ms"), ("loss", "1%"), ("queue", "100p")]).unwrap();
    assert_eq!(spec, read(r#"{"delay": "50ms", "loss": "1%", "queue": "100p"}"#));
    let cleared =
        ConditionsSpec::from_settings(&[("delay", "none"), ("loss", "0"), ("rate", "none")]).unwrap();
    assert!(cleared.merge(&spec).build(&no_traces).unwrap().is_unimpaired());
    let unknown = ConditionsSpec::from_settings(&[("latency", "5ms")]).unwrap_err();
    assert!(unknown.to_string().contains("delay"));
    let bad = ConditionsSpec::from_settings(&[("delay", "5")]).unwrap_err();
    assert!(bad.to_string().starts_with("delay: `5` has no unit"), "{bad}");
}

#[test]
fn a_trace_names_the_line_at_fault() {
    let spec = read(r#"{"rate_trace": "lte.trace"}"#);
    let build = |text: &'static str| spec.build(&|_| Ok(text.to_owned()));
    let good = build("# a comment\n0s 10Mbit\n\n20ms 5Mbit # dip\n40ms 0\n").unwrap();
    let Rate::Trace(trace) = &good.rate else { panic!() };
    assert_eq!((trace.steps().len(), trace.period()), (3, TimeSpan::from_millis(60)));
    for (text, says) in [
        ("0s 10Mbit\n20ms 5\n", "line 2: `5` has no unit"),
        ("0s 10Mbit\n0s 5Mbit\n", "line 2: 0ns is not after 0ns"),
        ("5ms 10Mbit\n", "line 1: the first line says the rate from `0s` on"),
        ("0s\n", "line 1: `0s` is not a time and a rate"),
        ("", "no line gives a rate"),
    ] {
        let error = build(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(spec.build(&no_traces).unwrap_err().to_string().contains("no such file"));
}

#[test]
fn offloads_go_where_a_train_would_share_one_fate() {
    for json in [
        r#"{"loss": "1%"}"#,
        r#"{"jitter": "1ms"}"#,
        r#"{"duplicate": "1%"}"#,
        r#"{"corrupt": "1%"}"#,
        r#"{"rate": "1Gbit", "queue": "50ms"}"#,
        r#"{"rate": "1Gbit", "queue": "1000p"}"#,
        r#"{"rate": "1Gbit", "queue": "1MiB"}"#,
        r#"{"rate": "1Gbit", "queue": {"limit": "1s", "discipline": "codel"}}"#,
    ] {
        assert!(build(json).needs_whole_packets(), "{json}");
    }
    for json in [
        r#"{}"#,
        r#"{"delay": "10ms"}"#,
        r#"{"rate": "1Gbit", "queue": "200ms"}"#,
        r#"{"rate": "1Gbit", "queue": "25MB"}"#,
    ] {
        assert!(!build(json).needs_whole_packets(), "{json}");
    }
}

#[test]
fn what_is_asked_decides_what_serves_it() {
    assert!(build(r#"{"queue": "10ms"}"#).is_unimpaired());
    assert!(build(r#"{"rate": "1Mbit", "queue": "10ms"}"#).is_rate_only());
    assert!(!build(r#"{"rate": "1Mbit", "delay": "10ms"}"#).is_rate_only());
    assert_eq!(build("{}").queue, Queue::default());
}

#[test]
fn the_schema_describes_every_field() {
    let schema = serde_json::to_value(schemars::schema_for!(ConditionsSpec)).unwrap();
    let fields = schema["properties"].as_object().unwrap();
    assert_eq!(fields.len(), plait_model_link::SETTINGS.len());
    for (name, field) in fields {
        assert!(plait_model_link::SETTINGS.contains(&name.as_str()));
        assert!(field["description"].is_string(), "{name}: {field}");
    }
}

#[test]
fn every_preset_builds_and_says_its_source() {
    assert_eq!(preset_names().collect::<Vec<_>>(), ["dsl", "lte", "wifi", "satellite", "wan"]);
    for name in preset_names() {
        let preset = preset(name).unwrap();
        for direction in [&preset.forward, &preset.reverse] {
            assert!(!direction.build(&no_traces).unwrap().is_unimpaired());
        }
        assert!(!preset.about.is_empty() && preset.source.len() > 80);
    }
    assert_eq!(preset("dialup"), None);
}

proptest! {
    #[test]
    fn no_text_does_harm(text in "[0-9a-zA-Z.% #\\n{}:\"-]{0,60}", key in "[a-z_]{0,10}") {
        let spec = read(r#"{"rate_trace": "t", "jitter": {"distribution": {"trace": "t"}}}"#);
        let _ = spec.build(&|_| Ok(text.clone()));
        let _ = ConditionsSpec::from_settings(&[(&key, &text), ("queue", &text), ("loss", &text), ("jitter", &text)]);
        let _ = serde_json::from_str::<ConditionsSpec>(&text);
    }
}
