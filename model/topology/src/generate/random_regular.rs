//! Connected random regular graphs, built as Jellyfish builds its network (Singla, Hong, Popa, Godfrey, "Jellyfish:
//! networking data centers randomly", NSDI 2012, section 3).
//!
//! Two free ports of nodes that are not yet linked are drawn and joined until that is no longer possible. Where ports
//! are left, a link is drawn and its two ends are given to them instead. Choice: where the graph falls apart, which
//! for degree 2 it nearly always does, two links of different parts swap ends until it is one; the paper only notes
//! that it is connected with high probability. From degrees above half the nodes, the graph of missing links is drawn
//! in its stead.

use super::GenerateError;
use super::sketch::Sketch;
use crate::graph::{Graph, Without};
use crate::random::SplitMix64;
use std::collections::BTreeSet;

type Link = (usize, usize);

/// Whether there is such a graph.
pub(super) fn possible(nodes: usize, degree: usize) -> Result<(), GenerateError> {
    let remedy = if nodes == 0 {
        "give at least 1 node"
    } else if degree >= nodes {
        "a node has links to others only; give a degree below the number of nodes"
    } else if nodes % 2 == 1 && degree % 2 == 1 {
        "every link has two ends; give an even degree or an even number of nodes"
    } else if degree < 2 && nodes > degree + 1 {
        "it cannot be connected; give a degree of at least 2"
    } else {
        return Ok(());
    };
    Err(GenerateError::Impossible {
        what: format!("a random-regular graph of {nodes} nodes with {degree} links each"),
        remedy: remedy.to_owned(),
    })
}

pub(super) fn random_regular(
    sketch: &mut Sketch,
    nodes: usize,
    degree: usize,
    seed: u64,
) -> Result<(), GenerateError> {
    for at in 1..=nodes {
        sketch.node(format!("n{at}"));
    }
    for (a, b) in random_regular_links(nodes, degree, seed)? {
        sketch.link(a, b);
    }
    Ok(())
}

/// The links of a connected random graph of `nodes` nodes with `degree` links each, in order: those of the file that
/// [`Shape::RandomRegular`](super::Shape::RandomRegular) generates.
///
/// # Errors
/// There is no such graph, or the seed leads to none.
pub fn random_regular_links(nodes: usize, degree: usize, seed: u64) -> Result<Vec<Link>, GenerateError> {
    possible(nodes, degree)?;
    let mut random = SplitMix64::new(seed);
    let links = if degree > (nodes - 1) / 2 {
        let missing = draw(nodes, nodes - 1 - degree, &mut random);
        missing.map(|missing| {
            let all = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
            all.filter(|link| !missing.contains(link)).collect()
        })
    } else {
        draw(nodes, degree, &mut random)
    };
    let mut links: BTreeSet<Link> = links.ok_or_else(|| GenerateError::Impossible {
        what: format!("seed {seed} gives no random-regular graph of {nodes} nodes with {degree} links each"),
        remedy: "give another seed".to_owned(),
    })?;
    connect(nodes, &mut links, &mut random);
    Ok(links.into_iter().collect())
}

fn link(a: usize, b: usize) -> Link {
    (a.min(b), a.max(b))
}

/// A random regular graph, connected or not; none when the lots run dry, which takes a hundred dead ends.
fn draw(nodes: usize, degree: usize, random: &mut SplitMix64) -> Option<BTreeSet<Link>> {
    (0..100).find_map(|_| attempt(nodes, degree, random))
}

fn attempt(nodes: usize, degree: usize, random: &mut SplitMix64) -> Option<BTreeSet<Link>> {
    let mut links = BTreeSet::new();
    // The same links in a list, to draw from.
    let mut drawn: Vec<Link> = Vec::with_capacity(nodes * degree / 2);
    let mut free: Vec<usize> = (0..nodes).flat_map(|node| std::iter::repeat_n(node, degree)).collect();
    while free.len() >= 2 {
        let pair = (0..200).find_map(|_| {
            let (a, b) = (random.below(free.len()), random.below(free.len()));
            let (from, to) = (free[a], free[b]);
            (from != to && !links.contains(&link(from, to))).then_some((a.max(b), a.min(b)))
        });
        if let Some((later, earlier)) = pair {
            let (a, b) = (free.swap_remove(later), free.swap_remove(earlier));
            links.insert(link(a, b));
            drawn.push(link(a, b));
            continue;
        }
        // The ports left belong to nodes that are linked already: they take over the ends of another link.
        let (p, q) = (free[free.len() - 1], free[free.len() - 2]);
        let (at, x, y) = (0..100 * (drawn.len() + 1)).find_map(|_| {
            let at = random.below(drawn.len().max(1));
            let &(x, y) = drawn.get(at)?;
            let (x, y) = if random.below(2) == 0 { (x, y) } else { (y, x) };
            let fits = x != p
                && y != q
                && link(p, x) != link(q, y)
                && !links.contains(&link(p, x))
                && !links.contains(&link(q, y));
            fits.then_some((at, x, y))
        })?;
        links.remove(&drawn.swap_remove(at));
        for new in [link(p, x), link(q, y)] {
            links.insert(new);
            drawn.push(new);
        }
        free.truncate(free.len() - 2);
    }
    Some(links)
}

/// Makes one graph of its parts, every degree kept: a link of one part that lies on a circle, and any link of another,
/// swap ends.
fn connect(nodes: usize, links: &mut BTreeSet<Link>, random: &mut SplitMix64) {
    loop {
        let list: Vec<Link> = links.iter().copied().collect();
        let graph = Graph::undirected(nodes, list.iter().map(|&(a, b)| (a, b, 1)));
        let parts = graph.components();
        if parts.count() <= 1 {
            return;
        }
        let of = |part: usize| -> Vec<usize> {
            (0..list.len()).filter(|&at| parts.of(list[at].0) == Some(part)).collect()
        };
        let circle = of(0).into_iter().find(|&at| {
            let without = Without { edges: [at].into(), ..Without::default() };
            graph.components_without(&without).joined(list[at].0, list[at].1)
        });
        let Some(circle) = circle else { return };
        let others = of(1);
        let Some(&other) = others.get(random.below(others.len().max(1))) else { return };
        let ((a, b), (c, d)) = (list[circle], list[other]);
        for gone in [list[circle], list[other]] {
            links.remove(&gone);
        }
        for new in [link(a, c), link(b, d)] {
            links.insert(new);
        }
    }
}
