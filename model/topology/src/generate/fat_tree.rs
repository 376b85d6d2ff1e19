//! k-ary fat-trees (Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network architecture", 2008).
//!
//! Choice: switches are routers here, as in the paper, which routes by address. Ethernet switches in these loops would
//! need a spanning tree, and that would leave one path of many.

use super::sketch::Sketch;

/// `core1` to `core(k²/4)`; in pod p `agg{p}_{i}` and `edge{p}_{i}`; `host{p}_{edge}_{i}`. Aggregation switch i of
/// every pod is linked to the i-th k/2 cores.
pub(super) fn fat_tree(sketch: &mut Sketch, k: usize) {
    let half = k / 2;
    let cores: Vec<usize> = (1..=half * half).map(|core| sketch.node(format!("core{core}"))).collect();
    for pod in 1..=k {
        let aggregation: Vec<usize> = (1..=half).map(|at| sketch.node(format!("agg{pod}_{at}"))).collect();
        for (at, &switch) in aggregation.iter().enumerate() {
            for &core in &cores[at * half..(at + 1) * half] {
                sketch.link(core, switch);
            }
        }
        for edge in 1..=half {
            let switch = sketch.node(format!("edge{pod}_{edge}"));
            for &above in &aggregation {
                sketch.link(above, switch);
            }
            for host in 1..=half {
                let host = sketch.host(format!("host{pod}_{edge}_{host}"));
                sketch.link(switch, host);
            }
        }
    }
}
