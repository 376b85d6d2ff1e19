//! Applications, views and DAGs that come, change and go while others run; and what is refused.

mod support;

use plait_control_runtime::*;
use std::sync::Arc;
use support::*;

fn running() -> Runtime {
    let mut runtime = Runtime::new(Config::default());
    add_links_driver(&mut runtime);
    add_count(&mut runtime);
    runtime.add_dag(ms(0), Dag::chain("counting", &["count"]).on("links@1")).unwrap();
    runtime
}

/// An application of the same views that counts ends.
fn ends() -> Arc<dyn Application> {
    native(|(links,): (Arc<Links>,)| Ok((Count { links: 2 * links.up.len() as u32 },)))
}

fn manifest() -> Manifest {
    Manifest::new("count").reads("links@1").writes("count@1")
}

#[test]
fn an_application_is_replaced_while_it_runs() {
    let mut runtime = running();
    runtime.handle_views(ms(0), &name("ports"), links_up(&[(1, 2)])).unwrap();
    let under_way = tasks(&mut runtime).pop_front().unwrap();
    runtime.add_application(manifest(), ends()).unwrap();
    runtime.handle_finished(ms(1), under_way.run());
    assert_eq!(read::<Count>(&runtime).unwrap().links, 1, "the run ends as it began");
    runtime.handle_trigger(ms(2), &name("counting")).unwrap();
    settle(&mut runtime);
    assert_eq!(read::<Count>(&runtime).unwrap().links, 2);
}

#[test]
fn a_dag_that_is_removed_ends_its_run_and_begins_no_other() {
    let mut runtime = running();
    runtime.handle_views(ms(0), &name("ports"), links_up(&[(1, 2)])).unwrap();
    let under_way = tasks(&mut runtime).pop_front().unwrap();
    runtime.handle_views(ms(1), &name("ports"), links_up(&[])).unwrap();
    runtime.remove_dag(&name("counting")).unwrap();
    runtime.handle_finished(ms(2), under_way.run());
    settle(&mut runtime);
    assert_eq!(read::<Count>(&runtime).unwrap().links, 1);
    assert!(!runtime.busy());
    // What it needed can go now, and its view with it.
    runtime.remove_application(&name("count")).unwrap();
    assert!(read::<Count>(&runtime).is_none());
    assert!(runtime.views().iter().all(|used| used.view != Count::id()));
}

#[test]
fn a_change_is_made_as_a_whole_or_not_at_all() {
    let doubling = || Manifest::new("double").reads("links@1").writes("nodes@1");
    let listed = native(|(links,): (Arc<Links>,)| {
        Ok((Nodes { linked: links.up.iter().map(|(from, _)| from * 2).collect() },))
    });
    let change = |allowed: bool| Change {
        remove_dags: vec![name("counting")],
        remove_applications: vec![name("count")],
        grants: if allowed { vec![(name("double"), name("nodes"))] } else { vec![] },
        applications: vec![(doubling(), listed.clone())],
        dags: vec![Dag::chain("doubling", &["double"]).on("links@1")],
    };
    let mut runtime = running();
    let before = runtime.graph().to_string();
    let refused = runtime.apply(ms(1), change(false)).unwrap_err();
    assert_eq!(refused, Refused::NotGranted { who: name("double"), view: view("nodes@1") });
    assert_eq!(runtime.graph().to_string(), before, "nothing was removed either");
    runtime.handle_views(ms(1), &name("ports"), links_up(&[(1, 2)])).unwrap();
    settle(&mut runtime);
    assert_eq!(read::<Count>(&runtime).unwrap().links, 1);

    runtime.apply(ms(2), change(true)).unwrap();
    runtime.handle_views(ms(2), &name("ports"), links_up(&[(3, 4)])).unwrap();
    settle(&mut runtime);
    assert_eq!(read::<Nodes>(&runtime).unwrap().linked, [6]);
    assert!(read::<Count>(&runtime).is_none(), "its view went with it");
    // What it was permitted went with it, too.
    let again = runtime.add_application(manifest(), count()).unwrap_err();
    assert_eq!(again, Refused::NotGranted { who: name("count"), view: view("count@1") });
}

/// The links with more known of them: another schema, so another version.
#[derive(Debug, Clone, PartialEq)]
struct LinksWithCost {
    up: Vec<(u32, u32, u64)>,
}
wit!(struct LinksWithCost { up });
impl View for LinksWithCost {
    const NAME: &'static str = "links";
    const VERSION: u32 = 2;
}

#[test]
fn two_versions_of_a_view_live_side_by_side_until_nobody_uses_the_old() {
    let mut runtime = running();
    runtime.handle_views(ms(0), &name("ports"), links_up(&[(1, 2)])).unwrap();
    settle(&mut runtime);
    runtime.grant(&name("new-ports"), &name("links"));
    let both = Signature { inputs: vec![], outputs: vec![Port::of::<LinksWithCost>()] };
    runtime.add_driver(&name("new-ports"), both).unwrap();
    let cheap = native(|(links,): (Arc<LinksWithCost>,)| {
        Ok((Nodes { linked: links.up.iter().filter(|link| link.2 < 10).map(|link| link.0).collect() },))
    });
    add(&mut runtime, Manifest::new("cheap").reads("links@2").writes("nodes@1"), cheap);
    runtime.add_dag(ms(0), Dag::chain("cheap-nodes", &["cheap"]).on("links@2")).unwrap();
    let with_cost = Content::new(LinksWithCost { up: vec![(7, 8, 1), (8, 9, 100)] });
    runtime.handle_views(ms(1), &name("new-ports"), vec![(LinksWithCost::id(), with_cost)]).unwrap();
    settle(&mut runtime);
    assert_eq!(read::<Nodes>(&runtime).unwrap().linked, [7]);
    assert_eq!(read::<Count>(&runtime).unwrap().links, 1, "readers of the old go on");
    runtime.remove_dag(&name("counting")).unwrap();
    runtime.remove_application(&name("count")).unwrap();
    runtime.remove_driver(&name("ports")).unwrap();
    let views: Vec<String> = runtime.views().iter().map(|used| used.view.to_string()).collect();
    assert_eq!(views, ["links@2", "nodes@1"]);
}

#[test]
fn a_changed_schema_needs_a_new_version() {
    struct Other {
        up: u64,
    }
    wit!(struct Other { up });
    impl View for Other {
        const NAME: &'static str = "links";
    }
    let mut runtime = running();
    let other = native(|(_,): (Arc<Other>,)| Ok(()));
    let refused = runtime.add_application(Manifest::new("other").reads("links@1"), other).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "other has links@1 as record { up: u64 }, which is record { up: list<tuple<u32, u32>> } already: a changed \
         schema is a new version, links@2"
    );
}

#[test]
fn write_access_is_a_permission() {
    let mut runtime = Runtime::new(Config::default());
    add_links_driver(&mut runtime);
    let refused = runtime.add_application(manifest(), ends()).unwrap_err();
    assert_eq!(refused, Refused::NotGranted { who: name("count"), view: Count::id() });
    runtime.grant(&name("count"), &name("count"));
    runtime.add_application(manifest(), ends()).unwrap();
    // What a driver writes is the device's word, and no application's.
    let lie = native(|(): ()| Ok((Links::default(),)));
    runtime.grant(&name("lie"), &name("links"));
    let refused = runtime.add_application(Manifest::new("lie").writes("links@1"), lie).unwrap_err();
    assert_eq!(refused, Refused::Driven { view: Links::id(), other: name("ports") });
    // Nor does a driver write what it did not declare.
    let count = Content::new(Count { links: 7 });
    let not_taken = runtime.handle_views(ms(0), &name("ports"), vec![(Count::id(), count)]).unwrap_err();
    assert_eq!(not_taken, NotTaken::Undeclared { driver: name("ports"), view: Count::id() });
}

#[test]
fn a_manifest_that_says_more_or_less_than_the_code_does_is_refused() {
    let mut runtime = Runtime::new(Config::default());
    let fault = |runtime: &mut Runtime, manifest| match runtime.add_application(manifest, ends()) {
        Err(Refused::Manifest { fault, .. }) => fault.to_string(),
        other => panic!("{other:?}"),
    };
    for (manifest, said) in [
        (Manifest::new("count").writes("count@1"), "its code reads links@1, which its manifest does not say"),
        (manifest().reads("nodes@1"), "its manifest says that it reads nodes@1, which its code does not"),
        (manifest().writes("count@1"), "it writes count@1 twice"),
        (
            Manifest::new("count").reads("links@1?").writes("count@1"),
            "its manifest says that it reads links@1?, which its code does not",
        ),
    ] {
        assert_eq!(fault(&mut runtime, manifest), said);
    }
}

#[test]
fn an_application_that_writes_what_it_does_not_declare_changes_nothing() {
    /// Says one thing and does another.
    struct Liar;
    impl Application for Liar {
        fn signature(&self) -> Signature {
            Signature { inputs: vec![], outputs: vec![Port::of::<Count>()] }
        }
        fn run(&self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), Failure> {
            assert!(inputs.read::<Links>().is_err(), "what is not declared is not there");
            outputs.write(Count { links: 1 })?;
            outputs.write(Nodes { linked: vec![1] })
        }
    }
    let mut runtime = running();
    runtime.handle_views(ms(0), &name("ports"), links_up(&[])).unwrap();
    settle(&mut runtime);
    add(&mut runtime, Manifest::new("liar").writes("count@1"), Arc::new(Liar));
    runtime.add_dag(ms(0), Dag::chain("lying", &["liar"]).every(ms(1))).unwrap();
    runtime.handle_timeout(ms(1));
    let [Report::Failed { failure, .. }] = &reports(settle(&mut runtime))[..] else {
        panic!("it is refused")
    };
    assert_eq!(*failure, Failure::Undeclared(Nodes::id()));
    assert_eq!(read::<Count>(&runtime).unwrap().links, 0);
}

#[test]
fn dags_that_cannot_be_are_refused_and_say_why() {
    let mut runtime = running();
    let list = native(|(links,): (Arc<Links>,)| Ok((Nodes { linked: vec![links.up.len() as u32] },)));
    add(&mut runtime, Manifest::new("list").reads("links@1").writes("nodes@1"), list);
    add(&mut runtime, Manifest::new("recount").reads("links@1").writes("count@1"), ends());
    let none = Dag { nodes: vec![], ..Dag::chain("dag", &["count"]) };
    let stray = Dag { edges: vec![(name("count"), name("list"))], ..Dag::chain("dag", &["count"]) };
    let beside = Dag { edges: vec![], ..Dag::chain("dag", &["count", "recount"]) };
    for (dag, said) in [
        (none, "dag: it has no applications"),
        (Dag::chain("dag", &["nobody"]), "dag: there is no application nobody"),
        (Dag::chain("dag", &["count", "count"]), "dag: count stands in it twice"),
        (stray, "dag: an edge names list, which is not one of its nodes"),
        (
            Dag::chain("dag", &["count", "list"]).edge("list", "count"),
            "dag: its edges go round: count would run before itself",
        ),
        (
            beside,
            "dag: count and recount have no order, and both use count@1, which one of them writes: add an edge",
        ),
        (Dag::chain("dag", &["count"]).on("weather@1"), "dag: weather@1 sets it off, which nothing declares"),
        (Dag::chain("dag", &["count"]).every(ms(0)), "dag: it is set off every 0 s"),
    ] {
        assert_eq!(runtime.add_dag(ms(0), dag).unwrap_err().to_string(), said);
    }
    let refused = runtime.remove_application(&name("count")).unwrap_err();
    assert_eq!(refused, Refused::InUse { what: name("count"), by: name("counting") });
    // All is as it was.
    runtime.handle_views(ms(0), &name("ports"), links_up(&[(1, 2)])).unwrap();
    settle(&mut runtime);
    assert_eq!(read::<Count>(&runtime).unwrap().links, 1);
}

/// A driver: events are links that come and go, messages are lines of a display.
struct Display;

impl Driver for Display {
    type Event = (bool, (u32, u32));
    type Message = String;

    fn name(&self) -> Name {
        name("display")
    }

    fn signature(&self) -> Signature {
        Signature { inputs: vec![Port::of::<Count>()], outputs: vec![Port::of::<Links>()] }
    }

    fn observe(&mut self, (up, link): Self::Event, views: &Snapshot) -> Vec<(ViewId, Content)> {
        let known = views.content(&Links::id()).map(|content| content.read::<Links>().unwrap());
        let mut links = known.map(|known| (*known).clone()).unwrap_or_default();
        links.up.retain(|known| *known != link);
        if up {
            links.up.push(link);
        }
        vec![(Links::id(), Content::new(links))]
    }

    fn push(&mut self, _: &ViewId, before: Option<&Content>, now: &Content) -> Vec<String> {
        let links = |content: &Content| content.read::<Count>().unwrap().links;
        vec![format!("{} links, {} before", links(now), before.map_or(0, links))]
    }
}

#[test]
fn a_driver_turns_events_into_views_and_views_into_messages() {
    let mut runtime = Runtime::new(Config::default());
    let mut display = Display;
    runtime.grant(&name("display"), &name("links"));
    runtime.add_driver(&display.name(), display.signature()).unwrap();
    add_count(&mut runtime);
    runtime.add_dag(ms(0), Dag::chain("counting", &["count"]).on("links@1")).unwrap();
    let mut messages = Vec::new();
    for event in [(true, (1, 2)), (true, (2, 3)), (false, (1, 2))] {
        runtime.observe(ms(0), &mut display, event).unwrap();
        for action in settle(&mut runtime) {
            if let Action::Push(push) = action {
                messages.extend(display.push(&push.view, push.before.as_ref(), &push.now));
            }
        }
    }
    assert_eq!(messages, ["1 links, 0 before", "2 links, 1 before", "1 links, 2 before"]);
}

#[test]
fn a_dag_is_written_as_a_file_has_it() {
    let text = r#"{"name":"routing","nodes":["count"],"edges":[],"triggers":[{"view":"links@1"},{"every":"20ms"}],
        "policy":{"preemptible":false,"min-interval":"1s","priority":2,"instances":1,"queue":1024,
        "overflow":"drop","penalty":3}}"#;
    let policy = Policy {
        min_interval: ms(1000),
        priority: 2,
        overflow: Overflow::Drop,
        penalty: 3,
        ..Policy::default()
    };
    let dag = Dag::chain("routing", &["count"]).on("links@1").every(ms(20)).policy(policy);
    assert_eq!(serde_json::from_str::<Dag>(text).unwrap(), dag);
    assert_eq!(serde_json::to_string(&dag).unwrap(), text.replace("\n        ", ""));
    let odd = Dag::chain("odd", &["count"]).every(std::time::Duration::from_nanos(1_234_567_891));
    assert_eq!(serde_json::from_str::<Dag>(&serde_json::to_string(&odd).unwrap()).unwrap(), odd);
    let short = r#"{"name":"routing","nodes":["count"],"triggers":[{"view":"links@1"}]}"#;
    assert_eq!(serde_json::from_str::<Dag>(short).unwrap(), Dag::chain("routing", &["count"]).on("links@1"));
}

#[test]
fn an_interval_longer_than_time_itself_is_never_over() {
    let mut runtime = running();
    let policy = Policy { min_interval: std::time::Duration::MAX, ..Policy::default() };
    runtime
        .add_dag(ms(5), Dag::chain("counting", &["count"]).every(std::time::Duration::MAX).policy(policy))
        .unwrap();
    runtime.handle_views(ms(5), &name("ports"), links_up(&[])).unwrap();
    for now in [6, 7] {
        runtime.handle_trigger(ms(now), &name("counting")).unwrap();
        settle(&mut runtime);
        runtime.handle_timeout(ms(now));
    }
    assert_eq!(runtime.graph().dags[0].runs.count(), 1);
}
