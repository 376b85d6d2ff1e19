//! What was, again; what would be; and all of it drawn.

mod support;

use plait_control_runtime::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use support::*;

/// Runs what it is given out of order, as threads may.
#[derive(Default)]
struct Shuffled(VecDeque<Task>, usize);

impl Executor for Shuffled {
    fn start(&mut self, task: Task) {
        self.0.push_back(task);
    }

    fn finished(&mut self) -> Option<Finished> {
        self.1 += 1;
        let place = (self.1 * 7) % self.0.len().max(1);
        self.0.remove(place).map(Task::run)
    }
}

/// The applications of these tests, by their manifests.
fn code(manifest: &Manifest) -> Option<Arc<dyn Application>> {
    match manifest.name.as_str() {
        "count" => Some(count()),
        "list" => Some(native(|(links,): (Arc<Links>,)| {
            if links.up.len() == 3 {
                return Err(Failure::Failed("three links".into()));
            }
            Ok((Nodes { linked: links.up.iter().map(|(from, _)| *from).collect() },))
        })),
        _ => None,
    }
}

fn recorded() -> (Runtime, Vec<Entry>) {
    let mut runtime = Runtime::new(Config { record: true, ..Config::default() });
    add_links_driver(&mut runtime);
    for manifest in [
        Manifest::new("count").reads("links@1").writes("count@1"),
        Manifest::new("list").reads("links@1").writes("nodes@1"),
    ] {
        let code = code(&manifest).unwrap();
        add(&mut runtime, manifest, code);
    }
    let policy = Policy { preemptible: true, ..Policy::default() };
    runtime.add_dag(ms(0), Dag::chain("counting", &["count"]).on("links@1").policy(policy)).unwrap();
    let both = Dag { edges: vec![], ..Dag::chain("both", &["count", "list"]) };
    runtime.add_dag(ms(0), both.every(ms(3))).unwrap();
    let mut executor = Shuffled::default();
    for now in 0..20u64 {
        let up: Vec<(u32, u32)> = (0..now as u32 % 5).map(|node| (node, node + 1)).collect();
        runtime.handle_views(ms(now), &name("ports"), links_up(&up)).unwrap();
        runtime.handle_timeout(ms(now));
        if now % 2 == 0 {
            runtime.settle(&mut executor, || ms(now));
        }
    }
    runtime.settle(&mut executor, || ms(20));
    let entries = std::iter::from_fn(|| runtime.poll_entry()).collect();
    (runtime, entries)
}

#[test]
fn a_recorded_run_is_replayed_to_the_same_outputs() {
    let (runtime, entries) = recorded();
    // As it would be kept.
    let lines: Vec<String> = entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    let read: Vec<Entry> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, entries);
    let commits = entries.iter().filter(|entry| matches!(entry.event, Event::Committed { .. })).count();
    let failures = entries.iter().filter(|entry| matches!(entry.event, Event::Failed { .. })).count();
    assert!(commits > 5 && failures > 0, "{commits} commits, {failures} failures");
    let state = replay(&read, code).unwrap();
    let values = |state: &Snapshot| -> Vec<(ViewId, Value)> {
        state.views().map(|(view, content)| (view.clone(), content.value().clone())).collect()
    };
    assert_eq!(values(&state), values(&runtime.state()));
}

#[test]
fn a_recording_that_ends_anywhere_is_replayed_as_far_as_it_goes() {
    let (_, entries) = recorded();
    for end in 1..entries.len() {
        assert!(replay(&entries[..end], code).is_ok(), "{:?} is the last of {end}", entries[end - 1]);
    }
}

#[test]
fn a_replay_with_other_code_says_where_it_went_another_way() {
    let (_, entries) = recorded();
    let other = |manifest: &Manifest| match manifest.name.as_str() {
        "count" => Some(native(|(links,): (Arc<Links>,)| {
            let count = links.up.len() as u32;
            Ok((Count { links: if count == 4 { 5 } else { count } },))
        })),
        _ => code(manifest),
    };
    let diverged = replay(&entries, other).unwrap_err();
    let said = diverged.to_string();
    assert!(said.contains("wrote U32(4) as recorded, and U32(5) now, at [0][1][0]"), "{said}");
    let Divergence::Other { place, recorded, now } = diverged else { panic!("it counts otherwise") };
    assert!(place > 10, "{place}");
    let count = |event: Option<Box<Event>>| match event.map(|event| *event) {
        Some(Event::Committed { changes, .. }) => {
            let count = changes.iter().find(|(view, _)| *view == Count::id()).unwrap();
            Count::from_value(&count.1).unwrap().links
        }
        other => panic!("{other:?}"),
    };
    assert_eq!((count(recorded), count(now)), (4, 5));
}

#[test]
fn a_recording_that_was_tampered_with_is_no_panic() {
    let (_, entries) = recorded();
    for place in 0..entries.len() {
        let mut cut = entries.clone();
        cut.remove(place);
        let _ = replay(&cut, code);
        let mut swapped = entries.clone();
        swapped.swap(place, (place * 31 + 7) % entries.len());
        let _ = replay(&swapped, code);
    }
    assert_eq!(replay(&[], code).unwrap_err(), Divergence::Form(0));
}

#[test]
fn a_dry_run_meets_a_past_state_and_changes_nothing() {
    let mut runtime = Runtime::with_environment(Config::default(), Box::new(Memory::new(10)));
    add_links_driver(&mut runtime);
    add_count(&mut runtime);
    let dag = Dag::chain("counting", &["count"]).on("links@1");
    runtime.add_dag(ms(0), dag.clone()).unwrap();
    let mut revisions = Vec::new();
    for up in 1..4 {
        let up: Vec<(u32, u32)> = (0..up).map(|node| (node, node + 1)).collect();
        runtime.handle_views(ms(0), &name("ports"), links_up(&up)).unwrap();
        settle(&mut runtime);
        revisions.push(runtime.state().revision());
    }
    let now = runtime.state().revision();
    for (revision, up) in revisions.into_iter().zip(1..) {
        let past = runtime.past(revision).unwrap();
        let results = runtime.dry_run(&dag, &past, None).unwrap();
        assert_eq!(results[&Count::id()].read::<Count>().unwrap().links, up);
    }
    // One that is not there yet, by an application that is.
    let other = Dag::chain("not-yet", &["count"]);
    assert_eq!(runtime.dry_run(&other, &runtime.state(), None).unwrap().len(), 1);
    let empty = runtime.dry_run(&other, &Snapshot::default(), None).unwrap_err();
    assert_eq!(empty.to_string(), "count: it read links@1, which it does not declare or which is not there");
    assert_eq!(runtime.state().revision(), now);
    assert!(runtime.past(1000).is_none());
}

#[test]
fn the_graph_draws_dags_conflicts_and_timings() {
    let (mut runtime, _) = recorded();
    runtime.handle_views(ms(30), &name("ports"), links_up(&[])).unwrap();
    let task = tasks(&mut runtime).pop_front().unwrap();
    runtime.handle_finished(ms(42), task.run());
    let graph = runtime.graph();
    let [both, counting] = &graph.dags[..] else { panic!("{graph}") };
    assert_eq!((both.name.as_str(), counting.name.as_str()), ("both", "counting"));
    assert_eq!(counting.runs.last(), Duration::from_millis(12));
    assert!(
        counting.runs.p99() >= Duration::from_millis(11) && counting.runs.mean() < Duration::from_millis(12)
    );
    assert!(both.failed > 0);
    let views = vec![Count::id()];
    assert_eq!(graph.conflicts, [Conflict { first: name("both"), second: name("counting"), views }]);
    let text = graph.to_string();
    for line in
        ["  set off by links@1", "  reads links@1", "  never beside counting: count@1", "  set off every 3ms"]
    {
        assert!(text.lines().any(|own| own == line), "{line} is missing in\n{text}");
    }
    let dot = graph.dot();
    for part in
        ["\"links@1\" -> \"counting/count\"", "\"driver ports\" -> \"links@1\"", "dir=none, style=dashed"]
    {
        assert!(dot.contains(part), "{part} is missing in\n{dot}");
    }
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
}
