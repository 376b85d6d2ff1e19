//! Commands on network files, without a testbed.

use super::WorldArgument;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub struct ValidateArguments {
    /// The network files
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The world that they are to run in: of the simulated one, each line that cannot run there is named
    #[arg(long, value_enum, default_value_t)]
    pub world: WorldArgument,
}

#[derive(Args)]
pub struct GenerateArguments {
    /// The shape
    #[command(subcommand)]
    pub shape: ShapeArguments,
    /// Kind of the nodes that are not hosts anyway; `router` when not given
    #[arg(long, global = true)]
    pub kind: Option<String>,
    /// Hosts attached to each of those nodes
    #[arg(long, global = true, default_value_t = 0)]
    pub hosts: usize,
}

#[derive(Subcommand)]
pub enum ShapeArguments {
    /// k-ary fat-tree of switches, with hosts
    FatTree {
        /// Ports of a switch; even
        #[arg(long)]
        k: usize,
    },
    /// Every node linked to every other
    FullMesh {
        /// How many
        #[arg(long)]
        nodes: usize,
    },
    /// Rows and columns
    Grid {
        #[arg(long)]
        rows: usize,
        #[arg(long)]
        columns: usize,
    },
    /// A chain
    Line {
        #[arg(long)]
        nodes: usize,
    },
    /// Random regular graph (Jellyfish)
    RandomRegular {
        #[arg(long)]
        nodes: usize,
        #[arg(long)]
        degree: usize,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// A closed chain
    Ring {
        #[arg(long)]
        nodes: usize,
    },
    /// One router, hosts around it
    Star {
        #[arg(long)]
        leaves: usize,
    },
    /// Rows and columns, closed both ways
    Torus {
        #[arg(long)]
        rows: usize,
        #[arg(long)]
        columns: usize,
    },
    /// A tree
    Tree {
        #[arg(long)]
        arity: usize,
        #[arg(long)]
        depth: usize,
    },
}

#[derive(Args)]
pub struct GraphArguments {
    /// The network file
    pub file: PathBuf,
    /// The form
    #[arg(long, value_enum, default_value = "dot")]
    pub format: GraphFormat,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum GraphFormat {
    /// Graphviz
    Dot,
    /// A picture
    Svg,
}

#[derive(Args)]
pub struct ImportArguments {
    /// The file, or with `--check` a folder
    pub path: PathBuf,
    /// Import every file of a folder and print a table
    #[arg(long)]
    pub check: bool,
    /// The file's format, where neither its content nor its name tells
    #[arg(long, value_parser = crate::commands::import::format())]
    pub format: Option<String>,
    /// Multiply all rates, such as by `0.1`: a link engine holds 1 Gbit/s a link
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = crate::commands::import::factor)]
    pub scale: f64,
    /// What one unit of a drawing stands for, where nodes have no coordinates
    #[arg(long, value_name = "KILOMETRES", value_parser = crate::commands::import::factor)]
    pub kilometres_per_unit: Option<f64>,
}
