//! The network of tests of overlays: three hosts, of which the third is nearer by way of the second.
//!
//! ```text
//!   a ── ra ─5ms─ rb ── b
//!         \       /
//!        40ms   5ms
//!           \   /
//!            rc ── c
//! ```

use plait_model_topology::document::Source;
use plait_model_topology::{Network, Vocabulary, parse_network};

pub const FILE: &str = "
plait: 1
nodes: {a: host, b: host, c: host, ra: router, rb: router, rc: router}
links:
  - {endpoints: [a, ra], rate: 1Gbit}
  - {endpoints: [b, rb], rate: 1Gbit}
  - {endpoints: [c, rc], rate: 1Gbit}
  - {endpoints: [ra, rb], rate: 1Gbit, delay: 5ms}
  - {endpoints: [rb, rc], rate: 1Gbit, delay: 5ms}
  - {endpoints: [ra, rc], rate: 1Gbit, delay: 40ms}
";

/// The network of a file's text.
pub fn network(text: &str) -> Network {
    let source = Source::new("three.yaml", text.to_owned());
    parse_network(&source, &Vocabulary::core(), &|_| Err("no files".into())).unwrap()
}
