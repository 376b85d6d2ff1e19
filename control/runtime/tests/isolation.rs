//! The hazard of the thesis's View C (figure 3.1), and how it goes.

mod support;

use plait_control_runtime::*;
use std::sync::Arc;
use std::time::Duration;
use support::*;

/// DAG 3 of the figure: two branches that both read View C, here the links. One counts them, one lists their nodes, and
/// a third application holds the answers against each other.
#[derive(Debug, Clone, PartialEq)]
struct Verdict {
    consistent: bool,
}
wit!(struct Verdict { consistent });
impl View for Verdict {
    const NAME: &'static str = "verdict";
}

/// The one branch reads at once, the other when an application before it is done.
fn branching(isolation: Isolation) -> Runtime {
    let mut runtime = Runtime::new(Config { isolation, ..Config::default() });
    add_links_driver(&mut runtime);
    add_count(&mut runtime);
    add(&mut runtime, Manifest::new("think"), native(|(): ()| Ok(())));
    let list = native(|(links,): (Arc<Links>,)| {
        let linked = links.up.iter().flat_map(|(from, to)| [*from, *to]).collect();
        Ok((Nodes { linked },))
    });
    add(&mut runtime, Manifest::new("list").reads("links@1").writes("nodes@1"), list);
    let compare = native(|(count, nodes): (Arc<Count>, Arc<Nodes>)| {
        // Each link has two ends.
        Ok((Verdict { consistent: nodes.linked.len() as u32 == 2 * count.links },))
    });
    let manifest = Manifest::new("compare").reads("count@1").reads("nodes@1").writes("verdict@1");
    add(&mut runtime, manifest, compare);
    let dag =
        Dag::chain("dag-three", &[]).edge("count", "compare").edge("think", "list").edge("list", "compare");
    runtime.add_dag(ms(0), dag.every(Duration::from_secs(1))).unwrap();
    runtime
}

/// View C changes when one branch has read it and the other has not. Says whether the branches' answers agree, and
/// whether those of the next run do.
fn view_c_changes_between_branches(isolation: Isolation) -> (bool, bool) {
    let mut runtime = branching(isolation);
    runtime.handle_views(ms(0), &name("ports"), links_up(&[(1, 2)])).unwrap();
    runtime.handle_timeout(ms(1000));
    let mut branches = tasks(&mut runtime);
    assert_eq!(branches.len(), 2, "branches run at once");
    let (count, think) = (branches.pop_front().unwrap(), branches.pop_front().unwrap());
    assert_eq!(count.application().as_str(), "count");
    runtime.handle_finished(ms(1001), count.run());
    runtime.handle_views(ms(1002), &name("ports"), links_up(&[(1, 2), (2, 3)])).unwrap();
    runtime.handle_finished(ms(1003), think.run());
    settle(&mut runtime);
    let first = read::<Verdict>(&runtime).unwrap().consistent;
    runtime.handle_timeout(ms(2000));
    settle(&mut runtime);
    assert_eq!(read::<Count>(&runtime).unwrap(), Count { links: 2 }, "the next run meets the newer state");
    (first, read::<Verdict>(&runtime).unwrap().consistent)
}

#[test]
fn branches_that_read_a_view_at_two_times_disagree_without_isolation_and_agree_with_it() {
    assert_eq!(view_c_changes_between_branches(Isolation::None), (false, true));
    assert_eq!(view_c_changes_between_branches(Isolation::Snapshot), (true, true));
}

/// Two DAGs that both add a node to the same view, their applications run at once wherever they may be.
fn two_add_a_node(isolation: Isolation) -> Vec<u32> {
    let mut runtime = Runtime::new(Config { isolation, ..Config::default() });
    for (application, node) in [("one", 1), ("other", 2)] {
        let add_node = native(move |(nodes,): (Option<Arc<Nodes>>,)| {
            let mut nodes = nodes.map(|nodes| (*nodes).clone()).unwrap_or_default();
            nodes.linked.push(node);
            Ok((nodes,))
        });
        add(&mut runtime, Manifest::new(application).reads("nodes@1?").writes("nodes@1"), add_node);
        runtime.add_dag(ms(0), Dag::chain(application, &[application]).every(ms(10))).unwrap();
    }
    runtime.handle_timeout(ms(10));
    loop {
        let at_once = tasks(&mut runtime);
        if at_once.is_empty() {
            return read::<Nodes>(&runtime).unwrap().linked;
        }
        let finished: Vec<Finished> = at_once.into_iter().map(Task::run).collect();
        finished.into_iter().for_each(|finished| runtime.handle_finished(ms(11), finished));
    }
}

#[test]
fn what_one_writes_another_overwrites_without_isolation_and_builds_upon_with_it() {
    assert_eq!(two_add_a_node(Isolation::None), [2]);
    assert_eq!(two_add_a_node(Isolation::Snapshot), [1, 2]);
}

/// All orders in which a driver's changes and the ends of tasks may come, as deep as they go.
#[test]
fn in_every_order_of_events_each_run_is_consistent_and_the_last_meets_the_last_state() {
    // Each choice says which of the things that may happen next does: a change of links, or the end of a task.
    let mut choices: Vec<usize> = Vec::new();
    let mut runs = 0;
    loop {
        let mut branches = Vec::new();
        let mut runtime = branching(Isolation::Snapshot);
        let mut dag = runtime.dag(&name("dag-three")).unwrap().clone();
        dag.triggers = vec![Trigger::View(Links::id())];
        runtime.add_dag(ms(0), dag).unwrap();
        let mut changes = vec![3, 2, 1];
        let mut open: Vec<Task> = Vec::new();
        for step in 0.. {
            for action in actions(&mut runtime) {
                match action {
                    Action::Start(task) => open.push(task),
                    Action::Report(Report::Committed { .. }) => {
                        assert!(read::<Verdict>(&runtime).unwrap().consistent, "after {choices:?}");
                    }
                    _ => {}
                }
            }
            let ways = open.len() + usize::from(!changes.is_empty());
            if ways == 0 {
                break;
            }
            let choice = choices.get(step).copied().unwrap_or(0);
            branches.push((choice, ways));
            if choice < open.len() {
                let finished = open.remove(choice).run();
                runtime.handle_finished(ms(step as u64), finished);
            } else {
                let up = changes.pop().unwrap();
                let up: Vec<(u32, u32)> = (0..up).map(|node| (node, node + 1)).collect();
                runtime.handle_views(ms(step as u64), &name("ports"), links_up(&up)).unwrap();
            }
        }
        assert_eq!(read::<Count>(&runtime).unwrap(), Count { links: 3 }, "after {choices:?}");
        assert!(!runtime.busy());
        runs += 1;
        // The next one: the last choice that has another way takes it.
        while branches.last().is_some_and(|(choice, ways)| choice + 1 == *ways) {
            branches.pop();
        }
        match branches.last_mut() {
            Some((choice, _)) => *choice += 1,
            None => break,
        }
        choices = branches.iter().map(|(choice, _)| *choice).collect();
    }
    assert!(runs > 100, "{runs} orders");
}
