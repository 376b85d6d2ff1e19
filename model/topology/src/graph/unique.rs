//! Paths that are the only shortest ones.

use super::balls::{Balls, Reached};
use super::rows::{Rows, has};
use super::{Distance, Graph};

/// Tells which paths are the only shortest ones between their ends: those that packets take whichever of equally short
/// ways their routers choose.
#[derive(Debug)]
pub struct UniquePaths<'a> {
    graph: &'a Graph,
    rows: Option<Rows>,
    searched: Option<Searched>,
}

/// What was searched of a graph.
#[derive(Debug)]
struct Searched {
    /// About vertices that paths begin at.
    near: Balls,
    /// Steps that were looked at on the way out of the ball about each vertex.
    met: Vec<usize>,
    far: Option<Far>,
}

/// What lies about vertices that paths end at.
#[derive(Debug)]
struct Far {
    reversed: Graph,
    balls: Balls,
    /// How far the end of the last path is from each vertex of its ball that a path may go on from, and which end that is.
    to_end: Vec<Distance>,
    end: Option<usize>,
}

impl<'a> UniquePaths<'a> {
    /// For paths of a graph.
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph, rows: Rows::new(graph), searched: None }
    }

    /// Whether a path, told by its vertices, is the only shortest one between its ends. Parallel edges are one way; a path
    /// without edges is.
    ///
    /// Where paths have more than two edges or edges cost differently, what lies about both ends is searched, half as far as
    /// the path is long and once for all paths with that end: 16 bytes for each vertex there, each time.
    ///
    /// With edges that cost nothing in a circle, a path may be said not to be the only one though it is; never the
    /// other way round.
    pub fn is_unique(&mut self, path: &[usize]) -> bool {
        match (path, &self.rows) {
            ([] | [_], _) => true,
            (&[from, to], Some(rows)) => from != to && has(rows.from(from), to),
            (&[from, through, to], Some(rows)) => {
                let loops = has(rows.from(from), from) || has(rows.from(to), to);
                if loops || from == to {
                    return self.is_only_way(path);
                }
                let only = |sets: ((&u64, &u64), &u64)| sets.0.0 & sets.0.1 & sets.1;
                let between = || rows.from(from).iter().zip(rows.to(to)).zip(&rows.transit).map(only);
                !has(rows.from(from), to)
                    && between().map(u64::count_ones).sum::<u32>() == 1
                    && between().nth(through / 64).is_some_and(|word| word >> (through % 64) & 1 == 1)
            }
            _ => self.is_only_way(path),
        }
    }

    fn is_only_way(&mut self, path: &[usize]) -> bool {
        let graph = self.graph;
        let Some(cost) = graph.cost_of(path).filter(|_| path[0] != path[path.len() - 1]) else {
            return false;
        };
        self.searched.get_or_insert_with(|| Searched::new(graph)).is_only_way(graph, path, cost)
    }
}

impl Searched {
    fn new(graph: &Graph) -> Self {
        Self { near: Balls::new(graph), met: vec![0; graph.vertices()], far: None }
    }

    /// Whether a path that costs so much is the only one that does not cost more.
    fn is_only_way(&mut self, graph: &Graph, path: &[usize], cost: Distance) -> bool {
        let Self { near, met, far } = self;
        let (from, to) = (path[0], path[path.len() - 1]);
        // All is searched where meeting half way has cost as much already, and where edges cost alike: all lies within few steps then.
        let is_whole = cost == 0 || graph.uniform.is_some() || met[from] >= graph.arcs.len();
        let half = cost.saturating_sub(1) / 2;
        near.reach(graph, from, if is_whole { Distance::MAX } else { half });
        let ball = near.about(from);
        if ball.reaches(cost) {
            return ball.is_only_way(path.iter().copied());
        }
        // A walk as short as the path has a last vertex up to half way, and from the next one on less than the other half.
        let rest = cost - half - 1;
        let is_behind = |&vertex: &usize| ball.distance(vertex).is_none_or(|distance| distance > half);
        let Some(next) = path.iter().position(is_behind) else { return false };
        let (there, back) = path.split_at(next);
        if !ball.is_only_way(there.iter().copied()) {
            return false;
        }
        let far = far.get_or_insert_with(|| Far::new(graph));
        far.approach(to, rest);
        if far.to_end[back[0]] > rest || !far.balls.about(to).is_only_way(back.iter().rev().copied()) {
            return false;
        }
        let own = (there[next - 1], back[0]);
        let mut up_to_half = ball.reached().iter().filter(|reached| reached.distance <= half);
        up_to_half.all(|reached| {
            let (at, left) = (reached.vertex as usize, cost - reached.distance);
            let steps = near.steps(graph, from, at).take_while(|step| Distance::from(step.cost) <= left);
            steps.inspect(|_| met[from] += 1).all(|step| {
                let to_end = far.to_end[step.to as usize];
                to_end > rest || Distance::from(step.cost) + to_end > left || (at, step.to as usize) == own
            })
        })
    }
}

impl Far {
    fn new(graph: &Graph) -> Self {
        let reversed = graph.reversed();
        let to_end = vec![Distance::MAX; graph.vertices()];
        Self { balls: Balls::new(&reversed), reversed, to_end, end: None }
    }

    /// Looks how far an end is from all vertices that are as near to it.
    fn approach(&mut self, end: usize, distance: Distance) {
        let Self { reversed, balls, to_end, .. } = self;
        if self.end == Some(end) && balls.about(end).reaches(distance) {
            return;
        }
        if let Some(last) = self.end.replace(end) {
            balls
                .about(last)
                .reached()
                .iter()
                .for_each(|reached| to_end[reached.vertex as usize] = Distance::MAX);
        }
        balls.reach(reversed, end, distance);
        let goes_on = |reached: &&Reached| reversed.expands(reached.vertex as usize, end);
        for reached in balls.about(end).reached().iter().filter(goes_on) {
            to_end[reached.vertex as usize] = reached.distance;
        }
    }
}

impl Graph {
    /// What a path costs that is told by its vertices; none when it is no path.
    fn cost_of(&self, path: &[usize]) -> Option<Distance> {
        let step = |step: &[usize]| {
            let arcs = self.arcs(step[0]).iter().filter(|arc| arc.to as usize == step[1]);
            arcs.map(|arc| Distance::from(arc.cost)).min()
        };
        path.windows(2).map(step).sum()
    }
}
