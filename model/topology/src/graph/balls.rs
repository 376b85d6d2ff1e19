//! What lies near the vertices of a graph: as far about each as anybody asked.

use super::{Distance, Graph};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What lies near each vertex of a graph.
#[derive(Debug)]
pub(super) struct Balls {
    balls: Vec<Option<Ball>>,
    /// The steps out of each vertex that a search came to, the cheapest first: a search looks at none that leads out of its ball.
    steps: Vec<Option<Box<[Step]>>>,
    /// What a search found so far, and where it has still to go on.
    found: Vec<(Distance, u32)>,
    queue: BinaryHeap<Reverse<(Distance, u32)>>,
}

/// What lies near one vertex.
#[derive(Debug, Default)]
pub(super) struct Ball {
    radius: Option<Distance>,
    /// In order of their vertices.
    reached: Vec<Reached>,
}

/// A vertex of a ball.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reached {
    pub vertex: u32,
    /// The last vertex before it, of all shortest paths; none where they are several, and at the beginning.
    before: u32,
    pub distance: Distance,
}

/// A step along an arc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub cost: u32,
    pub to: u32,
}

const NOWHERE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;
const UNREACHED: (Distance, u32) = (Distance::MAX, NOWHERE);

impl Balls {
    pub fn new(graph: &Graph) -> Self {
        let vertices = graph.vertices();
        Self {
            balls: (0..vertices).map(|_| None).collect(),
            steps: vec![None; vertices],
            found: vec![UNREACHED; vertices],
            queue: BinaryHeap::new(),
        }
    }

    /// The ball about a vertex, as large as it was asked for last.
    pub fn about(&self, vertex: usize) -> &Ball {
        self.balls[vertex].as_ref().expect("it was asked for")
    }

    /// The steps by which shortest paths that begin at `start` go on from a vertex of the ball about it.
    pub fn steps(&self, graph: &Graph, start: usize, vertex: usize) -> impl Iterator<Item = Step> {
        let steps = self.steps[vertex].as_deref().filter(|_| graph.expands(vertex, start));
        let goes_on = move |step: &Step| step.to as usize != vertex && step.to as usize != start;
        steps.unwrap_or_default().iter().copied().filter(goes_on)
    }

    /// Has the ball about a vertex reach as far as a radius: Dijkstra's algorithm, begun anew where it reached less far. Balls grow
    /// so fast with their radius that a smaller one is a small part of the work.
    pub fn reach(&mut self, graph: &Graph, start: usize, radius: Distance) {
        let ball = self.balls[start].get_or_insert_default();
        if ball.reaches(radius) {
            return;
        }
        ball.radius = Some(radius);
        ball.reached.clear();
        self.found[start].0 = 0;
        self.queue.push(Reverse((0, start as u32)));
        while let Some(Reverse((distance, vertex))) = self.queue.pop() {
            if distance > self.found[vertex as usize].0 {
                continue;
            }
            ball.reached.push(Reached { vertex, before: NOWHERE, distance });
            let steps = self.steps[vertex as usize].get_or_insert_with(|| {
                let arcs = graph.arcs(vertex as usize).iter();
                let mut steps: Box<[Step]> = arcs.map(|arc| Step { cost: arc.cost, to: arc.to }).collect();
                steps.sort_unstable();
                steps
            });
            if !graph.expands(vertex as usize, start) {
                continue;
            }
            for &Step { cost, to } in &*steps {
                let through = distance + Distance::from(cost);
                if through > radius {
                    break;
                }
                if to == vertex || to as usize == start {
                    continue;
                }
                let (known, before) = &mut self.found[to as usize];
                if through < *known {
                    (*known, *before) = (through, vertex);
                    self.queue.push(Reverse((through, to)));
                } else if through == *known && *before != vertex {
                    *before = SEVERAL;
                }
            }
        }
        // Where steps cost nothing, another way to a vertex may be found when the search went on from it.
        for reached in &mut ball.reached {
            (_, reached.before) = std::mem::replace(&mut self.found[reached.vertex as usize], UNREACHED);
        }
        ball.reached.sort_unstable_by_key(|reached| reached.vertex);
    }
}

impl Ball {
    /// Whether all up to a distance is in it.
    pub fn reaches(&self, distance: Distance) -> bool {
        self.radius.is_some_and(|radius| radius >= distance)
    }

    /// What it holds, in order of the vertices.
    pub fn reached(&self) -> &[Reached] {
        &self.reached
    }

    /// How far a vertex is; none outside.
    pub fn distance(&self, vertex: usize) -> Option<Distance> {
        self.get(vertex).map(|reached| reached.distance)
    }

    /// Whether a way, told by its vertices beginning with the ball's, lies within and is the only shortest one.
    pub fn is_only_way(&self, way: impl Iterator<Item = usize>) -> bool {
        let mut before = None;
        way.into_iter().all(|vertex| {
            let last = before.replace(vertex);
            last.is_none_or(|last| self.get(vertex).is_some_and(|reached| reached.before as usize == last))
        })
    }

    fn get(&self, vertex: usize) -> Option<&Reached> {
        let at = self.reached.binary_search_by_key(&vertex, |reached| reached.vertex as usize).ok()?;
        Some(&self.reached[at])
    }
}
