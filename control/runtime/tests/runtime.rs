//! What the runtime does with events, seen from outside.

mod support;

use plait_control_runtime::*;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use support::*;

fn counting() -> Runtime {
    let mut runtime = Runtime::new(Config::default());
    add_links_driver(&mut runtime);
    add_count(&mut runtime);
    runtime
}

fn counting_on_change(policy: Policy) -> Runtime {
    let mut runtime = counting();
    runtime.add_dag(ms(0), Dag::chain("counting", &["count"]).on("links@1").policy(policy)).unwrap();
    runtime
}

#[test]
fn a_change_of_a_view_runs_the_dag_and_its_result_reaches_the_driver() {
    let mut runtime = counting_on_change(Policy::default());
    runtime
        .add_driver(&name("display"), Signature { inputs: vec![Port::of::<Count>()], outputs: vec![] })
        .unwrap();
    for (up, before, now) in [(vec![(1, 2)], None, 1), (vec![(1, 2), (2, 3)], Some(1), 2)] {
        runtime.handle_views(ms(0), &name("ports"), links_up(&up)).unwrap();
        let actions = settle(&mut runtime);
        let Action::Push(push) = &actions[0] else { panic!("{actions:?}") };
        assert_eq!((push.driver.as_str(), &push.view), ("display", &Count::id()));
        assert_eq!(push.before.as_ref().map(|content| content.read::<Count>().unwrap().links), before);
        assert_eq!(push.now.read::<Count>().unwrap().links, now);
    }
}

#[test]
fn changes_that_come_while_a_dag_runs_set_it_off_once_more() {
    let mut runtime = counting_on_change(Policy::default());
    runtime.handle_views(ms(0), &name("ports"), links_up(&[])).unwrap();
    let first = tasks(&mut runtime).pop_front().unwrap();
    for up in [vec![(1, 2)], vec![(1, 2), (2, 3)], vec![(1, 2), (2, 3), (3, 4)]] {
        runtime.handle_views(ms(1), &name("ports"), links_up(&up)).unwrap();
        assert!(tasks(&mut runtime).is_empty(), "the same DAG does not run twice at once");
    }
    runtime.handle_finished(ms(2), first.run());
    assert_eq!(read::<Count>(&runtime).unwrap().links, 0, "staleness is preferred to inconsistency");
    assert_eq!(reports(settle(&mut runtime)).len(), 2);
    assert_eq!(read::<Count>(&runtime).unwrap().links, 3);
}

#[test]
fn a_timer_keeps_its_beat_and_does_not_make_up_for_what_it_missed() {
    let mut runtime = counting();
    runtime.add_dag(ms(0), Dag::chain("counting", &["count"]).every(ms(100))).unwrap();
    runtime.handle_views(ms(0), &name("ports"), links_up(&[])).unwrap();
    assert_eq!(runtime.poll_timeout(), Some(ms(100)));
    let mut runs = Vec::new();
    for now in [99, 100, 199, 200, 450, 499, 500] {
        runtime.handle_timeout(ms(now));
        if !settle(&mut runtime).is_empty() {
            runs.push(now);
        }
    }
    assert_eq!(runs, [100, 200, 450, 500]);
}

#[test]
fn a_dag_waits_until_its_views_hold_something() {
    let mut runtime = counting();
    runtime.add_dag(ms(0), Dag::chain("counting", &["count"]).every(ms(100))).unwrap();
    runtime.handle_timeout(ms(100));
    assert!(tasks(&mut runtime).is_empty());
    runtime.handle_views(ms(150), &name("ports"), links_up(&[(1, 2)])).unwrap();
    assert_eq!(tasks(&mut runtime).len(), 1);
}

#[test]
fn emissions_keep_their_distance_and_come_from_the_newest_state() {
    let mut runtime = counting_on_change(Policy { min_interval: ms(50), ..Policy::default() });
    runtime.handle_views(ms(0), &name("ports"), links_up(&[])).unwrap();
    settle(&mut runtime);
    for (now, up) in [(10, vec![(1, 2)]), (20, vec![(1, 2), (2, 3)])] {
        runtime.handle_views(ms(now), &name("ports"), links_up(&up)).unwrap();
        assert!(tasks(&mut runtime).is_empty());
        assert_eq!(runtime.poll_timeout(), Some(ms(50)));
    }
    runtime.handle_timeout(ms(50));
    settle(&mut runtime);
    assert_eq!(read::<Count>(&runtime).unwrap().links, 2);
    assert_eq!(runtime.poll_timeout(), None);
}

#[test]
fn what_writes_the_value_that_is_there_has_changed_nothing() {
    let mut runtime = counting();
    let keep = native(|(nodes, _): (Option<Arc<Nodes>>, Arc<Links>)| {
        Ok((Shared(nodes.unwrap_or_else(|| Arc::new(Nodes::default()))),))
    });
    add(&mut runtime, Manifest::new("keep").reads("nodes@1?").reads("links@1").writes("nodes@1"), keep);
    runtime.add_dag(ms(0), Dag::chain("keeping", &["keep"]).on("links@1")).unwrap();
    let mut changed = Vec::new();
    for up in [vec![], vec![(1, 2)]] {
        runtime.handle_views(ms(0), &name("ports"), links_up(&up)).unwrap();
        for report in reports(settle(&mut runtime)) {
            let Report::Committed { changed: views, .. } = report else { panic!("{report:?}") };
            changed.push(views.len());
        }
    }
    assert_eq!(changed, [1, 0]);
}

#[test]
fn a_preemptible_run_that_became_stale_begins_again_and_in_the_end_is_let_through() {
    let mut runtime = counting_on_change(Policy { preemptible: true, ..Policy::default() });
    runtime.handle_views(ms(0), &name("ports"), links_up(&[])).unwrap();
    let mut given_up = Vec::new();
    let mut last = tasks(&mut runtime).pop_front().unwrap();
    for change in 0..3 {
        runtime.handle_views(ms(1 + change), &name("ports"), links_up(&[(change as u32, 9)])).unwrap();
        given_up.push(std::mem::replace(&mut last, tasks(&mut runtime).pop_front().unwrap()));
    }
    for stale in given_up {
        runtime.handle_finished(ms(5), stale.run());
        assert!(read::<Count>(&runtime).is_none(), "what was given up is seen by nobody");
    }
    runtime.handle_views(ms(6), &name("ports"), links_up(&[(1, 2), (2, 3)])).unwrap();
    assert!(tasks(&mut runtime).is_empty(), "the fourth is let through");
    runtime.handle_finished(ms(7), last.run());
    assert_eq!(read::<Count>(&runtime).unwrap().links, 1);
    settle(&mut runtime);
    assert_eq!(read::<Count>(&runtime).unwrap().links, 2);
}

#[test]
fn a_preemptible_run_makes_way_for_a_conflicting_dag_of_higher_priority() {
    for preemptible in [true, false] {
        let mut runtime = counting_on_change(Policy { preemptible, ..Policy::default() });
        add(
            &mut runtime,
            Manifest::new("reset").writes("count@1"),
            native(|(): ()| Ok((Count { links: 0 },))),
        );
        let urgent = Policy { priority: 1, ..Policy::default() };
        runtime.add_dag(ms(0), Dag::chain("urgent", &["reset"]).every(ms(10)).policy(urgent)).unwrap();
        runtime.handle_views(ms(0), &name("ports"), links_up(&[])).unwrap();
        let under_way = tasks(&mut runtime);
        runtime.handle_timeout(ms(10));
        let mut next = tasks(&mut runtime);
        under_way.into_iter().for_each(|task| runtime.handle_finished(ms(11), task.run()));
        next.extend(tasks(&mut runtime));
        next.into_iter().for_each(|task| runtime.handle_finished(ms(12), task.run()));
        settle(&mut runtime);
        let graph = runtime.graph();
        let counting = graph.dags.iter().find(|dag| dag.name.as_str() == "counting").unwrap();
        assert_eq!(counting.preempted, u64::from(preemptible));
        assert!(graph.dags.iter().all(|dag| dag.runs.count() == 1), "both have run\n{graph}");
    }
}

#[test]
fn a_crash_is_contained_and_reported_and_nothing_of_the_run_is_seen() {
    let mut runtime = counting();
    let crash = native(|(links,): (Arc<Links>,)| {
        let node = links.up.len() as u32;
        assert!(node != 1, "one link is too few");
        Ok((Nodes { linked: vec![node] },))
    });
    add(&mut runtime, Manifest::new("crash").reads("links@1").writes("nodes@1"), crash);
    runtime.add_dag(ms(0), Dag::chain("crashing", &["count", "crash"]).on("links@1")).unwrap();
    runtime.handle_views(ms(0), &name("ports"), links_up(&[(1, 2)])).unwrap();
    let failure = Failure::Crashed("one link is too few".into());
    assert_eq!(
        reports(settle(&mut runtime)),
        [Report::Failed { dag: name("crashing"), run: 0, application: name("crash"), failure }]
    );
    assert!(read::<Count>(&runtime).is_none(), "nothing of it is seen, of the applications before it either");
    runtime.handle_views(ms(1), &name("ports"), links_up(&[])).unwrap();
    settle(&mut runtime);
    assert_eq!(read::<Count>(&runtime).unwrap().links, 0, "the next change runs it again");
}

#[test]
fn a_snapshot_costs_the_same_however_much_there_is() {
    // Not a time but a fact: what two snapshots hold is the same memory.
    let mut runtime = counting_on_change(Policy::default());
    runtime.handle_views(ms(0), &name("ports"), links_up(&[(1, 2); 10_000])).unwrap();
    let (one, other) = (runtime.state(), runtime.state());
    settle(&mut runtime);
    let links = |state: &Snapshot| state.content(&Links::id()).unwrap().read::<Links>().unwrap();
    assert!(Arc::ptr_eq(&links(&one), &links(&other)));
    assert!(Arc::ptr_eq(&links(&one), &links(&runtime.state())), "a commit elsewhere copies nothing of it");
    assert!(one.content(&Count::id()).is_none(), "and a snapshot does not change");
}

#[test]
fn every_dag_that_was_set_off_runs_beside_a_flood_of_others() {
    let mut runtime = counting_on_change(Policy { priority: 9, ..Policy::default() });
    let other = native(|(_, _): (Arc<Links>, Option<Arc<Count>>)| Ok((Perhaps::<Count>(None),)));
    let manifest = Manifest::new("humble").reads("links@1").reads("count@1?").writes("count@1?");
    add(&mut runtime, manifest, other);
    runtime.add_dag(ms(0), Dag::chain("humble", &["humble"]).every(ms(1))).unwrap();
    let mut now = 0;
    runtime.handle_views(ms(0), &name("ports"), links_up(&[])).unwrap();
    for round in 0..100 {
        for task in tasks(&mut runtime) {
            now += 1;
            // The links change before a task is done, so that the important DAG always wants to run.
            runtime.handle_views(ms(now), &name("ports"), links_up(&[(round, round)])).unwrap();
            runtime.handle_timeout(ms(now));
            runtime.handle_finished(ms(now), task.run());
        }
    }
    let graph = runtime.graph();
    let count = |dag: &str| graph.dags.iter().find(|drawn| drawn.name.as_str() == dag).unwrap().runs.count();
    assert!(count("humble") >= 30 && count("counting") >= 30, "{graph}");
}

/// Threads that live as long as a scope; the runtime and its lock-free tasks are all they share.
struct Threads {
    tasks: Vec<Sender<Task>>,
    finished: Receiver<Finished>,
    next: usize,
    under_way: usize,
}

impl Executor for Threads {
    fn start(&mut self, task: Task) {
        self.next = (self.next + 1) % self.tasks.len();
        self.under_way += 1;
        self.tasks[self.next].send(task).unwrap();
    }

    fn finished(&mut self) -> Option<Finished> {
        self.under_way = self.under_way.checked_sub(1)?;
        Some(self.finished.recv().unwrap())
    }
}

#[test]
fn threads_come_to_the_same_state_as_one_after_another() {
    let build = || {
        let mut runtime = counting_on_change(Policy::default());
        let list = native(|(links,): (Arc<Links>,)| {
            Ok((Nodes { linked: links.up.iter().map(|(from, _)| *from).collect() },))
        });
        add(&mut runtime, Manifest::new("list").reads("links@1").writes("nodes@1"), list);
        runtime.add_dag(ms(0), Dag::chain("listing", &["list"]).on("links@1")).unwrap();
        runtime
    };
    let (mut alone, mut many) = (build(), build());
    std::thread::scope(|scope| {
        let (done, finished) = channel();
        let worker = |_| {
            let (tasks, mine) = channel::<Task>();
            let done = done.clone();
            scope.spawn(move || mine.into_iter().for_each(|task| done.send(task.run()).unwrap()));
            tasks
        };
        let mut threads = Threads { tasks: (0..4).map(worker).collect(), finished, next: 0, under_way: 0 };
        for change in 0..200u32 {
            let up: Vec<(u32, u32)> = (0..change % 7).map(|node| (node, change)).collect();
            for runtime in [&mut alone, &mut many] {
                runtime.handle_views(ms(0), &name("ports"), links_up(&up)).unwrap();
            }
            settle(&mut alone);
            many.settle(&mut threads, || Duration::ZERO);
        }
    });
    for runtime in [&alone, &many] {
        assert_eq!(runtime.state().revision(), 200 * 3);
    }
    assert_eq!(read::<Count>(&alone), read::<Count>(&many));
    assert_eq!(read::<Nodes>(&alone), read::<Nodes>(&many));
}
