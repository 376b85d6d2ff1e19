//! The rule of admission, in every state that it can be in.

use plait_control_runtime::{Admission, Claim};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

const VIEWS: u32 = 3;

/// A claim for each number: of each view nothing, a read, or a write, in base 3.
fn claim(mut number: u32) -> Arc<Claim> {
    let (mut reads, mut writes) = (vec![], vec![]);
    for view in 0..VIEWS {
        match number % 3 {
            1 => reads.push(view),
            2 => writes.push(view),
            _ => {}
        }
        number /= 3;
    }
    Arc::new(Claim::new(reads, writes))
}

/// DAGs that want to run again and again. What an adversary may do in each state: let any of them that is idle want to
/// run, let any run end, or have any that waits taken back, as when its DAG is removed; several wishes may come before admission is
/// asked, one of whoever has just ended among them, as when a run makes way for another and begins again.
#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    admission: Admission<usize>,
    /// Of each that waits, how many have started meanwhile that conflict with it.
    overtaken: Vec<u32>,
}

struct Explorer<'a> {
    claims: &'a [Arc<Claim>],
    priorities: &'a [i32],
    patience: u32,
    states: usize,
}

impl Explorer<'_> {
    /// Goes through all states that can be reached, and holds in each what must hold.
    fn explore(&mut self) {
        let start = World { admission: Admission::new(self.patience), overtaken: vec![0; self.claims.len()] };
        let (mut seen, mut open) = (HashSet::from([start.clone()]), vec![start]);
        while let Some(world) = open.pop() {
            self.states += 1;
            for next in self.successors(&world) {
                self.hold(&next);
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }

    fn successors(&self, world: &World) -> Vec<World> {
        let running: BTreeSet<usize> = world.admission.running().map(|(dag, _)| *dag).collect();
        let waiting: BTreeSet<usize> = world.admission.waiting().map(|(dag, _)| *dag).collect();
        let mut successors = Vec::new();
        // An end, a withdrawal, or neither, and then wishes of any of the idle, in any order.
        for left in running.iter().chain(&waiting).map(Some).chain([None]) {
            let mut without = world.clone();
            if let Some(left) = left {
                without.admission.end(left);
                without.admission.withdraw(left);
                without.overtaken[*left] = 0;
            }
            let busy = |dag: &usize| left != Some(dag) && (running.contains(dag) || waiting.contains(dag));
            let idle: Vec<usize> = (0..self.claims.len()).filter(|dag| !busy(dag)).collect();
            for wishes in orders(&idle) {
                let mut next = without.clone();
                for dag in wishes {
                    next.admission.submit(dag, self.claims[dag].clone(), self.priorities[dag]);
                }
                while let Some(started) = next.admission.admit() {
                    next.overtaken[started] = 0;
                    for (other, _) in next.admission.waiting() {
                        if self.claims[started].conflicts(&self.claims[*other]) {
                            next.overtaken[*other] += 1;
                        }
                    }
                }
                successors.push(next);
            }
        }
        successors
    }

    fn hold(&self, world: &World) {
        let running: Vec<usize> = world.admission.running().map(|(dag, _)| *dag).collect();
        for (place, one) in running.iter().enumerate() {
            for other in &running[..place] {
                assert!(!self.claims[*one].conflicts(&self.claims[*other]), "{one} beside {other}");
            }
        }
        let waiting: Vec<usize> = world.admission.waiting().map(|(dag, _)| *dag).collect();
        assert!(!running.is_empty() || waiting.is_empty(), "nobody runs, and {waiting:?} wait");
        for (place, dag) in waiting.iter().enumerate() {
            // Bounded overtaking: with every run's end, everyone's turn comes.
            let bound = self.patience + self.claims.len() as u32 - 1;
            assert!(world.overtaken[*dag] <= bound, "{dag} was overtaken {} times", world.overtaken[*dag]);
            let blocked = |other: &usize| self.claims[*dag].conflicts(&self.claims[*other]);
            assert!(
                running.iter().any(blocked) || waiting[..place].iter().any(blocked),
                "{dag} waits for nobody"
            );
        }
    }
}

/// All subsets in all orders, nobody among them.
fn orders(of: &[usize]) -> Vec<Vec<usize>> {
    let mut orders = vec![vec![]];
    for (place, first) in of.iter().enumerate() {
        let rest: Vec<usize> =
            of.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, dag)| *dag).collect();
        for mut order in self::orders(&rest) {
            order.insert(0, *first);
            orders.push(order);
        }
    }
    orders
}

fn explore(claims: &[u32], priorities: &[i32], patience: u32) -> usize {
    let claims: Vec<Arc<Claim>> = claims.iter().map(|number| claim(*number)).collect();
    let mut explorer = Explorer { claims: &claims, priorities, patience, states: 0 };
    explorer.explore();
    explorer.states
}

#[test]
fn of_all_pairs_and_triples_of_dags_over_three_views_none_that_conflict_run_at_once_and_none_starves() {
    let all = 3u32.pow(VIEWS);
    let mut states = 0;
    for one in 0..all {
        for other in one..all {
            states += explore(&[one, other], &[0, 0], 1);
            for third in other..all {
                states += explore(&[one, other, third], &[0, 0, 0], 1);
            }
        }
    }
    assert!(states > 100_000, "{states} states");
}

#[test]
fn priority_and_patience_change_who_is_next_and_starve_nobody() {
    // Two views that two readers and a writer, or three writers that overlap, fight for.
    for claims in [[1, 1, 2, 2], [5, 7, 2, 8], [1, 3, 8, 4], [2, 2, 2, 2]] {
        for priorities in [[0, 0, 0, 0], [3, 2, 1, 0], [1, 1, 0, 0], [0, 1, 0, 1]] {
            for patience in 0..3 {
                assert!(explore(&claims, &priorities, patience) > 10);
            }
        }
    }
}

#[test]
fn readers_that_take_turns_do_not_keep_a_writer_out() {
    let (reader, writer) = (claim(1), claim(2));
    let mut admission = Admission::new(1);
    let start = |admission: &mut Admission<&'static str>| -> Vec<_> {
        std::iter::from_fn(|| admission.admit()).collect()
    };
    admission.submit("first reader", reader.clone(), 0);
    assert_eq!(start(&mut admission), ["first reader"]);
    admission.submit("writer", writer, 0);
    admission.submit("second reader", reader.clone(), 0);
    // Once it is overtaken.
    assert_eq!(start(&mut admission), ["second reader"]);
    admission.end(&"first reader");
    admission.submit("first reader", reader.clone(), 9);
    assert!(start(&mut admission).is_empty(), "the view is reserved");
    admission.end(&"second reader");
    assert_eq!(start(&mut admission), ["writer"]);
    admission.end(&"writer");
    assert_eq!(start(&mut admission), ["first reader"]);
}

#[test]
fn the_higher_priority_goes_first() {
    let mut admission = Admission::new(1);
    admission.submit("low", claim(2), 0);
    admission.submit("high", claim(2), 1);
    assert_eq!(admission.admit(), Some("high"));
    assert_eq!(admission.admit(), None);
}
