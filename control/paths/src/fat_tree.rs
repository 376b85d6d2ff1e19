//! Fat-trees, where one relay names a path (§5.4).

use crate::fabric::Fabric;
use crate::relays::{AnyHash, Forwarding};
use std::collections::{BTreeMap, BTreeSet};

/// Where a switch is in a fat-tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// At the top, between pods: a root.
    Core,
    /// In the middle of a pod.
    Aggregation {
        /// Which one.
        pod: usize,
    },
    /// Where a pod's hosts are.
    Edge {
        /// Which one.
        pod: usize,
    },
}

/// The layers of a three-level fat-tree of k-port switches (Al-Fares, Loukissas, Vahdat 2008): k pods of k/2 edge and k/2
/// aggregation switches, (k/2)² roots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FatTree {
    /// By the switches' indices.
    layers: Vec<Layer>,
}

impl FatTree {
    /// Of layers that are known, by the switches' indices.
    pub fn new(layers: Vec<Layer>) -> Self {
        Self { layers }
    }

    /// Recognises a whole fat-tree, however its switches are numbered and its roots wired to pods: every aggregation switch
    /// has k/2 roots, and every root one aggregation switch in each pod. All links must cost the same.
    ///
    /// None for anything else, a fat-tree with a link or a switch missing among it: remember the layers of the whole one.
    pub fn recognise(fabric: &Fabric) -> Option<Self> {
        let switches = fabric.switches().len();
        // 5 k²/4 switches.
        let k = (2..=switches).step_by(2).find(|k| 5 * k * k / 4 >= switches)?;
        let half = k / 2;
        let neighbors: Vec<BTreeSet<usize>> = (0..switches)
            .map(|at| fabric.graph().arcs(at).iter().map(|arc| arc.to as usize).collect())
            .collect();
        let links = fabric.links();
        let is_even = links.windows(2).all(|two| two[0].cost == two[1].cost)
            && neighbors
                .iter()
                .enumerate()
                .all(|(at, of)| of.iter().all(|&other| neighbors[other].contains(&at)));
        let edges: Vec<_> = (0..switches).filter(|&at| neighbors[at].len() == half).collect();
        if 5 * k * k / 4 != switches || !is_even || edges.len() != k * half {
            return None;
        }
        // Edge switches with the same switches above them are a pod.
        let mut pods = BTreeMap::<&BTreeSet<usize>, Vec<usize>>::new();
        edges.iter().for_each(|&edge| pods.entry(&neighbors[edge]).or_default().push(edge));
        let mut layers = vec![Layer::Core; switches];
        for (pod, (above, below)) in pods.iter().enumerate() {
            for &edge in below {
                layers[edge] = Layer::Edge { pod };
            }
            for &aggregation in *above {
                // In one pod only, linked to all of its edge switches and to k/2 others.
                let fits = layers[aggregation] == Layer::Core
                    && neighbors[aggregation].len() == k
                    && below.iter().all(|edge| neighbors[aggregation].contains(edge));
                if !fits {
                    return None;
                }
                layers[aggregation] = Layer::Aggregation { pod };
            }
            if below.len() != half {
                return None;
            }
        }
        let is_root = |at: usize| {
            let pods: BTreeSet<_> = neighbors[at]
                .iter()
                .filter_map(|&below| match layers[below] {
                    Layer::Aggregation { pod } => Some(pod),
                    _ => None,
                })
                .collect();
            pods.len() == k && neighbors[at].len() == k
        };
        let fits = pods.len() == k && (0..switches).all(|at| layers[at] != Layer::Core || is_root(at));
        fits.then_some(Self { layers })
    }

    /// Where each switch is, by its index.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The paths from one edge switch to another and the relay that names each: the aggregation switches of their pod, or all
    /// roots for different pods, as far as their links are whole and the relay leads along for sure. None when one of both is
    /// no edge switch.
    pub fn paths(
        &self,
        fabric: &Fabric,
        from: usize,
        to: usize,
        forwarding: &mut AnyHash<'_>,
    ) -> Option<Vec<(Vec<usize>, usize)>> {
        let (Layer::Edge { pod }, Layer::Edge { pod: other }) = (self.layers[from], self.layers[to]) else {
            return None;
        };
        let above = |at: usize, is_it: &dyn Fn(Layer) -> bool| -> Vec<usize> {
            let arcs = fabric.graph().arcs(at).iter().map(|arc| arc.to as usize);
            arcs.filter(|&next| is_it(self.layers[next])).collect()
        };
        let mut paths = Vec::new();
        for up in above(from, &|layer| layer == Layer::Aggregation { pod }) {
            if pod == other {
                paths.push((vec![from, up, to], up));
                continue;
            }
            for root in above(up, &|layer| layer == Layer::Core) {
                let downs = above(root, &|layer| layer == Layer::Aggregation { pod: other });
                paths.extend(downs.into_iter().map(|down| (vec![from, up, root, down, to], root)));
            }
        }
        paths.retain(|(path, relay)| {
            let middle = path.len() / 2;
            path[middle] == *relay
                && forwarding.leads_along(&path[..=middle])
                && forwarding.leads_along(&path[middle..])
        });
        paths.sort();
        Some(paths)
    }
}
