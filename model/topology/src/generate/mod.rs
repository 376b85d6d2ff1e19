//! Networks by rule: `plait generate torus --rows 32 --columns 32 > net.yaml`.
//!
//! A [`Generator`] is a [`Shape`] with what it is made of; [`Generator::generate`] gives the text of a network file.
//! The same generator and seed give the same text on every machine, and only shapes drawn by lot look at the seed.

mod fat_tree;
mod grid;
mod random_regular;
mod shapes;
mod sketch;

pub use random_regular::random_regular_links;
use sketch::Sketch;
use thiserror::Error;

/// The shape of a generated network, with the counts it leads to before hosts are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `nodes` nodes in a row, `nodes - 1` links.
    Line {
        /// How many nodes; at least 1.
        nodes: usize,
    },
    /// `nodes` nodes in a circle, as many links.
    Ring {
        /// How many nodes; at least 3.
        nodes: usize,
    },
    /// A hub with `leaves` hosts around it, as many links.
    Star {
        /// How many hosts; at least 1.
        leaves: usize,
    },
    /// A tree of `1 + arity + … + arity^depth` nodes, one link fewer; its leaves are hosts.
    Tree {
        /// Children of every node that is no leaf; at least 1.
        arity: usize,
        /// Links from the root to each leaf; at least 1.
        depth: usize,
    },
    /// `rows × columns` nodes, each linked to the next in its row and column: `rows (columns - 1) + (rows - 1) columns`
    /// links.
    Grid {
        /// How many rows; at least 1.
        rows: usize,
        /// How many columns; at least 1.
        columns: usize,
    },
    /// A grid whose rows and columns are circles: `rows × columns` nodes, twice as many links.
    Torus {
        /// How many rows; at least 3.
        rows: usize,
        /// How many columns; at least 3.
        columns: usize,
    },
    /// Every node linked to every other: `nodes (nodes - 1) / 2` links.
    FullMesh {
        /// How many nodes; at least 1.
        nodes: usize,
    },
    /// A k-ary fat-tree (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches,
    /// k²/4 core switches, k³/4 hosts, 3k³/4 links.
    FatTree {
        /// Ports of each switch; even, at least 2.
        k: usize,
    },
    /// A connected random graph in which every node has `degree` links (Jellyfish: Singla, Hong, Popa, Godfrey, NSDI
    /// 2012): `nodes × degree / 2` links.
    RandomRegular {
        /// How many nodes.
        nodes: usize,
        /// Links of each; fewer than the nodes, and an even product with them.
        degree: usize,
    },
}

impl Shape {
    /// The name the command line knows it by.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Line { .. } => "line",
            Self::Ring { .. } => "ring",
            Self::Star { .. } => "star",
            Self::Tree { .. } => "tree",
            Self::Grid { .. } => "grid",
            Self::Torus { .. } => "torus",
            Self::FullMesh { .. } => "full-mesh",
            Self::FatTree { .. } => "fat-tree",
            Self::RandomRegular { .. } => "random-regular",
        }
    }
}

/// What to generate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    /// The shape.
    pub shape: Shape,
    /// Kind of the nodes that are not hosts by the shape's nature; `router` when none is given.
    pub kind: Option<String>,
    /// Hosts attached to each node of that kind, beyond those of the shape.
    pub hosts: usize,
}

impl From<Shape> for Generator {
    fn from(shape: Shape) -> Self {
        Self { shape, kind: None, hosts: 0 }
    }
}

/// Why a network cannot be generated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GenerateError {
    /// No graph has these numbers.
    #[error("{what}: {remedy}")]
    Impossible {
        /// What is impossible.
        what: String,
        /// What to change.
        remedy: String,
    },
    /// More nodes and links than a network file may hold.
    #[error("a {shape} of this size has more than {MOST} nodes and links; give smaller numbers")]
    TooLarge {
        /// The shape's name.
        shape: &'static str,
    },
}

/// The most nodes and links together, well under what the reader of network files takes.
pub const MOST: usize = 1_000_000;

impl Generator {
    /// The text of a network file.
    ///
    /// # Errors
    /// When there is no such graph, or it is too large.
    pub fn generate(&self, seed: u64) -> Result<String, GenerateError> {
        let too_large = GenerateError::TooLarge { shape: self.shape.name() };
        let (nodes, links) = self.size()?.ok_or(too_large.clone())?;
        let hosts = nodes.checked_mul(self.hosts).ok_or(too_large.clone())?;
        let all = hosts.checked_mul(2).and_then(|hosts| hosts.checked_add(nodes)?.checked_add(links));
        if all.is_none_or(|all| all > MOST) {
            return Err(too_large);
        }
        let mut sketch = Sketch::new(self.kind.as_deref().unwrap_or("router"));
        match self.shape {
            Shape::Line { nodes } => shapes::line(&mut sketch, nodes),
            Shape::Ring { nodes } => shapes::ring(&mut sketch, nodes),
            Shape::Star { leaves } => shapes::star(&mut sketch, leaves),
            Shape::Tree { arity, depth } => shapes::tree(&mut sketch, arity, depth),
            Shape::Grid { rows, columns } => grid::grid(&mut sketch, rows, columns),
            Shape::Torus { rows, columns } => grid::torus(&mut sketch, rows, columns),
            Shape::FullMesh { nodes } => shapes::full_mesh(&mut sketch, nodes),
            Shape::FatTree { k } => fat_tree::fat_tree(&mut sketch, k),
            Shape::RandomRegular { nodes, degree } => {
                random_regular::random_regular(&mut sketch, nodes, degree, seed)?;
            }
        }
        sketch.attach_hosts(self.hosts);
        Ok(sketch.text(&self.title(), &self.command(seed)))
    }

    /// Nodes and links of the shape; none when they cannot be counted.
    fn size(&self) -> Result<Option<(usize, usize)>, GenerateError> {
        let at_least = |value: usize, least: usize, what: &str| match value >= least {
            true => Ok(()),
            false => Err(GenerateError::Impossible {
                what: format!("a {} of {value} {what}", self.shape.name()),
                remedy: format!("give at least {least}"),
            }),
        };
        Ok(match self.shape {
            Shape::Line { nodes } => {
                at_least(nodes, 1, "nodes")?;
                Some((nodes, nodes - 1))
            }
            Shape::Ring { nodes } => {
                at_least(nodes, 3, "nodes")?;
                Some((nodes, nodes))
            }
            Shape::Star { leaves } => {
                at_least(leaves, 1, "leaves")?;
                leaves.checked_add(1).map(|nodes| (nodes, leaves))
            }
            Shape::Tree { arity, depth } => {
                at_least(arity, 1, "children a node")?;
                at_least(depth, 1, "levels")?;
                let mut level = 1usize;
                let mut nodes = Some(1usize);
                for _ in 0..depth {
                    level = level.saturating_mul(arity);
                    nodes = nodes.and_then(|nodes| nodes.checked_add(level)).filter(|&nodes| nodes <= MOST);
                    if nodes.is_none() {
                        break;
                    }
                }
                nodes.map(|nodes| (nodes, nodes - 1))
            }
            Shape::Grid { rows, columns } => {
                at_least(rows, 1, "rows")?;
                at_least(columns, 1, "columns")?;
                rows.checked_mul(columns)
                    .filter(|&nodes| nodes <= MOST)
                    .map(|nodes| (nodes, 2 * nodes - rows - columns))
            }
            Shape::Torus { rows, columns } => {
                at_least(rows, 3, "rows")?;
                at_least(columns, 3, "columns")?;
                rows.checked_mul(columns).filter(|&nodes| nodes <= MOST).map(|nodes| (nodes, 2 * nodes))
            }
            Shape::FullMesh { nodes } => {
                at_least(nodes, 1, "nodes")?;
                nodes.checked_mul(nodes - 1).map(|twice| (nodes, twice / 2))
            }
            Shape::FatTree { k } => {
                if k < 2 || k % 2 == 1 {
                    return Err(GenerateError::Impossible {
                        what: format!("a fat-tree of {k}-port switches"),
                        remedy: "half the ports lead up and half down; give an even k from 2".to_owned(),
                    });
                }
                let square = k.checked_mul(k).filter(|_| k <= MOST);
                square.and_then(|square| {
                    let hosts = square.checked_mul(k)? / 4;
                    hosts.checked_add(square + square / 4).map(|nodes| (nodes, 3 * hosts))
                })
            }
            Shape::RandomRegular { nodes, degree } => {
                random_regular::possible(nodes, degree)?;
                nodes.checked_mul(degree).map(|twice| (nodes, twice / 2))
            }
        })
    }

    /// The network's name.
    fn title(&self) -> String {
        let shape = self.shape.name();
        match self.shape {
            Shape::Line { nodes: size } | Shape::Ring { nodes: size } | Shape::FullMesh { nodes: size } => {
                format!("{shape}-{size}")
            }
            Shape::Star { leaves: size } | Shape::FatTree { k: size } => format!("{shape}-{size}"),
            Shape::Tree { arity: a, depth: b }
            | Shape::Grid { rows: a, columns: b }
            | Shape::Torus { rows: a, columns: b }
            | Shape::RandomRegular { nodes: a, degree: b } => format!("{shape}-{a}x{b}"),
        }
    }

    /// The command that makes the same file again.
    fn command(&self, seed: u64) -> String {
        let mut command = format!("plait generate {}", self.shape.name());
        command += &match self.shape {
            Shape::Line { nodes } | Shape::Ring { nodes } | Shape::FullMesh { nodes } => {
                format!(" --nodes {nodes}")
            }
            Shape::Star { leaves } => format!(" --leaves {leaves}"),
            Shape::Tree { arity, depth } => format!(" --arity {arity} --depth {depth}"),
            Shape::Grid { rows, columns } | Shape::Torus { rows, columns } => {
                format!(" --rows {rows} --columns {columns}")
            }
            Shape::FatTree { k } => format!(" --k {k}"),
            Shape::RandomRegular { nodes, degree } => {
                format!(" --nodes {nodes} --degree {degree} --seed {seed}")
            }
        };
        if let Some(kind) = &self.kind {
            command += &format!(" --kind {kind}");
        }
        if self.hosts > 0 {
            command += &format!(" --hosts {}", self.hosts);
        }
        command
    }
}
