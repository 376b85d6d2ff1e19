//! DAGs, conflicts and live timings, as data, as text and as a drawing.

use crate::{Name, Runtime, Timing, Trigger, ViewId};
use std::fmt;
use std::fmt::Write;

/// What a runtime is at one time.
#[derive(Debug, Clone)]
pub struct Graph {
    /// Its DAGs, in the order of their names.
    pub dags: Vec<Drawn>,
    /// Pairs of DAGs that never run at once.
    pub conflicts: Vec<Conflict>,
    /// Drivers: who they are, what they write, and what they are told.
    pub drivers: Vec<(Name, Vec<ViewId>, Vec<ViewId>)>,
}

/// A DAG with what is known of its runs.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// Its name.
    pub name: Name,
    /// Its applications, each with how long it took.
    pub nodes: Vec<(Name, Timing)>,
    /// Who runs before whom.
    pub edges: Vec<(Name, Name)>,
    /// What sets it off.
    pub triggers: Vec<Trigger>,
    /// State that it reads.
    pub reads: Vec<ViewId>,
    /// State that it writes.
    pub writes: Vec<ViewId>,
    /// Streams that it writes.
    pub streams: Vec<ViewId>,
    /// From the start of a run to its commit.
    pub runs: Timing,
    /// From what set it off to the start.
    pub waits: Timing,
    /// How many runs are under way.
    pub running: usize,
    /// How many runs failed.
    pub failed: u64,
    /// How often a run was given up to begin again.
    pub preempted: u64,
    /// How many batches were lost because too many waited.
    pub dropped: u64,
}

/// Two DAGs that never run at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The one.
    pub first: Name,
    /// The other.
    pub second: Name,
    /// What one writes and the other reads or writes.
    pub views: Vec<ViewId>,
}

impl Runtime {
    /// What there is at this time, and how long it took.
    pub fn graph(&self) -> Graph {
        let mut dags: Vec<Drawn> = Vec::new();
        let mut conflicts = Vec::new();
        for scheduled in self.scheduled() {
            let plan = &scheduled.plan;
            let timing = |node: &Name| scheduled.nodes.get(node).cloned().unwrap_or_default();
            let drawn = Drawn {
                name: plan.dag.name.clone(),
                nodes: plan.dag.nodes.iter().map(|node| (node.clone(), timing(node))).collect(),
                edges: plan.dag.edges.clone(),
                triggers: plan.dag.triggers.clone(),
                reads: plan.reads.iter().cloned().collect(),
                writes: plan.writes.iter().cloned().collect(),
                streams: plan.streams.iter().cloned().collect(),
                runs: scheduled.runs.clone(),
                waits: scheduled.waits.clone(),
                running: self.running().filter(|(_, dag)| **dag == plan.dag.name).count(),
                failed: scheduled.failed,
                preempted: scheduled.preempted,
                dropped: scheduled.dropped,
            };
            for before in &dags {
                let uses = |dag: &Drawn, view| dag.writes.contains(view) || dag.reads.contains(view);
                let ours = drawn.writes.iter().filter(|view| uses(before, view));
                let theirs = before.writes.iter().filter(|view| uses(&drawn, view));
                let mut views: Vec<ViewId> = ours.chain(theirs).cloned().collect();
                views.sort();
                views.dedup();
                if !views.is_empty() {
                    let (first, second) = (before.name.clone(), drawn.name.clone());
                    conflicts.push(Conflict { first, second, views });
                }
            }
            dags.push(drawn);
        }
        let names = |ports: &[crate::Port]| ports.iter().map(|port| port.view.clone()).collect();
        let drivers = self.known_drivers().iter();
        let drivers = drivers.map(|(name, all)| (name.clone(), names(&all.outputs), names(&all.inputs)));
        Graph { dags, conflicts, drivers: drivers.collect() }
    }
}

impl Graph {
    /// The same in DOT, Graphviz' language: boxes of applications in a frame a DAG, ovals of views, and dashed lines
    /// between DAGs that conflict.
    pub fn dot(&self) -> String {
        let mut dot =
            String::from("digraph control {\n  rankdir=LR; compound=true; node [fontname=\"sans-serif\"];\n");
        // Nothing is escaped: names have no character that DOT would mind.
        self.draw(&mut dot).unwrap_or_else(|_| unreachable!("a string takes all text"));
        dot
    }

    fn draw(&self, dot: &mut String) -> fmt::Result {
        let mut views: Vec<&ViewId> = Vec::new();
        for dag in &self.dags {
            writeln!(dot, "  subgraph \"cluster {}\" {{", dag.name)?;
            writeln!(dot, "    label=\"{}\\n{}\";", dag.name, dag.runs)?;
            for (node, timing) in &dag.nodes {
                writeln!(dot, "    \"{}/{node}\" [shape=box, label=\"{node}\\n{timing}\"];", dag.name)?;
            }
            for (before, after) in &dag.edges {
                writeln!(dot, "    \"{0}/{before}\" -> \"{0}/{after}\";", dag.name)?;
            }
            writeln!(dot, "  }}")?;
            let Some((first, _)) = dag.nodes.first() else { continue };
            let Some((last, _)) = dag.nodes.last() else { continue };
            let frame = format!("\"cluster {}\"", dag.name);
            for view in &dag.reads {
                writeln!(dot, "  \"{view}\" -> \"{}/{first}\" [lhead={frame}];", dag.name)?;
            }
            for trigger in &dag.triggers {
                if let Trigger::View(view) = trigger {
                    views.push(view);
                    writeln!(dot, "  \"{view}\" -> \"{}/{first}\" [lhead={frame}, style=bold];", dag.name)?;
                }
            }
            for view in dag.writes.iter().chain(&dag.streams) {
                writeln!(dot, "  \"{}/{last}\" -> \"{view}\" [ltail={frame}];", dag.name)?;
            }
            views.extend(dag.reads.iter().chain(&dag.writes).chain(&dag.streams));
        }
        for (driver, writes, reads) in &self.drivers {
            writeln!(dot, "  \"driver {driver}\" [shape=house, label=\"{driver}\"];")?;
            for view in writes {
                writeln!(dot, "  \"driver {driver}\" -> \"{view}\";")?;
            }
            for view in reads {
                writeln!(dot, "  \"{view}\" -> \"driver {driver}\";")?;
            }
            views.extend(writes.iter().chain(reads));
        }
        views.sort();
        views.dedup();
        for view in views {
            writeln!(dot, "  \"{view}\" [shape=ellipse];")?;
        }
        for Conflict { first, second, .. } in &self.conflicts {
            let node = |name: &Name| {
                self.dags.iter().find(|dag| dag.name == *name).and_then(|dag| dag.nodes.first())
            };
            let (Some((one, _)), Some((other, _))) = (node(first), node(second)) else { continue };
            writeln!(
                dot,
                "  \"{first}/{one}\" -> \"{second}/{other}\" [dir=none, style=dashed, constraint=false, \
                 ltail=\"cluster {first}\", lhead=\"cluster {second}\"];"
            )?;
        }
        writeln!(dot, "}}")
    }
}

/// A few lines a DAG, then its conflicts.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |views: &[ViewId]| views.iter().map(ViewId::to_string).collect::<Vec<_>>().join(" ");
        for dag in &self.dags {
            write!(f, "{}: {}", dag.name, dag.runs)?;
            for (count, what) in [
                (dag.running as u64, "running"),
                (dag.failed, "failed"),
                (dag.preempted, "preempted"),
                (dag.dropped, "batches dropped"),
            ] {
                if count > 0 {
                    write!(f, ", {count} {what}")?;
                }
            }
            writeln!(f)?;
            for trigger in &dag.triggers {
                match trigger {
                    Trigger::View(view) => writeln!(f, "  set off by {view}")?,
                    Trigger::Every(interval) => writeln!(f, "  set off every {interval:?}")?,
                }
            }
            for (word, views) in [("reads", &dag.reads), ("writes", &dag.writes), ("emits", &dag.streams)] {
                if !views.is_empty() {
                    writeln!(f, "  {word} {}", list(views))?;
                }
            }
            for (node, timing) in &dag.nodes {
                let after =
                    dag.edges.iter().filter(|(_, after)| after == node).map(|(before, _)| before.as_str());
                let after = after.collect::<Vec<_>>().join(" ");
                let after = if after.is_empty() { after } else { format!(" after {after}") };
                writeln!(f, "  {node}{after}: {timing}")?;
            }
            if dag.waits.count() > 0 {
                writeln!(f, "  waited: mean {:.1?}, p99 {:.1?}", dag.waits.mean(), dag.waits.p99())?;
            }
            for conflict in self.conflicts.iter().filter(|conflict| conflict.first == dag.name) {
                writeln!(f, "  never beside {}: {}", conflict.second, list(&conflict.views))?;
            }
        }
        Ok(())
    }
}
