//! Lines, rings, stars, trees and full meshes.

use super::sketch::Sketch;

fn nodes(sketch: &mut Sketch, count: usize) {
    for at in 0..count {
        sketch.node(format!("n{}", at + 1));
    }
}

pub(super) fn line(sketch: &mut Sketch, count: usize) {
    nodes(sketch, count);
    for at in 1..count {
        sketch.link(at - 1, at);
    }
}

pub(super) fn ring(sketch: &mut Sketch, count: usize) {
    line(sketch, count);
    sketch.link(count - 1, 0);
}

pub(super) fn star(sketch: &mut Sketch, leaves: usize) {
    let hub = sketch.node("hub".to_owned());
    for leaf in 1..=leaves {
        let host = sketch.host(format!("h{leaf}"));
        sketch.link(hub, host);
    }
}

pub(super) fn full_mesh(sketch: &mut Sketch, count: usize) {
    nodes(sketch, count);
    for a in 0..count {
        for b in a + 1..count {
            sketch.link(a, b);
        }
    }
}

/// Numbered level by level; links stand in the order of their children.
pub(super) fn tree(sketch: &mut Sketch, arity: usize, depth: usize) {
    let mut above = vec![sketch.node("n1".to_owned())];
    let mut inner = 1;
    let mut leaves = 0;
    for level in 1..=depth {
        let mut here = Vec::new();
        for parent in above {
            for _ in 0..arity {
                let child = if level == depth {
                    leaves += 1;
                    sketch.host(format!("h{leaves}"))
                } else {
                    inner += 1;
                    sketch.node(format!("n{inner}"))
                };
                sketch.link(parent, child);
                here.push(child);
            }
        }
        above = here;
    }
}
