//! Grids and tori. The node in row 2, column 5 is `r2c5`, both counted from 1.

use super::sketch::Sketch;

fn nodes(sketch: &mut Sketch, rows: usize, columns: usize) {
    for row in 1..=rows {
        for column in 1..=columns {
            sketch.node(format!("r{row}c{column}"));
        }
    }
}

pub(super) fn grid(sketch: &mut Sketch, rows: usize, columns: usize) {
    nodes(sketch, rows, columns);
    for row in 0..rows {
        for column in 0..columns {
            let at = row * columns + column;
            if column + 1 < columns {
                sketch.link(at, at + 1);
            }
            if row + 1 < rows {
                sketch.link(at, at + columns);
            }
        }
    }
}

/// Three of a kind at least: a circle of two would be two parallel links.
pub(super) fn torus(sketch: &mut Sketch, rows: usize, columns: usize) {
    nodes(sketch, rows, columns);
    for row in 0..rows {
        for column in 0..columns {
            let at = row * columns + column;
            sketch.link(at, row * columns + (column + 1) % columns);
            sketch.link(at, (row + 1) % rows * columns + column);
        }
    }
}
