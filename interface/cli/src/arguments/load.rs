//! How a controller is loaded.

use clap::{Args, ValueEnum};
use plait_model_quantity::TimeSpan;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
pub struct LoadArguments {
    /// The controller
    #[arg(default_value = "127.0.0.1:6653")]
    pub controller: SocketAddr,
    /// Switches
    #[arg(long, default_value_t = 16)]
    pub switches: usize,
    /// The versions that they speak, in turn: `1.0,1.3`
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["1.0"])]
    pub version: Vec<VersionArgument>,
    /// Requests a second of all switches together; without it, answers set the pace
    #[arg(long)]
    pub rate: Option<f64>,
    /// How the rate is shared out
    #[arg(long, value_enum, default_value = "uniform", requires = "rate")]
    pub shape: Shape,
    /// Without a rate: requests of a switch that may wait for their answers, 1 for latency
    #[arg(long, conflicts_with = "rate")]
    pub window: Option<usize>,
    /// Without a rate: as much as connections take
    #[arg(long, conflicts_with_all = ["rate", "window"])]
    pub flood: bool,
    /// From some second on, the rate times a factor: `10s=0.35`; may be said several times
    #[arg(long, value_name = "TIME=FACTOR", requires = "rate")]
    pub at: Vec<String>,
    /// Requests a second of a switch more whose latency is told apart
    #[arg(long, value_name = "RATE")]
    pub probe: Option<f64>,
    /// How long
    #[arg(long, default_value = "10s")]
    pub duration: TimeSpan,
    /// How long connecting, the handshake and telling of stations may take together
    #[arg(long, default_value = "10s", value_name = "TIME")]
    pub warm_up: TimeSpan,
    /// Seconds at the beginning that shares leave out, since some get more until buffers are full
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub settle: u64,
    /// Stations of each switch
    #[arg(long, default_value_t = 1000)]
    pub stations: u16,
    /// Threads
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// Switches keep no packets, so that requests hold them whole
    #[arg(long)]
    pub unbuffered: bool,
    /// What is drawn is drawn from this
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The switches' key in PEM, for a controller that speaks TLS
    #[arg(long, requires_all = ["certificate", "authorities"], value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Their certificate in PEM, with what leads to a root: all show the same
    #[arg(long, requires = "key", value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// Certificates in PEM of the authorities that a controller must show one of
    #[arg(long, requires = "key", value_name = "FILE")]
    pub authorities: Option<PathBuf>,
    /// Which of several processes this is, from 0: each needs a number of its own
    #[arg(long, default_value_t = 0)]
    pub process: u8,
    /// When to begin, in seconds since 1970, so that several processes begin together
    #[arg(long, value_name = "SECONDS")]
    pub start: Option<f64>,
    /// Keep what was measured in a file, to be put together with others'
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Load nothing, but put what several processes saved together
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub merge: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum VersionArgument {
    /// OpenFlow 1.0
    #[value(name = "1.0")]
    V10,
    /// OpenFlow 1.3
    #[value(name = "1.3")]
    V13,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// The same for each
    Uniform,
    /// About the same for each: a tenth more or less
    NearlyUniform,
    /// The rank-size law: the second has half of the first, the third a third
    Skewed,
    /// One in twenty has all of it
    Few,
}
