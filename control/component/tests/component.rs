//! Applications as components, seen from outside.

mod support;

use plait_control_component::{Limits, LoadFault, Loader};
use plait_control_runtime::*;
use std::sync::Arc;
use std::time::Duration;
use support::{least_delay, name, own};

#[derive(Debug, Clone, PartialEq)]
struct Link {
    source: u32,
    target: u32,
    delay: Duration,
}
wit!(struct Link { source, target, delay });

#[derive(Debug, Clone, PartialEq)]
struct Links {
    up: Vec<Link>,
}
wit!(struct Links { up });
impl View for Links {
    const NAME: &'static str = "links";
}

#[derive(Debug, Clone, PartialEq)]
struct Route {
    source: u32,
    destination: u32,
    next_hop: u32,
    delay: Duration,
}
wit!(struct Route { source, destination, next_hop, delay });

#[derive(Debug, Clone, PartialEq)]
struct Routes {
    best: Vec<Route>,
}
wit!(struct Routes { best });
impl View for Routes {
    const NAME: &'static str = "routes";
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Links between nodes, each in both directions.
fn links(between: &[(u32, u32, u64)]) -> Vec<(ViewId, Content)> {
    let both = |(one, other, delay): &(u32, u32, u64)| {
        [(*one, *other), (*other, *one)].map(|(source, target)| Link { source, target, delay: ms(*delay) })
    };
    vec![(Links::id(), Content::new(Links { up: between.iter().flat_map(both).collect() }))]
}

fn settle(runtime: &mut Runtime) -> Vec<Report> {
    let report = |action| match action {
        Action::Report(report) => Some(report),
        _ => None,
    };
    runtime.settle(&mut InPlace::default(), || Duration::ZERO).into_iter().filter_map(report).collect()
}

fn routed(config: Config) -> Runtime {
    let mut runtime = Runtime::new(config);
    runtime.grant(&name("ports"), &name("links"));
    runtime
        .add_driver(&name("ports"), Signature { inputs: vec![], outputs: vec![Port::of::<Links>()] })
        .unwrap();
    let (manifest, component) = least_delay();
    let application = Loader::new(Limits::default()).unwrap().load(&manifest, &component).unwrap();
    runtime.grant(&manifest.name, &name("routes"));
    runtime.add_application(manifest, application).unwrap();
    runtime.add_dag(ms(0), Dag::chain("routing", &["least-delay"]).on("links@1")).unwrap();
    runtime
}

fn via(runtime: &Runtime, from: u32, to: u32) -> Option<(u32, Duration)> {
    let routes = runtime.state().content(&Routes::id())?.read::<Routes>().unwrap();
    let route = routes.best.iter().find(|route| (route.source, route.destination) == (from, to))?;
    Some((route.next_hop, route.delay))
}

#[test]
fn an_application_in_c_finds_paths_of_least_delay_beside_native_ones() {
    let mut runtime = routed(Config::default());
    runtime.handle_views(ms(0), &name("ports"), links(&[(1, 2, 10), (2, 3, 10), (1, 3, 50)])).unwrap();
    settle(&mut runtime);
    assert_eq!(via(&runtime, 1, 3), Some((2, ms(20))));
    runtime.handle_views(ms(1), &name("ports"), links(&[(2, 3, 10), (1, 3, 50)])).unwrap();
    settle(&mut runtime);
    assert_eq!(via(&runtime, 1, 3), Some((3, ms(50))));
    assert_eq!(via(&runtime, 1, 2), Some((3, ms(60))));
    assert_eq!(via(&runtime, 1, 9), None);
    // A native one takes its place while all goes on.
    let direct = native(|(links,): (Arc<Links>,)| {
        let direct = |link: &Link| Route {
            source: link.source,
            destination: link.target,
            next_hop: link.target,
            delay: link.delay,
        };
        Ok((Routes { best: links.up.iter().map(direct).collect() },))
    });
    let (manifest, component) = least_delay();
    runtime.add_application(manifest.clone(), direct).unwrap();
    runtime.handle_views(ms(2), &name("ports"), links(&[(1, 2, 10), (2, 3, 10), (1, 3, 50)])).unwrap();
    settle(&mut runtime);
    assert_eq!(via(&runtime, 1, 3), Some((3, ms(50))));
    // And it takes that one's.
    let again = Loader::new(Limits::default()).unwrap().load(&manifest, &component).unwrap();
    runtime.add_application(manifest, again).unwrap();
    runtime.handle_trigger(ms(3), &name("routing")).unwrap();
    settle(&mut runtime);
    assert_eq!(via(&runtime, 1, 3), Some((2, ms(20))));
}

#[test]
fn what_a_component_declines_is_reported_in_its_words() {
    let mut runtime = routed(Config::default());
    let many: Vec<(u32, u32, u64)> = (0..600).map(|node| (node, node + 1, 1)).collect();
    runtime.handle_views(ms(0), &name("ports"), links(&many)).unwrap();
    let [Report::Failed { failure, .. }] = &settle(&mut runtime)[..] else { panic!("it has too many nodes") };
    assert_eq!(*failure, Failure::Failed("more than 512 nodes".into()));
}

#[test]
fn a_recorded_run_of_components_is_replayed_to_the_same_outputs() {
    let mut runtime = routed(Config { record: true, ..Config::default() });
    for delay in [5, 50, 500] {
        runtime
            .handle_views(ms(delay), &name("ports"), links(&[(1, 2, delay), (2, 3, 10), (1, 3, 50)]))
            .unwrap();
        settle(&mut runtime);
    }
    let recording: Vec<Entry> = std::iter::from_fn(|| runtime.poll_entry()).collect();
    let (_, component) = least_delay();
    let load = |manifest: &Manifest| Loader::new(Limits::default()).unwrap().load(manifest, &component).ok();
    let state = replay(&recording, load).unwrap();
    let routes = |state: &Snapshot| state.content(&Routes::id()).unwrap().value().clone();
    assert_eq!(routes(&state), routes(&runtime.state()));
}

#[derive(Debug)]
struct Settings {
    speed: u32,
}
wit!(struct Settings { speed });
impl View for Settings {
    const NAME: &'static str = "settings";
}

/// What a component that misbehaves in a way is reported with, and what it wrote.
fn misbehave(way: &str) -> (Vec<Report>, Option<Value>) {
    let manifest = Manifest::new("misbehaving").reads("settings@1").writes("bytes@1");
    misbehave_within(Limits { fuel: 20_000_000, memory: 4 << 20 }, manifest, way)
}

fn misbehave_within(limits: Limits, manifest: Manifest, way: &str) -> (Vec<Report>, Option<Value>) {
    let application = Loader::new(limits).unwrap().load(&manifest, &own("misbehaving", &[way])).unwrap();
    let mut runtime = Runtime::new(Config::default());
    runtime.grant(&name("person"), &name("settings"));
    runtime
        .add_driver(&name("person"), Signature { inputs: vec![], outputs: vec![Port::of::<Settings>()] })
        .unwrap();
    runtime.grant(&manifest.name, &name("bytes"));
    runtime.add_application(manifest, application).unwrap();
    runtime.add_dag(ms(0), Dag::chain("dag", &["misbehaving"]).on("settings@1")).unwrap();
    let mut reports = Vec::new();
    for speed in [1, 2] {
        let settings = vec![(Settings::id(), Content::new(Settings { speed }))];
        runtime.handle_views(ms(0), &name("person"), settings).unwrap();
        reports.extend(settle(&mut runtime));
    }
    let bytes = runtime.state().content(&"bytes@1".parse().unwrap()).map(|content| content.value().clone());
    (reports, bytes)
}

#[test]
fn a_component_that_misbehaves_is_contained_and_reported() {
    let crashed = |failure: &Failure| matches!(failure, Failure::Crashed(_));
    let exhausted = |failure: &Failure| matches!(failure, Failure::Exhausted(_));
    let declined =
        |failure: &Failure| matches!(failure, Failure::Failed(said) if said == "not at that speed");
    type Expected<'a> = &'a dyn Fn(&Failure) -> bool;
    let ways: [(&str, Expected<'_>); 8] = [
        ("TRAPS", &crashed),
        ("SPINS", &exhausted),
        ("RECURSES", &|failure| crashed(failure) || exhausted(failure)),
        ("HOARDS", &exhausted),
        ("SWELLS", &|failure| crashed(failure) || exhausted(failure)),
        ("STRAYS", &crashed),
        ("MUMBLES", &crashed),
        ("DECLINES", &declined),
    ];
    for (way, expected) in ways {
        let (reports, bytes) = misbehave(way);
        assert_eq!(reports.len(), 2, "{way}: the next change runs it again");
        for report in reports {
            let Report::Failed { failure, .. } = report else { panic!("{way}: {report:?}") };
            assert!(expected(&failure), "{way}: {failure}");
        }
        assert_eq!(bytes, None, "{way}: nothing of it is seen");
    }
}

/// A run may use what its loader says, or its manifest, if that is less.
#[test]
fn a_manifest_says_that_a_run_may_use_less() {
    let manifest = || Manifest::new("misbehaving").reads("settings@1").writes("bytes@1");
    let said =
        |limits: Limits, manifest: Manifest, way: &str| match &misbehave_within(limits, manifest, way).0[0] {
            Report::Failed { failure, .. } => failure.to_string(),
            other => format!("{other:?}"),
        };
    let loader = Limits { fuel: 20_000_000, memory: 4 << 20 };
    let less = Manifest { fuel: Some(1_000_000), ..manifest() };
    assert!(said(loader, less, "SPINS").contains(" 1000000 units of fuel"));
    assert!(said(loader, manifest(), "SPINS").contains(" 20000000 units of fuel"));
    let less = Manifest { memory: Some(2 << 20), ..manifest() };
    assert!(said(loader, less, "HOARDS").contains(" 2097152 bytes of memory"));
    assert!(said(loader, manifest(), "HOARDS").contains(" 4194304 bytes of memory"));
    // More than its loader gives it does not get.
    let more = Manifest { fuel: Some(u64::MAX), memory: Some(u64::MAX), ..manifest() };
    assert!(said(loader, more.clone(), "SPINS").contains(" 20000000 units of fuel"));
    assert!(said(loader, more.clone(), "HOARDS").contains(" 4194304 bytes of memory"));
    assert!(said(loader, more, "REMEMBERS").contains("Committed"));
    let read: Manifest = serde_json::from_str(r#"{"name": "x", "fuel": 5, "memory": 65536}"#).unwrap();
    assert_eq!((read.fuel, read.memory), (Some(5), Some(65536)));
}

#[test]
fn a_component_keeps_nothing_from_one_run_to_the_next() {
    let (reports, bytes) = misbehave("REMEMBERS");
    assert!(reports.iter().all(|report| matches!(report, Report::Committed { .. })), "{reports:?}");
    assert_eq!(bytes, Some(Value::List([Value::U8(1)].into())));
}

#[test]
fn a_component_that_is_not_what_it_says_is_not_taken() {
    let loader = Loader::new(Limits::default()).unwrap();
    let fault = |manifest: Manifest, component: &[u8]| loader.load(&manifest, component).err().unwrap();
    let (manifest, component) = least_delay();
    assert!(matches!(fault(manifest.clone(), b"not a component"), LoadFault::Malformed(_)));
    assert!(
        matches!(fault(manifest.clone(), &own("reaching", &[])), LoadFault::Import(what) if what == "look")
    );
    assert!(
        matches!(fault(manifest.clone(), &own("talking", &[])), LoadFault::Export(what) if what == "stop")
    );
    for (manifest, said) in [
        (
            manifest.clone().reads("weather@1"),
            "its manifest says that it reads weather@1, which its code does not",
        ),
        (Manifest::new("x").writes("routes@1"), "its code reads links@1, which its manifest does not say"),
        (Manifest::new("x").reads("links@1"), "its code writes routes@1, which its manifest does not say"),
        (
            Manifest::new("x").reads("links@1?"),
            "links is optional in its manifest and no `option` in its code",
        ),
    ] {
        assert_eq!(fault(manifest, &component).to_string(), said);
    }
}

#[test]
fn a_component_brings_views_of_its_own_of_every_type() {
    let manifest = Manifest::new("smoothing").reads("sample@1").reads("memory@3?").writes("memory@3?");
    let loader = Loader::new(Limits::default()).unwrap();
    let application = loader.load(&manifest, &own("smoothing", &[])).unwrap();
    let sample = application.signature().inputs[0].clone();
    assert_eq!(
        sample.schema.to_string(),
        "record { name: string, state: flags { up, loaded }, quality: variant { unknown, measured(f64) }, \
         far: option<tuple<u8, s64>> }"
    );
    let mut runtime = Runtime::new(Config::default());
    runtime.grant(&name("probe"), &name("sample"));
    runtime.add_driver(&name("probe"), Signature { inputs: vec![], outputs: vec![sample.clone()] }).unwrap();
    runtime.grant(&manifest.name, &name("memory"));
    runtime.add_application(manifest, application).unwrap();
    runtime.add_dag(ms(0), Dag::chain("smoothing", &["smoothing"]).on("sample@1")).unwrap();
    let far = Value::Tuple([Value::U8(200), Value::S64(-5)].into());
    let value = |text: &str, quality: Option<f64>, far: Option<&Value>| {
        let payload = |quality: f64| Arc::new(Value::F64(quality.to_bits()));
        Value::Record(
            [
                Value::String(text.into()),
                Value::Flags(if quality.is_some() { 0b10 } else { 0b01 }),
                Value::Variant(u32::from(quality.is_some()), quality.map(payload)),
                Value::Option(far.map(|far| Arc::new(far.clone()))),
            ]
            .into(),
        )
    };
    let samples = [value("süd", Some(0.5), None), value("", None, None), value("north", None, Some(&far))];
    for sample_value in &samples {
        let changes = vec![(sample.view.clone(), Content::plain(sample_value.clone()))];
        runtime.handle_views(ms(0), &name("probe"), changes).unwrap();
        let reports = settle(&mut runtime);
        assert!(matches!(reports[..], [Report::Committed { .. }]), "{reports:?}");
    }
    let memory = runtime.state().content(&"memory@3".parse().unwrap()).unwrap().value().clone();
    let kept = [samples[0].clone(), samples[2].clone()];
    assert_eq!(memory, Value::Record([Value::U64(2), Value::List(kept.into())].into()));
}

/// Packets that switches ask about: who sends to whom.
#[derive(Debug, Clone, PartialEq)]
struct Requests {
    flows: Vec<(u32, u32)>,
}
wit!(struct Requests { flows });
impl View for Requests {
    const NAME: &'static str = "requests";
    const KIND: Kind = Kind::Stream;
}

/// What switches are told: a station and its port; no port is everywhere.
#[derive(Debug, Clone, PartialEq)]
struct Answers {
    ports: Vec<(u32, Option<u32>)>,
}
wit!(struct Answers { ports });
impl View for Answers {
    const NAME: &'static str = "answers";
    const KIND: Kind = Kind::Stream;
}

#[test]
fn a_component_serves_a_stream_in_several_instances_at_once() {
    let manifest = r#"{
        "name": "answering",
        "inputs": [{"view": "requests@1", "kind": "stream"}],
        "outputs": [{"view": "answers@1", "kind": "stream"}],
        "parallel": true
    }"#;
    let manifest: Manifest = serde_json::from_str(manifest).unwrap();
    let loader = Loader::new(Limits::default()).unwrap();
    let application = loader.load(&manifest, &own("answering", &[])).unwrap();
    let mut runtime = Runtime::new(Config::default());
    runtime.grant(&name("switches"), &name("requests"));
    let signature = Signature { inputs: vec![Port::of::<Answers>()], outputs: vec![Port::of::<Requests>()] };
    runtime.add_driver(&name("switches"), signature).unwrap();
    runtime.grant(&manifest.name, &name("answers"));
    runtime.add_application(manifest, application).unwrap();
    let policy = Policy { instances: 3, ..Policy::default() };
    runtime.add_dag(ms(0), Dag::chain("answers", &["answering"]).on("requests@1").policy(policy)).unwrap();
    let batches = [vec![(1, 2)], vec![], vec![(3, 100), (4, 5)], vec![(6, 7)], vec![(8, 9)]];
    for flows in &batches {
        let batch = Content::new(Requests { flows: flows.clone() });
        runtime.handle_views(ms(0), &name("switches"), vec![(Requests::id(), batch)]).unwrap();
    }
    let mut answered = Vec::new();
    let mut at_once = Vec::new();
    loop {
        let mut tasks = Vec::new();
        while let Some(action) = runtime.poll_action() {
            match action {
                Action::Start(task) => tasks.push(task),
                Action::Push(push) => answered.push(push.now.read::<Answers>().unwrap().ports.clone()),
                Action::Report(Report::Failed { failure, .. }) => panic!("{failure}"),
                _ => {}
            }
        }
        if tasks.is_empty() {
            break;
        }
        at_once.push(tasks.len());
        // Each on a thread of its own.
        let ended: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> = tasks.into_iter().map(|task| scope.spawn(|| task.run())).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        ended.into_iter().for_each(|finished| runtime.handle_finished(ms(1), finished));
    }
    assert_eq!(at_once, [3, 2]);
    let port = |(_, to): &(u32, u32)| (*to, Some(*to).filter(|to| *to < 100));
    let expected: Vec<Vec<_>> = batches.iter().map(|flows| flows.iter().map(port).collect()).collect();
    assert_eq!(answered, expected);
}

#[test]
fn no_bytes_make_the_loader_panic() {
    let loader = Loader::new(Limits::default()).unwrap();
    let (manifest, component) = least_delay();
    let mut draw = 1u64;
    for _ in 0..200 {
        let mut broken = component.clone();
        for _ in 0..3 {
            // Numerical Recipes' generator: the same bytes on every machine.
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = (draw >> 33) as usize % broken.len();
            broken[place] ^= 1 << (draw >> 61);
        }
        let _ = loader.load(&manifest, &broken);
        let _ = loader.load(&manifest, &component[..(draw >> 33) as usize % component.len()]);
    }
}
